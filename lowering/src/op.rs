//! The operations of a program, independent of any front end.

use strum::{Display, EnumIter, EnumMessage, EnumString, IntoEnumIterator, IntoStaticStr};

use crate::ptx::{AtomOp, Scope, Space};

/// An atomic operation or a fence, as a front end recognized it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AtomicOp {
    /// The operation, with the memory that it accesses.
    pub operation: Operation,
    /// The memory ordering; for a compare and exchange, the ordering of success.
    pub ordering: Ordering,
    /// The threads that it synchronizes with.
    pub scope: SyncScope,
}

/// An operation, with the memory that it accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// A fence between threads, which accesses no memory.
    Fence,
    /// An atomic load.
    Load(Access),
    /// An atomic store.
    Store(Access),
    /// An atomic read-modify-write operation.
    Rmw(RmwOp, Access),
    /// Compare and exchange. PTX has no weak form, so a weak compare and exchange, which may fail spuriously, is
    /// lowered like a strong one.
    CmpXchg {
        /// The memory that is compared and written.
        access: Access,
        /// The ordering of failure.
        failure: Ordering,
    },
}

impl Operation {
    /// Every operation on every type for which it is defined, in one state space; none is volatile.
    pub fn all(space: Space) -> impl Iterator<Item = Self> {
        let access = move |ty| Access::new(space, ty);
        let plain = Type::iter().flat_map(move |ty| [Self::Load(access(ty)), Self::Store(access(ty))]);
        let rmw = RmwOp::iter()
            .flat_map(move |op| Type::iter().filter(move |ty| op.takes(*ty)).map(move |ty| Self::Rmw(op, access(ty))));
        let cmpxchg = Type::iter().filter(|ty| !ty.is_float()).flat_map(move |ty| {
            let failures = [Ordering::Relaxed, Ordering::Acquire, Ordering::SeqCst];
            failures.map(|failure| Self::CmpXchg { access: access(ty), failure })
        });
        [Self::Fence].into_iter().chain(plain).chain(rmw).chain(cmpxchg)
    }

    /// The same operation in another state space. A fence is unchanged.
    pub fn in_space(self, space: Space) -> Self {
        self.with_access(|access| access.space = space)
    }

    /// The same operation with a volatile access. A fence is unchanged.
    pub fn volatile(self) -> Self {
        self.with_access(|access| access.volatile = true)
    }

    /// The same operation on an address that may be local. A fence is unchanged.
    pub fn maybe_local(self) -> Self {
        self.with_access(|access| access.may_be_local = true)
    }

    /// The same operation on an address that is a multiple of this number of bytes. A fence is unchanged.
    pub fn aligned(self, bytes: u64) -> Self {
        self.with_access(|access| *access = access.aligned(bytes))
    }

    /// The same operation, which may omit a write that does not change the value. A fence is unchanged.
    pub fn may_skip_write(self) -> Self {
        self.with_access(|access| access.may_skip_write = true)
    }

    fn with_access(mut self, change: impl FnOnce(&mut Access)) -> Self {
        match &mut self {
            Self::Fence => {}
            Self::Load(access) | Self::Store(access) | Self::Rmw(_, access) | Self::CmpXchg { access, .. } => {
                change(access);
            }
        }
        self
    }

    /// Whether languages have the operation with this ordering (for a compare and exchange, the ordering of success).
    pub fn takes(&self, ordering: Ordering) -> bool {
        match self {
            Self::Fence => ordering.acquires() || ordering.releases(),
            Self::Load(_) => !matches!(ordering, Ordering::Release | Ordering::AcqRel),
            Self::Store(_) => !matches!(ordering, Ordering::Acquire | Ordering::AcqRel),
            Self::Rmw(..) | Self::CmpXchg { .. } => ordering != Ordering::Unordered,
        }
    }

    /// Whether it reads memory.
    pub fn reads(&self) -> bool {
        matches!(self, Self::Load(_) | Self::Rmw(..) | Self::CmpXchg { .. })
    }

