//! The whole mapping for a target, computed by the lowering itself.

use std::collections::BTreeMap;

use crate::{
    Access, AtomicOp, Change, Operation, Ordering, Policy, RmwOp, SyncScope, Target, Type,
    abi::{ABI, Carrier, Row, RowKind},
    lower,
    ptx::{Atom, Instruction, Scope, Space},
    row,
};
use serde::Serialize;
use strum::{EnumMessage, IntoEnumIterator};

mod format;

pub use self::format::{json, markdown_table};
use ptx_isa::columns::columns;

/// The data that every output format prints.
#[derive(Serialize)]
pub struct Table {
    target: String,
    rows: Vec<Mapping>,
    /// The rmw rows for operations that become CAS loops.
    cas_loop_rows: Vec<Mapping>,
    /// The rmw rows for operations whose lanes ptxas may combine in a warp; empty unless a row differs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    combined_rows: Vec<Mapping>,
    scopes: Vec<ScopeMapping>,
    operations: Vec<OperationMapping>,
    /// The explanations of the changes.
    changes: Vec<Explanation>,
}

#[derive(Serialize)]
struct Mapping {
    #[serde(skip)]
    ordering: Ordering,
    row: String,
    operation: String,
    sequence: String,
    changes: Vec<&'static str>,
}

#[derive(Serialize)]
struct ScopeMapping {
    scope: &'static str,
    becomes: &'static str,
    changes: Vec<&'static str>,
}

/// The lowering of an rmw operation on each type for which it is defined.
#[derive(Serialize)]
struct OperationMapping {
    operation: &'static str,
    types: BTreeMap<&'static str, String>,
}

#[derive(Serialize)]
struct Explanation {
    change: &'static str,
    reason: &'static str,
}

impl Table {
    /// The mapping for a policy and a target.
    pub fn new(policy: &Policy, target: &Target) -> Self {
        let mut seen = Vec::new();
        let mut names = |changes: Vec<Change>| {
            seen.extend(changes.iter().copied());
            changes.into_iter().map(Into::into).collect::<Vec<&'static str>>()
        };
        let mut mapping = |abi: &Row, carrier| {
            let mut changes = Vec::new();
            let steps = row(abi.kind, abi.ordering, carrier, &policy.strategies, target, &mut changes);
            let steps = steps.expect("the row is one of the table");
            Mapping {
                ordering: abi.ordering,
                row: abi.name().to_string(),
                operation: abi.to_string(),
                sequence: steps.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
                changes: names(changes),
            }
        };
        let rmw = || ABI.iter().filter(|row| row.kind == RowKind::Rmw);
        let rows: Vec<_> = ABI.iter().map(|row| mapping(row, Carrier::Access)).collect();
        let cas_loop_rows = rmw().map(|row| mapping(row, Carrier::Repeated)).collect();
        let mut combined_rows: Vec<_> = rmw().map(|row| mapping(row, Carrier::Leader)).collect();
        if combined_rows.iter().all(|combined| rows.iter().any(|row| row.says_the_same(combined))) {
            combined_rows.clear();
        }
        let scopes = Scope::iter().map(|scope| {
            let fence =
                AtomicOp { operation: Operation::Fence, ordering: Ordering::SeqCst, scope: SyncScope::Threads(scope) };
            let lowering = lower(&fence, policy, target).expect("every target has seq_cst fences");
            let becomes = match lowering.sequence.instructions().next() {
                Some(Instruction::Fence(fence)) => fence.scope.into(),
                Some(Instruction::Membar(level)) => level.into(),
                _ => unreachable!("a fence becomes a fence"),
            };
            ScopeMapping { scope: scope.into(), becomes, changes: names(lowering.changes) }
        });
        let scopes = scopes.collect();
        let operations = RmwOp::iter().map(|op| OperationMapping::new(op, policy, target)).collect();
        let changes = Change::iter().filter(|change| seen.contains(change));
        let changes = changes
            .map(|change| Explanation { change: change.into(), reason: change.get_message().unwrap_or_default() });
        let (target, changes) = (target.to_string(), changes.collect());
        Self { target, rows, cas_loop_rows, combined_rows, scopes, operations, changes }
    }

    /// The orderings in the order of the document, each with its rows.
    fn sections(&self) -> impl Iterator<Item = (&'static str, Vec<&Mapping>)> {
        let names = [
            (Ordering::SeqCst, "sequentially consistent"),
            (Ordering::Release, "release"),
            (Ordering::Acquire, "acquire"),
            (Ordering::AcqRel, "acquire-release"),
            (Ordering::Relaxed, "relaxed"),
        ];
        names
            .into_iter()
            .map(|(ordering, name)| (name, self.rows.iter().filter(|row| row.ordering == ordering).collect()))
    }

