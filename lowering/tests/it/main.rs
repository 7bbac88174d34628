//! The tests of this crate as one program: a module for each subject.

mod interpreter;
mod spaces;
mod values;
