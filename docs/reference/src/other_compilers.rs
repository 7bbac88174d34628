//! The results of other compilers, as `scripts/scoreboard` measured them.
//!
//! The file `data/others.tsv` has a line for each result, which applies to all combinations of the values in its
//! columns. A result is the verdict of the suite for other compilers on a function, and the instructions of its PTX
//! that order or access memory.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use itertools::{Itertools, iproduct};
use ptx_atomics_conformance::{Cell, Form, Grade};
use ptx_lowering::{AtomicOp, Operation, Ordering, SyncScope, ptx::Space};

use crate::{
    code::{LEVEL, SCOPE, SPACE},
    name,
    rows::{Column, Coordinates, Grid, Row, is_in, places, rows},
};

const FILE: &str = include_str!("../data/others.tsv");

/// A function of the suite, with the result of a compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// The compiler, with its version.
    pub compiler: &'static str,
    /// The GPU, such as `sm_90`.
    pub gpu: &'static str,
    /// The ordering, with its name in LLVM.
    pub ordering: &'static str,
    /// The scope, with its name in PTX.
    pub scope: &'static str,
    /// The state space, with its name in PTX.
    pub space: &'static str,
    /// The name of a [`Grade`], or `not-judged`.
    pub verdict: &'static str,
    /// Opcodes, with `loop(…)` around repeated ones.
    pub ptx: &'static str,
}

/// The measurements for each operation, by its types.
pub type ByOperation = BTreeMap<&'static str, BTreeMap<&'static str, Vec<Measured>>>;

/// All measurements.
pub fn measured() -> &'static ByOperation {
    static MEASURED: LazyLock<ByOperation> = LazyLock::new(read);
    &MEASURED
}

fn read() -> ByOperation {
    let (letters, table) = FILE.split_once("\n\n").unwrap_or_default();
    let compilers: BTreeMap<&str, &str> = letters.lines().filter_map(|line| line.split_once('\t')).collect();
    let mut measured = ByOperation::new();
    for line in table.lines().skip(1) {
        let columns: Option<[&str; 9]> = line.split('\t').collect_array();
        let Some([of, operations, spaces, orderings, scopes, gpus, types, verdict, ptx]) = columns else { continue };
        let all = |list: &'static str| list.split(',');
        for (op, ty) in iproduct!(all(operations), all(types)) {
            let of_type = measured.entry(op).or_default().entry(ty).or_default();
            of_type.extend(iproduct!(all(of), all(gpus), all(orderings), all(scopes), all(spaces)).map(
                |(letter, gpu, ordering, scope, space)| {
                    let compiler = compilers.get(letter).copied().unwrap_or(letter);
                    Measured { compiler, gpu, ordering, scope, space, verdict, ptx }
                },
            ));
        }
    }
    measured
}

/// Whether the reference contains a function of the suite. It omits volatile functions, functions of scope
/// singlethread, functions on pointers, and functions with a failure ordering.
pub fn is_shown(cell: &Cell) -> bool {
    let fails = matches!(cell.op.operation, Operation::CmpXchg { failure, .. } if failure != Ordering::Relaxed);
    cell.form == Form::Plain
        && !cell.is_volatile()
        && cell.op.scope != SyncScope::SingleThread
        && cell.llvm_type() != "ptr"
        && !fails
}

/// The result of a compiler for a function of the suite. The name of the compiler includes its version.
pub fn find(compiler: &str, gpu: &str, cell: &Cell) -> Option<&'static Measured> {
    let AtomicOp { operation, ordering, scope: SyncScope::Threads(scope) } = cell.op else { return None };
    let of_type = measured().get(&*name(&operation))?.get(&*cell.ty.ty.to_string())?;
    let space = cell.space().unwrap_or(Space::Generic).to_string();
    let wanted = (compiler, gpu, ordering.into(), scope.into(), &*space);
    of_type.iter().find(|one| (one.compiler, one.gpu, one.ordering, one.scope, one.space) == wanted)
}

