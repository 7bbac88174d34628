//! The device.

use std::ffi::{c_char, c_void};

use crate::{
    attributes,
    call::{any, api, put},
    driver::{
        context::{
            cuCtxGetCacheConfig, cuCtxGetLimit, cuCtxGetStreamPriorityRange, cuCtxSetCacheConfig, cuCtxSetLimit,
            cuCtxSynchronize,
        },
        device::{
            cuDeviceCanAccessPeer, cuDeviceGetByPCIBusId, cuDeviceGetCount, cuDeviceGetP2PAttribute,
            cuDeviceGetPCIBusId, cuDriverGetVersion,
        },
        entry, graph,
    },
    error::{Done, Error},
    runtime::{
        errors::{forward, runtime},
        version::version,
    },
};

fn check(device: i32) -> Done {
    if device == 0 { Ok(()) } else { Err(Error::InvalidDevice) }
}

forward! {
    cudaGetDeviceCount(to: *mut i32) => cuDeviceGetCount;
    cudaDriverGetVersion(to: *mut i32) => cuDriverGetVersion;
    cudaDeviceSynchronize() = cudaThreadSynchronize => cuCtxSynchronize;
    cudaDeviceSetLimit(limit: u32, value: usize) => cuCtxSetLimit;
    cudaDeviceGetLimit(to: *mut usize, limit: u32) => cuCtxGetLimit;
    cudaDeviceGetCacheConfig(to: *mut u32) => cuCtxGetCacheConfig;
    cudaDeviceSetCacheConfig(config: u32) => cuCtxSetCacheConfig;
    cudaDeviceGetStreamPriorityRange(least: *mut i32, greatest: *mut i32) => cuCtxGetStreamPriorityRange;
    cudaDeviceGetPCIBusId(to: *mut c_char, most: i32, device: i32) => cuDeviceGetPCIBusId;
    cudaDeviceGetByPCIBusId(to: *mut i32, name: *const c_char) => cuDeviceGetByPCIBusId;
    cudaDeviceCanAccessPeer(to: *mut i32, device: i32, peer: i32) => cuDeviceCanAccessPeer;
    cudaDeviceGetP2PAttribute(to: *mut i32, attribute: u32, one: i32, other: i32) => cuDeviceGetP2PAttribute;
    cudaDeviceGraphMemTrim(device: i32) => graph::cuDeviceGraphMemTrim;
    cudaDeviceGetGraphMemAttribute(device: i32, number: u32, to: *mut u64) => graph::cuDeviceGetGraphMemAttribute;
    cudaDeviceSetGraphMemAttribute(device: i32, number: u32, value: *mut u64) => graph::cuDeviceSetGraphMemAttribute;
}

api! { runtime:
    cudaGetDevice(to: *mut i32) { put(to, 0) }
    cudaSetDevice(device: i32) { check(device) }
    cudaInitDevice(device: i32, _device_flags: u32, _flags: u32) { check(device) }
    cudaSetValidDevices(_devices: *mut i32, _count: i32) { Ok(()) }
    cudaChooseDevice(to: *mut i32, _properties: *const u8) { put(to, 0) }
    cudaDeviceReset() = cudaThreadExit {
        any(|gpu| {
            gpu.reset();
            Ok(())
        })
    }
    cudaDeviceGetAttribute(to: *mut i32, attribute: u32, device: i32) {
        check(device)?;
        put(to, any(|gpu| attributes::attribute(gpu.sm, attribute).ok_or(Error::InvalidValue))?)
    }
    cudaSetDeviceFlags(_flags: u32) { Ok(()) }
    cudaGetDeviceFlags(to: *mut u32) { put(to, 0) }
    cudaDeviceGetSharedMemConfig(to: *mut u32) { put(to, 1) }
    cudaDeviceSetSharedMemConfig(_config: u32) { Ok(()) }
    cudaDeviceEnablePeerAccess(device: i32, _flags: u32) {
        check(device)?;
        Err(Error::InvalidDevice)
    }
    cudaDeviceDisablePeerAccess(_device: i32) { Err(Error::InvalidDevice) }
    cudaCtxResetPersistingL2Cache() { Ok(()) }
    cudaProfilerStart() { Ok(()) }
    cudaProfilerStop() { Ok(()) }
    cudaDeviceFlushGPUDirectRDMAWrites(_target: u32, _scope: u32) { Ok(()) }
    cudaGetDriverEntryPoint(
        name: *const c_char, to: *mut *mut c_void, flags: u64, status: *mut u32,
    ) = cudaGetDriverEntryPoint_ptsz { entry::give(name, to, version(), flags, status) }
    cudaGetDriverEntryPointByVersion(
        name: *const c_char, to: *mut *mut c_void, version: u32, flags: u64, status: *mut u32,
    ) = cudaGetDriverEntryPointByVersion_ptsz { entry::give(name, to, version as i32, flags, status) }
}
