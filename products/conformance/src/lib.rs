//! A suite with every atomic and fence of LLVM, for any compiler that produces PTX.
//!
//! A [`Suite`] knows only the command line of a compiler. It passes functions to the compiler, and judges the PTX by
//! its instructions, by each installed ptxas, and by the values that an interpreter computes. A [`Cell`] is one
//! function; [`Language::cells`] returns the functions of a language.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use ptx_isa::assembler::Assembler;
//! use ptx_atomics_conformance::{Compiler, Language, Suite, Template, Grade};
//! use ptx_lowering::Target;
//!
//! let target = Target::new("sm_90".parse()?, Some("ptx88".parse()?))?;
//! let words = ["llc", "-mcpu={sm}", "-mattr=+{ptx}", "{input}", "-o", "{output}"];
//! let command = Template::new(words.map(str::to_owned))?;
//! let compiler = Compiler { command, language: Language::Llvm, timeout: Duration::from_secs(60) };
//! let suite = Suite { compiler, assemblers: Assembler::find_installed().to_vec(), batch: 64, jobs: 2 };
//! for outcome in suite.run(&target, &Language::Llvm.cells(&target, 22), |_| {})? {
//!     if outcome.verdict != Grade::Right {
//!         println!("{}: {}", outcome.cell.name, outcome.said.join("; "));
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_docs)]

pub mod backend;
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
    baseline::{Baseline, BaselineError},
    cell::{Cell, Form},
    command::{Failure, Template, TemplateError},
    compile::Compiler,
    language::Language,
    reproduce::reproduce,
    suite::{Outcome, Suite},
    svg::svg,
    values::Values,
    verdict::{Grade, Standing},
};
