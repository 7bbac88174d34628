//! Terms over the values of GPU threads, and a solver of conditions on them.
//!
//! [`term::Terms`] stores and simplifies bit-vector terms, [`solve::solve`] translates conditions to clauses for a SAT
//! solver, and [`lemma`] adds facts about products that clauses derive slowly. Budgets limit the steps of the solver
//! and the number of clauses.
//!
//! ```
//! use ptx_isa::Stop;
//! use ptx_solver::{solve::{Answer, solve}, term::{LeafName, Shared, Terms}};
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
//! assert_eq!(solve(&terms, &[one[1], other[1], apart, meet], &mut 1000, &mut 10_000, &Stop::never()), Answer::Never);
//! ```

pub mod lemma;
pub mod solve;
pub mod term;
