//! The results of litmus tests, as text.

use crate::{
    condition::{Formula, Quantifier},
    execution::Execution,
    litmus::{self, Litmus},
    outcome::{Layout, Limits, Outcomes},
    program::{Location, Register, Value},
    ptx::{
        Conventions, Ptx,
        axioms::Cycle,
        explain::{Contradiction, Explanation, explain},
        race::Race,
        search::{self, Decision, Speculation},
    },
    unfold::Limit,
};

use ptx_isa::columns::columns;

use crate::report::{
    answer::{Answer, OutcomeCount, TestReport},
    diagram::{Diagram, Marked},
    orderings::{self, Other},
    race::{self, DataRace},
    subject::{Subject, source},
};

/// The execution that decides the condition.
pub struct DrawnExecution {
    /// The result for the outcome, in a sentence.
    caption: String,
    pub diagram: Option<Diagram>,
}

impl DrawnExecution {
    /// The execution that has a data race.
    pub fn race(subject: &Subject, race: &Race, known: &DataRace, conventions: Conventions) -> Self {
        let caption = known.caption();
        Self { diagram: Some(race::diagram(subject, race, conventions, caption.clone())), caption }
    }
}

/// The execution that has the outcome of the condition, or the violated axiom of an execution that would have it.
pub fn show(subject: &Subject, found: &Decision, conventions: Conventions, limits: Limits) -> DrawnExecution {
    let litmus = &subject.litmus;
    let Litmus { program, condition, .. } = litmus;
    let layout = Layout::new(program);
    let formula = match condition.quantifier {
        Quantifier::Forall => format!("~({})", litmus.formula()),
        Quantifier::Exists | Quantifier::NotExists => litmus.formula(),
    };
    let (wanted, decided) = condition.decided_by();
    let decides = |state: &[Value]| condition.formula.holds(&layout, state) == wanted;
    let witness = |decides: &dyn Fn(&[Value]) -> bool| {
        let witness = search::witness(program, conventions, limits, decides);
        witness.map(|witness| (witness.execution, Cycle::new()))
    };
    let (caption, execution) = match found.verdict {
        Ok(verdict) if verdict == decided => {
            let known = found.execution.as_ref().map(|execution| (Execution::clone(execution), Cycle::new()));
            (format!("{formula} is allowed"), known.or_else(|| witness(&decides)))
        }
        Err(Limit::Hangs) => (
            "No execution ends: in each, a thread waits at a barrier or in a loop for an event that never comes".into(),
            None,
        ),
        Err(limit) => {
            let open = (limit == Limit::ThinAir).then(|| search::speculation(program, condition, conventions, limits));
            let known = open.flatten().map(|Speculation { execution, cycle }| (execution, cycle));
            let which =
                known.as_ref().map(|(execution, cycle)| format!(": {}", open_dependencies(subject, execution, cycle)));
            let which = which.unwrap_or_default();
            (format!("Whether {formula} is allowed is unknown: {}{which}", why(limit)), known)
        }
        Ok(_) => {
            let negated = Formula::Not(Box::new(condition.formula.clone()));
            let wanted = if wanted { &condition.formula } else { &negated };
            match explain(program, wanted, conventions, limits) {
                Explanation::Forbidden(found) => {
                    let Contradiction { execution, axiom, cycle } = *found;
                    let by = format!("by the axiom {axiom}, {}", axiom.source());
                    (format!("{formula} is forbidden {by}"), Some((execution, cycle)))
                }
                // For a kernel, an arbitrary execution is not helpful.
                Explanation::Unknown(_) if subject.compiled.is_some() => (format!("{formula} is forbidden"), None),
                Explanation::Unknown(limit) => {
                    (format!("{formula} is forbidden; the reason was not found: {limit}"), witness(&|_| true))
                }
                // The outcome is not allowed: all outcomes are known.
                Explanation::NoCandidate | Explanation::Allowed(_) => {
                    (format!("{formula} is impossible in every candidate execution"), witness(&|_| true))
                }
            }
        }
    };
    let diagram =
        execution.map(|(execution, cycle)| Diagram::new(subject, &execution, conventions, caption.clone(), &cycle));
    DrawnExecution { caption, diagram }
}

/// The dependencies of a cycle that an implementation may optimize away.
fn open_dependencies(subject: &Subject, execution: &Execution<Ptx>, cycle: &Cycle) -> String {
    let statement = |event: usize| {
        let event = &execution.skeleton.events[event];
        (event.thread.unwrap_or_default(), event.statement)
    };
    let shown = |(thread, statement): (usize, usize)| {
        let line = subject.number(thread, statement).map(|line| format!(", line {line}")).unwrap_or_default();
        format!("{} (P{thread}{line})", subject.instruction(thread, statement).unwrap_or_default())
    };
    let next = cycle.iter().cycle().skip(1);
    let open = cycle.iter().zip(next).filter(|((_, name), _)| *name == search::OPEN);
    let open = open.map(|((read, _), (write, _))| match (statement(*read), statement(*write)) {
        (read, write) if read == write => format!("of the write of {} on its read", shown(write)),
        (read, write) => format!("of {} on {}", shown(write), shown(read)),
    });
    open.collect::<Vec<_>>().join(", and ")
}

