//! The answer of `ptx-atomics litmus` to a litmus test.

use std::{str::FromStr, time::Duration};

use ptx_memory_model::report::{OUTCOMES, Question as Asked, Subject, TestReport, svg};
use ptx_memory_model::{
    condition::Quantifier,
    litmus::{self, Dialect, Litmus},
    outcome::Limits,
    place::Place,
    ptx::{Conventions, readings},
};
use serde::{Deserialize, Serialize};

use crate::answer::{self, Wrong};

/// The time limit of a search, in seconds, if the question does not set one.
const PATIENCE: f64 = 10.0;

/// A test with the options of the search, as the fields of the page. An empty text means that the option is not set.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Question {
    /// The litmus test.
    text: String,
    /// The format of this and of the following fields is the format of the command line.
    convention: String,
    profile: String,
    /// The readings, separated by commas, such as `A2=strict`.
    readings: String,
    rounds: String,
    choices: String,
    /// The time limit, in seconds.
    time_limit: String,
}

/// The verdict on a test, in two words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Badge {
    Never,
    Can,
    Always,
    NotAlways,
    Race,
    Unknown,
}

impl Badge {
    fn from_answer(quantifier: Quantifier, answer: &ptx_memory_model::report::Answer) -> Self {
        match (quantifier, answer.holds) {
            _ if answer.race.is_some() => Self::Race,
            (_, None) => Self::Unknown,
            (Quantifier::Exists, Some(true)) | (Quantifier::NotExists, Some(false)) => Self::Can,
            (Quantifier::Exists, Some(false)) | (Quantifier::NotExists, Some(true)) => Self::Never,
            (Quantifier::Forall, Some(true)) => Self::Always,
            (Quantifier::Forall, Some(false)) => Self::NotAlways,
        }
    }
}

/// The result for a test.
#[derive(Serialize)]
pub struct Known {
    badge: Badge,
    /// The answer in the form of the command's JSON.
    answer: ptx_memory_model::report::Answer,
    /// The output of the command with `--explain --outcomes`.
    text: String,
    /// The drawing of the execution; `None` without an execution.
    svg: Option<String>,
    /// The places of the threads.
    threads: Vec<Placed>,
    /// Warnings about possible mistakes.
    warnings: Vec<Wrong>,
}

/// The place of a thread in the test.
#[derive(Serialize)]
struct Placed {
    /// The processor of a thread of the host, for which the remaining fields have no meaning.
    host: Option<&'static str>,
    gpu: u32,
    cluster: Option<u32>,
    cta: u32,
}

impl Placed {
    fn from_place(Place { processor, gpu, cluster, cta }: Place) -> Self {
        Self { host: processor.is_host().then(|| processor.into()), gpu, cluster, cta }
    }
}

/// Reads a [`Question`] as JSON, and returns a [`Known`], or the errors in its fields.
pub fn answer(question: &str) -> String {
    answer::answer(question, Question::ask)
}

/// The errors in the text of a test, read with a convention, as JSON: a list of lines, columns and messages.
pub fn unread(text: &str, convention: &str) -> String {
    let asked = Question { convention: convention.to_owned(), ..Question::default() };
    let (_, dialect) = asked.conventions(&mut Vec::new());
    let errors = Litmus::read_with_lines(text, dialect).err().map(|errors| errors.0).unwrap_or_default();
    answer::list(errors.into_iter().map(wrong))
}

/// The name of the file for a test with this name.
fn file(name: &str) -> String {
    let word = |letter: char| if letter.is_alphanumeric() || "+-._".contains(letter) { letter } else { '_' };
    format!("{}.litmus", name.chars().map(word).collect::<String>())
}

fn wrong(error: litmus::Error) -> Wrong {
    Wrong { field: "text", line: Some(error.line), column: Some(error.column), message: error.message }
}

impl Question {
    fn ask(&self) -> Result<Known, Vec<Wrong>> {
        let mut errors = Vec::new();
        let (conventions, dialect) = self.conventions(&mut errors);
        let limits = self.limits(&mut errors);
        let read = Litmus::read_with_lines(&self.text, dialect);
        let litmus::Read { litmus, warnings, lines } = match read {
            Ok(read) if errors.is_empty() => read,
            read => {
                let of_text = read.err().into_iter().flat_map(|errors| errors.0).map(wrong);
                return Err(of_text.chain(errors).collect());
            }
        };
        let threads = litmus.program.threads.iter().map(|thread| thread.place);
        let threads = threads.map(Placed::from_place).collect();
        let quantifier = litmus.condition.quantifier;
        let subject = Subject { file: file(&litmus.name), litmus, compiled: None, lines, warnings: Vec::new() };
        let asked = Asked { conventions, limits, outcomes: Some(OUTCOMES), explain: true, draw: true, minimize: false };
        let report = asked.ask(vec![subject]).pop();
        let TestReport { answer, text, diagram, .. } = report.ok_or_else(Vec::new)?;
        let warnings = warnings.into_iter().map(wrong).collect();
        Ok(Known {
            badge: Badge::from_answer(quantifier, &answer),
            answer,
            text,
            svg: diagram.as_ref().map(svg),
            threads,
            warnings,
        })
    }

