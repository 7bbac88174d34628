//! The pinned texts of this repository.

use std::{collections::BTreeSet, panic::Location, path::Path};

use libtest_mimic::Failed;
use ptx_atomics_golden::{
    Change,
    listing::Variant,
    snapshot::{self, Snapshot},
};

use crate::{llvm_version, root};

/// The LLVM version whose output the snapshots have.
const PINNED: u32 = 22;

/// The reason to skip a comparison if another LLVM is under test, since the snapshots belong to one version.
pub fn not_pinned() -> Option<&'static str> {
    (llvm_version() != PINNED).then_some("texts of this LLVM")
}

/// Compares a text with the snapshot `folder/name.snap`; `folder` is a path from the root.
///
/// # Errors
/// The difference, and the command that accepts it.
#[track_caller]
pub fn pin(folder: &str, name: &str, text: &str) -> Result<(), Failed> {
    compare(folder, name, text, |_| None)
}

/// Compares a listing of these variants with the snapshot, and judges the changes.
/// # Errors
///
/// The difference, its judgement, and the command that accepts it.
#[track_caller]
pub fn pin_listing(folder: &str, name: &str, text: &str, variants: &[Variant<'_>]) -> Result<(), Failed> {
    let variants: Vec<_> = variants.iter().map(|variant| (variant.gpu, variant.by)).collect();
    compare(folder, name, text, |old| Some(Change::between(old, text, &variants, |_, _| None)))
}

#[track_caller]
fn compare(folder: &str, name: &str, text: &str, judge: impl FnOnce(&str) -> Option<Change>) -> Result<(), Failed> {
    let file = Path::new(Location::caller().file());
    let module = file.iter().skip_while(|part| *part != "tests").nth(1).map(|part| Path::new(part).with_extension(""));
    let command = format!("cargo test -p ptx-atomics-cli --test it -- '[{}'", module.unwrap_or_default().display());
    let snapshot = Snapshot { folder: &root().join(folder), name, edition: None, command: &command };
    if not_pinned().is_none() {
        return snapshot.compare(text, judge);
    }
    // Another LLVM version may write other texts, but no text may have weaker guarantees.
    match judge(&snapshot.text()) {
        Some(change) if !change.weaker.is_empty() => Err(format!("{folder}/{name}: {change}").into()),
        _ => Ok(()),
    }
}

/// Succeeds if every snapshot of a folder has one of these names.
///
/// # Errors
/// The snapshots with other names.
pub fn none_left(folder: &str, names: &BTreeSet<String>) -> Result<(), Failed> {
    snapshot::none_left(&root().join(folder), names)
}
