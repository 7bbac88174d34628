//! What came of one litmus test.

use std::time::Duration;

use ptx_memory_model::unfold::Limit;
use serde::{Serialize, Serializer};

use crate::{diagram::Diagram, orderings::Other, race::DataRace};

/// What is known of one test.
#[derive(Serialize)]
pub struct Answer {
    pub file: String,
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
    pub found: Found,
    #[serde(rename = "ms", serialize_with = "milliseconds")]
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
    pub answer: Answer,
    pub text: String,
    pub diagram: Option<Diagram>,
    /// What may be a mistake, with its place.
    pub warnings: Vec<String>,
}

fn milliseconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_micros() as f64 / 1e3)
}
