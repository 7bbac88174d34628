//! The instructions. Spellings of modifiers stand here, as the names of enum variants.

use std::borrow::Cow;

use crate::arithmetic::sign_extend;

use strum::{Display, EnumIter, EnumString, IntoStaticStr};

/// Derives what every kind of modifier has: its spelling in PTX (without the leading dot), both ways.
macro_rules! modifiers {
    ($($(#[$meta:meta])* pub enum $name:ident { $($(#[$variant_meta:meta])* $variant:ident),* $(,)? })*) => { $(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, EnumString, IntoStaticStr)]
        #[strum(serialize_all = "snake_case")]
        pub enum $name { $($(#[$variant_meta])* $variant),* }
    )* };
}

modifiers! {
    /// Section 8.5. From narrow to wide.
    #[derive(PartialOrd, Ord)]
    pub enum Scope { Cta, Cluster, Gpu, Sys }

    /// State spaces (section 5.1). PTX spells the generic one by leaving it out.
    pub enum Space {
        Generic,
        Global,
        /// The same as `SharedCta`, in every PTX version.
        Shared,
        #[strum(serialize = "shared::cta")] SharedCta,
        #[strum(serialize = "shared::cluster")] SharedCluster,
        Local,
        Const,
    }

    /// Semantics of `fence`.
    pub enum FenceSem { Sc, AcqRel, Acquire, Release }

    /// Semantics of `ld`. `Plain` stands for no modifier, which means weak.
    pub enum LdSem {
        Plain,
        Weak,
        Relaxed,
        Acquire,
        Volatile,
        #[strum(serialize = "mmio.relaxed")] MmioRelaxed,
        #[strum(serialize = "mmio.acquire")] MmioAcquire,
    }

    /// Semantics of `st`. `Plain` stands for no modifier, which means weak.
    pub enum StSem {
        Plain,
        Weak,
        Relaxed,
        Release,
        Volatile,
        #[strum(serialize = "mmio.relaxed")] MmioRelaxed,
        #[strum(serialize = "mmio.release")] MmioRelease,
    }

    /// Semantics of `atom`. Leaving it out means relaxed.
    pub enum AtomSem { Relaxed, Acquire, Release, AcqRel }

    /// Semantics of `red`. Leaving it out means relaxed.
    pub enum RedSem { Relaxed, Release }

    /// Levels of `membar`.
    pub enum MembarLevel { Cta, Gl, Sys }

    /// Operations of `atom` (and of `red`, but for exch and cas).
    pub enum AtomOp { Exch, Cas, Add, Inc, Dec, Min, Max, And, Or, Xor }

    /// Fundamental and packed types (section 5.2). The digits are the width in bits of one element.
    pub enum Type {
        B8, B16, B32, B64, B128,
        U8, U16, U32, U64,
        S8, S16, S32, S64,
        F16, #[strum(serialize = "f16x2")] F16x2,
        Bf16, #[strum(serialize = "bf16x2")] Bf16x2,
        F32, F64,
        Pred,
    }

    /// Cache operators and eviction priorities.
    pub enum CacheOperator {
        Ca, Cg, Cs, Cv, Lu, Nc, Wb, Wt,
        #[strum(serialize = "L1::no_allocate")] L1NoAllocate,
        #[strum(serialize = "L1::evict_last")] L1EvictLast,
        #[strum(serialize = "L2::128B")] L2Prefetch128B,
    }

    /// The number of elements of a vector access.
    pub enum VectorSize { V2, V4, V8 }

    /// Arithmetic (section 9.7), with the rounding that it must have. `AddCc` and `SubCc` set the carry flag, `Addc` and
    /// `Subc` add it.
    pub enum AluOp {
        Mov, Neg, Not,
        Add, Sub, And, Or, Xor, Min, Max, Shl, Shr,
        #[strum(serialize = "add.rn")] AddRn,
        #[strum(serialize = "sub.rn")] SubRn,
        #[strum(serialize = "add.cc")] AddCc,
        #[strum(serialize = "sub.cc")] SubCc,
        Addc, Subc,
        /// Picks bytes of two words by the nibbles of a third operand.
        Prmt,
        #[strum(serialize = "mul.lo")] MulLo,
        #[strum(serialize = "mad.lo")] MadLo,
        /// The first operand where the predicate, which is the third, holds; the second otherwise.
        Selp,
    }

    /// Comparisons of `setp` (section 9.7.6). Those with `u` hold also where an operand is NaN, the others do not. `Lo`, `Ls`,
    /// `Hi` and `Hs` are what unsigned types may call `Lt`, `Le`, `Gt` and `Ge`. `Num` holds if no operand is NaN, `Nan`
    /// if one is.
    pub enum Cmp { Eq, Ne, Lt, Le, Gt, Ge, Lo, Ls, Hi, Hs, Equ, Neu, Ltu, Leu, Gtu, Geu, Num, Nan }
}

impl Type {
    /// Width in bits of one element.
    pub fn bits(self) -> u32 {
        use Type::*;
        match self {
            Pred => 1,
            B8 | U8 | S8 => 8,
            B16 | U16 | S16 | F16 | Bf16 => 16,
            B32 | U32 | S32 | F32 | F16x2 | Bf16x2 => 32,
            B64 | U64 | S64 | F64 => 64,
            B128 => 128,
        }
    }
}

impl VectorSize {
    /// The number of elements.
    pub fn elements(self) -> usize {
        match self {
            Self::V2 => 2,
            Self::V4 => 4,
            Self::V8 => 8,
        }
    }
}

impl AluOp {
    /// The number of source operands.
    pub fn arity(self) -> usize {
        match self {
            Self::Mov | Self::Neg | Self::Not => 1,
            Self::Prmt | Self::MadLo | Self::Selp => 3,
            _ => 2,
        }
    }

    /// The type of the source operand with this index, in an instruction of type `ty`. Shift amounts have 32 bits, whatever
    /// is shifted (section 9.7.8).
    pub fn source_type(self, ty: Type, index: usize) -> Type {
        match (self, index) {
            (Self::Shl | Self::Shr, 1) => Type::U32,
            (Self::Selp, 2) => Type::Pred,
            _ => ty,
        }
    }
}

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
