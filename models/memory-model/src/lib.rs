//! The memory consistency models of PTX and of scoped C++, executable: all outcomes of a program, a witness of each
//! outcome, and for a forbidden outcome the axiom that forbids it, with a cycle.
//!
//! ```
//! use ptx_memory_model::{
//!     litmus::Litmus,
//!     outcome::{Layout, Limits},
//!     ptx::{Conventions, explain::{Explanation, explain}, search},
//! };
//!
//! let litmus = Litmus::read(
//!     r#"PTX SB
//! { x=0; y=0; }
//!  P0@cta 0,gpu 0      | P1@cta 1,gpu 0       ;
//!  st.relaxed.gpu x, 1 | st.relaxed.gpu y, 1  ;
//!  fence.sc.gpu        | fence.sc.gpu         ;
//!  ld.relaxed.gpu r0, y | ld.relaxed.gpu r0, x ;
//! exists (P0:r0 == 0 /\ P1:r0 == 0)"#,
//! )?;
//! let outcomes = search::outcomes(&litmus.program, Conventions::MANUAL, Limits::default());
//! assert_eq!(outcomes.states.len(), 3);
//! assert_eq!(outcomes.holds(&litmus.condition, &Layout::new(&litmus.program)), Some(false));
//!
//! let why = explain(&litmus.program, &litmus.condition.formula, Conventions::MANUAL, Limits::default());
//! let Explanation::Forbidden(why) = why else { panic!("it is forbidden") };
//! let relations: Vec<_> = why.cycle.iter().map(|(_, relation)| *relation).collect();
//! assert_eq!((why.axiom.section(), &relations[..]), ("8.10.6", &["fr", "po", "sc", "po"][..]));
//! # Ok::<(), ptx_memory_model::litmus::Errors>(())
//! ```
//!
//! - A [`program::Program`] consists of threads of instructions over registers, with branches and loops. Its memory
//!   operations are PTX operations ([`ptx::Program`]) or C++ operations ([`source::Program`]). [`litmus`] reads and
//!   prints PTX programs, [`source::read`] reads C++ programs.
//! - [`ptx::search::outcomes`] and [`source::search::outcomes`] give all final states. A state is a row of values; a
//!   [`outcome::Layout`] maps each value to its register or variable. If the search reaches a bound of
//!   [`outcome::Limits`], [`outcome::Outcomes::unknown`] names the bound, and a verdict that depends on it is `None`.
//! - [`ptx::search::witness`] and [`ptx::explain::explain`] give an [`execution::Execution`]: events, program order,
//!   reads-from, coherence order, Fence-SC order, barriers and values. [`ptx::axioms::Judged`] adds synchronization,
//!   observation and causality.
//! - Threads may also run on the host, x86-64 or AArch64: [`host`].
//! - [`ptx::search::race`] finds a data race. Asynchronous operations, mbarriers and tensor memory are in
//!   [`ptx::asynchronous`]; the questions that the manual leaves open about them are in [`ptx::readings`].
//!
//! Inside the crate, [`unfold`] turns threads into paths, [`execution`] holds the events of the paths, and the searches
//! choose the write that each read returns.
//!
//! Not modelled: operations that overlap partially, texture and surface accesses beyond their ordering by proxies, and
//! copies to several CTAs at once. If there is no definite answer, [`outcome::Outcomes::verdict`] gives the reason.

#![warn(missing_docs)]

pub mod asynchronous;
mod barrier;
pub mod condition;
pub mod execution;
mod flow;

pub mod kernel;
mod layout;
mod limit;
pub mod litmus;
pub mod multimem;
pub mod operand;
pub mod outcome;
pub mod place;
pub mod program;
pub mod ptx;
pub mod relation;
pub mod report;
pub mod source;
pub mod states;
mod thin_air;
pub mod unfold;

pub use self::ptx::host;
