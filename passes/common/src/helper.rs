//! Lowers in the process of another program: jobs, what is made of them, and the words between two processes. LLVM is not
//! needed: the [`Helper`] has it, which is the command `ptx-atomics` or another program of the facade.
//!
//! The crate `ptx-atomics` passes all of this on as `isolated`. Linux only.

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
