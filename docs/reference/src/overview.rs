//! Tables of the whole mapping: every code sequence on one page, the chapter `docs/nvptx.md`, like the table for the
//! memory model in the guide of AMDGPU; and the instruction for each operation on each family of GPUs, in
//! `docs/reference.md`.

use itertools::Itertools;
use ptx_lowering::{
    Access, AtomicOp, Form, Operation, Ordering, RmwOp, Strategy, SyncScope, Target, Type,
    ptx::{
        self, Scope, Space,
        mnemonic::{Mnemonic, Order},
    },
};
use strum::IntoEnumIterator;

use crate::{
    code::{Code, Lowered, SCOPE, SPACE, lowered, standing_for},
    operations::{name, operations},
    targets::{TARGETS, targets as families},
};

/// The targets of the columns, with the range of GPUs that each represents.
const COLUMNS: [(&str, &str, &str); 3] =
    [("sm_60", "ptx90", "sm_60 to sm_62"), ("sm_70", "ptx90", "sm_70 to sm_89"), ("sm_90", "ptx90", "from sm_90 on")];

fn targets() -> impl Iterator<Item = (Target, &'static str)> {
    let target = |(sm, ptx, name): (&str, &str, &'static str)| {
        Some((Target::new(sm.parse().ok()?, Some(ptx.parse().ok()?)).ok()?, name))
    };
    COLUMNS.into_iter().filter_map(target)
}

/// The operations of the rows; read-modify-writes are represented by a single instruction and by a loop.
fn rows() -> Vec<(String, Operation)> {
    let access = Access::new(Space::Global, Type::I32);
    let cmpxchg = |failure| Operation::CmpXchg { access, failure };
    vec![
        ("load atomic".into(), Operation::Load(access)),
        ("store atomic".into(), Operation::Store(access)),
        ("atomicrmw".into(), Operation::Rmw(RmwOp::Add, access)),
        ("cmpxchg".into(), cmpxchg(Ordering::Relaxed)),
        ("atomicrmw that is a loop".into(), Operation::Rmw(RmwOp::Nand, access)),
        ("fence".into(), Operation::Fence),
    ]
}

/// The table of all sequences.
pub fn sequences() -> String {
    let mut lines = vec![
        format!("| instruction | ordering | {} |", targets().map(|(_, name)| name).join(" | ")),
        format!("| --- | --- |{}", " --- |".repeat(COLUMNS.len())),
    ];
    for (name, operation) in rows() {
        for ordering in
            Ordering::iter().filter(|ordering| operation.takes(*ordering) && *ordering != Ordering::Unordered)
        {
            let cells = targets().map(|(target, _)| cell(operation, ordering, &target));
            lines.push(format!("| {name} | {} | {} |", llvm(ordering), cells.collect_vec().join(" | ")));
        }
    }
    lines.join("\n") + "\n"
}

/// The name of an ordering in LLVM.
fn llvm(ordering: Ordering) -> String {
    if ordering == Ordering::Relaxed { "monotonic".into() } else { ordering.to_string() }
}

fn cell(operation: Operation, ordering: Ordering, target: &Target) -> String {
    let op = AtomicOp { operation, ordering, scope: SyncScope::Threads(Scope::Gpu) };
    let Lowered { code: Ok(Code { before, access, after }), .. } = lowered(&op, Strategy::Recommended, target) else {
        return String::new();
    };
    let text = [before, access, after].join("\n");
    let is_loop = text.lines().any(|line| line.ends_with(':'));
    let is_shown = |line: &&str| {
        // A placeholder for a modifier, such as `<.scope>`, counts as a modifier.
        let row = Mnemonic::find_row(&mnemonic(line).replace('<', ""));
        row.is_some_and(|row| row.order == Some(Order::Fence)) || !is_loop || line.contains(".cas.")
    };
    let shown = text.lines().map(str::trim).filter(|line| !line.is_empty()).filter(is_shown).map(|line| {
        let of_loop = if is_loop && line.contains(".cas.") { "loop of " } else { "" };
        format!("{of_loop}`{}`", mnemonic(line))
    });
    shown.collect_vec().join(" ")
}

/// The instruction without its guard and its operands.
fn mnemonic(line: &str) -> &str {
    line.split([' ', ';']).find(|word| !word.starts_with('@')).unwrap_or_default()
}

