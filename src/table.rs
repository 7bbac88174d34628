//! `ptx-atomics table`: the whole mapping as a target gets it, from the code that lowers.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use ptx_atomics::{
    llvm::Diagnostic,
    lowering::{
        Access, AtomicOp, Change, Operation, Ordering, RmwOp, Strategies, SyncScope, Target, Type,
        abi::{ABI, Kind, Row},
        lower,
        ptx::{Instruction, Scope, Space},
        row,
    },
};
use serde::Serialize;
use strum::{EnumMessage, IntoEnumIterator};

use crate::{
    cli::{Format, TableArgs},
    render,
};

/// Everything that a format prints.
#[derive(Serialize)]
struct Table {
    target: String,
    rows: Vec<Mapping>,
    /// The rmw rows again, for operations that are CAS loops.
    cas_loop_rows: Vec<Mapping>,
    scopes: Vec<ScopeMapping>,
    operations: Vec<OperationMapping>,
    /// What the changes mean.
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

#[derive(Serialize)]
struct OperationMapping {
    operation: &'static str,
    /// By type; `-` where the operation is not defined.
    i32: String,
    i64: String,
    float: String,
    double: String,
}

#[derive(Serialize)]
struct Explanation {
    change: &'static str,
    reason: &'static str,
}

pub fn run(args: &TableArgs) -> ExitCode {
    let target = match args.target.target(None, None) {
        Ok(target) => target,
        Err(error) => {
            render::errors(&[Diagnostic::new(error.to_string())], None);
            return ExitCode::from(2);
        }
    };
    let table = Table::new(&args.strategy.strategies(), &target);
    let text = match args.format {
        Format::Text => table.text(),
        Format::Markdown => table.markdown(),
        Format::Json => serde_json::to_string_pretty(&table).expect("the table has only strings") + "\n",
    };
    match io::stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read has stopped.
        Err(_) => ExitCode::FAILURE,
    }
}

