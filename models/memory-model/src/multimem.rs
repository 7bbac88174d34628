//! Multimem operations (sections 8.2.3 and 9.7.9.13): an access to every memory location that a multimem address points
//! to.

use ptx_isa::AtomOp;

use crate::operand::Register;

/// A multimem operation: one scalar access to each replica, in an unspecified order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Multimem<I> {
    /// The accesses, each at the alias by which the multimem address names a replica. The loads of a `multimem.ld_reduce`
    /// read into scratch registers.
    pub elements: Vec<I>,
    /// The operation of a `multimem.ld_reduce`, and its result.
    pub reduced: Option<(AtomOp, Register)>,
}
