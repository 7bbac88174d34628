//! Why an answer is not known.

use crate::relation::MAX_EVENTS;

/// The most registers that a thread may have.
pub const MAX_REGISTERS: usize = 128;
/// The most values that a path may compute.
pub const MAX_NODES: usize = 1024;

/// Why an answer is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Limit {
    #[error("a loop may run more often than the bound")]
    Unroll,
    #[error("an execution has more than {MAX_EVENTS} events")]
    Events,
    #[error("a thread has more than {MAX_REGISTERS} registers")]
    Registers,
    #[error("an address is not within a variable, is misaligned, or depends on what is read")]
    Address,
    #[error("accesses overlap in part, and the axioms do not apply to a race of theirs (section 8.7.2)")]
    MixedSizes,
    #[error("only dependencies that an implementation may reason away forbid it (section 8.10.4)")]
    ThinAir,
    #[error("the program hangs: it has no execution that ends")]
    Hangs,
    #[error("more choices than the limit")]
    Choices,
    #[error("the time limit is over")]
    Time,
    #[error("more paths than the limit")]
    Paths,
    #[error("a path computes more than {MAX_NODES} values")]
    Values,
    #[error("the source model has no barriers")]
    Barrier,
    #[error("more uses of barriers with a quorum than the limit")]
    Quorum,
    #[error("a branch leads to a label that is not there")]
    Label,
    #[error("an instruction computes with floating-point numbers or with the carry flag, and the model does not")]
    Computation,
}
