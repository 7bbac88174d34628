//! The instructions that are modelled, with their operands.

use std::borrow::Cow;

use crate::{
    arithmetic::sign_extend,
    word::{
        AluOp, AtomOp, AtomSem, CacheOperator, Cmp, FenceSem, LdSem, MembarLevel, RedSem, Scope, Space, StSem, Type,
        VectorSize,
    },
};

/// A register, or a label, by its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(pub Cow<'static, str>);

impl Name {
    pub const fn new(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }
}

/// A source or destination operand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    Register(Name),
    /// The bits of a constant, zero-extended; the instruction's type says how they print. PTX has none of 128 bits.
    Immediate(u64),
    /// `_`: the result is discarded.
    Sink,
    Vector(Vec<Operand>),
}

/// What an access asks of the caches.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Cache {
    Operator(CacheOperator),
    /// `.L2::cache_hint`, with the 64-bit cache policy that stands as last operand.
    Hint(Operand),
}

/// `[base+offset]`, with the offset in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    pub base: Name,
    pub offset: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fence {
    /// `None` means acq_rel.
    pub sem: Option<FenceSem>,
    pub scope: Scope,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ld {
    pub sem: LdSem,
    /// Present exactly for the semantics that need one; `mmio` takes only `sys`.
    pub scope: Option<Scope>,
    pub space: Space,
    pub cache: Option<Cache>,
    pub vec: Option<VectorSize>,
    pub ty: Type,
    pub d: Operand,
    pub a: Address,
    /// `.unified`, behind the address.
    pub unified: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct St {
    pub sem: StSem,
    /// Present exactly for the semantics that need one; `mmio` takes only `sys`.
    pub scope: Option<Scope>,
    pub space: Space,
    pub cache: Option<Cache>,
    pub vec: Option<VectorSize>,
    pub ty: Type,
    pub a: Address,
    pub b: Operand,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Atom {
    pub sem: Option<AtomSem>,
    /// `None` means gpu.
    pub scope: Option<Scope>,
    pub space: Space,
    pub cache: Option<Cache>,
    pub op: AtomOp,
    pub noftz: bool,
    pub vec: Option<VectorSize>,
    pub ty: Type,
    pub d: Operand,
    pub a: Address,
    pub b: Operand,
    /// The new value of a `cas`, whose `b` is the expected one.
    pub c: Option<Operand>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Red {
    pub sem: Option<RedSem>,
    /// `None` means gpu.
    pub scope: Option<Scope>,
    pub space: Space,
    pub cache: Option<Cache>,
    pub op: AtomOp,
    pub noftz: bool,
    pub vec: Option<VectorSize>,
    pub ty: Type,
    pub a: Address,
    pub b: Operand,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Instruction {
    Fence(Fence),
    Membar(MembarLevel),
    Ld(Ld),
    St(St),
    Atom(Atom),
    Red(Red),
    /// `mov` also packs a vector of registers into one, and unpacks one.
    Alu {
        op: AluOp,
        ty: Type,
        d: Operand,
        sources: Vec<Operand>,
    },
    /// `cvt.to.from`, rounded to nearest even with `rn`.
    Cvt {
        rn: bool,
        to: Type,
        from: Type,
        d: Name,
        a: Operand,
    },
    Setp {
        cmp: Cmp,
        ty: Type,
        p: Name,
        a: Operand,
        b: Operand,
    },
    /// Whether a generic address lies in the window of a state space.
    Isspacep {
        space: Space,
        p: Name,
        a: Operand,
    },
    Bra {
        target: Name,
    },
}

/// An instruction with its guard, a declaration, or a label.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Statement {
    Instruction {
        /// `@p`, or `@!p` if negated.
        guard: Option<Guard>,
        instruction: Instruction,
    },
    /// `.reg .b32 %x, %y;`
    Reg {
        ty: Type,
        names: Vec<Name>,
    },
    Label(Name),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Guard {
    pub p: Name,
    pub negated: bool,
}

impl From<Instruction> for Statement {
    fn from(instruction: Instruction) -> Self {
        Self::Instruction { guard: None, instruction }
    }
}

impl Statement {
    /// The same instruction, executed only where `p` holds.
    pub fn guarded(self, p: Name) -> Self {
        self.with_guard(Guard { p, negated: false })
    }

    /// The same instruction, executed only where `p` does not hold.
    pub fn unless(self, p: Name) -> Self {
        self.with_guard(Guard { p, negated: true })
    }

    fn with_guard(self, guard: Guard) -> Self {
        match self {
            Self::Instruction { instruction, .. } => Self::Instruction { guard: Some(guard), instruction },
            other => other,
        }
    }

    pub fn instruction(&self) -> Option<&Instruction> {
        match self {
            Self::Instruction { instruction, .. } => Some(instruction),
            _ => None,
        }
    }
}

impl Instruction {
    /// The result, and its untyped type, of a negation or an integer conversion of a constant.
    pub fn folded(&self, bits: u64) -> Option<(Type, u64)> {
        let constant = Operand::Immediate(bits);
        let (ty, value) = match self {
            Self::Alu { op: AluOp::Neg, ty, sources, .. } if *sources == [constant.clone()] => match ty {
                Type::F32 | Type::F64 => (*ty, bits ^ (1 << (ty.bits() - 1))),
                _ => (*ty, bits.wrapping_neg()),
            },
            Self::Cvt { rn: false, to, from: from @ (Type::S8 | Type::S16), a, .. } if *a == constant => {
                (*to, sign_extend(bits, from.bits()) as u64)
            }
            Self::Cvt { rn: false, to, from: Type::U8 | Type::U16, a, .. } if *a == constant => (*to, bits),
            _ => return None,
        };
        let untyped = if ty.bits() == 64 { Type::B64 } else { Type::B32 };
        Some((untyped, value & (u64::MAX >> (64 - ty.bits()))))
    }

    /// The address, if the instruction accesses memory.
    pub fn address(&self) -> Option<&Address> {
        match self {
            Self::Ld(ld) => Some(&ld.a),
            Self::St(st) => Some(&st.a),
            Self::Atom(atom) => Some(&atom.a),
            Self::Red(red) => Some(&red.a),
            _ => None,
        }
    }

    /// The registers that the instruction writes.
    pub fn destinations(&self) -> impl Iterator<Item = &Name> {
        let (operand, name) = match self {
            Self::Ld(Ld { d, .. }) | Self::Atom(Atom { d, .. }) | Self::Alu { d, .. } => (Some(d), None),
            Self::Cvt { d, .. } => (None, Some(d)),
            Self::Setp { p, .. } | Self::Isspacep { p, .. } => (None, Some(p)),
            _ => (None, None),
        };
        operand.into_iter().flat_map(Operand::registers).chain(name)
    }

    pub fn sources(&self) -> impl Iterator<Item = &Operand> {
        let (slice, pair): (&[Operand], [Option<&Operand>; 2]) = match self {
            Self::St(St { b, .. }) | Self::Red(Red { b, .. }) => (&[], [Some(b), None]),
            Self::Atom(atom) => (&[], [Some(&atom.b), atom.c.as_ref()]),
            Self::Alu { sources, .. } => (sources, [None, None]),
            Self::Setp { a, b, .. } => (&[], [Some(a), Some(b)]),
            Self::Cvt { a, .. } | Self::Isspacep { a, .. } => (&[], [Some(a), None]),
            _ => (&[], [None, None]),
        };
        slice.iter().chain(pair.into_iter().flatten())
    }

    pub fn sources_mut(&mut self) -> impl Iterator<Item = &mut Operand> {
        let (slice, pair): (&mut [Operand], [Option<&mut Operand>; 2]) = match self {
            Self::St(St { b, .. }) | Self::Red(Red { b, .. }) => (&mut [], [Some(b), None]),
            Self::Atom(atom) => (&mut [], [Some(&mut atom.b), atom.c.as_mut()]),
            Self::Alu { sources, .. } => (sources, [None, None]),
            Self::Setp { a, b, .. } => (&mut [], [Some(a), Some(b)]),
            Self::Cvt { a, .. } | Self::Isspacep { a, .. } => (&mut [], [Some(a), None]),
            _ => (&mut [], [None, None]),
        };
        slice.iter_mut().chain(pair.into_iter().flatten())
    }

    /// Whether the instruction reads this register, as a value or as an address.
    pub fn reads(&self, name: &Name) -> bool {
        let address = self.address().is_some_and(|address| address.base == *name);
        address || self.sources().flat_map(Operand::registers).any(|register| register == name)
    }
}

impl Operand {
    pub fn register(&self) -> Option<&Name> {
        match self {
            Self::Register(name) => Some(name),
            _ => None,
        }
    }

    /// The registers in the operand: those of a vector, or the one.
    pub fn registers(&self) -> impl Iterator<Item = &Name> {
        let elements = match self {
            Self::Vector(elements) => &elements[..],
            one => std::slice::from_ref(one),
        };
        elements.iter().filter_map(Self::register)
    }
}
