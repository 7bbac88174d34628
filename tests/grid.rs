//! Every operation × type × ordering × scope × space × strategy × target, from LLVM IR to PTX text.
//!
//! Each cell is a function. The text of each is read back: its instructions must be strong enough, by a checker that does
//! not know the ABI table, and on target. Every assembler that knows the target must accept it.

mod support;

use std::{collections::HashSet, fmt::Write};

use itertools::{Itertools, iproduct};
use libtest_mimic::{Arguments, Failed, Trial};
use ptx_atomics::{
    llvm::{Input, Options},
    lowering::{
        AtomicOp, Operation, Ordering, Sequence, Sm, Strategy, SyncScope, Target, Type,
        ptx::{Scope, Space, Statement},
        strength::Strength,
    },
    ptx_from_llvm_ir,
};
use strum::IntoEnumIterator;
use support::{ASSEMBLERS, target};

const TARGETS: [(&str, Option<&str>); 5] =
    [("sm_70", None), ("sm_80", None), ("sm_90", None), ("sm_90", Some("ptx86")), ("sm_100", None)];

fn main() {
    let trials = TARGETS.into_iter().flat_map(|(sm, ptx)| {
        let target = target(sm, ptx);
        let lowering = Trial::test(format!("every cell for {target} is strong enough"), move || strong(&target));
        let assembling =
            ASSEMBLERS.into_iter().filter(move |assembler| assembler.knows(&target)).map(move |assembler| {
                let name = format!("{} accepts every cell for {target}", assembler.name);
                support::trial(name, assembler.missing(), move || {
                    assembler.assemble(&target, &distinct_functions(&target)?)
                })
            });
        [lowering].into_iter().chain(assembling).collect_vec()
    });
    let missing = ASSEMBLERS.iter().find_map(|assembler| assembler.missing());
    let gpus =
        Sm::all().map(|sm| support::trial(format!("{sm} has every operation"), missing, move || every_operation(sm)));
    libtest_mimic::run(&Arguments::from_args(), trials.chain(gpus).collect()).exit();
}

/// Lowers every operation for a GPU with its lowest PTX version, and asks every assembler that knows it: at least one does.
fn every_operation(sm: Sm) -> Result<(), Failed> {
    let target = Target::new(sm, None)?;
    let (cells, _) = cells(&target);
    let of_interest = |cell: &Cell| {
        let space = cell.op.operation.access().map_or(Space::Global, |access| access.space);
        cell.op.ordering == Ordering::SeqCst
            && cell.op.scope == SyncScope::Threads(Scope::Cluster)
            && space == Space::Global
    };
    let cells = cells.into_iter().filter(of_interest).collect_vec();
    let ptx = ptx(&cells, Strategy::Fence, &target)?;
    assert!(ptx.contains(&format!(".version {}\n.target {sm}\n", target.ptx)), "{}", ptx.lines().take(9).join("\n"));
    let knowing = ASSEMBLERS.iter().filter(|assembler| assembler.knows(&target)).collect_vec();
    assert!(!knowing.is_empty());
    knowing.into_iter().try_for_each(|assembler| assembler.assemble(&target, ptx.as_bytes()))
}

/// One function of the grid.
struct Cell {
    name: String,
    op: AtomicOp,
    /// The type in LLVM's words, which has pointers too.
    ty: &'static str,
    weak: bool,
}

