//! The memory consistency models of PTX and of scoped C++, executable: every outcome of a program, a witness of each, and for
//! what is forbidden the axiom and a cycle.
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
//! - A [`program::Program`] is threads of instructions over registers, with branches and loops; its memory operations are
//!   those of PTX ([`ptx::Program`]) or of C++ ([`source::Program`]). [`litmus`] reads and prints the former,
//!   [`source::read`] reads the latter.
//! - [`ptx::search::outcomes`] and [`source::search::outcomes`] give all final states. A state is a row of values, of which a
//!   [`outcome::Layout`] knows whose they are. Where a bound of [`outcome::Limits`] is hit, [`outcome::Outcomes::unknown`] says
//!   which, and a verdict that hangs on it is `None`.
//! - [`ptx::search::witness`] and [`ptx::explain::explain`] give an [`execution::Execution`]: events, program order, reads-from,
//!   coherence, Fence-SC order, barriers and values. [`ptx::axioms::Judged`] adds synchronization, observation and causality.
//! - Threads may run on the host, x86-64 or AArch64: [`host`].
//! - [`ptx::search::race`] finds a data race. Asynchronous operations, mbarriers and tensor memory are in
//!   [`ptx::asynchronous`], and what the manual leaves open about them in [`ptx::readings`].
//!
//! Within: [`unfold`] makes paths of threads, [`execution`] events of paths, and the searches choose what is read from where.
//!
//! Outside of the models: operations that overlap in part, texture and surface accesses beyond what proxies order, and
//! copies to several CTAs at once. Where no definite answer can be given, [`outcome::Outcomes::verdict`] says why.

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
