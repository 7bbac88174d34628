//! Runs the kernels of `examples`, compiled by several compilers, on a GPU, checks their results, and times them.

pub mod device;
pub mod kernel;
pub mod limit;
pub mod report;
