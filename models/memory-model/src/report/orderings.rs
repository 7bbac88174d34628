//! The orderings that a test does not need, and the orderings that it lacks.

use std::time::Duration;

use crate::{
    condition::Quantifier,
    litmus,
    outcome::Limits,
    place::Scope,
    ptx::{
        Conventions, Program,
        asynchronous::is_asynchronous,
        orderings::{At, Change, changed, least_scopes, stronger, weaker},
        search,
    },
};
use serde::Serialize;

use ptx_isa::columns::columns;

use crate::report::subject::Subject;

/// A replacement of an instruction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Other {
    /// The line of the source, if it is known; else the thread.
    pub place: String,
    /// The instruction without its operands.
    pub from: String,
    /// The replacement; `None` if the instruction is removed.
    pub to: Option<String>,
}

/// The positions of one source instruction in the threads of each test.
struct Group {
    place: String,
    /// The key that distinguishes instructions.
    key: (String, String),
    /// The statements in each test.
    at: Vec<Vec<At>>,
}

/// The maximum time for each program of a search that decides many programs.
const PATIENCE: Duration = Duration::from_secs(10);

/// The instructions of the tests, grouped by source instruction: a compiler may have made several from one.
fn groups(subjects: &[&Subject]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (test, subject) in subjects.iter().enumerate() {
        for (thread, of) in subject.litmus.program.threads.iter().enumerate() {
            for (index, statement) in of.code.iter().enumerate() {
                if weaker(&statement.instruction).is_empty() && stronger(&statement.instruction).is_empty() {
                    continue;
                }
                let words = mnemonic(&subject.litmus.program, (thread, index));
                let line = subject.line(thread, index);
                let places: Vec<_> =
                    line.iter().flat_map(|line| line.source().into_iter().chain(line.within())).collect();
                let place = match line {
                    Some(_) if !places.is_empty() => format!("{places:?}"),
                    Some(line) => format!("line {} of the PTX", line.number),
                    None => format!("P{thread}, statement {index}"),
                };
                let key = (place, words);
                let shown = || {
                    subject.source(thread, index).unwrap_or_else(|| match line {
                        Some(line) => format!("line {} of the PTX: {}", line.number, line.text),
                        None => format!("P{thread}: {}", subject.instruction(thread, index).unwrap_or_default()),
                    })
                };
                let known = groups.iter().position(|group| group.key == key);
                let group = known.unwrap_or_else(|| {
                    groups.push(Group { place: shown(), key, at: vec![Vec::new(); subjects.len()] });
                    groups.len() - 1
                });
                groups[group].at[test].push((thread, index));
            }
        }
    }
    groups
}

impl Group {
    /// The first statement of the instruction in any of the programs.
    fn first(&self) -> Option<(usize, At)> {
        self.at.iter().enumerate().find_map(|(test, at)| Some((test, *at.first()?)))
    }

    /// Whether the scope of a change includes all threads that access the same memory. Otherwise a race may make a test
    /// hold, since no execution of the test is complete any more.
    fn stays_atomic(&self, change: &Change, least: &[Vec<Vec<Scope>>]) -> bool {
        let Change::Access(access) = change else { return true };
        let all = self.at.iter().zip(least).flat_map(|(at, least)| at.iter().map(|(p, s)| least[*p][*s]));
        all.into_iter().all(|least| access.scope >= least)
    }

    fn other(&self, programs: &[Program], change: &Change) -> Option<Other> {
        let (test, at) = self.first()?;
        let place = self.place.clone();
        let from = mnemonic(&programs[test], at);
        let to = match change {
            Change::Removed => None,
            Change::BarrierBefore => Some("bar.sync before it".to_owned()),
            Change::Access(_) | Change::Fence(_) => Some(mnemonic(&changed(&programs[test], &[at], change), at)),
        };
        Some(Other { place, from, to })
    }
}

/// The first word of an instruction.
fn mnemonic(program: &Program, (thread, index): At) -> String {
    let of = &program.threads[thread];
    let text = of.code.get(index).map(|statement| litmus::instruction(program, of, statement)).unwrap_or_default();
    let words = text.split_whitespace().filter(|word| !word.starts_with('@'));
    words.take(1).collect()
}

fn holds(subject: &Subject, program: &Program, conventions: Conventions, limits: Limits) -> bool {
    let limits = Limits { time: Some(limits.time.unwrap_or(PATIENCE)), ..limits };
    search::decide(program, &subject.litmus.condition, conventions, limits).verdict == Ok(true)
        && (!is_asynchronous(program) || matches!(search::race(program, conventions, limits), Ok(None)))
}

