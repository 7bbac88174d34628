//! The insertion of missing instructions for asynchronous operations into LLVM IR and MLIR, before LLVM's optimizer.
//!
//! Each case is a kernel with and without some instructions. The insertion turns the incomplete kernel into the
//! complete kernel, byte for byte, and the complete kernel needs no further insertion.

use std::{
    fs,
    process::{Command, Output},
};

use libtest_mimic::{Failed, Trial};
use testing::{ASSEMBLERS, exists, ptx_atomics, target, tool, trial};

const HEAD: &str = r#"target triple = "nvptx64-nvidia-cuda"
@tile = internal addrspace(3) global [256 x i32] undef, align 128
@bar = internal addrspace(3) global i64 undef
@slot = internal addrspace(3) global i32 undef
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.nvvm.cp.async.bulk.commit.group()
declare void @llvm.nvvm.cp.async.bulk.shared.cta.to.global(ptr addrspace(1), ptr addrspace(3), i32, i64, i1)
declare void @llvm.nvvm.cp.async.bulk.wait.group.read(i32)
declare void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3), ptr addrspace(1))
declare void @llvm.nvvm.cp.async.wait.all()
declare void @llvm.nvvm.fence.mbarrier_init.release.cluster()
declare void @llvm.nvvm.fence.proxy.async.shared_cta()
declare void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3), i32)
declare i1 @llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta(ptr addrspace(3), i32)
declare void @llvm.nvvm.tcgen05.alloc.shared.cg1(ptr addrspace(3), i32)
declare void @llvm.nvvm.tcgen05.commit.shared.cg1(ptr addrspace(3))
declare void @llvm.nvvm.tcgen05.dealloc.cg1(ptr addrspace(6), i32)
declare void @llvm.nvvm.tcgen05.fence.after.thread.sync()
declare i32 @llvm.nvvm.tcgen05.ld.32x32b.x1(ptr addrspace(6), i1)
declare void @llvm.nvvm.tcgen05.mma.shared(ptr addrspace(6), i64, i64, i32, i1, i32, i32, i32)
declare void @llvm.nvvm.tcgen05.st.32x32b.x1(ptr addrspace(6), i32, i1)
declare void @llvm.nvvm.tcgen05.wait.ld()
declare void @llvm.nvvm.tcgen05.wait.st()
define ptx_kernel void @k(i32 %x, ptr addrspace(1) %out) "target-cpu"="sm_100a" "target-features"="+ptx88" {
"#;

/// Short names for lines that several kernels share.
const WORDS: [(&str, &str); 28] = [
    ("alloc", "call void @llvm.nvvm.tcgen05.alloc.shared.cg1(ptr addrspace(3) @slot, i32 32)"),
    ("barrier", "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"),
    ("address", "%a = load i32, ptr addrspace(3) @slot\n  %t = inttoptr i32 %a to ptr addrspace(6)"),
    ("dealloc", "call void @llvm.nvvm.tcgen05.dealloc.cg1(ptr addrspace(6) %t, i32 32)"),
    ("st", "call void @llvm.nvvm.tcgen05.st.32x32b.x1(ptr addrspace(6) %t, i32 %x, i1 false)"),
    ("ld", "%v = call i32 @llvm.nvvm.tcgen05.ld.32x32b.x1(ptr addrspace(6) %t, i1 false)"),
    ("use", "store i32 %v, ptr addrspace(1) %out"),
    ("wait::st", "call void @llvm.nvvm.tcgen05.wait.st()"),
    ("wait::ld", "call void @llvm.nvvm.tcgen05.wait.ld()"),
    (
        "one",
        "%tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n  %first = icmp eq i32 %tid, 0\n  br i1 %first, label %one, label %rest\none:",
    ),
    ("rest", "br label %rest\nrest:"),
    ("copy", "call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) @tile, ptr addrspace(1) %out)"),
    ("read", "%v = load i32, ptr addrspace(3) @tile"),
    ("wait_all", "call void @llvm.nvvm.cp.async.wait.all()"),
    ("write", "store i32 %x, ptr addrspace(3) @tile"),
    ("write0", "store i32 0, ptr addrspace(3) @tile"),
    (
        "store",
        "call void @llvm.nvvm.cp.async.bulk.shared.cta.to.global(ptr addrspace(1) %out, ptr addrspace(3) @tile, i32 16, i64 0, i1 false)",
    ),
    ("fence.proxy", "call void @llvm.nvvm.fence.proxy.async.shared_cta()"),
    ("commit_group", "call void @llvm.nvvm.cp.async.bulk.commit.group()"),
    ("wait_group.read", "call void @llvm.nvvm.cp.async.bulk.wait.group.read(i32 0)"),
    ("fence.init", "call void @llvm.nvvm.fence.mbarrier_init.release.cluster()"),
    ("init", "call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @bar, i32 1)"),
    ("descriptor", DESCRIPTOR),
    ("mma", MMA),
    ("commit", "call void @llvm.nvvm.tcgen05.commit.shared.cg1(ptr addrspace(3) @bar)"),
    (
        "wait0",
        "br label %wait0\nwait0:\n  %done0 = call i1 @llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta(ptr addrspace(3) @bar, i32 0)\n  br i1 %done0, label %next0, label %wait0\nnext0:",
    ),
    (
        "wait1",
        "br label %wait1\nwait1:\n  %done1 = call i1 @llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta(ptr addrspace(3) @bar, i32 1)\n  br i1 %done1, label %next1, label %wait1\nnext1:",
    ),
    ("fence::after", "call void @llvm.nvvm.tcgen05.fence.after.thread.sync()"),
];

/// The instructions that make a descriptor of the tile in shared memory.
const DESCRIPTOR: &str = "%s = ptrtoint ptr addrspace(3) @tile to i64
  %s4 = lshr i64 %s, 4
  %m = and i64 %s4, 16383
  %d = or i64 %m, 4611686293305294848";
const MMA: &str =
    "call void @llvm.nvvm.tcgen05.mma.shared(ptr addrspace(6) %t, i64 %d, i64 %d, i32 0, i1 true, i32 0, i32 1, i32 0)";

/// A kernel that never waits for the tensor core.
const MATRIX: &str = "alloc barrier address descriptor one write +fence.proxy +fence::after mma write0 +fence.proxy +fence::after mma rest";

/// Kernels in short names. The lines marked with `+` are missing.
#[rustfmt::skip]
const CASES: [(&str, &str); 9] = [
    ("a store to tensor memory", "alloc barrier address st +wait::st ld use +wait::ld barrier dealloc"),
    ("a load of tensor memory", "alloc barrier address st wait::st ld use +wait::ld barrier dealloc"),
    ("complete waits stay unchanged", "alloc barrier address st wait::st ld wait::ld use barrier dealloc"),
    ("a copy", "one copy +wait_all read use rest"),
    ("a copy with its wait", "one copy wait_all read use rest"),
    ("a bulk store", "one write +fence.proxy store +commit_group +wait_group.read write0 rest"),
    ("a bulk store with its wait", "one write fence.proxy store commit_group wait_group.read write0 rest"),
    ("a bulk store after a fence", "one write fence.proxy store +commit_group +wait_group.read write0 rest"),
    ("a matrix, twice", "alloc init fence.init barrier address descriptor one write +fence.proxy +fence::after mma commit wait0 write0 +fence.proxy +fence::after mma commit wait1 rest barrier dealloc"),
];

pub fn trials() -> Vec<Trial> {
    let assembler = ASSEMBLERS.iter().find_map(|assembler| assembler.missing());
    let mut trials: Vec<_> =
        CASES.into_iter().map(|(name, words)| trial(name.to_owned(), assembler, move || check(words))).collect();
    trials.push(Trial::test("off and check change nothing", nothing_changes));
    trials.push(Trial::test("deny is an error", deny));
    trials.push(Trial::test("remarks name the inserted lines", remarks));
    trials.push(Trial::test("a fence keeps a store that LLVM merges", lost));
    trials.push(Trial::test("MLIR and LLVM IR get the same lines", mlir));
    trials.extend(HOSTS.iter().map(|(name, _)| {
        let missing = (!exists(tool(name))).then_some(tool(name));
        trial(format!("the plugin in {name} inserts missing lines"), missing, || plugin(name))
    }));
    trials.push(trial(
        "the plugin in mlir-opt inserts missing lines".into(),
        (!exists(tool("mlir-opt"))).then_some(tool("mlir-opt")),
        mlir_opt,
    ));
    trials
}

/// The kernel without and with the missing lines.
fn kernels(words: &str) -> [String; 2] {
    [false, true].map(|whole| {
        let words = words.split(' ').filter(|word| whole || !word.starts_with('+'));
        let line = |word: &str| {
            let word = word.trim_start_matches('+');
            WORDS.iter().find(|(name, _)| *name == word).map_or("", |(_, line)| *line)
        };
        let body: String = words.map(|word| format!("  {}\n", line(word))).collect();
        format!("{HEAD}{body}  ret void\n}}\n")
    })
}

/// The output and the messages of `lower` for a kernel.
fn lower(kernel: &str, arguments: &[&str]) -> Result<(String, String), Failed> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("k.ll"), kernel)?;
    let output = ptx_atomics().current_dir(folder.path()).args(["lower", "k.ll"]).args(arguments).output()?;
    let said = String::from_utf8(output.stderr)?;
    if !output.status.success() {
        return Err(said.into());
    }
    Ok((String::from_utf8(output.stdout)?, said))
}

