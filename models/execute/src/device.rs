//! A device: global memory, and modules that run on it.

use std::{
    borrow::Cow,
    ops::{ControlFlow, Range},
};

use ptx_isa::{FullSize, Head, Initial, InstPlace, Item, Module, Space, Variable, launch::count};
use rustc_hash::FxHashMap;

use crate::{
    code::{Parameter, Program, decode},
    earlier::{Earlier, MOST_CTAS},
    flow::{ExpectedRaces, Flow},
    lacks::Lack,
    launch::{Buffer, Contents, Launch, LaunchError, ModuleId, Progress, RunOptions},
    learned::Learned,
    machine::{Kernel, Machine, Ran},
    memory::{Global, Piece, Region, region, window},
    report::{Fault, FaultKind, Report},
    shadow::MOST_STEPS,
    texture::Texture,
};

/// The name in findings of the memory through which a cooperative grid synchronizes. No kernel knows its address.
pub const WORKSPACE: &str = "workspace of the grid";

/// Modules that are ready to run, on a device with its global memory.
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

    /// Makes a device without a module.
    pub fn empty(options: RunOptions) -> Self {
        Self { state: State::empty(options) }
    }

    /// Adds a module, and allocates its variables.
    pub fn load(&mut self, module: Cow<'m, Module>) -> ModuleId {
        self.state.load(module)
    }

    /// Frees the variables of a module, and forgets its kernels.
    pub fn unload(&mut self, module: ModuleId) {
        self.state.unload(module);
    }

    /// Facts about a kernel.
    ///
    /// # Errors
    /// The reasons why the kernel cannot be launched.
    pub fn kernel(&mut self, module: ModuleId, kernel: &str) -> Result<KernelFacts, Vec<LaunchError>> {
        self.state.with_program((module, kernel), |program| KernelFacts {
            parameters: program.parameters.clone(),
            shared: program.shared,
            local: program.functions.first().map_or(0, |function| function.local),
            registers: program.functions.first().map_or(0, |function| function.registers),
        })
    }

    /// Sets the options of later launches.
    pub fn set_options(&mut self, options: RunOptions) {
        self.state.options = options;
    }

    /// Allocates a buffer. `name` is its name in findings.
    pub fn allocate(&mut self, name: &str, contents: Contents) -> Buffer {
        self.state.allocate(name, contents)
    }

    /// Frees a buffer. Later accesses of it are outside of all memory.
    pub fn free(&mut self, buffer: Buffer) {
        self.state.global.free(buffer.0 as usize);
    }

    /// Makes memory of the host the storage of a buffer, which then has `bytes` bytes. The length of the memory is the
    /// next multiple of 4. Between launches, the host reads and writes the memory.
    pub fn map(&mut self, buffer: Buffer, memory: &'static mut [u8], bytes: u64) {
        self.state.global.map(buffer.0 as usize, memory, bytes);
    }

    /// Adds a texture, or a surface. The result is the handle with which kernels access it.
    pub fn add_texture(&mut self, texture: Texture) -> u64 {
        self.state.global.textures.insert(texture)
    }

    /// Removes a texture or a surface. Its memory stays.
    pub fn remove_texture(&mut self, handle: u64) {
        self.state.global.textures.remove(handle);
    }

    /// The buffer that has an address, and the offset of the address in it.
    pub fn find(&self, address: u64) -> Option<(Buffer, u64)> {
        let (buffer, offset) = Buffer::at(address)?;
        let piece = self.state.global.pieces.get(buffer.0 as usize).filter(|piece| !piece.is_freed)?;
        (offset <= piece.contents().len() as u64).then_some((buffer, offset))
    }

    /// The name of an address: of its buffer, and the offset there.
    pub fn name_of(&self, address: u64) -> String {
        let place = region(Space::Global, address);
        let Region::Global(piece, at) = place else { return format!("address {address:#x}") };
        self.state.global.name_of(piece, at)
    }

    /// The buffer of a variable of the first module, in `.global` or `.const`.
    pub fn variable(&self, name: &str) -> Option<Buffer> {
        self.variable_of(ModuleId::default(), name)
    }

    /// The buffer of a variable of a module, in `.global` or `.const`.
    pub fn variable_of(&self, module: ModuleId, name: &str) -> Option<Buffer> {
        self.state.variable(module, name)
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

    /// Gives the device the findings of an earlier run of the launch that it will run, so that their races end no
    /// condition.
    pub fn expect_races(&mut self, findings: &[Fault], races: ExpectedRaces) {
        let found = findings.iter().filter(|found| found.kind == FaultKind::Race);
        let pairs = found.filter_map(|found| Some([found.other.as_ref()?.at, found.site.at]));
        self.state.expect_races(pairs.collect(), races);
    }

    /// All instructions that the machine does not have, of a kernel and of the functions of the module, in the order of
    /// their lines. The form of a `tcgen05.mma` depends on registers, so whether it is supported is known only when it
    /// is executed.
    ///
    /// # Errors
    /// The module has no such kernel.
    pub fn lacks(&mut self, kernel: &str) -> Result<Vec<Lack>, Vec<LaunchError>> {
        self.state.with_program((ModuleId::default(), kernel), Program::lacks)
    }
}

