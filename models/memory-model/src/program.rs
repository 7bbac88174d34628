//! Programs of both models: threads of instructions over registers, with branches and loops.
//!
//! Registers, labels and locations are indices into the lists of their thread or program, and must be within these
//! lists. A translation from PTX gives its scratch registers `observed: false`.
//!
//! The model's [`Language`] defines the semantics of an access and the kinds of fences and barriers.

use std::{fmt, fmt::Debug, str::FromStr};

pub use ptx_isa::{AluOp, AtomOp, Cmp, Reduction, Type};
use ptx_isa::{
    arithmetic::{self, Rmw, mask, sign_extend},
    effects::Proxy,
};

pub use crate::operand::{Address, Location, Operand, Register, SPACING, Value};
use crate::{
    asynchronous::{Asynchronous, Memory},
    multimem::Multimem,
    place::{Place, Scope},
};

/// The types in which memory operations, fences and barriers differ between models.
pub trait Language: Copy + Debug + Eq + 'static {
    /// The semantics of a memory operation.
    type Semantics: Copy + Debug + Eq;
    /// The kind of a fence.
    type Fence: Copy + Debug + Eq;
    /// The relation of an alias to its variable: for PTX, a proxy.
    type Alias: Copy + Debug + Eq;

    /// Whether an alias has the virtual address of its variable, and differs only in its proxy.
    fn same_address(alias: Self::Alias) -> bool;

    /// Whether the scope of a strong access includes all threads; `None` if the access is not strong.
    fn reaches(access: Self::Semantics, places: &[Place]) -> Option<bool>;

    /// The semantics of the memory operations of an asynchronous operation; a reduction has a scope. `None` if the
    /// model has no asynchronous operations.
    fn asynchronous(_: Proxy, _: Option<Scope>) -> Option<Self::Semantics> {
        None
    }

    /// The semantics of the read of a compare and exchange that fails.
    fn failed(access: Self::Semantics) -> Self::Semantics {
        access
    }
}

/// An index into [`Thread::labels`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(pub u16);

/// Threads, and the variables that they share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program<L: Language> {
    /// The variables. A [`Location`] is an index into this list.
    pub locations: Vec<Variable<L>>,
    /// The threads.
    pub threads: Vec<Thread<L>>,
}

/// A named address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable<L: Language> {
    /// The name in the text.
    pub name: String,
    /// The initial value, which W0 writes (section 8.2.6). An alias has the initial value of its variable.
    pub initial: Value,
    /// The variable of which this one is an alias, with the relation between them.
    pub alias: Option<(L::Alias, Location)>,
    /// The address of the first byte; `None` stands for [`Location::address`], far from every other variable.
    pub address: Option<Value>,
    /// Whether the memory belongs to a single thread, or is never written: accesses to it are not events.
    pub private: bool,
    /// The kind of memory.
    pub memory: Memory,
    /// The CTA whose shared memory has the variable, as far as fences depend on it.
    pub cta: Option<Place>,
}

impl<L: Language> Variable<L> {
    /// A variable that is not an alias, which all threads share.
    pub fn new(name: impl Into<String>, initial: Value) -> Self {
        Self {
            name: name.into(),
            initial,
            alias: None,
            address: None,
            private: false,
            memory: Memory::Global,
            cta: None,
        }
    }
}

/// A sequence of statements, executed by one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread<L: Language> {
    /// The processor, GPU, cluster and CTA of the thread.
    pub place: Place,
    /// The registers. A [`Register`] is an index into this list.
    pub registers: Vec<RegisterDeclaration>,
    /// The names of the labels. A [`Label`] is an index into this list.
    pub labels: Vec<String>,
    /// The statements, in program order.
    pub code: Vec<Statement<L>>,
}

/// A register of 64 bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterDeclaration {
    /// The name in the text.
    pub name: String,
    /// The value at the start.
    pub initial: Value,
    /// Whether its last value is part of the outcome.
    pub observed: bool,
}

