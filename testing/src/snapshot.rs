//! Pinned texts of this repository.

use std::{collections::BTreeSet, env};

use libtest_mimic::Failed;
use ptx_atomics_golden::snapshot::{self, Snapshot};

use crate::{llvm_version, root};

/// The version of LLVM whose texts the snapshots have.
const PINNED: u32 = 22;

/// The edition whose texts are compared; none for the LLVM of which the snapshots are.
pub fn edition() -> Option<String> {
    Some(llvm_version()).filter(|version| *version != PINNED).map(|version| format!("llvm{version}"))
}

/// Compares a text with the snapshot `folder/name.snap`; `folder` is a path from the root.
///
/// # Errors
/// The difference, and the command that accepts it.
pub fn pin(folder: &str, name: &str, text: &str) -> Result<(), Failed> {
    let test = env::current_exe()?;
    let test = test.file_stem().unwrap_or_default().to_string_lossy();
    let test = test.rsplit_once('-').map_or(&*test, |(test, _)| test);
    let command = format!("cargo test -p ptx-atomics-cli --test {test}");
    let edition = edition();
    let snapshot = Snapshot { folder: &root().join(folder), name, edition: edition.as_deref(), command: &command };
    snapshot.compare(text, |_| None)
}

/// Whether every snapshot of a folder has one of these names.
///
/// # Errors
/// The others.
pub fn none_left(folder: &str, names: &BTreeSet<String>) -> Result<(), Failed> {
    snapshot::none_left(&root().join(folder), names)
}
