//! The operations that LLVM's own instructions implement. The installed LLVM prints them as its table says, and an
//! incorrect table is detected.

use std::collections::BTreeMap;

use itertools::{Itertools, iproduct};
use libtest_mimic::{Failed, Trial};
use ptx_atomics::{
    llvm::{
        self, Embed, Input, Options,
        inkwell::{OptimizationLevel, context::Context, support::get_llvm_version},
    },
    lowering::{AtomicOp, Policy, Target, lower, ptx::Module},
};
use ptx_atomics_common::backend::{Backend, OperationKey, StraightLine};
use ptx_atomics_conformance::{Cell, Form, Language, backend};
use testing::{one_of, root, trial};

/// Targets at which LLVM's output changes, and some targets between them that no table names.
const TARGETS: [(&str, &str); 9] = [
    ("sm_70", "ptx60"),
    ("sm_72", "ptx85"),
    ("sm_75", "ptx63"),
    ("sm_80", "ptx81"),
    ("sm_86", "ptx86"),
    ("sm_90", "ptx78"),
    ("sm_90a", "ptx86"),
    ("sm_100", "ptx86"),
    ("sm_120", "ptx90"),
];

pub fn trials() -> Vec<Trial> {
    let (major, minor, patch) = get_llvm_version();
    let table: Option<&'static Backend> =
        Backend::from_version([major, minor, patch]).map(|table| &*Box::leak(Box::new(table)));
    let missing = table.is_none().then(|| format!("a table of LLVM {major}.{minor}.{patch}"));
    let of_table = |name: String, run: fn(&'static Backend, &Target) -> Result<(), Failed>| {
        TARGETS.map(|(sm, ptx)| {
            let target =
                Target::new(sm.parse().expect("a GPU"), Some(ptx.parse().expect("a version"))).expect("a target");
            trial(format!("{target}: {name}"), missing.as_deref(), move || {
                run(table.expect("the table exists"), &target)
            })
        })
    };
    let shares = Trial::test("docs/cost.md has the shares of all versions", shares);
    let of_targets = [
        of_table("LLVM prints the text of its table".into(), prints),
        of_table("the test finds a wrong claim".into(), mutants),
        of_table("plain accesses keep their places".into(), beside),
    ];
    of_targets.into_iter().flat_map(|trials| one_of(2, trials)).chain([shares]).collect()
}

/// The PTX of functions, and the number of operations that LLVM itself selected.
fn ptx(cells: &[Cell], options: &Options) -> Result<(String, usize), String> {
    let input = Input::new("cells.ll", Language::Llvm.source(cells));
    let context = Context::create();
    let run = || {
        let module = llvm::read(&context, &input)?;
        let machine = llvm::machine(&module, &options.target, OptimizationLevel::Default)?;
        let (remarks, kept) = llvm::lower(&module, &input, options)?;
        let text = llvm::ptx(&module, &machine, &options.target)?;
        kept.verify(&text)?;
        let stayed =
            remarks.iter().filter(|remark| matches!(remark.outcome, llvm::Outcome::Lowered { native: true, .. }));
        Ok((String::from_utf8_lossy(&text).into_owned(), stayed.count()))
    };
    run().map_err(|errors: llvm::Errors| errors.to_string())
}

/// Options under which operations stay as a table allows.
fn by(table: &'static Backend, target: &Target) -> Options {
    let of_table = Options { embed: Embed::Native, backend: Some(table), ..Options::new(*target) };
    Options { verify_native: true, remarks: true, ..of_table }
}

/// Functions whose PTX is not the chosen sequence, whichever path produced it.
fn others(cells: &[Cell], target: &Target, text: &str) -> Vec<String> {
    let module: Module = text.parse().expect("PTX");
    let functions: BTreeMap<&str, _> = module.functions().map(|function| (function.name.as_str(), function)).collect();
    let is_chosen = |cell: &&Cell| {
        let printed = functions.get(cell.symbol().as_str()).and_then(|function| backend::printed(&cell.op, function));
        printed.is_some() && printed == chosen(&cell.op, target)
    };
    cells.iter().filter(|cell| !is_chosen(cell)).map(|cell| cell.name.clone()).collect()
}

fn chosen(op: &AtomicOp, target: &Target) -> Option<StraightLine> {
    StraightLine::from_sequence(&lower(op, &Policy::default(), target).ok()?.sequence, op)
}

/// The PTX of each function is the chosen sequence, native or not, and many operations stay native.
fn prints(table: &'static Backend, target: &Target) -> Result<(), Failed> {
    let cells = backend::functions(target, table.version[0]);
    let (text, stayed) = ptx(&cells, &by(table, target))?;
    let other = others(&cells, target, &text);
    println!("{target}: {} functions, {stayed} of them native", cells.len());
    if !other.is_empty() {
        return Err(format!("{} are different: {:?}", other.len(), &other[..other.len().min(9)]).into());
    }
    assert!(stayed * 3 > cells.len(), "{stayed} of {}", cells.len());
    let (text, stayed) = ptx(&cells, &Options { embed: Embed::Assembly, ..by(table, target) })?;
    assert_eq!((others(&cells, target, &text), stayed), (Vec::new(), 0));
    Ok(())
}