/// Facts about a kernel, for its launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelFacts {
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// The bytes of its static shared memory, and of its local memory for each thread.
    pub shared: u64,
    pub local: u64,
    /// The number of registers of 64 bits that the machine has for each thread.
    pub registers: u32,
}

/// A module of a device.
struct Loaded<'m> {
    module: Cow<'m, Module>,
    /// The addresses of its variables and functions, by their names.
    variables: FxHashMap<String, u64>,
}

/// The state of a device.
pub struct State<'m> {
    modules: Vec<Loaded<'m>>,
    pub(crate) options: RunOptions,
    global: Global,
    programs: FxHashMap<(ModuleId, String), Program>,
    /// The flow of values in each kernel.
    flows: FxHashMap<(ModuleId, String), Flow>,
    /// The pairs of instructions that raced in an earlier run.
    racing: (Vec<[InstPlace; 2]>, ExpectedRaces),
    earlier: Earlier,
    /// The pieces through which the grids that may overlap synchronize, one for each grid.
    workspaces: Vec<usize>,
}

impl<'m> State<'m> {
    pub fn new(module: &'m Module, options: RunOptions) -> Result<Self, Vec<LaunchError>> {
        let mut state = Self::empty(options);
        state.load(Cow::Borrowed(module));
        Ok(state)
    }

    fn empty(options: RunOptions) -> Self {
        Self {
            modules: Vec::new(),
            options,
            global: Global::default(),
            programs: FxHashMap::default(),
            flows: FxHashMap::default(),
            racing: (Vec::new(), ExpectedRaces::Varying),
            earlier: Earlier::default(),
            workspaces: Vec::new(),
        }
    }

    fn load(&mut self, module: Cow<'m, Module>) -> ModuleId {
        let mut addresses = FxHashMap::default();
        let own: Vec<Variable> = global_variables(&module);
        for variable in &own {
            addresses.insert(variable.name.clone(), declare(&mut self.global, variable));
        }
        // Tables of functions hold addresses of functions, which are the same in the programs of all kernels: see
        // `decode`.
        let functions = module.functions().filter(|function| function.body.is_some());
        let called = functions.filter(|function| !function.head.is_entry);
        for (number, function) in (1u64..).zip(called) {
            addresses.insert(function.name.clone(), window::CODE + 16 * number);
        }
        for variable in own {
            initialize(&mut self.global, &variable, addresses[&variable.name], &addresses);
        }
        self.modules.push(Loaded { module, variables: addresses });
        ModuleId(self.modules.len() as u32 - 1)
    }

    fn unload(&mut self, id: ModuleId) {
        let Some(loaded) = self.modules.get_mut(id.0 as usize) else { return };
        loaded.module = Cow::Owned(Module::default());
        for address in std::mem::take(&mut loaded.variables).into_values() {
            if let Some((buffer, _)) = Buffer::at(address) {
                self.global.free(buffer.0 as usize);
            }
        }
        self.programs.retain(|(module, _), _| *module != id);
        self.flows.retain(|(module, _), _| *module != id);
        self.earlier = Earlier::default();
    }

    fn expect_races(&mut self, pairs: Vec<[InstPlace; 2]>, races: ExpectedRaces) {
        self.racing = (pairs, races);
        self.programs.clear();
        self.flows.clear();
    }

    pub fn allocate(&mut self, name: &str, contents: Contents) -> Buffer {
        Buffer(self.global.allocate(name, contents, self.options.seed, 4) as u32)
    }

    pub fn variable(&self, module: ModuleId, name: &str) -> Option<Buffer> {
        let address = self.modules.get(module.0 as usize)?.variables.get(name)?;
        Buffer::at(*address).map(|(buffer, _)| buffer)
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
        self.global.truncate(held.len());
        self.workspaces.retain(|piece| *piece < held.len());
        self.global.pieces.iter_mut().zip(held).for_each(|(piece, bytes)| piece.bytes.set(bytes));
    }