/// An instruction, executed only if the guard holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement<L: Language> {
    /// The condition of execution; a statement without a guard is always executed.
    pub guard: Option<Guard>,
    /// The instruction.
    pub instruction: Instruction<L>,
}

/// `@p`, or `@!p` if negated. A predicate is a register; it holds unless it is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The predicate.
    pub p: Register,
    /// Whether it must not hold.
    pub negated: bool,
}

/// The bytes that an operation accesses (section 8.2), at a virtual address or at the physical location of that
/// address. Two operations overlap completely if their spans are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The variable.
    pub variable: Location,
    /// The distance from the variable's first byte, in bytes.
    pub offset: u8,
    /// The size in bytes.
    pub bytes: u8,
}

impl Span {
    /// The size of a variable, 64 bits.
    pub const BYTES: u8 = 8;

    /// All bytes of a variable.
    pub fn whole(variable: Location) -> Self {
        Self { variable, offset: 0, bytes: Self::BYTES }
    }

    /// Whether the spans share a byte (section 8.2.1).
    pub fn overlaps(self, other: Self) -> bool {
        self.variable == other.variable
            && self.offset < other.offset + other.bytes
            && other.offset < self.offset + self.bytes
    }

    /// The value of these bytes if the whole variable has the given value.
    pub fn extract(self, variable: Value) -> Value {
        low(variable >> (8 * self.offset), u32::from(self.bytes) * 8)
    }

    /// The value of the whole variable if these bytes have the given value and the rest is 0.
    pub fn within(self, value: Value) -> Value {
        value << (8 * self.offset)
    }
}

/// The low bits of a value.
fn low(value: Value, bits: u32) -> Value {
    value & mask(bits) as Value
}

/// The size of a value in memory, in bytes. For 128 bits, the model has the low 64.
pub fn bytes(ty: Type) -> u8 {
    ty.bits().div_ceil(8).min(Span::BYTES.into()) as u8
}

/// The low bits of a value, as many as the type has.
pub fn truncate(ty: Type, value: Value) -> Value {
    low(value, ty.bits())
}

/// Whether a constant, written as a positive or a negative number, is a value of this type's width.
pub fn fits(ty: Type, value: Value) -> bool {
    truncate(ty, value) == value || sign_extend(value, ty.bits()) as Value == value
}

/// Whether the model computes with values of the type.
fn is_integer(ty: Type) -> bool {
    !ty.is_float() && ty.element().is_none()
}

/// The operation of a read-modify-write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RmwOp {
    /// An operation of `atom` and `red`.
    Atom(AtomOp),
    /// A subtraction, which C++ has, and the litmus tests of Dat3M in PTX.
    Sub,
}

impl RmwOp {
    /// The name of a subtraction in litmus tests and source programs.
    const SUB: &str = "sub";

    /// The value written over `old`; `None` if the model does not have the operation. A `cas` that fails gives `old`,
    /// in case the operation writes at all.
    pub fn apply(self, ty: Type, old: Value, b: Value, c: Value) -> Option<Value> {
        match self {
            Self::Sub => Computation::Alu(AluOp::Sub).apply(ty, [old, b, 0]),
            Self::Atom(op) if op == AtomOp::Exch || is_integer(ty) => {
                Rmw::new(op, ty).apply(old.into(), b.into(), Some(c.into())).map(|new| new as Value)
            }
            Self::Atom(_) => None,
        }
    }

    /// Whether the model has this operation on values of this type.
    pub fn is_known(self, ty: Type) -> bool {
        self.apply(ty, 0, 0, 0).is_some()
    }

    /// The arithmetic instruction that computes the same value from `old` and the operand.
    pub fn arithmetic(self) -> Option<AluOp> {
        Some(match self {
            Self::Sub => AluOp::Sub,
            Self::Atom(AtomOp::Add) => AluOp::Add,
            Self::Atom(AtomOp::Min) => AluOp::Min,
            Self::Atom(AtomOp::Max) => AluOp::Max,
            Self::Atom(AtomOp::And) => AluOp::And,
            Self::Atom(AtomOp::Or) => AluOp::Or,
            Self::Atom(AtomOp::Xor) => AluOp::Xor,
            Self::Atom(AtomOp::Exch | AtomOp::Cas | AtomOp::Inc | AtomOp::Dec) => return None,
        })
    }
}

