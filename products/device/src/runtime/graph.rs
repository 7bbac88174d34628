//! Graphs.

use std::ffi::c_void;

use crate::{
    allocations::Kind,
    call::{any, api, put, with},
    driver::graph::{
        self, FillNode, HostNode, add, connect, cuGraphAddChildGraphNode, cuGraphAddEmptyNode,
        cuGraphAddEventRecordNode, cuGraphAddEventWaitNode, cuGraphAddHostNode, cuGraphClone, cuGraphCreate,
        cuGraphDestroy, cuGraphDestroyNode, cuGraphExecDestroy, cuGraphExecHostNodeSetParams, cuGraphGetNodes,
        cuGraphGetRootNodes, cuGraphHostNodeSetParams, cuGraphLaunch, cuGraphNodeGetType, cuGraphUpload, set,
        set_executable, update,
    },
    driver::memory::allocate,
    error::{Done, Error},
    handle::Handle,
    objects::{Event, Executable, Graph, Node, Stream, Work},
    runtime::{
        errors::{forward, runtime},
        launch::launch_of,
        memory::{Copy3d, node_of},
        version::version,
    },
};

/// `cudaKernelNodeParams`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct KernelNode {
    function: usize,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    arguments: *const *const u8,
    extra: *const c_void,
}

impl KernelNode {
    unsafe fn work(self) -> Done<Work> {
        let Self { function, grid, block, shared, arguments, .. } = self;
        // SAFETY: the program passes the arguments of the kernel.
        Ok(Work::Launch(unsafe { launch_of(function, grid, block, shared as usize, arguments) }?))
    }
}

/// The first words of `cudaGraphNodeParams`: the kind of the node, and the structure of the kind.
#[repr(C)]
pub struct AnyNode {
    kind: u32,
    unused: [u32; 3],
    of: [u64; 29],
}

/// The places, in words, of the copy in `cudaMemcpyNodeParams` and of the size in `cudaMemAllocNodeParams`.
const BEFORE_COPY: usize = 2;
const ALLOCATED_BYTES: usize = 13;

impl AnyNode {
    /// The work of the node. A node that allocates gives the address now, since all launches of the graph have the same.
    unsafe fn work(&mut self) -> Done<Work> {
        let of = self.of.as_mut_ptr();
        // SAFETY: the kind says which structure the words are.
        unsafe {
            match self.kind {
                0 => (*of.cast::<KernelNode>()).work(),
                1 => (*of.add(BEFORE_COPY).cast::<Copy3d>()).copy().map(Work::Copy),
                2 => Ok((*of.cast::<FillNode>()).into()),
                3 => Ok((*of.cast::<HostNode>()).into()),
                5 | 6 | 11 => Ok(Work::Nothing),
                7 => Ok(Work::Record(Handle::new(self.of[0] as usize))),
                10 => allocation(of),
                _ => Err(Error::NotSupported),
            }
        }
    }
}

/// Allocates for `cudaMemAllocNodeParams`, and writes the address after the size.
unsafe fn allocation(of: *mut u64) -> Done<Work> {
    // SAFETY: the caller passes the structure.
    unsafe {
        let bytes = *of.add(ALLOCATED_BYTES);
        *of.add(ALLOCATED_BYTES + 1) = allocate(bytes as usize, Kind::Graph, 0)?;
    }
    Ok(Work::Nothing)
}

/// Gives the result of an update, whose place depends on the version.
unsafe fn give_update(executable: Handle<Executable>, graph: Handle<Graph>, third: *mut u32, fourth: *mut u32) -> Done {
    let result = update(executable, graph)?;
    let to = if version() < 12000 { fourth } else { third };
    // SAFETY: the program passes a pointer for the result.
    unsafe { put(to, result) }?;
    if result == 0 { Ok(()) } else { Err(Error::UpdateFailed) }
}

forward! {
    cudaGraphCreate(to: *mut Handle<Graph>, flags: u32) => cuGraphCreate;
    cudaGraphDestroy(graph: Handle<Graph>) => cuGraphDestroy;
    cudaGraphClone(to: *mut Handle<Graph>, graph: Handle<Graph>) => cuGraphClone;
    cudaGraphNodeFindInClone(to: *mut Handle<Node>, node: Handle<Node>, clone: Handle<Graph>) => graph::cuGraphNodeFindInClone;
    cudaGraphAddHostNode(
        to: *mut Handle<Node>, graph: Handle<Graph>, after: *const Handle<Node>, count: usize, host: *const HostNode,
    ) => cuGraphAddHostNode;
    cudaGraphHostNodeSetParams(node: Handle<Node>, host: *const HostNode) => cuGraphHostNodeSetParams;
    cudaGraphExecHostNodeSetParams(
        executable: Handle<Executable>, node: Handle<Node>, host: *const HostNode,
    ) => cuGraphExecHostNodeSetParams;
    cudaGraphAddChildGraphNode(
        to: *mut Handle<Node>, graph: Handle<Graph>, after: *const Handle<Node>, count: usize, inner: Handle<Graph>,
    ) => cuGraphAddChildGraphNode;
    cudaGraphAddEmptyNode(
        to: *mut Handle<Node>, graph: Handle<Graph>, after: *const Handle<Node>, count: usize,
    ) => cuGraphAddEmptyNode;
    cudaGraphAddEventRecordNode(
        to: *mut Handle<Node>, graph: Handle<Graph>, after: *const Handle<Node>, count: usize, event: Handle<Event>,
    ) => cuGraphAddEventRecordNode;
    cudaGraphAddEventWaitNode(
        to: *mut Handle<Node>, graph: Handle<Graph>, after: *const Handle<Node>, count: usize, event: Handle<Event>,
    ) => cuGraphAddEventWaitNode;
    cudaGraphNodeGetType(node: Handle<Node>, to: *mut u32) => cuGraphNodeGetType;
    cudaGraphGetNodes(graph: Handle<Graph>, to: *mut Handle<Node>, count: *mut usize) => cuGraphGetNodes;
    cudaGraphGetRootNodes(graph: Handle<Graph>, to: *mut Handle<Node>, count: *mut usize) => cuGraphGetRootNodes;
    cudaGraphDestroyNode(node: Handle<Node>) => cuGraphDestroyNode;
    cudaGraphUpload(
        executable: Handle<Executable>, stream: Handle<Stream>,
    ) = cudaGraphUpload_ptsz => cuGraphUpload;
    cudaGraphLaunch(executable: Handle<Executable>, stream: Handle<Stream>) = cudaGraphLaunch_ptsz => cuGraphLaunch;
    cudaGraphExecDestroy(executable: Handle<Executable>) => cuGraphExecDestroy;
    cudaGraphNodeSetEnabled(
        executable: Handle<Executable>, node: Handle<Node>, is_enabled: u32,
    ) => graph::cuGraphNodeSetEnabled;
    cudaGraphNodeGetEnabled(
        executable: Handle<Executable>, node: Handle<Node>, to: *mut u32,
    ) => graph::cuGraphNodeGetEnabled;
}