/// The insertion adds the missing lines and nothing else, also in plugins. The output assembles, and LLVM's optimizer
/// keeps the stores.
fn check(words: &str) -> Result<(), Failed> {
    let [without, whole] = kernels(words);
    let ir = ["--emit", "llvm-ir"];
    let (inserted, said) = lower(&without, &[&ir[..], &["--async", "insert"]].concat())?;
    let (expected, _) = lower(&whole, &[&ir[..], &["--async", "off"]].concat())?;
    // Declarations are in the order of their first use.
    let code = |ir: &str| {
        let start = ir.find("define ").unwrap_or_default();
        ir[start..].split("\n}").next().map(str::to_owned)
    };
    if code(&inserted) != code(&expected) || !said.is_empty() {
        return Err(format!("{said}{inserted}\nis not\n{expected}").into());
    }
    let (_, said) = lower(&whole, &["--async", "deny"])?;
    let (again, _) = lower(&whole, &[&ir[..], &["--async", "insert"]].concat())?;
    if !said.is_empty() || code(&again) != code(&expected) {
        return Err(format!("a second insertion adds lines: {said}{again}").into());
    }
    let missing = words.contains('+');
    if lower(&without, &[])?.1.is_empty() == missing {
        return Err("the check reports no missing line, or a line that is there".into());
    }
    let (ptx, _) = lower(&without, &["--async", "insert", "-O3"])?;
    let stores = words.split(' ').filter(|word| word.starts_with("write")).count();
    if ptx.matches("st.shared").count() != stores {
        return Err(format!("{stores} stores became\n{ptx}").into());
    }
    let target = target("sm_100a", Some("ptx88"));
    for assembler in ASSEMBLERS.iter().filter(|assembler| assembler.knows(&target)) {
        assembler.assemble(&target, ptx.as_bytes())?;
    }
    Ok(())
}

