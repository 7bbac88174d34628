//! The translation of functions in the flat form of `isa/` into programs.

use ptx_isa::{
    Asynchronous, Family, ModifierKind, Module, Places, Role, Runtime, Space, TextureForm, Type, Variable,
    arithmetic::{Computation, Rmw, Subnormals},
    flat::{self, AccessKind, Action, Elsewhere, Flat, Leaving, Library, Operand},
    matrix::{MatrixForm, MatrixOp},
    operation::{self, Opaque, Operation, Stack},
};
use rustc_hash::FxHashMap;

use super::{
    Address, Barrier, Callee, Collective, Compute, Constants, DecodedAccess, Function, Given, GridControl, Invoke,
    Matrix, MatrixCode, Op, Parameter, Passed, Pc, Program, Reg, Source, Step, TextureAccess,
    fast::fast,
    touched::{is_wgmma, reads},
};
use crate::{
    matrix::{
        element::Unsupported,
        ldmatrix::LdMatrix,
        mma::Mma,
        wmma::{Wmma, WmmaFragment},
    },
    memory::{generic, window},
    report::SiteKind,
};

/// All bits of an address in shared memory except the lowest bit of the CTA's rank.
const PEER_MASK: u32 = 0xfeff_ffff;

/// Returns the address of a variable in global or constant memory. It is called once for each function that declares
/// variables, or for the module.
pub type AddressLookup<'p> = dyn FnMut(&Variable) -> u64 + 'p;

/// Decodes a kernel and all functions of its module. `place` gives the addresses of global variables that functions
/// declare; `global` gives the addresses of the module's variables.
pub fn decode(
    module: &Module,
    kernel: &ptx_isa::Function,
    global: &FxHashMap<String, u64>,
    place: &mut AddressLookup<'_>,
) -> Program {
    let library = Library::new(module);
    let others = module.functions().filter(|function| function.body.is_some() && function.name != kernel.name);
    let functions: Vec<&ptx_isa::Function> =
        std::iter::once(kernel).chain(others.filter(|function| !function.head.is_entry)).collect();
    let flats: Vec<Flat> = functions.iter().map(|function| Flat::alone(&library, function)).collect();
    let mut program = Program::default();
    let mut shared = Shared::default();
    let names: FxHashMap<&str, usize> = functions.iter().enumerate().map(|(index, one)| (&*one.name, index)).collect();
    let frames: Vec<Frame<'_>> = flats
        .iter()
        .enumerate()
        .map(|(index, flat)| Frame::new(flat, index == 0, &names, global, &mut shared, place))
        .collect();
    shared.lay_out(&mut program);
    for mut frame in frames {
        for symbol in &mut frame.symbols {
            if let Home::Shared(key) = symbol {
                *symbol = Home::At(shared.offsets.get(&**key).copied().unwrap_or(0));
            }
        }
        frame.decode(&shared.constants, &mut program);
    }
    program.constants = shared.constants;
    if !program.multiplies {
        program.touched = Vec::new();
    }
    program.places = Places::of_module(module);
    program.arrives_early = program.steps.iter().any(|step| matches!(&step.op, Op::Barrier(of, ..) if !of.waits));
    program.barriers_skip_exited = flats.iter().all(Flat::barriers_skip_exited);
    program.sm = flats.iter().find_map(|flat| flat.sm);
    program.is_lock_step = flats.iter().any(Flat::is_lock_step);
    program
}

/// The location of a variable.
#[derive(Clone, Debug)]
enum Home {
    /// At an address of its state space.
    At(u64),
    /// In shared memory. The key is the name of a module variable, or else the function and the variable's number in
    /// it.
    Shared(String),
    /// In local memory, relative to the function's local memory.
    Local(i64),
    /// A parameter, relative to the function's local memory.
    Param(i64),
}

/// Shared memory before the layout of its variables, and constant memory.
#[derive(Default)]
struct Shared {
    variables: Vec<(String, Variable)>,
    offsets: FxHashMap<String, u64>,
    constants: Constants,
}

