//! The PTX of one operation, with its changes, requirements and costs.

use itertools::Itertools;
use ptx_atomics_common::settings::{self, Settings};
use ptx_lowering::{
    Access, AtomicOp, Change, Lowering, Operation, Ordering, Policy, RmwOp, SyncScope, Target, Type,
    abi::{ABI, RowName, Step},
    lower,
    ptx::{Instruction, Space},
    sass::{Family, Note, Sass},
};
use serde::{Deserialize, Serialize};
use strum::{EnumMessage, IntoEnumIterator};

use crate::answer::{self, Wrong};

/// The operations that are not a read-modify-write of `atomicrmw`.
const PLAIN: [&str; 4] = ["load", "store", "cmpxchg", "fence"];

/// The names of all operations.
pub fn operations() -> impl Iterator<Item = String> {
    PLAIN.into_iter().map(ToOwned::to_owned).chain(RmwOp::iter().map(|op| op.to_string()))
}

/// An operation and the options of its lowering, as the fields of the page. An empty text means that the option is not
/// set.
#[derive(Clone, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Question {
    operation: String,
    ordering: String,
    /// The ordering of a failing `cmpxchg`.
    failure: String,
    scope: String,
    #[serde(rename = "type")]
    ty: String,
    space: String,
    /// The format of this and of the following fields is the format of the command line.
    mcpu: String,
    mattr: String,
    strategy: String,
    fp_atomics: String,
    volatile: bool,
    generic_may_be_local: bool,
    volatile_as_mmio: bool,
    /// The attribute `denormal-fp-math-f32` of a function: whether it flushes subnormals.
    flush_f32: bool,
}

/// The lowering of one operation.
#[derive(Serialize)]
pub struct Explored {
    target: String,
    /// The PTX, with one statement on each line; empty for an operation that needs no instruction.
    ptx: String,
    /// The differences from the operation and from the ABI's row.
    changes: Vec<Explained>,
    /// The ABI's row, and its sequences.
    row: Option<StrategyRow>,
    /// The requirements of the instructions' forms.
    requires: Vec<Required>,
    sass: Option<Measured>,
}

#[derive(Serialize)]
struct Explained {
    name: &'static str,
    message: &'static str,
}

#[derive(Serialize)]
struct StrategyRow {
    /// The name of the strategy on the command line.
    name: String,
    /// The operation of the row, in the text of the ABI's document.
    words: String,
    sequences: Vec<String>,
    /// The index of the chosen sequence; `None` if the strategy has a sequence that the row lacks.
    used: Option<usize>,
}

#[derive(Serialize)]
struct Required {
    form: String,
    requirement: String,
}

/// The machine code of ptxas, as measured.
#[derive(Serialize)]
struct Measured {
    family: String,
    ptxas: &'static str,
    opcodes: Vec<String>,
    membar: usize,
    errbar: usize,
    cctl: usize,
    /// Further effects of ptxas.
    notes: Vec<&'static str>,
}

/// Reads a [`Question`] as JSON, and returns an [`Explored`], or the errors in its fields.
pub fn answer(question: &str) -> String {
    answer::answer(question, Question::explore)
}

/// Finds a value by its name.
fn named<T: ToString>(field: &'static str, name: &str, mut all: impl Iterator<Item = T> + Clone) -> Result<T, Wrong> {
    let known = all.clone().map(|value| value.to_string());
    let found = all.find(|value| value.to_string() == name);
    found.ok_or_else(|| unknown(field, name, known))
}

fn unknown(field: &'static str, name: &str, mut known: impl Iterator<Item = String>) -> Wrong {
    Wrong::new(field, format!("unknown {field} '{name}'; the known {field}s are {}", known.join(", ")))
}

/// Finds a read-modify-write operation by its name.
fn rmw(name: &str) -> Result<RmwOp, Wrong> {
    named("operation", name, RmwOp::iter()).map_err(|_| unknown("operation", name, operations()))
}

/// Returns the value of a field, or records its error.
fn kept<T>(errors: &mut Vec<Wrong>, value: Result<T, Wrong>) -> Option<T> {
    value.map_err(|wrong| errors.push(wrong)).ok()
}

