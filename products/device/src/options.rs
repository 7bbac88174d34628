//! The options of `ptx-atomics exec`, which reach the library through an environment variable.

use std::{env, path::PathBuf};

use serde::{Deserialize, Serialize};

/// The environment variable with the options, as JSON.
pub const OPTIONS: &str = "PTX_ATOMICS_EXEC";
/// The environment variable with the GPU, such as `sm_90`.
pub const DEVICE: &str = "PTX_ATOMICS_DEVICE";

/// The options of an execution of a program. Without the environment variable, kernels compute values alone.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    /// The folder for the reports of the processes; `None` writes none.
    pub folder: Option<PathBuf>,
    /// Whether launches are checked for races.
    pub races: bool,
    /// Whether a launch is checked again if it repeats an earlier one: kernel, sizes and scalars.
    pub every: bool,
    /// The kernels that are checked: parts of their names. An empty list is all kernels.
    pub kernels: Vec<String>,
    /// The kernels that are not checked: parts of their names.
    pub skip: Vec<String>,
    /// The maximum work of a launch, in warp instructions.
    pub budget: u64,
    /// The maximum number of bytes of device memory. 0 is half of the memory of the machine.
    pub memory: u64,
    /// Whether the report has the arguments of each launch.
    pub record: bool,
    /// Whether the report has the contents of each buffer before its first launch.
    pub contents: bool,
    /// Whether long launches tell their progress on standard error.
    pub progress: bool,
}

/// The default limit of a launch, in warp instructions.
pub const BUDGET: u64 = 1 << 32;

impl Default for Options {
    fn default() -> Self {
        Self {
            folder: None,
            races: false,
            every: false,
            kernels: Vec::new(),
            skip: Vec::new(),
            budget: BUDGET,
            memory: 0,
            record: false,
            contents: false,
            progress: false,
        }
    }
}

impl Options {
    /// The options of this process.
    pub fn from_environment() -> Self {
        let text = env::var(OPTIONS).unwrap_or_default();
        let options = (!text.is_empty()).then(|| serde_json::from_str(&text));
        match options {
            Some(Ok(options)) => options,
            Some(Err(error)) => {
                crate::say::say(&format!("expected options as JSON in {OPTIONS}, found `{text}`: {error}"));
                Self::default()
            }
            None => Self::default(),
        }
    }

    /// Whether a kernel is checked.
    pub fn is_checked(&self, kernel: &str) -> bool {
        let has = |parts: &[String]| parts.iter().any(|part| kernel.contains(part));
        self.races && (self.kernels.is_empty() || has(&self.kernels)) && !has(&self.skip)
    }

    /// The maximum number of bytes of device memory.
    pub fn memory(&self) -> u64 {
        match self.memory {
            0 => machine_memory() / 2,
            memory => memory,
        }
    }
}

/// The bytes of memory of the machine.
fn machine_memory() -> u64 {
    // SAFETY: the calls take numbers.
    let [pages, size] = [libc::_SC_PHYS_PAGES, libc::_SC_PAGESIZE].map(|name| unsafe { libc::sysconf(name) });
    u64::try_from(pages).unwrap_or(1 << 20) * u64::try_from(size).unwrap_or(4096)
}
