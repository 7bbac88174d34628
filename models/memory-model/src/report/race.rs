//! Reports of data races of asynchronous operations.

use crate::{
    outcome::Limits,
    ptx::{
        Conventions,
        asynchronous::is_asynchronous,
        axioms::Cycle,
        race::Race,
        readings::{Ambiguity, Readings},
        search,
    },
    unfold::Limit,
};
use serde::Serialize;
use strum::IntoEnumIterator;

use crate::report::{diagram::Diagram, subject::Subject};

/// Two operations without an order, and the missing condition for an order.
#[derive(Serialize)]
pub struct DataRace {
    pub first: RacingInstruction,
    pub second: RacingInstruction,
    /// The missing condition.
    pub needed: &'static str,
    /// The section of the PTX manual.
    pub section: &'static str,
    /// The readings of the ambiguities in the manual.
    pub profile: String,
}

/// An instruction of the test.
#[derive(Serialize)]
pub struct RacingInstruction {
    pub thread: String,
    /// The line in the test; for a kernel, in its PTX.
    pub line: Option<usize>,
    pub instruction: String,
}

/// The data race of a test with asynchronous operations; `None` for a test without such operations.
pub fn find_race(subject: &Subject, conventions: Conventions, limits: Limits) -> Result<Option<Race>, Limit> {
    let program = &subject.litmus.program;
    if is_asynchronous(program) { search::race(program, conventions, limits) } else { Ok(None) }
}

impl DataRace {
    pub fn new(subject: &Subject, race: &Race, conventions: Conventions) -> Self {
        let place = |event: usize| {
            let event = &race.execution.skeleton.events[event];
            let thread = event.thread.unwrap_or_default();
            RacingInstruction {
                thread: subject.thread(thread),
                line: subject.number(thread, event.statement),
                instruction: subject.instruction(thread, event.statement).unwrap_or_default(),
            }
        };
        Self {
            first: place(race.first),
            second: place(race.second),
            needed: race.why.needed(),
            section: race.why.section(),
            profile: profile(conventions.readings),
        }
    }

    /// The description of the race, in sentences without the last full stop.
    pub fn caption(&self) -> String {
        let place = |RacingInstruction { thread, line, instruction }: &RacingInstruction| {
            let line = line.map(|line| format!(", line {line}")).unwrap_or_default();
            format!("{instruction} ({thread}{line})")
        };
        format!(
            "{} and {} have a data race. Their order needs {} (section {} of the PTX manual, profile {})",
            place(&self.first),
            place(&self.second),
            self.needed,
            self.section,
            self.profile
        )
    }
}

/// The execution that has the race.
pub fn diagram(subject: &Subject, race: &Race, conventions: Conventions, caption: String) -> Diagram {
    let both: Cycle = vec![(race.first, "race"), (race.second, "race")];
    Diagram::new(subject, &race.execution, conventions, caption, &both)
}

/// The profile, with the questions that have another reading.
pub fn profile(readings: Readings) -> String {
    let others =
        |of: Readings| Ambiguity::iter().filter(move |question| of.reading(*question) != readings.reading(*question));
    let strict = others(Readings::STRICT).count() < others(Readings::DEFAULT).count();
    let (name, nearest) = if strict { ("strict", Readings::STRICT) } else { ("default", Readings::DEFAULT) };
    let others = others(nearest).map(|of| format!(", {}={}", of.question().name, readings.reading(of)));
    std::iter::once(name.to_owned()).chain(others).collect()
}