/// The reason why a verdict is unknown, and the option that may help.
pub fn why(limit: Limit) -> String {
    let option = match limit {
        Limit::Unroll => " (--rounds)",
        Limit::Choices => " (--choices)",
        Limit::Time => " (--time-limit)",
        _ => "",
    };
    format!("{limit}{option}")
}

/// The verdict of a test as a word: `holds`, `does not hold`, `races`.
pub fn word(answer: &Answer) -> &'static str {
    match (answer.holds, answer.unknown) {
        _ if answer.race.is_some() => "races",
        (Some(true), _) => "holds",
        (Some(false), _) => "does not hold",
        (None, Some(Limit::Hangs)) => "hangs",
        (None, _) => "unknown",
    }
}

fn counts(answer: &Answer) -> [String; 2] {
    let OutcomeCount { outcomes, all } = answer.found;
    let counted = format!("{outcomes} outcome{}", if outcomes == 1 { "" } else { "s" });
    let outcomes = match (all, outcomes) {
        (true, _) => counted,
        (false, 0) => "no outcome found".to_owned(),
        (false, _) => format!("at least {counted}"),
    };
    [outcomes, format!("{:.2} ms", answer.time.as_secs_f64() * 1e3)]
}

/// The outcome of a condition whose verdict depends on the model.
const STRENGTHENED: &str = "allowed by PTX, never seen on a GPU: forbidden by the strengthened model";

/// The report on all tests: a full report or a line for each test, and the number of tests with each verdict.
pub fn text(judged: &[TestReport], files: usize, in_full: bool) -> String {
    let line = |TestReport { answer, .. }: &TestReport| {
        let why = answer.unknown.iter().map(|limit| format!(": {}", why(*limit))).collect::<String>();
        let cells = [word(answer).to_owned()].into_iter().chain(counts(answer));
        let several = judged.iter().filter(|other| other.answer.file == answer.file).count() > 1;
        let name = if several { format!(": {}", answer.name) } else { String::new() };
        let other = if answer.strengthened.is_some() { format!(": {STRENGTHENED}") } else { String::new() };
        cells.chain([answer.file.clone() + &name + &why + &other]).collect::<Vec<_>>()
    };
    let mut text: String = match in_full {
        true => judged.iter().map(|judged| &judged.text[..]).collect::<Vec<_>>().join("\n"),
        false => columns(judged.iter().map(line)),
    };
    if files > 1 {
        let count = |holds| judged.iter().filter(|judged| judged.answer.holds == holds).count();
        let hangs = judged.iter().filter(|judged| judged.answer.unknown == Some(Limit::Hangs)).count();
        let races = judged.iter().filter(|judged| judged.answer.race.is_some()).count();
        let (yes, no, unknown) = (count(Some(true)), count(Some(false)) - races, count(None) - hangs);
        text += &format!("\n{files} tests: {yes} hold, {no} do not, {unknown} unknown");
        text += &if races > 0 { format!(", {races} race") } else { String::new() };
        text += &if hangs > 0 { format!(", {hangs} hang") } else { String::new() };
        text += &match files - judged.len() {
            0 => "\n".to_owned(),
            wrong => format!(", {wrong} with errors\n"),
        };
    }
    text
}

/// The verdict of one test.
pub fn heading(answer: &Answer, subject: &Subject, conventions: Conventions, limits: Limits) -> String {
    let litmus = &subject.litmus;
    let mut text = format!("{}: {} {}\n", answer.file, answer.name, word(answer));
    answer.unknown.iter().for_each(|limit| text += &format!("  because {}\n", why(*limit)));
    if answer.unknown == Some(Limit::Unroll) {
        // The bounded number of iterations did not contain an execution that decides the condition.
        let (_, decided) = litmus.condition.decided_by();
        let word = if decided { "does not hold" } else { "holds" };
        let plural = if limits.rounds == 1 { "" } else { "s" };
        text += &format!("  up to {} iteration{plural} of each loop, it {word}\n", limits.rounds);
    }
    if let (Some(limit), Some(compiled)) = (answer.unknown, &subject.compiled) {
        for (thread, line) in compiled.unknown(conventions, limits.rounds, limit) {
            let reason = line.wrong.as_ref().map(|wrong| format!(": {wrong}")).unwrap_or_default();
            text +=
                &format!("  in {}, line {} of the PTX: {}{reason}\n", subject.thread(thread), line.number, line.text);
            text += &source(line).map(|source| format!("    {source}\n")).unwrap_or_default();
        }
    }
    text += &format!("  {} ({})\n", litmus.condition.quantifier, litmus.formula());
    text += &if answer.strengthened.is_some() { format!("  {STRENGTHENED}\n") } else { String::new() };
    text + &format!("  {}\n", counts(answer).join(", "))
}

/// The orderings and scopes that may be weaker.
pub fn weaker(others: &[Other]) -> String {
    match others {
        [] => "\nNo ordering or scope may be weaker.\n".to_owned(),
        others => format!(
            "\nAll of these may be weaker together, and the tests of this file still hold:\n\n{}",
            orderings::render_changes(others)
        ),
    }
}

