//! Textures and surfaces.

use std::ffi::c_void;

use crate::{
    array::{NORMALIZED, READ_AS_INTEGER, Resource, SRGB, Sampling},
    call::{api, put, with},
    driver::texture::{check_view, create, cuTexObjectDestroy, mipmap, sampling_of},
    error::Done,
    handle::Handle,
    runtime::{
        array::ChannelDescription,
        errors::{forward, runtime},
    },
};

/// `cudaResourceDesc`: the number of the kind, and its structure. From version 13 on, reserved bytes follow.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ResourceDescription {
    kind: u32,
    memory: Memory,
}

/// The structures of all kinds: the address or handle, the format, and sizes. The first size of linear memory is in
/// bytes.
#[repr(C)]
#[derive(Clone, Copy)]
struct Memory {
    address: u64,
    channels: ChannelDescription,
    sizes: [usize; 2],
    pitch: usize,
}

impl ResourceDescription {
    fn resource(&self) -> Done<Resource> {
        let Memory { address, channels, sizes, pitch } = self.memory;
        match self.kind {
            0 => Ok(Resource::Array(Handle::new(address as usize))),
            2 => Ok(Resource::Linear(address, channels.format()?, sizes[0])),
            3 => Ok(Resource::Rows(address, channels.format()?, sizes, pitch)),
            _ => Err(mipmap()),
        }
    }

    fn new(resource: &Resource) -> Done<Self> {
        let (kind, address, format, sizes, pitch) = match *resource {
            Resource::Array(array) => (0, array.0 as u64, None, [0; 2], 0),
            Resource::Linear(address, format, bytes) => (2, address, Some(format), [bytes, 0], 0),
            Resource::Rows(address, format, sizes, pitch) => (3, address, Some(format), sizes, pitch),
        };
        let channels = format.map_or(Ok(ChannelDescription::NONE), ChannelDescription::new)?;
        let memory = Memory { address, channels, sizes, pitch };
        Ok(Self { kind, memory })
    }
}

/// `cudaTextureDesc`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TextureDescription {
    addressing: [u32; 3],
    filter: u32,
    /// 1 reads integers as fractions.
    read: u32,
    srgb: u32,
    border: [f32; 4],
    is_normalized: u32,
    most_anisotropy: u32,
    level_filter: u32,
    level_bias: f32,
    levels: [f32; 2],
    unused: [u32; 2],
}

impl From<TextureDescription> for Sampling {
    fn from(of: TextureDescription) -> Self {
        let flags = [(of.read == 0, READ_AS_INTEGER), (of.is_normalized != 0, NORMALIZED), (of.srgb != 0, SRGB)];
        Self {
            addressing: of.addressing,
            filter: of.filter,
            flags: flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag).sum(),
            most_anisotropy: of.most_anisotropy,
            level_filter: of.level_filter,
            level_bias: of.level_bias,
            levels: of.levels,
            border: of.border,
            unused: [0; 12],
        }
    }
}

impl From<Sampling> for TextureDescription {
    fn from(of: Sampling) -> Self {
        let has = |flag: u32| u32::from(of.flags & flag != 0);
        Self {
            addressing: of.addressing,
            filter: of.filter,
            read: 1 - has(READ_AS_INTEGER),
            srgb: has(SRGB),
            border: of.border,
            is_normalized: has(NORMALIZED),
            most_anisotropy: of.most_anisotropy,
            level_filter: of.level_filter,
            level_bias: of.level_bias,
            levels: of.levels,
            unused: [0; 2],
        }
    }
}

forward! {
    cudaDestroyTextureObject(texture: u64) = cudaDestroySurfaceObject => cuTexObjectDestroy;
}

api! { runtime:
    cudaCreateTextureObject(
        to: *mut u64, resource: *const ResourceDescription, sampling: *const TextureDescription, view: *const c_void,
    ) {
        check_view(view)?;
        put(to, create((*resource).resource()?, Some((*sampling).into()))?)
    }
    cudaCreateSurfaceObject(to: *mut u64, resource: *const ResourceDescription) {
        put(to, create((*resource).resource()?, None)?)
    }
    cudaGetTextureObjectResourceDesc(
        to: *mut ResourceDescription, texture: u64,
    ) = cudaGetSurfaceObjectResourceDesc {
        put(to, ResourceDescription::new(&with(|gpu| gpu.texture(texture))?.resource)?)
    }
    cudaGetTextureObjectTextureDesc(to: *mut TextureDescription, texture: u64) { put(to, sampling_of(texture)?.into()) }
}
