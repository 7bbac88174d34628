//! The outcomes of a compiler's kernels, and the lines of the report.

use std::process::Output;

/// The outcome of a kernel.
#[derive(Debug, PartialEq)]
pub enum Outcome {
    Ran {
        microseconds: Vec<f32>,
        wrong: Vec<String>,
    },
    /// The process ended early: the module was not loaded, or the launch failed.
    Failed(String),
    Hung,
}

/// The line for one run.
pub fn line(microseconds: f32, wrong: Option<String>) -> String {
    wrong.map_or(format!("{microseconds}"), |wrong| format!("{microseconds} {wrong}"))
}

impl Outcome {
    /// Parses the lines of all runs. No output means that the process was killed.
    pub fn from_output(output: Option<&Output>) -> Self {
        let Some(output) = output else { return Self::Hung };
        let stdout = String::from_utf8_lossy(&output.stdout);
        let (mut microseconds, mut wrong) = (Vec::new(), Vec::new());
        for line in stdout.lines() {
            let (time, said) = line.split_once(' ').map_or((line, None), |(time, said)| (time, Some(said)));
            microseconds.extend(time.parse::<f32>());
            wrong.extend(said.map(String::from));
        }
        if output.status.success() && !microseconds.is_empty() {
            return Self::Ran { microseconds, wrong };
        }
        let stderr = String::from_utf8_lossy(&output.stderr);
        Self::Failed(stderr.lines().last().map_or(format!("{}", output.status), String::from))
    }

    pub fn is_right(&self) -> bool {
        matches!(self, Self::Ran { wrong, .. } if wrong.is_empty())
    }

    /// Units of work per microsecond, from the median of the times.
    fn throughput(&self, work: u64) -> Option<f64> {
        let Self::Ran { microseconds, .. } = self else { return None };
        let mut sorted = microseconds.clone();
        sorted.sort_by(f32::total_cmp);
        Some(work as f64 / f64::from(*sorted.get(sorted.len() / 2)?))
    }
}

/// The report of a kernel, one line for each compiler: runs, failures, throughput, and its ratio to the fastest correct
/// compiler.
pub fn lines(unit: &str, work: u64, outcomes: &[(String, Outcome)]) -> Vec<String> {
    let right = outcomes.iter().filter(|(_, outcome)| outcome.is_right());
    let best = right.filter_map(|(_, outcome)| outcome.throughput(work)).max_by(f64::total_cmp);
    let line = |(compiler, outcome): &(String, Outcome)| {
        let said = match outcome {
            Outcome::Hung => "hung".into(),
            Outcome::Failed(said) => format!("failed: {said}"),
            Outcome::Ran { microseconds, wrong } => {
                let throughput = outcome.throughput(work).unwrap_or_default();
                let ratio = best.map_or(String::new(), |best| format!("{:.2}", throughput / best));
                let first = wrong.first().map_or(String::new(), |wrong| format!("   {wrong}"));
                let (runs, failures) = (microseconds.len(), wrong.len());
                format!("{runs:5} runs {failures:5} failures {throughput:10.2} million {unit}/s {ratio:>5}{first}")
            }
        };
        format!("  {compiler:28} {said}")
    };
    outcomes.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use std::{os::unix::process::ExitStatusExt, process::ExitStatus};

    use super::*;

    fn output(status: i32, stdout: &str, stderr: &str) -> Output {
        Output { status: ExitStatus::from_raw(status << 8), stdout: stdout.into(), stderr: stderr.into() }
    }

    fn ran(microseconds: &[f32], wrong: &[&str]) -> Outcome {
        Outcome::Ran { microseconds: microseconds.into(), wrong: wrong.iter().map(|wrong| wrong.to_string()).collect() }
    }

    #[test]
    fn outcomes() {
        let check = |output: Option<Output>, expected: Outcome, right: bool| {
            let outcome = Outcome::from_output(output.as_ref());
            assert_eq!(outcome, expected);
            assert_eq!(outcome.is_right(), right);
        };
        let lines = [line(2.5, None), line(3.0, Some("counter[0] is 1, not 2".into()))].join("\n");
        check(Some(output(0, &lines, "")), ran(&[2.5, 3.0], &["counter[0] is 1, not 2"]), false);
        check(Some(output(0, "2.5\n", "")), ran(&[2.5], &[]), true);
        check(Some(output(1, "2.5\n", "noise\nillegal address")), Outcome::Failed("illegal address".into()), false);
        check(Some(output(3, "", "")), Outcome::Failed("exit status: 3".into()), false);
        check(Some(output(0, "", "")), Outcome::Failed("exit status: 0".into()), false);
        check(None, Outcome::Hung, false);
    }

    #[test]
    fn the_fastest_is_the_fastest_that_is_right() {
        let outcomes = [
            ("ours", ran(&[9.0, 2.0, 1.0], &[])),
            ("slow", ran(&[4.0], &[])),
            ("wrong", ran(&[1.0, 1.0], &["bins[3] is 1, not 2"])),
            ("stuck", Outcome::Hung),
            ("other", Outcome::Failed("unsupported PTX version".into())),
        ];
        let found = lines("bytes", 100, &outcomes.map(|(name, outcome)| (name.to_string(), outcome)));
        assert_eq!(
            found,
            [
                "  ours                             3 runs     0 failures      50.00 million bytes/s  1.00",
                "  slow                             1 runs     0 failures      25.00 million bytes/s  0.50",
                "  wrong                            2 runs     1 failures     100.00 million bytes/s  2.00   bins[3] is 1, not 2",
                "  stuck                        hung",
                "  other                        failed: unsupported PTX version",
            ]
        );
    }
}
