//! The tests of this crate as one program: a module for each subject.

mod judge;
mod lowerings;
mod module;
