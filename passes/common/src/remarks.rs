//! Remarks in LLVM's YAML format (LLVM, 'Remarks'), which `llvm-remarkutil` and opt-viewer read.

use std::{
    fmt::Write,
    fs::OpenOptions,
    io::{self, Write as _},
    path::Path,
};

use strum::EnumMessage;

use crate::message::{Diagnostic, Errors, Location, Remark};

/// Adds remarks to a file: each module of a program adds its own, in one piece.
///
/// # Errors
/// If it cannot be written.
pub fn append(path: &Path, remarks: &[Remark]) -> Result<(), Errors> {
    let file = OpenOptions::new().create(true).append(true).open(path);
    let written: io::Result<()> = file.and_then(|mut file| file.write_all(yaml(remarks).as_bytes()));
    Ok(written.map_err(|error| Diagnostic::new(format!("cannot write remarks to '{}': {error}", path.display())))?)
}

/// One YAML document for each remark.
pub fn yaml(remarks: &[Remark]) -> String {
    let mut yaml = String::new();
    for remark in remarks {
        document(&mut yaml, remark).expect("writing to a string does not fail");
    }
    yaml
}

fn document(yaml: &mut String, remark: &Remark) -> std::fmt::Result {
    writeln!(yaml, "--- !Passed\nPass:            ptx-atomics\nName:            Lowered")?;
    if let Some(Location { file, line, column }) = &remark.location {
        writeln!(yaml, "DebugLoc:        {{ File: {}, Line: {line}, Column: {column} }}", quoted(file))?;
    }
    writeln!(yaml, "Function:        {}\nArgs:", quoted(&remark.function))?;
    let mut argument = |key: &str, value: &str| writeln!(yaml, "  - {key}: {}", quoted(value));
    argument("Operation", &remark.operation)?;
    argument("String", " became ")?;
    argument("Sequence", &sequence(remark))?;
    for change in &remark.changes {
        argument("String", "; ")?;
        argument("Change", change.into())?;
        argument("String", ": ")?;
        argument("Reason", change.get_message().unwrap_or_default())?;
    }
    writeln!(yaml, "...")
}

/// A remark on one line.
pub fn line(remark: &Remark) -> String {
    let changes = remark.changes.iter();
    let changes: String =
        changes.map(|change| format!("; {change}: {}", change.get_message().unwrap_or_default())).collect();
    format!("{} became {}{changes}", remark.operation, sequence(remark))
}

/// The sequence on one line.
pub fn sequence(remark: &Remark) -> String {
    let text = remark.sequence.to_string().replace('\n', " ");
    if text.is_empty() { "nothing".to_owned() } else { text }
}

/// A YAML double-quoted scalar, whose escapes are those of JSON.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
