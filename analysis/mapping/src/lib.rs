//! The check of every lowering against the memory models: a lowered program has no outcome that its source forbids.
//!
//! [`translate`] lowers a scoped C++ program with the lowering crate, and converts the sequences to a PTX program of
//! the model; [`check`] compares the final states of both. [`programs`] generates the programs. If the optimizer is
//! enabled, [`optimize`] first transforms the source program.

pub mod check;
pub mod conditions;
pub mod cycles;
pub mod host;
pub mod host_threads;
pub mod mix;
pub mod mutants;
mod numbers;
pub mod optimize;
mod placement;
pub mod programs;
pub mod templates;
pub mod translate;
pub mod verify;

pub use check::{Checker, Counterexample, Counts, Soundness};
pub use translate::{Mapping, NoProgram, typed};
