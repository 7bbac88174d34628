//! The result of `ptx-atomics run` for PTX, with a launch that the user describes, or with a chosen launch.

use std::path::Path;

use ptx_execute::{
    RunOptions,
    described::{
        assumed,
        comment::{Comments, Description, Wrong as AtLine},
        plan::{self, Plan},
        result::{Importance, PlanFinding, PlanResult, Showing},
        runs,
        simulate::Simulation,
    },
};
use ptx_isa::{Module, legality};
use ptx_memory_model::kernel::source_name as name;
use serde::{Deserialize, Serialize};

use crate::{
    answer::{self, Wrong},
    finding::Row,
};

/// The limit of the elements of a buffer that the page shows.
const SHOWN: usize = 64;
/// The limit of the memory of a run, in bytes: a page has less memory than a program.
const MEMORY: u64 = 256 << 20;
/// The limit of the executions of a run.
const SEEDS: u64 = 1000;

/// PTX with the options of the run, as the fields of the page. An empty text means that the option is not set.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Question {
    /// The PTX. If `launch` is empty, its comments describe the runs.
    text: String,
    /// The text after `run:` in such a comment, one line for each run.
    launch: String,
    /// The format of this and of the following fields is the format of the command line: `128` or `16,8`.
    block: String,
    grid: String,
    seeds: String,
}

/// The results of the runs.
#[derive(Serialize)]
pub struct Ran {
    runs: Vec<Run>,
}

#[derive(Serialize)]
struct Run {
    /// The summary of the command, in one line.
    summary: String,
    /// The parts of the launch that the command chose.
    chosen: Option<String>,
    /// The exit status of the command: 0 without an error, 1 with an error, 2 if the run did not end.
    status: u8,
    findings: Vec<Row>,
    /// The conditions that do not hold, and the reason why a kernel was not launched.
    failed: Vec<String>,
    /// The output of the kernels' `printf` with the first seed.
    printed: String,
    /// The final values of buffers and variables, with the first seed.
    memory: Vec<String>,
    /// The command that makes the same run from a file; `None` if the command has no options for the run.
    command: Option<String>,
}

/// Reads a [`Question`] as JSON, and returns a [`Ran`], or the errors in its fields.
pub fn answer(question: &str) -> String {
    answer::answer(question, Question::ask)
}

impl Question {
    fn ask(&self) -> Result<Ran, Vec<Wrong>> {
        let mut errors = Vec::new();
        let size = answer::size(&self.block, &self.grid, &mut errors);
        let seeds = if self.seeds.is_empty() { Ok(1) } else { self.seeds.parse() };
        let seeds = seeds.ok().filter(|seeds| (1..=SEEDS).contains(seeds));
        if seeds.is_none() {
            errors.push(Wrong::new("seeds", format!("expected a number from 1 to {SEEDS}, found '{}'", self.seeds)));
        }
        let (module, unread) = legality::read(&self.text);
        errors.extend(unread.into_iter().map(answer::unread));
        let comments = self.comments().map_err(|wrong| errors.extend(self.at_lines(wrong)));
        let (Ok(comments), Some(seeds), true) = (comments, seeds, errors.is_empty()) else { return Err(errors) };
        let user = Description { size, ..Description::default() };
        // Only comments can describe launches that depend on each other.
        let options = |run: &Vec<Description>| match &run[..] {
            _ if !self.has_launch() => Some(user.options()),
            [said] => Some(user.over(said).options()),
            _ => None,
        };
        let mut options: Vec<_> = comments.runs.iter().map(options).collect();
        if options.is_empty() {
            options.push(Some(user.options()));
        }
        let plans = runs::plans(&module, comments, &user, Path::new("")).map_err(|wrong| self.at_lines(wrong))?;
        let runs = plans.into_iter().zip(options).map(|(plan, options)| run(&module, plan, seeds, options));
        Ok(Ran { runs: runs.collect() })
    }

    fn has_launch(&self) -> bool {
        !self.launch.trim().is_empty()
    }

    fn comments(&self) -> Result<Comments, Vec<AtLine>> {
        if !self.has_launch() {
            return Comments::read(&self.text, Path::new(""));
        }
        let as_comment = |line: &str| if line.trim().is_empty() { String::new() } else { format!("// run: {line}") };
        let lines: Vec<_> = self.launch.lines().map(as_comment).collect();
        Comments::read(&lines.join("\n"), Path::new(""))
    }

    /// The errors in lines of the launch, or of the PTX if its comments describe the runs.
    fn at_lines(&self, wrong: Vec<AtLine>) -> Vec<Wrong> {
        let at = |(line, why): AtLine| {
            let field = if self.has_launch() || line == 0 { "launch" } else { "text" };
            Wrong { line: (line > 0).then_some(line as usize), ..Wrong::new(field, why) }
        };
        wrong.into_iter().map(at).collect()
    }
}

