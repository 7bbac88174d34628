//! The memory consistency models of PTX and of scoped C++, executable.

mod barrier;
pub mod condition;
pub mod execution;
pub mod litmus;
pub mod outcome;
pub mod place;
pub mod program;
pub mod ptx;
pub mod relation;
pub mod source;
pub mod unfold;
