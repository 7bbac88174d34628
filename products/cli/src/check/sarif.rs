//! Findings as a log in SARIF.

use ptx_atomics::{
    check::{Edit, Evidence, Rule, Severity, View, Witness},
    memory_model::kernel::source_name,
    pass::Diagnostic,
};
use serde_json::{Value, json};

use super::module_views::ModuleViews;
use crate::sarif::{Log, physical, uri, whole};

/// Writes the log. `command` returns the command that repeats an execution of a module.
pub fn log(
    shown: &[ModuleViews<'_>],
    profile: &str,
    errors: &[Diagnostic],
    command: &dyn Fn(&ModuleViews<'_>, &Witness) -> Option<String>,
) -> String {
    let rules = Rule::all().map(rule).collect();
    let of_module = |shown: &ModuleViews<'_>| {
        let command = |witness: &Witness| command(shown, witness);
        shown.iter().map(|view| result(view, shown.name(), &command)).collect::<Vec<_>>()
    };
    let results = shown.iter().flat_map(of_module).collect();
    Log { rules, results, properties: json!({ "profile": profile }) }.text(errors)
}

fn rule(rule: Rule) -> Value {
    json!({
        "id": rule.name(),
        "shortDescription": { "text": rule.sentence() },
        "help": { "text": format!("`ptx-atomics explain {}`; {}.", rule.name(), rule.source()) },
    })
}

fn result(view: &View<'_>, program: &str, command: &dyn Fn(&Witness) -> Option<String>) -> Value {
    let finding = view.finding;
    // An open finding has no level.
    let (kind, level) = match finding.severity {
        _ if finding.is_not_checked() || finding.launches().is_some() => ("open", "none"),
        Severity::Error => ("fail", "error"),
        Severity::Warning => ("fail", "warning"),
        Severity::Note => ("fail", "note"),
    };
    let help = view.help.as_ref().map(|help| format!(". Help: {help}")).unwrap_or_default();
    let mut location = match &view.place {
        Some(place) => physical(place),
        None => whole(&view.file),
    };
    location["logicalLocations"] = json!([{
        "name": source_name(&view.kernel), "decoratedName": view.kernel, "kind": "function",
    }]);
    let mut result = json!({
        "kind": kind,
        "level": level,
        "message": { "text": format!("{}{help}.", view.message) },
        "locations": [location],
    });
    if let Some(rule) = finding.rule {
        result["ruleId"] = rule.name().into();
        result["ruleIndex"] = Rule::all().position(|other| other == rule).into();
    }
    if let Some(first) = &view.first {
        let mut first = physical(first);
        first["message"] = json!({ "text": "the first access" });
        result["relatedLocations"] = json!([first]);
    }
    if let Evidence::Witness(witness) = &finding.evidence
        && let Some(command) = command(witness)
    {
        result["properties"] = json!({ "execution": command });
    }
    if let Some(reason) = &finding.allowed {
        result["suppressions"] = json!([{ "kind": "inSource", "justification": reason }]);
    }
    let edits: Vec<_> = view.all_edits().map(replacement).collect();
    if !edits.is_empty() {
        result["fixes"] = json!([{
            "description": { "text": view.help },
            "artifactChanges": [{ "artifactLocation": { "uri": uri(program) }, "replacements": edits }],
        }]);
    }
    result
}

/// An insertion of whole lines, or a replacement of a line.
fn replacement(edit: &Edit) -> Value {
    let ([line, end], instruction) = (edit.lines(), &edit.instruction);
    json!({
        "deletedRegion": { "startLine": line, "startColumn": 1, "endLine": end, "endColumn": 1 },
        "insertedContent": { "text": format!("\t{instruction};\n") },
    })
}
