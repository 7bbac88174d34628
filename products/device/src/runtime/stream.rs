//! Streams and events.

use std::ffi::c_void;

use crate::{
    call::{api, put},
    driver::stream::{
        self, capture_info, create, create_event, cuEventDestroy_v2, cuEventElapsedTime_v2, cuEventQuery,
        cuEventRecord, cuEventSynchronize, cuLaunchHostFunc, cuLaunchHostFunc_v2, cuStreamAddCallback,
        cuStreamAttachMemAsync, cuStreamBeginCapture_v2, cuStreamBeginCaptureToGraph, cuStreamDestroy_v2,
        cuStreamEndCapture, cuStreamGetFlags, cuStreamGetId, cuStreamGetPriority, cuStreamIsCapturing, cuStreamQuery,
        cuStreamSynchronize, cuStreamWaitEvent, update_capture,
    },
    handle::Handle,
    objects::{Event, Graph, Node, Stream},
    runtime::{
        errors::{forward, runtime},
        version::version,
    },
};

forward! {
    cudaStreamGetPriority(stream: Handle<Stream>, to: *mut i32) = cudaStreamGetPriority_ptsz => cuStreamGetPriority;
    cudaStreamGetFlags(stream: Handle<Stream>, to: *mut u32) = cudaStreamGetFlags_ptsz => cuStreamGetFlags;
    cudaStreamGetId(stream: Handle<Stream>, to: *mut u64) = cudaStreamGetId_ptsz => cuStreamGetId;
    cudaStreamWaitEvent(
        stream: Handle<Stream>, event: Handle<Event>, flags: u32,
    ) = cudaStreamWaitEvent_ptsz => cuStreamWaitEvent;
    cudaStreamAddCallback(
        stream: Handle<Stream>, callback: unsafe extern "C" fn(Handle<Stream>, u32, *mut c_void), data: *mut c_void,
        flags: u32,
    ) = cudaStreamAddCallback_ptsz => cuStreamAddCallback;
    cudaLaunchHostFunc(
        stream: Handle<Stream>, function: unsafe extern "C" fn(*mut c_void), data: *mut c_void,
    ) = cudaLaunchHostFunc_ptsz => cuLaunchHostFunc;
    cudaLaunchHostFunc_v2(
        stream: Handle<Stream>, function: unsafe extern "C" fn(*mut c_void), data: *mut c_void, mode: u32,
    ) = cudaLaunchHostFunc_v2_ptsz => cuLaunchHostFunc_v2;
    cudaStreamBeginCapture(stream: Handle<Stream>, mode: u32) = cudaStreamBeginCapture_ptsz => cuStreamBeginCapture_v2;
    cudaStreamBeginCaptureToGraph(
        stream: Handle<Stream>, graph: Handle<Graph>, nodes: *const Handle<Node>, edges: *const u8, count: usize,
        mode: u32,
    ) = cudaStreamBeginCaptureToGraph_ptsz => cuStreamBeginCaptureToGraph;
    cudaStreamEndCapture(
        stream: Handle<Stream>, to: *mut Handle<Graph>,
    ) = cudaStreamEndCapture_ptsz => cuStreamEndCapture;
    cudaStreamIsCapturing(stream: Handle<Stream>, to: *mut u32) = cudaStreamIsCapturing_ptsz => cuStreamIsCapturing;
    cudaThreadExchangeStreamCaptureMode(mode: *mut u32) => stream::cuThreadExchangeStreamCaptureMode;
    cudaStreamAttachMemAsync(
        stream: Handle<Stream>, address: u64, bytes: usize, flags: u32,
    ) = cudaStreamAttachMemAsync_ptsz => cuStreamAttachMemAsync;
    cudaStreamQuery(stream: Handle<Stream>) = cudaStreamQuery_ptsz => cuStreamQuery;
    cudaStreamSynchronize(stream: Handle<Stream>) = cudaStreamSynchronize_ptsz => cuStreamSynchronize;
    cudaStreamDestroy(stream: Handle<Stream>) => cuStreamDestroy_v2;
    cudaStreamSetAttribute(
        stream: Handle<Stream>, number: u32, value: *const u8,
    ) = cudaStreamSetAttribute_ptsz => stream::cuStreamSetAttribute;
    cudaStreamCopyAttributes(
        to: Handle<Stream>, from: Handle<Stream>,
    ) = cudaStreamCopyAttributes_ptsz => stream::cuStreamCopyAttributes;
    cudaEventRecord(event: Handle<Event>, stream: Handle<Stream>) = cudaEventRecord_ptsz => cuEventRecord;
    cudaEventRecordWithFlags(
        event: Handle<Event>, stream: Handle<Stream>, flags: u32,
    ) = cudaEventRecordWithFlags_ptsz => stream::cuEventRecordWithFlags;
    cudaEventQuery(event: Handle<Event>) => cuEventQuery;
    cudaEventSynchronize(event: Handle<Event>) => cuEventSynchronize;
    cudaEventDestroy(event: Handle<Event>) => cuEventDestroy_v2;
    cudaEventElapsedTime(
        to: *mut f32, start: Handle<Event>, end: Handle<Event>,
    ) = cudaEventElapsedTime_v2 => cuEventElapsedTime_v2;
}

api! { runtime:
    cudaStreamCreate(to: *mut Handle<Stream>) { put(to, create(0, 0)?) }
    cudaStreamCreateWithFlags(to: *mut Handle<Stream>, flags: u32) { put(to, create(flags, 0)?) }
    cudaStreamCreateWithPriority(to: *mut Handle<Stream>, flags: u32, priority: i32) { put(to, create(flags, priority)?) }
    cudaStreamGetDevice(_stream: Handle<Stream>, to: *mut i32) = cudaStreamGetDevice_ptsz { put(to, 0) }
    cudaEventCreate(to: *mut Handle<Event>) { put(to, create_event(0)?) }
    cudaEventCreateWithFlags(to: *mut Handle<Event>, flags: u32) { put(to, create_event(flags)?) }
    cudaStreamGetCaptureInfo_v2(
        stream: Handle<Stream>, status: *mut u32, number: *mut u64, graph: *mut Handle<Graph>,
        nodes: *mut *const Handle<Node>, count: *mut usize,
    ) = cudaStreamGetCaptureInfo_v2_ptsz { capture_info(stream, status, number, graph, nodes, count) }
    cudaStreamGetCaptureInfo(
        stream: Handle<Stream>, status: *mut u32, number: *mut u64, graph: *mut Handle<Graph>,
        nodes: *mut *const Handle<Node>, edges: *mut *const u8, count: *mut usize,
    ) = cudaStreamGetCaptureInfo_v3 = cudaStreamGetCaptureInfo_ptsz = cudaStreamGetCaptureInfo_v3_ptsz {
        // Before version 13 the function has the first three parameters alone.
        if version() < 13000 {
            let (graph, nodes, count) = (std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut());
            return capture_info(stream, status, number, graph, nodes, count);
        }
        crate::call::offer(edges, std::ptr::null());
        capture_info(stream, status, number, graph, nodes, count)
    }
    cudaStreamUpdateCaptureDependencies(
        stream: Handle<Stream>, nodes: *const Handle<Node>, third: usize, fourth: usize, fifth: u32,
    ) = cudaStreamUpdateCaptureDependencies_v2 = cudaStreamUpdateCaptureDependencies_ptsz {
        // From version 13 on, data of edges precede the number of nodes.
        match version() < 13000 {
            true => update_capture(stream, nodes, third, fourth as u32),
            false => update_capture(stream, nodes, fourth, fifth),
        }
    }
}
