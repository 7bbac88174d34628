//! Every lowering against the memory models: what a program may do after it, its source may do as well.
//!
//! [`translate`] lowers a scoped C++ program with the crate that lowers, and reads the sequences as a PTX program of the model;
//! [`check`] compares the final states of both. [`programs`] makes the programs. Behind the optimizer, [`optimize`] makes it
//! another source program first.

pub mod beside;
pub mod check;
pub mod conditions;
pub mod cycles;
pub mod host;
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
