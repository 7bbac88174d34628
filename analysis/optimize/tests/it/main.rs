//! The tests of this crate as one program: a module for each subject.

mod ptx;
mod random;
mod rewrites;
mod text;
