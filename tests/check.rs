//! `ptx-atomics check` on the output of LLVM, on our output, and on text that is not PTX.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use itertools::iproduct;
use libtest_mimic::{Failed, Trial};
use testing::{ASSEMBLERS, exists, llvm_version, ptx_atomics, root, success, tool, trial};

const IR: &str = r#"target triple = "nvptx64-nvidia-cuda"
define i32 @ticket(ptr addrspace(1) %p) {
  %old = atomicrmw add ptr addrspace(1) %p, i32 1 acq_rel
  ret i32 %old
}
define i32 @flag(ptr addrspace(1) %p, ptr addrspace(1) %data) {
  %ready = load atomic i32, ptr addrspace(1) %p acquire, align 4
  %again = icmp eq i32 %ready, 0
  br i1 %again, label %no, label %yes
yes:
  %found = load i32, ptr addrspace(1) %data
  ret i32 %found
no:
  %none = cmpxchg ptr addrspace(1) %p, i32 0, i32 1 syncscope("device") release monotonic
  ret i32 0
}
define i8 @byte(ptr addrspace(1) %p, i8 %b) {
  %old = atomicrmw max ptr addrspace(1) %p, i8 %b syncscope("block") monotonic
  ret i8 %old
}
"#;

pub fn trials() -> Vec<Trial> {
    // LLVM versions after 22 keep the orderings that LLVM 22 loses.
    let llc = (llvm_version() != 22 || !exists(tool("llc"))).then_some("llc-22");
    let trials = vec![
        trial("the check reports the losses of llc 22".into(), llc, llc_loses),
        trial("the scoreboard's sample finds ours right".into(), llc.or_else(assembler_missing), scoreboard),
        trial("libNVVM's verifier accepts lowered IR".into(), libnvvm_missing().or_else(assembler_missing), libnvvm),
        Trial::test("our lowering loses nothing", ours_keeps),
        Trial::test("the check finds each loss", weakened_is_found),
        Trial::test("the check follows blocks in another order", moved_blocks),
        Trial::test("the check accepts correct shapes", shapes),
        Trial::test("a comparison of nothing is an error", nothing_to_check),
        trial("MLIR".into(), (!exists(tool("mlir-opt"))).then_some(tool("mlir-opt")), mlir),
        Trial::test("an error after long strings has its line", strings_over_lines),
        Trial::test("JSON has the verdicts", json),
        Trial::test("a narrower default scope requires less", default_scope),
        Trial::test("a missing function is reported", missing_function),
        Trial::test("the check follows rewritten control flow", rewritten_flow),
        Trial::test("the check reports vector atomics at generic addresses", vector_atomics),
        Trial::test("the check reports effects that the IR lacks", effects),
        Trial::test("the check follows inlined calls", inlined),
        Trial::test("the check accepts an optimizer's changes", optimized),
        Trial::test("the check reports an ordering that ptxas drops", dropped_by_ptxas),
        Trial::test("an atomic in inline assembly belongs to the IR", own_assembly),
        Trial::test("damaged PTX is an error", damaged),
        Trial::test("wrong usage has exit status 2", usage),
    ];
    trials
}

/// The folder with the files of a trial.
struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Result<Self, Failed> {
        Ok(Self(tempfile::tempdir()?))
    }

    fn write(&self, name: &str, text: &str) -> Result<PathBuf, Failed> {
        let path = self.0.path().join(name);
        fs::write(&path, text)?;
        Ok(path)
    }

    /// Checks PTX against IR, with further options.
    fn check(&self, ir: &str, ptx: &str, options: &[&str]) -> Result<(i32, String, String), Failed> {
        let (ir, ptx) = (self.write("a.ll", ir)?, self.write("b.ptx", ptx)?);
        let mut command = ptx_atomics();
        let Output { status, stdout, stderr } =
            command.arg("check").arg("--ir").arg(ir).arg("--ptx").arg(ptx).args(options).output()?;
        let place = format!("{}/", self.0.path().display());
        let text = |bytes| String::from_utf8(bytes).map(|text| text.replace(&place, ""));
        Ok((status.code().unwrap_or(-1), text(stdout)?, text(stderr)?))
    }

    fn lowered(&self, ir: &str) -> Result<String, Failed> {
        success(ptx_atomics().args(["lower", "--mcpu", "sm_90", "--mattr", "+ptx86"]).arg(self.write("a.ll", ir)?))
    }
}

fn llc_loses() -> Result<(), Failed> {
    let files = Files::new()?;
    let llc = success(Command::new(tool("llc")).args(["-mcpu=sm_90", "-o", "-"]).arg(files.write("a.ll", IR)?))?;
    let (status, stdout, stderr) = files.check(IR, &llc, &[])?;
    assert_eq!((status, &*stdout), (1, ""), "{stderr}");
    let expected = "\
error: ordering lost: an access of scope gpu, not sys, no acquire, no release
 --> a.ll:3:3
  |
3 |   %old = atomicrmw add ptr addrspace(1) %p, i32 1 acq_rel
  |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ in function 'ticket'
  |
  = note: b.ptx:";
    assert!(stderr.starts_with(expected), "{stderr}");
    assert!(stderr.contains("error: weak load in a loop: "), "{stderr}");
    assert!(stderr.ends_with("4 atomics and fences: 2 kept, 2 not, 0 not checked\n"), "{stderr}");
    Ok(())
}

fn assembler_missing() -> Option<&'static str> {
    ASSEMBLERS.iter().find_map(|assembler| assembler.missing())
}

fn scoreboard() -> Result<(), Failed> {
    let mut command = Command::new(root().join("scripts/scoreboard"));
    let table = success(command.args(["--quick", "--ours"]).arg(testing::binary()))?;
    let row = |start: &str| table.lines().find(|line| line.starts_with(start)).unwrap_or_default().to_owned();
    let (ours, llc) = (row("| ptx-atomics "), row("| llc 22"));
    assert!(ours.contains(" (100.0%) | 0 | 0 | 0 | 0 | 0 | 0 |"), "{table}");
    assert!(!llc.is_empty() && !llc.contains("(100.0%)"), "{table}");
    Ok(())
}

fn libnvvm_missing() -> Option<&'static str> {
    let library = root().join(".tools/cuda-13.5/nvidia/cu13/lib/libnvvm.so.4");
    (!library.exists()).then_some("libNVVM (scripts/install peers)")
}

