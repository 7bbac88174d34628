//! The answer for one litmus test.

use std::time::Duration;

use crate::unfold::Limit;
use serde::{Serialize, Serializer};

use crate::report::{diagram::Diagram, orderings::Other, race::DataRace};

/// The answer for one test.
#[derive(Serialize)]
pub struct Answer {
    /// The path of the test, as the user gave it.
    pub file: String,
    /// The name in the header of the test.
    pub name: String,
    /// Whether the condition holds; `None` if the search did not decide it.
    pub holds: Option<bool>,
    /// Conflicting asynchronous operations without an order: in the presence of such a race, no condition holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub race: Option<DataRace>,
    /// The number of outcomes; `None` if the condition was decided without all of them.
    pub outcomes: Option<usize>,
    /// The number of choices that the search tried: sources of all reads, in each part of a test that is solved
    /// separately.
    pub candidates: u64,
    #[serde(skip)]
    /// The verdict, with its evidence.
    pub found: OutcomeCount,
    #[serde(rename = "ms", serialize_with = "milliseconds")]
    /// The time that the search took.
    pub time: Duration,
    /// The reason why the verdict is unknown.
    #[serde(skip)]
    pub unknown: Option<Limit>,
    /// The verdict of the strengthened model, if PTX allows an outcome that it forbids.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strengthened: Option<bool>,
    /// The orderings that may be weaker, in all tests of the file together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weaker: Option<Vec<Other>>,
    /// The remedies. Each of them makes the test hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remedies: Vec<Vec<Other>>,
}

/// The outcomes that a search found.
pub struct OutcomeCount {
    pub outcomes: usize,
    /// Whether these are all outcomes.
    pub all: bool,
}

/// The answer, with its text and its drawing.
pub struct TestReport {
    /// The answer as data.
    pub answer: Answer,
    /// The answer as text.
    pub text: String,
    /// The drawing of an execution, if the question asks for it.
    pub diagram: Option<Diagram>,
    /// Warnings about possible mistakes, with their positions.
    pub warnings: Vec<String>,
}

fn milliseconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_micros() as f64 / 1e3)
}