impl Shared {
    fn add(&mut self, key: String, variable: &Variable) {
        if !self.variables.iter().any(|(known, _)| *known == key) {
            self.variables.push((key, variable.clone()));
        }
    }

    /// Assigns offsets: static variables first, then all dynamic variables at one offset after them.
    fn lay_out(&mut self, program: &mut Program) {
        let mut end = 0u64;
        let (dynamic, fixed): (Vec<_>, Vec<_>) =
            self.variables.iter().partition(|(_, variable)| variable.is_extern && variable.elements == 0);
        for (key, variable) in fixed {
            end = end.next_multiple_of(variable.align.max(natural(variable)));
            self.offsets.insert(key.clone(), end);
            program.shared_names.push((end, variable.bytes(), variable.name.clone()));
            end += variable.bytes();
        }
        let align = dynamic.iter().map(|(_, variable)| variable.align).max().unwrap_or(16).max(16);
        end = end.next_multiple_of(align);
        for (key, variable) in dynamic {
            self.offsets.insert(key.clone(), end);
            program.shared_names.push((end, u64::MAX, variable.name.clone()));
        }
        program.shared = end;
    }
}

fn natural(variable: &Variable) -> u64 {
    variable.ty.map_or(1, |ty| u64::from(ty.bits() / 8).max(1))
}

/// A function during its translation.
struct Frame<'f> {
    flat: &'f Flat,
    names: &'f FxHashMap<&'f str, usize>,
    is_kernel: bool,
    registers: Vec<Reg>,
    register_words: u32,
    symbols: Vec<Home>,
    local: u64,
    parameters: Vec<Parameter>,
}

impl<'f> Frame<'f> {
    fn new(
        flat: &'f Flat,
        is_kernel: bool,
        names: &'f FxHashMap<&'f str, usize>,
        global: &FxHashMap<String, u64>,
        shared: &mut Shared,
        place: &mut AddressLookup<'_>,
    ) -> Self {
        let (mut registers, mut words) = (Vec::new(), 0);
        for register in &flat.registers {
            registers.push(words);
            words += if register.bits > 64 { 2 } else { 1 };
        }
        let mut frame = Self {
            flat,
            names,
            is_kernel,
            registers,
            register_words: words,
            symbols: Vec::new(),
            local: 0,
            parameters: Vec::new(),
        };
        let formals: Vec<usize> = match is_kernel {
            true => flat.formals.iter().flatten().filter_map(symbol).collect(),
            false => Vec::new(),
        };
        let mut offset = 0u64;
        for (index, named) in flat.symbols.iter().enumerate() {
            let variable = &named.variable;
            let align = variable.align.max(natural(variable));
            let home = match variable.space {
                None if formals.contains(&index) => {
                    offset = offset.next_multiple_of(align);
                    let bytes = variable.bytes();
                    let at = offset;
                    let name = variable.name.clone();
                    let is_float = variable.ty.is_some_and(Type::is_float);
                    frame.parameters.push(Parameter { name, offset: at, bytes, is_pointer: false, is_float });
                    offset += bytes;
                    Home::At(window::PARAM + at)
                }
                None => Home::Param(frame.allocate(variable.bytes(), align)),
                Some(Space::Local) => Home::Local(frame.allocate(variable.bytes(), align)),
                Some(space) if space.is_shared() => {
                    // Blocks of a function may have variables of the same name.
                    let key = match index < flat.module_symbols {
                        true => variable.name.clone(),
                        false => format!("{}::{index}", flat.calls[0].function),
                    };
                    shared.add(key.clone(), variable);
                    Home::Shared(key)
                }
                Some(space) => {
                    let known = global.get(&variable.name).filter(|_| index < flat.module_symbols).copied();
                    let at = known.unwrap_or_else(|| place(variable));
                    if space == Space::Const {
                        shared.constants.add(variable.bytes(), at);
                    }
                    Home::At(at)
                }
            };
            frame.symbols.push(home);
        }
        for (parameter, formal) in frame.parameters.iter_mut().zip(&flat.head.parameters) {
            parameter.is_pointer = formal.is_pointer;
        }
        frame
    }

