//! The names of functions that only the pass defines: a program that calls such a function links only after the pass
//! has run.

/// The prefix of each name. PTX names may contain `$`, and linkers print it.
pub const PREFIX: &str = "ptx_atomics$";

/// The function whose address requires the pass. It does not represent an operation.
pub const PASS: &str = "ptx_atomics$pass";
