//! The tests of this crate as one program: a module for each subject.

mod addresses;
mod asynchronous;
mod explain;
mod kernel;
mod limits;
mod litmus;
mod naive;
mod operations;
mod orderings;
mod outside;
mod pasted;
mod patterns;
mod pruned;
mod source;