    fn allocate(&mut self, bytes: u64, align: u64) -> i64 {
        self.local = self.local.next_multiple_of(align.max(1));
        let at = self.local;
        self.local = self.local.saturating_add(bytes);
        at as i64
    }

    fn decode(&mut self, constants: &Constants, program: &mut Program) {
        let entry = program.steps.len() as Pc;
        let passed = |operand: &Operand| match operand {
            Operand::Symbol(symbol) => self.passed(*symbol),
            other => Passed::Value(self.source(other)),
        };
        let [results, parameters] = self.flat.formals.each_ref().map(|list| list.iter().map(passed).collect());
        let (registers, local) = (self.register_words, self.local.next_multiple_of(16));
        program.functions.push(Function { entry, registers, local, parameters, results });
        if self.is_kernel {
            program.parameters.clone_from(&self.parameters);
        }
        for step in &self.flat.steps {
            let guard = step.guard.map(|(register, holds)| (self.registers[register], holds));
            let op = self.op(step, entry, constants).unwrap_or_else(Op::Unsupported);
            program.is_asynchronous |= matches!(op, Op::Asynchronous(_));
            program.multiplies |= matches!(&op, Op::Asynchronous(of) if is_wgmma(of.form.family()));
            let masks = |source: &Source| matches!(source, Source::Number(number) if *number as u32 == PEER_MASK);
            program.masks_peers |= matches!(&op, Op::Compute(of) if of.sources.iter().any(masks));
            program.touched.push((reads(&op), self.regs(step).into_iter().flatten().collect()));
            if !step.mnemonic.is_empty() {
                program.mnemonics.entry(step.at).or_insert_with(|| step.mnemonic.to_string());
            }
            program.steps.push(Step { at: step.at, kind: kind(&step.action), guard, op });
        }
    }

    fn passed(&self, symbol: usize) -> Passed {
        let bytes = self.flat.symbols[symbol].variable.bytes();
        match &self.symbols[symbol] {
            Home::Local(at) | Home::Param(at) => Passed::Memory(*at, bytes),
            Home::At(at) => Passed::Value(Source::Number(*at)),
            Home::Shared(_) => Passed::Value(Source::Nothing),
        }
    }

    fn source(&self, operand: &Operand) -> Source {
        match operand {
            Operand::Register(register) => match self.names.get(&*self.flat.registers[*register].name) {
                Some(function) => Source::Number(window::CODE + 16 * *function as u64),
                None => Source::Reg(self.registers[*register]),
            },
            Operand::Not(register) => Source::Not(self.registers[*register]),
            Operand::Constant(bits) => Source::Number(bits.cast_unsigned()),
            Operand::Symbol(symbol) => match &self.symbols[*symbol] {
                Home::At(at) => Source::Number(*at),
                Home::Local(at) => Source::Local(*at),
                Home::Param(at) => Source::Param(*at),
                Home::Shared(_) => Source::Nothing,
            },
            Operand::Special(special) => Source::Special(*special),
            Operand::Address(base, offset) => match self.source(base) {
                Source::Number(at) => Source::Number(at.wrapping_add_signed(*offset)),
                Source::Local(at) => Source::Local(at.wrapping_add(*offset)),
                Source::Param(at) => Source::Param(at.wrapping_add(*offset)),
                other => other,
            },
            Operand::Tensor(base, _) => self.source(base),
            Operand::Vector(_) | Operand::Nothing => Source::Nothing,
        }
    }

    fn sources(&self, operands: &[Operand]) -> Vec<Source> {
        let mut all = Vec::new();
        for operand in operands {
            match operand {
                Operand::Vector(elements) => all.extend(self.sources(elements)),
                one => all.push(self.source(one)),
            }
        }
        all
    }

    fn address(&self, operand: &Operand) -> Address {
        match operand {
            Operand::Address(base, offset) => Address { base: self.source(base), offset: *offset },
            other => Address { base: self.source(other), offset: 0 },
        }
    }

    fn given(&self, operand: &Operand) -> Given {
        match operand {
            Operand::Vector(elements) => Given::Many(self.sources(elements)),
            Operand::Tensor(map, place) => Given::Tensor(self.source(map), self.sources(place)),
            Operand::Address(..) => Given::Address(self.address(operand)),
            other => Given::One(self.source(other)),
        }
    }

