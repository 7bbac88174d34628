//! The reasons why an operation has no lowering.

use crate::{
    abi::RowKind,
    op::{Ordering, RmwOp, Type},
    ptx::{Form, Requirement, Target},
};

/// The reason why an operation has no lowering, for the target or at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unsupported {
    /// The ABI has no such row.
    #[error("no language has {ordering} for a {kind}")]
    Ordering {
        /// The operation.
        kind: RowKind,
        /// The ordering that the operation lacks.
        ordering: Ordering,
    },
    /// A floating-point operation on integers, or an integer operation on floating-point numbers.
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
    /// An `atom` without a scope synchronizes only within the GPU ('PTX ISA', section on `atom`).
    #[error("a read-modify-write of system scope requires {requirement}, and the target is {target}")]
    SystemScope {
        /// The first GPU and PTX version in which `atom` has a scope.
        requirement: Requirement,
        /// The target.
        target: Target,
    },
    /// The target lacks an instruction that has no replacement.
    #[error("{form} requires {requirement}, and the target is {target}")]
    Target {
        /// The form of the instruction.
        form: Form,
        /// The requirement of the form.
        requirement: Requirement,
        /// The target.
        target: Target,
    },
}
