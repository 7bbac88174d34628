//! Logs in SARIF 2.1.0, the format of code viewers and code hosts.

use ptx_atomics::pass::{Diagnostic, Location};
use serde_json::{Value, json};

use crate::format;

/// A log of one run.
pub struct Log {
    /// The possible findings.
    pub rules: Vec<Value>,
    pub results: Vec<Value>,
    /// Further properties of the run.
    pub properties: Value,
}

impl Log {
    /// The log, with the errors that made the run incomplete.
    pub fn text(&self, errors: &[Diagnostic]) -> String {
        let notifications: Vec<_> = errors.iter().map(notification).collect();
        format::json(&json!({
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [{
                "tool": { "driver": {
                    "name": "ptx-atomics",
                    "version": env!("CARGO_PKG_VERSION"),
                    "rules": self.rules,
                } },
                "invocations": [{
                    "executionSuccessful": errors.is_empty(),
                    "toolExecutionNotifications": notifications,
                }],
                "columnKind": "unicodeCodePoints",
                "properties": self.properties,
                "results": self.results,
            }],
        }))
    }
}

fn notification(error: &Diagnostic) -> Value {
    let mut notification = json!({ "level": "error", "message": { "text": error.message } });
    if let Some(location) = &error.location {
        notification["locations"] = json!([physical(location)]);
    }
    notification
}

/// A place in a file.
pub fn physical(place: &Location) -> Value {
    let mut location = whole(&place.file);
    location["physicalLocation"]["region"] = json!({ "startLine": place.line.max(1) });
    if place.column > 0 {
        location["physicalLocation"]["region"]["startColumn"] = place.column.into();
    }
    location
}

/// A file.
pub fn whole(file: &str) -> Value {
    json!({ "physicalLocation": { "artifactLocation": { "uri": uri(file) } } })
}

/// A path as a URI, relative if the path is relative.
pub fn uri(path: &str) -> String {
    let encoded: String = path
        .bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect();
    if path.starts_with('/') { format!("file://{encoded}") } else { encoded }
}
