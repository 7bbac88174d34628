//! The objects that a program has by their handles, and the work that it submits.

use std::{collections::HashMap, ffi::c_void, time::Instant};

use ptx_execute::{KernelFacts, ModuleId};
use ptx_isa::{FullSize, Head, ModuleError};

use crate::{
    error::{Done, Error},
    handle::{Handle, Table},
    report::Given,
};

/// A context. All contexts share the memory of the process.
#[derive(Debug)]
pub struct Context {
    pub flags: u32,
    pub is_primary: bool,
}

/// A module, or a library: the API has two names for it.
#[derive(Debug)]
pub struct Image {
    pub module: ModuleId,
    /// Its kernels with their names, in the order of the text.
    pub kernels: Vec<(String, Handle<Kernel>)>,
    /// Its managed variables.
    pub managed: Vec<String>,
}

/// A kernel, or a function of a module: the API has two names for it.
#[derive(Debug)]
pub struct Kernel {
    pub image: Handle<Image>,
    pub module: ModuleId,
    pub name: String,
    pub head: Head,
    /// Facts that the executor found.
    pub facts: Option<KernelFacts>,
    /// The attributes that a program has set: the maximum dynamic shared memory, and whether large clusters are allowed.
    pub most_shared: Option<u32>,
    pub allows_large_clusters: bool,
    /// The error of its text, if the executor cannot read it.
    pub error: Option<ModuleError>,
}

/// The side of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Host,
    Device,
    /// The side is the side of the memory that has the address.
    Any,
}

/// One end of a copy.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub side: Side,
    pub address: u64,
    /// The distance of rows in bytes, and of layers in rows.
    pub pitch: usize,
    pub height: usize,
}

impl Place {
    /// The place of contiguous bytes.
    pub fn flat(side: Side, address: u64) -> Self {
        Self { side, address, pitch: 0, height: 0 }
    }

    pub fn at(&self, row: usize, layer: usize) -> Done<u64> {
        let rows = layer.checked_mul(self.height).and_then(|rows| rows.checked_add(row));
        let offset = rows.and_then(|rows| rows.checked_mul(self.pitch)).ok_or(Error::InvalidValue)?;
        self.address.checked_add(offset as u64).ok_or(Error::InvalidValue)
    }
}

/// A copy of rows in layers.
#[derive(Clone, Copy, Debug)]
pub struct Copy {
    pub to: Place,
    pub from: Place,
    /// The bytes of a row.
    pub bytes: usize,
    pub rows: usize,
    pub layers: usize,
}

impl Copy {
    /// A copy of contiguous bytes.
    pub fn flat(to: (Side, u64), from: (Side, u64), bytes: usize) -> Self {
        Self { to: Place::flat(to.0, to.1), from: Place::flat(from.0, from.1), bytes, rows: 1, layers: 1 }
    }
}

/// A fill of rows with a value of 1, 2 or 4 bytes.
#[derive(Clone, Copy, Debug)]
pub struct Fill {
    pub address: u64,
    pub value: u32,
    /// The bytes of the value.
    pub size: usize,
    /// The number of values of a row, the distance of rows in bytes, and the number of rows.
    pub width: usize,
    pub pitch: usize,
    pub rows: usize,
}

/// A launch of a kernel.
#[derive(Clone, Debug)]
pub struct Launch {
    pub kernel: Handle<Kernel>,
    pub size: FullSize,
    /// The bytes of each parameter.
    pub arguments: Vec<Vec<u8>>,
    /// Whether the launch may begin before the end of the preceding launch.
    pub is_dependent: bool,
    pub is_cooperative: bool,
}

/// A launch without the addresses in its arguments: its kernel, its sizes, and its arguments.
pub type Signature = (usize, [[u32; 3]; 3], u32, Vec<Given>);

/// A function of the program.
#[derive(Clone, Copy, Debug)]
pub struct HostFunction {
    pub function: unsafe extern "C" fn(*mut c_void),
    pub data: *mut c_void,
}

impl HostFunction {
    /// Calls the function. The caller does not hold the lock, since the function may take it.
    pub fn call(self) {
        // SAFETY: the program promises that the function takes the data.
        unsafe { (self.function)(self.data) }
    }
}

