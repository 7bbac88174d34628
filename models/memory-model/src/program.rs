//! Programs of both models: threads of instructions over registers, with branches and loops.
//!
//! Registers, labels and locations are indices into the lists of their thread or program, and must be inside of them. A
//! translation of PTX gives its scratch registers `observed: false`.
//!
//! A model's own words (the semantics of an access, the kinds of fences and barriers) are those of its [`Language`].

use std::{fmt, fmt::Debug, str::FromStr};

pub use ptx_isa::{AluOp, AtomOp, Cmp, Reduction, Type};
use ptx_isa::{
    arithmetic::{self, Rmw, mask, sign_extend},
    effects::Proxy,
};

pub use crate::operand::{Address, Location, Operand, Register, SPACING, Value};
use crate::{
    asynchronous::{Asynchronous, Memory},
    place::{Place, Scope},
};

/// What memory operations, fences and barriers of a model carry.
pub trait Language: Copy + Debug + Eq + 'static {
    /// What a memory operation carries.
    type Semantics: Copy + Debug + Eq;
    /// What a fence is.
    type Fence: Copy + Debug + Eq;
    /// How an alias reaches the location that it stands for.
    type Alias: Copy + Debug + Eq;

    /// Whether an alias has the virtual address of the variable that it stands for, and differs in its proxy alone.
    fn same_address(alias: Self::Alias) -> bool;

    /// Whether an access is strong, and of a scope that has all threads; `None` if it is not strong.
    fn reaches(access: Self::Semantics, places: &[Place]) -> Option<bool>;

    /// What the memory operations of asynchronous operations carry, of a reduction with its scope; nothing if the model has none.
    fn asynchronous(_: Proxy, _: Option<Scope>) -> Option<Self::Semantics> {
        None
    }

    /// What the read of a compare and exchange carries when it fails.
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
    /// The variables, of which a [`Location`] is an index.
    pub locations: Vec<Variable<L>>,
    /// The threads.
    pub threads: Vec<Thread<L>>,
}

/// A named address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable<L: Language> {
    /// The name in the text.
    pub name: String,
    /// What W0 writes (section 8.2.6); of an alias, that of the variable it stands for.
    pub initial: Value,
    /// The variable at the same physical location, and how it is reached from here.
    pub alias: Option<(L::Alias, Location)>,
    /// Where it begins; `None` if that is [`Location::address`], far from every other one.
    pub address: Option<Value>,
    /// Whether it is memory of one thread alone, or memory that nobody writes: what happens to it is no event.
    pub private: bool,
    /// Where it is.
    pub memory: Memory,
}

impl<L: Language> Variable<L> {
    /// A variable by itself, which all threads share.
    pub fn new(name: impl Into<String>, initial: Value) -> Self {
        Self { name: name.into(), initial, alias: None, address: None, private: false, memory: Memory::Global }
    }
}

/// A sequence of statements, executed by one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread<L: Language> {
    /// Where it runs.
    pub place: Place,
    /// The registers, of which a [`Register`] is an index.
    pub registers: Vec<RegisterDeclaration>,
    /// The names of the labels, of which a [`Label`] is an index.
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

/// An instruction, executed only where the guard holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement<L: Language> {
    /// Where it is executed; everywhere without one.
    pub guard: Option<Guard>,
    /// What is executed.
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

/// The bytes that an operation accesses (section 8.2): of a virtual address, or of the physical location behind it. Two
/// operations overlap completely where their spans are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The variable.
    pub variable: Location,
    /// From the variable's first byte, in bytes.
    pub offset: u8,
    /// The size in bytes.
    pub bytes: u8,
}

impl Span {
    /// A variable has 64 bits.
    pub const BYTES: u8 = 8;

    /// All bytes of a variable.
    pub fn whole(variable: Location) -> Self {
        Self { variable, offset: 0, bytes: Self::BYTES }
    }

