//! Compiles the shim against LLVM's headers, and leaves LLVM's symbols to the host.

use std::{error::Error, path::Path};

use ptx_atomics_version::Config;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/shim.cpp");
    cc::Build::new()
        .cpp(true)
        .file("src/shim.cpp")
        .std("c++17")
        .opt_level(2)
        .debug(false)
        // LLVM itself is compiled with these flags; without them, the virtual function tables of classes would differ.
        .flags(["-fno-rtti", "-fno-exceptions", "-fvisibility=hidden", "-fvisibility-inlines-hidden"])
        .flags(["-isystem", &Config::llvm().headers()?])
        .flags(["-ffunction-sections", "-fdata-sections"])
        .compile("shim");
    // A host of another version lacks some of LLVM's functions, and must still reach the plugin's message.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,lazy");
    // The package has no example, and cargo rejects an argument for none.
    if Path::new("examples").exists() {
        println!("cargo:rustc-link-arg-examples=-Wl,-z,lazy");
    }
    Ok(())
}
