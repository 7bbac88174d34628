//! The reference of the book: every operation, type, ordering, scope, state space, strategy and family of GPUs, with the PTX that it
//! becomes. What agrees stands in one row.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use ptx_atomics_lowering::{
    Access, AtomicOp, Change, Form, Operation, Ordering, RmwOp, Sequence, Strategy, SyncScope, Target, Type, lower,
    ptx::{Instruction, Scope, Space, Statement},
    sass::{Family, Sass, loses_ordering},
};
use strum::IntoEnumIterator;

use crate::explorer::PLAIN;

/// The families of GPUs, each by its first one, with PTX 9.0; sm_90 also as it is before the one-sided fences of PTX 8.6. With older
/// PTX, forms that it lacks are replaced: the requirements say which.
pub const TARGETS: [(&str, &str); 9] = [
    ("sm_20", "ptx90"),
    ("sm_32", "ptx90"),
    ("sm_50", "ptx90"),
    ("sm_60", "ptx90"),
    ("sm_70", "ptx90"),
    ("sm_80", "ptx90"),
    ("sm_90", "ptx85"),
    ("sm_90", "ptx90"),
    ("sm_100", "ptx90"),
];

/// The rules that hold of all operations, and are in no row.
pub const RULES: [(&str, &str); 2] = [
    ("singlethread", "An operation of scope `singlethread` is a relaxed one of scope `cta`; such a fence is nothing."),
    ("cluster", "Scope `cluster` is `gpu` before sm_90 and PTX 7.8."),
];

/// A chapter.
pub struct Chapter {
    /// The name of its file, without `.md`.
    pub name: String,
    /// Its Markdown.
    pub text: String,
}

/// What rows are grouped by: ordering, scope, space, strategy, target, each as an index.
type Place = [u8; 5];
/// The values of each that a row stands for.
type Row = [BTreeSet<u8>; 5];

/// What an operation becomes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Becomes {
    /// PTX, or why there is none.
    code: Result<Code, String>,
    /// What is otherwise than in the words of the operation.
    changes: String,
}

/// PTX, with `<scope>` and `<space>` where those of the operation stand.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Code {
    /// Fences in front of the access, a line each.
    before: String,
    access: String,
    /// Fences behind it.
    behind: String,
}

/// The names of the chapters.
pub fn names() -> impl Iterator<Item = String> {
    PLAIN.iter().map(ToString::to_string).chain(RmwOp::iter().map(|op| op.to_string()))
}

/// The operation of a chapter on a type.
fn operation(chapter: &str, access: Access) -> Option<Operation> {
    Some(match chapter {
        "fence" => Operation::Fence,
        "load" => Operation::Load(access),
        "store" => Operation::Store(access),
        "cmpxchg" if access.ty.is_float() => return None,
        "cmpxchg" => Operation::CmpXchg { access, failure: Ordering::Relaxed },
        name => Operation::Rmw(name.parse().ok().filter(|op: &RmwOp| op.takes(access.ty))?, access),
    })
}

/// A chapter by its name.
pub fn chapter(name: &str) -> Chapter {
    let mut text = format!(
        "# {name}\n\n[How to read this](../reference.md). The result is in `%d`, the address in `%a`, the value in `%b`{}.\n",
        if name == "cmpxchg" { ", which is compared, and the new one in `%c`" } else { "" }
    );
    let types: Vec<Type> = if name == "fence" { vec![Type::I32] } else { Type::iter().collect() };
    for ty in types.into_iter().filter(|ty| operation(name, Access::new(Space::Global, *ty)).is_some()) {
        let title = if name == "fence" { "All fences".to_owned() } else { ty.to_string() };
        write!(text, "\n## {title}\n\n{}", section(name, ty)).expect("a text grows");
    }
    Chapter { name: name.to_owned(), text }
}