    /// Whether some byte is in both (section 8.2.1).
    pub fn overlaps(self, other: Self) -> bool {
        self.variable == other.variable
            && self.offset < other.offset + other.bytes
            && other.offset < self.offset + self.bytes
    }

    /// What the bytes hold where the variable holds a value.
    pub fn of(self, variable: Value) -> Value {
        low(variable >> (8 * self.offset), u32::from(self.bytes) * 8)
    }

    /// The variable's value where the bytes hold this one, and the others 0.
    pub fn within(self, value: Value) -> Value {
        value << (8 * self.offset)
    }
}

/// The low bits of a value.
fn low(value: Value, bits: u32) -> Value {
    value & mask(bits) as Value
}

/// The size of a value in memory, in bytes. Of 128 bits, the model has the low 64.
pub fn bytes(ty: Type) -> u8 {
    ty.bits().div_ceil(8).min(Span::BYTES.into()) as u8
}

/// The low bits of a value, as many as the type has.
pub fn truncate(ty: Type, value: Value) -> Value {
    low(value, ty.bits())
}

/// Whether a constant, written as a number or as a negative one, is a value of this type's width.
pub fn fits(ty: Type, value: Value) -> bool {
    truncate(ty, value) == value || sign_extend(value, ty.bits()) as Value == value
}

/// Whether the model computes with values of the type.
fn is_integer(ty: Type) -> bool {
    !ty.is_float() && ty.element().is_none()
}

/// What a read-modify-write writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RmwOp {
    /// An operation of `atom` and `red`.
    Atom(AtomOp),
    /// A subtraction, which C++ has, and Dat3M's suite in PTX.
    Sub,
}

impl RmwOp {
    /// A subtraction as litmus tests and source programs call it.
    const SUB: &str = "sub";

    /// What is written over `old`; nothing if the model has no such operation. A `cas` that fails writes `old` back, where
    /// anything is written at all.
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

    /// The arithmetic that gives the same value of `old` and the operand.
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

/// What an instruction computes of its sources. The model computes with integers: what PTX does to floating-point numbers
/// leaves room, and what it does with the carry flag depends on more than the sources.
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
    /// A copy of as many bits as the type has.
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

    /// How many bits a result has at most.
    pub(crate) fn bits(self, ty: Type) -> u32 {
        match self {
            Self::Alu(op) => op.result_type(ty).bits(),
            Self::Setp(_) => Type::Pred.bits(),
            Self::Cvt(to) => to.bits(),
        }
    }

    /// The result for as many of the sources as there are; nothing if the model has no such instruction.
    pub fn apply(self, ty: Type, [a, b, c]: [Value; 3]) -> Option<Value> {
        // As for a guard, a predicate holds unless it is zero.
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

    /// Whether other values of the first source give other results.
    pub(crate) fn is_injective(self, ty: Type) -> bool {
        match self {
            Self::Alu(op) => matches!(op, AluOp::Mov | AluOp::Neg | AluOp::Not),
            Self::Setp(_) => false,
            Self::Cvt(to) => to.bits() >= ty.bits(),
        }
    }

    /// Whether it is a sum or difference of two sources: where one is known, other values of the other give other results.
    pub(crate) fn is_sum(self) -> bool {
        matches!(self, Self::Alu(AluOp::Add | AluOp::Sub | AluOp::Xor))
    }

    /// Whether the model has this function of values of this type.
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
        /// Where.
        a: Address,
        /// The type of the values.
        ty: Type,
        /// Its semantics.
        access: L::Semantics,
    },
    /// Writes memory.
    Store {
        /// Where.
        a: Address,
        /// The value, or the operand of the operation.
        b: Operand,
        /// The type of the values.
        ty: Type,
        /// Its semantics.
        access: L::Semantics,
    },
    /// A read-modify-write. Without a destination it is a `red` in PTX, and one whose result is not read elsewhere.
    Rmw {
        /// What is written.
        op: RmwOp,
        /// The old value.
        d: Option<Register>,
        /// Where.
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
    /// Orders memory operations.
    Fence(L::Fence),
    /// Waits for other threads, or tells them to go on.
    Barrier(Barrier),
    /// Starts what completes later, waits for it, or is done to an mbarrier. Source programs have none.
    Asynchronous(Box<Asynchronous>),
    /// Computes.
    Alu {
        /// What is computed.
        computation: Computation,
        /// The type of the values.
        ty: Type,
        /// The result.
        d: Register,
        /// As many of them as the function has.
        sources: [Operand; 3],
    },
    /// Goes on elsewhere.
    Branch {
        /// Taken where the comparison holds, or always.
        when: Option<(Cmp, Operand, Operand)>,
        /// Where.
        target: Label,
    },
    /// A place to go on.
    Label(Label),
    /// The thread does not go on.
    Stop(Stop),
}

/// Why a thread does not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// `trap`: all threads end, wherever they are.
    Trap,
    /// What follows is not modelled: whatever comes of it is unknown.
    Unmodelled,
}

