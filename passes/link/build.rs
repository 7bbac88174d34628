//! Asks `llvm-config` for what to link: LLVM's shared library where there is one, else its archives.

use std::{env, error::Error, path::PathBuf, process::Command};

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
    println!("cargo:rustc-link-search=native={}", ask(&["--libdir"])?.trim());
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
