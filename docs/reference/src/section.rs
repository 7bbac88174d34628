//! The part of an operation's chapter for one type.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use itertools::{Itertools, MinMaxResult};
use ptx_lowering::{
    AtomicOp, Operation, Ordering, Strategy, SyncScope, Target,
    abi::{ABI, RowName},
    ptx::{Scope, Space},
};
use strum::IntoEnumIterator;

use crate::{
    code::{Code, Lowered, lowered, standing_for},
    operations::name,
    other_compilers,
    rows::{Column, Coordinates, Grid, Row, by_place, places, places_of, rows},
    targets::{target_names, targets},
};

/// The content of a section: the tables for one type.
pub struct Section {
    /// The type; for fences, their name.
    pub title: String,
    /// The requirements of the forms of its instructions.
    pub needs: String,
    /// The tables, each for some orderings and spaces.
    pub tables: Vec<Table>,
    /// The code that the tables refer to, by its number from 1 on.
    pub codes: Vec<String>,
}

/// A table for some orderings.
pub struct Table {
    /// The orderings that the table applies to.
    pub orderings: Vec<Ordering>,
    /// The spaces of the addresses.
    pub spaces: Vec<Space>,
    /// The heading.
    pub head: String,
    /// The rows of the ABI that the mapping follows.
    pub abi: String,
    /// The results of `ptx-atomics`.
    pub own: Grid,
    /// The results of other compilers, if they were measured.
    pub others: Option<Grid>,
    /// The query fields of the explorer page; empty for local memory.
    pub explorer: String,
}

/// The maximum number of lines of an access in a cell; longer code is below the table.
const SHORT: usize = 4;

/// The section on an operation and its type.
pub fn section(operation: Operation) -> Section {
    let title = operation.access().map_or_else(|| "fence".to_owned(), |access| access.ty.to_string());
    let (mut tables, mut codes, mut needs) = (Vec::new(), Vec::new(), BTreeMap::new());
    let all: Vec<Ordering> = Ordering::iter().filter(|ordering| operation.takes(*ordering)).collect();
    for spaces in spaces(&operation) {
        let is_local = spaces == [Space::Local];
        let mut known: Vec<(Vec<Ordering>, String, Grid)> = Vec::new();
        for &ordering in &all {
            let cells = Cells::new(operation, ordering, spaces.clone());
            let own = cells.table(&mut codes);
            needs.extend(cells.forms());
            match known.iter_mut().find(|(.., table)| *table == own && is_local) {
                Some((orderings, ..)) => orderings.push(ordering),
                None => known.push((vec![ordering], cells.abi(), own)),
            }
        }
        tables.extend(known.into_iter().map(|(orderings, abi, own)| {
            let names = orderings.iter().join(", ");
            let head = match (is_local, orderings.len() == all.len()) {
                (false, _) => names,
                (true, true) => "in local memory".to_owned(),
                (true, false) => format!("{names}, in local memory"),
            };
            let explorer = if is_local { String::new() } else { explorer(&operation, orderings[0]) };
            let others = other_compilers::table(&operation, &orderings, &spaces);
            Table { orderings, spaces: spaces.clone(), head, abi, own, others, explorer }
        }));
    }
    let needs = needs.iter().map(|(form, requirement)| format!("{form} needs {requirement}")).join("; ");
    Section { title, needs, tables, codes }
}

/// The query fields of the explorer page that select the operation.
fn explorer(operation: &Operation, ordering: Ordering) -> String {
    let ty = operation.access().map(|access| format!("&type={}&space={}", access.ty, access.space)).unwrap_or_default();
    format!("operation={}&ordering={ordering}{ty}", name(operation))
}

/// The spaces of an operation's tables.
fn spaces(operation: &Operation) -> Vec<Vec<Space>> {
    match operation {
        Operation::Fence => vec![vec![Space::Generic]],
        _ => {
            let is_read_only = |space: &Space| *space == Space::Const && !matches!(operation, Operation::Load(_));
            let (local, others) =
                Space::iter().filter(|space| !is_read_only(space)).partition(|space| *space == Space::Local);
            vec![others, local]
        }
    }
}

/// An operation of one ordering, for each scope, space, strategy and target.
struct Cells {
    columns: [Column; 4],
    cells: HashMap<Coordinates, Lowered>,
}

