//! Runs kernels on the CPU, and finds every data race that the execution has.

mod device;
mod launch;
mod report;

pub use self::{
    launch::{Argument, Buffer, Contents, Device, Dim3, Launch, LaunchError, Options, Schedule},
    report::{Finding, FindingKind, Note, Report, Site, SourceLine},
};

/// What a tensor map says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorMap;
