//! Programs of both models: threads of instructions over registers, with branches and loops.
//!
//! Registers, labels and locations are indices into the lists of their thread or program, and must be inside of them. A
//! translation of PTX gives its scratch registers `observed: false`.
//!
//! A model's own words (the semantics of an access, the kinds of fences and barriers) are those of its [`Language`].

use std::fmt::Debug;

use strum::{Display, EnumIter, EnumString, IntoStaticStr};

use crate::place::Place;

/// What registers and locations hold: the bits, zero-extended.
pub type Value = u64;

/// What memory operations, fences and barriers of a model carry.
pub trait Language: Copy + Debug + Eq + 'static {
    type Access: Copy + Debug + Eq;
    type Fence: Copy + Debug + Eq;
    /// How an alias reaches the location that it stands for.
    type Alias: Copy + Debug + Eq;

    /// Whether an alias has the virtual address of the variable that it stands for, and differs in its proxy alone.
    fn same_address(alias: Self::Alias) -> bool;

    /// What the read of a compare and exchange carries when it fails.
    fn failed(access: Self::Access) -> Self::Access {
        access
    }
}

/// An index into [`Thread::registers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Register(pub u16);

/// An index into [`Program::locations`]: a virtual address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location(pub u16);

/// An index into [`Thread::labels`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(pub u16);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program<L: Language> {
    pub locations: Vec<Variable<L>>,
    pub threads: Vec<Thread<L>>,
}

/// A named address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable<L: Language> {
    pub name: String,
    /// What W0 writes (section 8.2.6); of an alias, that of the variable it stands for.
    pub initial: Value,
    /// The variable at the same physical location, and how it is reached from here.
    pub alias: Option<(L::Alias, Location)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread<L: Language> {
    pub place: Place,
    pub registers: Vec<RegisterDeclaration>,
    pub labels: Vec<String>,
    pub code: Vec<Statement<L>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterDeclaration {
    pub name: String,
    pub initial: Value,
    /// Whether its last value is part of the outcome.
    pub observed: bool,
}

/// An instruction, executed only where the guard holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement<L: Language> {
    pub guard: Option<Guard>,
    pub instruction: Instruction<L>,
}

/// `@p`, or `@!p` if negated. A predicate is a register; it holds unless it is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    pub p: Register,
    pub negated: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    Register(Register),
    Immediate(Value),
    Address(Location),
}

/// The bytes that an operation accesses (section 8.2): of a virtual address, or of the physical location behind it. Two
/// operations overlap completely where their spans are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    pub variable: Location,
    /// From the variable's first byte, in bytes.
    pub offset: u8,
    /// The size in bytes.
    pub bytes: u8,
}

impl Span {
    /// A variable has 64 bits.
    pub const BYTES: u8 = 8;

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
        Type { bits: self.bytes * 8, signed: false }.truncate(variable >> (8 * self.offset))
    }

    /// The variable's value where the bytes hold this one, and the others 0.
    pub fn within(self, value: Value) -> Value {
        value << (8 * self.offset)
    }
}

/// `[base+offset]`. Variables are [`SPACING`] apart, so an offset that leads from one into another means an access
/// that the model does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    pub base: Operand,
    pub offset: i64,
}

/// The distance in bytes between the addresses of two variables.
pub const SPACING: u64 = 1 << 32;

impl Location {
    /// The address as a value, which registers can hold.
    pub fn address(self) -> Value {
        (u64::from(self.0) + 1) * SPACING
    }
}

/// The type of values: how many bits an instruction looks at, and whether the highest one is a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Type {
    /// At most 64; a value of more bits must fit into 64.
    pub bits: u8,
    pub signed: bool,
}

impl Type {
    pub const U64: Self = Self { bits: 64, signed: false };
    pub const U32: Self = Self { bits: 32, signed: false };

    /// The size of a value in memory, in bytes.
    pub fn bytes(self) -> u8 {
        self.bits.div_ceil(8).clamp(1, Span::BYTES)
    }

    /// Whether a constant, written as a number or as a negative one, is a value of this many bits.
    pub fn fits(self, value: Value) -> bool {
        let signed = Self { signed: true, ..self }.signed_value(value) as Value;
        self.truncate(value) == value || signed == value
    }

