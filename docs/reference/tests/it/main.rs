//! The tests of this crate as one program: a module for each subject.

mod generated;
mod lookup;
mod other_compilers;