    /// Whether it writes memory. A compare and exchange counts as a write, even if it fails.
    pub fn writes(&self) -> bool {
        matches!(self, Self::Store(_) | Self::Rmw(..) | Self::CmpXchg { .. })
    }

    /// The memory that it accesses; `None` for a fence.
    pub fn access(&self) -> Option<Access> {
        match *self {
            Self::Fence => None,
            Self::Load(access) | Self::Store(access) | Self::Rmw(_, access) | Self::CmpXchg { access, .. } => {
                Some(access)
            }
        }
    }
}

/// The memory that an operation accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// The state space of the address.
    pub space: Space,
    /// The type of the value.
    pub ty: Type,
    /// Whether the access is performed exactly as often as the program states, and never merged. PTX has `.volatile`
    /// for `ld` and `st`.
    pub volatile: bool,
    /// Whether a generic address may point into local memory, which `atom` does not support. A run-time test decides.
    pub may_be_local: bool,
    /// Whether the address of a value of 8 or 16 bits is a multiple of 4 bytes, so that the value is the lowest part of
    /// its word.
    pub word_aligned: bool,
    /// Whether a read-modify-write that is a loop may omit a write that does not change the value.
    pub may_skip_write: bool,
}

impl Access {
    /// An access that is not volatile, aligned to its size.
    pub fn new(space: Space, ty: Type) -> Self {
        Self { space, ty, volatile: false, may_be_local: false, word_aligned: false, may_skip_write: false }
    }

    /// Whether plain accesses suffice: local memory belongs to a single thread, and constant memory is not written
    /// while a kernel runs.
    pub fn is_private(&self) -> bool {
        matches!(self.space, Space::Local | Space::Const)
    }

    /// The same access at an address that is a multiple of this number of bytes.
    pub fn aligned(self, bytes: u64) -> Self {
        Self { word_aligned: self.ty.is_sub_word() && bytes.is_multiple_of(4), ..self }
    }
}

/// The type of the value in memory: the types of LLVM's atomics, up to 128 bits. Loads, stores and exchanges of other
/// vectors use an integer of the same width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Type {
    /// An integer of 8 bits.
    I8,
    /// An integer of 16 bits.
    I16,
    /// An integer of 32 bits.
    I32,
    /// An integer of 64 bits.
    I64,
    /// An integer of 128 bits.
    I128,
    /// An IEEE 754 binary16.
    F16,
    /// 2 elements, 32 bits.
    F16x2,
    /// 4 elements, 64 bits.
    F16x4,
    /// 8 elements, 128 bits.
    F16x8,
    /// A bfloat16.
    Bf16,
    /// 2 elements, 32 bits.
    Bf16x2,
    /// 4 elements, 64 bits.
    Bf16x4,
    /// 8 elements, 128 bits.
    Bf16x8,
    /// An IEEE 754 binary32.
    F32,
    /// 2 elements, 64 bits.
    F32x2,
    /// 4 elements, 128 bits.
    F32x4,
    /// An IEEE 754 binary64.
    F64,
    /// 2 elements, 128 bits.
    F64x2,
}

impl Type {
    /// Width in bits.
    pub fn bits(self) -> u32 {
        self.element().1 * self.lanes() as u32
    }

    /// The number of elements; 1 for a scalar.
    pub fn lanes(self) -> usize {
        match self {
            Self::F16x2 | Self::Bf16x2 | Self::F32x2 | Self::F64x2 => 2,
            Self::F16x4 | Self::Bf16x4 | Self::F32x4 => 4,
            Self::F16x8 | Self::Bf16x8 => 8,
            _ => 1,
        }
    }

    /// The type of an element; for a scalar, the type itself.
    pub fn scalar(self) -> Self {
        self.element().0
    }

