//! Memory.

use crate::{
    allocations::Kind,
    call::{any, api, put, with},
    driver::{
        copy,
        memory::{
            allocate, allocate_rows, cuMemGetInfo_v2, cuMemHostAlloc, cuMemHostGetDevicePointer_v2, cuMemHostGetFlags,
            cuMemHostRegister_v2, cuMemHostUnregister, fill, free,
        },
        pool::{self, cuMemAllocAsync, cuMemAllocFromPoolAsync, cuMemFreeAsync},
    },
    error::{Done, Error},
    handle::Handle,
    objects::{Copy, Place, Side, Stream, Work},
    runtime::errors::{forward, runtime},
    stream,
};

/// `cudaPitchedPtr`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Pitched {
    address: u64,
    pitch: usize,
    width: usize,
    height: usize,
}

/// `cudaExtent` and `cudaPos`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Extent {
    pub x: usize,
    pub y: usize,
    pub z: usize,
}

/// `cudaMemcpy3DParms`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Copy3d {
    from_array: usize,
    from_at: Extent,
    from: Pitched,
    to_array: usize,
    to_at: Extent,
    to: Pitched,
    size: Extent,
    kind: u32,
}

/// `cudaPointerAttributes`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PointerAttributes {
    kind: u32,
    device: i32,
    device_pointer: u64,
    host_pointer: u64,
    unused: [u64; 8],
}

/// The sides of a copy, `cudaMemcpyKind`: to, from.
pub fn sides(kind: u32) -> Done<[Side; 2]> {
    use Side::{Any, Device, Host};
    match kind {
        0 => Ok([Host, Host]),
        1 => Ok([Device, Host]),
        2 => Ok([Host, Device]),
        3 => Ok([Device, Device]),
        4 => Ok([Any, Any]),
        _ => Err(Error::InvalidDirection),
    }
}

fn flat(to: u64, from: u64, bytes: usize, kind: u32) -> Done {
    let [to_side, from_side] = sides(kind)?;
    copy::at_once((to_side, to), (from_side, from), bytes)
}

fn flat_in(stream: Handle<Stream>, to: u64, from: u64, bytes: usize, kind: u32) -> Done {
    let [to_side, from_side] = sides(kind)?;
    copy::flat(stream, (to_side, to), (from_side, from), bytes)
}

/// A copy of contiguous bytes, as a node of a graph.
pub fn node_of(to: u64, from: u64, bytes: usize, kind: u32) -> Done<Work> {
    let [to_side, from_side] = sides(kind)?;
    Ok(Work::Copy(Copy::flat((to_side, to), (from_side, from), bytes)))
}

/// The ends of a copy of rows, each an address and a pitch.
fn rows(to: (u64, usize), from: (u64, usize), width: usize, rows: usize, kind: u32) -> Done<Copy> {
    let [to_side, from_side] = sides(kind)?;
    let place = |side, (address, pitch)| Place { side, address, pitch, height: 0 };
    if width > to.1 || width > from.1 {
        return Err(Error::InvalidValue);
    }
    let (to, from) = (place(to_side, to), place(from_side, from));
    Ok(Copy { to, from, bytes: width, rows, layers: 1 })
}

impl Copy3d {
    pub fn copy(self) -> Done<Copy> {
        let [to_side, from_side] = sides(self.kind)?;
        let Extent { x, y: rows, z: layers } = self.size;
        let element = |array: usize| match array {
            0 => Ok(None),
            array => with(|gpu| Ok(Some(gpu.arrays.get(Handle::new(array))?.elements.element_bytes() as usize))),
        };
        let (to_element, from_element) = (element(self.to_array)?, element(self.from_array)?);
        // The width is in elements of an array, or in bytes.
        let bytes = x.checked_mul(to_element.or(from_element).unwrap_or(1)).ok_or(Error::InvalidValue)?;
        let place = |side, of: Pitched, at: Extent, array: usize, element: Option<usize>| match element {
            Some(element) => {
                let x = at.x.checked_mul(element).ok_or(Error::InvalidValue)?;
                with(|gpu| gpu.arrays.get(Handle::new(array))?.place([x, at.y, at.z], [bytes, rows, layers]))
            }
            None => Ok(Place {
                side,
                address: of.address + ((at.z * of.height + at.y) * of.pitch + at.x) as u64,
                pitch: of.pitch,
                height: of.height,
            }),
        };
        let to = place(to_side, self.to, self.to_at, self.to_array, to_element)?;
        let from = place(from_side, self.from, self.from_at, self.from_array, from_element)?;
        Ok(Copy { to, from, bytes, rows, layers })
    }
}