    /// Whether an operand is the address of a variable in constant memory.
    fn is_constant(&self, operand: &Operand) -> bool {
        match operand {
            Operand::Address(base, _) => self.is_constant(base),
            Operand::Symbol(symbol) => self.flat.symbols[*symbol].variable.space == Some(Space::Const),
            _ => false,
        }
    }

    /// An operand of an instruction without a state space. The address of a variable is its generic address.
    fn given_generic(&self, operand: &Operand) -> Given {
        let space = match operand {
            Operand::Address(base, _) => match **base {
                Operand::Symbol(symbol) => self.flat.symbols[symbol].variable.space,
                _ => None,
            },
            _ => None,
        };
        let (Some(space), Given::Address(address)) = (space, self.given(operand)) else { return self.given(operand) };
        let base = match address.base {
            Source::Number(at) => Source::Number(generic(space, at)),
            Source::Local(at) => Source::Param(at),
            other => other,
        };
        Given::Address(Address { base, ..address })
    }

    fn reg(&self, register: Option<flat::Register>) -> Option<Reg> {
        register.map(|register| self.registers[register])
    }

    fn regs(&self, step: &flat::Step) -> Vec<Option<Reg>> {
        step.writes.iter().map(|register| self.reg(*register)).collect()
    }

    /// The destination registers of a load, with their widths in bits.
    fn wide(&self, step: &flat::Step) -> Vec<Option<(Reg, u32)>> {
        let one = |register: &Option<flat::Register>| {
            register.map(|register| (self.registers[register], self.flat.registers[register].bits))
        };
        step.writes.iter().map(one).collect()
    }

    fn target(&self, label: flat::Label, entry: Pc) -> Pc {
        entry + self.flat.labels[label].at as Pc
    }

