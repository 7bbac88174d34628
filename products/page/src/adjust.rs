//! The adjustment of fields: if the value of a chosen field is impossible with the values of the other fields, a field
//! is changed.

use itertools::Itertools;
use ptx_lowering::{Ordering, Policy, PtxVersion, Sm, Target, Type, Unsupported, lower};
use serde::Serialize;
use serde_json::{Map, Value};
use strum::IntoEnumIterator;

use crate::explorer::{Question, operations};

/// The changes of a question, and their reason.
#[derive(Default, Serialize)]
struct Adjusted {
    /// The fields with a new value, and the value.
    changed: Map<String, Value>,
    /// The reason in a sentence; empty if no field is changed.
    note: String,
}

/// Reads the JSON of a [`Question`] after the user chose the value of `field`. Returns, as JSON, the fields to change
/// so that some language and GPU has the operation, and a note about the changes. If no change of the fields is
/// possible, the answer to the question has the error.
pub fn adjusted(question: &str, field: &str) -> String {
    let adjusted = serde_json::from_str(question).map(|question| adjust(&question, field)).unwrap_or_default();
    serde_json::to_string(&adjusted).expect("it has only strings")
}

fn adjust(question: &Map<String, Value>, field: &str) -> Adjusted {
    let Some(refusal) = refusal(question) else { return Adjusted::default() };
    // A chosen operation stays; a type may choose the operation of the same name for its kind of numbers.
    let plans: &[&[&str]] = match field {
        "operation" => &[&["ordering", "type", "space"]],
        "type" => &[&["operation"], &["type"]],
        _ => &[&["ordering", "space"]],
    };
    let changes = plans.iter().flat_map(|fields| {
        let values = fields.iter().map(|field| {
            let now = question.get(*field).and_then(Value::as_str).unwrap_or_default();
            let others = instead(field, now).into_iter().map(|value| Some((*field, value)));
            [None].into_iter().chain(others).collect::<Vec<_>>()
        });
        values.multi_cartesian_product()
    });
    let mut changes = changes.map(|change| {
        let changed = change.into_iter().flatten().map(|(field, value)| (field.to_owned(), Value::from(value)));
        changed.collect::<Map<_, _>>()
    });
    let is_possible = |changed: &Map<String, Value>| {
        self::refusal(&question.clone().into_iter().chain(changed.clone()).collect()).is_none()
    };
    let Some(changed) = changes.find(is_possible) else { return Adjusted::default() };
    let now = changed.iter().map(|(field, value)| format!("{field} is now {}", value.as_str().unwrap_or_default()));
    Adjusted { note: format!("{refusal}: {}.", now.format(", ")), changed }
}

/// The reason why no GPU has the operation. A question with an unknown name has no refusal.
fn refusal(question: &Map<String, Value>) -> Option<Unsupported> {
    let question: Question = serde_json::from_value(Value::Object(question.clone())).ok()?;
    let newest = Target::new(Sm::all().last()?, PtxVersion::all().last()).ok()?;
    let errors = lower(&question.op(&mut Vec::new())?, &Policy::default(), &newest).err()?;
    errors.into_iter().find(|error| !matches!(error, Unsupported::Target { .. } | Unsupported::SystemScope { .. }))
}

