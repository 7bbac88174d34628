//! A device: global memory, and a module that runs on it.

use std::ops::{ControlFlow, Range};

use ptx_isa::{FullSize, Head, Initial, Item, Module, Space, Variable, launch::count};
use rustc_hash::FxHashMap;

use crate::{
    code::{Program, decode},
    earlier::{Earlier, MOST_CTAS},
    flow::Flow,
    lacks::Lack,
    launch::{Buffer, Contents, Launch, LaunchError, Progress, RunOptions},
    learned::Learned,
    machine::{Kernel, Machine, Ran},
    memory::{Global, Piece, window},
    report::{FaultKind, Report},
    shadow::MOST_STEPS,
};

/// The name in findings of the memory through which a cooperative grid synchronizes. No kernel knows its address.
pub const WORKSPACE: &str = "workspace of the grid";

/// A module that is ready to run, on a device with its global memory.
pub struct Device<'m> {
    pub(crate) state: State<'m>,
}

impl<'m> Device<'m> {
    /// Makes a device with a module, and allocates the module's variables.
    ///
    /// # Errors
    /// All variables that the machine cannot provide. The errors of kernels are reported at their launch.
    pub fn new(module: &'m Module, options: RunOptions) -> Result<Self, Vec<LaunchError>> {
        Ok(Self { state: State::new(module, options)? })
    }

    /// Sets the options of later launches.
    pub fn set_options(&mut self, options: RunOptions) {
        self.state.options = options;
    }

    /// Allocates a buffer. `name` is its name in findings.
    pub fn allocate(&mut self, name: &str, contents: Contents) -> Buffer {
        self.state.allocate(name, contents)
    }

    /// The buffer of a variable of the module, in `.global` or `.const`.
    pub fn variable(&self, name: &str) -> Option<Buffer> {
        self.state.variable(name)
    }

    /// The contents of a buffer.
    pub fn contents(&self, buffer: Buffer) -> &[u8] {
        self.state.contents(buffer)
    }

    /// Writes into a buffer, as the host does between launches when all of them have ended. Bytes that do not fit are
    /// ignored.
    pub fn write(&mut self, buffer: Buffer, at: usize, bytes: &[u8]) {
        self.state.write(buffer, at, bytes);
    }

    /// The address of a buffer.
    pub fn address(&self, buffer: Buffer) -> u64 {
        self.state.address(buffer)
    }

    /// The allocated addresses of a buffer.
    pub fn range(&self, buffer: Buffer) -> Range<u64> {
        let start = self.address(buffer);
        start..start + self.contents(buffer).len() as u64
    }

    /// Runs a kernel to its end. Later launches see its changes to memory.
    ///
    /// # Errors
    /// All errors of the launch: of the kernel, its arguments and its sizes. An instruction that the machine does not
    /// have is a finding when a thread reaches it; [`Self::lacks`] lists these instructions before a launch.
    pub fn launch(&mut self, launch: &Launch) -> Result<Report, Vec<LaunchError>> {
        self.launch_with(launch, &mut |_| ControlFlow::Continue(()))
    }

    /// Like [`Self::launch`], and reports progress to `watch` each time that warps have executed 65,536 instructions,
    /// which takes at most a tenth of a second. `Break` stops the run with a note, and the report has the findings so
    /// far.
    ///
    /// # Errors
    /// As [`Self::launch`].
    pub fn launch_with(
        &mut self,
        launch: &Launch,
        watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Report, Vec<LaunchError>> {
        let most = self.state.options.most_steps;
        self.state.run(launch, most, false, watch).map(|(report, ..)| report)
    }

    /// All instructions that the machine does not have, of a kernel and of the functions of the module, in the order of
    /// their lines. The form of a `tcgen05.mma` depends on registers, so whether it is supported is known only when it
    /// is executed.
    ///
    /// # Errors
    /// The module has no such kernel.
    pub fn lacks(&mut self, kernel: &str) -> Result<Vec<Lack>, Vec<LaunchError>> {
        self.state.with_program(kernel, Program::lacks)
    }
}

/// The state of a device.
pub struct State<'m> {
    module: &'m Module,
    pub(crate) options: RunOptions,
    global: Global,
    /// The addresses of the module's variables, by their names.
    variables: FxHashMap<String, u64>,
    programs: FxHashMap<String, Program>,
    /// The flow of values in each kernel.
    flows: FxHashMap<String, Flow>,
    earlier: Earlier,
}

