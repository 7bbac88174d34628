//! The conditions under which the plugin runs: phases of link-time optimization, other targets, other versions of LLVM.
//! Also the contents of its file.

use std::{
    fs,
    process::{Command, Output},
};

use itertools::iproduct;
use libtest_mimic::Failed;

use testing::{
    ASSEMBLERS, CALLS_THAT_ORDER,
    examples::to_llvm_ir,
    exists, llvm_version,
    plugin::{flag, is_release_plugin, plugin},
    root, success, target, tool,
};

use crate::plugin::hosts::{GPU, PTX, filter, llc};

const KERNEL: &str = r#"
target triple = "nvptx64-nvidia-cuda"
define i32 @f(ptr addrspace(1) %p) "target-cpu"="sm_90" "target-features"="+ptx86" {
  %old = atomicrmw add ptr addrspace(1) %p, i32 1 acq_rel
  ret i32 %old
}
"#;

const LOWERED: &str = "atom.acq_rel.sys.global.add.u32";
/// A mark that no assembler accepts, in a module that left the optimizer before the pass ran.
const MARK: &str = "ptx-atomics: atomics are not lowered";

fn opt(pipeline: &str) -> Result<String, Failed> {
    let load = format!("-load-pass-plugin={}", plugin().display());
    Ok(filter(Command::new(tool("opt")).args([&load, &format!("-passes={pipeline}"), "-S"]), KERNEL)?.0)
}

/// The pass runs in each default pipeline. Before linking it only marks the module, and after linking it lowers the
/// atomics.
pub fn pipelines() -> Result<(), Failed> {
    let levels = ["O0", "O1", "O2", "O3", "Os", "Oz"];
    // In LLVM 23, the last two levels are attributes of functions.
    for level in levels.into_iter().take(if llvm_version() < 23 { 6 } else { 4 }) {
        let check = |pipeline: &str, wanted: &str, unwanted: &str| -> Result<(), Failed> {
            let ir = opt(pipeline)?;
            let right = ir.contains(wanted) && !ir.contains(unwanted);
            if right { Ok(()) } else { Err(format!("{pipeline}:\n{ir}").into()) }
        };
        let done = |pipeline: &str| check(pipeline, LOWERED, "atomicrmw").and_then(|()| check(pipeline, LOWERED, MARK));
        done(&format!("default<{level}>"))?;
        done(&format!("lto<{level}>"))?;
        done(&format!("lto-pre-link<{level}>,lto<{level}>"))?;
        check(&format!("lto-pre-link<{level}>"), MARK, LOWERED)?;
        check(&format!("thinlto-pre-link<{level}>"), MARK, LOWERED)?;
        // LLVM has no extension point in this pipeline at O0, so the mark remains.
        if level == "O0" {
            check("thinlto-pre-link<O0>,thinlto<O0>", MARK, LOWERED)?;
        } else {
            done(&format!("thinlto-pre-link<{level}>,thinlto<{level}>"))?;
        }
    }
    Ok(())
}

/// Like the command, the plugin keeps LLVM's optimizer from moving data across calls that order. LLVM 22 alone moves
/// them.
pub fn calls_order() -> Result<(), Failed> {
    let load = format!("-load-pass-plugin={}", plugin().display());
    let gpu = format!("-passes=ptx-atomics<mcpu={GPU}>");
    for (effects, level) in iproduct!(["", "memory(argmem: readwrite)"], ["O1", "O2", "O3"]) {
        let ir = CALLS_THAT_ORDER.replace("EFFECTS", effects);
        let counts = |pipeline: &str| -> Result<[usize; 2], Failed> {
            let mut opt = Command::new(tool("opt"));
            let environment = format!("mcpu={GPU}");
            opt.args([&load, &format!("-passes={pipeline}"), "-S"]).env("PTX_ATOMICS", environment);
            let ptx = llc(&filter(&mut opt, &ir)?.0, "2", &[])?;
            Ok(["ld.global", "st.global"].map(|word| ptx.matches(word).count()))
        };
        for pipeline in [format!("default<{level}>"), format!("lto-pre-link<{level}>,lto<{level}>")] {
            assert_eq!(counts(&pipeline)?, [2, 2], "{effects} {pipeline}");
        }
        let optimized = filter(Command::new(tool("opt")).args([&format!("-passes=default<{level}>"), "-S"]), &ir)?.0;
        let unprotected = filter(Command::new(tool("opt")).args([&load, &gpu, "-S"]), &optimized)?.0;
        let loads = unprotected.matches("load float").count();
        // LLVM 23 does not move them.
        assert_eq!(loads, if llvm_version() < 23 { 1 } else { 2 }, "LLVM alone: {effects} {level}");
    }
    Ok(())
}

