//! Runs the kernels of `examples`, as several compilers gave them, on a GPU: checks what they compute, and times them.

pub mod device;
pub mod kernel;
pub mod limit;
pub mod report;