    fn op(&self, step: &flat::Step, entry: Pc, constants: &Constants) -> Result<Op, String> {
        Ok(match &step.action {
            Action::Compute(operation, sources) => self.compute(operation, sources, step, constants)?,
            // A vector, such as a table of functions that the machine implements, has no parameters to pass.
            Action::Pass { from, .. } => Op::Moves(std::iter::zip(self.regs(step), self.sources(from)).collect()),
            Action::ParameterAt { .. } | Action::Call(..) => return Err("a call".into()),
            Action::Parameter { symbol, offset, ty } => match &self.symbols[*symbol] {
                Home::At(at) if self.is_kernel => {
                    let at = at.wrapping_sub(window::PARAM).wrapping_add_signed(*offset);
                    Op::Parameter(self.wide(step), at as u32, *ty)
                }
                Home::Param(at) => {
                    let address = Address { base: Source::Local(*at), offset: *offset };
                    self.local(AccessKind::Ld, address, *ty, self.wide(step), Vec::new())
                }
                _ => return Err("a parameter in another state space".into()),
            },
            Action::Argument { symbol, offset, ty, from } => match &self.symbols[*symbol] {
                Home::Param(at) => {
                    let address = Address { base: Source::Local(*at), offset: *offset };
                    self.local(AccessKind::St, address, *ty, Vec::new(), self.sources(from))
                }
                _ => return Err("a write to a parameter of the kernel".into()),
            },
            Action::Access(access) if access.kind == AccessKind::Matrix => {
                let form = access.matrix.as_ref().ok_or_else(|| step.mnemonic.to_string())?;
                let address = match access.names_space {
                    true => self.given(&access.address),
                    false => self.given_generic(&access.address),
                };
                let data = access.data.iter().map(|one| self.given(one));
                self.matrix(form, std::iter::once(address).chain(data).collect(), step)
            }
            Action::Access(access) => self.access(access, step)?,
            Action::Asynchronous(form, _) if form.family() == Family::GriddepcontrolWait => Op::Grid(GridControl::Wait),
            Action::Asynchronous(form, _) if form.family() == Family::GriddepcontrolLaunchDependents => {
                Op::Grid(GridControl::Trigger)
            }
            Action::Asynchronous(form, arguments) if is_lacking(form, arguments) => {
                return Err(form.mnemonic());
            }
            Action::Asynchronous(form, arguments) => Op::Asynchronous(Box::new(super::Operation {
                form: (**form).clone(),
                arguments: arguments.iter().map(|(role, operand)| (*role, self.given(operand))).collect(),
            })),
            Action::Barrier(barrier) if barrier.warp => {
                let mask = Some(self.source(&barrier.id));
                Op::Collective(Box::new(Collective::Barrier), mask, Vec::new())
            }
            Action::Barrier(barrier) => self.barrier(barrier, step),
            Action::Fence(fence) => Op::Fence(fence.clone()),
            Action::Jump(labels, None) => match labels[..] {
                [label] => Op::Jump(self.target(label, entry)),
                _ => return Err("a branch to several labels".into()),
            },
            Action::Jump(labels, Some(index)) => {
                Op::JumpIndexed(self.source(index), labels.iter().map(|label| self.target(*label, entry)).collect())
            }
            Action::Leave(Leaving::Function) if !self.is_kernel => Op::Return,
            Action::Leave(_) => Op::Exit,
            Action::Trap => Op::Trap,
            Action::Invoke { callee, register, arguments, results } => {
                let passed = |operand: &Operand| match operand {
                    Operand::Symbol(symbol) => self.passed(*symbol),
                    other => Passed::Value(self.source(other)),
                };
                let runtime = Runtime::from_symbol(callee).is_some();
                let callee = match (self.names.get(&**callee), register) {
                    (Some(function), _) if !runtime => Callee::Function(*function),
                    (None, Some(register)) => Callee::Register(self.registers[*register]),
                    _ => Callee::Outside(callee.clone()),
                };
                let (arguments, results) =
                    (arguments.iter().map(passed).collect(), results.iter().map(passed).collect());
                Op::Invoke(Box::new(Invoke { callee, arguments, results }))
            }
            Action::Nothing => Op::Nothing,
            Action::Elsewhere(Elsewhere::Texture | Elsewhere::Surface, operands) => self.texture(operands, step),
            Action::Elsewhere(Elsewhere::Multimem, _) | Action::Unknown => return Err(step.mnemonic.to_string()),
        })
    }

    fn barrier(&self, barrier: &flat::Barrier, step: &flat::Step) -> Op {
        let own = Barrier {
            id: self.source(&barrier.id),
            threads: barrier.threads.as_ref().map(|threads| self.source(threads)),
            waits: barrier.waits,
            reduces: barrier.reduces.as_ref().map(|(how, p)| (*how, self.source(p))),
            aligned: barrier.aligned,
        };
        Op::Barrier(Box::new(own), step.writes.first().and_then(|d| self.reg(*d)))
    }

    /// An access of the thread's local memory.
    fn local(
        &self,
        kind: AccessKind,
        address: Address,
        ty: Type,
        results: Vec<Option<(Reg, u32)>>,
        data: Vec<Source>,
    ) -> Op {
        Op::Access(Box::new(DecodedAccess {
            kind,
            address,
            space: Space::Local,
            ty,
            bytes: u64::from(ty.bits().div_ceil(8)),
            strong: None,
            sem: ptx_isa::Sem::Weak,
            is_read_only: false,
            rmw: None,
            results,
            data,
            swap: None,
        }))
    }

    /// `discard` writes zeros: any values are allowed afterwards.
    fn discard(&self, access: &flat::MemoryAccess) -> Op {
        const WORD: u64 = 16;
        Op::Access(Box::new(DecodedAccess {
            kind: AccessKind::St,
            address: self.address(&access.address),
            space: access.space.unwrap_or(Space::Generic),
            ty: Type::B128,
            bytes: WORD,
            strong: None,
            sem: access.sem,
            is_read_only: false,
            rmw: None,
            results: Vec::new(),
            data: vec![Source::Nothing; (access.bytes().unwrap_or_default() / WORD) as usize],
            swap: None,
        }))
    }

