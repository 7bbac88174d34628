//! What is read.

use std::{
    fs,
    io::{self, Read},
    path::Path,
};

use ptx_atomics::llvm::{Diagnostic, Errors, Input};

/// What is wrong with a file, and its text where errors point to it.
pub type Failure = (Errors, Option<Input>);

/// Reads a file; `-` is standard input.
pub fn read(path: &Path) -> Result<Input, Errors> {
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        io::stdin().read_to_end(&mut bytes).map_err(|error| cannot("read", path, &error))?;
        return Ok(Input::new("<stdin>", bytes));
    }
    let bytes = fs::read(path).map_err(|error| cannot("read", path, &error))?;
    Ok(Input::new(path.display().to_string(), bytes))
}

/// The error of a file that cannot be read or written.
pub fn cannot(what: &str, path: &Path, error: &io::Error) -> Errors {
    Diagnostic::new(format!("cannot {what} '{}': {error}", path.display())).into()
}
