//! The driver and its device.

use std::{
    ffi::{CStr, c_char},
    ptr, slice,
};

use crate::{
    attributes::{self, UUID},
    call::{any, api, driver, put},
    error::{Done, Error, names},
};

/// The version of the API: CUDA 13.5.
pub const VERSION: i32 = 13050;

/// The address of the device on the PCI bus.
const PCI: &CStr = c"0000:01:00.0";

fn check(device: i32) -> Done {
    if device == 0 { Ok(()) } else { Err(Error::InvalidDevice) }
}

/// Writes a text with its NUL, as much as fits.
///
/// # Safety
/// `to` has `most` bytes.
pub unsafe fn put_text(to: *mut c_char, most: i32, text: &[u8]) -> Done {
    let most = usize::try_from(most).ok().filter(|most| *most > 0 && !to.is_null()).ok_or(Error::InvalidValue)?;
    // SAFETY: the caller promises it.
    let place = unsafe { slice::from_raw_parts_mut(to.cast::<u8>(), most) };
    let count = text.len().min(most - 1);
    place[..count].copy_from_slice(&text[..count]);
    place[count] = 0;
    Ok(())
}

api! { driver:
    cuInit(flags: u32) { if flags == 0 { any(|_| Ok(())) } else { Err(Error::InvalidValue) } }
    cuDriverGetVersion(to: *mut i32) { put(to, VERSION) }
    cuGetErrorName(error: u32, to: *mut *const c_char) {
        let name = names(error).map(|[name, ..]| name.as_ptr());
        put(to, name.unwrap_or(ptr::null()))?;
        name.map(drop).ok_or(Error::InvalidValue)
    }
    cuGetErrorString(error: u32, to: *mut *const c_char) {
        let text = names(error).map(|[.., text]| text.as_ptr());
        put(to, text.unwrap_or(ptr::null()))?;
        text.map(drop).ok_or(Error::InvalidValue)
    }
    cuDeviceGet(to: *mut i32, number: i32) {
        check(number)?;
        put(to, number)
    }
    cuDeviceGetCount(to: *mut i32) { put(to, 1) }
    cuDeviceGetName(to: *mut c_char, most: i32, device: i32) {
        check(device)?;
        let name = any(|gpu| Ok(attributes::name(gpu.sm)))?;
        put_text(to, most, name.as_bytes())
    }
    cuDeviceGetUuid_v2(to: *mut [u8; 16], device: i32) = cuDeviceGetUuid {
        check(device)?;
        put(to, UUID)
    }
    cuDeviceGetLuid(_to: *mut c_char, _mask: *mut u32, _device: i32) { Err(Error::NotSupported) }
    cuDeviceTotalMem_v2(to: *mut usize, device: i32) = cuDeviceTotalMem {
        check(device)?;
        put(to, any(|gpu| Ok(gpu.memory.limit as usize))?)
    }
    cuDeviceGetAttribute(to: *mut i32, attribute: u32, device: i32) {
        check(device)?;
        put(to, any(|gpu| attributes::attribute(gpu.sm, attribute).ok_or(Error::InvalidValue))?)
    }
    cuDeviceComputeCapability(major: *mut i32, minor: *mut i32, device: i32) {
        check(device)?;
        let number = any(|gpu| Ok(gpu.sm.number() as i32))?;
        put(major, number / 10)?;
        put(minor, number % 10)
    }
    cuDeviceGetProperties(to: *mut [i32; 15], device: i32) {
        check(device)?;
        // The fields of `CUdevprop` are these attributes: sizes of CTAs and grids, memory, warps, pitch, registers.
        let properties = any(|gpu| {
            Ok([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0].map(|number| {
                attributes::attribute(gpu.sm, number).unwrap_or(0)
            }))
        })?;
        put(to, properties)
    }
    cuDeviceGetPCIBusId(to: *mut c_char, most: i32, device: i32) {
        check(device)?;
        put_text(to, most, PCI.to_bytes())
    }
    cuDeviceGetByPCIBusId(to: *mut i32, _name: *const c_char) { put(to, 0) }
    cuDeviceCanAccessPeer(to: *mut i32, _device: i32, _peer: i32) { put(to, 0) }
    cuDeviceGetP2PAttribute(to: *mut i32, _attribute: u32, _one: i32, _other: i32) { put(to, 0) }
    cuDeviceGetExecAffinitySupport(to: *mut i32, _kind: u32, _device: i32) { put(to, 0) }
    cuFlushGPUDirectRDMAWrites(_target: u32, _scope: u32) { Ok(()) }
    cuProfilerStart() { Ok(()) }
    cuProfilerStop() { Ok(()) }
}
