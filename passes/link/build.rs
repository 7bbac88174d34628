//! Asks `llvm-config` for what to link: LLVM's shared library where there is one, or else its archives; with the feature
//! `mlir`, the archives of MLIR too.

use std::{
    env,
    error::Error,
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The variable of llvm-sys that says where LLVM is.
const LLVM: &str = "LLVM_SYS_221_PREFIX";
/// The variable of mlir-sys that says where MLIR is.
const MLIR: &str = "MLIR_SYS_220_PREFIX";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-env-changed={LLVM}");
    println!("cargo:rerun-if-env-changed={MLIR}");
    println!("cargo:rerun-if-changed=build.rs");
    let mlir = env::var_os("CARGO_FEATURE_MLIR").is_some();
    if env::var_os("DOCS_RS").is_some() || mlir && mlir_sys_links()? {
        return Ok(());
    }
    let program = program(LLVM, "llvm-config-22");
    let ask = |arguments: &[&str]| ask(&program, arguments);
    let (kind, libraries) = match ask(&["--link-shared", "--libs"]) {
        Ok(shared) => ("dylib", shared),
        Err(_) => ("static", ask(&["--link-static", "--libs"])?),
    };
    let folder = ask(&["--libdir"])?;
    println!("cargo:rustc-link-search=native={}", folder.trim());
    if mlir {
        link_mlir(folder.trim())?;
        println!("cargo:rustc-env=MLIR_VERSION={}", ask(&["--version"])?.trim());
    }
    link(kind, &libraries);
    if kind == "static" {
        link("dylib", &ask(&["--link-static", "--system-libs"])?);
        link("dylib", "-lstdc++");
    }
    Ok(())
}

/// Whether mlir-sys names libraries itself. It does so where its variable leads to the `llvm-config` of LLVM; two copies of
/// LLVM in a program would end it at its start.
fn mlir_sys_links() -> Result<bool, Box<dyn Error>> {
    let names = ask(&program(MLIR, "llvm-config"), &["--link-static", "--ignore-libllvm", "--libnames"])?;
    Ok(!names.trim().is_empty())
}

fn program(variable: &str, otherwise: &str) -> OsString {
    env::var_os(variable).map_or_else(|| otherwise.into(), |prefix| Path::new(&prefix).join("bin/llvm-config").into())
}

fn ask(program: &OsStr, arguments: &[&str]) -> Result<String, Box<dyn Error>> {
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|error| format!("{}: {error}; set {LLVM} to an LLVM 22", program.display()))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    Ok(String::from_utf8(output.stdout)?)
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
