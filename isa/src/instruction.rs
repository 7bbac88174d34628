//! The modelled instructions, with their operands.

use std::borrow::Cow;

use crate::{
    arithmetic::sign_extend,
    word::{
        AluOp, AtomOp, AtomSem, CacheOperator, Cmp, FenceSem, LdSem, MembarLevel, RedSem, Scope, Space, StSem, Type,
        VectorSize,
    },
};

/// The name of a register or a label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(pub Cow<'static, str>);

impl Name {
    /// A name that is a constant of the Rust program.
    pub const fn new(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }
}

/// A source or destination operand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// A register or a symbol.
    Register(Name),
    /// The bits of a constant, zero-extended. The instruction's type determines how they print. PTX has no constants of
    /// 128 bits.
    Immediate(u64),
    /// `_`: the result is discarded.
    Sink,
    /// `{…}`, in a vector access or in a `mov` that packs.
    Vector(Vec<Operand>),
}

/// The cache modifier of an access.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Cache {
    /// A cache operator or an eviction priority.
    Operator(CacheOperator),
    /// `.L2::cache_hint`, with the 64-bit cache policy from the last operand.
    Hint(Operand),
}

/// `[base+offset]`, with the offset in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// A register or a symbol.
    pub base: Name,
    /// The offset in bytes.
    pub offset: i64,
}

/// `fence` (section 9.7.13), without proxies.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fence {
    /// `None` means acq_rel.
    pub sem: Option<FenceSem>,
    /// The scope, always written.
    pub scope: Scope,
}

/// `ld` (section 9.7.9), except loads of parameters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ld {
    /// The semantics.
    pub sem: LdSem,
    /// Present exactly for the semantics that need one; `mmio` takes only `sys`.
    pub scope: Option<Scope>,
    /// The state space of the address.
    pub space: Space,
    /// The cache modifier.
    pub cache: Option<Cache>,
    /// The number of elements, if it is a vector access.
    pub vec: Option<VectorSize>,
    /// The type of the value, or of one element.
    pub ty: Type,
    /// The destination.
    pub d: Operand,
    /// The address.
    pub a: Address,
    /// Whether `.unified` follows the address.
    pub unified: bool,
}

/// `st` (section 9.7.9), except stores of parameters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct St {
    /// The semantics.
    pub sem: StSem,
    /// Present exactly for the semantics that need one; `mmio` takes only `sys`.
    pub scope: Option<Scope>,
    /// The state space of the address.
    pub space: Space,
    /// The cache modifier.
    pub cache: Option<Cache>,
    /// The number of elements, if it is a vector access.
    pub vec: Option<VectorSize>,
    /// The type of the value, or of one element.
    pub ty: Type,
    /// The address.
    pub a: Address,
    /// The stored value.
    pub b: Operand,
}

/// `atom` (section 9.7.13).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Atom {
    /// `None` means relaxed.
    pub sem: Option<AtomSem>,
    /// `None` means gpu.
    pub scope: Option<Scope>,
    /// The state space of the address.
    pub space: Space,
    /// The cache modifier.
    pub cache: Option<Cache>,
    /// The operation.
    pub op: AtomOp,
    /// `.noftz`: subnormal values are kept.
    pub noftz: bool,
    /// The number of elements, if it is a vector access.
    pub vec: Option<VectorSize>,
    /// The type of the value, or of one element.
    pub ty: Type,
    /// The destination.
    pub d: Operand,
    /// The address.
    pub a: Address,
    /// The operand that the operation combines with the old value; for `cas`, the expected value.
    pub b: Operand,
    /// The new value of a `cas`.
    pub c: Option<Operand>,
}

/// `red` (section 9.7.13).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Red {
    /// `None` means relaxed.
    pub sem: Option<RedSem>,
    /// `None` means gpu.
    pub scope: Option<Scope>,
    /// The state space of the address.
    pub space: Space,
    /// The cache modifier.
    pub cache: Option<Cache>,
    /// The operation.
    pub op: AtomOp,
    /// `.noftz`: subnormal values are kept.
    pub noftz: bool,
    /// The number of elements, if it is a vector access.
    pub vec: Option<VectorSize>,
    /// The type of the value, or of one element.
    pub ty: Type,
    /// The address.
    pub a: Address,
    /// The operand that the operation combines with the old value.
    pub b: Operand,
}

