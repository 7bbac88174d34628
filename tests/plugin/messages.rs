//! The plugin's messages through each host's diagnostics, and the plugin's options.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use libtest_mimic::Failed;
use ptx_atomics_common::backend::Backend;
use testing::{
    examples::{find_rustc, script},
    plugin::plugin,
    success, tool,
};

use crate::plugin::hosts::Host;

/// A module with two atomics, on lines 8 and 12, with attributes and a module flag.
fn module(attributes: &str, flag: &str) -> String {
    format!(
        r#"target triple = "nvptx64-nvidia-cuda"
!llvm.module.flags = !{{!0{flags}}}
!0 = !{{i32 2, !"Debug Info Version", i32 3}}
{flag}

define i32 @f(ptr addrspace(1) %p) #0 {{
  ; Two functions, so that two errors are reported.
  %old = atomicrmw add ptr addrspace(1) %p, i32 1 acq_rel
  ret i32 %old
}}
define i32 @g(ptr addrspace(1) %p) #0 {{
  %old = atomicrmw xchg ptr addrspace(1) %p, i32 1 acq_rel
  ret i32 %old
}}
attributes #0 = {{ {attributes} }}
"#,
        flags = if flag.is_empty() { "" } else { ", !1" },
    )
}

const SM_90: &str = r#""target-cpu"="sm_90" "target-features"="+ptx86""#;
const SM_52: &str = r#""target-cpu"="sm_52" "target-features"="+ptx41""#;

/// Runs opt on a module. Returns its exit status and its whole output.
fn opt(ir: &str, environment: &str, arguments: &[&str]) -> Result<(Option<i32>, String), Failed> {
    let mut command = Command::new(tool("opt"));
    command.arg(format!("-load-pass-plugin={}", plugin().display())).args(arguments).arg("-S");
    if !environment.is_empty() {
        command.env("PTX_ATOMICS", environment);
    }
    on(command, "module.ll", ir)
}

/// Runs a command on a file with a text.
fn on(mut command: Command, name: &str, text: &str) -> Result<(Option<i32>, String), Failed> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join(name), text)?;
    let Output { status, stdout, stderr } = command.current_dir(folder.path()).arg(name).output()?;
    Ok((status.code(), String::from_utf8(stdout)? + &String::from_utf8(stderr)?))
}

fn expect((status, text): (Option<i32>, String), wanted: i32, needles: &[&str]) -> Result<(), Failed> {
    let missing: Vec<_> = needles.iter().filter(|needle| !text.contains(**needle)).collect();
    if status == Some(wanted) && missing.is_empty() {
        return Ok(());
    }
    Err(format!("exit {status:?}, not {wanted}; without {missing:?}:\n{text}").into())
}

