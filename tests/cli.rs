//! The command line: errors in the input, outputs, remarks, targets.
//!
//! The messages for each file of `tests/bad` are pinned beside the file. To accept a change:
//! `INSTA_UPDATE=always cargo test -p ptx-atomics-cli --test it -- '[cli]'`, then read the difference.

mod many;
mod outputs;

use std::{
    fs,
    io::{self, Write},
    os::{
        fd::OwnedFd,
        unix::fs::{FileTypeExt, PermissionsExt, symlink},
    },
    path::Path,
    process::{Command, Output, Stdio},
    time::Duration,
};

use itertools::{Itertools, iproduct};
use libtest_mimic::{Failed, Trial};
use testing::{CALLS_THAT_ORDER, exists, llvm_version, ptx_atomics, root, snapshot, success, tool};

type Test = fn() -> Result<(), Failed>;

use self::outputs::{
    an_error_touches_no_output, at_work, kill, links_pipes_devices, no_end_leaves_anything, outputs_appear_whole,
    outputs_in_a_folder, two_outputs,
};

pub fn trials() -> Vec<Trial> {
    let bad = fs::read_dir(root().join("tests/bad")).expect("bad inputs").map(|entry| entry.expect("an input").path());
    let bad = bad.filter(|path| path.extension().is_some_and(|extension| extension == "ll")).sorted();
    let bad = bad.map(|path| {
        Trial::test(format!("bad/{}", path.file_stem().expect("a name").to_string_lossy()), move || bad_file(&path))
    });

    let tests: &[(&str, Test)] = &[
        ("an unreadable input is an error", unreadable_inputs),
        ("an unwritable output is an error", unwritable_outputs),
        ("wrong usage is an error with help", wrong_usage),
        ("damaged bitcode never aborts", damaged_bitcode),
        ("an error touches no output", an_error_touches_no_output),
        ("outputs appear whole", outputs_appear_whole),
        ("links, pipes and devices keep their kind", links_pipes_devices),
        ("a folder receives an output for each module", outputs_in_a_folder),
        ("several inputs give the outputs of single inputs", many::several_inputs),
        ("one large module", many::large_module),
        ("two outputs are two files", two_outputs),
        ("a stopped process leaves no file", no_end_leaves_anything),
        ("an error names the end of a process and its step", ends_name_their_cause),
        ("the environment selects colors", colors),
        ("the target comes from flags, module, default", targets),
        ("errors on the first line have the right column", first_line),
        ("the output keeps the data layout of libNVVM", data_layout),
        ("--default-scope replaces the default scope", default_scope),
        ("a module flag has options", module_flag),
        ("floating-point policies select the sequences", fp_atomics),
        ("an option tests generic pointers for local memory", may_be_local),
        ("byval parameters need no atomics", byval),
        ("32-bit pointers keep their size", short_pointers),
        ("volatile accesses become .mmio", mmio),
        ("the PTX version may exceed LLVM's", newest_version),
        ("- reads standard input and writes standard output", standard_streams),
        ("the same input gives the same bytes", deterministic),
        ("optimization levels keep the atomics", optimization_levels),
        ("debug locations and metadata move to the call", metadata),
        ("no data moves across a call that orders", calls_order),
        ("data moves across relaxed operations", relaxed_is_not_a_barrier),
        ("subtraction of floats adds the negation", negation),
        ("aligned 8 and 16 bits need no position in the word", word_aligned),
        ("modes of subnormals allow native f32 addition", subnormals),
        ("thousands of errors take linear time", many_errors),
        ("table prints the mapping", table),
        ("an unwritable table is an error", unwritable_table),
        ("auto has its measured choices", auto_table),
        ("table --sass prints machine code", sass_table),
        ("help shows an example", help),
        ("the command prints version, completions and manual pages", shell),
    ];
    let tests = tests.iter().map(|(name, test)| match *name {
        "thousands of errors take linear time" => testing::left_to_all(Trial::test(*name, test)),
        name => Trial::test(name, test),
    });

    let with_tools: [(&str, &str, Test); 5] = [
        ("llvm-remarkutil reads the remarks", tool("llvm-remarkutil"), remarks),
        ("LLVM's optimizer moves no data across an acquire", tool("opt"), aliasing),
        ("a module without atomics equals llc's output", tool("llc"), plain_code),
        ("code generation has llc's level", tool("llc"), codegen_levels),
        ("bitcode with its atomics lowered goes through llc", tool("llc"), bitcode),
    ];
    let with_tools = with_tools
        .into_iter()
        .map(|(name, tool, test)| testing::trial(name.into(), (!exists(tool)).then_some(tool), test));

    bad.chain(tests).chain(with_tools).collect()
}

/// Runs `ptx-atomics lower` with arguments separated by spaces.
fn lower(arguments: &str) -> Output {
    ptx_atomics().arg("lower").args(arguments.split_whitespace()).output().expect("the command starts")
}

/// Runs `ptx-atomics lower` and returns the PTX.
fn lowered(arguments: &str) -> Result<String, Failed> {
    success(ptx_atomics().arg("lower").args(arguments.split_whitespace()))
}

/// Runs `ptx-atomics lower`, and checks the exit status and words on standard error.
fn check(arguments: &str, status: i32, words: &[&str]) -> Result<(), Failed> {
    let output = lower(arguments);
    let stderr = String::from_utf8(output.stderr)?;
    let missing = words.iter().filter(|word| !stderr.contains(**word)).join("', '");
    if output.status.code() != Some(status) || !missing.is_empty() || !output.stdout.is_empty() {
        return Err(format!("lower {arguments}: {}, lacks '{missing}':\n{stderr}", output.status).into());
    }
    Ok(())
}

/// The flags follow `; RUN:` on the first line.
fn bad_file(path: &Path) -> Result<(), Failed> {
    let text = fs::read_to_string(path)?;
    let flags = text.lines().next().and_then(|line| line.strip_prefix("; RUN:")).ok_or("no `; RUN:`")?;
    let folder = tempfile::tempdir()?;
    let path = path.strip_prefix(root())?;
    let output = lower(&format!("{} -o {}/out.ptx {flags}", path.display(), folder.path().display()));
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(fs::read_dir(folder.path())?.count(), 0, "expected no file in the output's folder");
    let name = path.file_stem().expect("a name").to_string_lossy();
    snapshot::pin("tests/bad", &name, &String::from_utf8(output.stderr)?)
}