    /// The bytes of all pieces of global memory.
    pub fn held(&self) -> Vec<Vec<u8>> {
        self.global.pieces.iter().map(|piece| piece.bytes.to_vec()).collect()
    }

    /// Runs a launch for at most `most` warp instructions. Returns the number of warp instructions if the kernel
    /// stopped itself, otherwise the maximum.
    pub fn trial(&mut self, launch: &Launch, most: u64) -> Result<u64, Vec<LaunchError>> {
        let (report, time, _) = self.run(launch, most, true, &mut |_| ControlFlow::Continue(()))?;
        let stopped = report.findings.iter().any(|finding| finding.kind == FaultKind::Trap);
        Ok(if stopped { time } else { u64::MAX })
    }

    /// Calls a function with the program of a kernel.
    pub fn with_program<T>(
        &mut self,
        (module, kernel): (ModuleId, &str),
        of: impl FnOnce(&Program) -> T,
    ) -> Result<T, Vec<LaunchError>> {
        let key = (module, kernel.to_owned());
        if !self.programs.contains_key(&key) {
            let program = self.program(module, kernel)?;
            let flow = Flow::new(&program.steps, &program.functions, (program.pairs(&self.racing.0), self.racing.1));
            self.flows.insert(key.clone(), flow);
            self.programs.insert(key.clone(), program);
        }
        self.programs.get(&key).map(of).ok_or_else(Vec::new)
    }

    pub fn run(
        &mut self,
        launch: &Launch,
        most: u64,
        is_trial: bool,
        watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(Report, u64, Learned), Vec<LaunchError>> {
        self.with_program((launch.module, &launch.kernel), |_| ())?;
        let key = launch.key();
        let (Some(program), Some(flow)) = (self.programs.get(&key), self.flows.get(&key)) else {
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
        let number = earlier.grids.len();
        if number == self.workspaces.len() {
            self.workspaces.push(self.global.allocate(WORKSPACE, Contents::Bytes(vec![0; 64]), 0, bound));
        }
        let workspace = Global::address(self.workspaces[number]);
        self.global.pieces[self.workspaces[number]].bytes.fill(0);
        self.global.begin_footprint(self.options.footprint);
        let kernel = Kernel { programs: &self.programs, program, flow, launch, parameters };
        let mut machine = Machine::new(kernel, &self.options, &mut self.global, earlier);
        machine.is_trial = is_trial;
        machine.workspace = workspace;
        let Ran { report, time, learned, earlier } = machine.run(most, watch);
        self.earlier = earlier;
        Ok((report, time, learned))
    }

    fn program(&mut self, id: ModuleId, name: &str) -> Result<Program, Vec<LaunchError>> {
        let because = |reason: String| Err(vec![LaunchError { line: None, reason }]);
        let Some(Loaded { module, variables }) = self.modules.get(id.0 as usize) else {
            return because("the device has no such module".to_owned());
        };
        if has_short_addresses(module) {
            return because(
                "expected addresses of 64 bits, found `.address_size 32`: no kernel with addresses of 32 bits is run here"
                    .to_owned(),
            );
        }
        let kernels: Vec<_> = module.kernels().collect();
        let Some(kernel) = kernels.iter().find(|function| function.name == name) else {
            let names: Vec<&str> = kernels.iter().map(|kernel| &*kernel.name).collect();
            return because(match names.is_empty() {
                true => "the module has no kernel".to_owned(),
                false => format!("the module has no kernel '{name}'; its kernels are {}", names.join(", ")),
            });
        };
        let global = &mut self.global;
        let program = decode(module, kernel, variables, &mut |variable| {
            let at = declare(global, variable);
            initialize(global, variable, at, variables);
            at
        });
        if program.steps.len() > MOST_STEPS {
            let most = MOST_STEPS;
            return because(format!("the module has {} instructions, and the limit is {most}", program.steps.len()));
        }
        Ok(program)
    }
}

/// The variables of a module in global and constant memory.
fn global_variables(module: &Module) -> Vec<Variable> {
    let directives = module.items.iter().filter_map(|item| match item {
        Item::Directive(text) => Some(text),
        Item::Function(_) => None,
    });
    directives.flat_map(|text| Variable::read(text)).filter(is_global).collect()
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