/// Each way to set options, and the precedence between them.
pub fn options() -> Result<(), Failed> {
    let flag = |list: &str| format!("!1 = !{{i32 1, !\"ptx-atomics\", !\"{list}\"}}");
    let check = |attributes: &str, flag: &str, environment: &str, pass: &str, needles: &[&str]| {
        let ir = module(&format!("{SM_90} {attributes}"), flag);
        expect(opt(&ir, environment, &[&format!("-passes={pass}")])?, 0, needles)
    };
    let (pass, fence) = ("ptx-atomics", "fence.release.sys;");
    check("", "", "", pass, &["atom.acq_rel.sys.global.add"])?;
    check("", &flag("strategy=fence"), "", pass, &[fence, "atom.relaxed.sys.global.add"])?;
    check("", "", "strategy=fence", pass, &[fence])?;
    check("", "", "", "ptx-atomics<strategy=fence>", &[fence])?;
    check(r#""ptx-atomics-strategy"="fence""#, "", "", pass, &[fence])?;
    // The environment overrides the module, the parameters of the pass override both, and the attribute of a function
    // overrides all.
    let recommended = "strategy=recommended";
    check("", &flag("strategy=fence"), recommended, pass, &["atom.acq_rel"])?;
    check("", "", recommended, "ptx-atomics<strategy=fence>", &[fence])?;
    check(r#""ptx-atomics-strategy"="fence""#, "", "", "ptx-atomics<strategy=recommended>", &[fence])?;
    // The precedence applies to each option separately.
    check("", &flag("strategy=fence,default-scope=gpu"), recommended, pass, &["atom.acq_rel.gpu.global.add"])?;
    check("", "", "default-scope=gpu", "ptx-atomics<strategy=fence>", &["fence.release.gpu;"])?;
    check("", "", "fence,rmw.acq_rel=fence".trim_start_matches("fence,"), pass, &[fence])?;
    check(
        "",
        "",
        "",
        "ptx-atomics<strategy=fence;default-scope=cta;mcpu=sm_70;mattr=+ptx60>",
        &["fence.acq_rel.cta;"],
    )?;
    // All errors are reported, with the place of the option.
    let wrong = "strategy=fast;speed=high;default-scope=warp";
    let (status, text) = opt(&module(SM_90, ""), wrong, &["-passes=ptx-atomics"])?;
    let unknown =
        ["unknown strategy 'fast'", "unknown option 'speed'", "unknown scope 'warp'", "variable PTX_ATOMICS:"];
    expect((status, text), 1, &unknown)?;
    expect(opt(&module(SM_90, &flag("x=1")), "", &["-passes=ptx-atomics"])?, 1, &["in the module flag", "option 'x'"])?;
    let file = flag("remarks=remarks.yaml");
    expect(opt(&module(SM_90, &file), "", &["-passes=ptx-atomics"])?, 1, &["a module cannot name a file"])?;
    let number = "!1 = !{i32 1, !\"ptx-atomics\", i32 1}";
    expect(
        opt(&module(SM_90, number), "", &["-passes=ptx-atomics"])?,
        1,
        &["the module flag \"ptx-atomics\" is not a string"],
    )?;
    expect(
        opt(&module("nounwind", ""), "", &["-passes=ptx-atomics"])?,
        1,
        &["the GPU is not known", "PTX_ATOMICS=mcpu=sm_90"],
    )
}

const CUDA: &str = "// Two kernels.
extern \"C\" __global__ void f(unsigned *p) {
  __atomic_fetch_add(p, 1u, __ATOMIC_ACQ_REL);
}
extern \"C\" __global__ void g(unsigned *p) {
  __atomic_exchange_n(p, 1u, __ATOMIC_ACQ_REL);
}
";

const RUST: &str = "#![no_std]
#![feature(abi_ptx)]
use core::sync::atomic::*;
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! { loop {} }
#[unsafe(no_mangle)]
pub unsafe extern \"ptx-kernel\" fn f(p: &AtomicU32) {
    p.fetch_add(1, Ordering::AcqRel);
}
#[unsafe(no_mangle)]
pub unsafe extern \"ptx-kernel\" fn g(p: &AtomicU32) {
    p.swap(1, Ordering::AcqRel);
}
";

/// Compiles a source file to PTX with `scripts/to-llvm-ir` and further variables.
fn by_script(
    name: &str,
    text: &str,
    flags: &str,
    variables: [(&str, &str); 4],
) -> Result<(Option<i32>, String), Failed> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join(name), text)?;
    let mut script = script();
    script.current_dir(folder.path()).arg(name).arg("out.s").env("PLAIN", "1").env("OPT", "2").env("FLAGS", flags);
    let output = script.envs(variables).output()?;
    // After an error, no file is written.
    let written = Path::new(&folder.path().join("out.s")).exists();
    assert_eq!(written, output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok((output.status.code(), String::from_utf8(output.stderr)?))
}