/// A barrier instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Barrier {
    /// What is done at the barrier.
    pub part: BarrierPart,
    /// Which barrier.
    pub of: BarrierName,
}

/// What a thread does at a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierPart {
    /// `bar.sync`: arrives, then waits.
    Sync,
    /// `bar.red`: as `bar.sync`, and `d` is the reduction of what all bring along.
    Red {
        /// How it is reduced.
        op: Reduction,
        /// The result.
        d: Register,
        /// What the thread brings along.
        p: Operand,
    },
    /// `bar.arrive`: the others need not wait for it any more.
    Arrive,
    /// Waits for the others.
    Wait,
}

/// A barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierName {
    /// A barrier of the CTA. Without a quorum, those take part who execute it at all, and none of them blocks.
    Cta {
        /// PTX has instance 0; others are those of litmus tests.
        instance: u32,
        /// The number of the barrier.
        id: Operand,
        /// How many threads take part.
        quorum: Option<Operand>,
    },
    /// The barrier of the cluster. `relaxed` arrivals order no memory accesses.
    Cluster {
        /// Whether arrivals order no memory accesses.
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
            Self::Vector(elements) => elements.iter_mut().flat_map(Self::operands_mut).collect(),
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

    /// Puts one variable in the place of another.
    pub(crate) fn replace(&mut self, variable: Location, by: Location) {
        let same = |operand: &&mut Operand| **operand == Operand::Address(variable);
        self.operands_mut().into_iter().filter(same).for_each(|operand| *operand = Operand::Address(by));
    }

    pub(crate) fn mentions(&self, variable: Location) -> bool {
        self.clone().operands_mut().into_iter().any(|operand| *operand == Operand::Address(variable))
    }
}

impl<L: Language> Program<L> {
    /// The variable that stands for the physical location (section 8.2.2).
    pub fn physical(&self, location: Location) -> Location {
        let mut location = location;
        // An alias of an alias leads on; a cycle of aliases ends at its start.
        for _ in 0..self.locations.len() {
            let Some((_, next)) = self.locations[usize::from(location.0)].alias else { break };
            location = next;
        }
        location
    }

    /// The physical bytes behind an address.
    pub fn physical_span(&self, span: Span) -> Span {
        Span { variable: self.physical(span.variable), ..span }
    }

    /// The variable that stands for the virtual address.
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

    /// Where a variable begins, as a value that registers can hold.
    pub fn address_of(&self, location: Location) -> Value {
        self.locations[usize::from(location.0)].address.unwrap_or_else(|| location.address())
    }

    /// The registers that an outcome has, with their threads.
    pub fn observed(&self) -> impl Iterator<Item = (usize, Register)> {
        self.threads.iter().enumerate().flat_map(|(index, thread)| {
            let observed = thread.registers.iter().enumerate().filter(|(_, register)| register.observed);
            observed.map(move |(register, _)| (index, Register(register as u16)))
        })
    }
}