impl Cells {
    fn new(operation: Operation, ordering: Ordering, spaces: Vec<Space>) -> Self {
        let (scopes, strategies, targets): (Vec<_>, Vec<_>, _) =
            (Scope::iter().collect(), Strategy::iter().collect(), targets());
        let column = |head, names, is_range| Column { head, names, is_range };
        let columns = [
            column("scope", scopes.iter().map(ToString::to_string).collect(), false),
            column("space", spaces.iter().map(ToString::to_string).collect(), false),
            column("strategy", strategies.iter().map(ToString::to_string).collect(), false),
            column("GPU", target_names(), true),
        ];
        let cell = |place: &Coordinates| {
            let &[scope, space, strategy, target] = &place[..] else {
                unreachable!("a place has a value of each column")
            };
            let target = &targets[target];
            let op = AtomicOp {
                operation: operation.in_space(space_of(spaces[space], target)),
                ordering,
                scope: SyncScope::Threads(standing_for(scopes[scope], target)),
            };
            let mut cell = lowered(&op, strategies[strategy], target);
            // Code that does not depend on the space is also the code for generic addresses.
            if spaces[space] == Space::Generic && operation != Operation::Fence {
                let global = lowered(&AtomicOp { operation, ..op }, strategies[strategy], target);
                if global.code.as_ref().ok().map(Code::without_space).as_ref() == cell.code.as_ref().ok() {
                    cell.code = global.code;
                }
            }
            cell
        };
        let cells = places(&columns).map(|place| (place.clone(), cell(&place))).collect();
        Self { columns, cells }
    }

    fn table(&self, codes: &mut Vec<String>) -> Grid {
        let mut by_code: BTreeMap<&Result<Code, String>, BTreeSet<Coordinates>> = BTreeMap::new();
        for (place, cell) in &self.cells {
            by_code.entry(&cell.code).or_default().insert(place.clone());
        }
        let found =
            by_code.into_iter().flat_map(|(code, places)| rows(&places).into_iter().map(move |row| (row, code)));
        let lines = found.sorted().map(|(row, code)| {
            let ptx = match code {
                Ok(code) => in_cell(code, codes),
                Err(why) => why.clone(),
            };
            let rest = vec![ptx, self.barriers(&row), self.notes(&row)];
            (row, rest)
        });
        Grid::new(&self.columns, &["PTX", "barriers", "notes"], &lines.collect::<Vec<_>>())
    }

    /// The number of barriers. If it varies in the row, the smallest and the greatest number, and in a second line the
    /// places of each number.
    fn barriers(&self, row: &Row) -> String {
        let counts = by_place(row, &self.columns, |place| self.cells[place].heavy.map(|count| count.to_string()));
        let counts = counts.join("; ");
        let numbers = places_of(row).filter_map(|place| self.cells[&place].heavy).minmax();
        match numbers {
            MinMaxResult::MinMax(least, greatest) if least < greatest => format!("{least} to {greatest}\n{counts}"),
            _ => counts,
        }
    }

    /// The names of the notes with their places, a line each.
    fn notes(&self, row: &Row) -> String {
        let names: BTreeSet<String> = places_of(row).flat_map(|place| self.cells[&place].notes.clone()).collect();
        let places = |name: &String| {
            by_place(row, &self.columns, |place| self.cells[place].notes.contains(name).then(|| name.clone()))
        };
        names.iter().flat_map(places).join("\n")
    }

    /// The requirements of the forms, with the names of the forms.
    fn forms(&self) -> impl Iterator<Item = (String, String)> {
        let forms = self.cells.values().flat_map(|cell| &cell.forms);
        forms.map(|form| (form.to_string(), form.requirement().to_string()))
    }

    /// The rows of the ABI that the mapping follows.
    fn abi(&self) -> String {
        let is_followed = |name: &RowName| self.cells.values().any(|cell| cell.row.as_ref() == Some(name));
        let row = |row: &ptx_lowering::abi::Row| {
            let sequences = row.sequences.iter().map(|steps| format!("`{}`", steps.iter().join(" "))).join(" or ");
            format!("Row `{}` of the ABI: {sequences}.", row.name())
        };
        ABI.iter().filter(|row| is_followed(&row.name())).map(row).join("\n")
    }
}

/// The space that replaces another one on a target.
fn space_of(space: Space, target: &Target) -> Space {
    match space {
        Space::SharedCluster if !target.meets(ptx_lowering::Form::SharedCluster.requirement()) => Space::SharedCta,
        space => space,
    }
}

/// Code in a cell of a table.
fn in_cell(code: &Code, codes: &mut Vec<String>) -> String {
    let lines = |text: &str| text.lines().map(|line| format!("`{line}`")).join("\n");
    let access = match &code.access {
        access if access.lines().count() > SHORT => {
            let number = codes.iter().position(|known| known == access).unwrap_or_else(|| {
                codes.push(access.clone());
                codes.len() - 1
            });
            format!("code {}", number + 1)
        }
        access => lines(access),
    };
    let parts = [lines(&code.before), access, lines(&code.after)];
    let parts = parts.into_iter().filter(|part| !part.is_empty()).join("\n");
    if parts.is_empty() { "nothing".to_owned() } else { parts }
}
