//! Graphs.

use std::ffi::c_void;

use crate::{
    call::{any, api, driver, offer, put, with},
    driver::{
        copy::Copy3d,
        launch::{KernelNode, simple},
    },
    error::{Done, Error},
    handle::Handle,
    objects::{Event, Executable, Fill, Graph, HostFunction, Node, Stream, Work},
    stream::launch_graph,
};

/// `CUDA_MEMSET_NODE_PARAMS`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct FillNode {
    address: u64,
    pitch: usize,
    value: u32,
    size: u32,
    width: usize,
    rows: usize,
}

/// `CUDA_HOST_NODE_PARAMS`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct HostNode {
    function: unsafe extern "C" fn(*mut c_void),
    data: *mut c_void,
}

impl From<FillNode> for Work {
    fn from(FillNode { address, pitch, value, size, width, rows }: FillNode) -> Self {
        Self::Fill(Fill { address, value, size: size as usize, width, pitch, rows })
    }
}

impl From<HostNode> for Work {
    fn from(HostNode { function, data }: HostNode) -> Self {
        Self::Host(HostFunction { function, data })
    }
}

/// All flags of an instantiation.
const FLAGS: u64 = 15;
/// The flags that exclude each other: memory is freed by each launch, and launches by the device.
const APART: u64 = 5;

/// The nodes at a pointer.
///
/// # Safety
/// The array has this size.
pub unsafe fn nodes_at(at: *const Handle<Node>, count: usize) -> Vec<Handle<Node>> {
    // SAFETY: the caller promises it.
    (0..count).map(|index| unsafe { *at.add(index) }).collect()
}

/// Adds a node with work.
///
/// # Safety
/// As for [`nodes_at`]; `to` can be written.
pub unsafe fn add(
    to: *mut Handle<Node>,
    graph: Handle<Graph>,
    after: *const Handle<Node>,
    count: usize,
    work: Work,
) -> Done {
    // SAFETY: the caller promises it.
    unsafe { put(to, with(|gpu| gpu.add_node(graph, work, nodes_at(after, count)))?) }
}

/// Sets the work of a node.
pub fn set(node: Handle<Node>, work: Work) -> Done {
    with(|gpu| {
        gpu.nodes.get_mut(node)?.work = work;
        Ok(())
    })
}

/// Sets the work of a node of an executable.
pub fn set_executable(executable: Handle<Executable>, node: Handle<Node>, work: Work) -> Done {
    with(|gpu| {
        *gpu.executables.get_mut(executable)?.work(node)? = work;
        Ok(())
    })
}

/// Gives nodes, as many as fit; with NULL, their number alone.
///
/// # Safety
/// `count` can be read and written, and `to` is NULL or has so many places.
pub unsafe fn give(nodes: &[Handle<Node>], to: *mut Handle<Node>, count: *mut usize) -> Done {
    // SAFETY: the caller promises it.
    unsafe {
        if to.is_null() {
            return put(count, nodes.len());
        }
        let most = *count;
        for (index, node) in nodes.iter().take(most).enumerate() {
            put(to.add(index), *node)?;
        }
        put(count, nodes.len().min(most))
    }
}

/// The kind of a node, `CUgraphNodeType`.
fn kind(work: &Work) -> u32 {
    match work {
        Work::Launch(_) => 0,
        Work::Copy(_) => 1,
        Work::Fill(_) => 2,
        Work::Host(_) => 3,
        Work::Graph(_) => 4,
        Work::Nothing | Work::Free(_) => 5,
        Work::Record(_) => 7,
    }
}

/// The result of an update of an executable, `CUgraphExecUpdateResult`: success, or another topology.
pub fn update(executable: Handle<Executable>, graph: Handle<Graph>) -> Done<u32> {
    with(|gpu| Ok(if gpu.update(executable, graph)? { 0 } else { 2 }))
}

/// The work of all nodes of a graph, as one node of another graph.
fn child(graph: Handle<Graph>) -> Done<Work> {
    with(|gpu| Ok(Work::Graph(gpu.steps(graph)?.into_iter().map(|(_, step)| step).collect())))
}

/// Adds the edges from nodes to nodes.
pub unsafe fn connect(from: *const Handle<Node>, to: *const Handle<Node>, count: usize) -> Done {
    // SAFETY: the program passes arrays of this size.
    let (from, to) = unsafe { (nodes_at(from, count), nodes_at(to, count)) };
    with(|gpu| {
        from.into_iter().zip(to).try_for_each(|(from, to)| {
            gpu.nodes.get_mut(to)?.after.push(from);
            Ok(())
        })
    })
}

