//! The folder that a program searches for CUDA's libraries first.

use std::{fs, io, os::unix::fs::symlink, path::Path};

use crate::stub;

/// The name of this library.
pub const LIBRARY: &str = "libptx_atomics_device.so";

/// The names of the driver's library.
const DRIVER: [&str; 2] = ["libcuda.so.1", "libcuda.so"];
/// The names of the runtime's library. Programs ask each for symbols with its name as their version.
const RUNTIME: [&str; 3] = ["libcudart.so.11.0", "libcudart.so.12", "libcudart.so.13"];

/// Puts the libraries into a folder: links to the library of the device, and the runtime's libraries, which need it.
///
/// # Errors
/// The folder cannot be written.
pub fn fill_folder(folder: &Path, library: &Path) -> io::Result<()> {
    for name in DRIVER.into_iter().chain([LIBRARY]) {
        symlink(library, folder.join(name))?;
    }
    for name in RUNTIME {
        fs::write(folder.join(name), stub::library(name, LIBRARY))?;
    }
    // A program that opens the library without a version takes the newest one.
    symlink(RUNTIME[RUNTIME.len() - 1], folder.join("libcudart.so"))
}