impl From<AtomOp> for RmwOp {
    fn from(op: AtomOp) -> Self {
        Self::Atom(op)
    }
}

impl fmt::Display for RmwOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Atom(op) => fmt::Display::fmt(op, f),
            Self::Sub => f.write_str(Self::SUB),
        }
    }
}

impl FromStr for RmwOp {
    type Err = strum::ParseError;

    fn from_str(word: &str) -> Result<Self, strum::ParseError> {
        if word == Self::SUB { Ok(Self::Sub) } else { word.parse().map(Self::Atom) }
    }
}

/// The function that an instruction computes from its sources. The model computes with integers only: PTX does not
/// fully specify floating-point results, and results with the carry flag depend on more than the sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Computation {
    /// Arithmetic.
    Alu(AluOp),
    /// `setp`: 1 where the comparison holds, 0 where it does not.
    Setp(Cmp),
    /// `cvt` from the instruction's type to this one.
    Cvt(Type),
}

impl Computation {
    /// A copy of all bits of the type.
    pub const MOV: Self = Self::Alu(AluOp::Mov);

    /// The number of source operands.
    pub fn arity(self) -> usize {
        match self {
            Self::Alu(op) => op.arity(),
            Self::Setp(_) => 2,
            Self::Cvt(_) => 1,
        }
    }

    /// The type of the source with this index.
    pub fn source_type(self, ty: Type, index: usize) -> Type {
        match self {
            Self::Alu(op) => op.source_type(ty, index),
            Self::Setp(_) | Self::Cvt(_) => ty,
        }
    }

    /// The maximum number of bits of a result.
    pub(crate) fn bits(self, ty: Type) -> u32 {
        match self {
            Self::Alu(op) => op.result_type(ty).bits(),
            Self::Setp(_) => Type::Pred.bits(),
            Self::Cvt(to) => to.bits(),
        }
    }

    /// The result, computed from the first `arity` sources; `None` if the model does not have such an instruction.
    pub fn apply(self, ty: Type, [a, b, c]: [Value; 3]) -> Option<Value> {
        // As in a guard, a predicate holds unless it is zero.
        let c = if self == Self::Alu(AluOp::Selp) { Value::from(c != 0) } else { c };
        let sources = [a, b, c].map(u128::from);
        match self {
            Self::Alu(op) if is_integer(ty) || matches!(op, AluOp::Mov | AluOp::Selp) => {
                arithmetic::alu(op, ty, sources.get(..op.arity())?).map(|value| value as Value)
            }
            Self::Setp(cmp) if is_integer(ty) => arithmetic::compare(cmp, ty, sources[0], sources[1]).map(Value::from),
            Self::Cvt(to) if is_integer(ty) && is_integer(to) => {
                arithmetic::convert(to, ty, sources[0]).map(|value| value as Value)
            }
            _ => None,
        }
    }

    /// Whether different values of the first source give different results.
    pub(crate) fn is_injective(self, ty: Type) -> bool {
        match self {
            Self::Alu(op) => matches!(op, AluOp::Mov | AluOp::Neg | AluOp::Not),
            Self::Setp(_) => false,
            Self::Cvt(to) => to.bits() >= ty.bits(),
        }
    }

    /// Whether the computation is a sum or difference of two sources: if one source is fixed, different values of the
    /// other source give different results.
    pub(crate) fn is_sum(self) -> bool {
        matches!(self, Self::Alu(AluOp::Add | AluOp::Sub | AluOp::Xor))
    }

    /// Whether the model has this computation on values of this type.
    pub fn is_known(self, ty: Type) -> bool {
        self.apply(ty, [0; 3]).is_some()
    }
}