fn unreadable_inputs() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).map(|()| path.display().to_string())
    };
    let bitcode = bitcode_of("tests/inputs/cmpxchg.ll")?;
    check("tests/none.ll", 1, &["cannot read 'tests/none.ll': No such file"])?;
    check("tests", 1, &["'tests' is neither IR nor a source", "`ptx-atomics check` reads PTX"])?;
    check(&file("empty.ll", b"")?, 1, &["empty.ll' is empty", "give LLVM IR"])?;
    check(
        &file("random", b"\x7f\x00\xff\xfe\x80 random \xc3\x28 bytes")?,
        1,
        &["cannot determine the kind of '", "give a .ptx, .ll, .bc"],
    )?;
    check(
        &file("random.ll", b"\x7f\x00\xff\xfe\x80 random \xc3\x28 bytes")?,
        1,
        &["is neither text nor LLVM bitcode"],
    )?;
    check(&file("prose.txt", b"Not IR at all.\n")?, 1, &["cannot determine the kind of '", "prose.txt' by"])?;
    check(
        &file("prose.ll", b"Not IR at all.\n")?,
        1,
        &["prose.ll' is not LLVM IR: expected top-level entity", "1 | Not IR"],
    )?;
    check(&file("cut.bc", &bitcode[..bitcode.len() / 2])?, 1, &["cut.bc' is damaged LLVM bitcode"])?;
    check(&file("head.bc", b"BC\xc0\xde")?, 1, &["head.bc' is damaged LLVM bitcode"])
}

fn unwritable_outputs() -> Result<(), Failed> {
    check("tests/inputs/fences.ll -o none/out.ptx", 1, &["cannot write 'none/out.ptx'"])?;
    check("tests/inputs/fences.ll -o /dev/full", 1, &["cannot write '/dev/full': No space left"])?;
    check("tests/inputs/fences.ll --remarks none/out.yaml", 1, &["cannot write 'none/out.yaml'"])
}

fn shell() -> Result<(), Failed> {
    let version = success(ptx_atomics().arg("--version"))?;
    assert!(
        version.starts_with("ptx-atomics 0.") && version.contains(&format!("MLIR {}.", llvm_version())),
        "{version}"
    );
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = success(ptx_atomics().args(["completions", shell]))?;
        assert!(script.contains("verify-mapping") && script.contains("mcpu"), "{shell}: {script}");
    }
    let folder = tempfile::tempdir()?;
    let pages = folder.path().join("man1");
    success(ptx_atomics().arg("man").arg(&pages))?;
    for command in [
        "",
        "-lower",
        "-table",
        "-check",
        "-conformance",
        "-litmus",
        "-optimize",
        "-run",
        "-verify-mapping",
        "-completions",
        "-man",
    ] {
        let page = fs::read_to_string(pages.join(format!("ptx-atomics{command}.1")))?;
        let words = [&*format!(".TH ptx-atomics{command} 1"), "ptx-atomics 0.", ".SH SYNOPSIS"];
        assert!(words.iter().all(|word| page.contains(word)), "{command}: {page}");
    }
    assert_eq!(fs::read_dir(&pages)?.count(), 15);
    Ok(())
}

fn wrong_usage() -> Result<(), Failed> {
    check("--mcpu sm_64", 2, &["unknown GPU 'sm_64'; the known GPUs are sm_20, ", "sm_121f"])?;
    check("--mattr +ptx80,+foo", 2, &["unknown PTX version 'foo'"])?;
    check("--mattr +ptx80,+sm_64", 2, &["unknown GPU 'sm_64'"])?;
    check("--mattr +ptx59", 2, &["unknown PTX version 'ptx59'; the known versions are ptx32, ", "ptx94"])?;
    check(
        "--strategy magic",
        2,
        &["unknown strategy 'magic'; the known strategies are recommended, fence, fence-acquire, proven"],
    )?;
    check(
        "--strategy load.release=fence",
        2,
        &["unknown row 'load.release' of the ABI table; the known rows are fence.seq_cst"],
    )?;
    check("--default-scope warp", 2, &["the scopes are sys, cluster, gpu and cta"])?;
    check("-O4", 2, &["4 is not in 0..=3"])?;
    check("--emit sass", 2, &["ptx, llvm-ir, llvm-bc"])?;
    check(
        "tests/inputs/fences.ll --mcpu sm_90 --mattr +ptx70",
        1,
        &["PTX 7.0 does not support sm_90, which needs at least PTX 7.8"],
    )?;
    check("tests/bad/two_gpus.ll --mcpu sm_90", 1, &["the module asks for several PTX versions", "1 error;"])?;
    check("--fp-atomics exact", 2, &["the policies are native, ieee, nans, no-nans"])?;
    lowered("tests/bad/two_gpus.ll --mcpu sm_90 --mattr +ptx80").map(drop)
}

/// Bitcode with overwritten bytes gives an error message or a result.
fn damaged_bitcode() -> Result<(), Failed> {
    let bitcode = bitcode_of("tests/inputs/cmpxchg.ll")?;
    let file = tempfile::NamedTempFile::new()?;
    let mut outcomes = [0, 0];
    for damaged in testing::damaged(&bitcode, 8).step_by(testing::stride(3)) {
        fs::write(file.path(), &damaged)?;
        let Output { status, stdout, stderr } = lower(&file.path().display().to_string());
        let stderr = String::from_utf8_lossy(&stderr);
        let silent = status.code() == Some(1) && !(stdout.is_empty() && stderr.contains("error: "));
        if !matches!(status.code(), Some(0 | 1)) || silent || stderr.contains("panicked") {
            return Err(format!("{status}: {stderr}").into());
        }
        outcomes[usize::from(status.success())] += 1;
    }
    println!("{} damaged files rejected, {} lowered", outcomes[0], outcomes[1]);
    assert!(outcomes[0] > 50 / testing::stride(3));
    Ok(())
}

/// The message names a signal, a crash, or a lack of memory or stack. None of these alone is reported as a bug of LLVM.
fn ends_name_their_cause() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let cases = [
        ("KILL", "the process was stopped while ", "signal 9 (SIGKILL)"),
        ("TERM", "the process was stopped while ", "signal 15 (SIGTERM)"),
        ("SEGV", "LLVM crashed while ", "signal 11 (SIGSEGV)"),
        ("ABRT", "LLVM crashed while ", "signal 6 (SIGABRT)"),
    ];
    let stages = ["reading the module", "optimizing the module", "lowering the atomics", "generating PTX"];
    for (signal, who, what) in cases {
        // The check of asynchronous operations is off, because its process may also end by the signal, and that is only
        // a warning.
        let (parent, child) = at_work(folder.path(), &["--async", "off"])?;
        // The process reports its first stage at once.
        std::thread::sleep(Duration::from_millis(100));
        kill(child, signal)?;
        let output = parent.wait_with_output()?;
        let stderr = String::from_utf8(output.stderr)?;
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        let staged = stages.iter().any(|stage| stderr.contains(&format!("{who}{stage}: {what}")));
        assert!(staged && !stderr.contains("bug in"), "{stderr}");
    }
    // The memory limit is just enough for a small program and too low for this one.
    let limited = |kilobytes: usize, input: &Path| {
        let script = format!("ulimit -v {kilobytes}; exec \"$0\" lower \"$1\"");
        Command::new("sh").args(["-c", &script]).arg(testing::binary()).arg(input).output()
    };
    let small = root().join("tests/inputs/no_atomics.ll");
    let enough =
        (200_000..2_000_000).step_by(10_000).find(|limit| limited(*limit, &small).is_ok_and(|o| o.status.success()));
    let output = limited(enough.ok_or("no limit is enough")?, &folder.path().join("long.ll"))?;
    let stderr = String::from_utf8(output.stderr)?;
    assert!(output.status.code() == Some(1) && stderr.contains("error: out of memory while "), "{enough:?} {stderr}");

    let nested = folder.path().join("nested.mlir");
    fs::write(&nested, "builtin.module {\n".repeat(300_000) + &"}\n".repeat(300_000))?;
    check(&nested.display().to_string(), 1, &["MLIR ran out of stack while reading the module", "nested too deeply"])?;
    fs::write(&nested, "builtin.module {\n".repeat(5_000) + &"}\n".repeat(5_000))?;
    check(&nested.display().to_string(), 1, &["no conversion to LLVM IR for builtin.module", "4999 errors"])
}

