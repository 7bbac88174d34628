//! Links the libraries that `llvm-config` names: LLVM's shared library if there is one, or else its archives; with the
//! feature `mlir`, the archives of MLIR too. From archives, a program contains only the parts that it uses.

use std::{
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
};

use ptx_atomics_version::{Config, MAJOR};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    let config = Config::llvm();
    let mlir = env::var_os("CARGO_FEATURE_MLIR").is_some();
    if env::var_os("DOCS_RS").is_some() || mlir && mlir_sys_links()? {
        return Ok(());
    }
    let folder = config.ask(&["--libdir"])?;
    println!("cargo:rustc-link-search=native={folder}");
    println!("cargo:rerun-if-env-changed={ARCHIVES}");
    let wants_archives = env::var_os(ARCHIVES).is_some_and(|value| value == "1");
    let shared = config.ask(&["--link-shared", "--libs"]).ok().filter(|_| !wants_archives);
    let mut archives = if mlir { mlir_archives(&folder)? } else { Vec::new() };
    if mlir {
        println!("cargo:rustc-env=MLIR_VERSION={}", config.ask(&["--version"])?);
    }
    if shared.is_none() {
        // The list names Polly's archives, which may belong to a package that is not installed. This crate does not use
        // them.
        let named = config.ask(&["--link-static", "--libfiles"])?;
        archives.extend(named.split_whitespace().filter(|path| Path::new(path).exists()).map(str::to_owned));
    }
    link_archives(&archives)?;
    match shared {
        Some(libraries) => link(&libraries),
        None => {
            link(&config.ask(&["--link-static", "--system-libs"])?);
            link("-lstdc++");
        }
    }
    Ok(())
}

/// The environment variable that requests LLVM's archives by the value `1`: the program then needs no library of LLVM
/// at run time, and does not load one.
const ARCHIVES: &str = "PTX_ATOMICS_LLVM_ARCHIVES";

/// Whether mlir-sys itself names libraries. It does so if its environment variable names the `llvm-config` of LLVM. Two
/// copies of LLVM in a program would end it at its start.
fn mlir_sys_links() -> Result<bool, Box<dyn Error>> {
    Ok(!Config::mlir().ask(&["--link-static", "--ignore-libllvm", "--libnames"])?.is_empty())
}

fn link(flags: &str) {
    for library in flags.split_whitespace().filter_map(|flag| flag.strip_prefix("-l")) {
        println!("cargo:rustc-link-lib=dylib={library}");
    }
}

fn mlir_archives(folder: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let files = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>()?;
    let name = |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let is_mlir = |path: &&PathBuf| name(path).starts_with("libMLIR") && name(path).ends_with(".a");
    let mut archives: Vec<_> = files.iter().filter(is_mlir).map(|path| path.display().to_string()).collect();
    if archives.is_empty() {
        return Err(format!("no archive of MLIR in {folder}: install libmlir-{MAJOR}-dev").into());
    }
    archives.sort();
    Ok(archives)
}

/// Archives refer to each other in cycles; a linker script makes them act as one library.
fn link_archives(archives: &[String]) -> Result<(), Box<dyn Error>> {
    if archives.is_empty() {
        return Ok(());
    }
    let out = env::var("OUT_DIR")?;
    fs::write(PathBuf::from(&out).join("libllvm_archives.so"), format!("GROUP ( {} )\n", archives.join(" ")))?;
    println!("cargo:rustc-link-search=native={out}");
    println!("cargo:rustc-link-lib=dylib=llvm_archives");
    Ok(())
}
