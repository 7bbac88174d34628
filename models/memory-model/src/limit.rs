//! The reasons why an answer is unknown.

use crate::relation::MAX_EVENTS;

/// The maximum number of registers of a thread.
pub const MAX_REGISTERS: usize = 128;
/// The maximum number of values that a path computes.
pub const MAX_NODES: usize = 1024;

/// The reason why an answer is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Limit {
    /// A loop may run more often.
    #[error("a loop may run more iterations than the bound")]
    Unroll,
    /// More events than the maximum.
    #[error("an execution has more than {MAX_EVENTS} events")]
    Events,
    /// More registers than the maximum.
    #[error("a thread has more than {MAX_REGISTERS} registers")]
    Registers,
    /// An address that the model does not have.
    #[error("an address is not within a variable, is misaligned, or depends on a value that is read")]
    Address,
    /// An instruction that the model does not have.
    #[error("an instruction is not modelled")]
    Unmodelled,
    /// Accesses that overlap partially.
    #[error("accesses overlap in part, and the axioms do not apply to a race between them (section 8.7.2)")]
    MixedSizes,
    /// Dependencies that are not certain.
    #[error("only dependencies that an implementation may optimize away forbid it (section 8.10.4)")]
    ThinAir,
    /// No execution ends.
    #[error("the program hangs: it has no execution that ends")]
    Hangs,
    /// The bound on choices.
    #[error("more choices than the limit")]
    Choices,
    /// The bound on final states.
    #[error("more final states than the limit")]
    States,
    /// The bound on time.
    #[error("the time limit is over")]
    Time,
    /// The bound on paths.
    #[error("more paths than the limit")]
    Paths,
    /// The bound on computed values.
    #[error("a path computes more than {MAX_NODES} values")]
    Values,
    /// A barrier in a source program.
    #[error("the source model has no barriers")]
    Barrier,
    /// The bound on uses of barriers.
    #[error("more uses of barriers with a quorum than the limit")]
    Quorum,
    /// An undefined label.
    #[error("a branch leads to a label that does not exist")]
    Label,
    /// Arithmetic that the model does not have.
    #[error("an instruction computes with floating-point numbers or with the carry flag, which the model lacks")]
    Computation,
}
