//! The tests of this crate as one program: a module for each subject.

mod addresses;
mod asynchronous;
#[path = "../cuda_litmus/mod.rs"]
mod cuda_litmus;
mod explain;
mod kernel;
mod limits;
mod litmus;
mod multimem;
mod naive;
mod nic;
mod operations;
mod orderings;
mod outside;
mod pasted;
mod patterns;
mod pruned;
mod questions;
mod restricted;
mod source;
mod two_threads;