    fn access(&self, access: &flat::MemoryAccess, step: &flat::Step) -> Result<Op, String> {
        if access.kind == AccessKind::Discard {
            return Ok(self.discard(access));
        }
        let unknown = || step.mnemonic.to_string();
        let ty = access.ty.ok_or_else(unknown)?;
        if access.data.iter().any(is_sum) {
            return Err(unknown());
        }
        let mut data = self.sources(&access.data);
        let rmw = match access.kind {
            AccessKind::Atom | AccessKind::Red => {
                let op = access.op.ok_or_else(unknown)?;
                // Atomic addition of f32 flushes subnormal numbers in global memory, but not in shared memory.
                let flushes = ty == Type::F32 && !access.keeps_subnormals;
                let subnormals = match access.space {
                    Some(space) if space.is_shared() => Subnormals::Kept,
                    _ if flushes => Subnormals::Flushed,
                    _ => Subnormals::Kept,
                };
                Some(Rmw { op, vec: None, ty, subnormals })
            }
            _ => None,
        };
        let swap = match rmw {
            Some(Rmw { op: ptx_isa::AtomOp::Cas, .. }) if data.len() > 1 => data.pop(),
            _ => None,
        };
        Ok(Op::Access(Box::new(DecodedAccess {
            kind: access.kind,
            address: self.address(&access.address),
            space: access.space.unwrap_or(Space::Generic),
            ty,
            bytes: u64::from(ty.bits().div_ceil(8)),
            strong: access.strong(),
            sem: access.sem,
            is_read_only: access.is_read_only,
            rmw,
            results: self.wide(step),
            data,
            swap,
        })))
    }

    fn compute(
        &self,
        operation: &Operation,
        operands: &[Operand],
        step: &flat::Step,
        constants: &Constants,
    ) -> Result<Op, String> {
        let results = self.regs(step);
        let sources = self.sources(operands);
        let source = |index: usize| sources.get(index).copied().unwrap_or(Source::Nothing);
        match operation {
            Operation::Collective { of, is_sync } => return self.collective(*of, *is_sync, &sources, step),
            Operation::Setmaxnreg(change) => return Ok(Op::Setmaxnreg(*change, source(0))),
            Operation::Stack(Stack::Restore) => return Ok(Op::Stack { d: None, a: source(0) }),
            // An instruction without a result has no effect.
            _ if results.iter().all(Option::is_none) => return Ok(Op::Nothing),
            Operation::Mov(_) | Operation::Arithmetic(_) if operands.iter().any(is_sum) => {
                return Err(step.mnemonic.to_string());
            }
            Operation::Mov(ty) => return self.moved(*ty, operands, step, constants),
            Operation::Arithmetic(of) => return self.computation(*of, &sources, step),
            Operation::Matrix(form) => {
                return Ok(self.matrix(form, operands.iter().map(|one| self.given(one)).collect(), step));
            }
            Operation::Opaque(Opaque::TextureQuery, _) => return Ok(self.texture(operands, step)),
            _ => {}
        }
        let Some(d) = results.first().copied().flatten() else { return Ok(Op::Nothing) };
        Ok(match operation {
            Operation::Cvta { to, space } => {
                Op::Cvta { d, space: space.unwrap_or(Space::Generic), to: *to, a: source(0) }
            }
            // Parameters have a separate window.
            Operation::Isspacep(space) => Op::Isspacep { d, space: space.unwrap_or(Space::Const), a: source(0) },
            Operation::Mapa(space) => {
                Op::Mapa { d, space: space.unwrap_or(Space::Generic), a: source(0), rank: source(1) }
            }
            Operation::Getctarank(space) => Op::Getctarank { d, space: space.unwrap_or(Space::Generic), a: source(0) },
            Operation::Activemask => Op::Activemask(d),
            Operation::Stack(Stack::Allocate) => Op::Alloca { d, bytes: source(0), align: source(1) },
            Operation::Stack(_) => Op::Stack { d: Some(d), a: Source::Nothing },
            Operation::Opaque(Opaque::CachePolicy, _) => Op::Pack(d, 64, vec![Source::Number(0)], 1),
            _ => return Err(step.mnemonic.to_string()),
        })
    }

