//! Data races of asynchronous operations, as they are reported.

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

/// Two operations that nothing orders, and what would order them.
#[derive(Serialize)]
pub struct DataRace {
    pub first: RacingInstruction,
    pub second: RacingInstruction,
    /// What would be needed.
    pub needed: &'static str,
    /// Of the PTX manual.
    pub section: &'static str,
    /// How the manual is read where it leaves room.
    pub profile: String,
}

/// An instruction of the test.
#[derive(Serialize)]
pub struct RacingInstruction {
    pub thread: String,
    /// In the test; of a kernel, in its PTX.
    pub line: Option<usize>,
    pub instruction: String,
}

/// The data race of a test that has asynchronous operations; nothing of others.
pub fn of(subject: &Subject, conventions: Conventions, limits: Limits) -> Result<Option<Race>, Limit> {
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

    /// What is wrong, in sentences without the last full stop.
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

/// The profile, and the questions that are read otherwise.
pub fn profile(readings: Readings) -> String {
    let others =
        |of: Readings| Ambiguity::iter().filter(move |question| of.reading(*question) != readings.reading(*question));
    let strict = others(Readings::STRICT).count() < others(Readings::DEFAULT).count();
    let (name, nearest) = if strict { ("strict", Readings::STRICT) } else { ("default", Readings::DEFAULT) };
    let others = others(nearest).map(|of| format!(", {}={}", of.question().name, readings.reading(of)));
    std::iter::once(name.to_owned()).chain(others).collect()
}
