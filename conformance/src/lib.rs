//! Every atomic and fence there is, as a suite for any compiler that makes PTX.
#![warn(missing_docs)]

mod baseline;
pub mod cell;
mod command;
mod compile;
mod execute;
mod language;
pub mod llvm_ir;
pub mod reference;
pub mod report;
mod reproduce;
mod suite;
mod svg;
mod values;
mod verdict;

pub use self::{
    baseline::{Baseline, BaselineError, Standing},
    cell::Cell,
    command::{Failure, Template, TemplateError},
    compile::Compiler,
    language::Language,
    reproduce::reproduce,
    suite::{Outcome, Suite},
    svg::svg,
    values::Values,
    verdict::Verdict,
};
