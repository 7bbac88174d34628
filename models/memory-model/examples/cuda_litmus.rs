//! Writes the litmus tests of cuda-litmus as files: `cuda_litmus FOLDER`. Prints a row with the published verdicts of
//! each test.

#[path = "../tests/cuda_litmus/mod.rs"]
mod cuda_litmus;

use std::{env, error::Error, fs, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::args().nth(1).ok_or("expected a folder: cuda_litmus FOLDER")?;
    fs::create_dir_all(&folder)?;
    for test in cuda_litmus::tests()? {
        fs::write(Path::new(&folder).join(format!("{}.litmus", test.name)), &test.text)?;
        println!("{}", test.row());
    }
    Ok(())
}
