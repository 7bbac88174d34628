//! The findings of runs, as a log in SARIF.

use ptx_atomics::execute::FaultKind;
use ptx_atomics::pass::Diagnostic;
use serde_json::{Value, json};
use strum::IntoEnumIterator;

use super::{
    place::RunPtx,
    result::{Importance, PlanFinding, PlanResult},
    text,
};
use crate::sarif::{Log, physical, whole};

pub fn log(all: &[PlanResult], ptx: &RunPtx) -> String {
    let rules = FaultKind::iter().map(|kind| json!({ "id": kind.to_string() })).collect();
    let findings = all.iter().flat_map(|found| &found.findings);
    let mut results: Vec<_> =
        findings.clone().filter(|shown| shown.level != Importance::Unknown).map(|shown| result(shown, ptx)).collect();
    results.extend(all.iter().flat_map(|found| &found.failed).map(|failed| {
        json!({
            "kind": "fail",
            "level": "error",
            "message": { "text": format!("{} does not hold: {}.", failed.text, failed.why) },
            "locations": [whole(ptx.input.name())],
        })
    }));
    let ended = findings.filter(|shown| shown.level == Importance::Unknown).map(|shown| Diagnostic {
        location: ptx.place(&shown.finding.site),
        ..Diagnostic::new(&*shown.finding.message)
    });
    let errors = all.iter().flat_map(|found| &found.errors).map(|error| text::launch_error(error, ptx));
    let seeds: usize = all.iter().map(|found| found.seeds).max().unwrap_or(0);
    Log { rules, results, properties: json!({ "seeds": seeds }) }.text(&ended.chain(errors).collect::<Vec<_>>())
}

fn result(PlanFinding { finding, kernel, level, .. }: &PlanFinding, ptx: &RunPtx) -> Value {
    let help = finding.help.as_ref().map(|help| format!(". Help: {help}")).unwrap_or_default();
    let mut location = ptx.place(&finding.site).map_or_else(|| whole(ptx.input.name()), |place| physical(&place));
    location["logicalLocations"] = json!([{ "name": kernel, "kind": "function" }]);
    let mut result = json!({
        "kind": "fail",
        "level": if *level == Importance::Warning { "warning" } else { "error" },
        "ruleId": finding.kind.to_string(),
        "ruleIndex": FaultKind::iter().position(|kind| kind == finding.kind),
        "message": { "text": format!("{}{help}.", finding.message) },
        "locations": [location],
    });
    if let Some((other, first)) = finding.other.as_ref().and_then(|other| Some((other, ptx.place(other)?))) {
        let mut first = physical(&first);
        first["message"] = json!({ "text": ptx.words(other) });
        result["relatedLocations"] = json!([first]);
    }
    result
}
