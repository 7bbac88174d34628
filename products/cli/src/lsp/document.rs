//! A version of a document, with its diagnostics.

use std::{
    ops::Range,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use lsp_types::{Diagnostic, TextEdit, Uri};
use ptx_atomics::{memory_model::ptx::readings::Readings, ptx::Stop};

use super::text::Text;
use crate::cli::ReadingArgs;

/// A version of a document.
pub struct Document {
    pub uri: Uri,
    pub version: i32,
    pub language: &'static Language,
    pub text: Text,
    is_outdated: Arc<AtomicBool>,
    said: Mutex<Vec<FixableDiagnostic>>,
}

/// The functions of the server for a language.
pub struct Language {
    /// The name of the language in the protocol, and the extension of its files.
    pub name: &'static str,
    /// The diagnostics of a document, within a time limit; without a limit, the diagnostics that need no search.
    pub judge: fn(&Document, &How) -> Vec<FixableDiagnostic>,
    /// The text about an offset of a document.
    pub hover: fn(&str, usize) -> Option<About>,
}

/// A range of a text, and a text about it in markdown.
pub type About = (Range<usize>, String);

/// The settings of the checks.
pub struct How {
    pub readings: ReadingArgs,
    /// The time limit of searches; `None` without searches.
    pub time: Option<Duration>,
}

/// A diagnostic, and its remedy.
pub struct FixableDiagnostic {
    pub diagnostic: Diagnostic,
    pub fix: Option<Fix>,
}

/// Edits of the document, with a title.
#[derive(Clone)]
pub struct Fix {
    pub title: String,
    pub edits: Vec<TextEdit>,
}

impl How {
    pub fn readings(&self) -> Readings {
        self.readings.readings()
    }
}

impl Document {
    pub fn new(uri: Uri, version: i32, language: &'static Language, text: String) -> Self {
        let (is_outdated, said) = (Arc::default(), Mutex::default());
        Self { uri, version, language, text: Text::new(text), is_outdated, said }
    }

    /// The path of the file, if the document is a file.
    pub fn path(&self) -> Option<PathBuf> {
        let is_file = self.uri.scheme().is_some_and(|scheme| scheme.as_str().eq_ignore_ascii_case("file"));
        is_file.then(|| self.uri.path().as_estr().decode().into_string_lossy().into_owned().into())
    }

    /// Stops the work on this version.
    pub fn outdate(&self) {
        self.is_outdated.store(true, Relaxed);
    }

    pub fn is_outdated(&self) -> bool {
        self.is_outdated.load(Relaxed)
    }

    /// A stop that takes effect when there is a newer version.
    pub fn stop(&self) -> Stop {
        Stop::never().or_when(self.is_outdated.clone())
    }

    /// The last diagnostics of this version.
    pub fn last_diagnostics(&self) -> MutexGuard<'_, Vec<FixableDiagnostic>> {
        // The list is replaced in a single step, so that it is complete even after a panic.
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
