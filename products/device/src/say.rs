//! Messages on standard error.

use std::{
    collections::BTreeSet,
    io::Write,
    sync::{Mutex, PoisonError},
};

use crate::error::{Done, Error};

/// Prints a message on standard error.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "ptx-atomics: {text}");
}

/// Prints a message on standard error once in a process.
pub fn say_once(text: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if SAID.lock().unwrap_or_else(PoisonError::into_inner).insert(text.to_owned()) {
        say(text);
    }
}

/// The result of a function that is not implemented.
pub fn unsupported(name: &str) -> Done {
    say_once(&format!("{name} is not supported"));
    Err(Error::NotSupported)
}