fn nothing_changes() -> Result<(), Failed> {
    for (_, words) in CASES {
        let [without, _] = kernels(words);
        for emit in ["llvm-ir", "ptx"] {
            let made = |mode| lower(&without, &["--async", mode, "--emit", emit, "-O2"]);
            let ((off, said), (check, _)) = (made("off")?, made("check")?);
            if off != check || !said.is_empty() {
                return Err(format!("{words}: {said}{off}\nis not\n{check}").into());
            }
        }
    }
    Ok(())
}

fn deny() -> Result<(), Failed> {
    let [without, _] = kernels(CASES[0].1);
    let said = lower(&without, &["--async", "deny"]).err().and_then(|failed| failed.message().map(str::to_owned));
    let said = said.ok_or("the command succeeds")?;
    let lines =
        ["error: the tcgen05.st on line ", "insert tcgen05.wait::st.sync.aligned; async=insert does it", "k.ll:"];
    if lines.iter().all(|line| said.contains(line)) { Ok(()) } else { Err(said.into()) }
}

fn remarks() -> Result<(), Failed> {
    let [without, _] = kernels(CASES[0].1);
    let (_, said) = lower(&without, &["--async", "insert", "-v"])?;
    let inserted = said.lines().filter(|line| line.contains(" has tcgen05.wait::")).count();
    if inserted == 2 { Ok(()) } else { Err(said.into()) }
}