api! { driver:
    cuGraphCreate(to: *mut Handle<Graph>, _flags: u32) { put(to, with(|gpu| Ok(gpu.graphs.insert(Graph::default())))?) }
    cuGraphDestroy(graph: Handle<Graph>) { any(|gpu| gpu.destroy_graph(graph)) }
    cuGraphClone(to: *mut Handle<Graph>, graph: Handle<Graph>) { put(to, with(|gpu| gpu.clone_graph(graph))?) }
    cuGraphNodeFindInClone(to: *mut Handle<Node>, node: Handle<Node>, clone: Handle<Graph>) {
        let found = with(|gpu| gpu.nodes.find(|other| other.graph == clone && other.original == node).ok_or(Error::InvalidValue))?;
        put(to, found)
    }
    cuGraphAddKernelNode_v2(
        to: *mut Handle<Node>, graph: Handle<Graph>, after: *const Handle<Node>, count: usize,
        node: *const KernelNode,
    ) = cuGraphAddKernelNode { add(to, graph, after, count, Work::Launch(simple(&*node)?)) }
    cuGraphKernelNodeSetParams_v2(node: Handle<Node>, of: *const KernelNode) = cuGraphKernelNodeSetParams {
        set(node, Work::Launch(simple(&*of)?))
    }
    cuGraphExecKernelNodeSetParams_v2(
        executable: Handle<Executable>, node: Handle<Node>, of: *const KernelNode,
    ) = cuGraphExecKernelNodeSetParams { set_executable(executable, node, Work::Launch(simple(&*of)?)) }
    cuGraphAddMemcpyNode(
        to: *mut Handle<Node>, graph: Handle<Graph>, after: *const Handle<Node>, count: usize, copy: *const Copy3d,
        _context: usize,
    ) { add(to, graph, after, count, Work::Copy((*copy).copy()?)) }
    cuGraphMemcpyNodeSetParams(node: Handle<Node>, copy: *const Copy3d) { set(node, Work::Copy((*copy).copy()?)) }
    cuGraphExecMemcpyNodeSetParams(
        executable: Handle<Executable>, node: Handle<Node>, copy: *const Copy3d, _context: usize,
    ) { set_executable(executable, node, Work::Copy((*copy).copy()?)) }
    cuGraphAddMemsetNode(
        to: *mut Handle<Node>, graph: Handle<Graph>, after: *const Handle<Node>, count: usize,
        fill: *const FillNode, _context: usize,
    ) { add(to, graph, after, count, (*fill).into()) }
    cuGraphMemsetNodeSetParams(node: Handle<Node>, fill: *const FillNode) { set(node, (*fill).into()) }
    cuGraphExecMemsetNodeSetParams(
        executable: Handle<Executable>, node: Handle<Node>, fill: *const FillNode, _context: usize,
    ) { set_executable(executable, node, (*fill).into()) }
    cuGraphAddHostNode(
        to: *mut Handle<Node>, graph: Handle<Graph>, after: *const Handle<Node>, count: usize, host: *const HostNode,
    ) { add(to, graph, after, count, (*host).into()) }
    cuGraphHostNodeSetParams(node: Handle<Node>, host: *const HostNode) { set(node, (*host).into()) }
    cuGraphExecHostNodeSetParams(executable: Handle<Executable>, node: Handle<Node>, host: *const HostNode) {
        set_executable(executable, node, (*host).into())
    }
    cuGraphAddChildGraphNode(
        to: *mut Handle<Node>, graph: Handle<Graph>, after: *const Handle<Node>, count: usize, inner: Handle<Graph>,
    ) { add(to, graph, after, count, child(inner)?) }
    cuGraphExecChildGraphNodeSetParams(executable: Handle<Executable>, node: Handle<Node>, inner: Handle<Graph>) {
        set_executable(executable, node, child(inner)?)
    }
    cuGraphAddEmptyNode(to: *mut Handle<Node>, graph: Handle<Graph>, after: *const Handle<Node>, count: usize) {
        add(to, graph, after, count, Work::Nothing)
    }
    cuGraphAddEventRecordNode(
        to: *mut Handle<Node>, graph: Handle<Graph>, after: *const Handle<Node>, count: usize, event: Handle<Event>,
    ) { add(to, graph, after, count, Work::Record(event)) }
    cuGraphAddEventWaitNode(
        to: *mut Handle<Node>, graph: Handle<Graph>, after: *const Handle<Node>, count: usize, _event: Handle<Event>,
    ) { add(to, graph, after, count, Work::Nothing) }
    cuGraphNodeGetType(node: Handle<Node>, to: *mut u32) { put(to, with(|gpu| Ok(kind(&gpu.nodes.get(node)?.work)))?) }
    cuGraphGetNodes(graph: Handle<Graph>, to: *mut Handle<Node>, count: *mut usize) {
        give(&with(|gpu| Ok(gpu.graphs.get(graph)?.nodes.clone()))?, to, count)
    }
    cuGraphGetRootNodes(graph: Handle<Graph>, to: *mut Handle<Node>, count: *mut usize) {
        let roots = with(|gpu| {
            let nodes = gpu.graphs.get(graph)?.nodes.clone();
            Ok(nodes.into_iter().filter(|node| gpu.nodes.get(*node).is_ok_and(|node| node.after.is_empty())).collect::<Vec<_>>())
        })?;
        give(&roots, to, count)
    }
    cuGraphNodeGetDependencies(node: Handle<Node>, to: *mut Handle<Node>, count: *mut usize) {
        give(&with(|gpu| Ok(gpu.nodes.get(node)?.after.clone()))?, to, count)
    }
    cuGraphAddDependencies(
        _graph: Handle<Graph>, from: *const Handle<Node>, to: *const Handle<Node>, count: usize,
    ) { connect(from, to, count) }
    cuGraphAddDependencies_v2(
        _graph: Handle<Graph>, from: *const Handle<Node>, to: *const Handle<Node>, _edges: *const u8, count: usize,
    ) { connect(from, to, count) }
    cuGraphDestroyNode(node: Handle<Node>) {
        with(|gpu| {
            let Node { graph, .. } = gpu.nodes.remove(node)?;
            gpu.graphs.get_mut(graph)?.nodes.retain(|other| *other != node);
            gpu.nodes.values_mut().for_each(|other| other.after.retain(|after| *after != node));
            Ok(())
        })
    }
    cuGraphInstantiateWithFlags(to: *mut Handle<Executable>, graph: Handle<Graph>, flags: u64) {
        if flags > FLAGS || flags & APART == APART {
            return Err(Error::InvalidValue);
        }
        put(to, with(|gpu| gpu.instantiate(graph))?)
    }
    cuGraphInstantiate_v2(
        to: *mut Handle<Executable>, graph: Handle<Graph>, _node: *mut Handle<Node>, _log: *mut u8, _most: usize,
    ) = cuGraphInstantiate { put(to, with(|gpu| gpu.instantiate(graph))?) }
    cuGraphInstantiateWithParams(
        to: *mut Handle<Executable>, graph: Handle<Graph>, _parameters: *mut u8,
    ) = cuGraphInstantiateWithParams_ptsz { put(to, with(|gpu| gpu.instantiate(graph))?) }
    cuGraphExecGetFlags(_executable: Handle<Executable>, to: *mut u64) { put(to, 0) }
    cuGraphExecUpdate(executable: Handle<Executable>, graph: Handle<Graph>, node: *mut Handle<Node>, result: *mut u32) {
        offer(node, Handle::NULL);
        put(result, update(executable, graph)?)
    }
    cuGraphExecUpdate_v2(executable: Handle<Executable>, graph: Handle<Graph>, result: *mut u32) {
        put(result, update(executable, graph)?)
    }
    cuGraphNodeSetEnabled(executable: Handle<Executable>, node: Handle<Node>, is_enabled: u32) {
        with(|gpu| {
            let nodes = &mut gpu.executables.get_mut(executable)?.nodes;
            nodes.iter_mut().find(|(other, ..)| *other == node).ok_or(Error::InvalidValue)?.2 = is_enabled != 0;
            Ok(())
        })
    }
    cuGraphNodeGetEnabled(executable: Handle<Executable>, node: Handle<Node>, to: *mut u32) {
        let is_enabled = with(|gpu| {
            let nodes = &gpu.executables.get(executable)?.nodes;
            Ok(nodes.iter().find(|(other, ..)| *other == node).ok_or(Error::InvalidValue)?.2)
        })?;
        put(to, u32::from(is_enabled))
    }
    cuGraphUpload(_executable: Handle<Executable>, _stream: Handle<Stream>) = cuGraphUpload_ptsz { Ok(()) }
    cuGraphLaunch(executable: Handle<Executable>, stream: Handle<Stream>) = cuGraphLaunch_ptsz {
        launch_graph(stream, executable)
    }
    cuGraphExecDestroy(executable: Handle<Executable>) { any(|gpu| gpu.executables.remove(executable).map(drop)) }
    cuDeviceGraphMemTrim(_device: i32) { Ok(()) }
    cuDeviceGetGraphMemAttribute(_device: i32, _number: u32, to: *mut u64) { put(to, 0) }
    cuDeviceSetGraphMemAttribute(_device: i32, _number: u32, _value: *mut u64) { Ok(()) }
}
