//! The tests of this crate as one program: a module for each subject.

mod cli;
mod host;
mod litmus;
