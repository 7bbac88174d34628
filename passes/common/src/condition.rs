//! The conditions under which the facts that the optimizer gets of a module are true.
//!
//! The optimizer's own conditions are in `ptx_optimize::Condition`, which the mapping check leaves out one by one. These are the conditions that a
//! pass finds out about calls, addresses and kernels. `tests/adversary.rs` takes each for granted, and must find a module that is then
//! wrong.

use strum::{Display, EnumIter, EnumMessage};

/// A condition under which something is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, EnumMessage)]
#[strum(serialize_all = "kebab-case")]
#[non_exhaustive]
pub enum Condition {
    /// Of what is of one CTA.
    #[strum(message = "the location is in shared memory")]
    InShared,
    /// Of shared memory: no call, assembly or pointer may lead to that of another CTA.
    #[strum(message = "nothing that a kernel comes to may map shared memory of another CTA")]
    Unmapped,
    /// Of shared memory: what calls a function is known.
    #[strum(message = "a function that is no kernel is called from its module alone")]
    CalledHere,
    /// Of shared memory that may be mapped: there is none to map.
    #[strum(message = "the kernel states that its clusters have one CTA")]
    OneCta,
    /// Of variables: no symbol leads to them.
    #[strum(message = "the variable is internal")]
    Internal,
    /// Of variables: no address leads to them.
    #[strum(message = "the address of the variable is only used to access it")]
    OnlyAccessed,
    /// Of variables: they are not shared with the host.
    #[strum(message = "the variable is not annotated, as one that is managed")]
    Unannotated,
    /// Of calls: what is not known may do anything.
    #[strum(message = "the function is known to touch no memory")]
    KnownFunction,
    /// Of calls: a name says something of what has no body.
    #[strum(message = "the function has no body in the module")]
    NoBody,
    /// Of inline assembly: what is not known may do anything.
    #[strum(message = "each instruction of the assembly is known to touch no memory, and to order nothing")]
    QuietAssembly,
    /// Of barriers: other threads go on behind them.
    #[strum(message = "there is no barrier between")]
    NoBarrier,
    /// Of loads and stores that are not atomic: other threads may see them.
    #[strum(message = "no other thread sees the memory")]
    Private,
    /// Of loads and stores that are not atomic: those that are volatile may synchronize.
    #[strum(message = "the access is not volatile")]
    NotVolatile,
    /// Of functions: nothing comes before a kernel, and nothing after it.
    #[strum(message = "the function is a kernel")]
    Kernel,
    /// Of kernels: a CTA of one thread has nobody to order for.
    #[strum(message = "the kernel states that a CTA has one thread")]
    OneThread,
    /// Of addresses in loops.
    #[strum(message = "the address is not computed in the loop")]
    SameRound,
    /// Of addresses.
    #[strum(message = "the addresses have the same constant offset")]
    SameOffset,
}