impl Question {
    fn explore(&self) -> Result<Explored, Vec<Wrong>> {
        let mut errors = Vec::new();
        let op = self.op(&mut errors);
        let settings = self.settings(&mut errors);
        let target = kept(&mut errors, settings.target(None, None).map_err(|error| Wrong::new("mattr", error)));
        let (Some(op), Some(target), true) = (op, target, errors.is_empty()) else { return Err(errors) };
        let policy = Policy { flush_f32: self.flush_f32, ..settings.options(target).policy };
        let lowered = lower(&op, &policy, &target);
        let lowering = lowered
            .map_err(|errors| errors.into_iter().map(|error| Wrong::new("operation", error)).collect::<Vec<_>>())?;
        Ok(Explored::new(&lowering, &target))
    }

    pub(crate) fn op(&self, errors: &mut Vec<Wrong>) -> Option<AtomicOp> {
        let ordering = kept(errors, named("ordering", &self.ordering, Ordering::iter()));
        let scope = match &self.scope[..] {
            "singlethread" => Some(SyncScope::SingleThread),
            name => {
                kept(errors, settings::scope(name).map_err(|error| Wrong::new("scope", error))).map(SyncScope::Threads)
            }
        };
        let operation = self.operation(errors);
        Some(AtomicOp { operation: operation?, ordering: ordering?, scope: scope? })
    }

    fn operation(&self, errors: &mut Vec<Wrong>) -> Option<Operation> {
        if self.operation == "fence" {
            return Some(Operation::Fence);
        }
        let ty = kept(errors, named("type", &self.ty, Type::iter()));
        let space = kept(errors, named("space", &self.space, Space::iter()));
        let failure = match (&self.operation[..], &self.failure[..]) {
            ("cmpxchg", name @ ("" | "relaxed" | "acquire" | "seq_cst")) => name.parse().unwrap_or(Ordering::Relaxed),
            ("cmpxchg", name) => {
                let message =
                    format!("expected relaxed, acquire or seq_cst as the failure ordering of cmpxchg, found '{name}'");
                errors.push(Wrong::new("failure", message));
                return None;
            }
            _ => Ordering::Relaxed,
        };
        let rmw = match &self.operation[..] {
            "load" | "store" | "cmpxchg" => None,
            name => Some(kept(errors, rmw(name))?),
        };
        let mut access = Access::new(space?, ty?);
        access.volatile = self.volatile;
        access.may_be_local = self.generic_may_be_local && access.space == Space::Generic;
        Some(match (&self.operation[..], rmw) {
            (_, Some(op)) => Operation::Rmw(op, access),
            ("load", None) => Operation::Load(access),
            ("store", None) => Operation::Store(access),
            (_, None) => Operation::CmpXchg { access, failure },
        })
    }

    /// The options of the command that the fields set.
    fn settings(&self, errors: &mut Vec<Wrong>) -> Settings {
        let mut settings = Settings { volatile_as_mmio: Some(self.volatile_as_mmio), ..Settings::default() };
        let mut set = |field, value: &str, read: &dyn Fn(&mut Settings, &str) -> Result<(), String>| {
            if !value.is_empty()
                && let Err(message) = read(&mut settings, value)
            {
                errors.push(Wrong::new(field, message));
            }
        };
        set("mcpu", &self.mcpu, &|to, name| settings::sm(name).map(|sm| to.mcpu = Some(sm)));
        set("mattr", &self.mattr, &|to, list| settings::features(list).map(|features| to.mattr = features.ptx));
        set("strategy", &self.strategy, &|to, list| settings::strategies(list).map(|rows| to.strategies = rows));
        set("fp-atomics", &self.fp_atomics, &|to, list| list.parse().map(|choice| to.fp_atomics = choice));
        settings
    }
}

impl Explored {
    fn new(lowering: &Lowering, target: &Target) -> Self {
        let statements = lowering.sequence.statements();
        let explained =
            |change: &Change| Explained { name: change.into(), message: change.get_message().unwrap_or_default() };
        let mut requires: Vec<Required> = Vec::new();
        for form in lowering.sequence.instructions().flat_map(Instruction::forms) {
            let required = Required { form: form.to_string(), requirement: form.requirement().to_string() };
            if !requires.iter().any(|known| known.form == required.form) {
                requires.push(required);
            }
        }
        Self {
            target: target.to_string(),
            ptx: statements.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
            changes: lowering.changes.iter().map(explained).collect(),
            row: lowering.row.and_then(|name| StrategyRow::find_row(name, lowering.chosen)),
            requires,
            sass: Measured::measure_lowering(lowering, target),
        }
    }
}