/// Compiles two kernels by a host for a GPU, with remarks and options in the environment.
fn compile(host: Host, gpu: &str, version: &str, environment: &str) -> Result<(Option<i32>, String), Failed> {
    let load = format!("-load-pass-plugin={}", plugin().display());
    let attributes = format!(r#""target-cpu"="{gpu}" "target-features"="+{version}""#);
    let ir = module(&attributes, "");
    let by_script = |name: &str, text: &str, rustc: &str, flags: String| {
        let variables = [("CPU", gpu), ("PTX", version), ("NVPTX_RUSTC", rustc), ("PTX_ATOMICS", environment)];
        by_script(name, text, &flags, variables)
    };
    match host {
        Host::Opt => opt(&ir, environment, &["-passes=default<O2>", "-pass-remarks=ptx-atomics"]),
        Host::Llc => {
            let mut llc = Command::new(tool("llc"));
            llc.args([&load, &format!("-mcpu={gpu}"), "-pass-remarks=ptx-atomics", "-o", "-"]);
            llc.env("PTX_ATOMICS", environment);
            on(llc, "module.ll", &ir)
        }
        Host::Clang => {
            let flags = format!("-fpass-plugin={} -Rpass=ptx-atomics", plugin().display());
            by_script("kernels.cu", CUDA, "", flags)
        }
        Host::Rustc(name) => {
            let flags = format!("-Zllvm-plugins={} -Cremark=ptx-atomics", plugin().display());
            by_script("kernels.rs", RUST, name, flags)
        }
    }
}

/// The sites of the two atomics in the host's messages.
fn places(host: Host) -> [&'static str; 2] {
    match host {
        // Modules without debug information.
        Host::Opt | Host::Llc => ["in function f", "in function g"],
        Host::Clang => ["kernels.cu:3:3: error: ", "kernels.cu:6:3: error: "],
        Host::Rustc(_) => ["kernels.rs:8:7: in function f", "kernels.rs:12:7: in function g"],
    }
}

/// Every error is a diagnostic of the host with a site, and fails the build.
pub fn errors(host: Host) -> Result<(), Failed> {
    let reason = "a read-modify-write of system scope requires sm_60 and PTX 5.0, and the target is sm_52";
    let help = "help: if neither the host nor another device takes part, give --default-scope gpu";
    let [first, second] = places(host);
    expect(compile(host, "sm_52", "ptx42", "")?, 1, &[first, second, reason, help])
}

/// An error of an option does not belong to a function. It names the plugin, and no site in the program.
pub fn errors_of_options(host: Host) -> Result<(), Failed> {
    let said = compile(host, "sm_90", "ptx86", "speed=high")?;
    let place = ["in function", "kernels.cu:", "kernels.rs:"].into_iter().find(|place| said.1.contains(place));
    assert_eq!(place, None, "{}", said.1);
    assert_eq!(said.1.matches("unknown option 'speed'").count(), 1, "{}", said.1);
    expect(said, 1, &["error: ptx-atomics: in the environment variable PTX_ATOMICS: unknown option 'speed'"])
}

/// A misspelled option is also an error in a module without atomics.
pub fn errors_of_options_without_atomics() -> Result<(), Failed> {
    let ir = "target triple = \"nvptx64-nvidia-cuda\"\ndefine void @f() {\n  ret void\n}\n";
    let passes = &["-passes=default<O2>"][..];
    let words = "in the environment variable PTX_ATOMICS: unknown option 'chek'";
    expect(opt(ir, "chek", passes)?, 1, &[words])?;
    expect(opt(ir, "async=check", passes)?, 0, &["define void @f()"])
}

/// LLVM compiles for sm_30 if no GPU is set. The help then advises to set the GPU, and nothing else.
pub fn no_gpu(host: Host) -> Result<(), Failed> {
    let said = compile(host, "sm_30", "ptx60", "")?;
    assert!(!said.1.contains("--default-scope"), "{}", said.1);
    expect(said, 1, &["the target is sm_30", "help: LLVM uses sm_30 if no GPU is given: compile for the right GPU"])
}

/// Every remark is a diagnostic of the host.
pub fn remarks(host: Host) -> Result<(), Failed> {
    let needles = match host {
        Host::Opt | Host::Llc => {
            ["remark: <unknown>:0:0: atomicrmw add i32", "remark: <unknown>:0:0: atomicrmw xchg i32"]
        }
        Host::Clang => ["kernels.cu:3:3: remark: atomicrmw add i32", "kernels.cu:6:3: remark: atomicrmw xchg i32"],
        Host::Rustc(_) => {
            ["kernels.rs:8:7 ptx-atomics (success): atomicrmw add", "kernels.rs:12:7 ptx-atomics (success)"]
        }
    };
    let lowered = "acq_rel became atom.acq_rel.sys.global.add.u32 %d, [%a], 1;";
    expect(compile(host, "sm_90", "ptx86", "")?, 0, &[needles[0], needles[1], lowered])
}

/// Each module appends to the file of remarks.
pub fn remarks_file() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("remarks.yaml");
    let set = format!("remarks={}", file.display());
    for _ in 0..2 {
        expect(opt(&module(SM_90, ""), &set, &["-passes=ptx-atomics"])?, 0, &[])?;
    }
    let yaml = fs::read_to_string(&file)?;
    assert_eq!(yaml.matches("--- !Passed").count(), 4, "{yaml}");
    let nowhere = "remarks=/nowhere/remarks.yaml";
    let needle = "cannot write remarks to '/nowhere/remarks.yaml'";
    expect(opt(&module(SM_90, ""), nowhere, &["-passes=ptx-atomics"])?, 1, &[needle])
}

