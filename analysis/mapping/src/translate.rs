//! The translation of a source program to PTX: each operation becomes the sequence of the lowering crate, instruction
//! by instruction.

use std::collections::HashMap;

use ptx_lowering::{
    A, Access, AtomicOp, B, C, D, Operation, Ordering, Policy, RmwOp, Sequence, SyncScope, Target, Type, Unsupported,
    abi::{ExternalMapping, RowKind, Step},
    by_steps, lower,
    ptx::{self as asm, Instruction as Asm},
};
use ptx_memory_model::{
    program::{
        self as model, Address, Computation, Guard, Instruction, Label, Location, Operand, Program, Register,
        RegisterDeclaration, Statement, Thread, Variable, fits, truncate,
    },
    ptx::{self, Fence, Ptx},
    source::{Cpp, Order},
};
use ptx_optimize::OptimizeOptions;

/// The reason why no PTX program can be checked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoProgram {
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Unsupported(Vec<Unsupported>),
    #[error("`{mapping}` has no sequence for {operation}")]
    NoRow { mapping: &'static str, operation: String },
    #[error("the model does not know {0}")]
    Unmodelled(String),
    #[error("{} does not fit into {bits} bits", ptx_memory_model::litmus::number(*value))]
    Value { value: u64, bits: u32 },
    #[error("no program has an operation for the expansion `{0}`: the check would be empty")]
    NotExpanded(&'static str),
    #[error("{0}: {1}")]
    Named(String, Box<Self>),
}

/// A function that lowers an operation, whose result is read or not, to a [`Sequence`].
type Lower<'l> = Box<dyn Fn(&AtomicOp, bool) -> Result<Sequence, NoProgram> + Sync + 'l>;

/// A lowering of every operation, on values of one type.
pub struct Mapping<'l> {
    pub name: String,
    /// The type and space of all atomics. The values of a program must fit.
    pub access: Access,
    /// The options of the optimizer that runs before; `None` without an optimizer.
    pub optimizer: Option<OptimizeOptions>,
    lower: Lower<'l>,
}

impl<'l> Mapping<'l> {
    pub fn new(policy: Policy, target: Target, access: Access, name: String) -> Self {
        let lower = move |op: &AtomicOp, _| match lower(op, &policy, &target) {
            Ok(lowering) => Ok(lowering.sequence),
            Err(errors) => Err(NoProgram::Unsupported(errors)),
        };
        Self { name, access, optimizer: None, lower: Box::new(lower) }
    }

    /// A third-party mapping, with its rows unchanged.
    pub fn other(other: &'static ExternalMapping, target: Target, access: Access) -> Self {
        let lower = move |op: &AtomicOp, read: bool| {
            let steps = steps(other, op).ok_or_else(|| NoProgram::NoRow {
                mapping: other.name,
                operation: format!("{:?} {} at {:?}", op.operation, op.ordering, op.scope),
            })?;
            let mut op = *op;
            if let (Operation::Rmw(..), Some(scope)) = (op.operation, other.rmw_scope) {
                op.scope = SyncScope::Threads(scope);
            }
            let sequence = by_steps(&op, steps, &target).map_err(NoProgram::Unsupported)?;
            Ok(if other.reduces && !read { reduced(sequence) } else { sequence })
        };
        Self { name: other.name.into(), access, optimizer: None, lower: Box::new(lower) }
    }

    /// The same mapping after the optimizer.
    pub fn optimized(self, optimizer: OptimizeOptions) -> Self {
        Self { optimizer: Some(optimizer), ..self }
    }

    /// The same mapping with some sequences replaced by the result of `change`.
    pub fn changed(self, name: String, change: impl Fn(&AtomicOp, bool, Sequence) -> Sequence + Sync + 'l) -> Self {
        let lower = self.lower;
        Self {
            name,
            access: self.access,
            optimizer: self.optimizer,
            lower: Box::new(move |op, read| lower(op, read).map(|sequence| change(op, read, sequence))),
        }
    }