impl StrategyRow {
    fn find_row(name: RowName, chosen: Option<&[Step]>) -> Option<Self> {
        let row = ABI.iter().find(|row| row.name() == name)?;
        let words = |steps: &&[Step]| steps.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        Some(Self {
            name: row.name().to_string(),
            words: row.to_string(),
            sequences: row.sequences.iter().map(words).collect(),
            used: row.sequences.iter().position(|steps| Some(*steps) == chosen),
        })
    }
}

impl Measured {
    fn measure_lowering(lowering: &Lowering, target: &Target) -> Option<Self> {
        let family = Family::from_sm(target.sm)?;
        let sass = Sass::of_sequence(&lowering.sequence, family)?;
        let counts = sass.counts();
        Some(Self {
            family: family.to_string(),
            ptxas: family.assembler(),
            membar: counts.membar,
            errbar: counts.errbar,
            cctl: counts.cctl,
            opcodes: sass.opcodes().to_vec(),
            notes: Note::of_sequence(&lowering.sequence, family).filter_map(|note| note.get_message()).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the row of the ABI in the answer.
    fn check(fields: &str, row: Option<&str>) {
        let usual = r#"{"operation": "add", "ordering": "acq_rel", "scope": "gpu", "type": "i32", "space": "global"}"#;
        let mut question: serde_json::Value = serde_json::from_str(usual).expect("a question");
        let others: serde_json::Map<_, _> = serde_json::from_str(fields).expect("fields");
        question.as_object_mut().expect("an object").extend(others);
        let question: Question = serde_json::from_value(question).expect("a question");
        let explored = question.explore().expect("it has a lowering");
        assert_eq!(explored.row.as_ref().map(|row| &row.name[..]), row, "{fields}");
    }

    /// The first line of the PTX of an f32 operation on a generic address, or of another operation that these fields
    /// choose.
    fn first(fields: &str) -> String {
        let usual = r#"{"operation": "fadd", "ordering": "relaxed", "scope": "gpu", "type": "f32", "space": "generic", "mcpu": "sm_90", "mattr": "+ptx93"}"#;
        let mut question: serde_json::Value = serde_json::from_str(usual).expect("a question");
        let others: serde_json::Map<_, _> = serde_json::from_str(fields).expect("fields");
        question.as_object_mut().expect("an object").extend(others);
        let question: Question = serde_json::from_value(question).expect("a question");
        question.explore().expect("it has a lowering").ptx.lines().next().unwrap_or_default().to_owned()
    }

    /// The error about an unknown value lists all possible values, including the operations that are not an
    /// `atomicrmw`.
    #[test]
    fn unknown_names_are_listed_with_known_names() {
        let said = answer(r#"{"operation": "odd", "ordering": "odd", "scope": "odd", "type": "i7", "space": "odd"}"#);
        let known = [
            "load, store, cmpxchg, fence, xchg",
            "acq_rel, seq_cst",
            "sys, cluster, gpu and cta",
            "i8, i16",
            "generic, global",
        ];
        assert!(known.iter().all(|known| said.contains(known)), "{said}");
    }

    /// Each option has the same effect as in the command.
    #[test]
    fn options_are_those_of_the_library() {
        let native = "atom.relaxed.gpu.add.f32 %d, [%a], %b;";
        assert_eq!(first("{}"), native);
        assert_ne!(first(r#"{"fp-atomics": "ieee"}"#), native);
        assert_eq!(first(r#"{"fp-atomics": "ieee", "flush-f32": true}"#), native);
        assert!(first(r#"{"generic-may-be-local": true}"#).starts_with(".reg .pred"));
        let load = r#""operation": "load", "space": "global""#;
        assert_eq!(first(&format!("{{{load}}}")), "ld.relaxed.gpu.global.b32 %d, [%a];");
        assert_eq!(first(&format!(r#"{{{load}, "volatile": true}}"#)), "ld.volatile.global.b32 %d, [%a];");
        let mmio = first(&format!(r#"{{{load}, "volatile": true, "volatile-as-mmio": true}}"#));
        assert_eq!(mmio, "ld.mmio.relaxed.sys.global.b32 %d, [%a];");
    }

    #[test]
    fn rows_are_those_that_are_followed() {
        check("{}", Some("rmw.acq_rel"));
        check(r#"{"scope": "singlethread"}"#, Some("rmw.relaxed"));
        check(r#"{"space": "local"}"#, None);
        check(r#"{"operation": "fence", "scope": "singlethread"}"#, None);
        check(r#"{"operation": "cmpxchg", "ordering": "release", "failure": "acquire"}"#, Some("rmw.acq_rel"));
    }
}