/// The table of an operation on a type; of fences, any type stands for all.
pub fn section(chapter: &str, ty: Type) -> String {
    let (scopes, spaces, strategies): (Vec<_>, _, Vec<_>) =
        (Scope::iter().collect(), spaces(chapter), Strategy::iter().collect());
    let orderings: Vec<Ordering> = Ordering::iter()
        .filter(|ordering| operation(chapter, Access::new(Space::Global, ty)).is_some_and(|op| op.takes(*ordering)))
        .collect();
    let targets = targets();
    let mut cells: BTreeMap<Becomes, BTreeSet<Vec<u8>>> = BTreeMap::new();
    let mut costs: BTreeMap<Place, usize> = BTreeMap::new();
    let sizes = [orderings.len(), scopes.len(), spaces.len(), strategies.len(), targets.len()];
    for place in places(sizes) {
        let [ordering, scope, space, strategy, target] = place.map(usize::from);
        let Some(operation) = operation(chapter, Access::new(spaces[space], ty)) else { continue };
        if is_by_rule(scopes[scope], &targets[target]) {
            continue;
        }
        let op = AtomicOp { operation, ordering: orderings[ordering], scope: SyncScope::Threads(scopes[scope]) };
        let (becomes, cost) = becomes(&op, strategies[strategy], &targets[target]);
        cells.entry(becomes).or_default().insert(place.to_vec());
        costs.extend(cost.map(|cost| (place, cost)));
    }
    let mut rows: Vec<(Row, &Becomes)> = cells
        .iter()
        .flat_map(|(becomes, places)| rectangles(places).into_iter().map(move |row| (row, becomes)))
        .filter_map(|(row, becomes)| Some((row.try_into().ok()?, becomes)))
        .collect();
    rows.sort();
    let names = [
        orderings.iter().map(ToString::to_string).collect(),
        scopes.iter().map(ToString::to_string).collect(),
        spaces.iter().map(ToString::to_string).collect(),
        strategies.iter().map(ToString::to_string).collect(),
        target_names(),
    ];
    let mut blocks: Vec<&str> = Vec::new();
    let mut text = String::new();
    let shown = COLUMNS.iter().zip(&names).map(|(column, names)| (*column, names.len() > 1));
    let header = shown.clone().filter_map(|(column, is_shown)| is_shown.then_some(column));
    let header: Vec<&str> = header.chain(["PTX", "otherwise", "barriers"]).collect();
    table_line(&mut text, header.iter().map(ToString::to_string));
    table_line(&mut text, header.iter().map(|_| "---".to_owned()));
    for (row, becomes) in &rows {
        let sets = row.iter().zip(&names).zip(shown.clone()).filter(|(_, (_, is_shown))| *is_shown);
        let sets = sets.map(|((set, names), _)| listed(set, names));
        let ptx = match &becomes.code {
            Err(why) => why.clone(),
            Ok(code) => {
                let access = match &code.access {
                    access if access.lines().count() > SHORT => {
                        let number = blocks.iter().position(|known| known == access).unwrap_or_else(|| {
                            blocks.push(access);
                            blocks.len() - 1
                        });
                        format!("[code {}](#{})", number + 1, block(chapter, ty, number))
                    }
                    access => in_cell(access),
                };
                let parts = [in_cell(&code.before), access, in_cell(&code.behind)];
                let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
                if parts.is_empty() { "nothing".to_owned() } else { parts.join("<br>") }
            }
        };
        let rest = [ptx, becomes.changes.clone(), heavy(row, &costs)];
        table_line(&mut text, sets.chain(rest));
    }
    for (number, ptx) in blocks.iter().enumerate() {
        let id = block(chapter, ty, number);
        write!(text, "\n<a id=\"{id}\"></a>Code {}:\n\n```ptx\n{ptx}\n```\n", number + 1).expect("a text grows");
    }
    text
}

/// The columns of a table.
const COLUMNS: [&str; 5] = ["ordering", "scope", "space", "strategy", "GPU"];
/// So many statements stand in a table; more stand below it.
const SHORT: usize = 4;

fn block(chapter: &str, ty: Type, number: usize) -> String {
    format!("{chapter}-{ty}-{}", number + 1)
}

fn spaces(chapter: &str) -> Vec<Space> {
    if chapter == "fence" { vec![Space::Generic] } else { Space::iter().collect() }
}

fn targets() -> Vec<Target> {
    let target = |(sm, ptx): &(&str, &str)| Target::new(sm.parse().ok()?, Some(ptx.parse().ok()?)).ok();
    TARGETS.iter().filter_map(target).collect()
}

/// The names of the targets, with the PTX version where one GPU is two of them.
pub fn target_names() -> Vec<String> {
    let name = |(sm, ptx): &(&str, &str)| match TARGETS.iter().filter(|(other, _)| other == sm).count() {
        1 => (*sm).to_owned(),
        _ => format!("{sm} with {ptx}"),
    };
    TARGETS.iter().map(name).collect()
}

/// Whether one of the [`RULES`] says what the operation is.
pub fn is_by_rule(scope: Scope, target: &Target) -> bool {
    scope == Scope::Cluster && !target.meets(Form::ClusterScope.requirement())
}

/// Code in a cell of a table.
fn in_cell(code: &str) -> String {
    code.lines().map(|line| format!("`{}`", line.replace('|', "\\|"))).collect::<Vec<_>>().join("<br>")
}

/// What an operation becomes, and its barriers in machine code, if they were measured.
fn becomes(op: &AtomicOp, strategy: Strategy, target: &Target) -> (Becomes, Option<usize>) {
    let lowering = match lower(op, &strategy.into(), target) {
        Ok(lowering) => lowering,
        Err(errors) => {
            // The target stands in a column of its own.
            let why =
                errors.iter().map(|error| error.to_string().replace(&format!(", and the target is {target}"), ""));
            let code = Err(why.collect::<Vec<_>>().join("; "));
            return (Becomes { code, changes: String::new() }, None);
        }
    };
    let sequence = &lowering.sequence;
    let changes = lowering.changes.iter().filter(|change| **change != Change::BeforeMemoryModel);
    let mut changes: Vec<&str> = changes.map(Into::into).collect();
    let family = Family::of(target.sm);
    let loses = |family| sequence.instructions().any(|instruction| loses_ordering(instruction, family));
    if family.is_some_and(loses) {
        changes.push("ptxas drops the ordering");
    }
    let counts = family.and_then(|family| Sass::of_sequence(sequence, family)).map(|sass| sass.counts());
    let becomes = Becomes { code: Ok(Code::of(op, sequence)), changes: changes.join(", ") };
    (becomes, counts.map(|counts| counts.membar + counts.errbar + counts.cctl))
}

