//! Asks the memory model about a test.

use crate::{
    outcome::{Layout, Limits},
    ptx::{
        Conventions,
        search::{self, Decision},
    },
    unfold::Limit,
};
use ptx_isa::Instant;

use crate::report::{
    answer::{Answer, OutcomeCount, TestReport},
    orderings,
    print::{self, DrawnExecution, show},
    race::{self, DataRace},
    subject::Subject,
};

/// The maximum number of choices for the enumeration of all final states. Beyond it, only the condition is decided.
const COUNTED: u64 = 200_000;

/// The question about tests, with its options.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// The conventions of the model.
    pub conventions: Conventions,
    /// The bounds of the search.
    pub limits: Limits,
    /// The maximum number of outcomes in the text.
    pub outcomes: Option<usize>,
    /// Whether the text shows an execution.
    pub explain: bool,
    /// Whether an execution is drawn.
    pub draw: bool,
    /// Whether to look for weaker orderings and scopes.
    pub minimize: bool,
}

impl Question {
    /// The answers to the tests of a file.
    pub fn ask(self, subjects: Vec<Subject>) -> Vec<TestReport> {
        let Self { conventions, limits, .. } = self;
        let weaker = self.minimize.then(|| {
            let all: Vec<&Subject> = subjects.iter().collect();
            orderings::minimized(&all, conventions, limits)
        });
        let mut answers: Vec<TestReport> = subjects.into_iter().map(|subject| self.ask_one(subject)).collect();
        // The weaker orderings concern all tests of the file, and follow the last answer.
        if let (Some(last), Some(weaker)) = (answers.last_mut(), weaker) {
            last.text += &print::weaker(&weaker);
            last.answer.weaker = Some(weaker);
        }
        answers
    }

    fn ask_one(self, subject: Subject) -> TestReport {
        let Self { conventions, limits, .. } = self;
        let litmus = &subject.litmus;

        let start = Instant::now();
        // The time limit is for the verdict as a whole, even if it takes several searches.
        let left = || Limits { time: limits.time.map(|time| time.saturating_sub(start.elapsed())), ..limits };
        // If there are many final states, the condition is decided without them.
        let counted =
            if self.outcomes.is_some() { limits } else { Limits { choices: limits.choices.min(COUNTED), ..limits } };
        let outcomes = search::outcomes(&litmus.program, conventions, counted);
        let verdict = outcomes.verdict(&litmus.condition, &Layout::new(&litmus.program));
        let found = match verdict {
            Err(limit) if limit == Limit::States || limit == Limit::Choices && counted != limits => {
                search::decide(&litmus.program, &litmus.condition, conventions, left())
            }
            verdict => Decision { verdict, candidates: 0, execution: None },
        };
        // If there is a data race, or may be one, the condition is not known to hold.
        let (race, found) = match race::find_race(&subject, conventions, left()) {
            Ok(race) => (race, found),
            Err(limit) => (None, Decision { verdict: Err(limit), ..found }),
        };
        let known = if race.is_some() { Err(Limit::Hangs) } else { found.verdict };
        let counted = Limits { choices: limits.choices.min(COUNTED), ..left() };
        let strengthened = search::strengthened(&litmus.program, &litmus.condition, known, conventions, counted);
        let mut answer = Answer {
            file: subject.file.clone(),
            name: litmus.name.clone(),
            holds: if race.is_some() { Some(false) } else { found.verdict.ok() },
            race: race.as_ref().map(|race| DataRace::new(&subject, race, conventions)),
            outcomes: (!matches!(outcomes.unknown, Some(Limit::Choices | Limit::States)))
                .then(|| outcomes.states.len()),
            found: OutcomeCount { outcomes: outcomes.states.len(), all: outcomes.unknown.is_none() },
            candidates: outcomes.candidates + found.candidates,
            time: start.elapsed(),
            unknown: found.verdict.err().filter(|_| race.is_none()),
            strengthened,
            weaker: None,
            remedies: Vec::new(),
        };
        let shown = (self.explain || self.draw).then(|| match (&race, &answer.race) {
            (Some(race), Some(known)) => DrawnExecution::race(&subject, race, known, conventions),
            _ => show(&subject, &found, conventions, limits),
        });
        let mut text = print::heading(&answer, &subject, conventions, limits);
        if let Some(most) = self.outcomes {
            text += &print::outcomes(litmus, &outcomes, most);
        }
        if let Some(shown) = shown.as_ref().filter(|_| self.explain) {
            text += &print::execution(shown);
        }
        if subject.compiled.is_some() && found.verdict == Ok(false) {
            answer.remedies = orderings::remedies(&subject, conventions, limits);
            text += &print::remedies(&answer.remedies);
        }
        let diagram = shown.and_then(|DrawnExecution { diagram, .. }| diagram);
        TestReport { answer, text, diagram, warnings: subject.warnings }
    }
}