/// opt and llc also report all errors, and write no output.
pub fn all_errors() -> Result<(), Failed> {
    let (status, text) = opt(&module(SM_52, ""), "", &["-passes=default<O2>"])?;
    assert_eq!(text.matches("requires sm_60").count(), 2, "{text}");
    assert!(!text.contains("define"), "{text}");
    assert_eq!(status, Some(1));
    Ok(())
}

/// Calls that would make the host's backend abort are errors of the plugin, with and without atomics beside them.
pub fn not_selectable(host: Host) -> Result<(), Failed> {
    let load = format!("-load-pass-plugin={}", plugin().display());
    let attributes = r#""target-cpu"="sm_90a" "target-features"="+ptx80""#;
    let call = "  call void @llvm.nvvm.tcgen05.wait.ld()\n  ret";
    let atomics = module(attributes, "").replace("  ret", call) + "declare void @llvm.nvvm.tcgen05.wait.ld()\n";
    let none = atomics.replace("%old = atomicrmw", "; %old = atomicrmw").replace("ret i32 %old", "ret i32 0");
    assert_eq!(none.matches(call).count(), 2);
    for ir in [&atomics, &none] {
        let mut command = Command::new(match host {
            Host::Opt => tool("opt"),
            Host::Llc => tool("llc"),
            _ => tool("clang"),
        });
        match host {
            Host::Opt => command.args([&load, "-passes=default<O2>", "-S"]),
            Host::Llc => command.args([&load, "-mcpu=sm_90a", "-mattr=+ptx80", "-o", "-"]),
            _ => {
                let load = format!("-fpass-plugin={}", plugin().display());
                let target = [
                    "--target=nvptx64-nvidia-cuda",
                    "-march=sm_90a",
                    "-Xclang",
                    "-target-feature",
                    "-Xclang",
                    "+ptx80",
                ];
                command.arg(load).args(target).args(["-O1", "-S", "-o", "-"])
            }
        };
        let said = on(command, "module.ll", ir)?;
        let count = said.1.matches("`tcgen05.wait` requires one of sm_100a, ").count();
        assert_eq!(count, 2, "{}", said.1);
        assert!(!said.1.contains("Cannot select"), "{}", said.1);
        expect(
            said,
            1,
            &["in function f", "in function g", "and the target is sm_90a with PTX 8.0", "help: compile for a target"],
        )?;
    }
    // For a target with the instruction, the plugin prints no message.
    let mut llc = Command::new(tool("llc"));
    llc.args([&load, "-mcpu=sm_100a", "-mattr=+ptx86", "-o", "-"]);
    expect(on(llc, "module.ll", &none.replace(attributes, "nounwind"))?, 0, &["tcgen05.wait::ld.sync.aligned;"])
}