/// Without a fence between two calls of the tensor core or two stores, LLVM's optimizer merges the two.
fn lost() -> Result<(), Failed> {
    let [without, _] = kernels(MATRIX);
    let (ptx, _) = lower(&without, &["--async", "off", "-O3"])?;
    if ptx.matches("st.shared").count() == 1 { Ok(()) } else { Err(ptx.into()) }
}

/// Each host of the plugin, with its arguments for a whole compilation from `k.ll` to the file `out`.
const HOSTS: [(&str, &[&str]); 3] = [
    ("opt", &["-passes=default<O3>", "-S", "k.ll", "-o", "out"]),
    ("llc", &["-mcpu=sm_100a", "-mattr=+ptx88", "k.ll", "-o", "out"]),
    (
        "clang",
        &[
            "--target=nvptx64-nvidia-cuda",
            "-march=sm_100a",
            "-Xclang",
            "-target-feature",
            "-Xclang",
            "+ptx88",
            "-O3",
            "-S",
            "k.ll",
            "-o",
            "out",
        ],
    ),
];

/// The output and the messages of a host with the plugin, for a kernel. The host must succeed.
fn host(name: &str, kernel: &str, options: &str) -> Result<(String, String), Failed> {
    let (_, arguments) = HOSTS.iter().find(|(host, _)| *host == name).ok_or("no such host")?;
    let load = if name == "clang" { "-fpass-plugin" } else { "-load-pass-plugin" };
    let load = format!("{load}={}", testing::plugin::plugin().display());
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("k.ll"), kernel)?;
    let mut command = Command::new(tool(name));
    command.current_dir(folder.path()).env("PTX_ATOMICS", options).arg(load).args(*arguments);
    let Output { status, stderr, .. } = command.output()?;
    let said = String::from_utf8(stderr)?;
    if !status.success() {
        return Err(said.into());
    }
    Ok((fs::read_to_string(folder.path().join("out"))?, said))
}

/// The plugin inserts before the host's optimizer. Without `insert` it reports the missing lines, once.
fn plugin(name: &str) -> Result<(), Failed> {
    let [without, whole] = kernels(MATRIX);
    let is_fence = |line: &&str| line.contains("fence") && !line.contains("declare");
    let fences = |(text, said): (String, String), found: &mut Vec<String>| {
        let warnings = said.matches("no proxy fence stands between").count();
        found.push(format!("{} fences, {warnings} warnings", text.lines().filter(is_fence).count()));
    };
    let mut found = Vec::new();
    fences(host(name, &without, "async=insert")?, &mut found);
    fences(host(name, &whole, "async=insert")?, &mut found);
    fences(host(name, &without, "")?, &mut found);
    fences(host(name, &without, "async=off")?, &mut found);
    let expected = ["4 fences, 0 warnings", "4 fences, 0 warnings", "0 fences, 2 warnings", "0 fences, 0 warnings"];
    if found != expected {
        return Err(format!("{found:?}").into());
    }
    let denied = host(name, &without, "async=deny").err().and_then(|failed| failed.message().map(str::to_owned));
    let denied = denied.ok_or("the command succeeds")?;
    if denied.contains("no proxy fence stands between") { Ok(()) } else { Err(denied.into()) }
}