impl<'m> State<'m> {
    pub fn new(module: &'m Module, options: RunOptions) -> Result<Self, Vec<LaunchError>> {
        let mut state = Self {
            module,
            options,
            global: Global::default(),
            variables: FxHashMap::default(),
            programs: FxHashMap::default(),
            flows: FxHashMap::default(),
            earlier: Earlier::default(),
        };
        let directives = module.items.iter().filter_map(|item| match item {
            Item::Directive(text) => Some(text),
            Item::Function(_) => None,
        });
        let variables: Vec<Variable> = directives.flat_map(|text| Variable::read(text)).collect();
        let own: Vec<&Variable> = variables.iter().filter(|variable| is_global(variable)).collect();
        for variable in &own {
            let at = declare(&mut state.global, variable);
            state.variables.insert(variable.name.clone(), at);
        }
        // Tables of functions hold addresses of functions, which are the same in the programs of all kernels: see
        // `decode`.
        let functions = module.functions().filter(|function| function.body.is_some());
        let called = functions.filter(|function| !function.head.is_entry);
        for (number, function) in (1u64..).zip(called) {
            state.variables.insert(function.name.clone(), window::CODE + 16 * number);
        }
        for variable in own {
            initialize(&mut state.global, variable, state.variables[&variable.name], &state.variables);
        }
        Ok(state)
    }

    pub fn allocate(&mut self, name: &str, contents: Contents) -> Buffer {
        Buffer(self.global.allocate(name, contents, self.options.seed, 4) as u32)
    }

    pub fn variable(&self, name: &str) -> Option<Buffer> {
        self.variables.get(name).map(|at| Buffer((at >> 32) as u32 - 1))
    }

    pub fn contents(&self, buffer: Buffer) -> &[u8] {
        self.global.pieces.get(buffer.0 as usize).map_or(&[], Piece::contents)
    }

    pub fn write(&mut self, buffer: Buffer, at: usize, bytes: &[u8]) {
        self.earlier = Earlier::default();
        // A growing buffer grows for the write.
        self.global.slice(buffer.0 as usize, at as u64, bytes.len() as u64);
        let Some(piece) = self.global.pieces.get_mut(buffer.0 as usize) else { return };
        let end = piece.contents().len().min(at.saturating_add(bytes.len()));
        let count = end.saturating_sub(at);
        if let Some(own) = piece.bytes.get_mut(at..end) {
            own.copy_from_slice(&bytes[..count]);
        }
        if let Some(unwritten) = piece.unwritten.as_mut().and_then(|unwritten| unwritten.get_mut(at..end)) {
            unwritten.fill(false);
        }
    }

    pub fn address(&self, buffer: Buffer) -> u64 {
        buffer.address()
    }

    /// Restores global memory: the number of its pieces, and their bytes.
    pub fn restore(&mut self, held: &[Vec<u8>]) {
        self.global.pieces.truncate(held.len());
        self.global.pieces.iter_mut().zip(held).for_each(|(piece, bytes)| piece.bytes.clone_from(bytes));
    }

    /// The bytes of all pieces of global memory.
    pub fn held(&self) -> Vec<Vec<u8>> {
        self.global.pieces.iter().map(|piece| piece.bytes.clone()).collect()
    }

