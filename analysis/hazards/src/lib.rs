//! The check for missing waits, proxy fences and barriers of asynchronous operations in GPU kernels.
//!
//! [`read`] turns a function of a PTX module into a [`Kernel`]: a graph of asynchronous operations, of accesses of the
//! same memory, and of the events that order the two, with symbolic addresses. [`check`](check()) analyzes the graph
//! and returns [`Hazard`]s.

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
    options::{Budget, HazardOptions},
    read::{read, read_each, read_with},
    witness::{Class, Witness, Witnesses, options, witnesses},
};
