//! The reasons why an operation has no lowering.

use crate::{
    abi::RowKind,
    op::{Ordering, RmwOp, Type},
    ptx::{Form, Requirement, Target},
};

/// The reason why an operation has no lowering for the target, or none at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unsupported {
    /// The ABI has no such row.
    #[error("no language has {ordering} for a {kind}")]
    Ordering {
        /// The operation.
        kind: RowKind,
        /// The ordering that it does not have.
        ordering: Ordering,
    },
    /// A floating-point operation on integers, or the other way round.
    #[error("'{op}' is not defined on {ty}")]
    RmwType {
        /// The operation.
        op: RmwOp,
        /// The type on which it is not defined.
        ty: Type,
    },
    /// A compare and exchange of floating-point numbers.
    #[error("cmpxchg is not defined on {0}")]
    CmpXchgType(Type),
    /// A store or an rmw in constant memory.
    #[error("constant memory cannot be written while a kernel runs")]
    ConstantWrite,
    /// `atom` without a scope reaches the GPU only ('PTX ISA', section on `atom`).
    #[error("a read-modify-write of system scope requires {requirement}, and the target is {target}")]
    SystemScope {
        /// The GPU and PTX version from which on `atom` has a scope.
        requirement: Requirement,
        /// The target.
        target: Target,
    },
    /// The target lacks an instruction that nothing replaces.
    #[error("{form} requires {requirement}, and the target is {target}")]
    Target {
        /// The form of the instruction.
        form: Form,
        /// What the form requires.
        requirement: Requirement,
        /// The target.
        target: Target,
    },
}
