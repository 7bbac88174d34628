//! The atomics of the memref dialect. They are as strong as the corresponding atomics of LLVM IR, the assemblers accept
//! them, and their addresses and values are the same as in MLIR's own lowering.

use std::{fs, process::Command};

use itertools::{Itertools, iproduct};
use libtest_mimic::{Failed, Trial};
use ptx_lowering::Target;

use testing::{ASSEMBLERS, Pairs, cells::scattered, exists, ptx_atomics, success, target, tool, word};

use crate::mlir::equivalence::{compare, functions, is_atomic};

const TARGETS: [(&str, &str); 5] =
    [("sm_60", "ptx63"), ("sm_70", "ptx60"), ("sm_80", "ptx78"), ("sm_90", "ptx86"), ("sm_100", "ptx88")];

/// `scripts/test --all` tests one kernel in `SAMPLE`, unless the variable `MLIR_SHARD` asks for all.
const SAMPLE: usize = 80;

/// Element types of MLIR, and LLVM's types of the same width.
const INTEGERS: [(&str, &str); 5] = [("i1", "i8"), ("i8", "i8"), ("i16", "i16"), ("i32", "i32"), ("i64", "i64")];
const FLOATS: [(&str, &str, &str); 5] = [
    ("f16", "half", "i16"),
    ("bf16", "bfloat", "i16"),
    ("f32", "float", "i32"),
    ("f64", "double", "i64"),
    ("f8E4M3FN", "i8", "i8"),
];

/// The kinds of `memref.atomic_rmw`, and the operations of LLVM's `atomicrmw`.
#[rustfmt::skip]
const INTEGER_KINDS: [(&str, Option<&str>); 10] = [
    ("addi", Some("add")), ("andi", Some("and")), ("assign", Some("xchg")), ("maxs", Some("max")), ("maxu", Some("umax")),
    ("mins", Some("min")), ("minu", Some("umin")), ("muli", None), ("ori", Some("or")), ("xori", Some("xor")),
];
#[rustfmt::skip]
const FLOAT_KINDS: [(&str, Option<&str>); 7] = [
    ("addf", Some("fadd")), ("assign", Some("xchg")), ("maximumf", Some("fmaximum")), ("maxnumf", Some("fmax")),
    ("minimumf", Some("fminimum")), ("minnumf", Some("fmin")), ("mulf", None),
];

/// Values of `ptx.ordering`, and LLVM's.
const ORDERINGS: [(Option<&str>, &str); 6] = [
    (None, "acq_rel"),
    (Some("relaxed"), "monotonic"),
    (Some("acquire"), "acquire"),
    (Some("release"), "release"),
    (Some("acq_rel"), "acq_rel"),
    (Some("seq_cst"), "seq_cst"),
];