api! { runtime:
    cudaGraphAddKernelNode(
        to: *mut Handle<Node>, graph: Handle<Graph>, after: *const Handle<Node>, count: usize, of: *const KernelNode,
    ) { add(to, graph, after, count, (*of).work()?) }
    cudaGraphKernelNodeSetParams(node: Handle<Node>, of: *const KernelNode) { set(node, (*of).work()?) }
    cudaGraphExecKernelNodeSetParams(executable: Handle<Executable>, node: Handle<Node>, of: *const KernelNode) {
        set_executable(executable, node, (*of).work()?)
    }
    cudaGraphAddMemcpyNode(
        to: *mut Handle<Node>, graph: Handle<Graph>, after: *const Handle<Node>, count: usize, of: *const Copy3d,
    ) { add(to, graph, after, count, Work::Copy((*of).copy()?)) }
    cudaGraphMemcpyNodeSetParams(node: Handle<Node>, of: *const Copy3d) { set(node, Work::Copy((*of).copy()?)) }
    cudaGraphExecMemcpyNodeSetParams(executable: Handle<Executable>, node: Handle<Node>, of: *const Copy3d) {
        set_executable(executable, node, Work::Copy((*of).copy()?))
    }
    cudaGraphAddMemcpyNode1D(
        to: *mut Handle<Node>, graph: Handle<Graph>, after: *const Handle<Node>, count: usize, destination: u64,
        source: u64, bytes: usize, kind: u32,
    ) { add(to, graph, after, count, node_of(destination, source, bytes, kind)?) }
    cudaGraphExecMemcpyNodeSetParams1D(
        executable: Handle<Executable>, node: Handle<Node>, destination: u64, source: u64, bytes: usize, kind: u32,
    ) { set_executable(executable, node, node_of(destination, source, bytes, kind)?) }
    cudaGraphAddMemsetNode(
        to: *mut Handle<Node>, graph: Handle<Graph>, after: *const Handle<Node>, count: usize, of: *const FillNode,
    ) { add(to, graph, after, count, (*of).into()) }
    cudaGraphMemsetNodeSetParams(node: Handle<Node>, of: *const FillNode) { set(node, (*of).into()) }
    cudaGraphExecMemsetNodeSetParams(executable: Handle<Executable>, node: Handle<Node>, of: *const FillNode) {
        set_executable(executable, node, (*of).into())
    }
    cudaGraphAddDependencies(
        _graph: Handle<Graph>, from: *const Handle<Node>, to: *const Handle<Node>, fourth: usize, fifth: usize,
    ) {
        // From version 13 on, data of edges precede the number of edges.
        connect(from, to, if version() < 13000 { fourth } else { fifth })
    }
    cudaGraphInstantiate(to: *mut Handle<Executable>, graph: Handle<Graph>) = cudaGraphInstantiateWithFlags
        = cudaGraphInstantiateWithParams = cudaGraphInstantiateWithParams_ptsz {
        put(to, with(|gpu| gpu.instantiate(graph))?)
    }
    cudaGraphExecUpdate(executable: Handle<Executable>, graph: Handle<Graph>, third: *mut u32, fourth: *mut u32) {
        give_update(executable, graph, third, fourth)
    }
    cudaGraphAddMemAllocNode(
        to: *mut Handle<Node>, graph: Handle<Graph>, after: *const Handle<Node>, count: usize, of: *mut u64,
    ) { add(to, graph, after, count, allocation(of)?) }
    cudaGraphAddMemFreeNode(
        to: *mut Handle<Node>, graph: Handle<Graph>, after: *const Handle<Node>, count: usize, _address: u64,
    ) { add(to, graph, after, count, Work::Nothing) }
    cudaGraphAddNode(
        to: *mut Handle<Node>, graph: Handle<Graph>, after: *const Handle<Node>, fourth: usize, fifth: usize,
        sixth: *mut AnyNode,
    ) = cudaGraphAddNode_v2 {
        // From version 13 on, data of edges precede the number of nodes.
        let (count, of) = if version() < 13000 { (fourth, fifth as *mut AnyNode) } else { (fifth, sixth) };
        add(to, graph, after, count, (*of).work()?)
    }
    cudaGraphDebugDotPrint() { any(|_| Ok(())) }
}