    fn texture(&self, operands: &[Operand], step: &flat::Step) -> Op {
        let (object, place) = match operands.first() {
            Some(Operand::Tensor(object, place)) => (self.source(object), self.sources(place)),
            Some(Operand::Address(object, 0)) => (self.source(object), Vec::new()),
            _ => (Source::Nothing, Vec::new()),
        };
        let data = self.sources(operands.get(1..).unwrap_or_default());
        // Operands that the form does not have are offsets, a depth to compare with, or a separate sampler.
        let is_whole = |form: &TextureForm| match form {
            TextureForm::Fetch(of) => operands.len() == 1 + of.level_operands && place.len() >= of.geometry.indices(),
            TextureForm::Surface(of) => {
                data.len() == if of.is_store { of.elements } else { 0 } && place.len() >= of.geometry.indices()
            }
            TextureForm::Query(_) => operands.len() == 1,
        };
        let form =
            TextureForm::from_mnemonic(&step.mnemonic).filter(|form| is_whole(form) && object != Source::Nothing);
        let (ty, is_store) = match form {
            Some(TextureForm::Surface(of)) => (of.ty, of.is_store),
            _ => (Type::B32, false),
        };
        let memory = DecodedAccess {
            kind: if is_store { AccessKind::St } else { AccessKind::Ld },
            address: Address { base: object, offset: 0 },
            space: Space::Global,
            ty,
            bytes: u64::from(ty.bits() / 8),
            strong: None,
            sem: ptx_isa::Sem::Weak,
            is_read_only: false,
            rmw: None,
            results: self.wide(step),
            data: if is_store { data } else { Vec::new() },
            swap: None,
        };
        let (mnemonic, results) = (step.mnemonic.to_string(), self.regs(step));
        Op::Texture(Box::new(TextureAccess { form, mnemonic, object, place, results, memory }))
    }

    fn matrix(&self, form: &MatrixForm, operands: Vec<Given>, step: &flat::Step) -> Op {
        let fragment = |fragment, is_store| {
            let by_rows = form.by_rows.first() == Some(&true);
            WmmaFragment::from_form(form, fragment).map(|of| MatrixCode::Fragment { of, by_rows, is_store })
        };
        let code = match form.op {
            MatrixOp::Mma => Mma::from_form(form).map(MatrixCode::Mma),
            MatrixOp::WmmaMma => Wmma::from_form(form).map(MatrixCode::Wmma),
            MatrixOp::WmmaLoad(of) => fragment(of, false),
            MatrixOp::WmmaStore(of) => fragment(of, true),
            MatrixOp::Ldmatrix => LdMatrix::from_form(form).map(MatrixCode::Ldmatrix),
            MatrixOp::Stmatrix => LdMatrix::from_form(form).map(MatrixCode::Stmatrix),
            MatrixOp::Movmatrix => Some(MatrixCode::Movmatrix),
        };
        let code = code.ok_or_else(|| Unsupported::new(&*step.mnemonic));
        let space = form.space.unwrap_or(Space::Generic);
        Op::Matrix(Box::new(Matrix { code, space, results: self.regs(step), operands }))
    }

    fn computation(&self, of: Computation, sources: &[Source], step: &flat::Step) -> Result<Op, String> {
        let written = self.wide(step);
        if sources.len() > 5 || written.len() > 2 || !of.takes(sources.len()) {
            return Err(step.mnemonic.to_string());
        }
        let mut all = [Source::Nothing; 5];
        all[..sources.len()].copy_from_slice(sources);
        let results = [0, 1].map(|index| written.get(index).copied().flatten().map(|(register, _)| register));
        let ty = of.result_type();
        let width = written.first().copied().flatten().map(|(_, bits)| bits);
        let fills = width.filter(|bits| ty.is_signed() && *bits > ty.bits()).map(|bits| (ty, bits));
        let is_fast = results[1].is_none() && sources.len() <= 3 && fills.is_none();
        let fast = fast(of).filter(|_| is_fast);
        Ok(Op::Compute(Box::new(Compute { of, fast, results, fills, sources: all, count: sources.len() })))
    }