/// For each operation, type and ordering, a table that incorrectly claims that LLVM prints the chosen sequence. The
/// verification must detect the claim.
fn mutants(table: &'static Backend, target: &Target) -> Result<(), Failed> {
    let mut claims = BTreeMap::new();
    for cell in backend::functions(target, table.version[0]) {
        let (Some(asked), Some(chosen)) = (OperationKey::from_op(&cell.op), chosen(&cell.op, target)) else { continue };
        if table.order(&asked, target) != Some(&chosen.order) {
            let kind = (cell.kind(), cell.rmw().map(<&str>::from), cell.llvm_type(), cell.ordering());
            claims.entry(kind).or_insert((cell, asked, chosen.order));
        }
    }
    let (mut wrong, mut missed) = (0, Vec::new());
    for (cell, asked, order) in claims.values() {
        let options = by(Box::leak(Box::new(table.claiming(asked, target, order))), target);
        let cells = std::slice::from_ref(cell);
        let (unverified, _) = ptx(cells, &Options { verify_native: false, ..options.clone() })?;
        // A claim that no table has may still be true.
        if others(cells, target, &unverified).is_empty() {
            continue;
        }
        wrong += 1;
        if !ptx(cells, &options).is_err_and(|errors| errors.contains("the PTX of its table")) {
            missed.push(cell.name.clone());
        }
    }
    println!("{target}: {wrong} wrong claims");
    assert!(wrong > 9);
    if missed.is_empty() { Ok(()) } else { Err(format!("not found: {missed:?}").into()) }
}

/// Next to plain accesses, a native operation would let LLVM's code generator move the accesses, such as a load across
/// an acquire load. No operation stays native there. An instruction that does not access memory is not a plain access.
fn beside(table: &'static Backend, target: &Target) -> Result<(), Failed> {
    const OPERATIONS: [&str; 6] = [
        "load atomic i32, ptr addrspace(1) %c syncscope(\"device\") acquire, align 4",
        "load atomic i32, ptr addrspace(1) %c monotonic, align 4",
        "atomicrmw add ptr addrspace(1) %c, i32 1 syncscope(\"device\") acq_rel",
        "cmpxchg ptr addrspace(1) %c, i32 1, i32 2 monotonic monotonic",
        "store atomic i32 1, ptr addrspace(1) %c release, align 4",
        "fence syncscope(\"device\") acq_rel",
    ];
    const BESIDE: [(&str, &str, bool); 6] = [
        ("%a = load i64, ptr addrspace(1) %p, align 16", "%b = load i64, ptr addrspace(1) %q, align 8", false),
        ("store i64 %v, ptr addrspace(1) %p, align 16", "store i64 %v, ptr addrspace(1) %q, align 8", false),
        ("%a = call i64 @f(ptr addrspace(1) %p)", "%b = call i64 @f(ptr addrspace(1) %q)", false),
        ("", "%b = call i64 asm \"ld.b64 $0, [$1];\", \"=l,l\"(ptr addrspace(1) %q) memory(read)", false),
        ("%a = call i64 @g(i64 %v)", "%b = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()", true),
        ("", "", true),
    ];
    let context = Context::create();
    let (mut may, mut stayed) = (0, 0);
    for ((operation, (before, after, is_alone)), alias) in iproduct!(iproduct!(OPERATIONS, BESIDE), ["", "noalias"]) {
        let result = if operation.starts_with("store") || operation.starts_with("fence") { "" } else { "%x = " };
        let ir = format!(
            "target triple = \"nvptx64-nvidia-cuda\"\ndeclare i64 @f(ptr addrspace(1)) memory(read)\n\
             declare i64 @g(i64) memory(none)\ndeclare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n\
             define void @h(ptr addrspace(1) {alias} %p, ptr addrspace(1) {alias} %c, i64 %v) {{\n\
             %q = getelementptr i64, ptr addrspace(1) %p, i64 1\n{before}\n{result}{operation}\n{after}\nret void\n}}"
        );
        let input = Input::new("beside.ll", ir);
        let module = llvm::read(&context, &input).map_err(|errors| errors.to_string())?;
        let (remarks, _) = llvm::lower(&module, &input, &by(table, target)).map_err(|errors| errors.to_string())?;
        let stays = remarks.iter().any(|remark| matches!(remark.outcome, llvm::Outcome::Lowered { native: true, .. }));
        assert!(is_alone || !stays, "{operation} stays native between {before} and {after}");
        may += usize::from(is_alone);
        stayed += usize::from(stays);
    }
    assert!(stayed * 2 >= may, "{stayed} of {may} stay native alone");
    Ok(())
}

/// The percentage of functions in the conformance suite that stay native.
fn shares() -> Result<(), Failed> {
    let docs = std::fs::read_to_string(root().join("docs/cost.md"))?;
    let targets = [("sm_70", "ptx63"), ("sm_80", "ptx80"), ("sm_90", "ptx86"), ("sm_100", "ptx88")];
    for (sm, ptx) in targets {
        let target = Target::new(sm.parse()?, Some(ptx.parse()?))?;
        let cells = Language::Llvm.cells(&target, 22);
        let cells: Vec<Cell> = cells.into_iter().filter(|cell| cell.form == Form::Plain).collect();
        let share = |version: [u32; 3]| {
            let table = Backend::from_version(version).expect("the table exists");
            let stays = |cell: &&Cell| {
                let lowered = lower(&cell.op, &Policy::default(), &target);
                lowered.is_ok_and(|lowering| table.prints(&cell.op, &lowering.sequence, &target))
            };
            let stay = cells.iter().filter(stays).count();
            format!("{stay} ({:.0} percent)", 100.0 * stay as f64 / cells.len() as f64)
        };
        // One entry for all versions with the same major version.
        let shares: Vec<_> = Backend::versions().map(|version| (version[0], share(version))).dedup().collect();
        let shares: Vec<_> = shares.into_iter().map(|(_, share)| share).collect();
        let row = format!("| {target} | {} | {} |", cells.len(), shares.join(" | "));
        assert!(docs.contains(&row), "docs/cost.md does not have: {row}");
    }
    Ok(())
}