/// The scope in PTX for each scope of LLVM.
pub fn scopes() -> String {
    let mut lines = vec![
        format!("| syncscope | threads | {} |", targets().map(|(_, name)| name).join(" | ")),
        format!("| --- | --- |{}", " --- |".repeat(COLUMNS.len())),
    ];
    let named = [
        (r#"none, `"system"`"#, "all, including the host", Scope::Sys),
        (r#"`"device"`"#, "of the GPU", Scope::Gpu),
        (r#"`"cluster"`"#, "of the cluster", Scope::Cluster),
        (r#"`"block"`"#, "of the CTA", Scope::Cta),
    ];
    for (name, threads, scope) in named {
        let cell = |(target, _): (Target, &str)| match target.meets(Form::Semantics.requirement()) {
            true => format!("`.{}`", standing_for(scope, &target)),
            false => match scope {
                Scope::Cta => "`membar.cta`, `atom.cta`".into(),
                Scope::Sys => "`membar.sys`, `atom.sys`".into(),
                _ => "`membar.gl`, `atom.gpu`".into(),
            },
        };
        lines.push(format!("| {name} | {threads} | {} |", targets().map(cell).join(" | ")));
    }
    lines.join("\n") + "\n"
}

/// The instruction for each operation on each family of GPUs with PTX 9.0, relaxed, of scope gpu and in global memory:
/// types with equal results share a row.
pub fn operations_by_family() -> String {
    let families: Vec<(Target, &str)> = families()
        .into_iter()
        .zip(TARGETS)
        .filter(|(_, (_, ptx))| *ptx == "ptx90")
        .map(|(of, (sm, _))| (of, sm))
        .collect();
    let mut rows: Vec<(String, Vec<String>, Vec<String>)> = Vec::new();
    for operation in operations().filter(|operation| *operation != Operation::Fence) {
        let cells: Vec<String> = families.iter().map(|(target, _)| how(operation, target)).collect();
        let (name, ty) = (name(&operation), operation.access().map(|access| access.ty.to_string()).unwrap_or_default());
        match rows.iter_mut().find(|(of, _, known)| *of == name && *known == cells) {
            Some((_, types, _)) => types.push(ty),
            None => rows.push((name, vec![ty], cells)),
        }
    }
    // A family with the same cells as the family before it has no column.
    let is_new = |family: &usize| *family == 0 || rows.iter().any(|(.., cells)| cells[*family] != cells[*family - 1]);
    let shown: Vec<usize> = (0..families.len()).filter(is_new).collect();
    let mut lines = vec![
        format!("| operation | types | {} |", shown.iter().map(|family| families[*family].1).join(" | ")),
        format!("| --- | --- |{}", " --- |".repeat(shown.len())),
    ];
    lines.extend(rows.iter().map(|(name, types, cells)| {
        format!("| {name} | {} | {} |", types.join(", "), shown.iter().map(|family| &cells[*family]).join(" | "))
    }));
    lines.join("\n") + "\n"
}

/// The instruction of an operation, or the instruction that its loop repeats, without its type; `none` without code.
fn how(operation: Operation, target: &Target) -> String {
    let op = AtomicOp { operation, ordering: Ordering::Relaxed, scope: SyncScope::Threads(Scope::Gpu) };
    let Lowered { code: Ok(Code { access, .. }), .. } = lowered(&op, Strategy::Recommended, target) else {
        return "none".into();
    };
    let words = access.lines().map(|line| mnemonic(line.trim()).replace(SCOPE, "").replace(SPACE, ""));
    let is_loop = access.lines().any(|line| line.ends_with(':'));
    let is_access = |word: &String| {
        let instruction = word.split('.').next().unwrap_or_default();
        ["ld", "st", "atom"].contains(&instruction) && (!is_loop || word.contains(".cas"))
    };
    let is_kept = |part: &&str| *part != "relaxed" && !ptx::Type::iter().any(|ty| ty.to_string() == **part);
    let chosen = words.filter(is_access).map(|word| word.split('.').filter(is_kept).join(".")).unique();
    let loop_of = if is_loop { "loop of " } else { "" };
    chosen.map(|word| format!("{loop_of}`{word}`")).join(", ")
}
