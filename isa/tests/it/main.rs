//! The tests of this crate as one program: a module for each subject.

mod arithmetic;
mod computations;
mod extended;
mod places;
mod rounding;
mod statements;