    /// The table as Markdown, as in the pages of the book.
    pub fn markdown(&self) -> String {
        let code = |text: &str| format!("`{text}`");
        let rows = |rows: &[&Mapping]| {
            let cells = |row: &&Mapping| vec![code(&row.operation), code(&row.sequence) + &marks(&row.changes)];
            markdown_table(&["C or C++ or CUDA C++ API", "PTX ABI ISA mapping"], rows.iter().map(cells))
        };
        let mut text = format!("# Atomics ABI for {}\n", self.target);
        for (name, mappings) in self.sections() {
            text += &format!("\nThe PTX ABI for C++ {name} atomic operations is the following:\n\n{}", rows(&mappings));
        }
        text += "\nAn operation that is a compare-and-swap loop releases before the loop; it acquires after the loop by `fence.acquire`, and without\nthat fence in its swap:\n\n";
        text += &rows(&self.cas_loop_rows.iter().collect::<Vec<_>>());
        if !self.combined_rows.is_empty() {
            text += "\nAn operation that ptxas may combine in a warp carries its ordering in fences:\n\n";
            text += &rows(&self.combined_rows.iter().collect::<Vec<_>>());
        }
        text += "\nThe read-modify-write operations in global memory, by type:\n";
        for (float, title) in [(false, "integers"), (true, "floating point")] {
            let mut rows = self.operations(float).into_iter();
            let header = rows.next().unwrap_or_default();
            text += &format!("\n{title}:\n\n");
            text += &markdown_table(&header.iter().map(String::as_str).collect::<Vec<_>>(), rows);
        }
        text += "\nThe scopes:\n\n";
        let scopes = self.scopes.iter().map(|s| vec![code(s.scope), code(s.becomes) + &marks(&s.changes)]);
        text += &markdown_table(&["`<scope>`", "becomes"], scopes);
        if !self.changes.is_empty() {
            text += "\n";
        }
        self.changes.iter().for_each(|e| text += &format!("- {}: {}\n", e.change, e.reason));
        text
    }

    /// The table as JSON.
    pub fn json(&self) -> String {
        json(self)
    }

    /// The table for a terminal.
    pub fn text(&self) -> String {
        let rows = |rows: &[Mapping]| {
            columns(rows.iter().map(|row| vec![row.row.clone(), row.sequence.clone() + &marks(&row.changes)]))
        };
        let scopes = self.scopes.iter().map(|s| vec![s.scope.to_owned(), s.becomes.to_owned() + &marks(&s.changes)]);
        let changes = self.changes.iter().map(|e| vec![e.change.to_owned(), e.reason.to_owned()]);
        let sections = [
            (format!("Atomics ABI for {}", self.target), rows(&self.rows)),
            ("Around a compare-and-swap loop".into(), rows(&self.cas_loop_rows)),
            ("Where ptxas may combine a warp".into(), rows(&self.combined_rows)),
            ("Read-modify-write operations on integers".into(), columns(self.operations(false).into_iter())),
            ("Read-modify-write operations on floating point".into(), columns(self.operations(true).into_iter())),
            ("Scopes".into(), columns(scopes)),
            ("Changes".into(), columns(changes)),
        ];
        let shown = sections.into_iter().filter(|(_, body)| !body.is_empty());
        shown.map(|(title, body)| format!("{title}\n{body}")).collect::<Vec<_>>().join("\n")
    }
}

impl Mapping {
    fn says_the_same(&self, other: &Self) -> bool {
        (&self.row, &self.sequence) == (&other.row, &other.sequence)
    }
}

impl OperationMapping {
    fn new(op: RmwOp, policy: &Policy, target: &Target) -> Self {
        let form = |ty: Type| {
            let operation = Operation::Rmw(op, Access::new(Space::Global, ty));
            let relaxed = AtomicOp { operation, ordering: Ordering::Relaxed, scope: SyncScope::Threads(Scope::Gpu) };
            let Ok(lowering) = lower(&relaxed, policy, target) else { return "none".to_owned() };
            if lowering.changes.contains(&Change::CasLoop) {
                return "CAS loop".to_owned();
            }
            let noftz = |atom: &Atom| if atom.noftz { ".noftz" } else { "" };
            let vec = |atom: &Atom| atom.vec.map_or(String::new(), |vec| format!(".{vec}"));
            let atoms = lowering.sequence.instructions().filter_map(|instruction| match instruction {
                Instruction::Atom(a) => Some(format!("atom.{}{}{}.{}", a.op, noftz(a), vec(a), a.ty)),
                _ => None,
            });
            // If there are two, the sign of the operand selects one of them.
            let atoms = atoms.collect::<Vec<_>>().join(" or ");
            if lowering.changes.contains(&Change::SubAsAdd) { format!("neg; {atoms}") } else { atoms }
        };
        let types = Type::iter().filter(|ty| op.takes(*ty)).map(|ty| (ty.into(), form(ty))).collect();
        Self { operation: op.into(), types }
    }
}

impl Table {
    /// A header line, then a line for each operation on integers, or for each floating-point type.
    fn operations(&self, float: bool) -> Vec<Vec<String>> {
        let types: Vec<&str> = Type::iter().filter(|ty| ty.is_float() == float).map(Into::into).collect();
        let has = |operation: &&OperationMapping| types.iter().any(|ty| operation.types.contains_key(ty));
        let operations: Vec<_> = self.operations.iter().filter(has).collect();
        let form = |operation: &OperationMapping, ty: &str| operation.types.get(ty).map_or("-".into(), Clone::clone);
        let names = |first: &str, names: &[&str]| [first].iter().chain(names).map(ToString::to_string).collect();
        let line = |first: &str, forms: Vec<String>| [vec![first.to_owned()], forms].concat();
        if float {
            let header = names("type", &operations.iter().map(|operation| operation.operation).collect::<Vec<_>>());
            let lines = types.iter().map(|ty| line(ty, operations.iter().map(|o| form(o, ty)).collect()));
            std::iter::once(header).chain(lines).collect()
        } else {
            let lines = operations.iter().map(|o| line(o.operation, types.iter().map(|ty| form(o, ty)).collect()));
            std::iter::once(names("atomicrmw", &types)).chain(lines).collect()
        }
    }
}

/// The names of the changes, printed after the sequence.
fn marks(changes: &[&str]) -> String {
    if changes.is_empty() { String::new() } else { format!(" ({})", changes.join(", ")) }
}
