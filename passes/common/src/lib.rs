//! The parts that the passes over LLVM IR and over MLIR share.
//!
//! Both passes find operations in a module, ask `ptx-lowering` for sequences, and embed these. This crate has the
//! common parts: the input ([`Input`]), the options ([`Options`], and [`Settings`] as text), the messages ([`Errors`],
//! [`remarks`]), and the handling of an operation ([`operation`], [`memory`], [`address_space`]). LLVM is not needed.
//!
//! ```
//! use ptx_atomics_common::Settings;
//!
//! let mut settings = Settings::default();
//! settings.override_with("mcpu=sm_90,strategy=fence", "the command line")?;
//! let options = settings.options(settings.target(None, None)?);
//! assert_eq!(options.target.sm.name(), "sm_90");
//!
//! let errors = settings.override_with("strategy=fast,cpu=1", "the command line").unwrap_err();
//! assert_eq!(errors.to_string().lines().count(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_docs)]

pub mod address_space;
pub mod assembly;
pub mod backend;
pub mod callee;
pub mod cluster;
mod condition;
mod fp_atomics;
#[cfg(feature = "helper")]
pub mod helper;
mod input;
pub mod intrinsics;
pub mod marker;
pub mod memory;
mod message;
pub mod needs;
pub mod operation;
mod options;
pub mod remarks;
pub mod settings;

pub use self::{
    condition::Condition,
    fp_atomics::FpChoice,
    input::Input,
    message::{Diagnostic, Errors, Location, Outcome, Remark, each},
    options::{AsyncMode, Embed, Options},
    settings::Settings,
};
