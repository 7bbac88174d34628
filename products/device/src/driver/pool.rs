//! Memory pools. Memory of a pool is memory of the device; a pool keeps nothing.

use crate::{
    allocations::Kind,
    call::{api, driver, put, with},
    driver::memory::allocate,
    error::Done,
    handle::Handle,
    objects::{Stream, Work},
    stream::submit,
};

/// The handle of each pool, whose memory and attributes are the device's.
pub const POOL: usize = 0x100;

/// Allocates in the order of a stream, whose work has ended. A capture of the stream gets memory of its graph.
pub unsafe fn allocate_in_order(to: *mut u64, bytes: usize, stream: Handle<Stream>) -> Done {
    let is_captured = with(|gpu| Ok(gpu.streams.get(stream)?.capture.is_some()))?;
    let kind = if is_captured { Kind::Graph } else { Kind::Device };
    // SAFETY: the program passes a pointer for the result.
    unsafe { put(to, allocate(bytes, kind, 0)?) }
}

api! { driver:
    cuMemAllocAsync(to: *mut u64, bytes: usize, stream: Handle<Stream>) = cuMemAllocAsync_ptsz {
        allocate_in_order(to, bytes, stream)
    }
    cuMemAllocFromPoolAsync(
        to: *mut u64, bytes: usize, _pool: usize, stream: Handle<Stream>,
    ) = cuMemAllocFromPoolAsync_ptsz { allocate_in_order(to, bytes, stream) }
    cuMemFreeAsync(address: u64, stream: Handle<Stream>) = cuMemFreeAsync_ptsz { submit(stream, Work::Free(address)) }
    cuMemPoolCreate(to: *mut usize, _properties: *const u8) { put(to, POOL) }
    cuMemPoolDestroy(_pool: usize) { Ok(()) }
    cuMemPoolTrimTo(_pool: usize, _bytes: usize) { Ok(()) }
    cuMemPoolSetAttribute(_pool: usize, _number: u32, _value: *mut u8) { Ok(()) }
    cuMemPoolGetAttribute(_pool: usize, number: u32, to: *mut u8) {
        // The first three attributes are numbers of 32 bits, the later ones of 64 bits.
        if number <= 3 { put(to.cast::<u32>(), 0) } else { put(to.cast::<u64>(), 0) }
    }
    cuMemPoolSetAccess(_pool: usize, _access: *const u8, _count: usize) { Ok(()) }
    cuMemPoolGetAccess(to: *mut u32, _pool: usize, _location: *const u8) { put(to, 3) }
    cuDeviceGetDefaultMemPool(to: *mut usize, _device: i32) { put(to, POOL) }
    cuDeviceGetMemPool(to: *mut usize, _device: i32) { put(to, POOL) }
    cuDeviceSetMemPool(_device: i32, _pool: usize) { Ok(()) }
}
