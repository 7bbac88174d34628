//! Pins the PTX that a compiler produces, and judges whether each change of the PTX changes its meaning.
//!
//! A test file of five lines creates trials for every input, strategy and GPU:
//!
//! ```no_run
//! # #[cfg(feature = "llvm")]
//! fn main() {
//!     ptx_atomics_golden::Suite::new("tests/kernels").gpus(["sm_70", "sm_90"]).strategies(["recommended", "fence"]).run();
//! }
//! # #[cfg(not(feature = "llvm"))]
//! # fn main() {}
//! ```
//!
//! - The **snapshot** of an input has its atomics, fences and asynchronous operations, function by function, and groups
//!   GPUs and strategies that have the same text. It has no paths, and numbers registers in order of appearance.
//! - A **changed** snapshot is [judged](Change): whether the new text guarantees as much as the old one, and its cost.
//! - Each PTX is **assembled** by every installed ptxas, and **checked** against the operations of its source.
//! - If a suite [asks for it](Suite::on_cpu), kernels **run** on the CPU as their comments say, and no access races.
//! - A snapshot **without an input** fails.
//!
//! `docs/golden.md` describes the steps from an empty project to a pinned suite.

#![warn(missing_docs)]

mod change;
mod cpu;
mod input;
mod junit;
pub mod listing;
mod lower;
mod outline;
pub mod snapshot;
mod suite;

pub use self::{
    change::{Asked, Change},
    suite::Suite,
};
