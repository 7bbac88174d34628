//! A check for data races and divergent barriers in any compiler's PTX: proved absent, shown by an execution, or left open.
//!
//! [`check`](check::check) says that of each kernel. A proof is about two threads: [`walk`] follows one with terms in place of values, and
//! [`prove`] asks the solver whether an access of the one and an access of the other can meet.
//!
//! ```
//! use ptx_races::{solve::{Answer, solve}, term::{LeafName, Shared, Terms}};
//!
//! // Two threads of a CTA of 256 that both write `out[tid]`, of four bytes each, never meet.
//! let mut terms = Terms::default();
//! let tid = terms.leaf(LeafName::Tid(0), Shared::Thread, 32);
//! let most = terms.constant(256, 32);
//! let within = terms.less(false, tid, most);
//! let wide = terms.widen(tid, 64, false);
//! let address = terms.scale(4, wide);
//! let mut of = |term, thread| terms.of_thread(term, thread, Shared::Cta, &mut Default::default());
//! let [one, other] = [1, 2].map(|thread| [tid, within, address].map(|term| of(term, thread)));
//! let (same, meet) = (terms.equal(one[0], other[0]), terms.equal(one[2], other[2]));
//! let apart = terms.not(same);
//! assert_eq!(solve(&terms, &[one[1], other[1], apart, meet], &mut 1000, None), Answer::Never);
//! ```

pub mod address;
pub mod assumption;
pub mod check;
mod cluster;
mod count;
mod doubts;
pub mod eval;
pub mod graph;
mod grid;
pub mod launch;
mod lemma;
mod lock;
mod named;
mod order;
mod ordering;
mod paths;
pub mod prove;
mod publish;
pub mod question;
pub mod remedy;
mod rounds;
pub mod solve;
pub mod state;
pub mod term;
mod threads;
mod two;
pub mod walk;
pub mod walked;
pub mod witness;

use cluster::Barriers;
use ptx_isa::{
    Function, Head, Module,
    flat::{Action, Flat, Library, Limits},
};

/// The functions that kernels of a module may call.
pub fn library(module: &Module) -> Library<'_> {
    Library::of(module)
}

/// The kernels of a module that have code.
pub fn kernels(module: &Module) -> impl Iterator<Item = &Function> {
    module.functions().filter(|function| function.body.is_some() && Head::read(&function.head).is_entry)
}

/// Whether a kernel has asynchronous operations that are not followed here: `analysis/hazards/` is about them.
pub fn is_asynchronous(library: &Library<'_>, kernel: &Function) -> bool {
    let flat = Flat::of(library, kernel, Limits::default());
    let barriers = Barriers::of(&flat);
    let is_such = |at: usize| matches!(flat.steps[at].action, Action::Asynchronous(..)) && !barriers.has(at);
    (0..flat.steps.len()).any(is_such)
}