/// The suite passes with libNVVM, both in its dialect of LLVM 22 (`--latest`) and in the dialect of sm_100.
fn libnvvm() -> Result<(), Failed> {
    for (sm, options) in [("sm_90", &["--latest"][..]), ("sm_100", &[])] {
        let mut command = ptx_atomics();
        command.args(["conformance", "--sample", "142", "--mcpu", sm, "--mattr", "+ptx90", "--"]);
        command.args(["scripts/libnvvm.py", "{input}", "-o", "{output}", "--arch", "compute_{number}"]).args(options);
        let said = success(command.arg("--lower").arg(testing::binary()))?;
        assert!(said.contains("  right  142  100.0%\n"), "{said}");
    }
    Ok(())
}

fn ours_keeps() -> Result<(), Failed> {
    let files = Files::new()?;
    let (status, stdout, stderr) = files.check(IR, &files.lowered(IR)?, &[])?;
    assert_eq!((status, &*stdout, &*stderr), (0, "", "4 atomics and fences: 4 kept, 0 not, 0 not checked\n"));
    Ok(())
}

/// Each change to correct PTX weakens an operation, and the check names the lost guarantee.
fn weakened_is_found() -> Result<(), Failed> {
    let files = Files::new()?;
    let right = files.lowered(IR)?;
    for (from, to, expected) in [
        ("atom.acq_rel.sys.global.add", "atom.acquire.sys.global.add", "ordering lost: no release"),
        ("atom.acq_rel.sys.global.add", "atom.acq_rel.gpu.global.add", "scope lost: an access of scope gpu, not sys"),
        ("ld.acquire.sys.global", "ld.relaxed.sys.global", "ordering lost: no acquire"),
        ("ld.acquire.sys.global", "ld.global", "not atomic: a weak access, no acquire"),
        ("atom.release.gpu.global.cas.b32", "atom.relaxed.gpu.global.cas.b32", "ordering lost: no release"),
        ("ld.relaxed.cta.global", "ld.global", "weak load in a loop: "),
        ("setp.ne.b32 	%retry", "setp.eq.b32 	%retry", "not atomic: read and write are not one atomic operation"),
    ] {
        let weak = right.replace(from, to).replace(&from.replace('\t', ""), &to.replace('\t', ""));
        assert_ne!(weak, right, "{from}\n{right}");
        let (status, _, stderr) = files.check(IR, &weak, &[])?;
        assert!(status == 1 && stderr.starts_with(&format!("error: {expected}")), "{from} {to}\n{stderr}");
        assert!(stderr.ends_with("4 atomics and fences: 3 kept, 1 not, 0 not checked\n"), "{stderr}");
    }
    Ok(())
}

