//! Textures and surfaces.

use std::ffi::c_void;

use crate::{
    array::{Bound, Format, Resource, Sampling},
    call::{any, api, driver, put, with},
    error::{Done, Error},
    handle::Handle,
    say::unsupported,
};

/// `CUDA_RESOURCE_DESC`: the number of the kind, and the words of its structure.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ResourceDescription {
    pub kind: u32,
    pub of: [u64; 16],
    pub flags: u32,
}

impl ResourceDescription {
    fn resource(&self) -> Done<Resource> {
        let of = self.of;
        let format = Format { channel: of[1] as u32, channels: (of[1] >> 32) as u32 };
        match self.kind {
            0 => Ok(Resource::Array(Handle::new(of[0] as usize))),
            2 => Ok(Resource::Linear(of[0], format, of[2] as usize)),
            3 => Ok(Resource::Rows(of[0], format, [of[2] as usize, of[3] as usize], of[4] as usize)),
            _ => Err(mipmap()),
        }
    }

    fn new(resource: &Resource) -> Self {
        let mut of = [0; 16];
        let packed = |format: Format| u64::from(format.channels) << 32 | u64::from(format.channel);
        let kind = match *resource {
            Resource::Array(array) => {
                of[0] = array.0 as u64;
                0
            }
            Resource::Linear(address, format, bytes) => {
                of[..3].copy_from_slice(&[address, packed(format), bytes as u64]);
                2
            }
            Resource::Rows(address, format, [width, height], pitch) => {
                of[..5].copy_from_slice(&[address, packed(format), width as u64, height as u64, pitch as u64]);
                3
            }
        };
        Self { kind, of, flags: 0 }
    }
}

/// The error of a resource with several levels.
pub fn mipmap() -> Error {
    unsupported("a texture with several mipmap levels").err().unwrap_or(Error::NotSupported)
}

/// The error of a texture with a view of its resource.
pub fn check_view(view: *const c_void) -> Done {
    if view.is_null() { Ok(()) } else { unsupported("a texture with a view of its resource") }
}

/// Makes a texture, or a surface, which has no sampling.
pub fn create(resource: Resource, sampling: Option<Sampling>) -> Done<u64> {
    with(|gpu| gpu.create_texture(Bound { resource, sampling }))
}

/// The sampling of a texture.
pub fn sampling_of(texture: u64) -> Done<Sampling> {
    with(|gpu| gpu.texture(texture)?.sampling.ok_or(Error::InvalidValue))
}

api! { driver:
    cuTexObjectCreate(
        to: *mut u64, resource: *const ResourceDescription, sampling: *const Sampling, view: *const c_void,
    ) {
        check_view(view)?;
        put(to, create((*resource).resource()?, Some(*sampling))?)
    }
    cuTexObjectDestroy(texture: u64) = cuSurfObjectDestroy { any(|gpu| gpu.destroy_texture(texture)) }
    cuTexObjectGetResourceDesc(to: *mut ResourceDescription, texture: u64) = cuSurfObjectGetResourceDesc {
        put(to, ResourceDescription::new(&with(|gpu| gpu.texture(texture))?.resource))
    }
    cuTexObjectGetTextureDesc(to: *mut Sampling, texture: u64) { put(to, sampling_of(texture)?) }
    cuSurfObjectCreate(to: *mut u64, resource: *const ResourceDescription) {
        put(to, create((*resource).resource()?, None)?)
    }
}