    /// The sequence for an operation whose result is read or not.
    ///
    /// # Errors
    /// If the target has no lowering.
    pub fn sequence(&self, op: &AtomicOp, read: bool) -> Result<Sequence, NoProgram> {
        (self.lower)(op, read)
    }

    /// The program in PTX.
    ///
    /// # Errors
    /// If an operation has no lowering, or its lowering has instructions that the model lacks.
    pub fn translate(&self, source: &Program<Cpp>) -> Result<Program<Ptx>, NoProgram> {
        self.lower(source, &operations(source, self.access)?)
    }

    /// The program in PTX; `asked` lists its operations.
    pub(crate) fn lower(&self, source: &Program<Cpp>, asked: &[(AtomicOp, bool)]) -> Result<Program<Ptx>, NoProgram> {
        let sequences = asked.iter().map(|(op, read)| self.sequence(op, *read)).collect::<Result<Vec<_>, _>>()?;
        inline(source, &sequences.iter().collect::<Vec<_>>())
    }
}

/// The steps of a mapping's row for an operation.
fn steps(other: &ExternalMapping, op: &AtomicOp) -> Option<&'static [Step]> {
    let SyncScope::Threads(scope) = op.scope else { return None };
    let (kind, ordering) = match op.operation {
        Operation::Fence => (RowKind::Fence, op.ordering),
        Operation::Load(_) => (RowKind::Load, op.ordering),
        Operation::Store(_) => (RowKind::Store, op.ordering),
        Operation::Rmw(..) => (RowKind::Rmw, op.ordering),
        Operation::CmpXchg { failure, .. } => {
            (RowKind::Rmw, if other.ignores_failure { op.ordering } else { op.ordering.join(failure) })
        }
    };
    let row = other.row(kind, ordering, matches!(op.operation, Operation::CmpXchg { .. }))?;
    other.scopes.contains(&scope).then_some(row.sequences[0])
}

/// A sequence without unused results: the assembler may turn an `atom` without a result into a `red` if `red` has the
/// ordering.
fn reduced(sequence: Sequence) -> Sequence {
    let reduce = |mut statement: asm::Statement| {
        if let asm::Statement::Instruction { instruction: Asm::Atom(atom), .. } = &mut statement
            && matches!(atom.sem, None | Some(asm::AtomSem::Relaxed | asm::AtomSem::Release))
            && atom.op != asm::AtomOp::Cas
        {
            atom.d = asm::Operand::Sink;
        }
        statement
    };
    sequence.statements().iter().cloned().map(reduce).collect()
}

/// The atomic operations and fences of a program in program order, on memory of this kind; and whether each result is
/// read.
///
/// # Errors
/// If the program has a construct that no source language has.
pub fn operations(source: &Program<Cpp>, access: Access) -> Result<Vec<(AtomicOp, bool)>, NoProgram> {
    let code = source.threads.iter().flat_map(|thread| &thread.code);
    code.filter(|statement| plain(&statement.instruction).is_none())
        .map(|statement| {
            let (op, operands) = operation(&statement.instruction, access)?;
            Ok((op, operands.d.is_some()))
        })
        .collect()
}

/// The program with these sequences instead of its [`operations`]. Its registers are the registers of the source, in
/// the same order, followed by registers that no outcome includes.
///
/// # Errors
/// If a sequence has instructions that the model lacks.
pub fn inline(source: &Program<Cpp>, sequences: &[&Sequence]) -> Result<Program<Ptx>, NoProgram> {
    let mut sequences = sequences.iter();
    let variable = |v: &Variable<Cpp>| Variable::new(v.name.clone(), v.initial);
    let mut threads = Vec::with_capacity(source.threads.len());
    for from in &source.threads {
        let mut thread = Thread {
            place: from.place,
            registers: from.registers.clone(),
            labels: from.labels.clone(),
            code: Vec::with_capacity(from.code.len()),
        };
        for Statement { guard, instruction } in &from.code {
            if let Some(instruction) = plain(instruction) {
                thread.code.push(Statement { guard: *guard, instruction });
                continue;
            }
            // The memory kind does not affect the operands.
            let (_, operands) = operation(instruction, Access::new(asm::Space::Global, Type::I32))?;
            let sequence = sequences.next().expect("one for each operation");
            Inliner { thread: &mut thread, operands, names: HashMap::new(), labels: HashMap::new() }
                .inline(sequence)?;
        }
        threads.push(thread);
    }
    Ok(Program { locations: source.locations.iter().map(variable).collect(), threads })
}