    /// The type of an element, and its width in bits.
    fn element(self) -> (Self, u32) {
        match self {
            Self::I8 => (self, 8),
            Self::I16 => (self, 16),
            Self::I32 => (self, 32),
            Self::I64 => (self, 64),
            Self::I128 => (self, 128),
            Self::F16 | Self::F16x2 | Self::F16x4 | Self::F16x8 => (Self::F16, 16),
            Self::Bf16 | Self::Bf16x2 | Self::Bf16x4 | Self::Bf16x8 => (Self::Bf16, 16),
            Self::F32 | Self::F32x2 | Self::F32x4 => (Self::F32, 32),
            Self::F64 | Self::F64x2 => (Self::F64, 64),
        }
    }

    /// Whether the elements are floating-point numbers.
    pub fn is_float(self) -> bool {
        matches!(self.scalar(), Self::F16 | Self::Bf16 | Self::F32 | Self::F64)
    }

    /// Whether the type is narrower than the 32 bits of the narrowest `atom`.
    pub fn is_sub_word(self) -> bool {
        self.bits() < 32
    }
}

/// Memory orderings, in the C++ terms that the ABI document uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, EnumMessage, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Ordering {
    /// LLVM's `unordered`, weaker than any C++ ordering.
    Unordered,
    /// LLVM's `monotonic`: atomic, without any ordering.
    Relaxed,
    /// Later accesses of the thread stay after this operation.
    Acquire,
    /// Earlier accesses of the thread stay before this operation.
    Release,
    /// Acquire and release.
    AcqRel,
    /// Acquire and release, and one order of all sequentially consistent operations that all threads agree on.
    SeqCst,
}

impl Ordering {
    /// Whether the ordering includes acquire.
    pub fn acquires(self) -> bool {
        matches!(self, Self::Acquire | Self::AcqRel | Self::SeqCst)
    }

    /// Whether the ordering includes release.
    pub fn releases(self) -> bool {
        matches!(self, Self::Release | Self::AcqRel | Self::SeqCst)
    }

    /// The weakest ordering that is at least as strong as both.
    pub fn join(self, other: Self) -> Self {
        if self == Self::SeqCst || other == Self::SeqCst {
            return Self::SeqCst;
        }
        match (self.acquires() || other.acquires(), self.releases() || other.releases()) {
            (true, true) => Self::AcqRel,
            (true, false) => Self::Acquire,
            (false, true) => Self::Release,
            (false, false) if self == Self::Unordered => other,
            (false, false) => self,
        }
    }
}

/// The threads that an operation synchronizes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SyncScope {
    /// Only code of the same thread (a signal handler, a debugger): the compiler must not reorder the operation, but
    /// the GPU may.
    SingleThread,
    /// All threads of a scope of PTX.
    Threads(Scope),
}

/// The operations of LLVM's `atomicrmw`, by LLVM's names (Language Reference, 'atomicrmw'). Each variant documents the
/// new value in memory; `old` is the previous value, and `b` the operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum RmwOp {
    /// The operand.
    Xchg,
    /// `old + b, modulo 2^bits`.
    Add,
    /// `old - b, modulo 2^bits`.
    Sub,
    /// `old & b`.
    And,
    /// `!(old & b)`.
    Nand,
    /// `old | b`.
    Or,
    /// `old ^ b`.
    Xor,
    /// The greater as signed integers.
    Max,
    /// The lesser as signed integers.
    Min,
    /// The greater as unsigned integers.
    #[strum(serialize = "umax")]
    UMax,
    /// The lesser as unsigned integers.
    #[strum(serialize = "umin")]
    UMin,
    /// `old + b`.
    #[strum(serialize = "fadd")]
    FAdd,
    /// `old - b`.
    #[strum(serialize = "fsub")]
    FSub,
    /// `llvm.maxnum`: a NaN is ignored if the other operand is a number.
    #[strum(serialize = "fmax")]
    FMax,
    /// `llvm.minnum`: a NaN is ignored if the other operand is a number.
    #[strum(serialize = "fmin")]
    FMin,
    /// `llvm.maximum`: a NaN if either operand is a NaN, and -0 < +0.
    #[strum(serialize = "fmaximum")]
    FMaximum,
    /// `llvm.minimum`: a NaN if either operand is a NaN, and -0 < +0.
    #[strum(serialize = "fminimum")]
    FMinimum,
    /// `llvm.maximumnum`: a NaN is ignored if the other operand is a number, and -0 < +0.
    #[strum(serialize = "fmaximumnum")]
    FMaximumNum,
    /// `llvm.minimumnum`: a NaN is ignored if the other operand is a number, and -0 < +0.
    #[strum(serialize = "fminimumnum")]
    FMinimumNum,
    /// `old >= b ? 0 : old + 1, unsigned`.
    #[strum(serialize = "uinc_wrap")]
    UIncWrap,
    /// `old == 0 || old > b ? b : old - 1, unsigned`.
    #[strum(serialize = "udec_wrap")]
    UDecWrap,
    /// `old >= b ? old - b : old, unsigned`.
    #[strum(serialize = "usub_cond")]
    USubCond,
    /// `old >= b ? old - b : 0, unsigned`.
    #[strum(serialize = "usub_sat")]
    USubSat,
}