    /// Runs a launch for at most `most` warp instructions. Returns the number of warp instructions if the kernel
    /// stopped itself, otherwise the maximum.
    pub fn trial(&mut self, launch: &Launch, most: u64) -> Result<u64, Vec<LaunchError>> {
        let (report, time, _) = self.run(launch, most, true, &mut |_| ControlFlow::Continue(()))?;
        let stopped = report.findings.iter().any(|finding| finding.kind == FaultKind::Trap);
        Ok(if stopped { time } else { u64::MAX })
    }

    /// Calls a function with the program of a kernel.
    pub fn with_program<T>(&mut self, kernel: &str, of: impl FnOnce(&Program) -> T) -> Result<T, Vec<LaunchError>> {
        if !self.programs.contains_key(kernel) {
            let program = self.program(kernel)?;
            self.flows.insert(kernel.to_owned(), Flow::new(&program.steps, &program.functions));
            self.programs.insert(kernel.to_owned(), program);
        }
        self.programs.get(kernel).map(of).ok_or_else(Vec::new)
    }

    pub fn run(
        &mut self,
        launch: &Launch,
        most: u64,
        is_trial: bool,
        watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(Report, u64, Learned), Vec<LaunchError>> {
        self.with_program(&launch.kernel, |_| ())?;
        let (Some(program), Some(flow)) = (self.programs.get(&launch.kernel), self.flows.get(&launch.kernel)) else {
            return Err(Vec::new());
        };
        if !launch.dependent {
            self.earlier = Earlier::default();
        }
        let mut errors = limits(program, launch, &self.earlier, &self.options);
        let parameters = parameters(program, launch, &mut errors);
        if !errors.is_empty() {
            return Err(errors);
        }
        let earlier = std::mem::take(&mut self.earlier);
        let bound = Machine::bound(launch.threads().saturating_add(earlier.threads()));
        for piece in &mut self.global.pieces {
            match earlier.grids.is_empty() {
                true => piece.clear_shadow(bound),
                false => piece.shadow.set_bound(bound),
            }
        }
        let workspace = Global::address(self.global.allocate(WORKSPACE, Contents::Bytes(vec![0; 64]), 0, bound));
        let kernel = Kernel { programs: &self.programs, program, flow, launch, parameters };
        let mut machine = Machine::new(kernel, &self.options, &mut self.global, earlier);
        machine.is_trial = is_trial;
        machine.workspace = workspace;
        let Ran { report, time, learned, earlier } = machine.run(most, watch);
        self.earlier = earlier;
        Ok((report, time, learned))
    }

    fn program(&mut self, name: &str) -> Result<Program, Vec<LaunchError>> {
        if has_short_addresses(self.module) {
            let reason = "expected addresses of 64 bits, found `.address_size 32`: no kernel with addresses of 32 bits is run here";
            return Err(vec![LaunchError { line: None, reason: reason.into() }]);
        }
        let kernels: Vec<_> = self.module.kernels().collect();
        let Some(kernel) = kernels.iter().find(|function| function.name == name) else {
            let names: Vec<&str> = kernels.iter().map(|kernel| &*kernel.name).collect();
            let reason = match names.is_empty() {
                true => "the module has no kernel".to_owned(),
                false => format!("the module has no kernel '{name}'; its kernels are {}", names.join(", ")),
            };
            return Err(vec![LaunchError { line: None, reason }]);
        };
        let (global, variables) = (&mut self.global, &self.variables);
        let program = decode(self.module, kernel, variables, &mut |variable| {
            let at = declare(global, variable);
            initialize(global, variable, at, variables);
            at
        });
        if program.steps.len() > MOST_STEPS {
            let most = MOST_STEPS;
            let reason = format!("the module has {} instructions, and the limit is {most}", program.steps.len());
            return Err(vec![LaunchError { line: None, reason }]);
        }
        Ok(program)
    }
}

fn parameters(program: &Program, launch: &Launch, errors: &mut Vec<LaunchError>) -> Vec<u8> {
    let (wanted, given) = (program.parameters.len(), launch.arguments.len());
    if wanted != given {
        let names: Vec<&str> = program.parameters.iter().map(|parameter| &*parameter.name).collect();
        let reason = format!(
            "kernel '{}' has {wanted} parameters ({}), and {given} arguments are given",
            launch.kernel,
            names.join(", ")
        );
        errors.push(LaunchError { line: None, reason });
    }
    let end = program.parameters.last().map_or(0, |last| last.offset + last.bytes);
    let mut all = vec![0; end as usize];
    for (parameter, argument) in program.parameters.iter().zip(&launch.arguments) {
        let bytes = argument.bytes();
        if bytes.len() as u64 > parameter.bytes {
            let reason = format!(
                "parameter '{}' has {} bytes, and the argument has {}",
                parameter.name,
                parameter.bytes,
                bytes.len()
            );
            errors.push(LaunchError { line: None, reason });
            continue;
        }
        let at = parameter.offset as usize;
        all[at..at + bytes.len()].copy_from_slice(&bytes);
    }
    all
}

/// Whether a module declares addresses of 32 bits. For a module without the directive the manual assumes 32 bits, but
/// no assembler does.
fn has_short_addresses(module: &Module) -> bool {
    module.items.iter().any(|item| match item {
        Item::Directive(text) => text.split_whitespace().eq([".address_size", "32"]),
        Item::Function(_) => false,
    })
}

fn is_global(variable: &Variable) -> bool {
    matches!(variable.space, Some(Space::Global | Space::Const))
}

fn declare(global: &mut Global, variable: &Variable) -> u64 {
    let bytes = variable.bytes().min(1 << 32) as usize;
    Global::address(global.allocate(&variable.name, Contents::Bytes(vec![0; bytes]), 0, 4))
}

/// Writes the initial contents of a variable.
fn initialize(global: &mut Global, variable: &Variable, at: u64, variables: &FxHashMap<String, u64>) {
    let size = variable.ty.map_or(1, |ty| u64::from(ty.bits() / 8).max(1));
    let piece = (at >> 32) as usize - 1;
    for (index, initial) in variable.initial.iter().enumerate() {
        let value = match initial {
            Initial::Number(value) => *value,
            Initial::Address(name, offset) => variables.get(name).map_or(0, |at| at.wrapping_add(*offset)),
        };
        if let Some(bytes) = global.slice(piece, index as u64 * size, size.min(8)) {
            let count = bytes.len();
            bytes.copy_from_slice(&value.to_le_bytes()[..count]);
        }
    }
}

/// The reasons why a launch cannot run on this machine.
fn limits(program: &Program, launch: &Launch, earlier: &Earlier, options: &RunOptions) -> Vec<LaunchError> {
    let FullSize { grid, block, cluster, shared } = launch.size;
    let mut reasons = launch.size.wrong(&Head::default(), program.shared);
    let before = u64::from(earlier.next(launch));
    let ctas = count(grid);
    if ctas > MOST_CTAS - before.min(MOST_CTAS) {
        let others =
            if before > 0 { format!(", with {before} of the grids that it depends on") } else { String::new() };
        reasons.push(format!("a grid of {ctas} CTAs{others}: at most {MOST_CTAS} can be run here"));
    }
    if let Some(sm) = program.sm.filter(|_| count(cluster) > 1 && !program.has_clusters()) {
        reasons.push(format!(
            "clusters of {cluster:?} CTAs: expected a module for sm_90 or a newer GPU, found one for {sm}"
        ));
    }
    let shared = program.shared + u64::from(shared);
    let warp = u64::from(program.functions[0].registers) * 256 + 4096;
    let memory = count(block).div_ceil(32).saturating_mul(warp).saturating_add(shared * 8).saturating_mul(ctas.min(64));
    if memory > options.memory_limit {
        let [memory, most] = [memory, options.memory_limit].map(|bytes| bytes >> 20);
        reasons.push(format!("the threads need {memory} MiB of memory, and the limit is {most}"));
    }
    reasons.into_iter().map(|reason| LaunchError { line: None, reason }).collect()
}
