//! Memory: allocation, the host's memory, facts about pointers, and fills.

use std::ffi::c_void;

use crate::{
    allocations::Kind,
    call::{any, api, driver, offer, put, with},
    driver::context::current,
    error::{Done, Error},
    handle::Handle,
    memory::PITCH,
    objects::{Fill, Stream, Work},
    stream::submit,
};

/// `CU_MEM_ATTACH_GLOBAL`
const GLOBAL: u32 = 1;

/// Allocates memory.
pub fn allocate(bytes: usize, kind: Kind, flags: u32) -> Done<u64> {
    if bytes == 0 {
        return Err(Error::InvalidValue);
    }
    with(|gpu| gpu.allocate(bytes as u64, kind, flags))
}

/// Allocates rows: their pitch, and the address.
pub fn allocate_rows(width: usize, rows: usize) -> Done<(u64, usize)> {
    let pitch = width.next_multiple_of(PITCH);
    let bytes = pitch.checked_mul(rows).ok_or(Error::OutOfMemory)?;
    Ok((allocate(bytes, Kind::Device, 0)?, pitch))
}

/// Frees memory at its address. NULL is allowed.
pub fn free(address: u64) -> Done {
    with(|gpu| {
        gpu.flush();
        gpu.order.wait_for_all();
        if address == 0 { Ok(()) } else { gpu.free(address) }
    })
}

/// Registers memory of the host.
pub fn register(host: usize, bytes: usize, flags: u32) -> Done {
    with(|gpu| {
        if host == 0 || bytes == 0 {
            return Err(Error::InvalidValue);
        }
        if gpu.memory.of_host(host).is_some() {
            return Err(Error::AlreadyMapped);
        }
        gpu.allocate(bytes as u64, Kind::Registered(host), flags).map(drop)
    })
}

/// Forgets registered memory of the host.
pub fn unregister(host: usize) -> Done {
    with(|gpu| {
        let device = *gpu.memory.registered.get(&host).ok_or(Error::NotMapped)?;
        gpu.free(device)
    })
}

/// The value of an attribute of a pointer, `CUpointer_attribute`, as the bytes of its type.
fn pointer_attribute(number: u32, pointer: u64) -> Done<Vec<u8>> {
    let word = |value: u32| value.to_le_bytes().to_vec();
    let long = |value: u64| value.to_le_bytes().to_vec();
    any(|gpu| {
        let device = gpu.memory.of_host(pointer as usize).unwrap_or(pointer);
        let variable = gpu.device.find(device);
        let found = gpu.memory.find(device).map(|(start, found)| (start, *found));
        if found.is_none() && variable.is_none() {
            return Err(Error::InvalidValue);
        }
        let kind = found.map_or(Kind::Device, |(_, found)| found.kind);
        let of_host = match kind {
            Kind::Device | Kind::Graph => None,
            Kind::Managed | Kind::Pinned => Some(device),
            Kind::Registered(host) => Some(host as u64 + found.map_or(0, |(start, _)| device - start)),
        };
        Ok(match number {
            1 => long(current().0 as u64),
            2 => word(if matches!(kind, Kind::Pinned | Kind::Registered(_)) { 1 } else { 2 }),
            3 => long(device),
            4 => long(of_host.ok_or(Error::InvalidValue)?),
            6 => word(1),
            7 => long(found.map_or(0, |(_, found)| found.number)),
            8 => word(u32::from(kind == Kind::Managed)),
            9 => word(0),
            11 => long(found.map_or(device, |(start, _)| start)),
            12 => long(found.map_or(0, |(_, found)| found.bytes)),
            13 => word(1),
            16 => word(3),
            17 => long(0),
            _ => word(0),
        })
    })
}

/// Fills rows with a value, in a stream.
pub fn fill(
    stream: Handle<Stream>,
    address: u64,
    value: u32,
    size: usize,
    pitch: usize,
    width: usize,
    rows: usize,
) -> Done {
    submit(stream, Work::Fill(Fill { address, value, size, width, pitch, rows }))
}

