//! The lowering of an operation to instructions of a target: the choice of a row of the ABI, then the replacement of
//! instructions that the target lacks.
//!
//! Every replacement strengthens or keeps the meaning, never weakens it, and is named by a [`Change`].

mod body;
mod by_sign;
mod cas_loop;
mod change;
mod emit;
mod implementation;
mod local;
mod lower;
mod native;
mod packed;
mod policy;
mod refusal;
mod scope;
mod sub;
mod update;
mod wide;
mod word;

pub use self::{
    change::Change,
    lower::{Lowering, by_steps, lower, row},
    policy::{FpAtomics, Policy},
    refusal::Unsupported,
};