impl RmwOp {
    /// The integer operation that corresponds to an operation of `atom`; `None` for a compare and exchange.
    pub fn from_atom_op(op: AtomOp, is_signed: bool) -> Option<Self> {
        Some(match op {
            AtomOp::Cas => return None,
            AtomOp::Exch => Self::Xchg,
            AtomOp::Add => Self::Add,
            AtomOp::Inc => Self::UIncWrap,
            AtomOp::Dec => Self::UDecWrap,
            AtomOp::Min if is_signed => Self::Min,
            AtomOp::Min => Self::UMin,
            AtomOp::Max if is_signed => Self::Max,
            AtomOp::Max => Self::UMax,
            AtomOp::And => Self::And,
            AtomOp::Or => Self::Or,
            AtomOp::Xor => Self::Xor,
        })
    }

    /// The operations of a version of LLVM, from LLVM 22 on.
    pub fn of_llvm(major: u32) -> impl Iterator<Item = Self> + Clone {
        Self::iter().filter(move |op| op.since_llvm() <= major)
    }

    /// The first version of LLVM whose `atomicrmw` has the operation; 22 means version 22 or earlier.
    pub fn since_llvm(self) -> u32 {
        match self {
            Self::FMaximumNum | Self::FMinimumNum => 23,
            _ => 22,
        }
    }

    /// Whether the operation is defined on values of this type.
    pub fn takes(self, ty: Type) -> bool {
        match self {
            Self::Xchg => ty.lanes() == 1,
            _ => ty.is_float() == self.is_float(),
        }
    }

    /// Whether the operation often leaves the old value unchanged.
    pub fn often_keeps(self) -> bool {
        use RmwOp::*;
        !matches!(self, Add | Sub | Nand | Xor | FAdd | FSub | UIncWrap | UDecWrap)
    }

    /// Whether it computes with floating-point numbers.
    fn is_float(self) -> bool {
        use RmwOp::*;
        matches!(self, FAdd | FSub | FMax | FMin | FMaximum | FMinimum | FMaximumNum | FMinimumNum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A join is an upper bound, and no smaller ordering is an upper bound.
    #[test]
    fn join_is_the_least_upper_bound() {
        let at_least = |a: Ordering, b: Ordering| {
            (a.acquires() || !b.acquires())
                && (a.releases() || !b.releases())
                && (a == Ordering::SeqCst || b != Ordering::SeqCst)
                && (a != Ordering::Unordered || b == Ordering::Unordered)
        };
        for a in Ordering::iter() {
            for b in Ordering::iter() {
                let least: Vec<_> = Ordering::iter().filter(|&o| at_least(o, a) && at_least(o, b)).collect();
                let join = a.join(b);
                assert!(least.contains(&join), "{a} {b}");
                assert!(least.iter().all(|&o| at_least(o, join)), "{a} {b}");
            }
        }
    }
}