/// Values of `ptx.scope`, and LLVM's syncscopes.
const SCOPES: [(Option<&str>, &str); 5] = [
    (None, ""),
    (Some("sys"), ""),
    (Some("cluster"), r#"syncscope("cluster")"#),
    (Some("gpu"), r#"syncscope("device")"#),
    (Some("cta"), r#"syncscope("block")"#),
];

/// Memory spaces, and LLVM's pointer types.
const SPACES: [(&str, &str); 6] = [
    ("", "ptr"),
    (", 1", "ptr addrspace(1)"),
    (", 3", "ptr addrspace(3)"),
    (", #gpu.address_space<global>", "ptr addrspace(1)"),
    (", #gpu.address_space<workgroup>", "ptr addrspace(3)"),
    (", 7", "ptr addrspace(7)"),
];

pub fn trials() -> Vec<Trial> {
    let every = std::env::var("MLIR_SHARD").map_or(testing::all().then_some(SAMPLE), |_| Some(1));
    let missing = ASSEMBLERS.iter().find_map(|assembler| assembler.missing());
    let strong = TARGETS.map(|(sm, ptx)| {
        let name = format!("memref: every kind for {sm} with {ptx}");
        testing::trial(name, missing, move || strong(&target(sm, Some(ptx)), every))
    });
    let missing = (!exists(tool("mlir-opt"))).then_some(tool("mlir-opt"));
    let own = testing::trial("memref: addresses and results equal MLIR's own lowering".into(), missing, as_mlir_lowers);
    strong.into_iter().chain([testing::left_to_all(own)]).collect()
}

/// A function with an atomic of the memref dialect, and a function of LLVM IR with the same atomic.
fn pair(name: &str, element: &str, llvm: &str, op: &str, means: Option<&str>, words: Words) -> (String, String) {
    let Words { ordering, scope, space, generic } = words;
    let attributes = [("ordering", ordering.0), ("scope", scope.0)];
    let mut attributes =
        attributes.into_iter().filter_map(|(name, value)| Some(format!("ptx.{name} = \"{}\"", value?)));
    let attributes = Some(attributes.join(", ")).filter(|text| !text.is_empty());
    let attributes = attributes.map_or(String::new(), |text| format!(" {{{text}}}"));
    let memref = format!("memref<?x{element}{}>", space.0);
    let update = if generic {
        let body = format!("%new = arith.select %c, %v, %was : {element}\n    memref.atomic_yield %new : {element}");
        format!(
            "memref.generic_atomic_rmw %m[%i] : {memref} {{\n  ^bb0(%was: {element}):\n    {body}\n  }}{attributes}"
        )
    } else {
        format!("memref.atomic_rmw {op} %v, %m[%i]{attributes} : ({element}, {memref}) -> {element}")
    };
    let mlir = format!(
        "func.func @{name}(%m: {memref}, %i: index, %v: {element}, %c: i1) -> {element} {{\n  %old = {update}\n  \
         return %old : {element}\n}}\n"
    );
    let (ordering, scope, pointer) = (ordering.1, scope.1, space.1);
    let body = match means {
        Some(op) => format!("%old = atomicrmw {op} {pointer} %p, {llvm} %v {scope} {ordering}\n  ret {llvm} %old"),
        None => format!(
            "%first = load atomic {llvm}, {pointer} %p {scope} monotonic, align 8\n  br label %loop\nloop:\n  \
             %was = phi {llvm} [ %first, %0 ], [ %old, %loop ]\n  %new = xor {llvm} %was, %v\n  \
             %pair = cmpxchg {pointer} %p, {llvm} %was, {llvm} %new {scope} {ordering} monotonic\n  \
             %old = extractvalue {{ {llvm}, i1 }} %pair, 0\n  %done = extractvalue {{ {llvm}, i1 }} %pair, 1\n  \
             br i1 %done, label %end, label %loop\nend:\n  ret {llvm} %old"
        ),
    };
    (mlir, format!("define {llvm} @{name}({pointer} %p, {llvm} %v) {{\n  {body}\n}}\n"))
}

/// The ordering, scope, memory space and form of an atomic, in MLIR and in LLVM IR.
#[derive(Clone, Copy)]
struct Words {
    ordering: (Option<&'static str>, &'static str),
    scope: (Option<&'static str>, &'static str),
    space: (&'static str, &'static str),
    generic: bool,
}

/// Tests kinds, element types, orderings, scopes and memory spaces: one kernel in `every`, or kernels that contain
/// every pair of these.
fn strong(target: &Target, every: Option<usize>) -> Result<(), Failed> {
    let integers = iproduct!(INTEGERS, INTEGER_KINDS).map(|((element, llvm), (kind, op))| {
        let op = op.filter(|_| element != "i1");
        (element, llvm, kind, op)
    });
    let floats = iproduct!(FLOATS, FLOAT_KINDS).filter_map(|((element, llvm, integer), (kind, op))| {
        let has_arithmetic = element != "f8E4M3FN";
        let op = op.filter(|_| has_arithmetic);
        let llvm = if op.is_some() { llvm } else { integer };
        (has_arithmetic || kind == "assign").then_some((element, llvm, kind, op))
    });
    let elements = INTEGERS.into_iter().chain(FLOATS.map(|(element, _, integer)| (element, integer)));
    let generic = elements.map(|(element, llvm)| (element, llvm, "generic", None));
    let kinds = integers.chain(floats).chain(generic).collect_vec();
    let (mut mlir, mut llvm_ir) = (String::new(), "target triple = \"nvptx64-nvidia-cuda\"\n".to_owned());
    let mut count = 0;
    let mut pairs = Pairs::default();
    let grid = iproduct!(kinds, ORDERINGS, SCOPES, SPACES).enumerate().sorted_by_key(|(index, _)| scattered(*index));
    for (index, ((element, llvm, kind, op), ordering, scope, space)) in grid {
        let has = |sm: u32| !space.1.contains("(7)") || sm >= 90;
        // Each target tests a part of the sample of pairs.
        let number = scattered(index) / 8 % TARGETS.len();
        let of = testing::target(TARGETS[number].0, Some(TARGETS[number].1));
        let words = [word(number), word(element), word(kind), word(ordering.0), word(scope.0), word(space.0)];
        let is_here = match every {
            Some(every) => scattered(index).is_multiple_of(every) && has(target.sm.number()),
            None => has(of.sm.number()) && pairs.is_new(&words) && of == *target,
        };
        if !is_here {
            continue;
        }
        let words = Words { ordering, scope, space, generic: kind == "generic" };
        let (one, other) = pair(&format!("k{index}"), element, llvm, kind, op, words);
        mlir += &one;
        llvm_ir += &other;
        count += 1;
    }
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    fs::write(path("a.mlir"), &mlir)?;
    fs::write(path("a.ll"), llvm_ir)?;
    let lower = |name: &str, more: &[&str]| {
        let mut command = ptx_atomics();
        command.arg("lower").arg(path(name)).args(["--mcpu", target.sm.name()]);
        success(command.args(["--mattr", &format!("+{}", target.ptx.feature())]).args(more))
    };
    let passed = lower("a.mlir", &["--emit", "mlir"])?;
    assert_eq!(passed.lines().find(|line| is_atomic(line)), None);
    fs::write(path("b.mlir"), passed)?;
    for name in ["a.mlir", "b.mlir"] {
        let ptx = lower(name, &[])?;
        fs::write(path("a.ptx"), &ptx)?;
        success(ptx_atomics().arg("check").arg("--ir").arg(path("a.ll")).arg("--ptx").arg(path("a.ptx")))?;
        let knowing = ASSEMBLERS.iter().filter(|assembler| assembler.knows(target));
        knowing.into_iter().try_for_each(|assembler| assembler.assemble(target, ptx.as_bytes()))?;
    }
    println!("memref: {count} functions for {target}, directly and through the pass in MLIR");
    Ok(())
}

/// Types of memrefs, and the number of their indices.
const LAYOUTS: [(&str, usize); 12] = [
    ("ELEMENTSPACE", 0),
    ("10xELEMENTSPACE", 1),
    ("?xELEMENTSPACE", 1),
    ("4x?x3xELEMENTSPACE", 3),
    ("?x?x?x?xELEMENTSPACE", 4),
    ("?xELEMENT, strided<[?], offset: ?>SPACE", 1),
    ("8x8xELEMENT, strided<[20, 2], offset: 5>SPACE", 2),
    ("4x?x3xELEMENT, strided<[?, 3, 1], offset: ?>SPACE", 3),
    ("ELEMENT, strided<[], offset: ?>SPACE", 0),
    ("ELEMENT, strided<[], offset: 7>SPACE", 0),
    ("8x8xELEMENT, affine_map<(d0, d1) -> (d1 * 8 + d0)>SPACE", 2),
    ("8xELEMENT, strided<[-1], offset: 7>SPACE", 1),
];

/// MLIR's own conversion of a `gpu.module`.
const OWN: &str = "builtin.module(gpu.module(convert-scf-to-cf,convert-gpu-to-nvvm,reconcile-unrealized-casts))";

/// Addresses and results are the same after LLVM's optimizer. Orderings are acq_rel and scopes are sys, because MLIR's
/// own lowering has no other.
fn as_mlir_lowers() -> Result<(), Failed> {
    let kinds = iproduct!(["i32", "i64"], ["addi", "andi", "assign", "maxs", "maxu", "mins", "minu", "ori", "xori"]);
    let floats = iproduct!(["f16", "bf16", "f32", "f64"], ["addf", "assign", "maximumf", "maxnumf", "minnumf"]);
    let simple = kinds.chain(floats).map(|(element, kind)| {
        let update = format!("memref.atomic_rmw {kind} %v, %m[INDICES] : ({element}, MEMREF) -> {element}");
        (element, update)
    });
    let bodies = [
        "%n = arith.muli %was, %v : ELEMENT",
        "%n = arith.addi %v, %v : ELEMENT",
        "%a = arith.xori %was, %v : ELEMENT\n      %b = arith.cmpi slt, %a, %v : ELEMENT\n      \
         %n = arith.select %b, %a, %was : ELEMENT",
    ];
    let generic = iproduct!(["i32", "i64"], bodies).map(|(element, body)| {
        let yielded = "memref.atomic_yield %n : ELEMENT\n    }";
        let text = format!(
            "memref.generic_atomic_rmw %m[INDICES] : MEMREF {{\n    ^bb0(%was: ELEMENT):\n      {body}\n      {yielded}"
        );
        (element, text.replace("ELEMENT", element))
    });
    let updates = simple.chain(generic).collect_vec();
    let spaces = ["", ", 1", ", 3", ", #gpu.address_space<workgroup>"];
    // An update alone, in a loop, and on both sides of a branch: the surrounding code does not change.
    let around = [
        "%old = UPDATE\n    memref.store %old, %out[] : memref<ELEMENT>",
        "scf.for %x = %i to %j step %k {\n    %old = UPDATE\n    memref.store %old, %out[] : memref<ELEMENT>\n    }",
        "scf.if %c {\n    %old = UPDATE\n    memref.store %old, %out[] : memref<ELEMENT>\n    } else {\n    %other = UPDATE\n    }",
    ];
    let kernels = iproduct!(LAYOUTS, spaces, &updates, around).enumerate().filter_map(|(index, kernel)| {
        let ((layout, rank), space, (element, update), around) = kernel;
        scattered(index).is_multiple_of(5).then(|| {
            let layout = layout.replace("ELEMENT", element).replace("SPACE", space);
            let memref = format!("memref<{layout}>");
            let update =
                update.replace("INDICES", &["%i", "%j", "%k", "%l"][..rank].join(", ")).replace("MEMREF", &memref);
            let body = around.replace("UPDATE", &update).replace("ELEMENT", element);
            format!(
                "  gpu.func @k{index}(%m: {memref}, %i: index, %j: index, %k: index, %l: index, %v: {element}, %c: i1, \
                 %out: memref<{element}>) kernel {{\n    {body}\n    gpu.return\n  }}\n"
            )
        })
    });
    let kernels = kernels.collect_vec();
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    fs::write(path("ours.mlir"), format!("gpu.module @kernels {{\n{}}}\n", kernels.concat()))?;
    let pipeline = format!("--pass-pipeline={OWN}");
    let own = success(Command::new(tool("mlir-opt")).arg(path("ours.mlir")).arg(pipeline))?;
    assert!(own.matches("llvm.atomicrmw").count() + own.matches("llvm.cmpxchg").count() > kernels.len());
    fs::write(path("own.mlir"), own.lines().map(with_relaxed_load).collect::<String>())?;
    let lower = |name: &str| success(ptx_atomics().arg("lower").arg(path(name)).args(["-O2", "--mattr", "+ptx86"]));
    let [own, ours] = [lower("own.mlir")?, lower("ours.mlir")?];
    let differences = compare(&functions(&own), &functions(&ours), &|name| {
        let kernel = kernels.iter().find(|kernel| kernel.contains(&format!("@{name}(")));
        kernel.cloned().unwrap_or_default()
    });
    println!("memref: {} kernels, {} differ from MLIR's own lowering", kernels.len(), differences.len());
    if differences.is_empty() { Ok(()) } else { Err(differences.into_iter().take(4).join("\n\n").into()) }
}

/// A line of MLIR's own lowering. The first load of its loops is weak and aligned to at most 4 bytes, so that it races
/// with the updates of other threads and may be torn. This function makes that load relaxed.
fn with_relaxed_load(line: &str) -> String {
    let load = line.split_once("llvm.load").and_then(|_| line.split_once(" : "));
    match load {
        Some((head, types)) => {
            let alignment = if types.ends_with("i64") { 8 } else { 4 };
            format!("{head} atomic monotonic {{alignment = {alignment} : i64}} : {types}\n")
        }
        None => format!("{line}\n"),
    }
}
