//! The words of PTX: modifiers, types and operations. Their spellings stand here, as the names of enum variants.

use strum::{Display, EnumIter, EnumString, IntoStaticStr};

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
        #[strum(serialize = "mad.lo")] MadLo,
        /// The first operand where the predicate, which is the third, holds; the second otherwise.
        Selp,
    }

    /// Comparisons of `setp` (section 9.7.6). Those with `u` hold also where an operand is NaN, the others do not. `Lo`, `Ls`,
    /// `Hi` and `Hs` are what unsigned types may call `Lt`, `Le`, `Gt` and `Ge`. `Num` holds if no operand is NaN, `Nan`
    /// if one is.
    pub enum Cmp { Eq, Ne, Lt, Le, Gt, Ge, Lo, Ls, Hi, Hs, Equ, Neu, Ltu, Leu, Gtu, Geu, Num, Nan }
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