const MLIR: &str = r#"gpu.module @kernels [#nvvm.target<chip = "sm_100a", features = "+ptx88">] {
  llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<256 x i32>
  llvm.func @k(%x: i32, %out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %none = llvm.mlir.constant(0 : i32) : i32
    %size = llvm.mlir.constant(16 : i32) : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %first = llvm.icmp "eq" %tid, %none : i32
    llvm.cond_br %first, ^one, ^rest
  ^one:
    %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
    llvm.store %x, %tile : i32, !llvm.ptr<3>
    nvvm.cp.async.bulk.global.shared.cta %out, %tile, %size : !llvm.ptr<1>, !llvm.ptr<3>
    llvm.store %none, %tile : i32, !llvm.ptr<3>
    llvm.br ^rest
  ^rest:
    llvm.return
  }
}
"#;

/// Both paths insert the same ops: in MLIR, and in PTX through LLVM IR.
fn mlir() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("k.mlir"), MLIR)?;
    let lower = |arguments: &[&str]| -> Result<(String, String), Failed> {
        let output = ptx_atomics().current_dir(folder.path()).args(["lower", "k.mlir"]).args(arguments).output()?;
        let said = String::from_utf8(output.stderr)?;
        if output.status.success() { Ok((String::from_utf8(output.stdout)?, said)) } else { Err(said.into()) }
    };
    let (mlir, said) = lower(&["--emit", "mlir", "--async", "insert"])?;
    let ops = [
        "nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>",
        "nvvm.cp.async.bulk.commit.group",
        "nvvm.cp.async.bulk.wait_group 0 {read}",
    ];
    let lines: Vec<_> = mlir.lines().map(str::trim).collect();
    let found = lines.iter().filter(|line| ops.iter().any(|op| line.starts_with(op))).count();
    if found != ops.len() || !said.is_empty() {
        return Err(format!("{found} of {ops:?}: {said}{mlir}").into());
    }
    fs::write(folder.path().join("whole.mlir"), &mlir)?;
    let whole = ptx_atomics().current_dir(folder.path()).args(["lower", "whole.mlir", "--async", "deny"]).output()?;
    let (ptx, _) = lower(&["--async", "insert"])?;
    if ptx != String::from_utf8(whole.stdout)? {
        return Err(format!("{ptx}{}", String::from_utf8(whole.stderr)?).into());
    }
    // Both paths report the site.
    for emit in ["mlir", "ptx"] {
        let (_, said) = lower(&["--emit", emit])?;
        let places = ["--> k.mlir:12:5", "--> k.mlir:13:5", "the write on line 11"];
        if !places.iter().all(|place| said.contains(place)) {
            return Err(format!("{emit}: {said}").into());
        }
    }
    Ok(())
}

/// The plugin for mlir-opt reports that it does not check asynchronous operations.
fn mlir_opt() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("k.mlir");
    fs::write(&file, MLIR)?;
    for (options, warnings) in [("", 1), ("{async=off}", 0)] {
        let mut command = Command::new(tool("mlir-opt"));
        command.arg(format!("--load-pass-plugin={}", testing::plugin::mlir_plugin().display()));
        let output =
            command.arg(format!("--pass-pipeline=builtin.module(ptx-atomics{options})")).arg(&file).output()?;
        let said = String::from_utf8(output.stderr)?;
        if !output.status.success() || said.matches("asynchronous operations are not checked").count() != warnings {
            return Err(said.into());
        }
    }
    Ok(())
}
