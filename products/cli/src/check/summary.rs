//! The summary of a check.

use std::{
    collections::BTreeMap,
    fmt::{self, Display, Formatter},
};

use itertools::Itertools;
use ptx_atomics::{
    check::{NotAsked, Question, Questions, Severity, Verdict},
    pass::Diagnostic,
};

use super::module_views::ModuleViews;
use crate::cli::CheckArgs;

/// The questions whose verdict is open if a proof fails.
const PROVED: [Question; 2] = [Question::Races, Question::Barriers];

/// The summary of all inputs.
pub struct Summary {
    asked: Questions,
    kernels: usize,
    functions: usize,
    errors_found: usize,
    warnings: usize,
    unproved: usize,
    not_checked: usize,
    beyond: usize,
    allowed: Vec<String>,
    /// The number of kernels with each verdict, by question.
    verdicts: BTreeMap<(Question, Verdict), usize>,
    /// For each question, the number of synchronizations and operations, and the number of undecided ones.
    counts: BTreeMap<Question, (usize, usize)>,
    /// The kernels and questions that the time limit has cut.
    stopped: Vec<String>,
    /// Whether a finding may be an error, or a proof failed.
    is_open: bool,
    /// The number of findings that the baseline has, and the number of the baseline's findings that the check did not
    /// find.
    pub known: Option<(usize, usize)>,
    /// The reasons why a file, or a part of a file, is not checked.
    pub errors: Vec<Diagnostic>,
}

impl Summary {
    pub fn new(args: &CheckArgs) -> Self {
        Self {
            asked: args.kernels.questions(),
            kernels: 0,
            functions: 0,
            errors_found: 0,
            warnings: 0,
            unproved: 0,
            not_checked: 0,
            beyond: 0,
            allowed: Vec::new(),
            verdicts: BTreeMap::new(),
            counts: BTreeMap::new(),
            stopped: Vec::new(),
            is_open: false,
            known: None,
            errors: Vec::new(),
        }
    }

    pub fn add(&mut self, shown: &ModuleViews<'_>) {
        for kernel in &shown.module.report.kernels {
            let count = if kernel.is_kernel { &mut self.kernels } else { &mut self.functions };
            *count += 1;
            for answer in &kernel.answers {
                *self.verdicts.entry((answer.question, answer.verdict)).or_default() += 1;
                let counts = self.counts.entry(answer.question).or_default();
                *counts = (counts.0 + answer.counts.0, counts.1 + answer.counts.1);
                self.is_open |= PROVED.contains(&answer.question) && answer.verdict == Verdict::Open;
                if answer.is_stopped {
                    self.stopped.push(format!("'{}' ({})", kernel.kernel, answer.question));
                }
            }
        }
        for view in shown.iter() {
            let finding = view.finding;
            self.is_open |= finding.is_possible() && finding.allowed.is_none();
            match finding.severity {
                _ if finding.allowed.is_some() => {
                    let rule = finding.rule.map_or("a finding", |rule| rule.name());
                    let place = view.place.as_ref().map_or_else(|| view.file.clone(), ToString::to_string);
                    self.allowed.push(format!("{rule} at {place}: {}", finding.allowed.as_deref().unwrap_or_default()));
                }
                Severity::Error => self.errors_found += 1,
                Severity::Warning if finding.is_unproved() => self.unproved += 1,
                Severity::Warning => self.warnings += 1,
                Severity::Note if finding.is_not_checked() => self.not_checked += 1,
                Severity::Note if finding.launches().is_some() => self.beyond += 1,
                Severity::Note => {}
            }
        }
    }

    /// Whether the report has no error; with `is_strict`, no open finding or failed proof either.
    pub fn is_right(&self, is_strict: bool) -> bool {
        self.errors_found == 0 && self.errors.is_empty() && !(is_strict && self.is_open)
    }

    /// The number of kernels with each verdict on a question.
    fn answers(&self, question: Question) -> Option<String> {
        let of: Vec<_> = self.verdicts.iter().filter(|((own, _), _)| *own == question).collect();
        let asked = of.iter().filter(|((_, verdict), _)| !matches!(verdict, Verdict::NotAsked(_)));
        let words = asked.map(|((_, verdict), count)| format!("{count} {verdict}")).join(", ");
        let (thing, open_word) = match question {
            Question::Order => ("operation", "not judged"),
            _ => ("synchronization", "open"),
        };
        let counts = match self.counts.get(&question) {
            Some((all @ 1.., open)) => {
                let open = if *open > 0 { format!(", {open} {open_word}") } else { String::new() };
                format!("; {all} {thing}{}{open}", if *all == 1 { "" } else { "s" })
            }
            _ => String::new(),
        };
        (!words.is_empty()).then(|| format!("{question} ({words}{counts})"))
    }

    /// The reasons why a question was not asked of a kernel.
    fn not_asked(&self, question: Question) -> Option<String> {
        let reasons = self.verdicts.keys().filter_map(|(own, verdict)| match verdict {
            Verdict::NotAsked(why) if *own == question => Some(*why),
            _ => None,
        });
        let reasons: Vec<NotAsked> = reasons.collect();
        let has_answer = self.verdicts.keys().any(|(own, _)| *own == question);
        let reasons = match (has_answer, self.asked.has(question)) {
            (false, false) => return None,
            (false, true) if question == Question::Order => vec![NotAsked::NoIr],
            _ => reasons,
        };
        let words = reasons.iter().join(", ");
        (!words.is_empty()).then(|| format!("{question} ({words})"))
    }
}

impl Display for Summary {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let s = |count: usize| if count == 1 { "" } else { "s" };
        for allowed in &self.allowed {
            writeln!(f, "allowed in the source: {allowed}")?;
        }
        for stopped in &self.stopped {
            writeln!(f, "stopped by the time limit: {stopped}")?;
        }
        let counts = [
            (self.errors_found, format!("error{}", s(self.errors_found))),
            (self.warnings, format!("warning{}", s(self.warnings))),
            (self.unproved, "unproved (-v lists them)".to_owned()),
            (self.not_checked, "not checked (-v)".to_owned()),
            (self.beyond, "open beyond these launches (-v)".to_owned()),
        ];
        let mut counts = counts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}"));
        let counts = counts.join(", ");
        let counts = if counts.is_empty() { "no findings".to_owned() } else { counts };
        write!(f, "{} kernel{}", self.kernels, s(self.kernels))?;
        if self.functions > 0 {
            write!(f, " and {} function{}", self.functions, s(self.functions))?;
        }
        write!(f, ": {counts}")?;
        let asked = self.asked.iter().filter_map(|question| self.answers(question)).join(", ");
        if !asked.is_empty() {
            write!(f, "; asked: {asked}")?;
        }
        let not_asked = self.asked.iter().filter_map(|question| self.not_asked(question)).join(", ");
        if !not_asked.is_empty() {
            write!(f, "; not asked: {not_asked}")?;
        }
        self.known
            .map_or(Ok(()), |(known, left)| write!(f, "; of the baseline, {known} findings remain and {left} are gone"))
    }
}
