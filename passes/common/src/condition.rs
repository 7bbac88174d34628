//! The conditions under which the facts that a pass gives to the optimizer are true.
//!
//! The optimizer's own conditions are in `ptx_optimize::Condition`; the mapping check disables them one by one. The
//! conditions here concern calls, addresses and kernels, and a pass checks them. `tests/adversary.rs` skips the check
//! of each condition in turn, and must find a module that is then wrong.

use strum::{Display, EnumIter, EnumMessage};

/// A condition that a fact for the optimizer requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, EnumMessage)]
#[strum(serialize_all = "kebab-case")]
#[non_exhaustive]
pub enum Condition {
    /// For locations that belong to one CTA.
    #[strum(message = "the location is in shared memory")]
    InShared,
    /// For shared memory: no call, assembly or pointer may lead to shared memory of another CTA.
    #[strum(message = "no instruction that a kernel reaches may map shared memory of another CTA")]
    Unmapped,
    /// For shared memory: the callers of a function are known.
    #[strum(message = "a function that is not a kernel is called only in its module")]
    CalledHere,
    /// For shared memory that may be mapped: the cluster has no other CTA.
    #[strum(message = "the kernel states that its clusters have one CTA")]
    OneCta,
    /// For variables: no symbol leads to them.
    #[strum(message = "the variable is internal")]
    Internal,
    /// For variables: no address leads to them.
    #[strum(message = "the address of the variable is only used to access it")]
    OnlyAccessed,
    /// For variables: they are not shared with the host.
    #[strum(message = "the variable has no annotation, such as managed")]
    Unannotated,
    /// For calls: an unknown function may have any effect.
    #[strum(message = "the function is known not to access memory")]
    KnownFunction,
    /// For calls: a name determines the effect only of a function without a body.
    #[strum(message = "the function has no body in the module")]
    NoBody,
    /// For inline assembly: an unknown instruction may have any effect.
    #[strum(message = "each instruction of the assembly is known neither to access memory nor to order accesses")]
    QuietAssembly,
    /// For barriers: other threads continue after them.
    #[strum(message = "no barrier is between the operations")]
    NoBarrier,
    /// For loads and stores that are not atomic: other threads may access the same memory.
    #[strum(message = "no other thread accesses the memory")]
    Private,
    /// For loads and stores that are not atomic: volatile accesses may synchronize.
    #[strum(message = "the access is not volatile")]
    NotVolatile,
    /// For functions: no code of the thread runs before a kernel, and none after it.
    #[strum(message = "the function is a kernel")]
    Kernel,
    /// For kernels: in a CTA of one thread, no other thread observes the order.
    #[strum(message = "the kernel states that a CTA has one thread")]
    OneThread,
    /// For addresses in loops.
    #[strum(message = "the address is not computed in the loop")]
    SameIteration,
    /// For addresses.
    #[strum(message = "the addresses have the same constant offset")]
    SameOffset,
}