/// The program with each sub-word access widened to the word, in which all other bits are 0. The result is not
/// equivalent: it shows the outcomes that the order of the accesses allows, whatever their sizes.
pub fn in_words(program: &Program<Ptx>) -> Program<Ptx> {
    let mut program = program.clone();
    for statement in program.threads.iter_mut().flat_map(|thread| &mut thread.code) {
        let (ty, operands) = match &mut statement.instruction {
            Instruction::Load { ty, .. } => (ty, Vec::new()),
            Instruction::Store { b, ty, .. } => (ty, vec![b]),
            Instruction::Rmw { b, c, ty, .. } => (ty, vec![b, c]),
            _ => continue,
        };
        for operand in operands {
            if let Operand::Immediate(value) = operand {
                *value = truncate(*ty, *value);
            }
        }
        *ty = match *ty {
            asm::Type::B8 | asm::Type::B16 | asm::Type::F16 | asm::Type::Bf16 => asm::Type::B32,
            asm::Type::U8 | asm::Type::U16 => asm::Type::U32,
            asm::Type::S8 | asm::Type::S16 => asm::Type::S32,
            ty => ty,
        };
    }
    program
}

/// The program on values of this type.
///
/// # Errors
/// If a constant does not fit the type.
pub fn typed(source: &Program<Cpp>, ty: asm::Type) -> Result<Program<Cpp>, NoProgram> {
    let mut program = source.clone();
    for statement in program.threads.iter_mut().flat_map(|thread| &mut thread.code) {
        let (of, operands) = match &mut statement.instruction {
            Instruction::Load { ty: of, .. } => (Some(of), Vec::new()),
            Instruction::Store { b, ty: of, .. } => (Some(of), vec![b]),
            Instruction::Rmw { b, c, ty: of, .. } => (Some(of), vec![b, c]),
            // A branch compares a value that was read.
            Instruction::Branch { when: Some((_, a, b)), .. } => (None, vec![a, b]),
            _ => continue,
        };
        for operand in operands {
            match operand {
                Operand::Immediate(value) if !fits(ty, *value) => {
                    return Err(NoProgram::Value { value: *value, bits: ty.bits() });
                }
                Operand::Immediate(value) if of.is_none() => *value = truncate(ty, *value),
                _ => {}
            }
        }
        if let Some(of) = of {
            *of = ty;
        }
    }
    Ok(program)
}

/// The PTX form of an instruction that is not an atomic operation.
pub(crate) fn plain(instruction: &Instruction<Cpp>) -> Option<Instruction<Ptx>> {
    Some(match instruction {
        Instruction::Load { d, a, ty, access } if access.order == Order::NonAtomic => {
            Instruction::Load { d: *d, a: *a, ty: *ty, access: ptx::Semantics::WEAK }
        }
        Instruction::Store { a, b, ty, access } if access.order == Order::NonAtomic => {
            Instruction::Store { a: *a, b: *b, ty: *ty, access: ptx::Semantics::WEAK }
        }
        Instruction::Alu { computation, ty, d, sources } => {
            Instruction::Alu { computation: *computation, ty: *ty, d: *d, sources: *sources }
        }
        Instruction::Branch { when, target } => Instruction::Branch { when: *when, target: *target },
        Instruction::Label(label) => Instruction::Label(*label),
        Instruction::Stop(stop) => Instruction::Stop(*stop),
        _ => return None,
    })
}