    fn conventions(&self, errors: &mut Vec<Wrong>) -> (Conventions, Dialect) {
        let (conventions, dialect) = match &self.convention[..] {
            "" | "manual" => (Conventions::MANUAL, Dialect::Ptx),
            "dat3m" => (Conventions::DAT3M, Dialect::Dat3m),
            other => {
                let message = format!("unknown convention '{other}'; the known conventions are manual, dat3m");
                errors.push(Wrong::new("convention", message));
                (Conventions::MANUAL, Dialect::Ptx)
            }
        };
        let mut readings = answer::profile(&self.profile, errors);
        for word in self.readings.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            match readings::read(word) {
                Ok((of, reading)) => readings = readings.with(of, reading),
                Err(message) => errors.push(Wrong::new("readings", message)),
            }
        }
        (Conventions { readings, ..conventions }, dialect)
    }

    fn limits(&self, errors: &mut Vec<Wrong>) -> Limits {
        let defaults = Limits::default();
        let mut wrong = |field, text: &str, what: &str| {
            errors.push(Wrong::new(field, format!("expected a {what}, found '{text}'")))
        };
        // The limits of the command. The least number of iterations is 1.
        let rounds = number(&self.rounds, defaults.rounds as u32).filter(|rounds| *rounds > 0).unwrap_or_else(|| {
            wrong("rounds", &self.rounds, "whole number from 1 to 4294967295");
            1
        });
        let choices = number(&self.choices, defaults.choices).unwrap_or_else(|| {
            wrong("choices", &self.choices, "whole number");
            0
        });
        let time = number(&self.time_limit, PATIENCE)
            .filter(|seconds| (0.0..=1e9).contains(seconds))
            .map(Duration::from_secs_f64);
        if time.is_none() {
            wrong("time-limit", &self.time_limit, "number of seconds from 0 to 1000000000");
        }
        Limits { rounds: rounds as usize, choices, time, ..defaults }
    }
}

/// The number in a field; the default for an empty field; `None` for any other text.
fn number<N: FromStr>(text: &str, default: N) -> Option<N> {
    if text.is_empty() { Some(default) } else { text.parse().ok() }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{answer, unread};

    #[track_caller]
    fn check(condition: &str, reads: &str, badge: &str) {
        let text = format!(
            "PTX t\n{{ x=0; y=0; }}\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n st.relaxed.gpu x, 1 | {reads} ;\n st.release.gpu y, 1 | ld.relaxed.gpu r1, x ;\n{condition}"
        );
        let answer: Value = serde_json::from_str(&answer(&json!({ "text": text }).to_string())).expect("JSON");
        assert_eq!(answer["answer"]["badge"], badge, "{condition}: {answer}");
    }

    #[test]
    fn threads_have_their_places() {
        let text = "PTX t\n{ x=0; }\n P0@cta 1,gpu 0 | P1@aarch64 ;\n st.relaxed.sys x, 1 | LDR W0,[x] ;\nexists (P1:W0 == 1)\n";
        let answer: Value = serde_json::from_str(&answer(&json!({ "text": text }).to_string())).expect("JSON");
        let threads = &answer["answer"]["threads"];
        assert_eq!(threads[0], json!({ "host": null, "gpu": 0, "cluster": null, "cta": 1 }), "{answer}");
        assert_eq!(threads[1]["host"], "aarch64");
    }

    #[test]
    fn errors_of_the_reader_have_places() {
        let unread = |text: &str| -> Value { serde_json::from_str(&unread(text, "")).expect("JSON") };
        let test = "PTX t\n{ x=0; }\n P0 ;\n st.weak x, 1 ;\nexists (x == 1)\n";
        assert_eq!(unread(test), json!([]));
        let wrong = unread(&test.replace("weak", "wek"));
        assert_eq!((&wrong[0]["line"], wrong.as_array().map(Vec::len)), (&json!(4), Some(1)), "{wrong}");
    }

    #[test]
    fn badges() {
        let stale = "(P1:r0 == 1 /\\ P1:r1 == 0)";
        check(&format!("exists {stale}"), "ld.acquire.gpu r0, y", "never");
        check(&format!("exists {stale}"), "ld.relaxed.gpu r0, y", "can");
        check(&format!("~exists {stale}"), "ld.acquire.gpu r0, y", "never");
        check(&format!("~exists {stale}"), "ld.relaxed.gpu r0, y", "can");
        check("forall (P1:r0 == 0 \\/ P1:r0 == 1)", "ld.relaxed.gpu r0, y", "always");
        check("forall (P1:r0 == 0)", "ld.relaxed.gpu r0, y", "not-always");
    }
}
