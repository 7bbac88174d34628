//! A finding: one thing that a check reports.

use ptx_execute::Remedy as Executed;
use ptx_hazards::Cause;
use ptx_isa::{Dim3, InstPlace, Text};
use ptx_races::remedy::Remedy as Tried;
use serde::{Deserialize, Serialize};

use crate::{
    evidence::{Evidence, Open, Why, Witness},
    question::Question,
    rule::Rule,
    severity::Severity,
};

/// One thing that a check reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The question that it answers.
    pub question: Question,
    /// The rule; none where a part of the kernel is not checked.
    pub rule: Option<Rule>,
    /// The severity.
    pub severity: Severity,
    /// Whether kernels are known to run with it: the manual demands more.
    pub is_tolerated: bool,
    /// The instructions: of two accesses the first one first. None where the PTX has none.
    pub sites: Vec<Site>,
    /// The operation of the source, if the finding is about one.
    pub operation: Option<Operation>,
    /// The fault, or why a part is not checked.
    pub message: Text,
    /// The evidence.
    pub evidence: Evidence,
    /// An edit that removes it.
    pub remedy: Option<Remedy>,
    /// A litmus test of it with an execution, if asked for.
    pub explanation: Option<String>,
    /// The reason why the source allows it.
    pub allowed: Option<String>,
}

/// An instruction of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Site {
    /// The instruction.
    pub at: InstPlace,
    /// The thread in its CTA and the CTA in the grid, in an execution.
    pub thread: Option<(Dim3, Dim3)>,
}

/// An operation of the source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// The operation in words of its language; empty where there are none.
    pub text: String,
    /// The file, the line and the column.
    pub place: Option<(String, u32, u32)>,
}

/// An edit that removes a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Remedy {
    /// Insertions into the text, in words and as edits.
    Insert {
        /// The remedy in words of PTX.
        help: String,
        /// The edits; none where it takes more than insertions.
        edits: Vec<Edit>,
    },
    /// An order in the terms of an execution.
    Executed {
        /// The remedy in words of PTX.
        help: String,
        /// The same as the execution has it.
        remedy: Executed,
    },
    /// Changes that a proof has tried.
    Tried(Tried),
}

/// An edit of the text of PTX.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    /// The instruction beside which, or instead of which, the new instruction stands.
    pub at: InstPlace,
    /// On which side.
    pub side: Side,
    /// The new instruction, without its semicolon.
    pub instruction: String,
}

/// The side of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::Display, Serialize, Deserialize)]
#[strum(serialize_all = "kebab-case")]
pub enum Side {
    /// Before it.
    Before,
    /// After it.
    After,
    /// Instead of it.
    InPlace,
}

impl Edit {
    /// The lines that it takes away, and before which it stands: from the first line to the line before the second line.
    pub fn lines(&self) -> [u32; 2] {
        let line = self.at.line;
        match self.side {
            Side::Before => [line; 2],
            Side::After => [line + 1; 2],
            Side::InPlace => [line, line + 1],
        }
    }
}

impl Finding {
    /// The execution that shows it.
    pub fn witness(&self) -> Option<&Witness> {
        match &self.evidence {
            Evidence::Witness(witness) => Some(witness),
            Evidence::Proof | Evidence::Open(_) => None,
        }
    }

    /// The reason why it is open.
    pub fn open(&self) -> Option<&Open> {
        match &self.evidence {
            Evidence::Open(open) => Some(open),
            Evidence::Proof | Evidence::Witness(_) => None,
        }
    }

    /// The fact that is not known, if that is why it is open.
    pub fn cause(&self) -> Option<&Cause> {
        match &self.open()?.why {
            Why::Unknown(cause) => Some(cause),
            _ => None,
        }
    }

    /// Whether it says that a part of the kernel is not checked.
    pub fn is_not_checked(&self) -> bool {
        self.severity == Severity::Note && self.open().is_some()
    }

    /// Whether it may be a fault: nothing excludes it, and too little shows it.
    pub fn is_possible(&self) -> bool {
        self.severity == Severity::Warning && !self.is_tolerated
    }

    /// Whether it may be a fault, and nothing shows it.
    pub fn is_unproved(&self) -> bool {
        self.is_possible() && self.open().is_some()
    }

    /// Whether a check fails with it; `is_strict` is for a check that fails with everything that may be a fault.
    pub fn fails(&self, is_strict: bool) -> bool {
        let is_fault = self.severity == Severity::Error || is_strict && self.is_possible();
        is_fault && self.allowed.is_none()
    }

    /// The site where it shows: the last one.
    pub fn site(&self) -> Option<Site> {
        self.sites.last().copied()
    }

    /// How certain it is, for an order: an error by a proof first, an open finding last.
    pub fn rank(&self) -> (Severity, u8) {
        let evidence = match &self.evidence {
            Evidence::Proof => 0,
            Evidence::Witness(witness) => 1 + u8::from(!witness.is_certain()),
            Evidence::Open(_) => 3,
        };
        (self.severity, evidence)
    }
}
