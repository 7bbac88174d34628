//! The names of all that legalization does.

use strum::{Display, EnumIter, EnumMessage, IntoStaticStr};

/// A difference between a lowering and the literal words of the operation and of the ABI's row: a strengthening, an
/// expansion, or what the hardware does otherwise. The message is for users: it says what was done and why.
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
    /// The compare-and-swap loop is left without a write.
    #[strum(
        message = "the loop is left without a write where it would write what is there: the operation does not release"
    )]
    SkipsWrite,
    /// A subtraction became an addition.
    #[strum(message = "expanded to an addition of the negated operand: PTX has no subtraction")]
    SubAsAdd,
    /// A minimum or maximum of floats became one of integers.
    #[strum(
        message = "became an operation on integers, by the sign of the operand: --fp-atomics no-nans, or the attribute no-nans-fp-math, says that nothing is a NaN"
    )]
    FloatAsInteger,
    /// A volatile load or store became `.volatile`.
    #[strum(message = "a volatile access is .volatile, which is relaxed at system scope: fences carry the ordering")]
    Volatile,
    /// A volatile read-modify-write became an `atom` like any other.
    #[strum(message = "PTX has no volatile atom: the atom stands for itself, and is neither merged nor removed")]
    VolatileAtom,
    /// A volatile load or store became `.mmio`.
    #[strum(message = "a volatile access to global memory is .mmio, as asked: fences carry the ordering")]
    Mmio,
    /// An operation on 8 or 16 bits became one on 32.
    #[strum(message = "expanded to an operation on the 32-bit word around the value: atom works on no less")]
    SubWord,
    /// An addition computes otherwise than LLVM defines it.
    #[strum(message = "the native f32 addition flushes subnormals in global memory; --fp-atomics ieee keeps them")]
    FlushesSubnormals,
    /// An addition of a vector is not one atomic operation.
    #[strum(
        message = "the native addition of a vector is atomic for each element only; --fp-atomics ieee makes it one"
    )]
    AtomicByElement,
    /// Fences carry the ordering, where ptxas would lose that of the access.
    #[strum(
        message = "ptxas makes a loop of this atom, and from sm_90 on loses or misplaces its acquire and release: fences carry them"
    )]
    FencesAroundLoop,
    /// The target has no memory model.
    #[strum(message = "before sm_70 there is no memory model: volatile accesses, and membar in place of fences")]
    BeforeMemoryModel,
    /// The access is to local memory.
    #[strum(message = "no other thread sees local memory: plain loads, stores and arithmetic")]
    Local,
    /// The access is to local memory in some executions.
    #[strum(message = "the address may be local: a test at run time chooses a plain access or the atomic one")]
    MaybeLocal,
    /// The state space is unknown. Front ends report this; [`lower`](crate::lower) does not.
    #[strum(
        message = "nothing shows what memory it is in, and atom does not work on the stack; generic-may-be-local tests for that"
    )]
    UnknownMemory,
    /// The load is from constant memory.
    #[strum(message = "nobody writes constant memory while a kernel runs: a plain load")]
    Constant,
    /// The operation orders nothing between threads.
    #[strum(message = "scope singlethread needs no ordering between threads: relaxed at cta scope, no fence")]
    SingleThread,
}
