//! The results of a suite, counted and written.

use std::collections::BTreeMap;

use itertools::Itertools;
use ptx_lowering::{RmwOp, Target};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use serde::Serialize;
use strum::EnumMessage;

use crate::{
    cell::Cell,
    llvm_ir,
    suite::Outcome,
    values::Values,
    verdict::{Grade, Standing},
};

/// The results of the functions for one target.
#[derive(Clone, Debug)]
pub struct Results {
    /// The target.
    pub target: Target,
    /// The names of the assemblers that accept the target.
    pub assemblers: Vec<String>,
    /// The outcomes in the order of the suite, each with its standing in the baseline.
    pub outcomes: Vec<(Outcome, Standing)>,
}

impl Results {
    /// The number of functions with each verdict.
    pub fn counts(&self) -> BTreeMap<Grade, usize> {
        self.outcomes.iter().map(|(outcome, _)| outcome.verdict).counts().into_iter().collect()
    }

    /// The number of right functions.
    pub fn right(&self) -> usize {
        self.counts().get(&Grade::Right).copied().unwrap_or(0)
    }

    /// The remarks on right functions, each with the number of functions.
    pub fn notes(&self) -> Vec<(&'static str, usize)> {
        let right = self.outcomes.iter().filter(|(outcome, _)| outcome.verdict == Grade::Right);
        let notes = right.flat_map(|(outcome, _)| &outcome.notes).filter_map(|note| note.get_message());
        notes.counts().into_iter().sorted().collect()
    }

    /// The number of functions that the interpreter did not check, by the instruction that it does not know.
    pub fn unknown_values(&self) -> BTreeMap<&str, usize> {
        let unknown = self.outcomes.iter().filter_map(|(outcome, _)| match &outcome.values {
            Some(Values::Unknown(what)) => Some(&**what),
            _ => None,
        });
        unknown.counts().into_iter().collect()
    }

    /// The functions that are not right, grouped by verdict and kind, the worst first.
    pub fn failures(&self) -> Vec<Class<'_>> {
        let failing = self.outcomes.iter().map(|(outcome, _)| outcome).filter(|found| found.verdict != Grade::Right);
        let by_class = failing.into_group_map_by(|found| (found.verdict, found.cell.kind()));
        let class = |((verdict, kind), outcomes)| Class { verdict, kind, outcomes };
        by_class.into_iter().map(class).sorted_by_key(|class| (std::cmp::Reverse(class.verdict), class.kind)).collect()
    }

    /// The name of the target, such as `sm_90 ptx86`.
    pub fn name(&self) -> String {
        target_name(&self.target)
    }
}

/// Functions of one kind that fail alike.
pub struct Class<'r> {
    /// The verdict of the functions.
    pub verdict: Grade,
    /// The kind of the operation in LLVM IR.
    pub kind: &'static str,
    /// The functions, at least one.
    pub outcomes: Vec<&'r Outcome>,
}

impl Class<'_> {
    /// The function with the shortest code, or with the shortest name.
    pub fn smallest(&self) -> &Outcome {
        let length = |outcome: &&&Outcome| {
            let lines = outcome.ptx.as_ref().map(|ptx| ptx.lines().count());
            (lines, outcome.cell.name.len(), outcome.cell.name.clone())
        };
        self.outcomes.iter().min_by_key(length).expect("a class has one at least")
    }
}

/// The name of a target, such as `sm_90 ptx86`.
pub(crate) fn target_name(target: &Target) -> String {
    format!("{} {}", target.sm.name(), target.ptx.feature())
}

/// A share with one decimal of a percent. A share with a loss is never printed as 100%.
pub fn percent(part: usize, whole: usize) -> String {
    let share = 100.0 * part as f64 / whole.max(1) as f64;
    format!("{:.1}%", if part < whole { share.min(99.9) } else { share })
}

/// The results as JSON.
#[derive(Serialize)]
struct JsonResults<'r> {
    sm: &'static str,
    ptx: String,
    assemblers: &'r [String],
    counts: BTreeMap<Grade, usize>,
    functions: Vec<JsonFunction<'r>>,
    /// The text before functions; `head` of a function is an index into this list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    heads: Vec<&'r str>,
}

