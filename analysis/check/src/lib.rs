//! One check of the kernels of a module, and one report.
//!
//! [`Check::run`] asks [`Question`]s about each kernel: does the PTX keep the order of its IR, do its asynchronous
//! operations lack a wait or a fence, does it have data races, do all threads reach its barriers. The answers are in a
//! [`Report`]: a [`Verdict`] for each kernel and question, and [`Finding`]s with evidence. The same input has the same
//! report on every machine, because a [`Budget`] counts steps. A clock is only an emergency stop, and the report says
//! whether it ended the check.
//!
//! ```
//! use ptx_check::{Check, Question, Verdict};
//!
//! let ptx = "
//!     .version 8.0
//!     .target sm_90
//!     .address_size 64
//!     .visible .entry k() .reqntid 64 {
//!         .reg .b32 %r<2>;
//!         .shared .b32 word;
//!         mov.u32 %r1, %tid.x;
//!         st.shared.u32 [word], %r1;
//!         ret;
//!     }";
//! let module: ptx_isa::Module = ptx.parse()?;
//! let report = Check::new(&module).run();
//! assert_eq!(report.kernels[0].verdict(Question::Races), Verdict::Race);
//! assert_eq!(report.kernels[0].findings[0].rule.map(|rule| rule.name()), Some("R17"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_docs)]

mod allow;
mod asynchronous;
mod budget;
mod check;
mod evidence;
mod finding;
mod fitting;
mod inline;
pub mod json;
pub mod language;
pub mod order;
pub mod parallel;
mod question;
mod races;
mod report;
pub mod rewritten;
mod rule;
mod run;
mod schedules;
mod severity;
pub mod sources;
mod view;

pub use self::{
    budget::Budget,
    check::{Check, Launch},
    evidence::{Evidence, Looked, Mode, Open, Why, Witness},
    finding::{Edit, Finding, Operation, Remedy, Side, Site},
    inline::in_assembly,
    question::{Question, Questions},
    report::{Answer, KernelReport, NotAsked, Report, Verdict},
    rule::Rule,
    severity::Severity,
    view::{Document, Lines, View},
};
