//! Writes the chapters of the reference into a folder, and their names to standard output: `reference FOLDER`.

use std::{env, fs, io, path::PathBuf};

use ptx_atomics_reference::{chapter, names};

fn main() -> io::Result<()> {
    let folder = PathBuf::from(env::args_os().nth(1).ok_or_else(|| io::Error::other("usage: reference FOLDER"))?);
    fs::create_dir_all(&folder)?;
    for name in names() {
        fs::write(folder.join(&name).with_extension("md"), chapter(&name))?;
        println!("{name}");
    }
    Ok(())
}
