//! Compiles the shim against LLVM's headers, and leaves its symbols to the host.

use std::{env, error::Error, path::PathBuf, process::Command};

const PREFIX: &str = "LLVM_SYS_221_PREFIX";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-env-changed={PREFIX}");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/shim.cpp");
    let program = env::var_os(PREFIX)
        .map_or_else(|| "llvm-config-22".into(), |prefix| PathBuf::from(prefix).join("bin/llvm-config"));
    let output = Command::new(&program).arg("--includedir").output();
    let output = output.map_err(|error| format!("{}: {error}; set {PREFIX} to an LLVM 22", program.display()))?;
    cc::Build::new()
        .cpp(true)
        .file("src/shim.cpp")
        .std("c++17")
        .opt_level(2)
        .debug(false)
        // What LLVM itself is compiled with; the tables of a class with virtual functions differ otherwise.
        .flags(["-fno-rtti", "-fno-exceptions", "-fvisibility=hidden", "-fvisibility-inlines-hidden"])
        .flags(["-isystem", String::from_utf8(output.stdout)?.trim()])
        .flags(["-ffunction-sections", "-fdata-sections"])
        .compile("shim");
    // A host of another version lacks some of LLVM's functions, and must get as far as our message.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,lazy");
    Ok(())
}
