//! The state of the process: memory, modules, streams, and the faults of kernels.

use std::{collections::BTreeMap, env};

use ptx_execute::{Device, RunOptions};
use ptx_isa::Sm;
use rustc_hash::FxHashSet;

use crate::{
    allocations::Memory,
    array::{Array, Bound},
    error::{Done, Error},
    handle::{Handle, Table},
    objects::{Context, Event, Executable, Graph, Image, Kernel, Node, Physical, Registry, Signature, Stream},
    options::{DEVICE, Options},
    order::Order,
    report::{Operation, Recorder},
    say::say_once,
};

/// The GPU of a program that names none.
const DEFAULT: &str = "sm_90";

/// The state of the process.
pub struct Gpu {
    pub options: Options,
    pub sm: Sm,
    pub device: Device<'static>,
    pub memory: Memory,
    pub physical: Table<Physical>,
    pub arrays: Table<Array>,
    /// The textures and surfaces, by the handles of the executor.
    pub textures: BTreeMap<u64, Bound>,
    pub images: Table<Image>,
    pub kernels: Table<Kernel>,
    pub contexts: Table<Context>,
    pub streams: Table<Stream>,
    pub events: Table<Event>,
    pub graphs: Table<Graph>,
    pub nodes: Table<Node>,
    pub executables: Table<Executable>,
    /// The registrations of the runtime API.
    pub registry: Registry,
    /// The output of kernels that the program has not seen.
    pub printed: String,
    /// The error of all later calls.
    pub fault: Option<Error>,
    pub recorder: Recorder,
    pub order: Order,
    /// The races of operations that were reported: the operations, their streams, and the allocation.
    pub races: FxHashSet<([Operation; 2], [usize; 2], u64)>,
    /// The number of streams that the program has made.
    pub stream_count: u64,
    /// The number of launches.
    pub launches: u64,
    /// The launches that were checked for races.
    pub checked: FxHashSet<Signature>,
    /// The limits of `cuCtxSetLimit`.
    pub limits: [usize; 16],
}

impl Gpu {
    pub fn new() -> Self {
        let options = Options::from_environment();
        let mut streams = Table::default();
        for handle in [Stream::NULL, Stream::LEGACY, Stream::OF_THREAD] {
            streams.insert_at(handle, Stream::default());
        }
        Self {
            sm: chosen(),
            device: Device::empty(RunOptions::default()),
            memory: Memory::new(options.memory()),
            physical: Table::default(),
            arrays: Table::default(),
            textures: BTreeMap::new(),
            images: Table::default(),
            kernels: Table::default(),
            contexts: Table::default(),
            streams,
            events: Table::default(),
            graphs: Table::default(),
            nodes: Table::default(),
            executables: Table::default(),
            registry: Registry::default(),
            printed: String::new(),
            fault: None,
            recorder: Recorder::new(&options),
            order: Order::default(),
            races: FxHashSet::default(),
            stream_count: 0,
            launches: 0,
            checked: FxHashSet::default(),
            limits: [1024, 1 << 20, 8 << 20, 2, 2048, 128, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            options,
        }
    }

    /// The primary context, which is made by its first use.
    pub fn primary(&mut self) -> Handle<Context> {
        match self.contexts.find(|context| context.is_primary) {
            Some(context) => context,
            None => self.contexts.insert(Context { flags: 0, is_primary: true }),
        }
    }

    /// Prints the output of kernels, as the program's own standard output has it.
    pub fn flush(&mut self) {
        unsafe extern "C" {
            static stdout: *mut libc::FILE;
        }
        if self.printed.is_empty() {
            return;
        }
        let text = std::mem::take(&mut self.printed);
        // SAFETY: the text is readable, and C's standard output is open or refuses the text.
        unsafe { libc::fwrite(text.as_ptr().cast(), 1, text.len(), stdout) };
    }

    /// Shows the effects of all work, which has ended: its output and its fault.
    pub fn synchronize(&mut self) -> Done {
        self.flush();
        self.fault.map_or(Ok(()), Err)
    }

    /// Frees all memory and objects, and forgets the fault.
    pub fn reset(&mut self) {
        self.flush();
        self.order.wait_for_all();
        let images: Vec<_> = self.images.handles().collect();
        images.into_iter().for_each(|image| self.unload(image).unwrap_or_default());
        let addresses: Vec<u64> = self.memory.allocations.keys().copied().collect();
        addresses.into_iter().for_each(|address| self.free(address).unwrap_or_default());
        std::mem::take(&mut self.textures).into_keys().for_each(|texture| self.device.remove_texture(texture));
        self.arrays = Table::default();
        self.events = Table::default();
        self.fault = None;
    }
}

/// The chosen GPU.
fn chosen() -> Sm {
    let text = env::var(DEVICE).unwrap_or_else(|_| DEFAULT.to_owned());
    let sm = text.parse().ok();
    if sm.is_none() {
        say_once(&format!("expected a GPU such as {DEFAULT} in {DEVICE}, found `{text}`; the device is {DEFAULT}"));
    }
    sm.or_else(|| DEFAULT.parse().ok()).unwrap_or_else(|| Sm::all().last().unwrap_or_else(|| unreachable!()))
}