/// llvm-lto2 links two marked modules, with and without the plugin. Without it, no assembler accepts the result.
pub fn link_time() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name).display().to_string();
    let load = format!("-load-pass-plugin={}", plugin().display());
    let target = target(GPU, Some(PTX));
    let phases = [
        ("lto-pre-link<O2>", "-module-summary=false", &[".0"][..]),
        ("thinlto-pre-link<O2>", "-module-summary", &[".1", ".2"]),
    ];
    for (pipeline, summary, outputs) in phases {
        let mut modules = Vec::new();
        for name in ["f", "g"] {
            let (text, bitcode) = (path(&format!("{name}.ll")), path(&format!("{name}.bc")));
            fs::write(&text, KERNEL.replace("@f", &format!("@{name}")))?;
            let passes = format!("-passes={pipeline}");
            success(Command::new(tool("opt")).args([&load, &passes, summary, &text, "-o", &bitcode]))?;
            modules.extend(["-r".to_owned(), format!("{bitcode},{name},plx"), bitcode]);
        }
        for (loaded, wanted) in [(true, LOWERED), (false, MARK)] {
            let mut lto = Command::new(tool("llvm-lto2"));
            lto.arg("run").args(&modules).args(["-o", &path("out"), "--filetype=asm", "-O2"]);
            lto.args([&format!("-mcpu={GPU}"), &format!("-mattr=+{PTX}")]);
            if loaded {
                lto.arg(format!("-{load}"));
            }
            success(&mut lto)?;
            for output in outputs {
                let ptx = fs::read_to_string(path(&format!("out{output}")))?;
                let count = ptx.matches(wanted).count();
                assert_eq!(count, 2 / outputs.len(), "{pipeline}, loaded {loaded}:\n{ptx}");
                for assembler in ASSEMBLERS.iter().filter(|assembler| assembler.knows(&target)) {
                    let taken = assembler.assemble(&target, ptx.as_bytes());
                    assert_eq!(taken.is_ok(), loaded, "{pipeline}, {}: {taken:?}", assembler.name);
                }
            }
        }
    }
    Ok(())
}

/// clang without the passes of its optimizer. The plugin runs before code generation.
pub fn without_passes() -> Result<(), Failed> {
    let source = root().join("examples/cuda/ticket_lock.cu");
    for level in ["0", "2"] {
        let flags = format!("{} -Xclang -disable-llvm-passes", flag(&source));
        let variables = [("CPU", GPU), ("PTX", PTX), ("OPT", level), ("PLAIN", "1"), ("FLAGS", &flags)];
        let ptx = fs::read_to_string(to_llvm_ir(&source, &variables)?.path())?;
        assert!(ptx.contains("atom.release.") && !ptx.contains(MARK), "-O{level}:\n{ptx}");
    }
    Ok(())
}

