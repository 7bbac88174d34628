//! Runs kernels on the CPU, and finds every data race that the execution has.

pub mod matrix;
