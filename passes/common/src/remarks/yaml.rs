//! The YAML of remarks.

use std::{
    fmt::Write,
    fs::OpenOptions,
    io::{self, Write as _},
    path::Path,
};

use strum::EnumMessage;

use super::text::{became, on_one_line, optimized};
use crate::message::{Diagnostic, Errors, Location, Outcome, Remark};

/// Appends remarks to a file. Each module of a program appends its remarks in one write.
///
/// # Errors
/// An error if the file cannot be written.
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
    let kind = if remark.is_missed() { "Missed" } else { "Passed" };
    writeln!(yaml, "--- !{kind}\nPass:            ptx-atomics\nName:            {}", remark.name())?;
    if let Some(Location { file, line, column }) = &remark.location {
        writeln!(yaml, "DebugLoc:        {{ File: {}, Line: {line}, Column: {column} }}", quoted(file))?;
    }
    writeln!(yaml, "Function:        {}\nArgs:", quoted(&remark.function))?;
    let mut argument = |key: &str, value: &str| writeln!(yaml, "  - {key}: {}", quoted(value));
    argument("Operation", &remark.operation)?;
    match &remark.outcome {
        Outcome::Lowered { sequence, changes, native } => {
            argument("String", became(*native))?;
            argument("Sequence", &on_one_line(sequence))?;
            for change in changes {
                argument("String", "; ")?;
                argument("Change", change.into())?;
                argument("String", ": ")?;
                argument("Reason", change.get_message().unwrap_or_default())?;
            }
        }
        Outcome::Optimized { rewrite, applied, message } => {
            argument("String", optimized(*applied))?;
            argument("Rewrite", rewrite.into())?;
            argument("String", ": ")?;
            argument("Reason", message)?;
        }
        Outcome::Inserted { instruction, side, rule, message } => {
            argument("String", " has ")?;
            argument("Instruction", instruction)?;
            argument("String", &format!(" {side} it by "))?;
            argument("Rule", rule)?;
            argument("String", ": ")?;
            argument("Reason", message)?;
        }
    }
    writeln!(yaml, "...")
}

/// A YAML double-quoted scalar. Its escapes are the same as in JSON.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