/// The changes that would make a test hold.
pub fn remedies(remedies: &[Vec<Other>]) -> String {
    let each = match remedies {
        [] => return String::new(),
        [one, ..] if one.len() == 1 => "To blame. Each of these by itself makes it hold:",
        _ => "To blame. Each two of these together make it hold:",
    };
    let all: Vec<String> = remedies.iter().map(|remedy| orderings::render_changes(remedy)).collect();
    let single = remedies.iter().all(|remedy| remedy.len() == 1);
    let text = match single {
        true => orderings::render_changes(&remedies.concat()),
        false => all.join("\n"),
    };
    format!("\n{each}\n\n{text}")
}

/// The number of outcomes that are shown unless all are requested.
pub const OUTCOMES: usize = 200;

/// The first rows below a header, and the number of further rows.
pub fn first_rows(header: Vec<String>, rows: impl ExactSizeIterator<Item = Vec<String>>, most: usize) -> String {
    let more = rows.len().saturating_sub(most);
    let text = columns(std::iter::once(header).chain(rows.take(most)));
    text + &if more > 0 { format!("  and {more} more (--all-outcomes)\n") } else { String::new() }
}

/// The final states; a star marks those in which the formula holds.
pub fn outcomes(litmus: &Litmus, outcomes: &Outcomes, most: usize) -> String {
    let program = &litmus.program;
    let layout = Layout::new(program);
    let register = |&(thread, register): &(usize, _)| {
        let Register(index) = register;
        format!("P{thread}:{}", program.threads[thread].registers[usize::from(index)].name)
    };
    let locations = (0..program.locations.len()).map(|index| Location(index as u16));
    let physical: Vec<_> = locations.filter(|&location| program.physical(location) == location).collect();
    let variables = || physical.iter().map(|location| &program.locations[usize::from(location.0)]);
    // The value of memory that a single thread accesses is not shown.
    let shown: Vec<bool> = layout.registers().iter().map(|_| true).chain(variables().map(|of| !of.private)).collect();
    let names = layout.registers().iter().map(register).chain(variables().map(|of| of.name.clone()));
    let names = names.zip(&shown).filter(|(_, shown)| **shown).map(|(name, _)| name);
    let known = outcomes.states.iter().map(|state| (state, ""));
    let mut states: Vec<(&[Value], &str)> =
        known.chain(outcomes.speculative.iter().map(|state| (state, "?"))).collect();
    states.sort();
    let header = names.chain([String::new()]).collect();
    let holds = |state: &[Value]| litmus.condition.formula.holds(&layout, state);
    let rows = states.iter().map(|&(state, mark)| {
        let star = if holds(state) { "*" } else { "" };
        let values = state.iter().zip(&shown).filter(|(_, shown)| **shown);
        values.map(|(&value, _)| litmus::number(value)).chain([format!("{star}{mark}")]).collect::<Vec<_>>()
    });
    let open =
        if outcomes.speculative.is_empty() { "" } else { "; ?: forbidden by dependencies alone, which may not count" };
    // The starred states may be among those that are not shown.
    let starred = if states.len() > most {
        format!(", in {} of {}", states.iter().filter(|(state, _)| holds(state)).count(), states.len())
    } else {
        String::new()
    };
    format!("\nOutcomes (*: {}{starred}{open}):\n\n", litmus.formula()) + &first_rows(header, rows, most)
}

/// The execution, instruction by instruction, and the cycle.
pub fn execution(DrawnExecution { caption, diagram }: &DrawnExecution) -> String {
    let Some(Diagram { threads, nodes, cycle, marked, .. }) = diagram else { return format!("\n{caption}.\n") };
    let words = |index: usize| {
        let node = &nodes[index];
        let thread = node.thread.map_or("", |thread| &threads[thread].name);
        vec![node.name.clone(), thread.to_owned(), node.instruction.clone()]
    };
    let sources = nodes.iter().any(|node| node.source.is_some());
    let source = |index: usize| {
        let source: &Option<String> = &nodes[index].source;
        sources.then(|| source.clone().unwrap_or_default())
    };
    let rows = (0..nodes.len()).map(|index| {
        [words(index), vec![nodes[index].effect_from.clone()], source(index).into_iter().collect()].concat()
    });
    let it = if *marked == Marked::Race || cycle.is_empty() { "An execution" } else { "An execution with it would be" };
    let execution = format!("\n{caption}. {it}:\n\n{}", columns(rows));
    if cycle.is_empty() {
        return execution;
    }
    // A cycle ends where it begins, a race with the other operation.
    let (steps, last) = match marked {
        Marked::Cycle => (&cycle[..], cycle[0]),
        Marked::Race => (&cycle[..1], cycle[cycle.len() - 1]),
    };
    let steps = steps.iter().map(|&(index, relation)| {
        [words(index), vec![format!("{}:", relation.name), relation.words.to_owned()]].concat()
    });
    let back = [words(last.0), vec![String::new(), String::new()]].concat();
    format!("{execution}\nThe {marked} in it:\n\n{}", columns(steps.chain([back])))
}
