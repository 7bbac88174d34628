//! What is said of all files together.

use std::fmt::{self, Display, Formatter};

use ptx_atomics::llvm::Diagnostic;
use ptx_hazards::Report;

use super::{
    kernels::Checked,
    placed::{Level, Placed},
};

/// What is known of all files.
#[derive(Default)]
pub struct Summary {
    kernels: usize,
    synchronizations: usize,
    unchecked: usize,
    wrong: usize,
    possible: usize,
    /// How many findings are those of the baseline, and how many of the baseline there were not.
    pub known: Option<(usize, usize)>,
    /// What kept a file, or a part of it, from being checked.
    pub errors: Vec<Diagnostic>,
}

impl Summary {
    pub fn add(&mut self, kernels: &[Checked]) {
        self.kernels += kernels.len();
        for Checked { report: Report { synchronizations, unchecked, .. }, .. } in kernels {
            self.synchronizations += synchronizations;
            self.unchecked += unchecked;
        }
    }

    pub fn count(&mut self, findings: &[Placed]) {
        let of = |level| findings.iter().filter(|placed| placed.level == level).count();
        self.wrong += of(Level::Error);
        self.possible += of(Level::Possible);
    }

    /// Whether there is no error; with `is_strict`, nothing that is possible either.
    pub fn is_right(&self, is_strict: bool) -> bool {
        self.wrong == 0 && self.errors.is_empty() && !(is_strict && self.possible > 0)
    }
}

impl Display for Summary {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { kernels, synchronizations, unchecked, wrong, possible, known, .. } = self;
        let s = |count: usize| if count == 1 { "" } else { "s" };
        write!(f, "{kernels} kernel{}, {synchronizations} synchronization{}", s(*kernels), s(*synchronizations))?;
        write!(f, ": {wrong} error{}, {possible} possible, {unchecked} not checked", s(*wrong))?;
        known.map_or(Ok(()), |(known, left)| write!(f, "; of the baseline {known} are there and {left} are not"))
    }
}
