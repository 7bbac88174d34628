//! Findings as a log in SARIF 2.1.0, the format of viewers and of code hosts.

use ptx_atomics::llvm::{Diagnostic, Location};
use ptx_hazards::{Edit, Position, Rule};
use serde_json::{Value, json};
use strum::{EnumMessage, IntoEnumIterator};

use super::placed::{Level, Placed};
use crate::format;

pub fn log(findings: &[Placed], profile: &str, errors: &[Diagnostic]) -> String {
    let notifications: Vec<_> = errors.iter().map(notification).collect();
    format::json(&json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "ptx-atomics",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": Rule::iter().map(rule).collect::<Vec<_>>(),
            } },
            "invocations": [{
                "executionSuccessful": errors.is_empty(),
                "toolExecutionNotifications": notifications,
            }],
            "columnKind": "unicodeCodePoints",
            "properties": { "profile": profile },
            "results": findings.iter().map(result).collect::<Vec<_>>(),
        }],
    }))
}

fn rule(rule: Rule) -> Value {
    let text = rule.get_documentation().unwrap_or_default();
    let what = rule.get_message().unwrap_or_default();
    json!({
        "id": rule.to_string(),
        "shortDescription": { "text": text },
        "help": { "text": format!("{what}: section {} of the PTX ISA manual.", rule.section()) },
    })
}

fn result(placed: &Placed) -> Value {
    // What is not known is open, and then there is no level.
    let (kind, level) = match placed.level() {
        Level::Wrong => ("fail", "error"),
        Level::Warning => ("fail", "warning"),
        Level::Note => ("fail", "note"),
        Level::NotChecked => ("open", "none"),
    };
    let help = placed.help.as_ref().map(|help| format!(". Help: {help}")).unwrap_or_default();
    let mut location = match &placed.place {
        Some(place) => physical(place),
        None => json!({ "physicalLocation": { "artifactLocation": { "uri": uri(&placed.file) } } }),
    };
    location["logicalLocations"] = json!([{ "name": placed.kernel, "kind": "function" }]);
    let mut result = json!({
        "kind": kind,
        "level": level,
        "message": { "text": format!("{}{help}.", placed.message) },
        "locations": [location],
    });
    if let Some(rule) = placed.rule {
        result["ruleId"] = rule.to_string().into();
        result["ruleIndex"] = Rule::iter().position(|other| other == rule).into();
    }
    if let Some(first) = &placed.first {
        let mut first = physical(first);
        first["message"] = json!({ "text": "the first access" });
        result["relatedLocations"] = json!([first]);
    }
    if !placed.edits.is_empty() {
        let replacements: Vec<_> = placed.edits.iter().map(replacement).collect();
        result["fixes"] = json!([{
            "description": { "text": placed.help },
            "artifactChanges": [{ "artifactLocation": { "uri": uri(&placed.file) }, "replacements": replacements }],
        }]);
    }
    result
}

/// An insertion of whole lines.
fn replacement(Edit { line, position, instruction }: &Edit) -> Value {
    let line = match position {
        Position::Before => *line,
        Position::After => line + 1,
    };
    json!({
        "deletedRegion": { "startLine": line, "startColumn": 1, "endLine": line, "endColumn": 1 },
        "insertedContent": { "text": format!("\t{instruction};\n") },
    })
}

fn notification(error: &Diagnostic) -> Value {
    let mut notification = json!({ "level": "error", "message": { "text": error.message } });
    if let Some(location) = &error.location {
        notification["locations"] = json!([physical(location)]);
    }
    notification
}

fn physical(place: &Location) -> Value {
    let mut region = json!({ "startLine": place.line.max(1) });
    if place.column > 0 {
        region["startColumn"] = place.column.into();
    }
    json!({ "physicalLocation": { "artifactLocation": { "uri": uri(&place.file) }, "region": region } })
}

/// A path as a URI, relative where the path is.
fn uri(path: &str) -> String {
    let encoded: String = path
        .bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect();
    if path.starts_with('/') { format!("file://{encoded}") } else { encoded }
}
