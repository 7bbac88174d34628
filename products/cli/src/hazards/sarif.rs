//! Findings as a log in SARIF.

use ptx_atomics::hazards::Rule;
use ptx_atomics::{memory_model::kernel::shown, pass::Diagnostic};
use serde_json::{Value, json};
use strum::{EnumMessage, IntoEnumIterator};

use super::placed::{Level, Placed};
use crate::{
    edit::Edit,
    sarif::{Log, physical, uri, whole},
};

pub fn log(findings: &[Placed], profile: &str, errors: &[Diagnostic]) -> String {
    let rules = Rule::iter().map(rule).collect();
    let results = findings.iter().map(result).collect();
    Log { rules, results, properties: json!({ "profile": profile }) }.text(errors)
}

fn rule(rule: Rule) -> Value {
    let text = rule.get_documentation().unwrap_or_default();
    let what = rule.get_message().unwrap_or_default();
    json!({
        "id": rule.to_string(),
        "shortDescription": { "text": text },
        "help": { "text": format!("{what}: {}.", rule.source()) },
    })
}

fn result(placed: &Placed) -> Value {
    // What is not known is open, and then there is no level.
    let (kind, level) = match placed.level {
        Level::Error => ("fail", "error"),
        Level::Possible | Level::Warning => ("fail", "warning"),
        Level::Note => ("fail", "note"),
        Level::NotChecked => ("open", "none"),
    };
    let help = placed.help.as_ref().map(|help| format!(". Help: {help}")).unwrap_or_default();
    let mut location = match &placed.place {
        Some(place) => physical(place),
        None => whole(&placed.file),
    };
    location["logicalLocations"] = json!([{
        "name": shown(&placed.kernel), "decoratedName": placed.kernel, "kind": "function",
    }]);
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
    if let Some(command) = &placed.repeat {
        result["properties"] = json!({ "execution": command });
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

/// An insertion of whole lines, or one in place of a line.
fn replacement(edit: &Edit) -> Value {
    let ([line, end], instruction) = (edit.lines(), &edit.instruction);
    json!({
        "deletedRegion": { "startLine": line, "startColumn": 1, "endLine": end, "endColumn": 1 },
        "insertedContent": { "text": format!("\t{instruction};\n") },
    })
}
