//! What runs found, as a log in SARIF.

use ptx_atomics::execute::FindingKind;
use ptx_atomics::pass::Diagnostic;
use serde_json::{Value, json};
use strum::IntoEnumIterator;

use super::{
    found::{Found, Level, Shown as Finding},
    place::{self, Shown},
    text,
};
use crate::sarif::{Log, physical, whole};

pub fn log(all: &[Found], ptx: &Shown) -> String {
    let rules = FindingKind::iter().map(|kind| json!({ "id": kind.to_string() })).collect();
    let findings = all.iter().flat_map(|found| &found.findings);
    let mut results: Vec<_> =
        findings.clone().filter(|shown| shown.level != Level::Unknown).map(|shown| result(shown, ptx)).collect();
    results.extend(all.iter().flat_map(|found| &found.failed).map(|failed| {
        json!({
            "kind": "fail",
            "level": "error",
            "message": { "text": format!("{} does not hold: {}.", failed.text, failed.why) },
            "locations": [whole(ptx.input.name())],
        })
    }));
    let ended = findings.filter(|shown| shown.level == Level::Unknown).map(|shown| Diagnostic {
        location: ptx.place(&shown.finding.site),
        ..Diagnostic::new(&*shown.finding.message)
    });
    let errors = all.iter().flat_map(|found| &found.errors).map(|error| text::launch_error(error, ptx));
    let seeds: usize = all.iter().map(|found| found.seeds).max().unwrap_or(0);
    Log { rules, results, properties: json!({ "seeds": seeds }) }.text(&ended.chain(errors).collect::<Vec<_>>())
}

fn result(Finding { finding, kernel, level, .. }: &Finding, ptx: &Shown) -> Value {
    let help = finding.help.as_ref().map(|help| format!(". Help: {help}")).unwrap_or_default();
    let place = place::unnamed(finding).map(|place| format!(" ({place})")).unwrap_or_default();
    let mut location = ptx.place(&finding.site).map_or_else(|| whole(ptx.input.name()), |place| physical(&place));
    location["logicalLocations"] = json!([{ "name": kernel, "kind": "function" }]);
    let mut result = json!({
        "kind": "fail",
        "level": if *level == Level::Warning { "warning" } else { "error" },
        "ruleId": finding.kind.to_string(),
        "ruleIndex": FindingKind::iter().position(|kind| kind == finding.kind),
        "message": { "text": format!("{}{place}{help}.", finding.message) },
        "locations": [location],
    });
    if let Some((other, first)) = finding.other.as_ref().and_then(|other| Some((other, ptx.place(other)?))) {
        let mut first = physical(&first);
        first["message"] = json!({ "text": ptx.words(other) });
        result["relatedLocations"] = json!([first]);
    }
    result
}
