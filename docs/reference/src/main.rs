//! Writes the chapters of the reference into a folder: `reference FOLDER`.

use std::{env, io, path::Path};

fn main() -> io::Result<()> {
    let folder = env::args_os().nth(1).ok_or_else(|| io::Error::other("usage: reference FOLDER"))?;
    ptx_atomics_reference::write(Path::new(&folder))
}
