//! Compiles the shim against MLIR's headers, and links the C API of what the pass uses. All of C++ is left to the host: a
//! second copy would have type ids of its own, and know none of the host's ops.

use std::{error::Error, path::Path};

use ptx_atomics_version::Config;

/// The archives of the C API, each a thin layer over C++.
const C_API: [&str; 6] = ["IR", "Arith", "GPU", "LLVM", "NVVM", "SCF"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/shim.cpp");
    let config = Config::llvm();
    cc::Build::new()
        .cpp(true)
        .file("src/shim.cpp")
        .std("c++17")
        .opt_level(2)
        .debug(false)
        // What MLIR itself is compiled with; the tables of a class with virtual functions differ otherwise.
        .flags(["-fno-rtti", "-fno-exceptions", "-fvisibility=hidden", "-fvisibility-inlines-hidden"])
        .flags(["-isystem", &config.headers()?])
        .flags(["-ffunction-sections", "-fdata-sections"])
        .compile("shim");
    let folder = config.ask(&["--libdir"])?;
    // Behind all that calls them.
    for name in C_API {
        let archive = Path::new(&folder).join(format!("libMLIRCAPI{name}.a"));
        println!("cargo:rustc-cdylib-link-arg={}", archive.display());
    }
    // A host of another version lacks some functions, and must get as far as our message.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,lazy");
    Ok(())
}