/// Allocates memory; no bytes have the address NULL.
fn allocate_any(bytes: usize, kind: Kind, flags: u32) -> Done<u64> {
    if bytes == 0 { Ok(0) } else { allocate(bytes, kind, flags) }
}

fn attributes_of(pointer: u64) -> Done<PointerAttributes> {
    any(|gpu| {
        let unknown =
            PointerAttributes { kind: 0, device: -2, device_pointer: 0, host_pointer: pointer, unused: [0; 8] };
        let device = gpu.memory.of_host(pointer as usize).unwrap_or(pointer);
        let kind = gpu.memory.find(device).map(|(_, found)| found.kind);
        let kind = kind.or_else(|| gpu.device.find(device).map(|_| Kind::Device));
        Ok(match kind {
            None => unknown,
            Some(Kind::Device | Kind::Graph) => {
                PointerAttributes { kind: 2, device: 0, device_pointer: device, host_pointer: 0, ..unknown }
            }
            Some(Kind::Managed) => PointerAttributes { kind: 3, device: 0, device_pointer: device, ..unknown },
            Some(Kind::Pinned | Kind::Registered(_)) => {
                PointerAttributes { kind: 1, device: 0, device_pointer: device, ..unknown }
            }
        })
    })
}

fn fill_layers(stream: Handle<Stream>, of: Pitched, value: i32, size: Extent) -> Done {
    for layer in 0..size.z {
        let address = of.address + (layer * of.height * of.pitch) as u64;
        fill(stream, address, value as u8 as u32, 1, of.pitch, size.x, size.y)?;
    }
    Ok(())
}

forward! {
    cudaMemGetInfo(free: *mut usize, total: *mut usize) => cuMemGetInfo_v2;
    cudaHostAlloc(to: *mut u64, bytes: usize, flags: u32) => cuMemHostAlloc;
    cudaHostGetDevicePointer(to: *mut u64, host: usize, flags: u32) => cuMemHostGetDevicePointer_v2;
    cudaHostGetFlags(to: *mut u32, host: usize) => cuMemHostGetFlags;
    cudaHostRegister(host: usize, bytes: usize, flags: u32) => cuMemHostRegister_v2;
    cudaHostUnregister(host: usize) => cuMemHostUnregister;
    cudaMallocAsync(to: *mut u64, bytes: usize, stream: Handle<Stream>) = cudaMallocAsync_ptsz => cuMemAllocAsync;
    cudaMallocFromPoolAsync(
        to: *mut u64, bytes: usize, memory_pool: usize, stream: Handle<Stream>,
    ) = cudaMallocFromPoolAsync_ptsz => cuMemAllocFromPoolAsync;
    cudaFreeAsync(address: u64, stream: Handle<Stream>) = cudaFreeAsync_ptsz => cuMemFreeAsync;
    cudaMemPoolCreate(to: *mut usize, properties: *const u8) => pool::cuMemPoolCreate;
    cudaMemPoolDestroy(memory_pool: usize) => pool::cuMemPoolDestroy;
    cudaMemPoolTrimTo(memory_pool: usize, bytes: usize) => pool::cuMemPoolTrimTo;
    cudaMemPoolSetAttribute(memory_pool: usize, number: u32, value: *mut u8) => pool::cuMemPoolSetAttribute;
    cudaMemPoolGetAttribute(memory_pool: usize, number: u32, to: *mut u8) => pool::cuMemPoolGetAttribute;
    cudaMemPoolSetAccess(memory_pool: usize, access: *const u8, count: usize) => pool::cuMemPoolSetAccess;
    cudaMemPoolGetAccess(to: *mut u32, memory_pool: usize, location: *const u8) => pool::cuMemPoolGetAccess;
    cudaDeviceGetDefaultMemPool(to: *mut usize, device: i32) => pool::cuDeviceGetDefaultMemPool;
    cudaDeviceGetMemPool(to: *mut usize, device: i32) => pool::cuDeviceGetMemPool;
    cudaDeviceSetMemPool(device: i32, memory_pool: usize) => pool::cuDeviceSetMemPool;
}

