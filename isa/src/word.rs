//! The words of PTX: modifiers, types and operations. The names of the enum variants determine their spellings.

use std::{cmp::Reverse, collections::HashMap, sync::LazyLock};

use strum::{Display, EnumIter, EnumString, IntoEnumIterator, IntoStaticStr};

/// Derives the conversions of a kind of modifiers from and to its PTX spelling, without the leading dot.
macro_rules! modifiers {
    ($($(#[$meta:meta])* pub enum $name:ident { $($(#[$variant_meta:meta])* $variant:ident),* $(,)? })*) => { $(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, EnumString, IntoStaticStr)]
        #[strum(serialize_all = "snake_case")]
        #[allow(missing_docs)] // A variant is named by its spelling; the manual defines its meaning.
        pub enum $name { $($(#[$variant_meta])* $variant),* }
    )* };
}

modifiers! {
    /// Scopes (section 8.5), from narrow to wide.
    #[derive(PartialOrd, Ord)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub enum Scope { Cta, Cluster, Gpu, Sys }

    /// State spaces (section 5.1). In PTX, an omitted state space means the generic one.
    pub enum Space {
        Generic,
        Global,
        /// A synonym of `SharedCta`, in every PTX version.
        Shared,
        #[strum(serialize = "shared::cta")] SharedCta,
        #[strum(serialize = "shared::cluster")] SharedCluster,
        Local,
        Const,
    }

    /// Semantics of memory operations (section 8.4): of loads, stores and atomic operations. `Volatile` is equivalent
    /// to `relaxed.sys` (section 8.4.2).
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub enum Sem { Weak, Relaxed, Acquire, Release, AcqRel, Volatile }

    /// Semantics of `fence`.
    pub enum FenceSem { Sc, AcqRel, Acquire, Release }

    /// Semantics of `ld`. `Plain` is an omitted modifier, which means weak.
    pub enum LdSem {
        Plain,
        Weak,
        Relaxed,
        Acquire,
        Volatile,
        #[strum(serialize = "mmio.relaxed")] MmioRelaxed,
        #[strum(serialize = "mmio.acquire")] MmioAcquire,
    }

    /// Semantics of `st`. `Plain` is an omitted modifier, which means weak.
    pub enum StSem {
        Plain,
        Weak,
        Relaxed,
        Release,
        Volatile,
        #[strum(serialize = "mmio.relaxed")] MmioRelaxed,
        #[strum(serialize = "mmio.release")] MmioRelease,
    }

    /// Semantics of `atom`. An omitted modifier means relaxed.
    pub enum AtomSem { Relaxed, Acquire, Release, AcqRel }

    /// Semantics of `red`. An omitted modifier means relaxed.
    pub enum RedSem { Relaxed, Release }

    /// Levels of `membar`.
    pub enum MembarLevel { Cta, Gl, Sys }

    /// Operations of `atom`. `red` has the same operations, except exch and cas.
    pub enum AtomOp { Exch, Cas, Add, Inc, Dec, Min, Max, And, Or, Xor }

    /// Reductions of a barrier over the predicates of all threads: all are true, any is true, the number of true ones.
    pub enum Reduction { And, Or, Popc }

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

    /// The elements of matrices in tensor cores (section 9.7.14). The names of small floats contain the numbers of
    /// exponent and mantissa bits.
    pub enum MatrixElement {
        F16, Bf16, Tf32, F32, F64, S8, U8, S4, U4, B1, S32, E4m3, E5m2, E2m3, E3m2, E2m1,
        /// An element that instructions move but do not compute with.
        B16,
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

    /// Arithmetic on registers (sections 9.7.1 to 9.7.9). The variant includes a required rounding. `AddCc` and `SubCc`
    /// set the carry flag; `Addc` and `Subc` add it.
    pub enum AluOp {
        Mov, Neg, Not, Abs, Cnot,
        Add, Sub, And, Or, Xor, Min, Max, Shl, Shr,
        /// Division of integers; division by zero is undefined.
        Div, Rem,
        /// The distance of the first two operands, plus the third.
        Sad,
        Popc, Clz, Brev,
        /// The position of the highest bit that differs from the sign, counted from the lowest bit; all ones if there
        /// is none.
        Bfind,
        /// The shift amount that would move this bit to the highest position.
        #[strum(serialize = "bfind.shiftamt")] BfindShiftamt,
        /// A bit field of the first operand: the second operand is its position, the third its length. A signed type is
        /// sign-extended.
        Bfe,
        /// The second operand with the low bits of the first inserted: the third operand is the position, the fourth
        /// the length.
        Bfi,
        /// A run of ones: the first operand is its position, the second its length.
        #[strum(serialize = "bmsk.clamp")] BmskClamp,
        #[strum(serialize = "bmsk.wrap")] BmskWrap,
        /// The low bits of the first operand, extended to a number. The second operand is their number.
        #[strum(serialize = "szext.clamp")] SzextClamp,
        #[strum(serialize = "szext.wrap")] SzextWrap,
        /// Any function of three bits. The fourth operand is its truth table.
        Lop3,
        /// A funnel shift: the second operand concatenated with the first, as the lower half, is shifted by the third.
        /// A left shift returns the upper half.
        #[strum(serialize = "shf.l.clamp")] ShfLeftClamp,
        #[strum(serialize = "shf.l.wrap")] ShfLeftWrap,
        #[strum(serialize = "shf.r.clamp")] ShfRightClamp,
        #[strum(serialize = "shf.r.wrap")] ShfRightWrap,
        /// The minimum and the maximum. The result is NaN if an operand is NaN; -0 is less than +0.
        #[strum(serialize = "min.NaN")] MinNan,
        #[strum(serialize = "max.NaN")] MaxNan,
        #[strum(serialize = "add.rn")] AddRn,
        #[strum(serialize = "sub.rn")] SubRn,
        #[strum(serialize = "add.cc")] AddCc,
        #[strum(serialize = "sub.cc")] SubCc,
        Addc, Subc,
        /// Picks bytes of two words by the nibbles of a third operand.
        Prmt,
        #[strum(serialize = "mul.lo")] MulLo,
        #[strum(serialize = "mul.hi")] MulHi,
        #[strum(serialize = "mul.wide")] MulWide,
        #[strum(serialize = "mad.lo")] MadLo,
        #[strum(serialize = "mad.hi")] MadHi,
        #[strum(serialize = "mad.wide")] MadWide,
        /// The product of the low 24 bits: its low 32 bits, or its high 32 bits.
        #[strum(serialize = "mul24.lo")] Mul24Lo,
        #[strum(serialize = "mul24.hi")] Mul24Hi,
        #[strum(serialize = "mad24.lo")] Mad24Lo,
        #[strum(serialize = "mad24.hi")] Mad24Hi,
        /// Floating-point multiplication. Without a rounding modifier it rounds to nearest even, but may be fused with
        /// a following addition.
        Mul,
        #[strum(serialize = "mul.rn")] MulRn,
        #[strum(serialize = "fma.rn")] FmaRn,
        #[strum(serialize = "div.rn")] DivRn,
        #[strum(serialize = "rcp.rn")] RcpRn,
        #[strum(serialize = "sqrt.rn")] SqrtRn,
        /// The second operand with the sign of the first.
        Copysign,
        /// The first operand if the predicate, the third operand, is true; otherwise the second.
        Selp,
    }

    /// Comparisons of `setp` (section 9.7.6). Comparisons with `u` hold if an operand is NaN; the other ordered
    /// comparisons do not. `Lo`, `Ls`, `Hi` and `Hs` are synonyms for unsigned types of `Lt`, `Le`, `Gt` and `Ge`.
    /// `Num` holds if no operand is NaN, `Nan` if an operand is.
    pub enum Cmp { Eq, Ne, Lt, Le, Gt, Ge, Lo, Ls, Hi, Hs, Equ, Neu, Ltu, Leu, Gtu, Geu, Num, Nan }
}

impl MembarLevel {
    /// The scope of the equivalent `fence.sc` (section 9.7.13).
    pub fn scope(self) -> Scope {
        match self {
            Self::Cta => Scope::Cta,
            Self::Gl => Scope::Gpu,
            Self::Sys => Scope::Sys,
        }
    }
}

impl Space {
    /// Whether this is the shared memory of the CTA itself, which has two spellings.
    pub fn is_shared_cta(self) -> bool {
        matches!(self, Self::Shared | Self::SharedCta)
    }

    /// Whether this is shared memory, of the CTA itself or of another CTA in its cluster.
    pub fn is_shared(self) -> bool {
        self.is_shared_cta() || self == Self::SharedCluster
    }
}

impl Type {
    /// The width in bits of one element.
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

/// An operation, and the modifiers that are part of its name.
type Named = (AluOp, Vec<&'static str>);

/// The operations of each mnemonic; operations with more modifiers come first.
static ARITHMETIC: LazyLock<HashMap<&str, Vec<Named>>> = LazyLock::new(|| {
    let mut all: HashMap<_, Vec<Named>> = HashMap::new();
    for op in AluOp::iter() {
        let mut words = <&str>::from(op).split('.');
        all.entry(words.next().unwrap_or_default()).or_default().push((op, words.collect()));
    }
    all.values_mut().for_each(|named| named.sort_by_key(|(_, words)| Reverse(words.len())));
    all
});

impl AluOp {
    /// The operation that a mnemonic and some of the modifiers name, such as `mul` and `lo`.
    pub fn from_mnemonic(mnemonic: &str, modifiers: &[&str]) -> Option<Self> {
        let mut named = ARITHMETIC.get(mnemonic)?.iter();
        named.find(|(_, words)| words.iter().all(|word| modifiers.contains(word))).map(|(op, _)| *op)
    }

    /// The modifiers that are part of the operation's name.
    pub fn modifiers(self) -> impl Iterator<Item = &'static str> {
        <&str>::from(self).split('.').skip(1)
    }

    /// The number of source operands.
    pub fn arity(self) -> usize {
        use AluOp::*;
        match self {
            Mov | Neg | Not | Abs | Cnot | Popc | Clz | Brev | Bfind | BfindShiftamt | RcpRn | SqrtRn => 1,
            Prmt | MadLo | MadHi | MadWide | Mad24Lo | Mad24Hi | FmaRn | Selp | Sad | Bfe => 3,
            ShfLeftClamp | ShfLeftWrap | ShfRightClamp | ShfRightWrap => 3,
            Bfi | Lop3 => 4,
            _ => 2,
        }
    }

    /// The type of the source operand with this index, in an instruction of type `ty`. Positions, lengths and shift
    /// amounts have 32 bits, independent of `ty` (section 9.7.8).
    pub fn source_type(self, ty: Type, index: usize) -> Type {
        use AluOp::*;
        match (self, index) {
            (Shl | Shr | SzextClamp | SzextWrap, 1) | (Bfe, 1 | 2) | (Bfi, 2 | 3) | (Lop3, 3) => Type::U32,
            (Selp, 2) => Type::Pred,
            (MadWide, 2) => self.result_type(ty),
            _ => ty,
        }
    }

    /// The type of the result, in an instruction of type `ty`.
    pub fn result_type(self, ty: Type) -> Type {
        match (self, ty) {
            (Self::MulWide | Self::MadWide, Type::U16) => Type::U32,
            (Self::MulWide | Self::MadWide, Type::S16) => Type::S32,
            (Self::MulWide | Self::MadWide, Type::U32) => Type::U64,
            (Self::MulWide | Self::MadWide, Type::S32) => Type::S64,
            (Self::Popc | Self::Clz | Self::Bfind | Self::BfindShiftamt, _) => Type::U32,
            _ => ty,
        }
    }
}