impl Table {
    fn new(strategies: &Strategies, target: &Target) -> Self {
        let mut seen = Vec::new();
        let mut names = |changes: Vec<Change>| {
            seen.extend(changes.iter().copied());
            changes.into_iter().map(Into::into).collect::<Vec<&'static str>>()
        };
        let mut mapping = |abi: &Row, cas_loop| {
            let mut changes = Vec::new();
            let steps = row(abi.kind, abi.ordering, cas_loop, strategies, target, &mut changes);
            let steps = steps.expect("the row is one of the table");
            Mapping {
                ordering: abi.ordering,
                row: abi.name().to_string(),
                operation: abi.to_string(),
                sequence: steps.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
                changes: names(changes),
            }
        };
        let rows = ABI.iter().map(|row| mapping(row, false)).collect();
        let cas_loop_rows = ABI.iter().filter(|row| row.kind == Kind::Rmw).map(|row| mapping(row, true)).collect();
        let scopes = Scope::iter().map(|scope| {
            let fence =
                AtomicOp { operation: Operation::Fence, ordering: Ordering::SeqCst, scope: SyncScope::Threads(scope) };
            let lowering = lower(&fence, strategies, target).expect("every target has seq_cst fences");
            let Some(Instruction::Fence(fence)) = lowering.sequence.instructions().next() else {
                unreachable!("a fence becomes a fence")
            };
            ScopeMapping { scope: scope.into(), becomes: fence.scope.into(), changes: names(lowering.changes) }
        });
        let scopes = scopes.collect();
        let operations = RmwOp::iter().map(|op| OperationMapping::new(op, strategies, target)).collect();
        let changes = Change::iter().filter(|change| seen.contains(change));
        let changes = changes
            .map(|change| Explanation { change: change.into(), reason: change.get_message().unwrap_or_default() });
        Self { target: target.to_string(), rows, cas_loop_rows, scopes, operations, changes: changes.collect() }
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

    fn markdown(&self) -> String {
        let code = |text: &str| format!("`{text}`");
        let rows = |rows: &[&Mapping]| {
            let cells = |row: &&Mapping| vec![code(&row.operation), code(&row.sequence) + &marks(&row.changes)];
            markdown_table(&["C or C++ or CUDA C++ API", "PTX ABI ISA mapping"], rows.iter().map(cells))
        };
        let mut text = format!("# Atomics ABI for {}\n", self.target);
        for (name, mappings) in self.sections() {
            text += &format!("\nThe PTX ABI for C++ {name} atomic operations is the following:\n\n{}", rows(&mappings));
        }
        text += "\nAn operation that is a compare-and-swap loop carries its ordering outside the loop:\n\n";
        text += &rows(&self.cas_loop_rows.iter().collect::<Vec<_>>());
        text += "\nThe read-modify-write operations, by type:\n\n";
        text += &markdown_table(&OPERATIONS, self.operations.iter().map(OperationMapping::cells));
        text += "\nThe scopes:\n\n";
        let scopes = self.scopes.iter().map(|s| vec![code(s.scope), code(s.becomes) + &marks(&s.changes)]);
        text += &markdown_table(&["`<scope>`", "becomes"], scopes);
        if !self.changes.is_empty() {
            text += "\n";
        }
        self.changes.iter().for_each(|e| text += &format!("- {}: {}\n", e.change, e.reason));
        text
    }

    fn text(&self) -> String {
        let rows = |rows: &[Mapping]| {
            columns(rows.iter().map(|row| vec![row.row.clone(), row.sequence.clone() + &marks(&row.changes)]))
        };
        let scopes = self.scopes.iter().map(|s| vec![s.scope.to_owned(), s.becomes.to_owned() + &marks(&s.changes)]);
        let header = OPERATIONS.map(str::to_owned).to_vec();
        let operations = std::iter::once(header).chain(self.operations.iter().map(OperationMapping::cells));
        let changes = self.changes.iter().map(|e| vec![e.change.to_owned(), e.reason.to_owned()]);
        let sections = [
            (format!("Atomics ABI for {}", self.target), rows(&self.rows)),
            ("Around a compare-and-swap loop".into(), rows(&self.cas_loop_rows)),
            ("Read-modify-write operations".into(), columns(operations)),
            ("Scopes".into(), columns(scopes)),
            ("Changes".into(), columns(changes)),
        ];
        let shown = sections.into_iter().filter(|(_, body)| !body.is_empty());
        shown.map(|(title, body)| format!("{title}\n{body}")).collect::<Vec<_>>().join("\n")
    }
}

const OPERATIONS: [&str; 5] = ["atomicrmw", "i32", "i64, ptr", "float", "double"];

impl OperationMapping {
    fn new(op: RmwOp, strategies: &Strategies, target: &Target) -> Self {
        let form = |ty: Type| {
            if !op.takes(ty) {
                return "-".to_owned();
            }
            let operation = Operation::Rmw(op, Access::new(Space::Global, ty));
            let relaxed = AtomicOp { operation, ordering: Ordering::Relaxed, scope: SyncScope::Threads(Scope::Gpu) };
            match lower(&relaxed, strategies, target) {
                Err(errors) => errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
                Ok(lowering) if lowering.changes.contains(&Change::CasLoop) => "CAS loop".to_owned(),
                Ok(lowering) => {
                    let words = lowering.sequence.instructions().filter_map(|instruction| match instruction {
                        Instruction::Atom(atom) => Some(format!("atom.{}.{}", atom.op, atom.ty)),
                        Instruction::Alu { op, ty, .. } => Some(format!("{op}.{ty}")),
                        _ => None,
                    });
                    words.collect::<Vec<_>>().join("; ")
                }
            }
        };
        let [i32, i64, float, double] = [Type::I32, Type::I64, Type::F32, Type::F64].map(form);
        Self { operation: op.into(), i32, i64, float, double }
    }

    fn cells(&self) -> Vec<String> {
        [self.operation, &self.i32, &self.i64, &self.float, &self.double].map(str::to_owned).to_vec()
    }
}

/// The names of the changes, behind what they changed.
fn marks(changes: &[&str]) -> String {
    if changes.is_empty() { String::new() } else { format!(" ({})", changes.join(", ")) }
}

fn markdown_table(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let header_line = line(&header.iter().map(ToString::to_string).collect::<Vec<_>>());
    let rule = line(&vec!["---".to_owned(); header.len()]);
    header_line + &rule + &rows.map(|cells| line(&cells)).collect::<String>()
}

/// Left-aligned columns, indented by two.
fn columns(rows: impl Iterator<Item = Vec<String>>) -> String {
    let rows: Vec<_> = rows.collect();
    let width = |column: usize| rows.iter().map(|cells| cells[column].len()).max().unwrap_or(0);
    let widths: Vec<_> = (0..rows.first().map_or(0, Vec::len)).map(width).collect();
    let line = |cells: &Vec<String>| {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        format!("  {}\n", padded.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}