/// The plugin does not change a module for another target.
pub fn other_targets() -> Result<(), Failed> {
    let source = "#include <stdatomic.h>\nint f(_Atomic int *p) { return atomic_fetch_add(p, 1) + *p; }\n";
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("f.c");
    fs::write(&file, source)?;
    for level in ["-O0", "-O2"] {
        let object = |flags: &[&str]| {
            let mut clang = Command::new(tool("clang"));
            success(clang.args([level, "-S", "-emit-llvm", "-ffreestanding", "-o", "-"]).args(flags).arg(&file))
        };
        let flag = format!("-fpass-plugin={}", plugin().display());
        assert_eq!(object(&[])?, object(&[&flag])?);
    }
    Ok(())
}

/// If a program's LLVM is another version, or too old to report its version, the plugin prints a message and exits,
/// even if the program lacks the functions that the plugin uses.
pub fn another_version() -> Result<(), Failed> {
    let program = r#"
        #include <dlfcn.h>
        #include <stdio.h>
        #ifdef VERSION
        void LLVMGetVersion(unsigned *major, unsigned *minor, unsigned *patch) { *major = VERSION; *minor = 1; *patch = 0; }
        #endif
        int main(int argc, char **argv) {
          void *plugin = dlopen(argv[1], RTLD_LAZY | RTLD_GLOBAL);
          if (!plugin) return puts(dlerror()), 3;
          struct { unsigned version; const char *texts[2]; void *callbacks[2]; } info, (*entry)(void);
          *(void **)&entry = dlsym(plugin, "llvmGetPassPluginInfo");
          info = entry();
          return info.version;
        }"#;
    let folder = tempfile::tempdir()?;
    let (source, binary) = (folder.path().join("host.c"), folder.path().join("host"));
    fs::write(&source, program)?;
    for (flag, version) in [("-DVERSION=24", "24.1.0"), ("-DVERSION=21", "21.1.0"), ("-UVERSION", "15 or older")] {
        success(Command::new("cc").arg(flag).arg(&source).args(["-rdynamic", "-ldl", "-o"]).arg(&binary))?;
        let Output { status, stdout, stderr } = Command::new(&binary).arg(plugin()).output()?;
        let said = String::from_utf8([stdout, stderr].concat())?;
        assert_eq!(status.code(), Some(1), "{said}");
        assert!(
            said.contains(&format!("is a plugin for LLVM {}, and this program has LLVM {version}", llvm_version())),
            "{said}"
        );
    }
    // If the project has a plugin for the program's version, the message names the file and the command that builds it.
    let other = if llvm_version() == 22 { 23 } else { 22 };
    success(
        Command::new("cc")
            .arg(format!("-DVERSION={other}"))
            .arg(&source)
            .args(["-rdynamic", "-ldl", "-o"])
            .arg(&binary),
    )?;
    let said = String::from_utf8(Command::new(&binary).arg(plugin()).output()?.stderr)?;
    let build = format!(
        "load libptx_atomics-llvm{other}.so of the package, or build it beside this one by `cargo build --release -p ptx-atomics-plugin --no-default-features --features llvm{other} --target-dir target/llvm{other}`"
    );
    assert!(said.contains(&build), "{said}");
    Ok(())
}

/// The plugin exports one entry point, contains no LLVM and no code of the machine that runs kernels, and has less than
/// 3.2 MB.
pub fn contents() -> Result<(), Failed> {
    let symbols = success(Command::new("nm").args(["-D", "--defined-only", "--format=posix"]).arg(plugin()))?;
    let names: Vec<_> = symbols.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names, ["llvmGetPassPluginInfo"]);
    // Only the release profile has a small file.
    if !is_release_plugin() {
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let stripped = folder.path().join("stripped.so");
    success(Command::new("strip").arg("-o").arg(&stripped).arg(plugin()))?;
    let size = fs::metadata(&stripped)?.len();
    assert!(size < 3_300_000, "{size} bytes");
    println!("the plugin has {size} bytes, stripped");
    Ok(())
}

pub fn opt_missing() -> Option<&'static str> {
    [tool("opt"), tool("llvm-lto2")].into_iter().find(|program| !exists(program))
}