/// The measurements for an operation.
pub fn table(operation: &Operation, orderings: &[Ordering], spaces: &[Space]) -> Option<Grid> {
    // In the file, a fence has a type, though the operation has none.
    let ty = operation.access().map_or_else(|| "i32".to_owned(), |access| access.ty.to_string());
    let all = measured().get(&*name(operation))?.get(&*ty)?;
    let (orderings, spaces): (Vec<&str>, Vec<_>) =
        (orderings.iter().map(Into::into).collect(), spaces.iter().map(ToString::to_string).collect());
    let is_asked = |one: &&Measured| orderings.contains(&one.ordering) && spaces.iter().any(|space| space == one.space);
    let found: Vec<&Measured> = all.iter().filter(is_asked).collect();
    if found.is_empty() {
        return None;
    }
    let columns = columns(&found);
    let mut by_result: BTreeMap<(&str, &str), BTreeSet<Coordinates>> = BTreeMap::new();
    for one in &found {
        by_result.entry((one.verdict, with_space(one, &found))).or_default().extend(place(one, &columns));
    }
    let open = open(&columns, &by_result.values().flatten().cloned().collect());
    let lines = by_result.iter().flat_map(|((verdict, ptx), places)| {
        let verdict = verdict.parse().map_or("not judged", Grade::message);
        let cells = vec![verdict.to_owned(), in_cell(ptx, operation)];
        let rows = rows(&(places | &open)).into_iter().filter(|row| places.iter().any(|place| is_in(place, row)));
        rows.map(|row| (row, cells.clone())).collect::<Vec<_>>()
    });
    let lines: Vec<(Row, Vec<String>)> = lines.sorted().collect();
    Some(Grid::new(&columns, &["verdict", "PTX"], &lines))
}

/// The heading of a column, and its value for a function.
type Part = (&'static str, fn(&Measured) -> &str);

/// The columns that determine a result. The scope is the last.
const COLUMNS: [Part; 5] = [
    ("compiler", |one| one.compiler),
    ("ordering", |one| one.ordering),
    ("GPU", |one| one.gpu),
    ("space", |one| one.space),
    ("scope", |one| one.scope),
];

fn columns(found: &[&Measured]) -> [Column; 5] {
    COLUMNS.map(|(head, part)| {
        let names = found.iter().map(|one| part(one).to_owned()).unique().sorted();
        // sm_100 comes after sm_90.
        let names = names.sorted_by_key(|name| if head == "GPU" { name.len() } else { 0 }).collect();
        Column { head, names, is_range: head == "GPU" }
    })
}

fn place(one: &Measured, columns: &[Column]) -> Option<Coordinates> {
    let number = |(column, (_, part)): (&Column, &Part)| column.names.iter().position(|name| name == part(one));
    columns.iter().zip(&COLUMNS).map(number).collect()
}

/// The places without a measurement that differ from a measured place only in the scope: they do not split rows.
fn open(columns: &[Column], asked: &BTreeSet<Coordinates>) -> BTreeSet<Coordinates> {
    let is_beside = |place: &Coordinates, other: &Coordinates| {
        place.split_last().map(|(_, front)| front) == other.split_last().map(|(_, front)| front)
    };
    let is_open = |place: &Coordinates| !asked.contains(place) && asked.iter().any(|other| is_beside(place, other));
    places(columns).filter(is_open).collect()
}

/// The opcodes in a cell, with the placeholders of the reference.
fn in_cell(ptx: &str, operation: &Operation) -> String {
    let bits = operation.access().map(|access| access.ty.bits().to_string()).unwrap_or_default();
    let words = [(".<scope>", SCOPE), (".<level>", LEVEL), (".<space>", SPACE), ("<bits>", &*bits)];
    let ptx = words.iter().fold(ptx.to_owned(), |ptx, (word, general)| ptx.replace(word, general));
    if ptx.is_empty() { String::new() } else { format!("`{ptx}`") }
}

/// The PTX of a function; if it differs from the PTX for global memory only in the state space, the latter.
fn with_space(one: &Measured, found: &[&Measured]) -> &'static str {
    let is_same = |other: &&&Measured| {
        (other.compiler, other.ordering, other.gpu, other.scope) == (one.compiler, one.ordering, one.gpu, one.scope)
            && (other.space, other.verdict) == ("global", one.verdict)
            && other.ptx.replace(".<space>", "") == one.ptx
    };
    found.iter().find(is_same).map_or(one.ptx, |other| other.ptx)
}