    fn moved(&self, ty: Type, operands: &[Operand], step: &flat::Step, constants: &Constants) -> Result<Op, String> {
        let results = self.regs(step);
        let bits = ty.bits();
        Ok(match (operands, &results[..]) {
            ([Operand::Vector(parts)], [Some(d)]) => {
                let parts = self.sources(parts);
                let each = bits / parts.len().max(1) as u32;
                Op::Pack(*d, each, parts, bits.div_ceil(64))
            }
            ([_], [Some(d)]) if bits == 128 => Op::Move128(*d, self.source(&operands[0])),
            ([from], [Some(d)]) => {
                let of = Computation::Alu(ptx_isa::AluOp::Mov, if bits <= 32 { Type::B32 } else { Type::B64 });
                let mut sources = [Source::Nothing; 5];
                sources[0] = match self.source(from) {
                    Source::Number(at) if bits == 32 && self.is_constant(from) => {
                        Source::Number(constants.short(at).unwrap_or(at))
                    }
                    source => source,
                };
                Op::Compute(Box::new(Compute {
                    of,
                    fast: fast(of),
                    results: [Some(*d), None],
                    fills: None,
                    sources,
                    count: 1,
                }))
            }
            ([from], _) => {
                let each = bits / results.len().max(1) as u32;
                Op::Unpack(results, self.source(from), each)
            }
            _ => return Err(step.mnemonic.to_string()),
        })
    }

    fn collective(
        &self,
        of: operation::Collective,
        is_sync: bool,
        sources: &[Source],
        step: &flat::Step,
    ) -> Result<Op, String> {
        let source = |index: usize| sources.get(index).copied().ok_or_else(|| step.mnemonic.to_string());
        let count = match of {
            operation::Collective::Shuffle(_) => 3,
            operation::Collective::Elect => 0,
            _ => 1,
        };
        let mut operands = [Source::Nothing; 3];
        for (index, operand) in operands.iter_mut().enumerate().take(count) {
            *operand = source(index)?;
        }
        let mask = if is_sync { Some(source(count)?) } else { None };
        Ok(Op::Collective(Box::new(Collective::Of(of, operands)), mask, self.regs(step)))
    }
}

fn kind(action: &Action) -> SiteKind {
    match action {
        Action::Asynchronous(form, arguments) => SiteKind::Asynchronous {
            family: form.family(),
            has_mbarrier: arguments.iter().any(|(role, _)| *role == Role::Barrier),
        },
        Action::Compute(Operation::Mov(_), _) => SiteKind::Move,
        _ => SiteKind::Other,
    }
}

fn symbol(operand: &Operand) -> Option<usize> {
    match operand {
        Operand::Symbol(symbol) => Some(*symbol),
        _ => None,
    }
}

/// Whether the machine lacks an asynchronous instruction: its ordering is unknown, it accesses several memories or
/// barriers, it queries the layout or the reports of an mbarrier or the reads of A of a product, or it overrides a
/// field of its tensor map.
fn is_lacking(form: &Asynchronous, arguments: &[(Role, Operand)]) -> bool {
    let reports = arguments.iter().any(|(role, _)| *role == Role::Report);
    let family = form.family();
    form.has_unknown_order()
        || reports
        || form.modifier(ModifierKind::Report).is_some_and(|report| report != "mbarrier::report::disabled")
        || form.modifier(ModifierKind::Override).is_some()
        || family.is_mbarrier() && form.modifier(ModifierKind::Multicast).is_some()
        || family == Family::Tcgen05Commit && form.modifier(ModifierKind::Restriction).is_some()
        || matches!(
            family,
            Family::MultimemCpAsyncBulk | Family::MultimemCpReduceAsyncBulk | Family::MbarrierCheckLayout
        )
}

/// Whether an operand without brackets adds a number to a register: the manual does not have such a value, and ptxas
/// adds.
fn is_sum(operand: &Operand) -> bool {
    matches!(operand, Operand::Address(base, offset) if *offset != 0 && matches!(**base, Operand::Register(_)))
}
