//! Every code sequence on one page: the chapter `docs/nvptx.md`, as AMDGPU's guide has one for its memory model.

use itertools::Itertools;
use ptx_atomics_lowering::{
    Access, AtomicOp, Form, Operation, Ordering, RmwOp, Strategy, SyncScope, Target, Type,
    ptx::{Scope, Space},
};
use strum::IntoEnumIterator;

use crate::code::{Code, Lowered, lowered, standing_for};

/// The targets of the columns, with what each stands for.
const COLUMNS: [(&str, &str, &str); 3] =
    [("sm_60", "ptx90", "sm_60 to sm_62"), ("sm_70", "ptx90", "sm_70 to sm_89"), ("sm_90", "ptx90", "from sm_90 on")];

fn targets() -> impl Iterator<Item = (Target, &'static str)> {
    let target = |(sm, ptx, name): (&str, &str, &'static str)| {
        Some((Target::new(sm.parse().ok()?, Some(ptx.parse().ok()?)).ok()?, name))
    };
    COLUMNS.into_iter().filter_map(target)
}

/// The operations of the rows: of read-modify-writes one that is an instruction, and one that is a loop.
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

/// LLVM's word for an ordering.
fn llvm(ordering: Ordering) -> String {
    if ordering == Ordering::Relaxed { "monotonic".into() } else { ordering.to_string() }
}

fn cell(operation: Operation, ordering: Ordering, target: &Target) -> String {
    let op = AtomicOp { operation, ordering, scope: SyncScope::Threads(Scope::Gpu) };
    let Lowered { code: Ok(Code { before, access, behind }), .. } = lowered(&op, Strategy::Recommended, target) else {
        return String::new();
    };
    let text = [before, access, behind].join("\n");
    let is_loop = text.lines().any(|line| line.ends_with(':'));
    let is_shown = |line: &&str| {
        let mnemonic = mnemonic(line);
        ["fence", "membar"].iter().any(|word| mnemonic.starts_with(word)) || !is_loop || mnemonic.contains(".cas.")
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

/// What scopes of LLVM become.
pub fn scopes() -> String {
    let mut lines = vec![
        format!("| syncscope | threads | {} |", targets().map(|(_, name)| name).join(" | ")),
        format!("| --- | --- |{}", " --- |".repeat(COLUMNS.len())),
    ];
    let named = [
        (r#"none, `"system"`"#, "all, those of the host too", Scope::Sys),
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
