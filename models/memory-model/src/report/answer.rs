//! What came of one litmus test.

use std::time::Duration;

use crate::unfold::Limit;
use serde::{Serialize, Serializer};

use crate::report::{diagram::Diagram, orderings::Other, race::DataRace};

/// What is known of one test.
#[derive(Serialize)]
pub struct Answer {
    /// The path of the test, as the user gave it.
    pub file: String,
    /// The name in the header of the test.
    pub name: String,
    /// Whether the condition holds; `None` if that is not known.
    pub holds: Option<bool>,
    /// Asynchronous operations that nothing orders: with them, no condition holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub race: Option<DataRace>,
    /// `None` if the condition was decided without all of them.
    pub outcomes: Option<usize>,
    /// What the search tried: choices of all that is read, in each part of a test that it solves by itself.
    pub candidates: u64,
    #[serde(skip)]
    /// The verdict, with its evidence.
    pub found: Found,
    #[serde(rename = "ms", serialize_with = "milliseconds")]
    /// The time that the search took.
    pub time: Duration,
    /// Why it is not known.
    #[serde(skip)]
    pub unknown: Option<Limit>,
    /// What may be weaker, in all tests of the file together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weaker: Option<Vec<Other>>,
    /// What, each by itself, would make it hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remedies: Vec<Vec<Other>>,
}

/// The outcomes that a search came to.
pub struct Found {
    pub outcomes: usize,
    /// Whether there are no others.
    pub all: bool,
}

/// What is known, with what is printed and drawn of it.
pub struct TestReport {
    /// The answer as data.
    pub answer: Answer,
    /// The answer as text.
    pub text: String,
    /// The drawing of an execution, if the question asks for it.
    pub diagram: Option<Diagram>,
    /// What may be a mistake, with its place.
    pub warnings: Vec<String>,
}

fn milliseconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_micros() as f64 / 1e3)
}
