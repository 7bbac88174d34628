//! Reports and drawings of litmus tests of PTX: verdicts, outcomes, executions and data races, for the command and for
//! the page in the browser.
//!
//! A [`Subject`] is a test with its origin; [`ask`](Question::ask) answers a question about it.

mod answer;
mod ask;
mod diagram;
mod dot;
mod finding;
mod orderings;
mod print;
mod race;
mod subject;
mod svg;

pub use self::answer::{Answer, TestReport};
pub use self::ask::Question;
pub use self::diagram::Diagram;
pub use self::dot::dot;
pub use self::finding::draw_race as of_finding;
pub use self::print::{OUTCOMES, first_rows, text, why, word};
pub use self::race::profile;
pub use self::subject::Subject;
pub use self::svg::svg;
