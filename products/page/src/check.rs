//! The findings of `ptx-atomics check` in PTX: faults of asynchronous operations, and data races of all accesses, with
//! executions.

use std::time::Duration;

use ptx_check::{
    Budget, Check, Document, KernelReport, Launch, Lines, NotAsked, Question as Asks, Side, Verdict, View,
};
use ptx_execute::{End, Given, SearchBudget, Tried, search};
use ptx_isa::{LaunchSize, Module, Places, Stop, legality};
use ptx_memory_model::{kernel::source_name as name, ptx::readings::Readings};
use serde::{Deserialize, Serialize};

use crate::{
    answer::{self, Wrong},
    finding::{Edit, Row},
    order::{self, Order},
};

/// The time limit of each question about a kernel, in seconds, if the page does not set it.
const PATIENCE: f64 = 60.0;

/// PTX with the options of the check, as the fields of the page. An empty text means that the option is not set.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Question {
    /// The PTX.
    text: String,
    /// The LLVM IR from which a compiler made the PTX.
    ir: String,
    /// The format of this and of the following fields is the format of the command line: `128` or `16,8`.
    block: String,
    grid: String,
    profile: String,
    /// The time limit for each kernel, in seconds.
    time_limit: String,
}

/// The result of the check.
#[derive(Serialize)]
pub struct Known {
    kernels: Vec<OfKernel>,
    /// The findings, ordered by their lines.
    findings: Vec<Row>,
    /// Lines that are not parsed, and therefore not checked, and lines that the assembler rejects.
    unread: Vec<Wrong>,
    /// The comparison with the operations of the IR, if the question has IR.
    order: Option<Order>,
}

/// The result for a kernel.
#[derive(Serialize)]
struct OfKernel {
    kernel: String,
    /// The verdict on data races: `free`, `race`, `divergent` or `open`; `None` for asynchronous operations, which the
    /// proof does not cover.
    races: Option<String>,
    /// The assumptions of the proof.
    assumptions: Vec<String>,
    /// Whether the kernel has asynchronous operations.
    is_asynchronous: bool,
    /// The launch of the execution, as options of `ptx-atomics run`, and the end of the execution; `None` if the kernel
    /// cannot be launched.
    ran: Option<String>,
}

/// Reads a [`Question`] as JSON, and returns a [`Known`], or the errors in its fields.
pub fn answer(question: &str) -> String {
    answer::answer(question, Question::ask)
}

/// The lines of PTX that are not parsed, or that the assembler rejects, as JSON: a list of lines and messages.
pub fn unread(text: &str) -> String {
    answer::list(legality::read(text).1.into_iter().map(answer::unread))
}

impl Question {
    fn ask(&self) -> Result<Known, Vec<Wrong>> {
        let mut errors = Vec::new();
        let size = answer::size(&self.block, &self.grid, &mut errors);
        let readings = answer::profile(&self.profile, &mut errors);
        let seconds = if self.time_limit.is_empty() { Some(PATIENCE) } else { self.time_limit.parse().ok() };
        let time = seconds.filter(|seconds| (0.0..=1e6).contains(seconds)).map(Duration::from_secs_f64);
        if time.is_none() {
            let message = format!("expected seconds, from 0 to 1000000, found '{}'", self.time_limit);
            errors.push(Wrong::new("time-limit", message));
        }
        let (module, unread) = legality::read(&self.text);
        let unread: Vec<_> = unread.into_iter().map(answer::unread).collect();
        let has_ir = !self.ir.trim().is_empty();
        let order = has_ir.then(|| order::judged(&self.ir, &module, &mut errors));
        if module.kernels().next().is_none() && errors.is_empty() && !has_ir {
            errors.extend(unread);
            errors.push(Wrong::new("text", "the text has no kernel to check: expected an `.entry` of PTX"));
            return Err(errors);
        }
        match time {
            Some(time) if errors.is_empty() => {
                Ok(Known { order, ..Asked { text: &self.text, module, size, readings, time }.check_module(unread) })
            }
            _ => Err(errors),
        }
    }
}

/// A question whose fields are valid.
struct Asked<'a> {
    text: &'a str,
    module: Module,
    size: LaunchSize,
    readings: Readings,
    time: Duration,
}

impl Asked<'_> {
    fn check_module(&self, unread: Vec<Wrong>) -> Known {
        let is_quick = self.time.is_zero();
        let check = Check {
            launch: Launch { size: self.size, ..Launch::default() },
            readings: self.readings,
            budget: if is_quick { Budget::quick() } else { Budget::default() },
            time: if is_quick { Duration::MAX } else { self.time },
            jobs: 1,
            explains: true,
            ..Check::new(&self.module)
        };
        let mut report = check.run();
        let places = Places::read_text("");
        let lines = Lines::Ptx { places: &places, is_given: true };
        let document = Document { program: "", text: self.text, lines };
        document.allow(&mut report);
        let of_kernel = |kernel: &KernelReport| {
            let races = kernel.answer(Asks::Races);
            let is_asynchronous = races.is_some_and(|of| of.verdict == Verdict::NotAsked(NotAsked::Asynchronous));
            OfKernel {
                kernel: name(&kernel.kernel),
                races: races.filter(|_| !is_asynchronous).map(|races| races.verdict.to_string()),
                assumptions: races.iter().flat_map(|races| &races.assumptions).map(ToString::to_string).collect(),
                is_asynchronous,
                ran: self.ran(&kernel.kernel, kernel.has_block),
            }
        };
        let has_body = |kernel: &&KernelReport| self.module.kernels().any(|function| function.name == kernel.kernel);
        let kernels: Vec<OfKernel> = report.kernels.iter().filter(has_body).map(of_kernel).collect();
        let mut findings: Vec<Row> = report
            .kernels
            .iter()
            .filter(has_body)
            .flat_map(|kernel| document.views(kernel))
            .filter(|view| view.finding.allowed.is_none())
            .map(row)
            .collect();
        findings.sort_by_key(|finding| (finding.line, finding.first));
        Known { kernels, findings, unread, order: None }
    }

    /// The launch that executes the most instructions, and the end of its execution.
    fn ran(&self, kernel: &str, has_block: bool) -> Option<String> {
        let given = Given { size: self.size, ..Given::default() };
        let stop = Stop::after(self.time);
        let Tried { launch, end, covered: (executed, all), .. } =
            search(&self.module, kernel, &given, &SearchBudget::default(), &stop).ok()?.into_iter().next()?;
        let how = match end {
            End::Ended => "all threads ended".to_owned(),
            End::Cut => "the time limit ended the execution".to_owned(),
            End::Stopped(kind) => format!("the execution stopped: {kind}"),
        };
        let chosen = if has_block {
            ""
        } else {
            "; the check chose the number of threads of a CTA, which the kernel does not set"
        };
        Some(format!("{launch}: {how}, {executed} of {all} instructions executed{chosen}"))
    }
}

