//! Contexts. All contexts share the memory of the process; the API's rules about the current context of a thread hold.

use std::cell::RefCell;

use crate::{
    call::{any, api, driver, offer, put, with},
    error::{Done, Error},
    handle::Handle,
    objects::{Context, Event, Stream, Work},
    stream::submit,
};

thread_local! {
    /// The contexts of this thread; the last one is current.
    static CURRENT: RefCell<Vec<Handle<Context>>> = const { RefCell::new(Vec::new()) };
}

/// The current context of the thread, or NULL.
pub fn current() -> Handle<Context> {
    CURRENT.with_borrow(|all| all.last().copied().unwrap_or(Handle::NULL))
}

fn push(context: Handle<Context>) {
    CURRENT.with_borrow_mut(|all| all.push(context));
}

/// Makes a context current instead of the current one.
pub fn set(context: Handle<Context>) {
    CURRENT.with_borrow_mut(|all| {
        all.pop();
        if !context.is_null() {
            all.push(context);
        }
    });
}

fn create(to: *mut Handle<Context>, flags: u32) -> Done {
    let context = with(|gpu| Ok(gpu.contexts.insert(Context { flags, is_primary: false })))?;
    push(context);
    // SAFETY: the program passes a pointer for the result.
    unsafe { put(to, context) }
}

/// The range of priorities of streams: the lowest, and the highest.
pub const PRIORITIES: [i32; 2] = [0, -5];

api! { driver:
    cuDevicePrimaryCtxRetain(to: *mut Handle<Context>, _device: i32) {
        put(to, with(|gpu| Ok(gpu.primary()))?)
    }
    cuDevicePrimaryCtxRelease_v2(_device: i32) = cuDevicePrimaryCtxRelease { Ok(()) }
    cuDevicePrimaryCtxSetFlags_v2(_device: i32, flags: u32) = cuDevicePrimaryCtxSetFlags {
        any(|gpu| {
            let context = gpu.primary();
            gpu.contexts.get_mut(context)?.flags = flags;
            Ok(())
        })
    }
    cuDevicePrimaryCtxGetState(_device: i32, flags: *mut u32, active: *mut i32) {
        let primary = any(|gpu| Ok(gpu.contexts.find(|context| context.is_primary)))?;
        let held = any(|gpu| Ok(primary.map_or(0, |context| gpu.contexts.get(context).map_or(0, |found| found.flags))))?;
        put(flags, held)?;
        put(active, i32::from(primary.is_some()))
    }
    cuDevicePrimaryCtxReset_v2(_device: i32) = cuDevicePrimaryCtxReset {
        any(|gpu| {
            gpu.reset();
            Ok(())
        })
    }
    cuCtxCreate_v2(to: *mut Handle<Context>, flags: u32, _device: i32) = cuCtxCreate { create(to, flags) }
    cuCtxCreate_v3(to: *mut Handle<Context>, _affinity: *const u8, _count: i32, flags: u32, _device: i32) {
        create(to, flags)
    }
    cuCtxCreate_v4(to: *mut Handle<Context>, _parameters: *const u8, flags: u32, _device: i32) { create(to, flags) }
    cuCtxDestroy_v2(context: Handle<Context>) = cuCtxDestroy = cuCtxDetach {
        any(|gpu| {
            gpu.flush();
            gpu.contexts.remove(context).map(drop).map_err(|_| Error::InvalidContext)
        })?;
        CURRENT.with_borrow_mut(|all| all.retain(|other| *other != context));
        Ok(())
    }
    cuCtxPushCurrent_v2(context: Handle<Context>) = cuCtxPushCurrent {
        push(context);
        Ok(())
    }
    cuCtxPopCurrent_v2(to: *mut Handle<Context>) = cuCtxPopCurrent {
        let popped = CURRENT.with_borrow_mut(Vec::pop).ok_or(Error::InvalidContext)?;
        offer(to, popped);
        Ok(())
    }
    cuCtxSetCurrent(context: Handle<Context>) {
        set(context);
        Ok(())
    }
    cuCtxGetCurrent(to: *mut Handle<Context>) { put(to, current()) }
    cuCtxGetDevice(to: *mut i32) = cuCtxGetDevice_v2 {
        if current().is_null() { Err(Error::InvalidContext) } else { put(to, 0) }
    }
    cuCtxGetFlags(to: *mut u32) {
        put(to, any(|gpu| Ok(gpu.contexts.get(current()).map_or(0, |context| context.flags)))?)
    }
    cuCtxSetFlags(flags: u32) {
        any(|gpu| {
            gpu.contexts.get_mut(current()).map_err(|_| Error::InvalidContext)?.flags = flags;
            Ok(())
        })
    }
    cuCtxGetId(context: Handle<Context>, to: *mut u64) { put(to, context.0 as u64) }
    cuCtxSynchronize() = cuCtxSynchronize_v2 {
        any(|gpu| {
            gpu.order.wait_for_all();
            gpu.synchronize()
        })
    }
    cuCtxSetLimit(limit: u32, value: usize) {
        any(|gpu| {
            *gpu.limits.get_mut(limit as usize).ok_or(Error::InvalidValue)? = value;
            Ok(())
        })
    }
    cuCtxGetLimit(to: *mut usize, limit: u32) {
        put(to, any(|gpu| gpu.limits.get(limit as usize).copied().ok_or(Error::InvalidValue))?)
    }
    cuCtxGetCacheConfig(to: *mut u32) { put(to, 0) }
    cuCtxSetCacheConfig(_config: u32) { Ok(()) }
    cuCtxGetSharedMemConfig(to: *mut u32) { put(to, 1) }
    cuCtxSetSharedMemConfig(_config: u32) { Ok(()) }
    cuCtxGetApiVersion(_context: Handle<Context>, to: *mut u32) { put(to, 3020) }
    cuCtxGetStreamPriorityRange(least: *mut i32, greatest: *mut i32) {
        offer(least, PRIORITIES[0]);
        offer(greatest, PRIORITIES[1]);
        Ok(())
    }
    cuCtxResetPersistingL2Cache() { Ok(()) }
    cuCtxEnablePeerAccess(_context: Handle<Context>, _flags: u32) { Err(Error::PeerAccess) }
    cuCtxDisablePeerAccess(_context: Handle<Context>) { Err(Error::PeerAccess) }
    cuCtxRecordEvent(_context: Handle<Context>, event: Handle<Event>) {
        submit(Stream::NULL, Work::Record(event))
    }
    cuCtxWaitEvent(_context: Handle<Context>, event: Handle<Event>) {
        with(|gpu| gpu.events.get(event).map(drop))
    }
}
