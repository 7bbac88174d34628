//! A finding: one problem that a check reports.

use ptx_execute::{Assumed, Remedy as Executed};
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

/// A problem that a check reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The question that the finding answers.
    pub question: Question,
    /// The rule; `None` if a part of the kernel is not checked.
    pub rule: Option<Rule>,
    /// The severity.
    pub severity: Severity,
    /// Whether kernels are known to run in spite of the finding: the manual demands more.
    pub is_tolerated: bool,
    /// The sites; of two accesses the first one comes first. Empty if the PTX has no such instruction.
    pub sites: Vec<Site>,
    /// The operation of the source, if the finding is about one.
    pub operation: Option<Operation>,
    /// The fault, or the reason why a part is not checked.
    pub message: Text,
    /// The evidence.
    pub evidence: Evidence,
    /// An edit that removes the finding.
    pub remedy: Option<Remedy>,
    /// A litmus test of the finding with an execution, if asked for.
    pub explanation: Option<String>,
    /// The reason why the source allows the finding.
    pub allowed: Option<String>,
}

/// An instruction, with its thread in an execution.
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
    /// The operation in the syntax of its language; empty if there is none.
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
        /// The edits; empty if insertions do not suffice.
        edits: Vec<Edit>,
    },
    /// A required ordering, in the terms of an execution.
    Executed {
        /// The remedy in words of PTX.
        help: String,
        /// The remedy in the form of the execution.
        remedy: Executed,
    },
    /// Changes that a proof has confirmed.
    Tried(Tried),
}

/// An edit of the text of PTX.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    /// The instruction that the edit replaces, or that is adjacent to the new instruction.
    pub at: InstPlace,
    /// The side of that instruction.
    pub side: Side,
    /// The new instruction, without its semicolon.
    pub instruction: String,
}

/// The side of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::Display, Serialize, Deserialize)]
#[strum(serialize_all = "kebab-case")]
pub enum Side {
    /// Before the instruction.
    Before,
    /// After the instruction.
    After,
    /// Instead of the instruction.
    InPlace,
}

impl Edit {
    /// The lines that the edit removes: from the first line to the line before the second line. The new instruction is
    /// placed before them.
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
    /// The execution that shows the finding.
    pub fn witness(&self) -> Option<&Witness> {
        match &self.evidence {
            Evidence::Witness(witness) => Some(witness),
            Evidence::Proof | Evidence::EverySchedule(_) | Evidence::AfterRepair(_) | Evidence::Open(_) => None,
        }
    }

    /// The reason why the finding is open.
    pub fn open(&self) -> Option<&Open> {
        match &self.evidence {
            Evidence::Open(open) => Some(open),
            Evidence::Proof | Evidence::EverySchedule(_) | Evidence::AfterRepair(_) | Evidence::Witness(_) => None,
        }
    }

    /// The unknown fact, if that is the reason why the finding is open.
    pub fn cause(&self) -> Option<&Cause> {
        match &self.open()?.why {
            Why::Unknown(cause) => Some(cause),
            _ => None,
        }
    }

    /// Whether the finding says that a part of the kernel is not checked.
    pub fn is_not_checked(&self) -> bool {
        self.severity == Severity::Note && self.open().is_some()
    }

    /// The launches, if no schedule of them shows the finding.
    pub fn launches(&self) -> Option<&[Assumed]> {
        match &self.evidence {
            Evidence::EverySchedule(launches) | Evidence::AfterRepair(launches) => Some(launches),
            Evidence::Proof | Evidence::Witness(_) | Evidence::Open(_) => None,
        }
    }

    /// Whether the finding is a possible fault: no proof excludes it, and the evidence is not sufficient.
    pub fn is_possible(&self) -> bool {
        self.severity == Severity::Warning && !self.is_tolerated
    }

    /// Whether the finding is a possible fault without a witness.
    pub fn is_unproved(&self) -> bool {
        self.is_possible() && self.open().is_some()
    }

    /// Whether a check fails with the finding; with `is_strict`, possible faults fail the check, too.
    pub fn fails(&self, is_strict: bool) -> bool {
        let is_fault = self.severity == Severity::Error || is_strict && self.is_possible();
        is_fault && self.allowed.is_none()
    }

    /// The site at which the finding is shown: the last site.
    pub fn site(&self) -> Option<Site> {
        self.sites.last().copied()
    }

    /// The rank of the finding, for sorting: an error by a proof comes first, an open finding last.
    pub fn rank(&self) -> (Severity, u8) {
        let evidence = match &self.evidence {
            Evidence::Proof => 0,
            Evidence::Witness(witness) => 1 + u8::from(!witness.is_certain()),
            Evidence::EverySchedule(_) | Evidence::AfterRepair(_) => 3,
            Evidence::Open(_) => 4,
        };
        (self.severity, evidence)
    }
}
