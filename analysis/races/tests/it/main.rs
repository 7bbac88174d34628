//! The tests of this crate as one program: a module for each subject.

mod budget;
mod cluster;
mod grid;
mod mutants;
mod order;
mod random;
mod remedies;
mod verdicts;
