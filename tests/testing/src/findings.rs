//! The findings of `ptx-atomics check --format json` as a flat list, for tests that look at a single finding.

use serde_json::{Value, json};

/// The findings of a report, each with its kernel and a `verdict`: the severity, `possible` for a possible fault, or
/// `not-checked`. `execution` is the witness.
///
/// # Panics
/// If the text is not a report of version 1.
pub fn flat(report: &str) -> Vec<Value> {
    let report: Value = serde_json::from_str(report).unwrap_or_else(|error| panic!("{error}: {report}"));
    assert_eq!(report["version"], 1, "{report}");
    let kernels = report["kernels"].as_array().expect("kernels");
    let of_kernel = |kernel: &Value| {
        let findings = kernel["findings"].as_array().cloned().unwrap_or_default();
        findings.into_iter().map(|finding| strip_finding(&report, kernel, finding)).collect::<Vec<_>>()
    };
    kernels.iter().flat_map(of_kernel).collect()
}

fn strip_finding(report: &Value, kernel: &Value, mut finding: Value) -> Value {
    let verdict = match () {
        () if finding["not_checked"] == true => json!("not-checked"),
        () if finding["possible"] == true => json!("possible"),
        () => finding["severity"].clone(),
    };
    let witness = &finding["evidence"];
    let execution = if witness["kind"] == "witness" { witness.clone() } else { Value::Null };
    for (key, value) in [
        ("program", kernel["program"].clone()),
        ("kernel", kernel["kernel"].clone()),
        ("name", kernel["name"].clone()),
        ("profile", report["profile"].clone()),
        ("verdict", verdict),
        ("execution", execution),
    ] {
        finding[key] = value;
    }
    finding
}