    pub fn truncate(self, value: Value) -> Value {
        if self.bits >= 64 { value } else { value & ((1 << self.bits) - 1) }
    }

    fn signed_value(self, value: Value) -> i64 {
        let unused = 64 - u32::from(self.bits.clamp(1, 64));
        ((value << unused) as i64) >> unused
    }

    fn less(self, a: Value, b: Value) -> bool {
        if self.signed { self.signed_value(a) < self.signed_value(b) } else { self.truncate(a) < self.truncate(b) }
    }
}

/// Operations of `atom` and `red`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum RmwOp {
    Exch,
    Cas,
    Add,
    Sub,
    Inc,
    Dec,
    Min,
    Max,
    And,
    Or,
    Xor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Cmp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// Arithmetic on registers. `Set` gives 1 or 0; `Selp` takes the first source where the third is not zero; `Sext`
/// extends the sign of its type to 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AluOp {
    Mov,
    Neg,
    Not,
    Sext,
    Add,
    Sub,
    And,
    Or,
    Xor,
    Min,
    Max,
    Mul,
    Shl,
    Shr,
    Set(Cmp),
    Selp,
    /// `mad.lo`.
    Mad,
    /// Bytes of the first two sources, picked by the nibbles of the third.
    Prmt,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instruction<L: Language> {
    Load {
        d: Register,
        a: Address,
        ty: Type,
        access: L::Access,
    },
    Store {
        a: Address,
        b: Operand,
        ty: Type,
        access: L::Access,
    },
    /// A read-modify-write. Without a destination it is a `red` in PTX, and one whose result is not read elsewhere.
    Rmw {
        op: RmwOp,
        d: Option<Register>,
        a: Address,
        b: Operand,
        /// The new value of a `cas`, whose `b` is the expected one.
        c: Operand,
        ty: Type,
        access: L::Access,
    },
    /// The accesses of one vector instruction, which are unordered (section 8.2.4).
    Vector(Vec<Self>),
    Fence(L::Fence),
    Barrier(Barrier),
    Alu {
        op: AluOp,
        ty: Type,
        d: Register,
        /// As many of them as the operation has.
        sources: [Operand; 3],
    },
    Branch {
        /// Taken where the comparison holds, or always.
        when: Option<(Cmp, Operand, Operand)>,
        target: Label,
    },
    Label(Label),
}