/// The values that may replace the value of a field, the nearest first.
fn instead(field: &str, value: &str) -> Vec<String> {
    match field {
        "operation" => {
            let other = value
                .strip_prefix('f')
                .map_or_else(|| format!("f{}", value.trim_start_matches('u')), ToOwned::to_owned);
            operations().filter(|operation| *operation == other).collect()
        }
        "ordering" => {
            let nearest: &[Ordering] = match value.parse() {
                Ok(Ordering::AcqRel) => &[Ordering::Acquire, Ordering::Release],
                Ok(Ordering::Acquire) => &[Ordering::Release],
                Ok(Ordering::Release) => &[Ordering::Acquire],
                _ => &[Ordering::Relaxed, Ordering::AcqRel],
            };
            nearest.iter().map(ToString::to_string).collect()
        }
        "type" => {
            let bits = Type::iter().find(|ty| ty.to_string() == value).map_or(32, Type::bits);
            Type::iter().sorted_by_key(|ty| (ty.lanes(), ty.bits().abs_diff(bits))).map(|ty| ty.to_string()).collect()
        }
        "space" => vec!["global".to_owned()],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use ptx_lowering::ptx::Space;
    use serde_json::json;

    use super::*;

    fn question(operation: &str, ordering: &str, ty: &str, space: &str) -> Map<String, Value> {
        let question =
            json!({ "operation": operation, "ordering": ordering, "type": ty, "space": space, "scope": "sys" });
        question.as_object().expect("an object").clone()
    }

    /// Checks the changes after a field of an operation was chosen.
    fn check(question: &Map<String, Value>, field: &str, changed: Value) {
        let adjusted = adjust(question, field);
        assert_eq!(Value::Object(adjusted.changed), changed, "{field} of {question:?}: {}", adjusted.note);
    }

    #[test]
    fn the_nearest_choice_that_is_possible() {
        check(&question("add", "acq_rel", "i32", "global"), "operation", json!({}));
        check(&question("load", "acq_rel", "i32", "global"), "operation", json!({ "ordering": "acquire" }));
        check(&question("store", "acq_rel", "i32", "global"), "operation", json!({ "ordering": "release" }));
        check(&question("fence", "relaxed", "i32", "global"), "operation", json!({ "ordering": "acq_rel" }));
        check(&question("fadd", "acq_rel", "i32", "global"), "operation", json!({ "type": "f32" }));
        check(&question("fadd", "acq_rel", "i64", "global"), "operation", json!({ "type": "f64" }));
        check(
            &question("store", "acquire", "i32", "const"),
            "operation",
            json!({ "ordering": "release", "space": "global" }),
        );
        check(&question("add", "acq_rel", "f32", "global"), "type", json!({ "operation": "fadd" }));
        check(&question("umax", "acq_rel", "f64", "global"), "type", json!({ "operation": "fmax" }));
        check(&question("and", "acq_rel", "f64", "global"), "type", json!({ "type": "i64" }));
        check(&question("load", "release", "i32", "global"), "ordering", json!({ "ordering": "acquire" }));
        check(&question("add", "acquire", "i32", "const"), "space", json!({ "space": "global" }));
        check(&question("odd", "acquire", "i32", "const"), "space", json!({}));
    }

    #[test]
    fn a_note_says_why() {
        let note = adjust(&question("load", "acq_rel", "i32", "global"), "operation").note;
        assert_eq!(note, "no language has acq_rel for a load: ordering is now acquire.");
    }

    /// After any value of a field is chosen in a possible operation, the adjusted operation is possible.
    #[test]
    fn every_choice_is_possible_in_the_end() {
        let names = [
            ("operation", operations().collect_vec()),
            ("ordering", Ordering::iter().map(|ordering| ordering.to_string()).collect()),
            ("type", Type::iter().map(|ty| ty.to_string()).collect()),
            ("space", Space::iter().map(|space| space.to_string()).collect()),
        ];
        let mut changed = 0;
        for all in names.iter().map(|(_, values)| values).multi_cartesian_product().step_by(7) {
            let before = question(all[0], all[1], all[2], all[3]);
            if refusal(&before).is_some() {
                continue;
            }
            for (field, values) in &names {
                for value in values {
                    let mut chosen = before.clone();
                    chosen.insert((*field).to_owned(), value.clone().into());
                    let adjusted = adjust(&chosen, field);
                    changed += adjusted.changed.len();
                    chosen.extend(adjusted.changed);
                    assert_eq!(refusal(&chosen), None, "{value} for {field} of {before:?}");
                }
            }
        }
        assert!(changed > 1000, "only {changed}");
    }
}
