//! The operations that a program asks for, in words that no front end owns.

use strum::{Display, EnumIter, EnumMessage, EnumString, IntoEnumIterator, IntoStaticStr};

use crate::ptx::{AtomOp, Scope, Space};

/// One atomic operation or fence, as a front end recognized it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AtomicOp {
    /// The operation, with the memory that it touches.
    pub operation: Operation,
    /// The memory ordering; of a compare and exchange, that of success.
    pub ordering: Ordering,
    /// The threads that it synchronizes with.
    pub scope: SyncScope,
}

/// An operation, with the memory that it touches.
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
    /// Compare and exchange. PTX has no weak form, so that a weak one (which may fail spuriously) is lowered like a
    /// strong one.
    CmpXchg {
        /// The memory that is compared and written.
        access: Access,
        /// The ordering of failure.
        failure: Ordering,
    },
}

impl Operation {
    /// Every operation on every type that it is defined on, in one state space; none volatile.
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

    /// The same operation in another state space. A fence stays as it is.
    pub fn in_space(self, space: Space) -> Self {
        self.with_access(|access| access.space = space)
    }

    /// The same operation with a volatile access. A fence stays as it is.
    pub fn volatile(self) -> Self {
        self.with_access(|access| access.volatile = true)
    }

    /// The same operation on an address that may be local. A fence stays as it is.
    pub fn maybe_local(self) -> Self {
        self.with_access(|access| access.may_be_local = true)
    }

    /// The same operation on an address that is a multiple of so many bytes. A fence stays as it is.
    pub fn aligned(self, bytes: u64) -> Self {
        self.with_access(|access| *access = access.aligned(bytes))
    }

    /// The same operation, which may leave unwritten what it would write back. A fence stays as it is.
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

    /// Whether languages have the operation with this ordering (that of success, for a compare and exchange).
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

    /// Whether it writes memory. A compare and exchange counts, also where it fails.
    pub fn writes(&self) -> bool {
        matches!(self, Self::Store(_) | Self::Rmw(..) | Self::CmpXchg { .. })
    }

    /// The memory that it touches; none for a fence.
    pub fn access(&self) -> Option<Access> {
        match *self {
            Self::Fence => None,
            Self::Load(access) | Self::Store(access) | Self::Rmw(_, access) | Self::CmpXchg { access, .. } => {
                Some(access)
            }
        }
    }
}

/// The memory that an operation touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// The state space of the address.
    pub space: Space,
    /// The type of the value.
    pub ty: Type,
    /// Performed exactly as often as the program says, and never merged. PTX has `.volatile` for `ld` and `st`.
    pub volatile: bool,
    /// A generic address may point into local memory, which `atom` does not take: a run-time test decides.
    pub may_be_local: bool,
    /// The address of 8 or 16 bits is a multiple of 4 bytes, so that the value is the lowest part of its word.
    pub word_aligned: bool,
    /// A read-modify-write that would write what is there may leave it unwritten, where it is a loop.
    pub may_skip_write: bool,
}

impl Access {
    /// An access that is not volatile, aligned to its size.
    pub fn new(space: Space, ty: Type) -> Self {
        Self { space, ty, volatile: false, may_be_local: false, word_aligned: false, may_skip_write: false }
    }

    /// Whether plain accesses suffice: local memory belongs to one thread, and nobody writes constant memory while a
    /// kernel runs.
    pub fn is_private(&self) -> bool {
        matches!(self.space, Space::Local | Space::Const)
    }

    /// The same access at an address that is a multiple of so many bytes.
    pub fn aligned(self, bytes: u64) -> Self {
        Self { word_aligned: self.ty.is_sub_word() && bytes.is_multiple_of(4), ..self }
    }
}

/// The type of the value in memory: what LLVM's atomics take, up to 128 bits. Loads, stores and exchanges of other
/// vectors are those of an integer of the same width.
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

    /// The type of one element, of itself for a scalar.
    pub fn scalar(self) -> Self {
        self.element().0
    }

    /// The type of one element, and its width in bits.
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

    /// Narrower than the 32 bits that `atom` works on.
    pub fn is_sub_word(self) -> bool {
        self.bits() < 32
    }
}

/// Memory orderings, in C++'s words as the ABI document uses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, EnumMessage, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Ordering {
    /// LLVM's `unordered`, weaker than any C++ ordering.
    Unordered,
    /// LLVM's `monotonic`: atomic, without any ordering.
    Relaxed,
    /// Later accesses of the thread stay behind.
    Acquire,
    /// Earlier accesses of the thread stay in front.
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
    /// Only code of the same thread (a signal handler, a debugger): the compiler may not reorder, the GPU may.
    SingleThread,
    /// All threads of a scope of PTX.
    Threads(Scope),
}

/// The operations of LLVM's `atomicrmw`, by LLVM's names (Language Reference, 'atomicrmw'). Each is documented by
/// the new value in memory; `old` is the value before, and `b` the operand.
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
    /// `llvm.maximum`: a NaN if either operand is one, and -0 < +0.
    #[strum(serialize = "fmaximum")]
    FMaximum,
    /// `llvm.minimum`: a NaN if either operand is one, and -0 < +0.
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
    /// The update of integers that `atom` does; nothing for a compare and exchange.
    pub fn of(op: AtomOp, is_signed: bool) -> Option<Self> {
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

    /// The operations that a version of LLVM has, from LLVM 22 on.
    pub fn of_llvm(major: u32) -> impl Iterator<Item = Self> + Clone {
        Self::iter().filter(move |op| op.since_llvm() <= major)
    }

    /// The version of LLVM whose `atomicrmw` has the operation first; 22 stands for that and all before it.
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

    /// Whether many values are left as they are.
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

    /// A join is an upper bound, and no smaller ordering is one.
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
