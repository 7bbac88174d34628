//! Streams and events.

use std::ffi::c_void;

use crate::{
    allocations::Kind,
    call::{any, api, driver, offer, put, with},
    driver::context::{PRIORITIES, current},
    error::{Done, Error},
    handle::Handle,
    objects::{Context, Event, Graph, HostFunction, Node, Stream, Work},
    say::say,
    stream::submit,
};

/// A callback of `cuStreamAddCallback`: the stream, the status, and the data of the program.
type Callback = unsafe extern "C" fn(Handle<Stream>, u32, *mut c_void);

/// Makes a stream.
pub fn create(flags: u32, priority: i32) -> Done<Handle<Stream>> {
    let priority = priority.clamp(PRIORITIES[1], PRIORITIES[0]);
    with(|gpu| {
        gpu.stream_count += 1;
        let number = gpu.stream_count;
        Ok(gpu.streams.insert(Stream { number, flags, priority, ..Stream::default() }))
    })
}

/// Makes an event.
pub fn create_event(flags: u32) -> Done<Handle<Event>> {
    with(|gpu| Ok(gpu.events.insert(Event { flags, ..Event::default() })))
}

/// Waits for the work of a stream.
pub fn synchronize(stream: Handle<Stream>) -> Done {
    any(|gpu| {
        gpu.streams.get(stream)?;
        gpu.wait_for(stream);
        gpu.synchronize()
    })
}

/// Gives the state of a capture: whether there is one, its number, its graph, and the nodes that the next node follows.
pub unsafe fn capture_info(
    stream: Handle<Stream>,
    status: *mut u32,
    number: *mut u64,
    graph: *mut Handle<Graph>,
    nodes: *mut *const Handle<Node>,
    count: *mut usize,
) -> Done {
    let capture = with(|gpu| Ok(gpu.streams.get(stream)?.capture.clone()))?;
    // SAFETY: the program passes pointers for the results or NULL.
    unsafe {
        put(status, u32::from(capture.is_some()))?;
        let Some(capture) = capture else { return Ok(()) };
        offer(number, capture.graph.0 as u64);
        offer(graph, capture.graph);
        offer(count, capture.last.len());
        // The list lives as long as the process; the program reads it before the next call.
        offer(nodes, Vec::leak(capture.last).as_ptr());
    }
    Ok(())
}

/// Sets or extends the nodes that the next captured node follows.
pub unsafe fn update_capture(stream: Handle<Stream>, nodes: *const Handle<Node>, count: usize, flags: u32) -> Done {
    // SAFETY: the program passes an array of this size.
    let nodes = (0..count).map(|index| unsafe { *nodes.add(index) }).collect::<Vec<_>>();
    with(|gpu| {
        let capture = gpu.streams.get_mut(stream)?.capture.as_mut().ok_or(Error::InvalidValue)?;
        if flags & 1 == 1 {
            capture.last = nodes;
        } else {
            capture.last.extend(nodes);
        }
        Ok(())
    })
}

/// Waits for a value in memory, which no later work of another stream can change any more.
fn wait_value(stream: Handle<Stream>, address: u64, wanted: u64, bytes: usize, flags: u32) -> Done {
    let mut held = [0; 8];
    with(|gpu| {
        held[..bytes].copy_from_slice(gpu.read(address, bytes)?);
        gpu.order.follow_all(gpu.queue(stream));
        Ok(())
    })?;
    let value = u64::from_le_bytes(held);
    let is_reached = match flags & 3 {
        0 => value.wrapping_sub(wanted) << (64 - 8 * bytes) >> 63 == 0,
        1 => value == wanted,
        2 => value & wanted != 0,
        _ => !(value | wanted) != 0,
    };
    if is_reached {
        return Ok(());
    }
    say("a stream waits for a value that only later work can write: the work of a program runs in its order");
    Err(Error::Timeout)
}

fn write_value(address: u64, value: &[u8]) -> Done {
    with(|gpu| gpu.write(address, value))
}

