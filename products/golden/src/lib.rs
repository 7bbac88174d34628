//! Pins the PTX that a compiler makes, and says of each change whether it is one of meaning.
//!
//! A test file of five lines gives trials for every input, strategy and GPU:
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
//! - The **snapshot** of an input has its atomics, fences and asynchronous operations, function by function; GPUs and strategies
//!   that agree stand together. It has no paths, and registers are numbered in order of appearance.
//! - A **changed** snapshot is [judged](Change): whether the new text guarantees as much as the old one, and what it costs.
//! - Each PTX is **assembled** by every ptxas that is there, and **checked** against the operations of its source.
//! - Where a suite [asks for it](Suite::on_cpu), kernels **run** on the CPU as their comments say, and no access races.
//! - A snapshot **without an input** fails.
//!
//! `docs/golden.md` goes from an empty project to a pinned suite.

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
