//! A cache of reports: the report of the same text with the same options is read instead of made again.

use std::{
    env, fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::Path,
    time::UNIX_EPOCH,
};

use ptx_atomics::{
    check::{Check, Report},
    pass::Diagnostic,
};
use serde::{Deserialize, Serialize};

use crate::{output, render};

/// A file of the cache.
#[derive(Serialize, Deserialize)]
struct Entry {
    key: Key,
    report: Report,
}

/// All inputs that determine a report. The file has the whole key, so that a collision of hashes does not return the
/// report of another text.
#[derive(PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Key {
    version: String,
    options: String,
    ptx: String,
}

/// The report of a check of a text, from the folder if it has the report.
pub fn report(folder: &Path, check: &Check<'_>, text: &str) -> Report {
    let key = Key { version: version(), options: check.key(), ptx: text.to_owned() };
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    let path = folder.join(format!("{:016x}.json", hasher.finish()));
    let known = fs::read(&path).ok().and_then(|bytes| serde_json::from_slice::<Entry>(&bytes).ok());
    if let Some(known) = known.filter(|known| known.key == key) {
        return known.report;
    }
    let entry = Entry { key, report: check.run() };
    // A report that the time limit has cut is not kept: another machine, or the next run, may complete the check.
    if !entry.report.is_stopped()
        && let Err(error) = write(&path, &entry)
    {
        let warning = Diagnostic::new(format!("cannot keep the report in '{}': {error}", path.display()));
        render::warning(&warning.help("give a writable folder by --cache, or omit --cache"), None);
    }
    entry.report
}

fn write(path: &Path, entry: &Entry) -> std::io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    output::write(path, serde_json::to_vec(entry)?)
}

/// The version, and the time of the program file: another build may have the same version.
fn version() -> String {
    let program = env::current_exe().and_then(fs::metadata);
    let modified = program.as_ref().ok().and_then(|program| program.modified().ok()?.duration_since(UNIX_EPOCH).ok());
    let bytes = program.map_or(0, |program| program.len());
    format!("{} {bytes} {}", env!("CARGO_PKG_VERSION"), modified.unwrap_or_default().as_nanos())
}
