//! Compiles the shim against MLIR's headers, and links the parts of the C API that the pass uses. All C++ symbols are
//! left to the host: a second copy would have its own type ids, and would not know the host's ops.

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
        // MLIR itself is compiled with these flags; without them, the virtual function tables of classes would differ.
        .flags(["-fno-rtti", "-fno-exceptions", "-fvisibility=hidden", "-fvisibility-inlines-hidden"])
        .flags(["-isystem", &config.headers()?])
        .flags(["-ffunction-sections", "-fdata-sections"])
        .compile("shim");
    let folder = config.ask(&["--libdir"])?;
    // The archives follow all objects that call them.
    for name in C_API {
        let archive = Path::new(&folder).join(format!("libMLIRCAPI{name}.a"));
        println!("cargo:rustc-cdylib-link-arg={}", archive.display());
    }
    // A host of another version lacks some functions, and must still reach the plugin's message.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,lazy");
    Ok(())
}