fn colors() -> Result<(), Failed> {
    let stderr = |variables: &[(&str, &str)]| -> Result<String, Failed> {
        let mut command = ptx_atomics();
        command.args(["lower", "tests/bad/constant_memory.ll"]).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        Ok(String::from_utf8(command.envs(variables.iter().copied()).output()?.stderr)?)
    };
    assert!(!stderr(&[])?.contains('\x1b'), "a pipe gets no colors");
    assert!(stderr(&[("CLICOLOR_FORCE", "1")])?.contains('\x1b'));
    assert!(!stderr(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")])?.contains('\x1b'));
    Ok(())
}

fn targets() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let check = |attributes: &str, flags: &str, sm: &str, version: &str| -> Result<(), Failed> {
        let path = folder.path().join("target.ll");
        fs::write(
            &path,
            format!("target triple = \"nvptx64-nvidia-cuda\"\ndefine void @f() {attributes} {{ ret void }}\n"),
        )?;
        let ptx = lowered(&format!("{} {flags}", path.display()))?;
        let expected = format!(".version {version}\n.target {sm}\n");
        assert!(ptx.contains(&expected), "{attributes} {flags}: no {expected}{ptx}");
        Ok(())
    };
    let cpu = r#""target-cpu"="sm_80""#;
    check("", "", "sm_90", "7.8")?;
    check("", "--mcpu sm_100a", "sm_100a", "8.6")?;
    check("", "--mattr +ptx86", "sm_90", "8.6")?;
    check("", "--mattr +ptx86,+sm_100a", "sm_100a", "8.6")?;
    check("", "--mattr ptx80,+ptx86 --mcpu sm_90a", "sm_90a", "8.6")?;
    check(cpu, "--mattr +sm_90", "sm_90", "7.8")?;
    check(cpu, "--mattr +ptx86,+sm_100 --mcpu sm_90", "sm_90", "8.6")?;
    check(cpu, "", "sm_80", "7.0")?;
    check(&format!(r#"{cpu} "target-features"="+ptx75,+sm_80""#), "", "sm_80", "7.5")?;
    // rustc lists every version up to the version that it means.
    check(&format!(r#"{cpu} "target-features"="+ptx32,+ptx70,+ptx71""#), "", "sm_80", "7.1")?;
    check(&format!(r#"{cpu} "target-features"="+ptx75""#), "--mcpu sm_75", "sm_75", "7.5")?;
    // A module's PTX version is raised to the lowest version for the GPU.
    check(&format!(r#"{cpu} "target-features"="+ptx75""#), "--mcpu sm_90", "sm_90", "7.8")?;
    check(&format!(r#"{cpu} "target-features"="+ptx75""#), "--mcpu sm_90 --mattr +ptx80", "sm_90", "8.0")
}

fn default_scope() -> Result<(), Failed> {
    let fences = |flags: &str| {
        Ok::<_, Failed>(
            lowered(&format!("tests/inputs/fences.ll {flags}"))?
                .lines()
                .filter(|line| line.contains("fence."))
                .map(|line| line.trim().to_owned())
                .collect_vec(),
        )
    };
    let (system, device) = (fences("")?, fences("--default-scope gpu")?);
    assert!(system.contains(&"fence.sc.sys;".into()) && device.contains(&"fence.sc.gpu;".into()));
    assert!(!device.iter().any(|fence| fence.contains(".sys")), "{device:?}");
    assert!(device.contains(&"fence.acq_rel.cta;".into()), "a scope that is given stays");
    Ok(())
}

/// Options in a module's flag, which options of the command override one by one.
fn module_flag() -> Result<(), Failed> {
    let function = "define i32 @f(ptr addrspace(1) %p) {
  %old = atomicrmw add ptr addrspace(1) %p, i32 1 acq_rel
  ret i32 %old
}
!llvm.module.flags = !{!0}
!0 = !{i32 1, !\"ptx-atomics\", !\"strategy=fence,default-scope=gpu,mattr=+ptx78,+sm_80\"}";
    check_function(
        function,
        "",
        &["fence.acq_rel.gpu;", "atom.relaxed.gpu", ".version 7.8\n.target sm_80"],
        &["atom.acq_rel"],
    )?;
    check_function(function, "--strategy recommended", &["atom.acq_rel.gpu"], &["fence"])?;
    check_function(function, "--default-scope sys --mcpu sm_90", &["atom.relaxed.sys", ".target sm_90"], &["gpu"])
}

/// Lowers a module with one function, and checks that the PTX contains `expected` and nothing of `unexpected`.
fn check_function(function: &str, flags: &str, expected: &[&str], unexpected: &[&str]) -> Result<(), Failed> {
    let mut file = tempfile::Builder::new().suffix(".ll").tempfile()?;
    write!(file, "target triple = \"nvptx64-nvidia-cuda\"\n{function}\n")?;
    let ptx = lowered(&format!("{} {flags}", file.path().display()))?;
    let missing = expected.iter().filter(|text| !ptx.contains(**text)).join("', '");
    let found = unexpected.iter().filter(|text| ptx.contains(**text)).join("', '");
    if missing.is_empty() && found.is_empty() {
        return Ok(());
    }
    Err(format!("{flags}: lacks '{missing}', has '{found}':\n{ptx}").into())
}

/// libNVVM accepts only its own layout, and LLVM's backend only LLVM's.
fn data_layout() -> Result<(), Failed> {
    const LLVM: &str = "target datalayout = \"e-p6:32:32-";
    const LIBNVVM: &str = "target datalayout = \"e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-\
        f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64\"";
    let fence = "define void @f() {\nfence seq_cst\nret void\n}";
    check_function(fence, "--emit llvm-ir", &[LLVM], &[])?;
    check_function(&format!("{LIBNVVM}\n{fence}"), "--emit llvm-ir -O2", &[LIBNVVM], &[LLVM])?;
    check_function(&format!("{LIBNVVM}\n{fence}"), "", &["fence.sc.sys;"], &[])
}

/// The inserted data layout does not shift the line numbers of errors.
fn first_line() -> Result<(), Failed> {
    let file = tempfile::Builder::new().suffix(".ll").tempfile()?;
    fs::write(file.path(), "define i32 @f() { ret i64 0 }\n")?;
    check(&file.path().display().to_string(), 1, &[&format!("{}:1:23", file.path().display()), "ret i64 0"])
}

fn fp_atomics() -> Result<(), Failed> {
    let add = |space: &str, ty: &str| {
        let pointer = format!("ptr addrspace({space})");
        format!(
            "define {ty} @f({pointer} %p, {ty} %v) {{\n%r = atomicrmw fadd {pointer} %p, {ty} %v monotonic\nret {ty} %r\n}}"
        )
    };
    let (native, cas) = (["global.add.f32"], ["global.cas.b32"]);
    check_function(&add("1", "float"), "", &native, &cas)?;
    check_function(&add("1", "float"), "--fp-atomics ieee", &cas, &native)?;
    check_function(&add("1", "float"), "--fp-atomics ieee --mattr +ptx94", &["global.add.noftz.f32"], &cas)?;
    check_function(&add("3", "float"), "--fp-atomics ieee", &["shared.add.f32"], &["cas"])?;
    let max = "define float @f(ptr addrspace(1) %p, float %v) ATTRIBUTES {
        %r = atomicrmw fmax ptr addrspace(1) %p, float %v monotonic\nret float %r\n}";
    let (integers, says) = (["global.max.s32", "global.min.u32"], "\"no-nans-fp-math\"=\"true\"");
    check_function(&max.replace("ATTRIBUTES", ""), "", &cas, &integers)?;
    check_function(&max.replace("ATTRIBUTES", says), "", &integers, &cas)?;
    check_function(&max.replace("ATTRIBUTES", ""), "--fp-atomics ieee,no-nans", &integers, &cas)?;
    check_function(&max.replace("ATTRIBUTES", ""), "--fp-atomics no-nans,nans", &cas, &integers)?;
    check_function(&add("1", "float"), "--fp-atomics ieee,no-nans", &cas, &native)?;
    check_function(&add("1", "<2 x half>"), "", &["global.add.noftz.f16x2"], &cas)?;
    check_function(&add("1", "<2 x half>"), "--fp-atomics ieee", &cas, &["noftz"])?;
    check_function(&add("1", "<2 x float>"), "--mattr +ptx81", &["global.add.v2.f32"], &["cas"])?;
    check_function(&add("3", "<2 x float>"), "--mattr +ptx81", &["shared.cas.b64"], &["v2.f32"])?;
    let folder = tempfile::tempdir()?;
    let (input, remarks) = (folder.path().join("add.ll"), folder.path().join("add.yaml"));
    fs::write(&input, add("1", "float"))?;
    lowered(&format!("{} --remarks {}", input.display(), remarks.display()))?;
    assert!(fs::read_to_string(remarks)?.contains("flushes-subnormals"), "native leaves a remark");
    Ok(())
}

fn may_be_local() -> Result<(), Failed> {
    let generic = "define i32 @f(ptr %p, i32 %v) {\n%r = atomicrmw add ptr %p, i32 %v monotonic\nret i32 %r\n}";
    let known = generic.replace("ptr %p", "ptr addrspace(1) %p");
    let flag = "--generic-may-be-local";
    check_function(generic, "", &["atom.relaxed.sys.add"], &["isspacep"])?;
    check_function(generic, flag, &["isspacep.local", "atom.relaxed.sys.add", "st.b32"], &[])?;
    check_function(&known, flag, &["atom.relaxed.sys.global.add"], &["isspacep"])?;
    // If one path leads to a stack slot, the test for local memory is needed even without the flag.
    let either = "define i32 @f(ptr %p, i1 %c, i32 %v) {\n%s = alloca i32\n%q = select i1 %c, ptr %s, ptr %p
        %r = atomicrmw add ptr %q, i32 %v monotonic\nret i32 %r\n}";
    check_function(either, "", &["isspacep.local"], &[])?;
    // An `atom` at an address of unknown origin leaves a remark. A known or tested address and a plain access leave
    // none.
    let folder = tempfile::tempdir()?;
    let input = folder.path().join("f.ll");
    let load = generic.replace("atomicrmw add ptr %p, i32 %v monotonic", "load atomic i32, ptr %p monotonic, align 4");
    let swap = "define void @f(ptr %p, i32 %v) {\n%r = cmpxchg ptr %p, i32 %v, i32 1 monotonic monotonic\nret void\n}";
    // The IR that Rust's `black_box` makes of a pointer to a stack variable.
    let hidden =
        "define void @f() {\n%s = alloca i32\n%p = call ptr asm sideeffect \"mov.b64 $0, $1;\", \"=l,l\"(ptr %s)
        %r = atomicrmw add ptr %p, i32 1 monotonic\nret void\n}";
    for (text, flags, remarked) in [
        (generic, &[][..], true),
        (swap, &[], true),
        (hidden, &[], true),
        (generic, &[flag], false),
        (&known, &[], false),
        (either, &[], false),
        (&load, &[], false),
    ] {
        fs::write(&input, text)?;
        let output = ptx_atomics().args(["lower", "-v"]).args(flags).arg(&input).output()?;
        let said = String::from_utf8(output.stderr)?;
        assert!(output.status.success(), "{said}");
        assert_eq!(said.contains("unknown-memory: the state space is unknown"), remarked, "{text} {flags:?}: {said}");
    }
    Ok(())
}

/// The copy that a `byval` parameter holds is memory of the thread, and `atom` cannot access it.
fn byval() -> Result<(), Failed> {
    let kernel = "define ptx_kernel void @k(ptr byval(i32) align 4 %p, ptr addrspace(1) %out) {\n\
        %old = atomicrmw add ptr %p, i32 1 acq_rel\nstore i32 %old, ptr addrspace(1) %out\nret void\n}";
    check_function(kernel, "", &["ld.param.b32"], &["atom."])
}

/// A module's layout may have 32-bit pointers for some address spaces. The lowering keeps the layout, and pointers in
/// other spaces have 64 bits.
fn short_pointers() -> Result<(), Failed> {
    let layout = "target datalayout = \"e-p3:32:32-p4:32:32-p5:32:32-p6:32:32-p7:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64\"";
    let function = "@slot = addrspace(3) global ptr addrspace(3) undef, align 4\ndefine void @f(ptr addrspace(3) %p) {\n\
        store atomic ptr addrspace(3) %p, ptr addrspace(3) @slot release, align 4\nret void\n}";
    check_function(&format!("{layout}\n{function}"), "", &["st.release.sys.shared.b32"], &["b64 \t[slot]"])
}

fn mmio() -> Result<(), Failed> {
    let load = "define i32 @f(ptr addrspace(1) %p) {
        %r = load atomic volatile i32, ptr addrspace(1) %p acquire, align 4\nret i32 %r\n}";
    check_function(load, "", &["ld.volatile.global.b32", "fence.acq_rel.sys"], &["mmio"])?;
    let flags = "--volatile-as-mmio --mattr +ptx86";
    check_function(load, flags, &["ld.mmio.relaxed.sys.global.b32", "fence.acquire.sys"], &["volatile"])?;
    check_function(&load.replace("addrspace(1)", "addrspace(3)"), flags, &["ld.volatile.shared.b32"], &["mmio"])
}

/// LLVM's backend does not know this PTX version, so the command raises the version in the backend's output.
fn newest_version() -> Result<(), Failed> {
    check_function("define void @f() {\nret void\n}", "--mattr +ptx94", &[".version 9.4\n.target sm_90\n"], &[])
}

fn standard_streams() -> Result<(), Failed> {
    let mut child =
        ptx_atomics().args(["lower", "-", "-o", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    child.stdin.take().expect("a pipe").write_all(&fs::read(root().join("tests/inputs/fences.ll"))?)?;
    let output = child.wait_with_output()?;
    assert_eq!(String::from_utf8(output.stdout)?, lowered("tests/inputs/fences.ll")?);
    Ok(())
}

fn deterministic() -> Result<(), Failed> {
    for emit in ["ptx", "llvm-ir"] {
        let arguments = format!("tests/inputs/rmw_loops.ll --emit {emit} -O2");
        assert_eq!(lowered(&arguments)?, lowered(&arguments)?);
    }
    Ok(())
}

fn optimization_levels() -> Result<(), Failed> {
    let path = "tests/inputs/addresses.ll";
    let input = fs::read_to_string(root().join(path))?;
    let atomics = input.matches("atomicrmw ").count() + input.matches("cmpxchg ").count();
    for level in 0..=3 {
        let ptx = lowered(&format!("{path} -O{level}"))?;
        assert_eq!(ptx.matches("atom.relaxed.").count(), atomics, "-O{level}:\n{ptx}");
        // The atomic of `no_kernel` has a generic address.
        assert_eq!(ptx.matches("atom.relaxed.gpu.add").count(), 1, "-O{level} leaves a generic address:\n{ptx}");
    }
    Ok(())
}

fn metadata() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("metadata.ll");
    let text = fs::read_to_string(root().join("tests/bad/debug_info.ll"))?;
    let text = text.replace("align 2, !dbg !8", "align 4, !dbg !8, !range !9, !noundef !10, !tbaa !11");
    let text = text
        + "!9 = !{i32 0, i32 8}\n!10 = !{}\n!11 = !{!12, !12, i64 0}\n!12 = !{!\"int\", !13}\n!13 = !{!\"root\"}\n";
    for (ordering, kept, dropped) in [
        ("acquire", &["!dbg", "!range"][..], &["!noundef", "!tbaa"][..]),
        ("monotonic", &["!dbg", "!range", "!tbaa"], &["!noundef"]),
    ] {
        fs::write(&path, text.replace("acquire", ordering))?;
        let ir = lowered(&format!("{} --emit llvm-ir", path.display()))?;
        let call = ir.lines().find(|line| line.contains("asm sideeffect")).ok_or("no call")?;
        assert!(
            kept.iter().all(|kind| call.contains(kind)) && !dropped.iter().any(|kind| call.contains(kind)),
            "{call}"
        );
        assert!(call.trim().starts_with("%v = "), "the value keeps its name: {call}");
    }
    Ok(())
}

/// LLVM's own optimizer would merge the loads and drop the first store, because it infers that the calls access only
/// the flag.
fn calls_order() -> Result<(), Failed> {
    let file = tempfile::NamedTempFile::new()?;
    for (effects, level) in iproduct!(["", "memory(argmem: readwrite)"], ["", "-O1", "-O2", "-O3"]) {
        fs::write(file.path(), CALLS_THAT_ORDER.replace("EFFECTS", effects))?;
        let ptx = lowered(&format!("{} {level}", file.path().display()))?;
        let counts = ["ld.global", "st.global", "ptx-atomics"].map(|word| ptx.matches(word).count());
        assert_eq!(counts, [2, 2, 0], "{effects} {level}\n{ptx}");
    }
    Ok(())
}

fn table() -> Result<(), Failed> {
    let cases = [
        ("sm_90.recommended.md", "--mcpu sm_90 --mattr +ptx86 --strategy recommended --format markdown"),
        ("sm_80.fence.txt", "--mcpu sm_80 --strategy fence"),
        ("sm_90.mixed.json", "--mattr +ptx86 --strategy proven,rmw.acq_rel=fence-acquire --format json"),
    ];
    for (name, arguments) in cases {
        let text = success(ptx_atomics().arg("table").args(arguments.split_whitespace()))?;
        snapshot::pin("tests/table", name, &text)?;
    }
    Ok(())
}

/// The time for many errors is linear in their number, and the command prints only some of them.
fn many_errors() -> Result<(), Failed> {
    let function = |number| {
        format!(
            "define void @f{number}(ptr addrspace(4) %p) {{\nstore atomic i32 1, ptr addrspace(4) %p release, align 4\nret void\n}}\n"
        )
    };
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("many.ll");
    fs::write(&path, (0..20_000).map(function).collect::<String>())?;
    let path = path.display().to_string();
    let shown = |flags: &str| -> Result<usize, Failed> {
        let mut command = Command::new(testing::binary());
        let output = command.args(["lower", &path]).args(flags.split_whitespace()).output()?;
        let stderr = String::from_utf8(output.stderr)?;
        let shown = stderr.lines().filter(|line| line.starts_with("error: constant memory cannot")).count();
        let omitted = format!("error: {} more errors are not shown; --error-limit 0 shows all\n", 20_000 - shown);
        assert_eq!(stderr.contains(&omitted), shown < 20_000, "{flags}");
        assert!(stderr.ends_with("error: 20000 errors; nothing was written\n"), "{flags}");
        Ok(shown)
    };
    let start = std::time::Instant::now();
    assert_eq!([shown("")?, shown("--error-limit 3")?, shown("--error-limit 0")?], [20, 3, 20_000]);
    assert!(start.elapsed() < Duration::from_secs(300), "the command took {:?}", start.elapsed());
    Ok(())
}

fn unwritable_table() -> Result<(), Failed> {
    for flags in [&[][..], &["--sass"]] {
        // Only `/dev/full` is a full device. The command writes to it through the open descriptor, so that nothing
        // replaces the device.
        let full = fs::OpenOptions::new().write(true).open("/dev/full")?;
        let output = ptx_atomics().arg("table").args(flags).stdout(full).output()?;
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8(output.stderr)?.contains("cannot write to standard output: No space left"));
    }
    Ok(())
}

/// The sequences of `auto` are the recommended ones on every measured GPU. If ptxas may combine the operations of a
/// warp, fences carry the ordering where they cost the same.
fn auto_table() -> Result<(), Failed> {
    for target in ["--mcpu sm_70", "--mcpu sm_80", "--mcpu sm_90", "--mcpu sm_90 --mattr +ptx86", "--mcpu sm_121f"] {
        let table = |strategy: &str| {
            let arguments = target.split(' ').chain(["--strategy", strategy]);
            success(ptx_atomics().arg("table").args(arguments))
        };
        let (auto, recommended, splits) =
            (table("auto")?, table("recommended")?, table("fence")?.contains("; fence.acquire."));
        let combined = |text: &str| text.find("Where ptxas may combine a warp\n").zip(text.find("Read-modify-write"));
        let Some((start, end)) = combined(&auto) else {
            assert_eq!((auto, splits), (recommended, false), "{target}");
            continue;
        };
        assert!(splits && auto[start..end].contains("atom.relaxed.<scope>.<rmw op>; fence.acquire.<scope>;"), "{auto}");
        assert_eq!(auto[..start].to_owned() + &auto[end..], recommended, "{target}");
        assert_ne!(table("auto")?, table("fence")?, "{target}");
    }
    Ok(())
}

fn sass_table() -> Result<(), Failed> {
    let table = |arguments: &str| success(ptx_atomics().args(["table", "--sass"]).args(arguments.split_whitespace()));
    let cases = [
        ("--mcpu sm_80", "add i64 shared 0/0/0 1/1/0 1/1/0 1/1/1 - LDS.64 ; ATOMS.CAST.SPIN.64"),
        ("--mcpu sm_90", "add i64 shared 1/2/1 1/2/1 2/4/2 2/4/2 - LDS.64 ; ATOMS.CAST.SPIN.64"),
        ("--mcpu sm_90", "add i32 global 0/0/1 1/2/0 1/2/1 1/2/2 yes ATOMG.E.ADD.STRONG.GPU"),
        (
            "--mcpu sm_90 --mattr +ptx86 --strategy auto",
            "add i32 global 0/0/1 1/2/0 1/2/1 1/2/2 - ATOMG.E.ADD.STRONG.GPU",
        ),
        ("--mcpu sm_80", "sub i32 global 0/0/1 1/1/0 1/1/1 1/1/2 - ATOMG.E.ADD.STRONG.GPU"),
        ("--mcpu sm_90", "or i8 global 0/0/1 1/2/0 1/2/1 1/2/2 yes ATOMG.E.OR.STRONG.GPU"),
        ("--mcpu sm_90", "add u64 the same in all lanes any"),
        ("--mcpu sm_90", "and or xor b32 any unread"),
        ("--mcpu sm_90 --strategy fence", "add i32 global 1/2/1 1/2/1 2/4/2 2/4/2 - ATOMG.E.ADD.STRONG.GPU"),
        (
            "--mcpu sm_90 --mattr +ptx86 --strategy fence",
            "add i64 shared 0/0/1 1/2/0 1/2/1 1/2/2 - LDS.64 ; ATOMS.CAST.SPIN.64",
        ),
        ("--mcpu sm_75", "nand i32 shared 0/0/0 1/1/1 1/1/1 1/1/1 - LDS.U ; ATOMS.CAS (CAS loop)"),
        ("--mcpu sm_75", "rmw.acq_rel gpu 1 1 1 MEMBAR.ALL.GPU ; ERRBAR ; CCTL.IVALL"),
        ("--mcpu sm_75", "ATOMS.EXCH U32 S32 U64 Rd = M; M = Rb"),
        ("--mattr +ptx86", "rmw.seq_cst gpu 1 2 2 MEMBAR.SC.GPU ; ERRBAR ; CGAERRBAR ; CCTL.IVALL ; CCTL.IVALL"),
        (
            "--mcpu sm_121 --format markdown",
            "| cmpxchg | i64 | shared | 0/0/1 | 1/2/0 | 1/2/1 | 1/2/2 | - | ATOMS.CAS.64 |",
        ),
    ];
    for (arguments, expected) in cases {
        let text = table(arguments)?;
        let found = text.lines().any(|line| line.split_whitespace().join(" ") == expected);
        assert!(found, "{arguments}: no line '{expected}' in\n{text}");
    }
    let json: serde_json::Value = serde_json::from_str(&table("--format json")?)?;
    let families = json["families"].as_array().ok_or("no families")?.iter().map(|family| &family["family"]);
    assert_eq!(families.collect_vec(), ["sm_50", "sm_70", "sm_80", "sm_90", "sm_100a"]);
    Ok(())
}

fn help() -> Result<(), Failed> {
    for command in ["lower", "table", "litmus", "run"] {
        let text = success(ptx_atomics().args([command, "--help"]))?;
        assert!(text.contains(&format!("Example:\n  ptx-atomics {command} ")), "{text}");
    }
    Ok(())
}

fn remarks() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("remarks.yaml");
    lowered(&format!("tests/inputs/cmpxchg.ll --remarks {} -o /dev/null", path.display()))?;
    let count = Command::new(tool("llvm-remarkutil"))
        .args(["count", "--parser=yaml", "--group-by=function"])
        .arg(&path)
        .output()?;
    let count = String::from_utf8(count.stdout)?;
    assert_eq!(count.lines().filter(|line| line.ends_with(",1")).count(), 6, "{count}");
    assert!(count.contains("\"loop\",2"), "{count}");
    let text = fs::read_to_string(&path)?;
    let expected = "Function:        \"failure_is_stronger\"\nArgs:\n  - Operation: \"cmpxchg i32 addrspace(1) release acquire\"\n";
    assert!(text.contains(expected), "{text}");
    assert!(text.contains("- Change: \"failure-ordering-joined\""), "{text}");
    assert!(text.contains("DebugLoc:        { File: \"tests/inputs/cmpxchg.ll\", Line: 5, Column: 0 }"), "{text}");
    Ok(())
}

/// LLVM merges four loads into one vector load across a relaxed operation on other memory. The loads remain separate
/// around an operation that orders, is volatile, or may access the same memory.
fn relaxed_is_not_a_barrier() -> Result<(), Failed> {
    // The operation, its failure ordering, and an ordering that is not relaxed.
    let operations = [
        ("%x = load atomic i32, ptr addrspace(1) %c", "", "acquire"),
        ("store atomic i32 %v, ptr addrspace(1) %c", "", "release"),
        ("%x = atomicrmw add ptr addrspace(1) %c, i32 %v", "", "acquire"),
        ("%x = atomicrmw nand ptr addrspace(1) %c, i32 %v", "", "release"),
        ("%x = cmpxchg ptr addrspace(1) %c, i32 %v, i32 3", "monotonic", "acq_rel"),
    ];
    let mut checked = 0;
    for (operation, failure, strong) in operations {
        let cases = [
            ("monotonic", "", "noalias", true),
            (strong, "", "noalias", false),
            ("seq_cst", "", "noalias", false),
            ("monotonic", "volatile ", "noalias", false),
            ("monotonic", "", "", false),
        ];
        for (ordering, volatile, alias, vector) in cases {
            let operation = operation.replace("atomic ", &format!("atomic {volatile}"));
            let operation = operation.replace("atomicrmw ", &format!("atomicrmw {volatile}"));
            let operation = operation.replace("cmpxchg ", &format!("cmpxchg {volatile}"));
            let operation = format!("{operation} syncscope(\"device\") {ordering} {failure}, align 4");
            let load = |index: u32| {
                let pointer = format!("%p{index} = getelementptr i32, ptr addrspace(1) %p, i64 {index}");
                format!("{pointer}\n%a{index} = load i32, ptr addrspace(1) %p{index}, align 4\n")
            };
            let loads = load(1) + &load(2) + &load(3);
            let function = format!(
                "define void @f(ptr addrspace(1) {alias} %p, ptr addrspace(1) {alias} %c, i32 %v, ptr addrspace(3) %o) {{\n\
                 %a0 = load i32, ptr addrspace(1) %p, align 16\n{operation}\n{loads}\
                 %s1 = add i32 %a0, %a1\n%s2 = add i32 %s1, %a2\n%s3 = add i32 %s2, %a3\n\
                 store i32 %s3, ptr addrspace(3) %o\nret void\n}}"
            );
            let (expected, unexpected): (&[_], &[_]) =
                if vector { (&["ld.global.v4.b32"], &[]) } else { (&[], &["ld.global.v4.b32"]) };
            check_function(&function, "", expected, unexpected)?;
            checked += 1;
        }
    }
    assert_eq!(checked, 25);
    Ok(())
}

/// If an addition is native, a subtraction becomes an addition of the negated operand, and an `fneg` is folded into it.
fn negation() -> Result<(), Failed> {
    for (ty, ptx, bits) in [("float", "f32", "b32"), ("double", "f64", "b64")] {
        let function = |op: &str, operand: &str| {
            format!(
                "define {ty} @f(ptr addrspace(1) %p, {ty} %v) {{\n%n = fneg {ty} %v\n\
                 %r = atomicrmw {op} ptr addrspace(1) %p, {ty} {operand} acq_rel\nret {ty} %r\n}}"
            )
        };
        let (add, neg) = (format!("global.add.{ptx}"), format!("neg.{ptx}"));
        check_function(&function("fadd", "%v"), "", &[&add], &["neg.", "xor", "cas"])?;
        check_function(&function("fsub", "%v"), "", &[&neg, &add], &["xor", "cas"])?;
        check_function(&function("fadd", "%n"), "", &[&neg, &add], &["xor", "cas"])?;
        check_function(&function("fsub", "%n"), "", &[&add], &["neg.", "xor", "cas"])?;
        check_function(&function("fsub", "1.0"), "", &[&add], &["neg.", "xor", "cas"])?;
        // Without a native operation, the loop has no negation either.
        let (cas, sub) = (format!("cas.{bits}"), format!("sub.rn.{ptx}"));
        check_function(&function("fmax", "%n"), "", &[&cas], &[&add])?;
        if ty == "float" {
            check_function(&function("fadd", "%n"), "--fp-atomics ieee", &[&cas, &sub], &["neg.", "xor"])?;
        }
    }
    for (ty, native) in [("half", "add.noftz.f16"), ("<2 x half>", "add.noftz.f16x2"), ("<2 x float>", "add.v2.f32")] {
        let function = format!(
            "define void @f(ptr addrspace(1) %p, {ty} %v) {{\n%r = atomicrmw fsub ptr addrspace(1) %p, {ty} %v monotonic\n\
             ret void\n}}"
        );
        check_function(&function, "--mattr +ptx81", &[native], &["cas"])?;
    }
    Ok(())
}

/// An aligned sub-word operation updates the whole word without computing a position in it, and the address offset is
/// folded.
fn word_aligned() -> Result<(), Failed> {
    for (ty, op) in iproduct!(["i8", "i16"], ["or", "xor", "and", "add", "umax", "cmpxchg"]) {
        let operation = |align: u32| {
            let operands = if op == "cmpxchg" { format!("{ty} %v, {ty} 1 monotonic") } else { format!("{ty} %v") };
            let opcode = if op == "cmpxchg" { op.to_owned() } else { format!("atomicrmw {op}") };
            format!(
                "define void @f(ptr addrspace(1) %p, {ty} %v) {{\n%q = getelementptr i8, ptr addrspace(1) %p, i64 8\n\
                 %r = {opcode} ptr addrspace(1) %q, {operands} monotonic, align {align}\nret void\n}}"
            )
        };
        let place = ["%byte", "mad.lo", "shl."];
        check_function(&operation(4), "", &["%rd1+8]"], &place)?;
        check_function(&operation(16), "", &["%rd1+8]"], &place)?;
        check_function(&operation(2), "", &["%byte"], &["+8]"])?;
    }
    Ok(())
}

/// Attributes and metadata that let arithmetic flush subnormals also allow the native addition of f32.
fn subnormals() -> Result<(), Failed> {
    let modes = [
        ("\"denormal-fp-math-f32\"=\"preserve-sign\"", true),
        ("\"denormal-fp-math-f32\"=\"preserve-sign,preserve-sign\"", true),
        ("\"denormal-fp-math\"=\"preserve-sign,preserve-sign\"", true),
        ("\"denormal-fp-math\"=\"preserve-sign\" \"denormal-fp-math-f32\"=\"ieee\"", false),
        ("\"denormal-fp-math\"=\"ieee\" \"denormal-fp-math-f32\"=\"preserve-sign\"", true),
        ("\"denormal-fp-math-f32\"=\"preserve-sign,ieee\"", false),
        ("\"denormal-fp-math-f32\"=\"ieee,preserve-sign\"", false),
        ("\"denormal-fp-math-f32\"=\"positive-zero\"", false),
        ("\"denormal-fp-math-f32\"=\"dynamic\"", false),
        ("", false),
    ];
    // LLVM 22 does not have this attribute.
    let envs = [
        ("denormal_fpenv(preservesign)", true),
        ("denormal_fpenv(float: preservesign)", true),
        ("denormal_fpenv(preservesign, float: ieee)", false),
        ("denormal_fpenv(preservesign|ieee)", false),
        ("denormal_fpenv(ieee|preservesign)", false),
        ("denormal_fpenv(float: positivezero)", false),
        ("denormal_fpenv(dynamic)", false),
    ];
    let (native, cas) = (["global.add.f32"], ["cas"]);
    for (attributes, flushes) in modes.into_iter().chain(envs.into_iter().filter(|_| llvm_version() > 22)) {
        for (metadata, ignored) in [
            ("", false),
            (", !atomic.ignore.denormal.mode !{}", true),
            (", !amdgpu.ignore.denormal.mode !{}", true),
            (", !amdgpu.no.remote.memory !{}", false),
        ] {
            // The metadata applies to the first operation only, not to the second.
            let function = format!(
                "define void @f(ptr addrspace(1) %p, float %v) {attributes} {{\n\
                 %r = atomicrmw fadd ptr addrspace(1) %p, float %v monotonic{metadata}\n\
                 %s = atomicrmw fadd ptr addrspace(1) %p, float %v monotonic\nret void\n}}"
            );
            check_function(&function, "", &native, &cas)?;
            let found = [(native[0], flushes || ignored), (cas[0], !flushes)];
            let texts = |is| found.iter().filter(|(_, found)| *found == is).map(|(text, _)| *text).collect::<Vec<_>>();
            check_function(&function, "--fp-atomics ieee", &texts(true), &texts(false))?;
        }
    }
    Ok(())
}

fn aliasing() -> Result<(), Failed> {
    let input = "define float @f(ptr addrspace(1) %flag, ptr addrspace(1) %data) {
  %before = load float, ptr addrspace(1) %data, !tbaa !3
  %seen = load atomic i32, ptr addrspace(1) %flag acquire, align 4, !tbaa !1
  %after = load float, ptr addrspace(1) %data, !tbaa !3
  %sum = fadd float %before, %after
  ret float %sum
}
!0 = !{!\"root\"}
!1 = !{!2, !2, i64 0}
!2 = !{!\"int\", !0}
!3 = !{!4, !4, i64 0}
!4 = !{!\"float\", !0}
";
    let file = tempfile::NamedTempFile::new()?;
    for (ordering, loads) in [("acquire", 2), ("monotonic", 1)] {
        fs::write(file.path(), input.replace("acquire", ordering))?;
        let lowered = tempfile::NamedTempFile::new()?;
        fs::write(lowered.path(), self::lowered(&format!("{} --emit llvm-ir", file.path().display()))?)?;
        let optimized =
            success(Command::new(tool("opt")).args(["-S", "-passes=early-cse<memssa>,gvn"]).arg(lowered.path()))?;
        assert_eq!(optimized.matches("load float").count(), loads, "{ordering}:\n{optimized}");
    }
    Ok(())
}

/// The lines of the text without comments and blank lines.
fn code(ptx: &str) -> Vec<String> {
    let uncommented = ptx.lines().map(|line| line.split("//").next().unwrap_or("").trim_end().to_owned());
    uncommented.filter(|line| !line.is_empty()).collect()
}

fn plain_code() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let unaligned = folder.path().join("unaligned.ll");
    fs::write(&unaligned, unaligned_accesses())?;
    for input in [root().join("tests/inputs/no_atomics.ll"), unaligned] {
        let llc = success(Command::new(tool("llc")).args(["-mcpu=sm_90", "-o", "-"]).arg(&input))?;
        assert_eq!(code(&lowered(&format!("{} --mcpu sm_90", input.display()))?), code(&llc));
    }
    Ok(())
}

/// Accesses without an alignment, in a module without a data layout.
fn unaligned_accesses() -> String {
    let types = [
        "i8",
        "i16",
        "i32",
        "i64",
        "i128",
        "half",
        "float",
        "double",
        "ptr",
        "<2 x i64>",
        "<4 x float>",
        "{ i8, i64 }",
    ];
    let accesses = iproduct!(types, ["", "volatile "], ["ptr", "ptr addrspace(1)", "ptr addrspace(3)"]).enumerate();
    let functions = accesses.map(|(index, (ty, volatile, pointer))| {
        format!(
            "define void @f{index}({pointer} %p, {pointer} %q) {{\n  %slot = alloca {ty}\n  %v = load {volatile}{ty}, {pointer} %p\n  \
             store {volatile}{ty} %v, ptr %slot\n  %w = load {volatile}{ty}, ptr %slot\n  \
             store {volatile}{ty} %w, {pointer} %q\n  ret void\n}}\n"
        )
    });
    "target triple = \"nvptx64-nvidia-cuda\"\n".to_owned() + &functions.collect::<String>()
}

/// A load that is redundant on one path. LLVM's code generator removes the redundancy only at `-O3`.
const PARTLY_REDUNDANT: &str = "target triple = \"nvptx64-nvidia-cuda\"
define i32 @f(ptr addrspace(1) %p, i1 %c) {
  br i1 %c, label %then, label %else
then:
  %a = load i32, ptr addrspace(1) %p
  br label %end
else:
  br label %end
end:
  %x = phi i32 [ %a, %then ], [ 7, %else ]
  %b = load i32, ptr addrspace(1) %p
  %sum = add i32 %x, %b
  ret i32 %sum
}
";

fn codegen_levels() -> Result<(), Failed> {
    let file = tempfile::Builder::new().suffix(".ll").tempfile()?;
    fs::write(file.path(), PARTLY_REDUNDANT)?;
    let mut outputs = Vec::new();
    for level in 0..=3 {
        let llc = Command::new(tool("llc"))
            .args(["-mcpu=sm_90", "-o", "-", &format!("-O{level}")])
            .arg(file.path())
            .output()?;
        let path = file.path().display();
        let ours = code(&lowered(&format!("{path} --mcpu sm_90 --codegen-level {level}"))?);
        assert_eq!(ours, code(std::str::from_utf8(&llc.stdout)?), "at {level}");
        outputs.push(ours);
    }
    assert_eq!(outputs[2], code(&lowered(&format!("{} --mcpu sm_90", file.path().display()))?));
    assert_ne!(outputs[2], outputs[3], "the level makes no difference");
    assert_eq!(outputs[3], code(&lowered(&format!("{} --mcpu sm_90 -O0 --codegen-level 3", file.path().display()))?));
    Ok(())
}

fn bitcode() -> Result<(), Failed> {
    let file = tempfile::NamedTempFile::new()?;
    lowered(&format!("tests/inputs/rmw_loops.ll --emit llvm-bc -o {}", file.path().display()))?;
    let llc = success(Command::new(tool("llc")).args(["-mcpu=sm_90", "-o", "-"]).arg(file.path()))?;
    assert_eq!(code(&lowered("tests/inputs/rmw_loops.ll --mcpu sm_90")?), code(&llc));
    Ok(())
}

/// The bitcode of an input, written by the command itself.
fn bitcode_of(path: &str) -> Result<Vec<u8>, Failed> {
    let file = tempfile::NamedTempFile::new()?;
    lowered(&format!("{path} --emit llvm-bc -o {}", file.path().display()))?;
    let bitcode = fs::read(file.path())?;
    assert!(bitcode.starts_with(b"BC\xc0\xde"));
    Ok(bitcode)
}
