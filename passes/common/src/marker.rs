//! The names of the functions that the pass alone defines: a program that calls one is complete after the pass has run.

/// The first part of each name. PTX has names with `$`, and linkers show them.
pub const PREFIX: &str = "ptx_atomics$";

/// The function whose address requires the pass, and that stands for nothing.
pub const PASS: &str = "ptx_atomics$pass";
