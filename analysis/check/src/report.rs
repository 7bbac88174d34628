//! The report of a check.

use ptx_races::assumption::Assumption;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr};

use crate::{finding::Finding, question::Question, rule::Rule, severity::Severity};

/// The report of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The kernels, and other functions with findings, in the order of the module.
    pub kernels: Vec<KernelReport>,
}

/// The report of a kernel, or of another function with findings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelReport {
    /// The name in the module.
    pub kernel: String,
    /// Whether the function is a kernel of the module, and not a device function.
    pub is_kernel: bool,
    /// Whether the size of a CTA is known.
    pub has_block: bool,
    /// The answers, in the order of the questions.
    pub answers: Vec<Answer>,
    /// The findings, the most certain first.
    pub findings: Vec<Finding>,
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The question.
    pub question: Question,
    /// The verdict.
    pub verdict: Verdict,
    /// The assumptions of the proof; empty without a proof.
    pub assumptions: Vec<Assumption>,
    /// Whether the time limit ended the work on the question early.
    pub is_stopped: bool,
    /// The number of synchronizations, or operations of the IR, that the answer covers, and the number of undecided
    /// ones among them.
    pub counts: (usize, usize),
}

/// The answer for one kernel and question.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Display, EnumString, IntoStaticStr, Serialize, Deserialize,
)]
#[strum(serialize_all = "kebab-case")]
#[non_exhaustive]
pub enum Verdict {
    /// The kernel has no fault, under the assumptions.
    Free,
    /// The ordering of an operation is lost.
    Lost,
    /// An asynchronous operation lacks a wait or a fence.
    Missing,
    /// Two threads race.
    Race,
    /// Not all threads reach a barrier.
    Divergent,
    /// Threads wait for an event that cannot come.
    Deadlock,
    /// The next phase of an mbarrier can end before a wait has observed the end of a phase.
    Lapped,
    /// Neither a proof nor a fault was found.
    Open,
    /// The question was not asked.
    #[strum(to_string = "not-asked")]
    NotAsked(NotAsked),
}

/// The reason why a question was not asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Display, Serialize, Deserialize)]
pub enum NotAsked {
    /// The user did not select the question.
    #[default]
    #[strum(to_string = "it is not selected")]
    NotSelected,
    /// No IR is available, against which the order is judged.
    #[strum(to_string = "the input has no IR")]
    NoIr,
    /// The proof of races does not follow asynchronous operations.
    #[strum(to_string = "asynchronous operations are not followed")]
    Asynchronous,
    /// The kernel has errors.
    #[strum(to_string = "the kernel has errors")]
    Damaged,
}

impl Verdict {
    /// The verdict from the findings of a question: the question's verdict for a fault if a finding is an error, and
    /// open if a finding may be one.
    pub(crate) fn from_findings<'f>(question: Question, findings: impl Iterator<Item = &'f Finding>) -> Self {
        let wrong = match question {
            Question::Order => Self::Lost,
            Question::Async => Self::Missing,
            Question::Races => Self::Race,
            Question::Barriers => Self::Divergent,
        };
        let of = |finding: &Finding| match finding.severity {
            Severity::Error => match finding.rule {
                Some(Rule::Deadlock) => Self::Deadlock,
                Some(Rule::Lapped) => Self::Lapped,
                _ => wrong,
            },
            _ if finding.is_possible() || finding.is_not_checked() || finding.launches().is_some() => Self::Open,
            _ => Self::Free,
        };
        findings.map(of).max_by_key(|verdict| verdict.rank()).unwrap_or(Self::Free)
    }

    fn rank(self) -> usize {
        [Self::Free, Self::Open].iter().position(|own| *own == self).unwrap_or(2)
    }
}

impl KernelReport {
    /// Adds a finding about the source of the kernel to the answer of its question.
    pub fn add(&mut self, finding: Finding) {
        let question = finding.question;
        self.findings.push(finding);
        self.findings.sort_by_key(Finding::rank);
        let verdict = Verdict::from_findings(question, self.findings.iter().filter(|own| own.question == question));
        let answers = self.answers.iter_mut().filter(|answer| answer.question == question);
        answers.filter(|answer| answer.verdict == Verdict::Free).for_each(|answer| answer.verdict = verdict);
    }

    /// Adds the report of the same kernel in another launch. Of a finding that both have, the more certain remains, and of
    /// a verdict the worse.
    pub(crate) fn merge(&mut self, other: Self) {
        for finding in other.findings {
            let key = |of: &Finding| (of.rule, of.question, of.sites.iter().map(|site| site.at).collect::<Vec<_>>());
            match self.findings.iter_mut().find(|own| key(own) == key(&finding)) {
                Some(own) if finding.rank() < own.rank() => *own = finding,
                Some(_) => {}
                None => self.findings.push(finding),
            }
        }
        for answer in other.answers {
            let Some(own) = self.answers.iter_mut().find(|own| own.question == answer.question) else {
                self.answers.push(answer);
                continue;
            };
            if answer.verdict.rank() > own.verdict.rank() {
                own.verdict = answer.verdict;
            }
            own.assumptions.extend(answer.assumptions);
            own.assumptions.sort_unstable();
            own.assumptions.dedup();
            own.is_stopped |= answer.is_stopped;
            own.counts = (own.counts.0.max(answer.counts.0), own.counts.1.max(answer.counts.1));
        }
    }

    /// The answer to a question.
    pub fn answer(&self, question: Question) -> Option<&Answer> {
        self.answers.iter().find(|answer| answer.question == question)
    }

    /// The verdict on a question.
    pub fn verdict(&self, question: Question) -> Verdict {
        self.answer(question).map_or(Verdict::NotAsked(NotAsked::NotSelected), |answer| answer.verdict)
    }
}

impl Report {
    /// Whether the time limit ended the work on a question early.
    pub fn is_stopped(&self) -> bool {
        self.kernels.iter().flat_map(|kernel| &kernel.answers).any(|answer| answer.is_stopped)
    }

    /// All findings.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.kernels.iter().flat_map(|kernel| &kernel.findings)
    }
}