impl Code {
    fn of(op: &AtomicOp, sequence: &Sequence) -> Self {
        let statements = sequence.statements();
        let is_fence = |statement: &&Statement| {
            matches!(statement.instruction(), Some(Instruction::Fence(_) | Instruction::Membar(_)))
        };
        let before = statements.iter().take_while(is_fence).count();
        let behind = statements[before..].iter().rev().take_while(is_fence).count();
        let (before, rest) = statements.split_at(before);
        let (access, behind) = rest.split_at(rest.len() - behind);
        let text = |statements: &[Statement]| {
            let mut text = statements.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
            if let SyncScope::Threads(scope) = op.scope {
                text = text.replace(&format!(".{scope}."), ".<scope>.").replace(&format!(".{scope};"), ".<scope>;");
            }
            match op.operation.access() {
                Some(Access { space, .. }) => text.replace(&format!(".{space}."), ".<space>."),
                None => text,
            }
        };
        Self { before: text(before), access: text(access), behind: text(behind) }
    }
}

/// All places of a table of these sizes.
fn places(sizes: [usize; 5]) -> impl Iterator<Item = Place> {
    (0..sizes.iter().product()).map(move |mut number: usize| {
        sizes.map(|size| {
            let index = number % size;
            number /= size;
            index as u8
        })
    })
}

/// Cells as few rows: each is all combinations of some values of each column.
fn rectangles(cells: &BTreeSet<Vec<u8>>) -> Vec<Vec<BTreeSet<u8>>> {
    let mut by_first: BTreeMap<u8, BTreeSet<Vec<u8>>> = BTreeMap::new();
    for cell in cells {
        let Some((first, rest)) = cell.split_first() else { return vec![Vec::new()] };
        by_first.entry(*first).or_default().insert(rest.to_vec());
    }
    let mut by_rest: BTreeMap<BTreeSet<Vec<u8>>, BTreeSet<u8>> = BTreeMap::new();
    for (first, rest) in by_first {
        by_rest.entry(rest).or_default().insert(first);
    }
    let rows = |(rest, firsts): (BTreeSet<Vec<u8>>, BTreeSet<u8>)| {
        let behind = rectangles(&rest);
        behind.into_iter().map(move |row| [vec![firsts.clone()], row].concat())
    };
    by_rest.into_iter().flat_map(rows).collect()
}

/// The names of some values, `all` of them, or those that stand one behind the other by the first and the last.
fn listed(set: &BTreeSet<u8>, names: &[String]) -> String {
    if set.len() == names.len() {
        return "all".to_owned();
    }
    let name = |index: u8| names[usize::from(index)].clone();
    let mut runs: Vec<(u8, u8)> = Vec::new();
    for index in set {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *index && names.len() == TARGETS.len() => *last = *index,
            _ => runs.push((*index, *index)),
        }
    }
    let run = |(first, last): &(u8, u8)| match last - first {
        0 => name(*first),
        1 => format!("{}, {}", name(*first), name(*last)),
        _ => format!("{} to {}", name(*first), name(*last)),
    };
    runs.iter().map(run).collect::<Vec<_>>().join(", ")
}

/// How many barriers a row has, by the targets where that differs.
fn heavy(row: &Row, costs: &BTreeMap<Place, usize>) -> String {
    let mut by_target: BTreeMap<u8, BTreeSet<usize>> = BTreeMap::new();
    for (place, cost) in costs {
        if place.iter().zip(row).all(|(index, set)| set.contains(index)) {
            by_target.entry(place[4]).or_default().insert(*cost);
        }
    }
    let mut by_cost: BTreeMap<BTreeSet<usize>, BTreeSet<u8>> = BTreeMap::new();
    for (target, costs) in by_target {
        by_cost.entry(costs).or_default().insert(target);
    }
    let range = |costs: &BTreeSet<usize>| match (costs.first(), costs.last()) {
        (Some(first), Some(last)) if first != last => format!("{first} to {last}"),
        (Some(one), _) => one.to_string(),
        _ => String::new(),
    };
    let mut parts: Vec<String> = Vec::new();
    for (costs, of) in &by_cost {
        let names = listed(of, &target_names());
        parts.push(if by_cost.len() == 1 { range(costs) } else { format!("{} ({names})", range(costs)) });
    }
    if parts.is_empty() { "not measured".to_owned() } else { parts.join("; ") }
}

fn table_line(text: &mut String, cells: impl Iterator<Item = String>) {
    *text += &format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "));
}
