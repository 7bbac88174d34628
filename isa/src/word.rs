//! The words of PTX: modifiers, types and operations. Their spellings stand here, as the names of enum variants.

use std::{cmp::Reverse, collections::HashMap, sync::LazyLock};

use strum::{Display, EnumIter, EnumString, IntoEnumIterator, IntoStaticStr};

/// Derives what every kind of modifier has: its spelling in PTX (without the leading dot), both ways.
macro_rules! modifiers {
    ($($(#[$meta:meta])* pub enum $name:ident { $($(#[$variant_meta:meta])* $variant:ident),* $(,)? })*) => { $(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, EnumString, IntoStaticStr)]
        #[strum(serialize_all = "snake_case")]
        #[allow(missing_docs)] // A variant is named as it is spelled, and the manual says what it means.
        pub enum $name { $($(#[$variant_meta])* $variant),* }
    )* };
}

modifiers! {
    /// Section 8.5. From narrow to wide.
    #[derive(PartialOrd, Ord)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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

    /// Semantics of memory operations (section 8.4), of loads and stores and of atomic operations alike. `Volatile` is as
    /// `relaxed.sys` (section 8.4.2).
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub enum Sem { Weak, Relaxed, Acquire, Release, AcqRel, Volatile }

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

    /// What a barrier gives of the predicates of all threads: whether all hold, whether one holds, how many hold.
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

    /// The elements of matrices in tensor cores (section 9.7.14). Floats have bits of exponent and mantissa in their names.
    pub enum MatrixElement {
        F16, Bf16, Tf32, F32, F64, S8, U8, S4, U4, B1, S32, E4m3, E5m2, E2m3, E3m2, E2m1,
        /// Moved, and not computed with.
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

    /// Arithmetic on registers (sections 9.7.1 to 9.7.9), with the rounding that it must have. `AddCc` and `SubCc` set the carry
    /// flag, `Addc` and `Subc` add it.
    pub enum AluOp {
        Mov, Neg, Not, Abs, Cnot,
        Add, Sub, And, Or, Xor, Min, Max, Shl, Shr,
        /// Of integers; by zero, nothing is defined.
        Div, Rem,
        /// The distance of the first two operands, and the third.
        Sad,
        Popc, Clz, Brev,
        /// The highest bit that is no sign, from the lowest bit on; all ones if there is none.
        Bfind,
        /// The same, as how far it is to be shifted to be the highest bit of all.
        #[strum(serialize = "bfind.shiftamt")] BfindShiftamt,
        /// So many bits of the first operand as the third says, from where the second says; of a signed type, with a sign.
        Bfe,
        /// The low bits of the first operand in the second one: from where the third says, as many as the fourth says.
        Bfi,
        /// So many ones as the second operand says, from where the first says.
        #[strum(serialize = "bmsk.clamp")] BmskClamp,
        #[strum(serialize = "bmsk.wrap")] BmskWrap,
        /// The low bits of the first operand as a number, as many as the second says.
        #[strum(serialize = "szext.clamp")] SzextClamp,
        #[strum(serialize = "szext.wrap")] SzextWrap,
        /// Any function of three bits; the fourth operand has its table.
        Lop3,
        /// The second operand stands above the first, and both are shifted by the third: to the left, the upper half is the result.
        #[strum(serialize = "shf.l.clamp")] ShfLeftClamp,
        #[strum(serialize = "shf.l.wrap")] ShfLeftWrap,
        #[strum(serialize = "shf.r.clamp")] ShfRightClamp,
        #[strum(serialize = "shf.r.wrap")] ShfRightWrap,
        /// The minimum and the maximum, but NaN if one operand is NaN; -0 is less than +0.
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
        /// Of the low 24 bits: the low 32 bits of the product, or its highest.
        #[strum(serialize = "mul24.lo")] Mul24Lo,
        #[strum(serialize = "mul24.hi")] Mul24Hi,
        #[strum(serialize = "mad24.lo")] Mad24Lo,
        #[strum(serialize = "mad24.hi")] Mad24Hi,
        /// Of floating point; without a rounding it is to nearest even, but may be one with a sum behind it.
        Mul,
        #[strum(serialize = "mul.rn")] MulRn,
        #[strum(serialize = "fma.rn")] FmaRn,
        #[strum(serialize = "div.rn")] DivRn,
        #[strum(serialize = "rcp.rn")] RcpRn,
        #[strum(serialize = "sqrt.rn")] SqrtRn,
        /// The second operand with the sign of the first.
        Copysign,
        /// The first operand where the predicate, which is the third, holds; the second otherwise.
        Selp,
    }

    /// Comparisons of `setp` (section 9.7.6). Those with `u` hold also where an operand is NaN, the others do not. `Lo`, `Ls`,
    /// `Hi` and `Hs` are what unsigned types may call `Lt`, `Le`, `Gt` and `Ge`. `Num` holds if no operand is NaN, `Nan`
    /// if one is.
    pub enum Cmp { Eq, Ne, Lt, Le, Gt, Ge, Lo, Ls, Hi, Hs, Equ, Neu, Ltu, Leu, Gtu, Geu, Num, Nan }
}

impl MembarLevel {
    /// The scope of the `fence.sc` that it is (section 9.7.13).
    pub fn scope(self) -> Scope {
        match self {
            Self::Cta => Scope::Cta,
            Self::Gl => Scope::Gpu,
            Self::Sys => Scope::Sys,
        }
    }
}

impl Space {
    /// Whether it is the shared memory of the CTA itself, which has two spellings.
    pub fn is_shared_cta(self) -> bool {
        matches!(self, Self::Shared | Self::SharedCta)
    }

    /// Whether it is shared memory, of the CTA itself or of another one in its cluster.
    pub fn is_shared(self) -> bool {
        self.is_shared_cta() || self == Self::SharedCluster
    }
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

/// An operation, and the modifiers that belong to its name.
type Named = (AluOp, Vec<&'static str>);

/// The arithmetic that begins with each mnemonic; those with most modifiers come first.
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
    /// What a mnemonic and some of its modifiers name, as `mul` and `lo`.
    pub fn of(mnemonic: &str, modifiers: &[&str]) -> Option<Self> {
        let mut named = ARITHMETIC.get(mnemonic)?.iter();
        named.find(|(_, words)| words.iter().all(|word| modifiers.contains(word))).map(|(op, _)| *op)
    }

    /// The modifiers that belong to its name.
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

    /// The type of the source operand with this index, in an instruction of type `ty`. Places, lengths and shift amounts have 32
    /// bits, whatever is shifted (section 9.7.8).
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