api! { runtime:
    cudaMalloc(to: *mut u64, bytes: usize) { put(to, allocate_any(bytes, Kind::Device, 0)?) }
    cudaMallocManaged(to: *mut u64, bytes: usize, flags: u32) { put(to, allocate(bytes, Kind::Managed, flags)?) }
    cudaMallocHost(to: *mut u64, bytes: usize) { put(to, allocate_any(bytes, Kind::Pinned, 0)?) }
    cudaMallocPitch(to: *mut u64, pitch: *mut usize, width: usize, rows: usize) {
        let (address, distance) = allocate_rows(width, rows)?;
        put(to, address)?;
        put(pitch, distance)
    }
    cudaMalloc3D(to: *mut Pitched, size: Extent) {
        let Extent { x, y, z } = size;
        let (address, pitch) = allocate_rows(x, y.checked_mul(z).ok_or(Error::OutOfMemory)?)?;
        put(to, Pitched { address, pitch, width: x, height: y })
    }
    cudaFree(address: u64) = cudaFreeHost { free(address) }
    cudaPointerGetAttributes(to: *mut PointerAttributes, pointer: u64) { put(to, attributes_of(pointer)?) }
    cudaMemPrefetchAsync() = cudaMemPrefetchAsync_v2 = cudaMemPrefetchAsync_ptsz = cudaMemPrefetchAsync_v2_ptsz { Ok(()) }
    cudaMemAdvise() = cudaMemAdvise_v2 { Ok(()) }
    cudaMemcpy(to: u64, from: u64, bytes: usize, kind: u32) = cudaMemcpy_ptds { flat(to, from, bytes, kind) }
    cudaMemcpyPeer(to: u64, _to_device: i32, from: u64, _from_device: i32, bytes: usize) {
        flat(to, from, bytes, 3)
    }
    cudaMemcpyAsync(
        to: u64, from: u64, bytes: usize, kind: u32, stream: Handle<Stream>,
    ) = cudaMemcpyAsync_ptsz { flat_in(stream, to, from, bytes, kind) }
    cudaMemcpyPeerAsync(
        to: u64, _to_device: i32, from: u64, _from_device: i32, bytes: usize, stream: Handle<Stream>,
    ) { flat_in(stream, to, from, bytes, 3) }
    cudaMemcpy2D(
        to: u64, to_pitch: usize, from: u64, from_pitch: usize, width: usize, height: usize, kind: u32,
    ) = cudaMemcpy2D_ptds {
        stream::copy(None, rows((to, to_pitch), (from, from_pitch), width, height, kind)?)
    }
    cudaMemcpy2DAsync(
        to: u64, to_pitch: usize, from: u64, from_pitch: usize, width: usize, height: usize, kind: u32,
        stream: Handle<Stream>,
    ) = cudaMemcpy2DAsync_ptsz {
        stream::copy(Some(stream), rows((to, to_pitch), (from, from_pitch), width, height, kind)?)
    }
    cudaMemcpy3D(of: *const Copy3d) = cudaMemcpy3D_ptds { stream::copy(None, (*of).copy()?) }
    cudaMemcpy3DAsync(of: *const Copy3d, stream: Handle<Stream>) = cudaMemcpy3DAsync_ptsz {
        stream::copy(Some(stream), (*of).copy()?)
    }
    cudaMemset(address: u64, value: i32, bytes: usize) = cudaMemset_ptds {
        fill(Stream::NULL, address, value as u8 as u32, 1, 0, bytes, 1)
    }
    cudaMemsetAsync(address: u64, value: i32, bytes: usize, stream: Handle<Stream>) = cudaMemsetAsync_ptsz {
        fill(stream, address, value as u8 as u32, 1, 0, bytes, 1)
    }
    cudaMemset2D(address: u64, pitch: usize, value: i32, width: usize, height: usize) = cudaMemset2D_ptds {
        fill(Stream::NULL, address, value as u8 as u32, 1, pitch, width, height)
    }
    cudaMemset2DAsync(
        address: u64, pitch: usize, value: i32, width: usize, height: usize, stream: Handle<Stream>,
    ) = cudaMemset2DAsync_ptsz { fill(stream, address, value as u8 as u32, 1, pitch, width, height) }
    cudaMemset3D(of: Pitched, value: i32, size: Extent) = cudaMemset3D_ptds { fill_layers(Stream::NULL, of, value, size) }
    cudaMemset3DAsync(of: Pitched, value: i32, size: Extent, stream: Handle<Stream>) = cudaMemset3DAsync_ptsz {
        fill_layers(stream, of, value, size)
    }
}
