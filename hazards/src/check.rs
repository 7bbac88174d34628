//! The check of one kernel.

use ptx_memory_model::ptx::readings::Readings;

use crate::{finding::Report, kernel::Kernel};

/// What is wrong with a kernel, as the readings have it.
pub fn check(_kernel: &Kernel, _readings: Readings) -> Report {
    Report::default()
}
