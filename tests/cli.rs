//! The command line: bad input, outputs, remarks, targets.
//!
//! What it prints for each file of `tests/bad` is pinned beside the file. To accept a change:
//! `INSTA_UPDATE=always cargo test --test cli`, then read the difference.

mod support;

use std::{
    fs,
    io::Write,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    process::{Command, Output, Stdio},
};

use itertools::{Itertools, iproduct};
use libtest_mimic::{Arguments, Failed, Trial};
use support::{CALLS_THAT_ORDER, exists, ptx_atomics, root, success};

type Test = fn() -> Result<(), Failed>;

fn main() {
    let bad = fs::read_dir(root().join("tests/bad")).expect("bad inputs").map(|entry| entry.expect("an input").path());
    let bad = bad.filter(|path| path.extension().is_some_and(|extension| extension == "ll")).sorted();
    let bad = bad.map(|path| {
        Trial::test(format!("bad/{}", path.file_stem().expect("a name").to_string_lossy()), move || bad_file(&path))
    });

    let tests: &[(&str, Test)] = &[
        ("unreadable inputs", unreadable_inputs),
        ("unwritable outputs", unwritable_outputs),
        ("wrong usage", wrong_usage),
        ("damaged bitcode never aborts", damaged_bitcode),
        ("an error touches no output", an_error_touches_no_output),
        ("outputs appear whole", outputs_appear_whole),
        ("colors only where they are wanted", colors),
        ("the target of flags, module, default", targets),
        ("the default scope", default_scope),
        ("options in a module's flag", module_flag),
        ("floating-point policies", fp_atomics),
        ("generic pointers that may be local", may_be_local),
        ("volatile accesses as .mmio", mmio),
        ("PTX newer than LLVM writes", newest_version),
        ("standard input and output", standard_streams),
        ("the same input gives the same bytes", deterministic),
        ("optimization levels", optimization_levels),
        ("debug locations and metadata move to the call", metadata),
        ("no data moves across a call that orders", calls_order),
        ("the table", table),
        ("the choices of auto", auto_table),
        ("the table of SASS", sass_table),
        ("help has an example", help),
    ];
    let tests = tests.iter().map(|(name, test)| Trial::test(*name, test));

    let with_tools: &[(&str, &'static str, Test)] = &[
        ("llvm-remarkutil reads the remarks", "llvm-remarkutil-22", remarks),
        ("LLVM's optimizer moves no data across an acquire", "opt-22", aliasing),
        ("a module without atomics is what llc gives", "llc-22", plain_code),
        ("bitcode with its atomics lowered goes through llc", "llc-22", bitcode),
    ];
    let with_tools = with_tools
        .iter()
        .map(|(name, tool, test)| support::trial((*name).into(), (!exists(tool)).then_some(*tool), test));

    libtest_mimic::run(&Arguments::from_args(), bad.chain(tests).chain(with_tools).collect()).exit();
}

/// Runs `ptx-atomics lower` with words separated by spaces.
fn lower(arguments: &str) -> Output {
    ptx_atomics().arg("lower").args(arguments.split_whitespace()).output().expect("the command starts")
}

/// Runs `ptx-atomics lower`, and expects PTX.
fn lowered(arguments: &str) -> Result<String, Failed> {
    success(ptx_atomics().arg("lower").args(arguments.split_whitespace()))
}

/// Runs `ptx-atomics lower`, and expects an exit status and words on standard error.
fn check(arguments: &str, status: i32, words: &[&str]) -> Result<(), Failed> {
    let output = lower(arguments);
    let stderr = String::from_utf8(output.stderr)?;
    let missing = words.iter().filter(|word| !stderr.contains(**word)).join("', '");
    if output.status.code() != Some(status) || !missing.is_empty() || !output.stdout.is_empty() {
        return Err(format!("lower {arguments}: {}, lacks '{missing}':\n{stderr}", output.status).into());
    }
    Ok(())
}

/// The flags stand behind `; RUN:` on the first line.
fn bad_file(path: &Path) -> Result<(), Failed> {
    let text = fs::read_to_string(path)?;
    let flags = text.lines().next().and_then(|line| line.strip_prefix("; RUN:")).ok_or("no `; RUN:`")?;
    let folder = tempfile::tempdir()?;
    let path = path.strip_prefix(root())?;
    let output = lower(&format!("{} -o {}/out.ptx {flags}", path.display(), folder.path().display()));
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(fs::read_dir(folder.path())?.count(), 0, "nothing is left in the output's folder");
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(root().join("tests/bad"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
    let stderr = String::from_utf8(output.stderr)?;
    settings.bind(|| insta::assert_snapshot!(name, stderr));
    Ok(())
}

fn unreadable_inputs() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).map(|()| path.display().to_string())
    };
    let bitcode = bitcode_of("tests/inputs/cmpxchg.ll")?;
    check("tests/none.ll", 1, &["cannot read 'tests/none.ll': No such file"])?;
    check("tests", 1, &["cannot read 'tests': Is a directory"])?;
    check(&file("empty.ll", b"")?, 1, &["empty.ll' is empty", "give LLVM IR"])?;
    check(&file("random", b"\x7f\x00\xff\xfe\x80 random \xc3\x28 bytes")?, 1, &["is neither text nor LLVM bitcode"])?;
    check(
        &file("prose.txt", b"Not IR at all.\n")?,
        1,
        &["prose.txt' is not LLVM IR: expected top-level entity", "1 | Not IR"],
    )?;
    check(&file("cut.bc", &bitcode[..bitcode.len() / 2])?, 1, &["cut.bc' is damaged LLVM bitcode"])?;
    check(&file("head.bc", b"BC\xc0\xde")?, 1, &["head.bc' is damaged LLVM bitcode"])
}