/// A finding in the form of the page.
fn row(view: View<'_>) -> Row {
    let finding = view.finding;
    let edits = view.all_edits().filter(|edit| edit.side != Side::InPlace).map(|edit| Edit {
        line: edit.at.line,
        before: edit.side == Side::Before,
        instruction: edit.instruction.clone(),
    });
    Row {
        check: finding.question.into(),
        kernel: view.name.clone(),
        level: match finding.severity {
            _ if finding.is_not_checked() => "not-checked",
            _ if finding.is_possible() => "possible",
            severity => severity.into(),
        },
        line: view.place.as_ref().map_or(0, |place| place.line),
        first: view.first.as_ref().map(|first| first.line),
        edits: edits.collect(),
        notes: view.notes,
        help: view.help,
        explained: finding.explanation.clone(),
        message: view.message,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use itertools::Itertools;
    use serde_json::{Value, json};

    use super::answer;

    fn asked(question: &Value) -> Value {
        serde_json::from_str(&answer(&question.to_string())).expect("an answer is JSON")
    }

    /// Checks the findings in an example: the verdict on races, and level and line of each finding.
    #[track_caller]
    fn check(name: &str, races: Option<&str>, findings: &[(&str, u64)]) {
        let path = format!("{}/../../examples/check/{name}.ptx", env!("CARGO_MANIFEST_DIR"));
        let text = fs::read_to_string(path).expect("an example");
        let known = &asked(&json!({ "text": text }))["answer"];
        let one = |finding: &Value| {
            (finding["level"].as_str().expect("a level").to_owned(), finding["line"].as_u64().expect("a line"))
        };
        let found: Vec<_> = known["findings"].as_array().expect("findings").iter().map(one).collect();
        let found: Vec<_> = found.iter().map(|(level, line)| (&level[..], *line)).collect();
        assert_eq!((known["kernels"][0]["races"].as_str(), &found[..]), (races, findings), "{known:#}");
        assert!(known["kernels"][0]["ran"].as_str().expect("a run").contains("all threads ended"), "{known:#}");
    }

    #[test]
    fn examples_match_their_names() {
        check("missing_barrier", Some("race"), &[("error", 17)]);
        check("barrier", Some("free"), &[]);
        check("narrow_scope", Some("race"), &[("error", 20), ("error", 23)]);
        check("message", Some("free"), &[]);
        check("missing_wait", None, &[("error", 21)]);
        check("wait", None, &[]);
        check("missing_proxy_fence", None, &[("error", 16)]);
        check("proxy_fence", None, &[]);
    }

    /// An error names its field.
    #[test]
    fn errors_name_their_field() {
        let fields = |question: Value| {
            let answer = asked(&question);
            let of = |wrong: &Value| wrong["field"].as_str().expect("a field").to_owned();
            answer["errors"].as_array().expect("errors").iter().map(of).unique().collect::<Vec<_>>()
        };
        assert_eq!(fields(json!({ "text": "" })), ["text"]);
        assert_eq!(fields(json!({ "text": "int main() {}" })), ["text"]);
        let kernel = ".version 8.0\n.target sm_90\n.visible .entry k() { ret; }";
        for (field, value) in
            [("block", "0"), ("block", "1,2,3,4"), ("grid", "x"), ("profile", "lax"), ("time-limit", "-1")]
        {
            assert_eq!(fields(json!({ "text": kernel, field: value })), [field], "{value}");
        }
    }

    #[test]
    fn errors_of_the_reader_are_reported() {
        let text =
            ".version 8.0\n.target sm_90\n.visible .entry k() {\n frob.u32 %r1;\n ret; }\n.visible .entry l() { ret; }";
        let answer = asked(&json!({ "text": text }));
        assert!(answer["answer"]["kernels"].as_array().is_some_and(|kernels| !kernels.is_empty()), "{answer:#}");
    }

    /// The errors of the command, in the order of the text.
    #[test]
    fn instructions_that_the_assembler_refuses() {
        let text =
            ".version 8.0\n.target sm_90\n.visible .entry k() {\n bar.sync;\n ret; }\n.visible .entry l() {\n ret }";
        let answer = asked(&json!({ "text": text }));
        let unread = json!([
            { "field": "text", "line": 4, "message": "expected 1 or 2 operands, found 0 of `bar.sync`" },
            { "field": "text", "line": 7, "message": "a `;` is missing" },
        ]);
        assert_eq!(answer["answer"]["unread"], unread, "{answer:#}");
        let typed: Value = serde_json::from_str(&super::unread(text)).expect("JSON");
        assert_eq!(typed, unread);
    }
}
