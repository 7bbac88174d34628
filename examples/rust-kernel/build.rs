//! Recompiles the kernels when the plugin or its options change, because cargo tracks neither.

use std::{env, path::Path};

const FLAG: &str = "llvm-plugins=";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=PTX_ATOMICS");
    println!("cargo:rerun-if-env-changed=LD_LIBRARY_PATH");
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let folders = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    for plugin in flags.split('\u{1f}').filter_map(|flag| flag.trim_start_matches("-Z").strip_prefix(FLAG)) {
        // The loader also searches the folders for the path, unless it is absolute.
        let places = env::split_paths(&folders).map(|folder| folder.join(plugin));
        for place in places.chain([Path::new(plugin).into()]).filter(|place| place.is_file()) {
            println!("cargo:rerun-if-changed={}", place.display());
        }
    }
}