fn unwritable_outputs() -> Result<(), Failed> {
    check("tests/inputs/fences.ll -o none/out.ptx", 1, &["cannot write 'none/out.ptx'"])?;
    check("tests/inputs/fences.ll -o tests", 1, &["cannot write 'tests': it is a directory"])?;
    check("tests/inputs/fences.ll -o /dev/full", 1, &["cannot write '/dev/full': No space left"])?;
    check("tests/inputs/fences.ll --remarks none/out.yaml", 1, &["cannot write 'none/out.yaml'"])
}

fn wrong_usage() -> Result<(), Failed> {
    check("--mcpu sm_64", 2, &["unknown GPU 'sm_64'; the known ones are sm_20, ", "sm_121f"])?;
    check("--mattr +ptx59", 2, &["unknown PTX version 'ptx59'; the known ones are ptx32, ", "ptx94"])?;
    check(
        "--strategy magic",
        2,
        &["unknown strategy 'magic'; the known ones are recommended, fence, fence-acquire, proven"],
    )?;
    check(
        "--strategy load.release=fence",
        2,
        &["unknown row 'load.release' of the ABI table; the known ones are fence.seq_cst"],
    )?;
    check("--default-scope warp", 2, &["the scopes are sys, cluster, gpu and cta"])?;
    check("-O4", 2, &["4 is not in 0..=3"])?;
    check("--emit sass", 2, &["ptx, llvm-ir, llvm-bc"])?;
    check(
        "tests/inputs/fences.ll --mcpu sm_90 --mattr +ptx70",
        1,
        &["PTX 7.0 does not know sm_90, which needs at least PTX 7.8"],
    )?;
    check("tests/bad/two_gpus.ll --mcpu sm_90", 1, &["the module asks for several PTX versions", "1 error;"])?;
    check("--fp-atomics exact", 2, &["the policies are native and ieee"])?;
    lowered("tests/bad/two_gpus.ll --mcpu sm_90 --mattr +ptx80").map(drop)
}

/// Bitcode with bytes overwritten: an error or a result, and always a word about it.
fn damaged_bitcode() -> Result<(), Failed> {
    let bitcode = bitcode_of("tests/inputs/cmpxchg.ll")?;
    let file = tempfile::NamedTempFile::new()?;
    let mut outcomes = [0, 0];
    for damaged in support::damaged(&bitcode, 8) {
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
    assert!(outcomes[0] > 50);
    Ok(())
}

fn an_error_touches_no_output() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let (output, remarks) = (folder.path().join("out.ptx"), folder.path().join("out.yaml"));
    fs::write(&output, "before")?;
    let arguments = format!("tests/bad/constant_memory.ll -o {} --remarks {}", output.display(), remarks.display());
    check(&arguments, 1, &["constant memory"])?;
    assert_eq!(fs::read_to_string(&output)?, "before");
    assert_eq!(fs::read_dir(folder.path())?.count(), 1);
    Ok(())
}