/// The changes to weaker orderings that can be made together such that each test still holds. The list is empty if a
/// test does not hold.
pub fn minimized(subjects: &[&Subject], conventions: Conventions, limits: Limits) -> Vec<Other> {
    let mut programs: Vec<Program> = subjects.iter().map(|subject| subject.litmus.program.clone()).collect();
    let all_hold = |programs: &[Program]| {
        subjects.iter().zip(programs).all(|(subject, program)| holds(subject, program, conventions, limits))
    };
    if !all_hold(&programs) {
        return Vec::new();
    }
    let least = |program: &Program| least_scopes(program, conventions.unfolding(limits.rounds));
    let Ok(least) = programs.iter().map(least).collect::<Result<Vec<_>, _>>() else { return Vec::new() };
    let mut found = Vec::new();
    for group in groups(subjects) {
        let Some((test, (thread, index))) = group.first() else { continue };
        let instruction = &programs[test].threads[thread].code[index].instruction;
        let atomic = |change: &Change| group.stays_atomic(change, &least);
        for change in weaker(instruction).into_iter().filter(atomic) {
            let weakened: Vec<Program> =
                programs.iter().zip(&group.at).map(|(program, at)| changed(program, at, &change)).collect();
            if all_hold(&weakened) {
                found.extend(group.other(&programs, &change));
                programs = weakened;
                break;
            }
        }
    }
    found
}

/// The remedies of a test that does not hold: each line is one remedy, the weakest at its place. If no single change is
/// a remedy, the remedies are pairs of changes.
pub fn remedies(subject: &Subject, conventions: Conventions, limits: Limits) -> Vec<Vec<Other>> {
    if subject.litmus.condition.quantifier == Quantifier::Exists {
        return Vec::new();
    }
    let program = &subject.litmus.program;
    let programs = std::slice::from_ref(program);
    let Ok(least) = least_scopes(program, conventions.unfolding(limits.rounds)) else { return Vec::new() };
    let least = [least];
    let changes = |group: Group| {
        let (_, (thread, index)) = group.first()?;
        let mut changes = stronger(&program.threads[thread].code[index].instruction);
        changes.retain(|change| group.stays_atomic(change, &least));
        Some((group, changes))
    };
    let groups: Vec<(Group, Vec<Change>)> = groups(&[subject]).into_iter().filter_map(changes).collect();
    let mends = |program: &Program| holds(subject, program, conventions, limits);
    let mut found = Vec::new();
    for (group, changes) in &groups {
        let change = weakest(changes, |change| mends(&changed(program, &group.at[0], change)));
        found.extend(change.and_then(|change| Some(vec![group.other(programs, change)?])));
    }
    if !found.is_empty() {
        return found;
    }
    let most = |changes: &[Change]| changes.iter().rfind(|change| **change != Change::BarrierBefore).cloned();
    for (number, (a, ones)) in groups.iter().enumerate() {
        for (b, others) in &groups[number + 1..] {
            let (Some(one), Some(other)) = (most(ones), most(others)) else { continue };
            let both =
                |one: &Change, other: &Change| mends(&changed(&changed(program, &a.at[0], one), &b.at[0], other));
            if both(&one, &other) {
                let one = ones.iter().find(|one| both(one, &other)).unwrap_or(&one);
                let other = others.iter().find(|other| both(one, other)).unwrap_or(&other);
                let pair = [a.other(programs, one), b.other(programs, other)];
                found.push(pair.into_iter().flatten().collect());
            }
        }
    }
    found
}

/// The first change that works, in the order of [`stronger`]. If the strongest change does not work, the weaker ones
/// are not tried.
fn weakest(changes: &[Change], works: impl Fn(&Change) -> bool) -> Option<&Change> {
    let (barriers, others): (Vec<_>, Vec<_>) = changes.iter().partition(|change| **change == Change::BarrierBefore);
    let tried = if others.last().is_some_and(|most| works(most)) { others } else { barriers };
    tried.into_iter().find(|change| works(change))
}

/// Changes as text.
pub fn render_changes(others: &[Other]) -> String {
    let row = |Other { place, from, to }: &Other| {
        let to = to.clone().unwrap_or_else(|| "nothing".to_owned());
        vec![String::new(), place.clone(), from.clone(), "->".to_owned(), to]
    };
    columns(others.iter().map(row))
}
