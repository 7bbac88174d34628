//! The tests of this crate in a single program: a module for each subject.

mod judge;
mod lowerings;
mod module;
