//! The lowering of every atomic and fence of a program to PTX.
//!
//! An [`AtomicOp`] is an operation of a program, a [`Policy`] selects the row of NVIDIA's Atomics ABI that implements
//! it, and a [`Target`] has the features of the GPU. [`lower`] returns a [`Sequence`] of typed PTX instructions.
//! [`interpret`] computes the values of a sequence.
//!
//! ```
//! use ptx_lowering::{Access, AtomicOp, Operation, Ordering, Policy, RmwOp, SyncScope, Target, Type, lower, ptx};
//!
//! let access = Access::new(ptx::Space::Global, Type::I32);
//! let scope = SyncScope::Threads(ptx::Scope::Sys);
//! let op = AtomicOp { operation: Operation::Rmw(RmwOp::Add, access), ordering: Ordering::AcqRel, scope };
//! let target = Target::new("sm_90".parse()?, None)?;
//! let lowering = lower(&op, &Policy::default(), &target).expect("sm_90 has it");
//! assert_eq!(lowering.sequence.to_string(), "atom.acq_rel.sys.global.add.u32 %d, [%a], %b;");
//! # Ok::<(), ptx_lowering::UnknownTarget>(())
//! ```

#![warn(missing_docs)]

pub mod abi;
mod inline_asm;
pub mod interpret;
mod legalize;
mod op;
pub mod sass;
mod sequence;
#[cfg(feature = "table")]
pub mod table;

pub use ptx_isa as ptx;
pub use ptx_isa::{Form, PtxVersion, Requirement, Sm, Target, UnknownTarget};

pub use self::{
    abi::{Strategies, Strategy, UnknownStrategy},
    inline_asm::{AddressOperand, Argument, InlineAsm},
    legalize::{Change, FpAtomics, Lowering, Policy, Unsupported, by_steps, lower, row},
    op::{Access, AtomicOp, Operation, Ordering, RmwOp, SyncScope, Type},
    sequence::{A, B, C, D, Sequence},
};
