//! What is said of all files together.

use std::fmt::{self, Display, Formatter};

use ptx_atomics::llvm::Diagnostic;
use ptx_hazards::{Report, Verdict};

use super::kernels::Checked;

/// What is known of all files.
#[derive(Default)]
pub struct Summary {
    kernels: usize,
    synchronizations: usize,
    unchecked: usize,
    wrong: usize,
    /// What kept a file, or a part of it, from being checked.
    pub errors: Vec<Diagnostic>,
}

impl Summary {
    pub fn add(&mut self, kernels: &[Checked]) {
        self.kernels += kernels.len();
        for Checked { report: Report { findings, synchronizations, unchecked }, .. } in kernels {
            self.synchronizations += synchronizations;
            self.unchecked += unchecked;
            self.wrong += findings.iter().filter(|finding| finding.verdict == Verdict::Wrong).count();
        }
    }

    pub fn is_right(&self) -> bool {
        self.wrong == 0 && self.errors.is_empty()
    }
}

impl Display for Summary {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { kernels, synchronizations, unchecked, wrong, .. } = self;
        let s = |count: usize| if count == 1 { "" } else { "s" };
        write!(f, "{kernels} kernel{}, {synchronizations} synchronization{}", s(*kernels), s(*synchronizations))?;
        write!(f, ": {wrong} wrong, {unchecked} not checked")
    }
}