fn outputs_appear_whole() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let expected = lowered("tests/inputs/fences.ll")?;
    let path = folder.path().join("out.ptx");
    lowered(&format!("tests/inputs/fences.ll -o {}", path.display()))?;
    assert_eq!(fs::read_to_string(&path)?, expected);

    fs::set_permissions(&path, fs::Permissions::from_mode(0o640))?;
    let link = folder.path().join("link.ptx");
    symlink("out.ptx", &link)?;
    fs::write(&path, "before")?;
    lowered(&format!("tests/inputs/fences.ll -o {}", link.display()))?;
    assert!(link.is_symlink(), "a link stays a link");
    assert_eq!(fs::read_to_string(&path)?, expected);
    assert_eq!(fs::metadata(&path)?.permissions().mode() & 0o777, 0o640);

    lowered("tests/inputs/fences.ll -o /dev/null")?;
    assert!(!fs::metadata("/dev/null")?.is_file());
    Ok(())
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
    check(cpu, "", "sm_80", "7.0")?;
    check(&format!(r#"{cpu} "target-features"="+ptx75,+sm_80""#), "", "sm_80", "7.5")?;
    // rustc lists every version up to the one that it means.
    check(&format!(r#"{cpu} "target-features"="+ptx32,+ptx70,+ptx71""#), "", "sm_80", "7.1")?;
    check(&format!(r#"{cpu} "target-features"="+ptx75""#), "--mcpu sm_75", "sm_75", "7.5")?;
    // What a module asks for is raised to what the GPU needs.
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

/// What a module says itself, and what overrides it, option by option.
fn module_flag() -> Result<(), Failed> {
    let function = "define i32 @f(ptr addrspace(1) %p) {
  %old = atomicrmw add ptr addrspace(1) %p, i32 1 acq_rel
  ret i32 %old
}
!llvm.module.flags = !{!0}
!0 = !{i32 1, !\"ptx-atomics\", !\"strategy=fence,default-scope=gpu,mcpu=sm_80\"}";
    check_function(function, "", &["fence.acq_rel.gpu;", "atom.relaxed.gpu", ".target sm_80"], &["atom.acq_rel"])?;
    check_function(function, "--strategy recommended", &["atom.acq_rel.gpu"], &["fence"])?;
    check_function(function, "--default-scope sys --mcpu sm_90", &["atom.relaxed.sys", ".target sm_90"], &["gpu"])
}

/// Writes a module with one function, lowers it, and expects instructions, and others not.
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
    // Where one way leads to a stack slot, the test is needed without the flag.
    let either = "define i32 @f(ptr %p, i1 %c, i32 %v) {\n%s = alloca i32\n%q = select i1 %c, ptr %s, ptr %p
        %r = atomicrmw add ptr %q, i32 %v monotonic\nret i32 %r\n}";
    check_function(either, "", &["isspacep.local"], &[])?;
    // An `atom` at an address of unknown origin says so; what is known, tested for, or no `atom` does not.
    let folder = tempfile::tempdir()?;
    let input = folder.path().join("f.ll");
    let load = generic.replace("atomicrmw add ptr %p, i32 %v monotonic", "load atomic i32, ptr %p monotonic, align 4");
    let swap = "define void @f(ptr %p, i32 %v) {\n%r = cmpxchg ptr %p, i32 %v, i32 1 monotonic monotonic\nret void\n}";
    // What Rust's `black_box` makes of a pointer to a stack variable.
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
        assert_eq!(
            said.contains("unknown-memory: nothing shows what memory it is in"),
            remarked,
            "{text} {flags:?}: {said}"
        );
    }
    Ok(())
}

fn mmio() -> Result<(), Failed> {
    let load = "define i32 @f(ptr addrspace(1) %p) {
        %r = load atomic volatile i32, ptr addrspace(1) %p acquire, align 4\nret i32 %r\n}";
    check_function(load, "", &["ld.volatile.global.b32", "fence.acq_rel.sys"], &["mmio"])?;
    let flags = "--volatile-as-mmio --mattr +ptx86";
    check_function(load, flags, &["ld.mmio.relaxed.sys.global.b32", "fence.acquire.sys"], &["volatile"])?;
    check_function(&load.replace("addrspace(1)", "addrspace(3)"), flags, &["ld.volatile.shared.b32"], &["mmio"])
}

/// The backend does not know the version; what it writes is raised.
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
    for level in 0..=3 {
        let ptx = lowered(&format!("tests/inputs/addresses.ll -O{level}"))?;
        assert_eq!(ptx.matches("atom.relaxed.").count(), 9, "-O{level}:\n{ptx}");
        assert_eq!(ptx.matches("atom.relaxed.gpu.add").count(), 0, "-O{level} leaves a generic address:\n{ptx}");
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

/// LLVM's own optimizer merges the loads and drops the first store: it infers that the calls touch nothing but the flag.
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
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(root().join("tests/table"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let cases = [
        ("sm_90.recommended.md", "--mcpu sm_90 --mattr +ptx86 --strategy recommended --format markdown"),
        ("sm_80.fence.txt", "--mcpu sm_80 --strategy fence"),
        ("sm_90.mixed.json", "--mattr +ptx86 --strategy proven,rmw.acq_rel=fence-acquire --format json"),
    ];
    for (name, arguments) in cases {
        let text = success(ptx_atomics().arg("table").args(arguments.split_whitespace()))?;
        settings.bind(|| insta::assert_snapshot!(name, text));
    }
    Ok(())
}

/// They are the recommended ones, on every GPU that was measured.
fn auto_table() -> Result<(), Failed> {
    for target in ["--mcpu sm_70", "--mcpu sm_90", "--mcpu sm_90 --mattr +ptx86", "--mcpu sm_121f"] {
        let table = |strategy: &str| {
            let arguments = target.split(' ').chain(["--strategy", strategy]);
            success(ptx_atomics().arg("table").args(arguments))
        };
        assert_eq!(table("auto")?, table("recommended")?, "{target}");
        assert_ne!(table("auto")?, table("fence")?, "{target}");
    }
    Ok(())
}

fn sass_table() -> Result<(), Failed> {
    let table = |arguments: &str| success(ptx_atomics().args(["table", "--sass"]).args(arguments.split_whitespace()));
    let cases = [
        ("--mcpu sm_80", "add i64 shared 0/0/0 1/1/0 1/1/0 1/1/1 LDS.64 ; ATOMS.CAST.SPIN.64"),
        ("--mcpu sm_90", "add i64 shared 1/2/1 1/2/1 2/4/2 2/4/2 LDS.64 ; ATOMS.CAST.SPIN.64"),
        ("--mcpu sm_90", "add i32 global 0/0/1 1/2/0 1/2/1 1/2/2 ATOMG.E.ADD.STRONG.GPU"),
        ("--mcpu sm_90 --strategy fence", "add i32 global 1/2/1 1/2/1 2/4/2 2/4/2 ATOMG.E.ADD.STRONG.GPU"),
        (
            "--mcpu sm_90 --mattr +ptx86 --strategy fence",
            "add i64 shared 0/0/1 1/2/0 1/2/1 1/2/2 LDS.64 ; ATOMS.CAST.SPIN.64",
        ),
        ("--mcpu sm_75", "nand i32 shared 1/1/1 1/1/1 2/2/2 2/2/2 LDS.U ; ATOMS.CAS (CAS loop)"),
        ("--mcpu sm_75", "rmw.acq_rel gpu 1 1 1 MEMBAR.ALL.GPU ; ERRBAR ; CCTL.IVALL"),
        ("--mcpu sm_75", "ATOMS.EXCH U32 S32 U64 Rd = M; M = Rb"),
        ("--mattr +ptx86", "rmw.seq_cst gpu 1 2 2 MEMBAR.SC.GPU ; ERRBAR ; CGAERRBAR ; CCTL.IVALL ; CCTL.IVALL"),
        (
            "--mcpu sm_121 --format markdown",
            "| cmpxchg | i64 | shared | 0/0/1 | 1/2/0 | 1/2/1 | 1/2/2 | ATOMS.CAS.64 |",
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
    for command in ["lower", "table", "litmus"] {
        let text = success(ptx_atomics().args([command, "--help"]))?;
        assert!(text.contains(&format!("Example:\n  ptx-atomics {command} ")), "{text}");
    }
    Ok(())
}

fn remarks() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("remarks.yaml");
    lowered(&format!("tests/inputs/cmpxchg.ll --remarks {} -o /dev/null", path.display()))?;
    let count = Command::new("llvm-remarkutil-22")
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

/// Two loads of data with the flag's acquire between them: `!tbaa` on the call would let LLVM merge them.
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
            success(Command::new("opt-22").args(["-S", "-passes=early-cse<memssa>,gvn"]).arg(lowered.path()))?;
        assert_eq!(optimized.matches("load float").count(), loads, "{ordering}:\n{optimized}");
    }
    Ok(())
}

/// The text without comments and blank lines.
fn code(ptx: &str) -> Vec<String> {
    let uncommented = ptx.lines().map(|line| line.split("//").next().unwrap_or("").trim_end().to_owned());
    uncommented.filter(|line| !line.is_empty()).collect()
}

fn plain_code() -> Result<(), Failed> {
    let llc = success(
        Command::new("llc-22").args(["-mcpu=sm_90", "-o", "-"]).arg(root().join("tests/inputs/no_atomics.ll")),
    )?;
    assert_eq!(code(&lowered("tests/inputs/no_atomics.ll --mcpu sm_90")?), code(&llc));
    Ok(())
}

fn bitcode() -> Result<(), Failed> {
    let file = tempfile::NamedTempFile::new()?;
    lowered(&format!("tests/inputs/rmw_loops.ll --emit llvm-bc -o {}", file.path().display()))?;
    let llc = success(Command::new("llc-22").args(["-mcpu=sm_90", "-o", "-"]).arg(file.path()))?;
    assert_eq!(code(&lowered("tests/inputs/rmw_loops.ll --mcpu sm_90")?), code(&llc));
    Ok(())
}

/// The input as bitcode, by our own command.
fn bitcode_of(path: &str) -> Result<Vec<u8>, Failed> {
    let file = tempfile::NamedTempFile::new()?;
    lowered(&format!("{path} --emit llvm-bc -o {}", file.path().display()))?;
    let bitcode = fs::read(file.path())?;
    assert!(bitcode.starts_with(b"BC\xc0\xde"));
    Ok(bitcode)
}
