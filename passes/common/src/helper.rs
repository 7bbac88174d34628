//! Lowering in the process of another program: jobs, their results, and the messages between the two processes. Only
//! the [`Helper`] needs LLVM. The helper is the command `ptx-atomics` or another program with the facade.
//!
//! The crate `ptx-atomics` re-exports this module as `isolated`. Linux only.

mod answer;
#[doc(hidden)]
pub mod data;
mod job;
mod process;
mod to_child;

pub use self::{
    answer::{Answer, Returned, as_data, exactly},
    job::{Emit, Job, Language, Lowered, MLIR_BYTECODE, Pair},
    process::{Helper, serve},
};
