//! Tests of the check of kernels.

mod executed;
mod pages;
