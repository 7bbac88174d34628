//! A version of a document, and what was said of it.

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
    said: Mutex<Vec<Said>>,
}

/// What is done with texts of a language.
pub struct Language {
    /// Its name in the protocol, and the ending of its files.
    pub name: &'static str,
    /// What is to be said of a document, within a time; without one, what takes no search.
    pub judge: fn(&Document, &How) -> Vec<Said>,
    /// What is said of a place.
    pub hover: fn(&str, usize) -> Option<About>,
}

/// A piece of a text, and what is said of it as markdown.
pub type About = (Range<usize>, String);

/// How documents are judged.
pub struct How {
    pub readings: ReadingArgs,
    /// How long searches may take; nothing if there are none.
    pub time: Option<Duration>,
}

/// A diagnostic, and what would mend it.
pub struct Said {
    pub diagnostic: Diagnostic,
    pub fix: Option<Fix>,
}

/// Edits of the document, and what they do in words.
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

    /// The path of the file, if it is one.
    pub fn path(&self) -> Option<PathBuf> {
        let is_file = self.uri.scheme().is_some_and(|scheme| scheme.as_str().eq_ignore_ascii_case("file"));
        is_file.then(|| self.uri.path().as_estr().decode().into_string_lossy().into_owned().into())
    }

    /// Ends what goes on for this version.
    pub fn outdate(&self) {
        self.is_outdated.store(true, Relaxed);
    }

    pub fn is_outdated(&self) -> bool {
        self.is_outdated.load(Relaxed)
    }

    /// A stop that strikes when there is a newer version.
    pub fn stop(&self) -> Stop {
        Stop::never().or_when(self.is_outdated.clone())
    }

    /// What was said of it last.
    pub fn said(&self) -> MutexGuard<'_, Vec<Said>> {
        // What is said is put in at once, and is whole.
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