fn json() -> Result<(), Failed> {
    let files = Files::new()?;
    let weak = files.lowered(IR)?.replace("ld.acquire.sys.global", "ld.relaxed.sys.global");
    let (status, stdout, stderr) = files.check(IR, &weak, &["--json"])?;
    assert_eq!((status, &*stderr), (1, ""));
    let verdicts: Vec<serde_json::Value> = stdout.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let field = |name: &str| verdicts.iter().map(|verdict| verdict[name].to_string()).collect::<Vec<_>>().join(" ");
    assert_eq!(field("function"), r#""ticket" "flag" "flag" "byte""#);
    assert_eq!(field("verdict"), r#""right" "ordering" "right" "right""#);
    assert_eq!(field("missing"), r#"[] ["no acquire"] [] []"#);
    assert_eq!(verdicts[1]["operation"], "load atomic i32 addrspace(1) acquire");
    Ok(())
}

/// A branch with a different load in each arm.
const BRANCH: &str = "br i1 %c, label %yes, label %no
yes:
  %a = load atomic i32, ptr addrspace(1) %p acquire, align 4
  br label %end
no:
  %b = load atomic i32, ptr addrspace(1) %p monotonic, align 4
  br label %end
end:
  ret void";

/// The leader thread sets a flag. All threads wait for the flag before some of them go on, as in `sum_of_parts` of
/// `examples/scoped.rs`.
const LEADER: &str = "br i1 %c, label %leader, label %wait
wait:
  %ready = load atomic i32, ptr addrspace(1) %p monotonic, align 4
  %again = icmp eq i32 %ready, 0
  br i1 %again, label %wait, label %go
go:
  fence acquire
  %found = load atomic i32, ptr addrspace(1) %q monotonic, align 4
  ret void
leader:
  store atomic i32 1, ptr addrspace(1) %q monotonic, align 4
  store atomic i32 1, ptr addrspace(1) %p release, align 4
  br label %wait";
const LEADER_PTX: &str = "@!%p1 bra $wait;
  st.relaxed.sys.global.b32 [%rd2], 1;
  st.release.sys.global.b32 [%rd1], 1;
  $wait: ld.relaxed.sys.global.b32 %r1, [%rd1]; setp.eq.b32 %p2, %r1, 0; @%p2 bra $wait;
  fence.acquire.sys; ld.relaxed.sys.global.b32 %r2, [%rd2]; ret;";

/// A sender and a receiver, which counts at the end. This is `message.cu` with the count inside the branch.
const MESSAGE: &str = "br i1 %c, label %receive, label %send
send:
  store atomic i32 1, ptr addrspace(1) %p release, align 4
  br label %answer
answer:
  %answered = atomicrmw xchg ptr addrspace(1) %q, i32 0 acquire
  %unanswered = icmp eq i32 %answered, 0
  br i1 %unanswered, label %answer, label %end
receive:
  %got = atomicrmw xchg ptr addrspace(1) %p, i32 0 acquire
  %none = icmp eq i32 %got, 0
  br i1 %none, label %receive, label %reply
reply:
  store atomic i32 1, ptr addrspace(1) %q release, align 4
  %old = atomicrmw add ptr addrspace(1) %q, i32 1 monotonic
  br label %end
end:
  ret void";
const MESSAGE_PTX: &str = "@!%p1 bra $send;
  $receive: atom.acquire.sys.global.exch.b32 %r1, [%rd1], 0; setp.eq.b32 %p2, %r1, 0; @%p2 bra $receive;
  st.release.sys.global.b32 [%rd2], 1;
  atom.relaxed.sys.global.add.u32 %r2, [%rd2], 1;
  ret;
  $send: st.release.sys.global.b32 [%rd1], 1;
  $answer: atom.acquire.sys.global.exch.b32 %r3, [%rd2], 0; setp.eq.b32 %p3, %r3, 0; @%p3 bra $answer;
  ret;";

/// Compilers move blocks. Each operation still has its own instruction.
fn moved_blocks() -> Result<(), Failed> {
    let acquire = "ld.acquire.sys.global.b32 %r1, [%rd1];";
    let relaxed = "ld.relaxed.sys.global.b32 %r1, [%rd1];";
    let or = "atom.relaxed.sys.global.or.b32 %r1, [%rd1], 1;";
    let add = "atom.acquire.sys.global.add.u32 %r1, [%rd1], 1;";
    let sides = |yes: &str, no: &str| {
        BRANCH
            .replace("load atomic i32, ptr addrspace(1) %p acquire, align 4", yes)
            .replace("load atomic i32, ptr addrspace(1) %p monotonic, align 4", no)
    };
    let rmws =
        sides("atomicrmw add ptr addrspace(1) %p, i32 1 acquire", "atomicrmw or ptr addrspace(1) %p, i32 1 monotonic");
    let longer = BRANCH.replace(
        "monotonic, align 4",
        "monotonic, align 4\n  %more = load atomic i32, ptr addrspace(1) %p monotonic, align 4",
    );
    let row = BRANCH
        .replace("br i1 %c, label %yes, label %no", "br label %yes")
        .replace("br label %end\nno:", "br label %no\nno:");
    let branch = |first: &str, second: &str| format!("@%p1 bra $A; {first} ret; $A: {second} ret;");
    let moved = |first: &str, second: &str| format!("bra $M; $A: {second} ret; $M: {first} bra $A;");
    let foreign = "ld.global.b8 %rs1, [%rd9];";
    #[rustfmt::skip]
    let cases = [
        ("both orders of an if", BRANCH, branch(acquire, relaxed), "right right"),
        ("both orders of an if", BRANCH, branch(relaxed, acquire), "right right"),
        ("the acquiring side is weaker", BRANCH, branch(relaxed, relaxed), "ordering right"),
        ("the kind tells the sides", &rmws, branch(add, or), "right right"),
        ("the kind tells the sides", &rmws, branch(or, add), "right right"),
        ("the kind tells the sides", &rmws, branch(&or.replace("relaxed", "acquire"), &add.replace("acquire", "relaxed")), "ordering right"),
        ("the end tells the sides", &longer, branch(&(relaxed.to_owned() + relaxed), acquire), "right right right"),
        ("the end tells the sides", &longer, branch(acquire, &(relaxed.to_owned() + relaxed)), "right right right"),
        ("the end tells the sides", &longer, branch(&(acquire.to_owned() + relaxed), relaxed), "ordering right right"),
        ("the end tells the sides", &longer, branch(relaxed, &(acquire.to_owned() + relaxed)), "ordering right right"),
        ("one after the other", &row, moved(acquire, relaxed), "right right"),
        ("one after the other, exchanged", &row, moved(relaxed, acquire), "ordering right"),
        ("a leader, its block first", LEADER, LEADER_PTX.into(), "right right right right right"),
        ("a leader, its release lost", LEADER, LEADER_PTX.replace("st.release", "st.relaxed"), "right right right right ordering"),
        ("a leader, its stores exchanged", LEADER,
         LEADER_PTX.replace("st.relaxed", "st.R").replace("st.release", "st.relaxed").replace("st.R", "st.release"), "right right right right ordering"),
        ("a leader, the fence lost", LEADER, LEADER_PTX.replace("fence.acquire.sys;", foreign), "right missing right right right"),
        ("messages, the receiver first", MESSAGE, MESSAGE_PTX.into(), "right right right right right"),
        ("messages, a receiver that acquires nothing", MESSAGE,
         MESSAGE_PTX.replacen("atom.acquire", "atom.relaxed", 1), "right right ordering right right"),
        ("messages, a narrower reply", MESSAGE, MESSAGE_PTX.replacen("st.release.sys", "st.release.gpu", 1), "right right right scope right"),
        ("messages, the answers acquire nothing", MESSAGE,
         MESSAGE_PTX.replace("atom.acquire.sys.global.exch.b32 %r3", "atom.relaxed.sys.global.exch.b32 %r3"), "right ordering right right right"),
    ];
    let files = Files::new()?;
    for (name, ir, ptx, expected) in cases {
        let parameters = "ptr addrspace(1) %p, ptr addrspace(1) %q, i1 %c";
        let ir = format!("target triple = \"nvptx64-nvidia-cuda\"\ndefine void @f({parameters}) {{\n  {ir}\n}}\n");
        let ptx = format!(".version 8.6\n.target sm_90\n.visible .func f() {{\n  {ptx}\n}}\n");
        let (_, stdout, stderr) = files.check(&ir, &ptx, &["--json"])?;
        let verdicts: Vec<serde_json::Value> = stdout.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        let found: Vec<_> = verdicts.iter().map(|verdict| verdict["verdict"].as_str().unwrap_or("?")).collect();
        assert_eq!(found.join(" "), expected, "{name}\n{ir}{ptx}{stdout}{stderr}");
    }
    Ok(())
}

/// Shapes for which an earlier checker reported losses that did not exist: loops of the program itself, loops in the
/// arms of a branch, operations on local memory between other operations, and unreachable code.
const SHAPES: &str = r#"target triple = "nvptx64-nvidia-cuda"
define i32 @own_loop(ptr addrspace(1) %p, i32 %v) {
  %first = load i32, ptr addrspace(1) %p
  br label %loop
loop:
  %expected = phi i32 [ %first, %0 ], [ %seen, %loop ]
  %new = mul i32 %expected, %v
  %pair = cmpxchg ptr addrspace(1) %p, i32 %expected, i32 %new acq_rel monotonic
  %seen = extractvalue { i32, i1 } %pair, 0
  %done = extractvalue { i32, i1 } %pair, 1
  br i1 %done, label %end, label %loop
end:
  ret i32 %expected
}
define i8 @own_loop_of_bytes(ptr addrspace(1) align 4 %p, i8 %v) {
  %first = load i8, ptr addrspace(1) %p, align 4
  br label %loop
loop:
  %expected = phi i8 [ %first, %0 ], [ %seen, %loop ]
  %new = mul i8 %expected, %v
  %pair = cmpxchg ptr addrspace(1) %p, i8 %expected, i8 %new acq_rel monotonic, align 4
  %seen = extractvalue { i8, i1 } %pair, 0
  %done = extractvalue { i8, i1 } %pair, 1
  br i1 %done, label %end, label %loop
end:
  ret i8 %expected
}
define i32 @arms(ptr addrspace(1) %p, i32 %v, i1 %c) {
  br i1 %c, label %one, label %other
one:
  %a = atomicrmw nand ptr addrspace(1) %p, i32 %v acq_rel
  br label %end
other:
  %b = atomicrmw usub_cond ptr addrspace(1) %p, i32 %v acq_rel
  br label %end
end:
  %r = phi i32 [ %a, %one ], [ %b, %other ]
  ret i32 %r
}
define i8 @arm(ptr addrspace(1) %p, i1 %c) {
  br i1 %c, label %native, label %loop
loop:
  %a = atomicrmw xchg ptr addrspace(1) %p, i8 1 acq_rel
  br label %end
native:
  %b = atomicrmw xor ptr addrspace(1) %p, i8 1 acq_rel
  br label %end
end:
  %r = phi i8 [ %a, %loop ], [ %b, %native ]
  ret i8 %r
}
define i32 @local_between(ptr addrspace(1) %p, ptr addrspace(1) %q, i32 %v) {
  %s = alloca i32
  %a = atomicrmw add ptr addrspace(1) %p, i32 %v seq_cst
  store i32 %a, ptr %s
  %b = atomicrmw add ptr %s, i32 %v seq_cst
  %c = atomicrmw add ptr addrspace(1) %q, i32 %b seq_cst
  ret i32 %c
}
define i32 @local_behind(ptr addrspace(1) %p, i32 %v) {
  %s = alloca i32
  store i32 %v, ptr %s
  %a = atomicrmw add ptr addrspace(1) %p, i32 %v acquire
  %b = load atomic i32, ptr %s acquire, align 4
  %r = add i32 %a, %b
  ret i32 %r
}
define i32 @unreachable(ptr addrspace(1) %p, i32 %v) {
  %a = atomicrmw add ptr addrspace(1) %p, i32 %v acq_rel
  ret i32 %a
nowhere:
  fence seq_cst
  %b = atomicrmw sub ptr addrspace(1) %p, i32 %v acq_rel
  br label %nowhere
}
define i32 @decided(ptr addrspace(1) %p, i32 %v) {
  br i1 false, label %never, label %always
always:
  %a = atomicrmw add ptr addrspace(1) %p, i32 %v acq_rel
  switch i32 2, label %never [ i32 1, label %never
                               i32 2, label %chosen ]
never:
  %b = atomicrmw add ptr addrspace(1) %p, i32 %v monotonic
  fence seq_cst
  ret i32 %b
chosen:
  fence acquire
  ret i32 %a
}
"#;

/// The check reports no loss for any of these shapes, for all targets, strategies and optimization levels.
fn shapes() -> Result<(), Failed> {
    let files = Files::new()?;
    let ir = files.write("a.ll", SHAPES)?;
    let targets = [("sm_60", "+ptx60"), ("sm_70", "+ptx63"), ("sm_90", "+ptx86")];
    let levels: [&[&str]; 3] = [&[], &["-O0"], &["-O2"]];
    for ((gpu, version), strategy, level) in
        iproduct!(targets, ["recommended", "fence", "fence-acquire", "proven"], levels)
    {
        let mut lower = ptx_atomics();
        lower.args(["lower", "--mcpu", gpu, "--mattr", version, "--strategy", strategy]).args(level).arg(&ir);
        let ptx = success(&mut lower)?;
        let (status, _, stderr) = files.check(SHAPES, &ptx, &[])?;
        let kept = stderr.starts_with("18 atomics and fences: 18 kept") && stderr.ends_with(", 0 not, 0 not checked\n");
        assert!(status == 0 && kept, "{gpu} {strategy} {level:?}\n{stderr}\n{ptx}");
    }
    Ok(())
}

/// A comparison of nothing is an error, unless `--allow-empty` is given.
fn nothing_to_check() -> Result<(), Failed> {
    let files = Files::new()?;
    let ptx = files.lowered(IR)?;
    let lowered = success(ptx_atomics().args(["lower", "--emit", "llvm-ir"]).arg(files.write("a.ll", IR)?))?;
    let empty = "target triple = \"nvptx64-nvidia-cuda\"\n";
    let inlined = IR.replace("define i", "define internal i");
    let none = "error: nothing was checked: 'a.ll' has no atomics or fences\n";
    let elsewhere = "nothing was checked: 'b.ptx' lacks the functions that have atomics in the IR\n";
    let other = ptx.replace("ticket", "t").replace("flag", "f").replace("byte", "b");
    for (ir, ptx, expected) in [(empty, &ptx, none), (&*lowered, &ptx, none), (&*inlined, &other, elsewhere)] {
        for format in [&[][..], &["--json"]] {
            let (status, _, stderr) = files.check(ir, ptx, format)?;
            assert!(status == 1 && stderr.contains(expected), "{stderr}");
            let (status, _, stderr) = files.check(ir, ptx, &[&["--allow-empty"], format].concat())?;
            assert!(status == 0 && !stderr.contains("error"), "{stderr}");
        }
    }
    Ok(())
}

/// Two device modules. Each becomes a PTX file.
const MLIR: &str = r#"module attributes {gpu.container_module} {
  gpu.module @first {
    llvm.func @count(%p: !llvm.ptr<1>) -> i32 {
      %one = llvm.mlir.constant(1 : i32) : i32
      %old = llvm.atomicrmw add %p, %one acq_rel : !llvm.ptr<1>, i32
      llvm.return %old : i32
    }
  }
  gpu.module @second {
    func.func @largest(%m: memref<4xf32, 1>, %i: index, %v: f32) {
      %old = memref.atomic_rmw maximumf %v, %m[%i] : (f32, memref<4xf32, 1>) -> f32
      return
    }
  }
}
"#;

/// The check reads MLIR in the same way as the lowering does.
fn mlir() -> Result<(), Failed> {
    let files = Files::new()?;
    let text = files.write("a.mlir", MLIR)?;
    let bytecode = files.0.path().join("a.mlirbc");
    success(Command::new(tool("mlir-opt")).arg(&text).args(["--emit-bytecode", "-o"]).arg(&bytecode))?;
    let folder = format!("{}/out/", files.0.path().display());
    success(ptx_atomics().arg("lower").arg(&text).args(["-o", &folder, "--mcpu", "sm_90", "--mattr", "+ptx86"]))?;
    let check = |input: &Path, ptx: &Path, options: &[&str]| -> Result<(i32, String), Failed> {
        let output = ptx_atomics().arg("check").arg("--ir").arg(input).arg("--ptx").arg(ptx).args(options).output()?;
        Ok((output.status.code().unwrap_or(-1), String::from_utf8(output.stderr)?))
    };
    for (module, from, line) in [
        ("first", "atom.acq_rel.sys", "5 |       %old = llvm.atomicrmw"),
        ("second", "atom.relaxed.sys", "11 |       %old = memref.atomic_rmw"),
    ] {
        let path = PathBuf::from(format!("{folder}{module}.ptx"));
        let right = fs::read_to_string(&path)?;
        let weak = right.replace(from, "atom.relaxed.gpu");
        assert_ne!(weak, right);
        let weak = files.write("weak.ptx", &weak)?;
        for input in [&text, &bytecode] {
            let (status, stderr) = check(input, &path, &["--module", module])?;
            assert_eq!((status, &*stderr), (0, "1 atomics and fences: 1 kept, 0 not, 0 not checked\n"));
            let (status, stderr) = check(input, &weak, &["--module", module])?;
            assert!(status == 1 && stderr.contains("scope gpu, not sys"), "{stderr}");
            assert!(input == &bytecode || stderr.contains(line), "{stderr}");
            let (status, stderr) = check(input, &path, &[])?;
            assert!(
                status == 1
                    && stderr.contains("error: expected one module for the PTX, found several: first, second\n"),
                "{stderr}"
            );
        }
        let (status, stderr) = check(&text, &path, &["--module", "third"])?;
        assert!(status == 1 && stderr.contains("error: no gpu.module is named 'third'\n"), "{stderr}");
        let (status, stderr) = check(&text, &path, &["--input", "llvm"])?;
        assert!(status == 1 && stderr.contains("is not LLVM IR"), "{stderr}");
    }
    Ok(())
}

/// An error shows the line of the atomic, even after strings and comments over several lines.
fn strings_over_lines() -> Result<(), Failed> {
    let files = Files::new()?;
    let ir =
        IR.replace("define i32 @ticket", "@s = constant [6 x i8] c\"fence\n\"\n/* fence\n;\" */\ndefine i32 @ticket");
    let weak = files.lowered(&ir)?.replace("atom.acq_rel.sys.global.add", "atom.acquire.sys.global.add");
    let (status, _, stderr) = files.check(&ir, &weak, &[])?;
    assert!(status == 1 && stderr.contains("7 |   %old = atomicrmw add"), "{stderr}");
    Ok(())
}

fn default_scope() -> Result<(), Failed> {
    let files = Files::new()?;
    let narrow = files.lowered(IR)?.replace(".sys.", ".gpu.");
    assert_eq!(files.check(IR, &narrow, &[])?.0, 1);
    assert_eq!(files.check(IR, &narrow, &["--default-scope", "gpu"])?.0, 0);
    Ok(())
}

/// LLVM 23 and 24 emit this `atom` with an ordering that ptxas drops from sm_90 on. Our lowering has fences around the
/// `atom`.
fn dropped_by_ptxas() -> Result<(), Failed> {
    let files = Files::new()?;
    let ir = "target triple = \"nvptx64-nvidia-cuda\"
define i64 @wide(ptr addrspace(3) %p) {
  %old = atomicrmw add ptr addrspace(3) %p, i64 1 syncscope(\"block\") acq_rel
  ret i64 %old
}";
    let ours = files.lowered(ir)?;
    let atom = "atom.relaxed.cta.shared.add.u64";
    assert!(ours.contains(atom), "{ours}");
    let asked = ours.replace(atom, "atom.acq_rel.cta.shared.add.u64");
    let asked: String = asked.lines().filter(|line| !line.contains("fence.")).map(|line| format!("{line}\n")).collect();
    for (ptx, warns) in [(&ours, false), (&asked, true), (&asked.replace(".target sm_90", ".target sm_80"), false)] {
        let (status, _, stderr) = files.check(ir, ptx, &[])?;
        let warned = stderr.starts_with("warning: in 'wide', the PTX keeps the ordering on line ");
        assert_eq!((status, warned), (0, warns), "{stderr}\n{ptx}");
        let (_, said, _) = files.check(ir, ptx, &["--json"])?;
        assert_eq!(said.contains(r#""notes":["misplaced"]"#), warns, "{said}");
    }
    Ok(())
}

/// Functions that send a message, wait in a loop, and update memory.
const EFFECTS: &str = r#"target triple = "nvptx64-nvidia-cuda"
define void @send(ptr addrspace(1) %data, ptr addrspace(1) %flag) {
  store i32 42, ptr addrspace(1) %data
  store atomic i32 1, ptr addrspace(1) %flag release, align 4
  ret void
}
define i32 @swap(ptr addrspace(1) %p) {
  %pair = cmpxchg ptr addrspace(1) %p, i32 0, i32 1 acq_rel monotonic
  %old = extractvalue { i32, i1 } %pair, 0
  ret i32 %old
}
define i32 @watch(ptr addrspace(1) %p) {
  %seen = load atomic volatile i32, ptr addrspace(1) %p monotonic, align 4
  ret i32 %seen
}
define i32 @any(ptr %p) {
  %seen = load atomic i32, ptr %p acquire, align 4
  ret i32 %seen
}
define i8 @byte(ptr addrspace(1) %p, i8 %b) {
  %old = atomicrmw max ptr addrspace(1) %p, i8 %b syncscope("block") monotonic
  ret i8 %old
}
define void @rounds(ptr addrspace(1) %p) {
  br label %loop
loop:
  %old = atomicrmw add ptr addrspace(1) %p, i32 1 monotonic
  %again = icmp ult i32 %old, 9
  br i1 %again, label %loop, label %end
end:
  ret void
}
"#;

/// A repeated effect, or an effect on other memory, is a loss.
fn effects() -> Result<(), Failed> {
    let files = Files::new()?;
    let right = files.lowered(EFFECTS)?;
    let last = "6 atomics and fences: 6 kept, 0 not, 0 not checked\n";
    assert_eq!(files.check(EFFECTS, &right, &[])?.2, last);
    let doubled = |start: &str| {
        let copied =
            |line: &str| if line.trim().starts_with(start) { format!("{line}\n{line}\n") } else { format!("{line}\n") };
        right.lines().map(copied).collect::<String>()
    };
    let weak = |text: &str| text.replacen("st.release.sys.global", "st.global", 1);
    let (update, store) = ("one more update of memory", "one more write to memory");
    #[rustfmt::skip]
    let wrong = [
        (doubled("st.release"), "one more atomic write to memory", "send"),
        (weak(&doubled("st.release")), store, "send"),
        (doubled("atom.acq_rel.sys.global.cas"), update, "swap"),
        (doubled("ld.volatile"), "one more volatile access", "watch"),
        (right.replace("ld.acquire.sys.b32", "ld.acquire.sys.global.b32"), "`.global` is other memory if the address is not in this space", "any"),
        (doubled("atom.relaxed.cta.global.cas"), "read and write are not one atomic operation", "byte"),
    ];
    for (ptx, reason, function) in wrong {
        assert_ne!(ptx, right, "{reason}");
        let (status, _, stderr) = files.check(EFFECTS, &ptx, &[])?;
        let said = stderr.starts_with("error: ")
            && stderr.contains(reason)
            && stderr.contains(&format!("in function '{function}'"));
        let last = stderr.ends_with("6 atomics and fences: 5 kept, 1 not, 0 not checked\n");
        assert!(status == 1 && said && last, "{reason}\n{stderr}");
    }
    let (_, stdout, _) = files.check(EFFECTS, &doubled("st.release"), &["--json"])?;
    assert!(stdout.contains(r#""verdict":"effect","missing":["one more atomic write to memory"]"#), "{stdout}");
    // Effects that no operation of the IR has. They are losses unless the program may have them elsewhere, such as in a
    // called function.
    for other in [
        "multimem.red.relaxed.gpu.global.add.u32 [%rd1], 1;",
        "call helper;",
        "red.async.relaxed.cluster.global.add.u32 [%rd1], 1;",
    ] {
        let ptx = right.replacen("\tst.release", &format!("\t{other}\n\tst.release"), 1);
        let (status, _, stderr) = files.check(EFFECTS, &ptx, &[])?;
        let said = stderr.contains("the PTX has an effect on memory that the IR lacks");
        assert!(status == 1 && said && stderr.ends_with(last), "{other}\n{stderr}");
        let calls =
            EFFECTS.replacen("store atomic", "call void @helper()\n  store atomic", 1) + "declare void @helper()\n";
        assert_eq!(files.check(&calls, &ptx, &[])?.2, last, "{other}");
    }
    // The check cannot distinguish two equal plain stores from one store. A repeated atomic in a loop may come from
    // unrolling.
    assert_eq!(files.check(EFFECTS, &doubled("st.global"), &[])?.2, last);
    let (status, _, stderr) = files.check(EFFECTS, &doubled("atom.relaxed.sys.global.add"), &[])?;
    let warned = stderr.starts_with("warning: in 'rounds', the PTX has atomics that the IR lacks, on line ");
    assert!(status == 0 && warned && stderr.ends_with(last), "{stderr}");
    // If the program itself stores to the flag, a further weak store may be the program's.
    let own = EFFECTS.replace("store i32 42, ptr addrspace(1) %data", "store i32 42, ptr addrspace(1) %flag");
    let ptx = files.lowered(&own)?;
    assert_eq!(files.check(&own, &ptx, &[])?.2, last);
    // The pointer that a kernel gets as a parameter points to global memory.
    let kernel = EFFECTS
        .replace("define i32 @any(ptr %p) {", "define ptx_kernel void @any(ptr %p) {")
        .replace("acquire, align 4\n  ret i32 %seen", "acquire, align 4\n  ret void");
    let ptx = files.lowered(&kernel)?;
    assert!(ptx.contains("ld.acquire.sys.global.b32"), "{ptx}");
    assert_eq!(files.check(&kernel, &ptx, &[])?.2, last);
    Ok(())
}

/// A kernel with the attributes `#0`, whose body and attributes the test inserts.
const SEQ_CST: &str = "target triple = \"nvptx64-nvidia-cuda\"
@s = addrspace(3) global i32 undef
define ptx_kernel void @k(ptr addrspace(1) %p, ptr addrspace(1) %out) #0 {
  BODY
}
attributes #0 = { nounwind ATTRIBUTES }
";

/// The differences that the check accepts as work of the optimizer, and the differences that it never accepts.
fn optimized() -> Result<(), Failed> {
    let files = Files::new()?;
    let store = "store atomic i32 1, ptr addrspace(1) %p seq_cst, align 4";
    let shared = "%r = load atomic i32, ptr addrspace(3) @s SCOPE seq_cst, align 4\n  store i32 %r, ptr addrspace(1) %out\n  ret void";
    let after = format!("{store}\n  {shared}");
    let st = "fence.sc.sys; st.relaxed.sys.global.b32 [%rd1], 1;";
    let fence = "fence seq_cst\n  %r = load atomic i32, ptr addrspace(1) %p seq_cst, align 4\n  ret void";
    let between = fence
        .replace("seq_cst\n", &format!("seq_cst\n  {}\n", store.replace("seq_cst", "monotonic").replace("%p", "%out")));
    let wait =
        "br label %wait\nwait:\n  %r = load atomic i32, ptr addrspace(1) %p seq_cst, align 4\n  %c = icmp eq i32 %r, 0
        br i1 %c, label %wait, label %end\nend:\n  store i32 %r, ptr addrspace(1) %out\n  ret void";
    let loop_of = |front: &str, load: &str| {
        let ld = format!("$L: {load}.global.b32 %r1, [%rd1]; setp.eq.b32 %p1, %r1, 0; @%p1 bra $L;");
        format!("{front} {ld} fence.acquire.sys; st.global.b32 [%rd2], %r1;")
    };
    let acquire = format!(
        "%a = load atomic i32, ptr addrspace(1) %out acquire, align 4\n  {}",
        &fence[fence.find("%r").unwrap_or(0)..]
    );
    let two = |fences: &str| {
        format!("ld.relaxed.sys.global.b32 %r1, [%rd2]; {fences} ld.acquire.sys.global.b32 %r2, [%rd1];")
    };
    let (clusters, one) = ("\"nvvm.cluster_dim\"=\"1,1,1\"", "\"nvvm.reqntid\"=\"1,1,1\"");
    let ld = |fence: &str, scope: &str| {
        format!("{st} {fence} ld.acquire.{scope}.shared.b32 %r1, [s]; st.global.b32 [%rd2], %r1;")
    };
    let relaxed = |scope: &str| format!("{st} ld.relaxed.{scope}.shared.b32 %r1, [s]; st.global.b32 [%rd2], %r1;");
    let global = |fences: &str| format!("{fences} ld.acquire.sys.global.b32 %r1, [%rd1];");
    let apart = |fence: &str| {
        format!("{fence} st.relaxed.sys.global.b32 [%rd2], 1; fence.sc.sys; ld.acquire.sys.global.b32 %r1, [%rd1];")
    };
    // The verdicts on the PTX by default, and with `--optimize-atomics off`.
    #[rustfmt::skip]
    let cases = [
        // The fence of the load orders the store before it, whatever memory the load reads.
        (&*after, clusters, ld("fence.sc.sys;", "sys"), "right right", "right right"),
        (&after, clusters, ld("fence.sc.cta;", "cta"), "right scope", "right scope"),
        (&after, clusters, ld("fence.sc.cluster;", "cluster"), "right scope", "right scope"),
        (&after, clusters, ld("", "cta"), "right ordering", "right ordering"),
        // In a CTA of one thread, an operation of CTA scope has no other thread to order with.
        (&after, one, relaxed("sys"), "right ordering", "right ordering"),
        (&after.replace("SCOPE", "syncscope(\"block\")"), one, relaxed("cta"), "right right", "right ordering"),
        // A fence of the program also serves the operation after it. One fence is enough for both, and of two fences
        // the stronger one counts.
        (fence, "", global("fence.sc.sys; fence.sc.sys;"), "right right", "right right"),
        (fence, "", global("fence.sc.sys;"), "right right", "right ordering"),
        (fence, "", global("fence.sc.gpu;"), "scope scope", "scope scope"),
        (fence, "", global("fence.sc.gpu; fence.sc.sys;"), "right right", "scope right"),
        (fence, "", global("fence.sc.sys; fence.sc.gpu;"), "right right", "right right"),
        (fence, "", global("fence.sc.gpu; fence.sc.gpu;"), "scope scope", "scope scope"),
        (&between, "", apart("fence.sc.sys;"), "right right right", "right right right"),
        (&between, "", apart("fence.sc.gpu;"), "scope right right", "scope right right"),
        // Each operation has its own fence. Any of the fences counts if no access separates it from the operation.
        (&acquire, "", two("fence.acquire.sys; fence.sc.sys;"), "right right", "right right"),
        (&acquire, "", two("fence.acquire.gpu; fence.sc.sys;"), "right right", "right right"),
        (&acquire, "", two("fence.acquire.gpu; ld.global.b32 %r9, [%rd2]; fence.sc.sys;"), "scope right", "scope right"),
        (&acquire, "", two("fence.release.sys; fence.sc.sys;"), "ordering right", "ordering right"),
        (&acquire, "", two("fence.sc.sys;"), "ordering right", "ordering right"),
        // A loop that waits.
        (wait, "", loop_of("fence.sc.sys;", "ld.relaxed.sys"), "right", "right"),
        (wait, "", loop_of("fence.sc.gpu;", "ld.relaxed.sys"), "scope", "scope"),
        (wait, "", loop_of("", "ld.relaxed.sys"), "ordering", "ordering"),
    ];
    for (body, attributes, ptx, expected, off) in cases {
        let ir = SEQ_CST.replace("BODY", &body.replace("SCOPE ", "")).replace("ATTRIBUTES", attributes);
        let limit = if attributes == one { ".reqntid 1, 1, 1" } else { "" };
        let head =
            ".version 8.6\n.target sm_90\n.shared .align 4 .b32 s;\n.visible .entry k(.param .b64 p, .param .b64 o)";
        let ptx = format!("{head} {limit} {{ ld.param.b64 %rd1, [p]; ld.param.b64 %rd2, [o];\n  {ptx}\n ret; }}\n");
        for (options, expected) in [(&["--json"][..], expected), (&["--json", "--optimize-atomics", "off"], off)] {
            let (_, stdout, stderr) = files.check(&ir, &ptx, options)?;
            let verdicts: Vec<serde_json::Value> =
                stdout.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
            let found: Vec<_> = verdicts.iter().map(|verdict| verdict["verdict"].as_str().unwrap_or("?")).collect();
            assert_eq!(found.join(" "), expected, "{options:?}\n{ir}{ptx}{stdout}{stderr}");
        }
    }
    Ok(())
}

/// The operations of a called function may be inlined into the caller.
fn inlined() -> Result<(), Failed> {
    let files = Files::new()?;
    let ir = r#"target triple = "nvptx64-nvidia-cuda"
define internal void @count(ptr addrspace(1) %p) {
  %old = atomicrmw add ptr addrspace(1) %p, i32 1 monotonic
  ret void
}
define i32 @caller(ptr addrspace(1) %p) {
  call void @count(ptr addrspace(1) %p)
  %seen = load atomic i32, ptr addrspace(1) %p acquire, align 4
  ret i32 %seen
}
"#;
    let ptx = success(ptx_atomics().args(["lower", "-O2", "--mcpu", "sm_90"]).arg(files.write("a.ll", ir)?))?;
    assert!(!ptx.contains("call.uni"), "{ptx}");
    let (status, _, stderr) = files.check(ir, &ptx, &[])?;
    assert!(
        status == 0 && stderr.starts_with("warning: in 'caller', the PTX has atomics that the IR lacks"),
        "{stderr}"
    );
    let (status, _, stderr) = files.check(&ir.replace("call void", "; call void"), &ptx, &[])?;
    assert!(status == 1 && stderr.contains("error: other effect: one more update of memory"), "{stderr}");
    Ok(())
}

/// An atomic in the program's own inline assembly belongs to the IR, however often the compiler copied it.
fn own_assembly() -> Result<(), Failed> {
    let files = Files::new()?;
    let own = "call void asm sideeffect \"red.global.or.b32 [$0], 1;\", \"l\"(ptr addrspace(1) %p)";
    let ir = IR.replacen("  ret i32 %old", &format!("  {own}\n  {own}\n  ret i32 %old"), 1);
    let ptx = files.lowered(&ir)?;
    assert_eq!(files.check(&ir, &ptx, &[])?.2, "4 atomics and fences: 4 kept, 0 not, 0 not checked\n");
    let (status, _, stderr) = files.check(&ir, &ptx.replace("red.global.or", "red.global.xor"), &[])?;
    assert!(status == 1 && stderr.starts_with("error: other effect: one more update of memory"), "{stderr}");
    Ok(())
}

fn missing_function() -> Result<(), Failed> {
    let files = Files::new()?;
    let without = files.lowered(IR)?.replace("ticket", "tucket");
    let (status, _, stderr) = files.check(IR, &without, &[])?;
    assert!(status == 1 && stderr.starts_with("error: missing: the PTX has no function of this name\n"), "{stderr}");
    let internal = IR.replace("define i32 @ticket", "define internal i32 @ticket");
    let (status, _, stderr) = files.check(&internal, &without, &[])?;
    let expected = "warning: 'b.ptx' has no function 'ticket': 1 operations are not checked\n\
        4 atomics and fences: 3 kept, 0 not, 1 not checked\n";
    assert_eq!((status, &*stderr), (0, expected));
    let (_, stdout, _) = files.check(&internal, &without, &["--json"])?;
    assert!(stdout.contains(r#""verdict":"not-judged""#), "{stdout}");
    // Another module may define the function, or the compiler may inline its calls.
    for (linkage, expected) in [("weak", 1), ("linkonce_odr", 0), ("linkonce", 0), ("available_externally", 0)] {
        let ir = IR.replace("define i32 @ticket", &format!("define {linkage} i32 @ticket"));
        assert_eq!(files.check(&ir, &without, &[])?.0, expected, "{linkage}");
    }
    Ok(())
}

/// Code that LLVM's code generator removes, or copies to each path that leads there.
const REWRITTEN_FLOW: [&str; 3] = [
    // A branch whose condition is decided by the function's own stores. The taken path has no atomic.
    "%v = alloca i32
  store i32 %x, ptr %v
  %a = load i32, ptr %v
  %b = load i32, ptr %v
  %c = icmp eq i32 %a, %b
  br i1 %c, label %l, label %r
l:
  store i32 1, ptr addrspace(1) %p
  ret void
r:
  store atomic i32 1, ptr addrspace(1) %f release, align 4
  ret void",
    // An invoke, for which PTX has no exceptions.
    "invoke void @g() to label %ok unwind label %pad
ok:
  store atomic i32 1, ptr addrspace(1) %f release, align 4
  ret void
pad:
  %l = landingpad { ptr, i32 } cleanup
  store atomic i32 2, ptr addrspace(1) %f release, align 4
  resume { ptr, i32 } %l",
    // The last block of a loop.
    "%c = icmp eq i32 %x, 0
  %a = atomicrmw or ptr null, i32 0 monotonic, align 4
  br label %loop
loop:
  br i1 %c, label %one, label %two
one:
  %b = atomicrmw or ptr null, i32 0 monotonic, align 4
  br label %end
two:
  store i32 0, ptr null, align 4
  br label %end
end:
  %d = atomicrmw or ptr addrspace(1) %f, i32 0 monotonic, align 4
  br label %loop",
];

/// The PTX keeps each reachable operation, although its control-flow graph differs from the IR's.
fn rewritten_flow() -> Result<(), Failed> {
    let files = Files::new()?;
    for body in REWRITTEN_FLOW {
        let ir = format!(
            "target triple = \"nvptx64-nvidia-cuda\"\ndeclare void @g()\ndeclare i32 @personality(...)\n\
            define ptx_kernel void @k(ptr addrspace(1) %p, ptr addrspace(1) %f, i32 %x) personality ptr @personality {{\n\
            {body}\n}}\n"
        );
        let ptx = files.lowered(&ir)?;
        let (status, _, stderr) = files.check(&ir, &ptx, &["--allow-empty"])?;
        assert_eq!((status, stderr.contains(" 0 not, 0 not checked")), (0, true), "{ptx}{stderr}");
        // The check finds a compiler that loses the ordering or repeats the first update.
        let repeated =
            ptx.lines().find(|line| line.contains("atom.")).map(|line| (line, line.repeat(2), "other effect"));
        let weakened = ("st.release.sys", "st.relaxed.sys".to_owned(), "ordering");
        for (part, wrong, loss) in repeated.into_iter().chain([weakened]).filter(|(part, ..)| ptx.contains(part)) {
            let (status, _, stderr) = files.check(&ir, &ptx.replace(part, &wrong), &["--allow-empty"])?;
            assert_eq!((status, stderr.contains(&format!("error: {loss}"))), (1, true), "{stderr}");
        }
    }
    Ok(())
}

/// PTX has a vector `atom` for the global window only. For other addresses, assemblers generate code that loses the
/// addition.
fn vector_atomics() -> Result<(), Failed> {
    let files = Files::new()?;
    let ir = "target triple = \"nvptx64-nvidia-cuda\"\ndefine void @sum(ptr addrspace(1) %p, <4 x float> %v) {\n\
        %old = atomicrmw fadd ptr addrspace(1) %p, <4 x float> %v monotonic, align 16\nret void\n}\n";
    let ptx = files.lowered(ir)?;
    assert!(ptx.contains(".global") && ptx.contains(".v4.f32"), "{ptx}");
    assert_eq!(files.check(ir, &ptx, &[])?.0, 0, "{ptx}");
    let generic = ir.replace("ptr addrspace(1)", "ptr");
    let lowered = files.lowered(&generic)?;
    assert!(!lowered.contains(".v4.f32") && lowered.contains("cas.b128"), "{lowered}");
    assert_eq!(files.check(&generic, &lowered, &[])?.0, 0, "{lowered}");
    let (status, _, stderr) = files.check(&generic, &ptx.replace(".global", ""), &[])?;
    assert!(status == 1 && stderr.contains(".v4.f32"), "{stderr}");
    Ok(())
}

fn damaged() -> Result<(), Failed> {
    let files = Files::new()?;
    let right = files.lowered(IR)?;
    for (ptx, expected) in [
        (String::new(), "'b.ptx' is not PTX: expected `.version` and `.target`: the text is not PTX"),
        (right.replace("ret;", "ret"), "'b.ptx' is not PTX: a `;` is missing"),
        (right[..right.len() - 40].to_owned(), "'b.ptx' is not PTX: the "),
        ("\u{1F600}".to_owned(), "'b.ptx' is not PTX: "),
    ] {
        let (status, stdout, stderr) = files.check(IR, &ptx, &[])?;
        assert_eq!((status, &*stdout), (1, ""), "{stderr}");
        assert!(stderr.starts_with(&format!("error: {expected}")), "{stderr}");
    }
    let (status, _, stderr) = files.check("define", &right, &[])?;
    assert!(status == 1 && stderr.starts_with("error: 'a.ll' is not LLVM IR: "), "{stderr}");
    Ok(())
}

fn usage() -> Result<(), Failed> {
    for arguments in
        [&["check"][..], &["check", "--ir", "a.ll"], &["check", "--ir", "a", "--ptx", "b", "--default-scope", "x"]]
    {
        assert_eq!(ptx_atomics().args(arguments).output()?.status.code(), Some(2), "{arguments:?}");
    }
    let missing = ptx_atomics().args(["check", "--ir", "no such file", "--ptx", "b"]).output()?;
    assert_eq!(missing.status.code(), Some(1));
    Ok(())
}