/// An instruction. Operands are named as in the manual: `d` is the destination, `a`, `b` and `c` are the sources, `p`
/// is a predicate.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Instruction {
    /// `fence`
    Fence(Fence),
    /// `membar`
    Membar(MembarLevel),
    /// `ld`
    Ld(Ld),
    /// `st`
    St(St),
    /// `atom`
    Atom(Atom),
    /// `red`
    Red(Red),
    /// Arithmetic and moves. A `mov` can also pack a vector of registers into one register, and unpack it.
    Alu {
        /// The operation, with its rounding.
        op: AluOp,
        /// The type of the operands.
        ty: Type,
        /// The destination; a vector for a `mov` that unpacks.
        d: Operand,
        /// The sources. Their number is the operation's arity.
        sources: Vec<Operand>,
    },
    /// `cvt.to.from`, rounded to nearest even with `rn`.
    Cvt {
        /// `.rn`
        rn: bool,
        /// The type of the destination.
        to: Type,
        /// The type of the source.
        from: Type,
        /// The destination.
        d: Name,
        /// The first source.
        a: Operand,
    },
    /// `setp` with one result.
    Setp {
        /// The comparison.
        cmp: Cmp,
        /// The type of the operands.
        ty: Type,
        /// The predicate that receives the result.
        p: Name,
        /// The first source.
        a: Operand,
        /// The second source.
        b: Operand,
    },
    /// A test whether a generic address is in the window of a state space.
    Isspacep {
        /// The state space, which is not the generic one.
        space: Space,
        /// The predicate that receives the result.
        p: Name,
        /// The first source.
        a: Operand,
    },
    /// `bra`. Without a guard, the branch is always taken.
    Bra {
        /// A label.
        target: Name,
    },
}

/// An instruction with its guard, a declaration, or a label.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Statement {
    /// An instruction with its guard.
    Instruction {
        /// `@p`, or `@!p` if negated.
        guard: Option<Guard>,
        /// The instruction without its guard.
        instruction: Instruction,
    },
    /// `.reg .b32 %x, %y;`
    Reg {
        /// The type of all declared registers.
        ty: Type,
        /// The declared registers; at least one.
        names: Vec<Name>,
    },
    /// `%again:`
    Label(Name),
}

/// The guard of an instruction: `@p`, or `@!p` if negated.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Guard {
    /// The predicate.
    pub p: Name,
    /// Whether the instruction executes if the predicate is false.
    pub negated: bool,
}

impl From<Instruction> for Statement {
    fn from(instruction: Instruction) -> Self {
        Self::Instruction { guard: None, instruction }
    }
}

impl Statement {
    /// The same instruction, executed only if `p` is true.
    pub fn guarded(self, p: Name) -> Self {
        self.with_guard(Guard { p, negated: false })
    }

    /// The same instruction, executed only if `p` is false.
    pub fn unless(self, p: Name) -> Self {
        self.with_guard(Guard { p, negated: true })
    }

    fn with_guard(self, guard: Guard) -> Self {
        match self {
            Self::Instruction { instruction, .. } => Self::Instruction { guard: Some(guard), instruction },
            other => other,
        }
    }

    /// The instruction, if the statement is one.
    pub fn instruction(&self) -> Option<&Instruction> {
        match self {
            Self::Instruction { instruction, .. } => Some(instruction),
            _ => None,
        }
    }
}

impl Instruction {
    /// The result of a copy, a negation or an integer conversion of a constant, with its untyped type.
    pub fn folded(&self, bits: u64) -> Option<(Type, u64)> {
        let constant = Operand::Immediate(bits);
        let (ty, value) = match self {
            Self::Alu { op: AluOp::Mov, ty, sources, .. } if *sources == [constant.clone()] && ty.bits() >= 32 => {
                (*ty, bits)
            }
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

    /// The scope that the instruction names.
    pub fn scope(&self) -> Option<Scope> {
        match self {
            Self::Fence(fence) => Some(fence.scope),
            Self::Membar(level) => Some(level.scope()),
            Self::Ld(ld) => ld.scope,
            Self::St(st) => st.scope,
            Self::Atom(atom) => atom.scope,
            Self::Red(red) => red.scope,
            _ => None,
        }
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

    /// The values that the instruction reads, without its address.
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

    /// Mutable access to the [`sources`](Self::sources).
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
    /// The register, if the operand is a register.
    pub fn register(&self) -> Option<&Name> {
        match self {
            Self::Register(name) => Some(name),
            _ => None,
        }
    }

    /// The registers in the operand: the elements of a vector, or a single register.
    pub fn registers(&self) -> impl Iterator<Item = &Name> {
        let elements = match self {
            Self::Vector(elements) => &elements[..],
            one => std::slice::from_ref(one),
        };
        elements.iter().filter_map(Self::register)
    }
}