#[derive(Serialize)]
struct JsonFunction<'r> {
    name: &'r str,
    kind: &'static str,
    operation: &'static str,
    #[serde(rename = "type")]
    ty: &'static str,
    /// The width of the value; 0 for a fence.
    bits: u32,
    ordering: String,
    scope: &'static str,
    address_space: Option<u32>,
    volatile: bool,
    /// The first version of LLVM that has the operation; 22 stands for 22 and all earlier versions.
    since_llvm: u32,
    verdict: Grade,
    standing: Standing,
    said: &'r [String],
    notes: Vec<&'static str>,
    /// `right`, `wrong`, `effect`, or the name of an unknown instruction; null if the PTX lacks the function.
    values: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ptx: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    head: Option<usize>,
}

impl<'r> JsonFunction<'r> {
    fn new(outcome: &'r Outcome, standing: Standing) -> Self {
        let cell: &Cell = &outcome.cell;
        Self {
            name: &cell.name,
            kind: cell.kind(),
            operation: cell.rmw().map_or("", Into::into),
            ty: cell.llvm_type(),
            bits: cell.space().map_or(0, |_| cell.ty.ty.bits()),
            ordering: cell.ordering(),
            scope: llvm_ir::scope_name(cell.op.scope),
            address_space: cell.space().map(llvm_ir::address_space),
            volatile: cell.is_volatile(),
            since_llvm: cell.rmw().map_or(22, RmwOp::since_llvm),
            verdict: outcome.verdict,
            standing,
            said: &outcome.said,
            notes: outcome.notes.iter().map(Into::into).collect(),
            values: outcome.values.as_ref().map(|values| match values {
                Values::Right => "right",
                Values::Wrong(_) => "wrong",
                Values::Effect(_) => "effect",
                Values::Unknown(what) => what,
            }),
            ptx: None,
            head: None,
        }
    }
}

/// Results as JSON: one object for each target. With `with_ptx`, each function has its PTX.
pub fn json(all: &[Results], with_ptx: bool) -> String {
    let results = |results: &'_ Results| -> serde_json::Result<String> {
        let mut heads = Vec::new();
        let functions = results.outcomes.iter().map(|(outcome, standing)| {
            let mut function = JsonFunction::new(outcome, *standing);
            function.ptx = outcome.ptx.as_deref().filter(|_| with_ptx);
            if function.ptx.is_some() {
                let known = heads.iter().position(|head| *head == outcome.head);
                function.head = Some(known.unwrap_or(heads.len()));
                if known.is_none() {
                    heads.push(&*outcome.head);
                }
            }
            function
        });
        let functions = functions.collect();
        let Results { target, assemblers, .. } = results;
        let (sm, ptx) = (target.sm.name(), target.ptx.feature());
        serde_json::to_string(&JsonResults { sm, ptx, assemblers, counts: results.counts(), functions, heads })
    };
    let all = all.iter().map(|one| results(one).expect("it has only strings and numbers")).join(",\n");
    format!("[{all}]\n")
}

/// Results as JUnit's XML: a suite for each target, and a test for each function. A known failure is skipped.
pub fn junit(all: &[Results]) -> String {
    let mut report = Report::new("ptx-atomics conformance");
    for results in all {
        let name = results.name();
        let mut suite = TestSuite::new(&*name);
        for (outcome, standing) in &results.outcomes {
            let (grade, message) = (outcome.verdict, outcome.verdict.message());
            let status = match standing {
                Standing::Right | Standing::Fixed => TestCaseStatus::success(),
                Standing::Known => {
                    let mut status = TestCaseStatus::skipped();
                    status.set_message(format!("known: {message}"));
                    status
                }
                Standing::Failure => {
                    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                    status.set_type(grade.to_string());
                    status.set_message(format!("{message}: {}", outcome.said.join("\n")));
                    status.set_description(outcome.ptx.as_deref().unwrap_or_default());
                    status
                }
            };
            let mut case = TestCase::new(&*outcome.cell.name, status);
            case.set_classname(&*name);
            suite.add_test_case(case);
        }
        report.add_test_suite(suite);
    }
    report.to_string().expect("it has only text")
}