/// The atomic operation or fence of an instruction, and its operands.
pub(crate) fn operation(instruction: &Instruction<Cpp>, access: Access) -> Result<(AtomicOp, Operands), NoProgram> {
    let none = Operand::Immediate(0);
    let of = |a: &Address| location(*a).map(Some).ok_or_else(|| unmodelled(&instruction));
    let (operation, order, scope, operands) = match instruction {
        Instruction::Load { d, a, access: by, .. } => {
            (Operation::Load(access), by.order, by.scope, Operands { d: Some(*d), a: of(a)?, b: none, c: none })
        }
        Instruction::Store { a, b, access: by, .. } => {
            (Operation::Store(access), by.order, by.scope, Operands { d: None, a: of(a)?, b: *b, c: none })
        }
        Instruction::Rmw { op, d, a, b, c, ty, access: by } => {
            let operation = match rmw(*op, *ty) {
                Some(op) => Operation::Rmw(op, access),
                None => Operation::CmpXchg { access, failure: ordering(by.failure) },
            };
            (operation, by.order, by.scope, Operands { d: *d, a: of(a)?, b: *b, c: *c })
        }
        Instruction::Fence(fence) => {
            (Operation::Fence, fence.order, fence.scope, Operands { d: None, a: None, b: none, c: none })
        }
        other => return Err(unmodelled(&other)),
    };
    Ok((AtomicOp { operation, ordering: ordering(order), scope: SyncScope::Threads(scope) }, operands))
}

/// The values for the slots of a sequence.
pub(crate) struct Operands {
    d: Option<Register>,
    a: Option<Location>,
    b: Operand,
    c: Operand,
}

fn unmodelled(what: &dyn std::fmt::Debug) -> NoProgram {
    NoProgram::Unmodelled(format!("{what:?}"))
}

fn location(address: Address) -> Option<Location> {
    match address {
        Address { base: Operand::Address(location), offset: 0 } => Some(location),
        _ => None,
    }
}

fn ordering(order: Order) -> Ordering {
    match order {
        Order::NonAtomic | Order::Relaxed => Ordering::Relaxed,
        Order::Acquire => Ordering::Acquire,
        Order::Release => Ordering::Release,
        Order::AcqRel => Ordering::AcqRel,
        Order::SeqCst => Ordering::SeqCst,
    }
}

/// The LLVM operation; `None` for a compare-and-exchange.
fn rmw(op: model::RmwOp, ty: asm::Type) -> Option<RmwOp> {
    match op {
        model::RmwOp::Sub => Some(RmwOp::Sub),
        model::RmwOp::Atom(op) => RmwOp::from_atom_op(op, ty.is_signed()),
    }
}

/// Inserts a sequence into a thread.
struct Inliner<'t> {
    thread: &'t mut Thread<Ptx>,
    operands: Operands,
    names: HashMap<asm::Name, Register>,
    labels: HashMap<asm::Name, Label>,
}