/// A barrier instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Barrier {
    pub part: BarrierPart,
    pub of: BarrierName,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierPart {
    /// `bar.sync`: arrives, then waits.
    Sync,
    /// `bar.red`: as `bar.sync`, and `d` is the reduction of what all bring along.
    Red {
        op: Reduction,
        d: Register,
        p: Operand,
    },
    Arrive,
    Wait,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Reduction {
    And,
    Or,
    Popc,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierName {
    /// A barrier of the CTA. Without a quorum, those take part who execute it at all, and none of them blocks.
    Cta { instance: u32, id: Operand, quorum: Option<Operand> },
    /// The barrier of the cluster. `relaxed` arrivals order no memory accesses.
    Cluster { relaxed: bool },
}

impl<L: Language> From<Instruction<L>> for Statement<L> {
    fn from(instruction: Instruction<L>) -> Self {
        Self { guard: None, instruction }
    }
}

impl<L: Language> Instruction<L> {
    /// All operands that are read, and the bases of addresses.
    fn operands_mut(&mut self) -> Vec<&mut Operand> {
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
            Self::Branch { when: None, .. } | Self::Fence(_) | Self::Label(_) => Vec::new(),
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

    /// The registers that an outcome has, with their threads.
    pub fn observed(&self) -> impl Iterator<Item = (usize, Register)> {
        self.threads.iter().enumerate().flat_map(|(index, thread)| {
            let observed = thread.registers.iter().enumerate().filter(|(_, register)| register.observed);
            observed.map(move |(register, _)| (index, Register(register as u16)))
        })
    }
}

impl Cmp {
    pub fn holds(self, ty: Type, a: Value, b: Value) -> bool {
        let equal = ty.truncate(a) == ty.truncate(b);
        match self {
            Self::Eq => equal,
            Self::Ne => !equal,
            Self::Lt => ty.less(a, b),
            Self::Le => equal || ty.less(a, b),
            Self::Gt => ty.less(b, a),
            Self::Ge => equal || ty.less(b, a),
        }
    }
}

impl RmwOp {
    /// What is written over `old`. A `cas` that fails writes `old` back, where anything is written at all.
    pub fn apply(self, ty: Type, old: Value, b: Value, c: Value) -> Value {
        let [old, b] = [old, b].map(|value| ty.truncate(value));
        let value = match self {
            Self::Exch => b,
            Self::Cas if old == b => c,
            Self::Cas => old,
            Self::Add => old.wrapping_add(b),
            Self::Sub => old.wrapping_sub(b),
            Self::Inc if old >= b => 0,
            Self::Inc => old + 1,
            Self::Dec if old == 0 || old > b => b,
            Self::Dec => old - 1,
            Self::Min => {
                if ty.less(b, old) {
                    b
                } else {
                    old
                }
            }
            Self::Max => {
                if ty.less(old, b) {
                    b
                } else {
                    old
                }
            }
            Self::And => old & b,
            Self::Or => old | b,
            Self::Xor => old ^ b,
        };
        ty.truncate(value)
    }

    /// The arithmetic that gives the same value of `old` and the operand.
    pub fn arithmetic(self) -> Option<AluOp> {
        Some(match self {
            Self::Add => AluOp::Add,
            Self::Sub => AluOp::Sub,
            Self::Min => AluOp::Min,
            Self::Max => AluOp::Max,
            Self::And => AluOp::And,
            Self::Or => AluOp::Or,
            Self::Xor => AluOp::Xor,
            Self::Exch | Self::Cas | Self::Inc | Self::Dec => return None,
        })
    }
}

impl AluOp {
    /// The number of source operands.
    pub fn arity(self) -> usize {
        match self {
            Self::Mov | Self::Neg | Self::Not | Self::Sext => 1,
            Self::Selp | Self::Mad | Self::Prmt => 3,
            _ => 2,
        }
    }

    pub fn apply(self, ty: Type, [a, b, c]: [Value; 3]) -> Value {
        let bits = u64::from(ty.bits);
        let value = match self {
            Self::Mov => a,
            Self::Neg => a.wrapping_neg(),
            Self::Not => !a,
            Self::Sext => return ty.signed_value(a) as Value,
            Self::Add => a.wrapping_add(b),
            Self::Sub => a.wrapping_sub(b),
            Self::And => a & b,
            Self::Or => a | b,
            Self::Xor => a ^ b,
            Self::Min => {
                if ty.less(b, a) {
                    b
                } else {
                    a
                }
            }
            Self::Max => {
                if ty.less(a, b) {
                    b
                } else {
                    a
                }
            }
            Self::Mul => a.wrapping_mul(b),
            // PTX clamps shift amounts, which have 32 bits.
            Self::Shl => {
                let b = Type::U32.truncate(b);
                if b >= bits { 0 } else { a << b }
            }
            Self::Shr if ty.signed => {
                (ty.signed_value(a) >> Type::U32.truncate(b).min(bits.saturating_sub(1)).min(63)) as Value
            }
            Self::Shr => {
                let b = Type::U32.truncate(b);
                if b >= bits { 0 } else { ty.truncate(a) >> b }
            }
            Self::Set(cmp) => return cmp.holds(ty, a, b).into(),
            Self::Selp => {
                if c != 0 {
                    a
                } else {
                    b
                }
            }
            Self::Mad => a.wrapping_mul(b).wrapping_add(c),
            Self::Prmt => {
                let bytes = (a & u64::from(u32::MAX)) | b << 32;
                let byte = |index: u64| {
                    let nibble = c >> (4 * index) & 0xf;
                    let byte = bytes >> (8 * (nibble & 7)) & 0xff;
                    let sign = if byte & 0x80 == 0 { 0 } else { 0xff };
                    (if nibble & 8 == 0 { byte } else { sign }) << (8 * index)
                };
                (0..4).map(byte).sum()
            }
        };
        ty.truncate(value)
    }
}
