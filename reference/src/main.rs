//! Writes the chapters of the reference into a folder, and their names to standard output: `reference FOLDER`.

use std::{env, fs, io, path::PathBuf};

use ptx_atomics_reference::{chapter, names};
use rayon::prelude::*;

fn main() -> io::Result<()> {
    let folder = PathBuf::from(env::args_os().nth(1).ok_or_else(|| io::Error::other("usage: reference FOLDER"))?);
    fs::create_dir_all(&folder)?;
    let names = names();
    names.par_iter().try_for_each(|name| fs::write(folder.join(name).with_extension("md"), chapter(name)))?;
    names.iter().for_each(|name| println!("{name}"));
    Ok(())
}
