//! Virtual memory. A reservation is an allocation of the device: its memory is there before a mapping, and stays until
//! the reservation ends.

use crate::{
    allocations::Kind,
    call::{api, driver, put, with},
    driver::memory::{allocate, free},
    error::{Done, Error},
    gpu::Gpu,
    handle::Handle,
    objects::Physical,
    say::unsupported,
};

/// The smallest and the recommended size of a mapping, in bytes.
const GRANULARITY: usize = 2 << 20;

impl Gpu {
    /// Whether one allocation has the bytes.
    fn has_reserved(&self, address: u64, bytes: usize) -> Done {
        let (start, found) = self.memory.find(address).ok_or(Error::InvalidValue)?;
        let end = (address - start).checked_add(bytes as u64).ok_or(Error::InvalidValue)?;
        if end <= found.bytes { Ok(()) } else { Err(Error::InvalidValue) }
    }
}

/// Maps physical memory, which has one place.
fn map(address: u64, bytes: usize, offset: usize, handle: Handle<Physical>) -> Done {
    let is_whole = with(|gpu| {
        gpu.has_reserved(address, bytes)?;
        let physical = gpu.physical.get_mut(handle)?;
        let is_whole = offset == 0 && bytes == physical.bytes && !physical.is_mapped;
        physical.is_mapped = true;
        Ok(is_whole)
    })?;
    if is_whole { Ok(()) } else { unsupported("cuMemMap of a part, or of memory that is mapped already,") }
}

api! { driver:
    cuMemGetAllocationGranularity(to: *mut usize, _properties: *const u8, _option: u32) { put(to, GRANULARITY) }
    cuMemAddressReserve(to: *mut u64, bytes: usize, _alignment: usize, _wish: u64, _flags: u64) {
        put(to, allocate(bytes, Kind::Device, 0)?)
    }
    cuMemAddressFree(address: u64, _bytes: usize) { free(address) }
    cuMemCreate(to: *mut Handle<Physical>, bytes: usize, properties: *const [u64; 4], _flags: u64) {
        if bytes == 0 || properties.is_null() {
            return Err(Error::InvalidValue);
        }
        let physical = Physical { bytes, properties: properties.read_unaligned(), is_mapped: false };
        put(to, with(|gpu| Ok(gpu.physical.insert(physical)))?)
    }
    cuMemRelease(handle: Handle<Physical>) { with(|gpu| gpu.physical.remove(handle).map(drop)) }
    cuMemMap(address: u64, bytes: usize, offset: usize, handle: Handle<Physical>, _flags: u64) {
        map(address, bytes, offset, handle)
    }
    cuMemUnmap(address: u64, bytes: usize) { with(|gpu| gpu.has_reserved(address, bytes)) }
    cuMemSetAccess(address: u64, bytes: usize, _access: *const u8, _count: usize) {
        with(|gpu| gpu.has_reserved(address, bytes))
    }
    cuMemGetAccess(to: *mut u64, _location: *const u8, address: u64) {
        with(|gpu| gpu.has_reserved(address, 0))?;
        put(to, 3)
    }
    cuMemGetAllocationPropertiesFromHandle(to: *mut [u64; 4], handle: Handle<Physical>) {
        put(to, with(|gpu| Ok(gpu.physical.get(handle)?.properties))?)
    }
}
