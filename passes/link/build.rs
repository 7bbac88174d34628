//! Asks `llvm-config` for what to link: LLVM's shared library where there is one, else its archives; and the archives of
//! MLIR, which only what calls MLIR takes anything from.

use std::{env, error::Error, fs, path::PathBuf, process::Command};

/// The variable that says where LLVM is; that of llvm-sys, which reads its headers from there.
const PREFIX: &str = "LLVM_SYS_221_PREFIX";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-env-changed={PREFIX}");
    println!("cargo:rerun-if-changed=build.rs");
    let program = env::var_os(PREFIX)
        .map_or_else(|| "llvm-config-22".into(), |prefix| PathBuf::from(prefix).join("bin/llvm-config"));
    let ask = |arguments: &[&str]| -> Result<String, Box<dyn Error>> {
        let output = Command::new(&program).args(arguments).output();
        let output = output.map_err(|error| format!("{}: {error}; set {PREFIX} to an LLVM 22", program.display()))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into());
        }
        Ok(String::from_utf8(output.stdout)?)
    };
    let (kind, libraries) = match ask(&["--link-shared", "--libs"]) {
        Ok(shared) => ("dylib", shared),
        Err(_) => ("static", ask(&["--link-static", "--libs"])?),
    };
    let folder = ask(&["--libdir"])?;
    println!("cargo:rustc-link-search=native={}", folder.trim());
    link_mlir(folder.trim())?;
    link(kind, &libraries);
    if kind == "static" {
        link("dylib", &ask(&["--link-static", "--system-libs"])?);
        link("dylib", "-lstdc++");
    }
    Ok(())
}

fn link(kind: &str, flags: &str) {
    for library in flags.split_whitespace().filter_map(|flag| flag.strip_prefix("-l")) {
        println!("cargo:rustc-link-lib={kind}={library}");
    }
}

/// The archives of MLIR refer to each other in circles: a linker script makes them one library.
fn link_mlir(folder: &str) -> Result<(), Box<dyn Error>> {
    let files = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>()?;
    let name = |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let is_mlir = |path: &&PathBuf| name(path).starts_with("libMLIR") && name(path).ends_with(".a");
    let mut archives: Vec<_> = files.iter().filter(is_mlir).map(|path| path.display().to_string()).collect();
    if archives.is_empty() {
        return Err(format!("no archive of MLIR in {folder}: install libmlir-22-dev").into());
    }
    archives.sort();
    let out = env::var("OUT_DIR")?;
    fs::write(PathBuf::from(&out).join("libmlir_archives.so"), format!("GROUP ( {} )\n", archives.join(" ")))?;
    println!("cargo:rustc-link-search=native={out}");
    println!("cargo:rustc-link-lib=dylib=mlir_archives");
    Ok(())
}