/// With the option `embed=native`, an operation that LLVM prints as the chosen sequence stays, in a host that prints it
/// and in a host that does not. Each operation has one remark.
pub fn native() -> Result<(), Failed> {
    let ir = r#"target triple = "nvptx64-nvidia-cuda"
define i32 @f(ptr addrspace(1) %p) {
  fence syncscope("device") acq_rel
  %v = load atomic i32, ptr addrspace(1) %p acquire, align 4
  ret i32 %v
}
"#;
    let load = format!("-load-pass-plugin={}", plugin().display());
    let with = |program: &str, arguments: &[&str], environment: &str| {
        let mut command = Command::new(tool(program));
        command.args([&load, "-pass-remarks=ptx-atomics", "-o", "-"]).args(arguments);
        command.env("PTX_ATOMICS", environment);
        on(command, "module.ll", ir)
    };
    let stays = ["fence.acq_rel.gpu;", "ld.acquire.sys.global.b32"];
    let remarks = |said: &str, words: &str| said.matches(words).count();
    for (program, arguments) in
        [("llc", &["-mcpu=sm_90", "-mattr=+ptx86"][..]), ("opt", &["-passes=default<O2>", "-S"])]
    {
        let (status, said) = with(program, arguments, "embed=native,mcpu=sm_90,mattr=+ptx86")?;
        assert_eq!((status, remarks(&said, "stays as it is"), remarks(&said, " became ")), (Some(0), 2, 0), "{said}");
        assert!(!said.contains("asm sideeffect") && !said.contains("begin inline asm"), "{said}");
        let printed = if program == "llc" { stays } else { ["fence syncscope(\"device\") acq_rel", "load atomic i32"] };
        expect((status, said), 0, &printed)?;
        let (_, said) = with(program, arguments, "mcpu=sm_90,mattr=+ptx86")?;
        assert_eq!((remarks(&said, "stays as it is"), remarks(&said, " became ")), (0, 2), "{said}");
    }
    Ok(())
}

/// The missing requirement: a rustc whose own LLVM has a table.
pub fn no_table_of_rustc() -> Option<&'static str> {
    let has_table = || {
        let said = success(Command::new(find_rustc("rustc")?).arg("-vV")).ok()?;
        let version = said.lines().find_map(|line| line.strip_prefix("LLVM version: "))?;
        let numbers: Vec<u32> = version.split('.').filter_map(|number| number.parse().ok()).collect();
        Backend::from_version(numbers.try_into().ok()?)
    };
    has_table().is_none().then_some("a table of the PTX of rustc's LLVM")
}

/// An operation that the LLVM inside rustc prints as the chosen sequence also stays.
pub fn native_in_rustc() -> Result<(), Failed> {
    let exchange = "let _ = p.compare_exchange(1, 2, Ordering::AcqRel, Ordering::Acquire);";
    let text = RUST.replace("p.swap(1, Ordering::AcqRel);", exchange);
    let flags = format!("-Zllvm-plugins={} -Cremark=ptx-atomics", plugin().display());
    let compile = |environment| {
        let variables = [("CPU", "sm_90"), ("PTX", "ptx86"), ("NVPTX_RUSTC", "rustc"), ("PTX_ATOMICS", environment)];
        by_script("kernels.rs", &text, &flags, variables)
    };
    expect(compile("embed=native")?, 0, &["cmpxchg", "stays as it is"])?;
    let (_, said) = compile("")?;
    assert!(!said.contains("stays as it is"), "{said}");
    Ok(())
}
