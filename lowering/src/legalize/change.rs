//! The names of all changes by legalization.

use strum::{Display, EnumIter, EnumMessage, IntoStaticStr};

/// A difference between a lowering and the literal operation or the ABI's row: a strengthening, an expansion, or a
/// deviation of the hardware. The message tells the user the change and its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, EnumMessage, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[non_exhaustive]
pub enum Change {
    /// The ordering `unordered` became relaxed.
    #[strum(message = "unordered became relaxed: PTX has nothing weaker that is atomic")]
    UnorderedAsRelaxed,
    /// The stronger failure ordering of a compare and exchange became part of its ordering.
    #[strum(message = "the failure ordering was joined to the success ordering: PTX has one ordering for both")]
    FailureOrderingJoined,
    /// A one-sided fence became `fence.acq_rel`.
    #[strum(
        message = "fence.acquire or fence.release became fence.acq_rel: the one-sided fences need sm_90 and PTX 8.6"
    )]
    OneSidedFenceAsAcqRel,
    /// The scope cluster became gpu.
    #[strum(message = "scope cluster became gpu: .cluster needs sm_90 and PTX 7.8")]
    ClusterAsGpu,
    /// The operation became a compare-and-swap loop.
    #[strum(message = "expanded to a compare-and-swap loop: PTX has no such operation on this type")]
    CasLoop,
    /// The compare-and-swap loop may end without a write.
    #[strum(message = "the loop ends without a write if the value would not change: the operation does not release")]
    SkipsWrite,
    /// A subtraction became an addition.
    #[strum(message = "expanded to an addition of the negated operand: PTX has no subtraction")]
    SubAsAdd,
    /// A minimum or maximum of floats became an integer operation.
    #[strum(
        message = "became an operation on integers, by the sign of the operand: --fp-atomics no-nans, or the attribute no-nans-fp-math, excludes NaNs"
    )]
    FloatAsInteger,
    /// A volatile load or store became `.volatile`.
    #[strum(message = "a volatile access is .volatile, which is relaxed at system scope: fences carry the ordering")]
    Volatile,
    /// A volatile read-modify-write became an ordinary `atom`.
    #[strum(message = "PTX has no volatile atom: an ordinary atom is neither merged nor removed")]
    VolatileAtom,
    /// A volatile load or store became `.mmio`.
    #[strum(message = "a volatile access to global memory is .mmio, as requested: fences carry the ordering")]
    Mmio,
    /// An operation on 8 or 16 bits became an operation on 32 bits.
    #[strum(message = "expanded to an operation on the 32-bit word around the value: atom needs at least 32 bits")]
    SubWord,
    /// The result of an addition may differ from LLVM's definition.
    #[strum(message = "the native f32 addition flushes subnormals in global memory; --fp-atomics ieee keeps them")]
    FlushesSubnormals,
    /// An addition of a vector is not one atomic operation.
    #[strum(
        message = "the native addition of a vector is atomic for each element only; --fp-atomics ieee makes it one operation"
    )]
    AtomicByElement,
    /// Fences carry the ordering, because ptxas would lose the ordering of the access.
    #[strum(
        message = "ptxas makes a loop of this atom, and from sm_90 on loses or misplaces its acquire and release: fences carry them"
    )]
    FencesAroundLoop,
    /// The target has no memory model.
    #[strum(message = "before sm_70, PTX has no memory model: volatile accesses, and membar instead of fences")]
    BeforeMemoryModel,
    /// The access is to local memory.
    #[strum(message = "no other thread accesses local memory: plain loads, stores and arithmetic")]
    Local,
    /// The access is to local memory in some executions.
    #[strum(message = "the address may be local: a test at run time chooses a plain access or the atomic one")]
    MaybeLocal,
    /// The state space is unknown. Front ends report this; [`lower`](crate::lower) does not.
    #[strum(
        message = "the state space is unknown, and atom does not work on the stack; generic-may-be-local adds a test"
    )]
    UnknownMemory,
    /// The load is from constant memory.
    #[strum(message = "no thread writes constant memory while a kernel runs: a plain load")]
    Constant,
    /// The operation does not synchronize with other threads.
    #[strum(message = "scope singlethread needs no ordering between threads: relaxed at cta scope, no fence")]
    SingleThread,
}