api! { driver:
    cuStreamCreate(to: *mut Handle<Stream>, flags: u32) { put(to, create(flags, 0)?) }
    cuStreamCreateWithPriority(to: *mut Handle<Stream>, flags: u32, priority: i32) { put(to, create(flags, priority)?) }
    cuStreamGetPriority(stream: Handle<Stream>, to: *mut i32) = cuStreamGetPriority_ptsz {
        put(to, with(|gpu| Ok(gpu.streams.get(stream)?.priority))?)
    }
    cuStreamGetFlags(stream: Handle<Stream>, to: *mut u32) = cuStreamGetFlags_ptsz {
        put(to, with(|gpu| Ok(gpu.streams.get(stream)?.flags))?)
    }
    cuStreamGetId(stream: Handle<Stream>, to: *mut u64) = cuStreamGetId_ptsz { put(to, stream.0 as u64) }
    cuStreamGetDevice(_stream: Handle<Stream>, to: *mut i32) = cuStreamGetDevice_ptsz { put(to, 0) }
    cuStreamGetCtx(_stream: Handle<Stream>, to: *mut Handle<Context>) = cuStreamGetCtx_ptsz { put(to, current()) }
    cuStreamWaitEvent(stream: Handle<Stream>, event: Handle<Event>, _flags: u32) = cuStreamWaitEvent_ptsz {
        with(|gpu| gpu.wait_event(stream, event))
    }
    cuStreamAddCallback(
        stream: Handle<Stream>, callback: Callback, data: *mut c_void, _flags: u32,
    ) = cuStreamAddCallback_ptsz {
        with(|gpu| {
            gpu.streams.get(stream)?;
            gpu.wait_for(stream);
            Ok(())
        })?;
        callback(stream, 0, data);
        Ok(())
    }
    cuLaunchHostFunc(
        stream: Handle<Stream>, function: unsafe extern "C" fn(*mut c_void), data: *mut c_void,
    ) = cuLaunchHostFunc_ptsz { submit(stream, Work::Host(HostFunction { function, data })) }
    cuLaunchHostFunc_v2(
        stream: Handle<Stream>, function: unsafe extern "C" fn(*mut c_void), data: *mut c_void, _mode: u32,
    ) = cuLaunchHostFunc_v2_ptsz { submit(stream, Work::Host(HostFunction { function, data })) }
    cuStreamBeginCapture_v2(
        stream: Handle<Stream>, _mode: u32,
    ) = cuStreamBeginCapture = cuStreamBeginCapture_ptsz = cuStreamBeginCapture_v2_ptsz { with(|gpu| gpu.begin_capture(stream, None)) }
    cuStreamBeginCaptureToGraph(
        stream: Handle<Stream>, graph: Handle<Graph>, nodes: *const Handle<Node>, _edges: *const u8, count: usize,
        _mode: u32,
    ) = cuStreamBeginCaptureToGraph_ptsz {
        with(|gpu| gpu.begin_capture(stream, Some(graph)))?;
        update_capture(stream, nodes, count, 1)
    }
    cuThreadExchangeStreamCaptureMode(_mode: *mut u32) { Ok(()) }
    cuStreamEndCapture(stream: Handle<Stream>, to: *mut Handle<Graph>) = cuStreamEndCapture_ptsz {
        put(to, with(|gpu| gpu.end_capture(stream))?)
    }
    cuStreamIsCapturing(stream: Handle<Stream>, to: *mut u32) = cuStreamIsCapturing_ptsz {
        put(to, with(|gpu| Ok(u32::from(gpu.streams.get(stream)?.capture.is_some())))?)
    }
    cuStreamGetCaptureInfo_v2(
        stream: Handle<Stream>, status: *mut u32, number: *mut u64, graph: *mut Handle<Graph>,
        nodes: *mut *const Handle<Node>, count: *mut usize,
    ) = cuStreamGetCaptureInfo_v2_ptsz { capture_info(stream, status, number, graph, nodes, count) }
    cuStreamGetCaptureInfo_v3(
        stream: Handle<Stream>, status: *mut u32, number: *mut u64, graph: *mut Handle<Graph>,
        nodes: *mut *const Handle<Node>, edges: *mut *const u8, count: *mut usize,
    ) = cuStreamGetCaptureInfo_v3_ptsz {
        offer(edges, std::ptr::null());
        capture_info(stream, status, number, graph, nodes, count)
    }
    cuStreamUpdateCaptureDependencies(
        stream: Handle<Stream>, nodes: *const Handle<Node>, count: usize, flags: u32,
    ) = cuStreamUpdateCaptureDependencies_ptsz { update_capture(stream, nodes, count, flags) }
    cuStreamUpdateCaptureDependencies_v2(
        stream: Handle<Stream>, nodes: *const Handle<Node>, _edges: *const u8, count: usize, flags: u32,
    ) = cuStreamUpdateCaptureDependencies_v2_ptsz { update_capture(stream, nodes, count, flags) }
    cuStreamAttachMemAsync(
        _stream: Handle<Stream>, address: u64, _bytes: usize, _flags: u32,
    ) = cuStreamAttachMemAsync_ptsz {
        let is_managed = |kind: Kind| kind == Kind::Managed;
        with(|gpu| {
            let found = gpu.memory.find(address).is_some_and(|(_, found)| is_managed(found.kind));
            if found { Ok(()) } else { Err(Error::InvalidValue) }
        })
    }
    cuStreamQuery(stream: Handle<Stream>) = cuStreamQuery_ptsz { synchronize(stream) }
    cuStreamSynchronize(stream: Handle<Stream>) = cuStreamSynchronize_ptsz { synchronize(stream) }
    cuStreamDestroy_v2(stream: Handle<Stream>) = cuStreamDestroy { any(|gpu| gpu.streams.remove(stream).map(drop)) }
    cuStreamCopyAttributes(_to: Handle<Stream>, _from: Handle<Stream>) = cuStreamCopyAttributes_ptsz { Ok(()) }
    cuStreamSetAttribute(_stream: Handle<Stream>, _number: u32, _value: *const u8) = cuStreamSetAttribute_ptsz {
        Ok(())
    }
    cuStreamWaitValue32_v2(
        stream: Handle<Stream>, address: u64, value: u32, flags: u32,
    ) = cuStreamWaitValue32 = cuStreamWaitValue32_ptsz = cuStreamWaitValue32_v2_ptsz { wait_value(stream, address, value.into(), 4, flags) }
    cuStreamWaitValue64_v2(
        stream: Handle<Stream>, address: u64, value: u64, flags: u32,
    ) = cuStreamWaitValue64 = cuStreamWaitValue64_ptsz = cuStreamWaitValue64_v2_ptsz { wait_value(stream, address, value, 8, flags) }
    cuStreamWriteValue32_v2(
        _stream: Handle<Stream>, address: u64, value: u32, _flags: u32,
    ) = cuStreamWriteValue32 = cuStreamWriteValue32_ptsz = cuStreamWriteValue32_v2_ptsz { write_value(address, &value.to_le_bytes()) }
    cuStreamWriteValue64_v2(
        _stream: Handle<Stream>, address: u64, value: u64, _flags: u32,
    ) = cuStreamWriteValue64 = cuStreamWriteValue64_ptsz = cuStreamWriteValue64_v2_ptsz { write_value(address, &value.to_le_bytes()) }
    cuEventCreate(to: *mut Handle<Event>, flags: u32) { put(to, create_event(flags)?) }
    cuEventRecord(event: Handle<Event>, stream: Handle<Stream>) = cuEventRecord_ptsz {
        submit(stream, Work::Record(event))
    }
    cuEventRecordWithFlags(event: Handle<Event>, stream: Handle<Stream>, _flags: u32) = cuEventRecordWithFlags_ptsz {
        submit(stream, Work::Record(event))
    }
    cuEventQuery(event: Handle<Event>) {
        any(|gpu| {
            gpu.recorded(event)?;
            gpu.order.wait_for_event(event);
            gpu.fault.map_or(Ok(()), Err)
        })
    }
    cuEventSynchronize(event: Handle<Event>) {
        any(|gpu| {
            gpu.recorded(event)?;
            gpu.order.wait_for_event(event);
            gpu.synchronize()
        })
    }
    cuEventDestroy_v2(event: Handle<Event>) = cuEventDestroy { any(|gpu| gpu.events.remove(event).map(drop)) }
    cuEventElapsedTime_v2(to: *mut f32, start: Handle<Event>, end: Handle<Event>) = cuEventElapsedTime {
        put(to, with(|gpu| gpu.elapsed(start, end))?)
    }
}
