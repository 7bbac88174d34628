//! Asks `llvm-config` for what to link: LLVM's shared library where there is one, or else its archives; with the feature
//! `mlir`, the archives of MLIR too.

use std::{env, error::Error, fs, path::PathBuf};

use ptx_atomics_llvm_version::{Config, MAJOR};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    let config = Config::llvm();
    let mlir = env::var_os("CARGO_FEATURE_MLIR").is_some();
    if env::var_os("DOCS_RS").is_some() || mlir && mlir_sys_links()? {
        return Ok(());
    }
    let (kind, libraries) = match config.ask(&["--link-shared", "--libs"]) {
        Ok(shared) => ("dylib", shared),
        Err(_) => ("static", config.ask(&["--link-static", "--libs"])?),
    };
    let folder = config.ask(&["--libdir"])?;
    println!("cargo:rustc-link-search=native={folder}");
    if mlir {
        link_mlir(&folder)?;
        println!("cargo:rustc-env=MLIR_VERSION={}", config.ask(&["--version"])?);
    }
    link(kind, &libraries);
    if kind == "static" {
        link("dylib", &config.ask(&["--link-static", "--system-libs"])?);
        link("dylib", "-lstdc++");
    }
    Ok(())
}

/// Whether mlir-sys names libraries itself. It does so where its variable leads to the `llvm-config` of LLVM; two copies of
/// LLVM in a program would end it at its start.
fn mlir_sys_links() -> Result<bool, Box<dyn Error>> {
    Ok(!Config::mlir().ask(&["--link-static", "--ignore-libllvm", "--libnames"])?.is_empty())
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
        return Err(format!("no archive of MLIR in {folder}: install libmlir-{MAJOR}-dev").into());
    }
    archives.sort();
    let out = env::var("OUT_DIR")?;
    fs::write(PathBuf::from(&out).join("libmlir_archives.so"), format!("GROUP ( {} )\n", archives.join(" ")))?;
    println!("cargo:rustc-link-search=native={out}");
    println!("cargo:rustc-link-lib=dylib=mlir_archives");
    Ok(())
}