impl Inliner<'_> {
    fn inline(&mut self, sequence: &Sequence) -> Result<(), NoProgram> {
        for statement in sequence.statements() {
            let (guard, instruction) = match statement {
                asm::Statement::Reg { .. } => continue,
                asm::Statement::Label(name) => (None, Instruction::Label(self.label(name))),
                asm::Statement::Instruction { guard, instruction } => {
                    let guard =
                        guard.as_ref().map(|guard| Guard { p: self.register(&guard.p), negated: guard.negated });
                    (guard, self.instruction(instruction)?)
                }
            };
            self.thread.code.push(Statement { guard, instruction });
        }
        Ok(())
    }

    /// The register with a name. Only names that are not slots create a register.
    fn register(&mut self, name: &asm::Name) -> Register {
        if let Some(d) = self.operands.d.filter(|_| *name == D) {
            return d;
        }
        let registers = &mut self.thread.registers;
        *self.names.entry(name.clone()).or_insert_with(|| {
            let name = format!("{}.{}", name.0, registers.len());
            registers.push(RegisterDeclaration { name, initial: 0, observed: false });
            Register(registers.len() as u16 - 1)
        })
    }

    fn label(&mut self, name: &asm::Name) -> Label {
        let labels = &mut self.thread.labels;
        *self.labels.entry(name.clone()).or_insert_with(|| {
            labels.push(format!("{}.{}", name.0, labels.len()));
            Label(labels.len() as u16 - 1)
        })
    }

    fn source(&mut self, operand: &asm::Operand) -> Result<Operand, NoProgram> {
        match operand {
            asm::Operand::Immediate(bits) => Ok(Operand::Immediate(*bits)),
            asm::Operand::Register(name) if *name == A => {
                self.operands.a.map(Operand::Address).ok_or_else(|| unmodelled(operand))
            }
            asm::Operand::Register(name) if *name == B => Ok(self.operands.b),
            asm::Operand::Register(name) if *name == C => Ok(self.operands.c),
            asm::Operand::Register(name) => Ok(Operand::Register(self.register(name))),
            other => Err(unmodelled(other)),
        }
    }

    fn destination(&mut self, operand: &asm::Operand) -> Result<Register, NoProgram> {
        match operand {
            asm::Operand::Register(name) => Ok(self.register(name)),
            other => Err(unmodelled(other)),
        }
    }

    fn address(&mut self, address: &asm::Address) -> Result<Address, NoProgram> {
        Ok(Address { base: self.source(&asm::Operand::Register(address.base.clone()))?, offset: address.offset })
    }

    /// The same instruction in the model, which uses the terms of PTX.
    fn instruction(&mut self, instruction: &Asm) -> Result<Instruction<Ptx>, NoProgram> {
        let none = Operand::Immediate(0);
        let translated = match instruction {
            Asm::Fence(fence) => Instruction::Fence(Fence::memory(fence.sem, fence.scope)),
            Asm::Membar(level) => Instruction::Fence(Fence::membar(*level)),
            Asm::Ld(ld) if ld.vec.is_none() => {
                let access = ptx::Semantics::load(ld.sem, ld.scope);
                Instruction::Load { d: self.destination(&ld.d)?, a: self.address(&ld.a)?, ty: ld.ty, access }
            }
            Asm::St(st) if st.vec.is_none() => {
                let access = ptx::Semantics::store(st.sem, st.scope);
                Instruction::Store { a: self.address(&st.a)?, b: self.source(&st.b)?, ty: st.ty, access }
            }
            Asm::Atom(atom) if atom.vec.is_none() => {
                // The manual permits an `atom` whose result is discarded to be a `red`.
                let d = match &atom.d {
                    asm::Operand::Sink => None,
                    d => Some(self.destination(d)?),
                };
                let c = atom.c.as_ref().map_or(Ok(none), |c| self.source(c))?;
                let (op, a, b) = (atom.op.into(), self.address(&atom.a)?, self.source(&atom.b)?);
                Instruction::Rmw { op, d, a, b, c, ty: atom.ty, access: ptx::Semantics::atom(atom.sem, atom.scope) }
            }
            Asm::Red(red) if red.vec.is_none() => {
                let (op, a, b) = (red.op.into(), self.address(&red.a)?, self.source(&red.b)?);
                let access = ptx::Semantics::red(red.sem, red.scope);
                Instruction::Rmw { op, d: None, a, b, c: none, ty: red.ty, access }
            }
            Asm::Alu { op, ty, d, sources } => {
                let mut operands = [none; 3];
                for (operand, source) in operands.iter_mut().zip(sources) {
                    *operand = self.source(source)?;
                }
                let d = self.destination(d)?;
                Instruction::Alu { computation: Computation::Alu(*op), ty: *ty, d, sources: operands }
            }
            Asm::Cvt { rn: false, to, from, d, a } => {
                let sources = [self.source(a)?, none, none];
                Instruction::Alu { computation: Computation::Cvt(*to), ty: *from, d: self.register(d), sources }
            }
            Asm::Setp { cmp, ty, p, a, b } => {
                let sources = [self.source(a)?, self.source(b)?, none];
                Instruction::Alu { computation: Computation::Setp(*cmp), ty: *ty, d: self.register(p), sources }
            }
            Asm::Bra { target } => Instruction::Branch { when: None, target: self.label(target) },
            other => return Err(unmodelled(other)),
        };
        let is_known = match &translated {
            Instruction::Alu { computation, ty, .. } => computation.is_known(*ty),
            Instruction::Rmw { op, ty, .. } => op.is_known(*ty),
            _ => true,
        };
        if is_known { Ok(translated) } else { Err(unmodelled(instruction)) }
    }
}