/// Work that a program submits to a stream.
#[derive(Clone, Debug)]
pub enum Work {
    Launch(Launch),
    Copy(Copy),
    Fill(Fill),
    Host(HostFunction),
    Free(u64),
    Record(Handle<Event>),
    /// The nodes of a graph, in an order that their dependencies allow.
    Graph(Vec<Step>),
    /// A node without an effect.
    Nothing,
}

/// The run of a node of a graph.
#[derive(Clone, Debug)]
pub struct Step {
    pub work: Work,
    /// The earlier steps of the graph that it follows directly, by their indices.
    pub after: Vec<usize>,
}

/// A stream. Its work runs at once.
#[derive(Debug, Default)]
pub struct Stream {
    /// Its number in the order in which the program made its streams, from 1; 0 for a default stream.
    pub number: u64,
    pub flags: u32,
    pub priority: i32,
    pub capture: Option<Capture>,
}

/// The capture of the work of a stream.
#[derive(Clone, Debug)]
pub struct Capture {
    pub graph: Handle<Graph>,
    /// The nodes that the next node depends on.
    pub last: Vec<Handle<Node>>,
    /// Whether the capture began in this stream.
    pub is_origin: bool,
}

impl Stream {
    /// The flag of a stream that does not wait for the legacy default stream, nor the latter for it.
    pub const NON_BLOCKING: u32 = 1;
    pub const NULL: Handle<Self> = Handle::NULL;
    pub const LEGACY: Handle<Self> = Handle::new(1);
    pub const OF_THREAD: Handle<Self> = Handle::new(2);
}

/// Memory of `cuMemCreate`.
#[derive(Debug)]
pub struct Physical {
    pub bytes: usize,
    /// The `CUmemAllocationProp` of the call.
    pub properties: [u64; 4],
    pub is_mapped: bool,
}

/// An event.
#[derive(Debug, Default)]
pub struct Event {
    pub flags: u32,
    /// The time at which it was recorded.
    pub recorded: Option<Instant>,
    /// The captured nodes that precede it.
    pub captured: Option<(Handle<Graph>, Vec<Handle<Node>>)>,
}

impl Event {
    /// The flag of an event without a time.
    pub const WITHOUT_TIME: u32 = 2;
}

/// A graph.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// Its nodes, in the order in which they were added.
    pub nodes: Vec<Handle<Node>>,
}

/// A node of a graph.
#[derive(Clone, Debug)]
pub struct Node {
    pub work: Work,
    /// The nodes that precede it.
    pub after: Vec<Handle<Node>>,
    pub graph: Handle<Graph>,
    /// For a node of a clone, the node of the original.
    pub original: Handle<Node>,
}

/// A graph that is ready to run.
#[derive(Clone, Debug)]
pub struct Executable {
    /// The nodes in an order that their dependencies allow; whether each is enabled.
    pub nodes: Vec<(Handle<Node>, Step, bool)>,
}

impl Executable {
    /// The steps of a launch. A node that is not enabled has no effect.
    pub fn steps(&self) -> Vec<Step> {
        let step = |(_, step, is_enabled): &(_, Step, bool)| match is_enabled {
            true => step.clone(),
            false => Step { work: Work::Nothing, ..step.clone() },
        };
        self.nodes.iter().map(step).collect()
    }

    /// The work of a node.
    pub fn work(&mut self, node: Handle<Node>) -> Done<&mut Work> {
        let found = self.nodes.iter_mut().find(|(other, ..)| *other == node);
        found.map(|(_, step, _)| &mut step.work).ok_or(Error::InvalidValue)
    }
}

/// A registered fat binary.
#[derive(Debug)]
pub struct Fat {
    /// The address of the structure that wraps it.
    pub data: usize,
    pub loaded: Option<Handle<Image>>,
    /// Its managed variables: the address of the program's pointer, and the name.
    pub managed: Vec<(usize, String)>,
}

/// A registered kernel or variable.
#[derive(Clone, Debug)]
pub struct Named {
    pub fat: Handle<Fat>,
    pub name: String,
}

/// All registrations, by the addresses that the program has for them.
#[derive(Default)]
pub struct Registry {
    pub fats: Table<Fat>,
    pub kernels: HashMap<usize, Named>,
    pub variables: HashMap<usize, Named>,
}