fn run(module: &Module, mut plan: Plan, seeds: u64, options: Option<String>) -> Run {
    assumed::complete(module, &mut plan);
    let buffers = plan.buffers.iter().map(|buffer| buffer.name.clone());
    let names: Vec<String> = buffers.chain(plan::variables(module).map(|variable| variable.name)).collect();
    let limits = RunOptions { memory_limit: MEMORY, ..RunOptions::default() };
    let simulation = Simulation { module, plan: &plan, options: limits, schedule: None, watch: &|_| {} };
    let mut outcomes = vec![simulation.run(0, &names)];
    // A determinate execution speaks for all seeds.
    let others = if outcomes[0].schedules().is_determinate() { 1..1 } else { 1..seeds };
    outcomes.extend(others.map(|seed| simulation.run(seed, &names)));
    let found = PlanResult::new(plan, outcomes, Showing::default());
    let failed = found.failed.iter().map(|one| format!("{} does not hold: {}", one.text, one.why));
    let seeds = if seeds > 1 { format!(" --seeds {seeds}") } else { String::new() };
    Run {
        summary: found.summary(true),
        chosen: found.chosen(),
        status: found.status(),
        findings: found.findings.iter().map(|shown| finding(&found, shown)).collect(),
        failed: failed.chain(found.errors.iter().map(ToString::to_string)).collect(),
        printed: found.printed.clone(),
        memory: names.iter().filter_map(|name| found.contents(name, Some(SHOWN))).collect(),
        command: options.map(|options| format!("ptx-atomics run kernel.ptx{options}{seeds}")),
    }
}

fn finding(found: &PlanResult, PlanFinding { finding, kernel, level, seeds }: &PlanFinding) -> Row {
    let sites = finding.other.iter().chain((finding.site.at.line > 0).then_some(&finding.site));
    let sites: Vec<_> = sites.map(ToString::to_string).collect();
    let notes = (!sites.is_empty()).then(|| sites.join(", then ")).into_iter().chain(found.with(seeds));
    let first = finding.other.as_ref().map(|other| other.at.line);
    Row {
        check: "run",
        kernel: name(kernel),
        level: match level {
            Importance::Wrong => "error",
            Importance::Warning => "warning",
            Importance::Unknown => "not-checked",
        },
        line: finding.site.at.line,
        first: first.filter(|first| *first != finding.site.at.line),
        message: finding.message.clone(),
        notes: notes.collect(),
        help: finding.help.as_ref().map(ToString::to_string),
        edits: Vec::new(),
        explained: None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::{Value, json};

    use super::answer;

    fn asked(mut question: Value, name: &str) -> Value {
        let path = format!("{}/../../examples/check/{name}.ptx", env!("CARGO_MANIFEST_DIR"));
        question["text"] = fs::read_to_string(path).expect("an example").into();
        serde_json::from_str(&answer(&question.to_string())).expect("an answer is JSON")
    }

    /// Checks a launch of an example: the exit status, the lines of the findings, and a final value or the reason of a
    /// failure.
    #[track_caller]
    fn check(name: &str, question: Value, status: u64, lines: &[u64], said: &str) {
        let answer = asked(question, name);
        let run = &answer["answer"]["runs"][0];
        let found = run["findings"].as_array().into_iter().flatten();
        let found: Vec<_> = found.filter_map(|finding| finding["line"].as_u64()).collect();
        assert_eq!((run["status"].as_u64(), &found[..]), (Some(status), lines), "{answer:#}");
        assert!(format!("{} {}", run["memory"], run["failed"]).contains(said), "{answer:#}");
    }

    #[test]
    fn launches() {
        let barrier = |launch: &str| json!({ "launch": launch, "grid": "1" });
        check("barrier", barrier("out=u32[128]"), 0, &[], "out = [1, 2, 3,");
        check("barrier", barrier("out=u32[128] expect out[0] == 1 && out[127] == 0"), 0, &[], "");
        check("barrier", barrier("out=u32[128] expect out[0] == 2"), 1, &[], "out[0] == 2 does not hold: out[0] is 1");
        check("barrier", barrier("out=u32[64]"), 1, &[25], "");
        check("missing_barrier", json!({}), 1, &[17, 17], "");
        check("message", json!({ "launch": "grid=2 out=u32[1]", "seeds": "4" }), 0, &[], "data = [42]");
    }

    #[test]
    fn the_command_has_the_launch() {
        let answer =
            asked(json!({ "launch": "grid=2 out=u32[1] expect data == 42", "seeds": "4", "grid": "3" }), "message");
        let expected = "ptx-atomics run kernel.ptx --grid 3 --arg 'out=u32[1]' --expect 'data == 42' --seeds 4";
        assert_eq!(answer["answer"]["runs"][0]["command"], expected, "{answer:#}");
    }

    /// An error names its field, with its line.
    #[test]
    fn errors_name_their_field() {
        let check = |question: Value, field: &str, line: Option<u64>| {
            let answer = asked(question, "message");
            let wrong = &answer["errors"][0];
            assert_eq!((wrong["field"].as_str(), wrong["line"].as_u64()), (Some(field), line), "{answer:#}");
        };
        check(json!({ "launch": "grid=x" }), "launch", Some(1));
        check(json!({ "launch": "out=u32[1]\nout=u33[1]" }), "launch", Some(2));
        check(json!({ "launch": "out=u32[1] 7" }), "launch", Some(1));
        check(json!({ "launch": "out=@none.npy" }), "launch", Some(1));
        check(json!({ "grid": "0" }), "grid", None);
        check(json!({ "seeds": "0" }), "seeds", None);
    }
}
