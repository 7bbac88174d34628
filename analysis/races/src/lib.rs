//! A check for data races and divergent barriers in any compiler's PTX: proved absent, shown by an execution, or left
//! open.
//!
//! [`check`](check::check) decides this for each kernel. A proof considers two threads: [`walk`] executes one thread
//! symbolically, with terms instead of values, and [`prove`] asks the solver whether an access of the first thread and
//! an access of the second can conflict.

pub mod address;
pub mod assumption;
pub mod budget;
pub mod check;
mod chunks;
mod cluster;
mod count;
mod doubts;
pub mod eval;
pub mod graph;
mod grid;
pub mod launch;
mod lock;
mod loops;
mod named;
mod options;
mod order;
mod ordering;
mod paths;
pub mod prove;
mod publish;
pub mod question;
pub mod remedy;
pub mod state;
mod threads;
mod two;
pub mod walk;
pub mod walked;
pub mod witness;

use cluster::Barriers;
use ptx_isa::{
    Function, Module,
    flat::{Action, Flat, Library, Limits},
};

/// The functions that the kernels of a module may call.
pub fn library(module: &Module) -> Library<'_> {
    Library::new(module)
}

/// Whether a kernel has asynchronous operations that this crate does not follow; `analysis/hazards/` checks them.
pub fn is_asynchronous(library: &Library<'_>, kernel: &Function) -> bool {
    let flat = Flat::inline_calls(library, kernel, Limits::default());
    let barriers = Barriers::new(&flat);
    let is_such = |at: usize| matches!(flat.steps[at].action, Action::Asynchronous(..)) && !barriers.has(at);
    (0..flat.steps.len()).any(is_such)
}