/// An instruction of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instruction<L: Language> {
    /// Reads memory.
    Load {
        /// The result.
        d: Register,
        /// The address.
        a: Address,
        /// The type of the values.
        ty: Type,
        /// Its semantics.
        access: L::Semantics,
    },
    /// Writes memory.
    Store {
        /// The address.
        a: Address,
        /// The value, or the operand of the operation.
        b: Operand,
        /// The type of the values.
        ty: Type,
        /// Its semantics.
        access: L::Semantics,
    },
    /// A read-modify-write. If it has no destination, it is a `red` in PTX; in source programs, its result is not used.
    Rmw {
        /// The operation.
        op: RmwOp,
        /// The old value.
        d: Option<Register>,
        /// The address.
        a: Address,
        /// The value, or the operand of the operation.
        b: Operand,
        /// The new value of a `cas`, whose `b` is the expected one.
        c: Operand,
        /// The type of the values.
        ty: Type,
        /// Its semantics.
        access: L::Semantics,
    },
    /// The accesses of one vector instruction, which are unordered (section 8.2.4).
    Vector(Vec<Self>),
    /// An access to every replica of a multimem address.
    Multimem(Multimem<Self>),
    /// Orders memory operations.
    Fence(L::Fence),
    /// Waits for other threads, or arrives without waiting.
    Barrier(Barrier),
    /// Starts an asynchronous operation, waits for one, or operates on an mbarrier. Source programs have no such
    /// instruction.
    Asynchronous(Box<Asynchronous>),
    /// Computes.
    Alu {
        /// The function.
        computation: Computation,
        /// The type of the values.
        ty: Type,
        /// The result.
        d: Register,
        /// The operands, as many as the function has.
        sources: [Operand; 3],
    },
    /// Continues at a label.
    Branch {
        /// The condition, a comparison; `None` for an unconditional branch.
        when: Option<(Cmp, Operand, Operand)>,
        /// The label.
        target: Label,
    },
    /// The target of a branch.
    Label(Label),
    /// Ends the thread.
    Stop(Stop),
}

/// The reason why a thread ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// `trap`: all threads end, wherever they are.
    Trap,
    /// The instructions after this point are not modelled, so their effect is unknown.
    Unmodelled,
}

/// A barrier instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Barrier {
    /// The action of the thread at the barrier.
    pub part: BarrierPart,
    /// The barrier.
    pub of: BarrierName,
}

/// The action of a thread at a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierPart {
    /// `bar.sync`: arrives, then waits.
    Sync,
    /// `bar.red`: like `bar.sync`; in addition, `d` is the reduction of the operands of all participants.
    Red {
        /// The reduction operation.
        op: Reduction,
        /// The result.
        d: Register,
        /// The operand of this thread.
        p: Operand,
    },
    /// `bar.arrive`: arrives, and does not wait.
    Arrive,
    /// Waits until all participants have arrived.
    Wait,
}

/// A barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierName {
    /// A barrier of the CTA. Without a quorum, the participants are the threads that execute the barrier at all, and no
    /// thread blocks.
    Cta {
        /// PTX has only instance 0; litmus tests have further instances.
        instance: u32,
        /// The number of the barrier.
        id: Operand,
        /// The number of participating threads.
        quorum: Option<Operand>,
    },
    /// The barrier of the cluster. A `relaxed` arrival does not order memory accesses.
    Cluster {
        /// Whether arrivals do not order memory accesses.
        relaxed: bool,
    },
}

impl<L: Language> From<Instruction<L>> for Statement<L> {
    fn from(instruction: Instruction<L>) -> Self {
        Self { guard: None, instruction }
    }
}

impl<L: Language> From<Asynchronous> for Instruction<L> {
    fn from(of: Asynchronous) -> Self {
        Self::Asynchronous(Box::new(of))
    }
}