/// The cells that the target has, and those that it lacks.
fn cells(target: &Target) -> (Vec<Cell>, Vec<Cell>) {
    let spaces = [Space::Generic, Space::Global, Space::Shared, Space::SharedCluster];
    let scopes = [SyncScope::SingleThread].into_iter().chain(Scope::iter().map(SyncScope::Threads)).collect_vec();
    let plain = |operation: &Operation| matches!(operation, Operation::Load(_) | Operation::Store(_));
    let operations = spaces.into_iter().flat_map(Operation::all).flat_map(|operation| {
        // An `atom` is the same, volatile or not.
        [Some(operation), plain(&operation).then(|| operation.volatile())].into_iter().flatten()
    });
    let ops = iproduct!(operations, Ordering::iter(), scopes)
        .filter(|(operation, ordering, _)| operation.takes(*ordering))
        .unique();
    let cells = ops.flat_map(|(operation, ordering, scope)| {
        let pointers = match operation {
            Operation::Rmw(op, _) => op.takes(Type::F32) && op.takes(Type::I32),
            operation => operation != Operation::Fence,
        };
        let types = match operation.access().map_or(Type::I32, |access| access.ty) {
            Type::I32 => vec!["i32"],
            Type::I64 if pointers => vec!["i64", "ptr"],
            Type::I64 => vec!["i64"],
            Type::F32 => vec!["float"],
            Type::F64 => vec!["double"],
        };
        let weak = if matches!(operation, Operation::CmpXchg { .. }) { vec![false, true] } else { vec![false] };
        let op = AtomicOp { operation, ordering, scope };
        iproduct!(types, weak).map(move |(ty, weak)| (op, ty, weak)).collect_vec()
    });
    let cells = cells.enumerate().map(|(index, (op, ty, weak))| Cell { name: format!("c{index}"), op, ty, weak });
    cells.partition(|cell| {
        let cluster = cell.op.operation.access().is_some_and(|access| access.space == Space::SharedCluster);
        !cluster || target.sm.number() >= 90
    })
}

/// The cell as a function of LLVM IR.
fn llvm_ir(cell: &Cell) -> String {
    let Cell { name, op, ty, weak } = cell;
    let order = |ordering: Ordering| if ordering == Ordering::Relaxed { "monotonic" } else { ordering.into() };
    let scope = match op.scope {
        SyncScope::SingleThread => r#"syncscope("singlethread") "#,
        SyncScope::Threads(Scope::Cta) => r#"syncscope("block") "#,
        SyncScope::Threads(Scope::Cluster) => r#"syncscope("cluster") "#,
        SyncScope::Threads(Scope::Gpu) => r#"syncscope("device") "#,
        SyncScope::Threads(Scope::Sys) => "",
    };
    let pointer = match op.operation.access().map(|access| access.space) {
        Some(Space::Global) => "ptr addrspace(1)",
        Some(Space::Shared) => "ptr addrspace(3)",
        Some(Space::SharedCluster) => "ptr addrspace(7)",
        _ => "ptr",
    };
    let volatile = if op.operation.access().is_some_and(|access| access.volatile) { "volatile " } else { "" };
    let align = if matches!(*ty, "i32" | "float") { 4 } else { 8 };
    let ordering = order(op.ordering);
    let (result, body) = match op.operation {
        Operation::Fence => ("void", format!("fence {scope}{ordering}")),
        Operation::Load(_) => {
            (*ty, format!("%r = load atomic {volatile}{ty}, {pointer} %p {scope}{ordering}, align {align}"))
        }
        Operation::Store(_) => {
            ("void", format!("store atomic {volatile}{ty} %b, {pointer} %p {scope}{ordering}, align {align}"))
        }
        Operation::Rmw(rmw, _) => (*ty, format!("%r = atomicrmw {rmw} {pointer} %p, {ty} %b {scope}{ordering}")),
        Operation::CmpXchg { failure, .. } => {
            let weak = if *weak { "weak " } else { "" };
            let failure = order(failure);
            let pair = format!("%pair = cmpxchg {weak}{pointer} %p, {ty} %b, {ty} %c {scope}{ordering} {failure}");
            (*ty, format!("{pair}\n  %r = extractvalue {{ {ty}, i1 }} %pair, 0"))
        }
    };
    let ret = if result == "void" { "ret void".to_owned() } else { format!("ret {result} %r") };
    format!("define {result} @{name}({pointer} %p, {ty} %b, {ty} %c) {{\n  {body}\n  {ret}\n}}\n")
}

fn module(cells: &[Cell]) -> String {
    "target triple = \"nvptx64-nvidia-cuda\"\n".to_owned() + &cells.iter().map(llvm_ir).collect::<String>()
}

