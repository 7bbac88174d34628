//! The order of PTX against the IR from which it was compiled. The IR reader makes the judgement; this module has its
//! data and its findings.

use ptx_hazards::Cause;
use ptx_isa::{InstPlace, Text};
use ptx_judge::{Loss, Note};
use serde::{Deserialize, Serialize};
use strum::EnumMessage;

use crate::{
    evidence::{Evidence, Looked, Open, Why},
    finding::{Finding, Operation, Site},
    question::Question,
    report::{Answer, Verdict},
    rule::Rule,
    severity::{Assessed, Severity},
};

/// The operations of an IR, and the fate of each in the PTX.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judged {
    /// The operations, in the order of the source, and effects of the PTX that no operation asks for.
    pub operations: Vec<Judgement>,
    /// Functions whose PTX has atomics that the IR lacks, with their lines.
    pub strange: Vec<(String, Vec<u32>)>,
}

/// An operation of the IR, or an effect of the PTX, and its fate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// The function.
    pub function: String,
    /// The operation in words; empty for an effect that no operation asks for.
    pub operation: String,
    /// The file, the line and the column of the source.
    pub place: Option<(String, u32, u32)>,
    /// The fate.
    pub fate: Fate,
    /// The reasons of a loss, in words.
    pub reasons: Vec<String>,
    /// The notes of the judge, by their names.
    pub notes: Vec<String>,
    /// Whether the assembler may not keep the order of the PTX.
    pub is_misplaced: bool,
    /// Whether the operation is kept only up to the permitted changes of the optimizer.
    pub is_optimized: bool,
    /// The lines of the PTX that implement the operation.
    pub lines: Vec<u32>,
}

/// The fate of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Fate {
    /// Every property is kept.
    Kept,
    /// A property is lost; the worst loss.
    Lost(#[serde(with = "loss")] Loss),
    /// The PTX lacks the function, and need not have it: it may have been inlined.
    NotJudged,
}

pub(crate) mod loss {
    use ptx_judge::Loss;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(loss: &Loss, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(loss.into())
    }

    pub fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Loss, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

impl Fate {
    /// The machine-readable word: `right`, `not-judged`, or the name of the loss.
    pub fn word(self) -> &'static str {
        match self {
            Self::Kept => "right",
            Self::Lost(loss) => loss.into(),
            Self::NotJudged => "not-judged",
        }
    }
}

impl Judgement {
    /// Whether the judgement is about an operation, and not about an effect.
    pub fn is_operation(&self) -> bool {
        !self.operation.is_empty()
    }

    /// The loss in words.
    pub fn message(&self) -> String {
        let summary = match self.fate {
            Fate::Lost(loss) => loss.get_message().unwrap_or_default(),
            Fate::Kept | Fate::NotJudged => "",
        };
        format!("{summary}: {}", self.reasons.join(", "))
    }

    /// The finding about the operation, if there is one.
    fn finding(&self) -> Option<Finding> {
        let open = Evidence::Open(Open { why: Why::Unknown(Cause::Code), looked: Looked::No });
        let (rule, assessed, message, evidence) = match self.fate {
            Fate::Lost(loss) => (Some(Rule::Order(loss)), Assessed::ERROR, self.message(), Evidence::Proof),
            Fate::Kept if self.is_misplaced => {
                let note = Note::Misplaced.get_message().unwrap_or_default();
                let message = format!("the PTX keeps the ordering, but {note}");
                (Some(Rule::Misplaced), Assessed::TOLERATED, message, Evidence::Proof)
            }
            Fate::Kept => return None,
            Fate::NotJudged => (None, Assessed::NOTE, "not checked: the PTX has no such function".to_owned(), open),
        };
        let Assessed { severity, is_tolerated } = assessed;
        Some(Finding {
            question: Question::Order,
            rule,
            severity,
            is_tolerated,
            sites: self.lines.iter().map(|line| Site { at: InstPlace::line(*line), thread: None }).collect(),
            operation: Some(Operation { text: self.operation.clone(), place: self.place.clone() }),
            message: Text::new(message),
            evidence,
            remedy: None,
            explanation: None,
            allowed: None,
        })
    }
}

impl Judged {
    /// The operations, without effects that no operation asks for.
    pub fn operations(&self) -> impl Iterator<Item = &Judgement> {
        self.operations.iter().filter(|judgement| judgement.is_operation())
    }

    /// The number of operations whose fate satisfies a predicate.
    pub fn count(&self, is: impl Fn(Fate) -> bool) -> usize {
        self.operations().filter(|judgement| is(judgement.fate)).count()
    }

    /// Whether no judged operation has a loss, and the PTX has no effect that no operation asks for.
    pub fn is_kept(&self) -> bool {
        self.operations.iter().all(|judgement| !matches!(judgement.fate, Fate::Lost(_)))
    }

    /// The functions, in the order of the source.
    pub(crate) fn functions(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for judgement in &self.operations {
            if !names.contains(&&*judgement.function) {
                names.push(&judgement.function);
            }
        }
        names
    }

    /// The answer for a function, with the findings.
    pub(crate) fn answer(&self, function: &str) -> (Answer, Vec<Finding>) {
        let own = || self.operations.iter().filter(|judgement| judgement.function == function);
        let findings: Vec<Finding> = own().filter_map(Judgement::finding).collect();
        let open = own().filter(|judgement| judgement.fate == Fate::NotJudged).count();
        let answer = Answer {
            question: Question::Order,
            verdict: Verdict::from_findings(Question::Order, findings.iter()),
            assumptions: Vec::new(),
            is_stopped: false,
            counts: (own().filter(|judgement| judgement.is_operation()).count(), open),
        };
        debug_assert!(findings.iter().all(|finding| finding.severity != Severity::Error || finding.rule.is_some()));
        (answer, findings)
    }
}