impl<L: Language> Instruction<L> {
    /// All operands that are read, and the bases of addresses.
    pub(crate) fn operands_mut(&mut self) -> Vec<&mut Operand> {
        match self {
            Self::Load { a, .. } => vec![&mut a.base],
            Self::Store { a, b, .. } => vec![&mut a.base, b],
            Self::Rmw { a, b, c, .. } => vec![&mut a.base, b, c],
            Self::Vector(elements) | Self::Multimem(Multimem { elements, .. }) => {
                elements.iter_mut().flat_map(Self::operands_mut).collect()
            }
            Self::Alu { sources, .. } => sources.iter_mut().collect(),
            Self::Branch { when: Some((_, a, b)), .. } => vec![a, b],
            Self::Barrier(Barrier { part, of }) => {
                let p = if let BarrierPart::Red { p, .. } = part { Some(p) } else { None };
                let named = match of {
                    BarrierName::Cta { id, quorum, .. } => vec![Some(id), quorum.as_mut()],
                    BarrierName::Cluster { .. } => Vec::new(),
                };
                named.into_iter().chain([p]).flatten().collect()
            }
            Self::Asynchronous(of) => of.operands_mut(),
            Self::Branch { when: None, .. } | Self::Fence(_) | Self::Label(_) | Self::Stop(_) => Vec::new(),
        }
    }

    /// All registers that are written.
    pub(crate) fn results_mut(&mut self) -> Vec<&mut Register> {
        match self {
            Self::Load { d, .. } | Self::Alu { d, .. } => vec![d],
            Self::Rmw { d, .. } => d.iter_mut().collect(),
            Self::Vector(elements) => elements.iter_mut().flat_map(Self::results_mut).collect(),
            Self::Multimem(Multimem { elements, reduced }) => {
                let reduced = reduced.iter_mut().map(|(_, d)| d);
                elements.iter_mut().flat_map(Self::results_mut).chain(reduced).collect()
            }
            Self::Barrier(Barrier { part: BarrierPart::Red { d, .. }, .. }) => vec![d],
            Self::Asynchronous(of) => of.result_mut().into_iter().collect(),
            Self::Store { .. }
            | Self::Barrier(_)
            | Self::Branch { .. }
            | Self::Fence(_)
            | Self::Label(_)
            | Self::Stop(_) => Vec::new(),
        }
    }

    /// Replaces one variable by another.
    pub(crate) fn replace(&mut self, variable: Location, by: Location) {
        let same = |operand: &&mut Operand| **operand == Operand::Address(variable);
        self.operands_mut().into_iter().filter(same).for_each(|operand| *operand = Operand::Address(by));
    }

    pub(crate) fn mentions(&self, variable: Location) -> bool {
        self.clone().operands_mut().into_iter().any(|operand| *operand == Operand::Address(variable))
    }
}

impl<L: Language> Program<L> {
    /// The variable that represents the physical location (section 8.2.2).
    pub fn physical(&self, location: Location) -> Location {
        let mut location = location;
        // An alias of an alias is followed; a cycle of aliases ends at its start.
        for _ in 0..self.locations.len() {
            let Some((_, next)) = self.locations[usize::from(location.0)].alias else { break };
            location = next;
        }
        location
    }

    /// The physical bytes at an address.
    pub fn physical_span(&self, span: Span) -> Span {
        Span { variable: self.physical(span.variable), ..span }
    }

    /// The variable that represents the virtual address.
    pub fn address(&self, location: Location) -> Location {
        let mut location = location;
        for _ in 0..self.locations.len() {
            let Some((alias, next)) = self.locations[usize::from(location.0)].alias else { break };
            if !L::same_address(alias) {
                break;
            }
            location = next;
        }
        location
    }

    /// The address of a variable's first byte, as a value that registers can hold.
    pub fn address_of(&self, location: Location) -> Value {
        self.locations[usize::from(location.0)].address.unwrap_or_else(|| location.address())
    }

    /// The registers that are part of an outcome, with their threads.
    pub fn observed(&self) -> impl Iterator<Item = (usize, Register)> {
        self.threads.iter().enumerate().flat_map(|(index, thread)| {
            let observed = thread.registers.iter().enumerate().filter(|(_, register)| register.observed);
            observed.map(move |(register, _)| (index, Register(register as u16)))
        })
    }
}
