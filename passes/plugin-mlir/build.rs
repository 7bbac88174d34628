//! Compiles the shim against MLIR's headers, and links the C API of what the pass uses. All of C++ is left to the host: a
//! second copy would have type ids of its own, and know none of the host's ops.

use std::{
    env,
    error::Error,
    path::{Path, PathBuf},
    process::Command,
};

const PREFIX: &str = "LLVM_SYS_221_PREFIX";

/// The archives of the C API, each a thin layer over C++.
const C_API: [&str; 6] = ["IR", "Arith", "GPU", "LLVM", "NVVM", "SCF"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-env-changed={PREFIX}");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/shim.cpp");
    let program = env::var_os(PREFIX)
        .map_or_else(|| "llvm-config-22".into(), |prefix| PathBuf::from(prefix).join("bin/llvm-config"));
    let ask = |what: &str| -> Result<String, Box<dyn Error>> {
        let output = Command::new(&program).arg(what).output();
        let output = output.map_err(|error| format!("{}: {error}; set {PREFIX} to an LLVM 22", program.display()))?;
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    };
    cc::Build::new()
        .cpp(true)
        .file("src/shim.cpp")
        .std("c++17")
        .opt_level(2)
        .debug(false)
        // What MLIR itself is compiled with; the tables of a class with virtual functions differ otherwise.
        .flags(["-fno-rtti", "-fno-exceptions", "-fvisibility=hidden", "-fvisibility-inlines-hidden"])
        .flags(["-isystem", &ask("--includedir")?])
        .flags(["-ffunction-sections", "-fdata-sections"])
        .compile("shim");
    let folder = ask("--libdir")?;
    // Behind all that calls them.
    for name in C_API {
        let archive = Path::new(&folder).join(format!("libMLIRCAPI{name}.a"));
        println!("cargo:rustc-cdylib-link-arg={}", archive.display());
    }
    // A host of another version lacks some functions, and must get as far as our message.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,lazy");
    Ok(())
}
