//! Finds what asynchronous operations of GPU kernels lack: waits, proxy fences, barriers.
//!
//! [`read`] makes a [`Kernel`] of a function of a PTX module: a graph of what is asynchronous, what touches the same memory, and what
//! orders the two, with symbolic addresses. [`check`](check()) walks it and gives [`Hazard`]s.

mod cause;
mod check;
mod finding;
mod kernel;
mod litmus;
mod options;
mod read;
mod witness;

pub use self::{
    cause::Cause,
    check::{check, check_within, is_asynchronous},
    finding::{Claim, Edit, Hazard, Pair, Position, Remedy, Report, Rule},
    kernel::*,
    litmus::litmus,
    options::{Budget, Options},
    read::{read, read_with},
    witness::{Class, Witness, Witnesses, options, witnesses},
};
