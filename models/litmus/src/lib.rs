//! What is said and drawn of litmus tests of PTX: verdicts, outcomes, executions and data races, as the command and the page in
//! the browser have them.
//!
//! A [`Subject`] is a test and where it comes from, [`ask`](Question::ask) answers it.

mod answer;
mod ask;
mod columns;
mod diagram;
mod dot;
mod finding;
mod orderings;
mod race;
mod report;
mod subject;
mod svg;

pub use answer::{Answer, TestReport};
pub use ask::Question;
pub use columns::columns;
pub use diagram::Diagram;
pub use dot::dot;
pub use finding::shown as of_finding;
pub use race::profile;
pub use report::{OUTCOMES, first_rows, text, why, word};
pub use subject::Subject;
pub use svg::svg;
