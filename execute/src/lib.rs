//! Runs kernels on the CPU, and finds every data race that the execution has.

mod access;
mod asynchronous;
mod barrier;
mod clock;
mod code;
mod collective;
mod device;
mod exec;
mod finding;
mod launch;
mod machine;
mod memory;
mod outside;
mod random;
mod report;
mod shadow;
mod sync;
mod warp;

pub use self::{
    launch::{Argument, Buffer, Contents, Device, Dim3, Launch, LaunchError, Options, Schedule},
    report::{Finding, FindingKind, Note, Report, Site, SourceLine},
};

/// What a tensor map says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorMap;

impl TensorMap {
    fn encode(&self, _address: u64) -> Vec<u8> {
        Vec::new()
    }
}