api! { driver:
    cuMemGetInfo_v2(free: *mut usize, total: *mut usize) = cuMemGetInfo {
        let (used, limit) = with(|gpu| Ok((gpu.memory.used, gpu.memory.limit)))?;
        offer(free, limit.saturating_sub(used) as usize);
        offer(total, limit as usize);
        Ok(())
    }
    cuMemAlloc_v2(to: *mut u64, bytes: usize) = cuMemAlloc { put(to, allocate(bytes, Kind::Device, 0)?) }
    cuMemAllocPitch_v2(
        to: *mut u64, pitch: *mut usize, width: usize, rows: usize, _element: u32,
    ) = cuMemAllocPitch {
        let (address, distance) = allocate_rows(width, rows)?;
        put(to, address)?;
        put(pitch, distance)
    }
    cuMemFree_v2(address: u64) = cuMemFree = cuMemFreeHost { free(address) }
    cuMemGetAddressRange_v2(start: *mut u64, bytes: *mut usize, address: u64) = cuMemGetAddressRange {
        let (at, size) = with(|gpu| {
            let found = gpu.memory.find(address).map(|(start, found)| (start, found.bytes as usize));
            found.ok_or(Error::NotFound)
        })?;
        offer(start, at);
        offer(bytes, size);
        Ok(())
    }
    cuMemAllocHost_v2(to: *mut u64, bytes: usize) = cuMemAllocHost { put(to, allocate(bytes, Kind::Pinned, 0)?) }
    cuMemHostAlloc(to: *mut u64, bytes: usize, flags: u32) { put(to, allocate(bytes, Kind::Pinned, flags)?) }
    cuMemHostGetDevicePointer_v2(to: *mut u64, host: usize, _flags: u32) = cuMemHostGetDevicePointer {
        put(to, with(|gpu| gpu.memory.of_host(host).ok_or(Error::InvalidValue))?)
    }
    cuMemHostGetFlags(to: *mut u32, host: usize) {
        let flags = with(|gpu| {
            let device = gpu.memory.of_host(host).ok_or(Error::InvalidValue)?;
            Ok(gpu.memory.find(device).map_or(0, |(_, found)| found.flags))
        })?;
        put(to, flags)
    }
    cuMemAllocManaged(to: *mut u64, bytes: usize, flags: u32) {
        if flags & 3 == 0 {
            return Err(Error::InvalidValue);
        }
        put(to, allocate(bytes, Kind::Managed, flags | GLOBAL)?)
    }
    cuMemHostRegister_v2(host: usize, bytes: usize, flags: u32) = cuMemHostRegister { register(host, bytes, flags) }
    cuMemHostUnregister(host: usize) { unregister(host) }
    cuPointerGetAttribute(to: *mut u8, number: u32, pointer: u64) {
        let value = pointer_attribute(number, pointer)?;
        value.iter().enumerate().try_for_each(|(index, byte)| put(to.add(index), *byte))
    }
    cuPointerGetAttributes(count: u32, numbers: *const u32, to: *const *mut u8, pointer: u64) {
        for index in 0..count as usize {
            // An attribute that the pointer does not have is 0.
            let value = pointer_attribute(*numbers.add(index), pointer).unwrap_or_else(|_| vec![0; 4]);
            for (at, byte) in value.iter().enumerate() {
                put((*to.add(index)).add(at), *byte)?;
            }
        }
        Ok(())
    }
    cuPointerSetAttribute(_value: *const c_void, _number: u32, _pointer: u64) { Ok(()) }
    cuMemPrefetchAsync(_address: u64, _bytes: usize, _device: i32, _stream: Handle<Stream>) = cuMemPrefetchAsync_ptsz { Ok(()) }
    cuMemPrefetchAsync_v2(
        _address: u64, _bytes: usize, _location: u64, _flags: u32, _stream: Handle<Stream>,
    ) = cuMemPrefetchAsync_v2_ptsz { Ok(()) }
    cuMemAdvise(_address: u64, _bytes: usize, _advice: u32, _device: i32) { Ok(()) }
    cuMemAdvise_v2(_address: u64, _bytes: usize, _advice: u32, _location: u64) { Ok(()) }
    cuMemsetD8_v2(address: u64, value: u8, count: usize) = cuMemsetD8 = cuMemsetD8_v2_ptds {
        fill(Stream::NULL, address, value.into(), 1, 0, count, 1)
    }
    cuMemsetD16_v2(address: u64, value: u16, count: usize) = cuMemsetD16 = cuMemsetD16_v2_ptds {
        fill(Stream::NULL, address, value.into(), 2, 0, count, 1)
    }
    cuMemsetD32_v2(address: u64, value: u32, count: usize) = cuMemsetD32 = cuMemsetD32_v2_ptds {
        fill(Stream::NULL, address, value, 4, 0, count, 1)
    }
    cuMemsetD2D8_v2(
        address: u64, pitch: usize, value: u8, width: usize, rows: usize,
    ) = cuMemsetD2D8 = cuMemsetD2D8_v2_ptds { fill(Stream::NULL, address, value.into(), 1, pitch, width, rows) }
    cuMemsetD2D16_v2(
        address: u64, pitch: usize, value: u16, width: usize, rows: usize,
    ) = cuMemsetD2D16 = cuMemsetD2D16_v2_ptds { fill(Stream::NULL, address, value.into(), 2, pitch, width, rows) }
    cuMemsetD2D32_v2(
        address: u64, pitch: usize, value: u32, width: usize, rows: usize,
    ) = cuMemsetD2D32 = cuMemsetD2D32_v2_ptds { fill(Stream::NULL, address, value, 4, pitch, width, rows) }
    cuMemsetD8Async(address: u64, value: u8, count: usize, stream: Handle<Stream>) = cuMemsetD8Async_ptsz {
        fill(stream, address, value.into(), 1, 0, count, 1)
    }
    cuMemsetD16Async(address: u64, value: u16, count: usize, stream: Handle<Stream>) = cuMemsetD16Async_ptsz {
        fill(stream, address, value.into(), 2, 0, count, 1)
    }
    cuMemsetD32Async(address: u64, value: u32, count: usize, stream: Handle<Stream>) = cuMemsetD32Async_ptsz {
        fill(stream, address, value, 4, 0, count, 1)
    }
    cuMemsetD2D8Async(
        address: u64, pitch: usize, value: u8, width: usize, rows: usize, stream: Handle<Stream>,
    ) = cuMemsetD2D8Async_ptsz { fill(stream, address, value.into(), 1, pitch, width, rows) }
    cuMemsetD2D16Async(
        address: u64, pitch: usize, value: u16, width: usize, rows: usize, stream: Handle<Stream>,
    ) = cuMemsetD2D16Async_ptsz { fill(stream, address, value.into(), 2, pitch, width, rows) }
    cuMemsetD2D32Async(
        address: u64, pitch: usize, value: u32, width: usize, rows: usize, stream: Handle<Stream>,
    ) = cuMemsetD2D32Async_ptsz { fill(stream, address, value, 4, pitch, width, rows) }
}