fn ptx(cells: &[Cell], strategy: Strategy, target: &Target) -> Result<String, Failed> {
    let options = Options { strategies: strategy.into(), ..Options::new(*target) };
    let ptx = ptx_from_llvm_ir(&Input::new("grid.ll", module(cells)), &options);
    let messages =
        |errors: Vec<ptx_atomics::llvm::Diagnostic>| errors.iter().map(|error| error.message.clone()).join("\n");
    Ok(String::from_utf8(ptx.map_err(messages)?)?)
}

/// The functions of PTX text, each with its name, its head and its body.
fn functions(ptx: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    ptx.split(".visible .func ").skip(1).map(|function| {
        let (head, rest) = function.trim_start().split_once("\n{").expect("a body");
        let (body, _) = rest.split_once("\n}\n").expect("the end of a body");
        let signature = if head.starts_with('(') { head.split_once(')').expect("a result").1 } else { head };
        (signature.split('(').next().expect("a name").trim(), head, body)
    })
}

/// The instructions that came from the cell: all but loads of parameters and stores of results.
fn sequence(body: &str) -> Result<Sequence, Failed> {
    let lines = body.lines().map(str::trim).filter(|line| !line.contains(".param"));
    let mut statements = Vec::new();
    for line in lines {
        match line.parse::<Statement>() {
            Ok(statement) => statements.push(statement),
            Err(error) => {
                let mnemonic = line.split(['.', ' ', ';']).next().unwrap_or("");
                if ["atom", "red", "ld", "st", "fence", "membar"].contains(&mnemonic) {
                    return Err(error.to_string().into());
                }
            }
        }
    }
    Ok(Sequence(statements))
}

fn strong(target: &Target) -> Result<(), Failed> {
    let (cells, lacking) = cells(target);
    let mut checked = 0;
    for strategy in Strategy::iter() {
        let ptx = ptx(&cells, strategy, target)?;
        for ((name, _, body), cell) in functions(&ptx).zip_eq(&cells) {
            assert_eq!(name, cell.name);
            let sequence = sequence(body)?;
            let fail = |what: String| Err(format!("{strategy}: {what}\n{}\n{sequence}", llvm_ir(cell)).into());
            let strength = Strength::of(&sequence);
            let nothing = cell.op.operation == Operation::Fence && cell.op.scope == SyncScope::SingleThread;
            if let Err(missing) = strength.covers(&cell.op)
                && !nothing
            {
                return fail(missing.join(", "));
            }
            let lacks = target.lacks(&sequence.0);
            if !lacks.is_empty() {
                return fail(lacks.iter().join(", "));
            }
            checked += 1;
        }
        let rejected = ptx_from_llvm_ir(&Input::new("grid.ll", module(&lacking)), &Options::new(*target));
        let errors = rejected.err().map_or(0, |errors| errors.len());
        assert_eq!(errors, lacking.len(), "each cell that the target lacks is an error");
    }
    println!(
        "{target}: {checked} cells strong enough, {} rejected for the target",
        lacking.len() * Strategy::iter().count()
    );
    Ok(())
}

/// The cells of every strategy in one file, equal functions once.
fn distinct_functions(target: &Target) -> Result<Vec<u8>, Failed> {
    let (cells, _) = cells(target);
    let mut text = String::new();
    let mut seen = HashSet::new();
    for strategy in Strategy::iter() {
        let ptx = ptx(&cells, strategy, target)?;
        if text.is_empty() {
            text.push_str(ptx.split(".visible .func").next().expect("a head"));
        }
        for (name, head, body) in functions(&ptx) {
            let function = format!("{head}\n{{{body}\n}}");
            let renamed = |new: &str| {
                function
                    .replace(&format!("{name}_"), &format!("{new}_"))
                    .replace(&format!("{name}("), &format!("{new}("))
            };
            if seen.insert(renamed("f")) {
                writeln!(text, ".visible .func {}", renamed(&format!("f{}", seen.len())))?;
            }
        }
    }
    println!(
        "{target}: {} cells, {} distinct functions to assemble",
        cells.len() * Strategy::iter().count(),
        seen.len()
    );
    Ok(text.into_bytes())
}
