//! What became of the order and the scope of atomics and fences: PTX of any compiler, judged by the IR that it was made of.

use std::io::{self, Write};

use ptx_atomics::{
    check::{Judged, judge, operations, optimized},
    isolated::{self, Language, Stage},
    judge::{Loss, Note},
    llvm::{Diagnostic, Errors, Input, Location, Settings, inkwell::context::Context},
    lowering::ptx::{Module, ModuleError, ModuleErrors},
};
use serde::{Deserialize, Serialize};
use strum::{EnumIter, EnumMessage};

use crate::{cli::CheckArgs, render};

/// What is done to memory and stands for no operation.
const EFFECT: &str = "the PTX does to memory what the IR does not";

/// What became of all operations of an input.
#[derive(Serialize, Deserialize)]
pub struct Order {
    pub operations: Vec<Operation>,
    /// Functions of which the PTX has atomics that the IR has not, with their lines.
    pub strange: Vec<(String, Vec<u32>)>,
}

/// What became of one operation, or of what stands for none.
#[derive(Serialize, Deserialize)]
pub struct Operation {
    pub function: String,
    /// The operation in words; of what stands for none, nothing.
    pub operation: String,
    /// The file, the line and the column of the source.
    place: Option<(String, u32, u32)>,
    pub verdict: Verdict,
    /// `right`, `not-judged`, or the worst loss; `effect` of what stands for no operation.
    word: String,
    /// What is lost, in words: a summary, and each reason.
    summary: String,
    missing: Vec<String>,
    notes: Vec<String>,
    /// Whether ptxas is not known to keep what the PTX says.
    pub is_misplaced: bool,
    is_optimized: bool,
    /// Lines of the PTX.
    pub lines: Vec<u32>,
}

/// What became of an operation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, EnumIter, Serialize, Deserialize)]
pub enum Verdict {
    Kept,
    Lost,
    /// The PTX has no such function, and need not: it may have become part of others.
    NotJudged,
}

/// What became of one operation, for a machine.
#[derive(Serialize)]
struct JsonLine<'a> {
    function: &'a str,
    operation: &'a str,
    verdict: &'a str,
    missing: &'a [String],
    notes: &'a [String],
    lines: &'a [u32],
}

impl Operation {
    /// The place in the source.
    pub fn location(&self) -> Option<Location> {
        self.place.as_ref().map(|(file, line, column)| Location { file: file.clone(), line: *line, column: *column })
    }

    /// The instructions that stand for it, with their lines.
    pub fn instructions(&self, ptx: &Input) -> Vec<String> {
        let lines: Vec<&str> = ptx.text().unwrap_or_default().lines().collect();
        let shown = |number: &u32| {
            let line = lines.get((*number as usize).checked_sub(1)?)?;
            Some(format!("{}:{number}: {}", ptx.name(), line.split_whitespace().collect::<Vec<_>>().join(" ")))
        };
        self.lines.iter().filter_map(shown).collect()
    }

    /// What is lost, in words.
    pub fn message(&self) -> String {
        format!("{}: {}", self.summary, self.missing.join(", "))
    }
}

impl Order {
    /// Judges PTX by IR, in another process.
    ///
    /// # Errors
    /// What is no IR or no PTX, and what is too large.
    pub fn of(args: &CheckArgs, ir: &Input, language: Language, ptx: &Input) -> Result<Self, Errors> {
        isolated::run(|text| render::say(&format!("warning: {text}")), || judged(args, ir, language, ptx))
    }

    /// How many operations have a verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.atomics().filter(|operation| operation.verdict == verdict).count()
    }

    /// The operations without what stands for none.
    fn atomics(&self) -> impl Iterator<Item = &Operation> {
        self.operations.iter().filter(|operation| !operation.operation.is_empty())
    }

    /// How many are kept only as the optimizer may.
    fn optimized(&self) -> usize {
        self.operations.iter().filter(|operation| operation.is_optimized).count()
    }

    /// Whether nothing is lost of what could be judged, and nothing else is done.
    pub fn is_kept(&self) -> bool {
        self.operations.iter().all(|operation| operation.verdict != Verdict::Lost)
    }

    /// Why nothing was checked, if that is so.
    pub fn nothing(&self, ir: &Input, ptx: &Input) -> Option<Diagnostic> {
        let is_empty = self.operations.iter().all(|operation| operation.verdict == Verdict::NotJudged);
        let (why, help) = if self.operations.is_empty() {
            let help = "give the IR from before its atomics were lowered: then they are inline assembly";
            (format!("'{}' has no atomics and fences", ir.name()), help)
        } else {
            let help = "give the IR from which the PTX was generated, after inlining";
            (format!("'{}' has none of the functions with atomics", ptx.name()), help)
        };
        let diagnostic =
            Diagnostic::new(format!("nothing was checked: {why}")).help(format!("{help}; --allow-empty lets it pass"));
        is_empty.then_some(diagnostic)
    }

    /// All of it in a line.
    pub fn summary(&self) -> String {
        let optimized = match self.optimized() {
            0 => String::new(),
            count => format!(" ({count} as the optimizer may)"),
        };
        let (kept, lost) = (self.count(Verdict::Kept), self.count(Verdict::Lost));
        let (all, open) = (self.atomics().count(), self.count(Verdict::NotJudged));
        format!("{all} atomics and fences: {kept} kept{optimized}, {lost} not, {open} not checked")
    }

    /// What is not lost and yet worth a word: each is a warning.
    pub fn warnings(&self, ptx: &Input) -> Vec<String> {
        let numbers = |lines: &[u32]| lines.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        let strange = self.strange.iter().map(|(function, lines)| {
            format!("in '{function}', the PTX has atomics that the IR has not, on line {}", numbers(lines))
        });
        let mut warnings: Vec<_> = strange.collect();
        let by_function = || self.operations.chunk_by(|a, b| a.function == b.function);
        for of_function in by_function() {
            let count = of_function.iter().filter(|operation| operation.verdict == Verdict::NotJudged).count();
            let (name, function) = (ptx.name(), &of_function[0].function);
            if count > 0 {
                warnings.push(format!(
                    "'{name}' has no function '{function}', of which {count} operations are not checked"
                ));
            }
        }
        for of_function in by_function() {
            let misplaced = of_function.iter().filter(|operation| operation.is_misplaced);
            let lines: Vec<u32> = misplaced.flat_map(|operation| &operation.lines).copied().collect();
            if !lines.is_empty() {
                let (function, what) = (&of_function[0].function, Note::Misplaced.get_message().unwrap_or_default());
                warnings.push(format!(
                    "in '{function}', the PTX keeps the ordering on line {}, but {what}",
                    numbers(&lines)
                ));
            }
        }
        warnings
    }

    /// Prints one JSON object for each operation.
    pub fn print(&self) -> io::Result<()> {
        let mut out = io::stdout().lock();
        for Operation { function, operation, word, missing, notes, lines, .. } in &self.operations {
            serde_json::to_writer(&mut out, &JsonLine { function, operation, verdict: word, missing, notes, lines })?;
            writeln!(out)?;
        }
        out.flush()
    }
}

/// The whole job, in the other process.
fn judged(args: &CheckArgs, ir: &Input, language: Language, ptx: &Input) -> Result<Order, Errors> {
    let (text, module) = parse(ptx)?;
    isolated::stage(Stage::Read);
    let context = isolated::context();
    let settings = Settings {
        default_scope: Some(args.default_scope),
        cuda_atomics: Some(args.cuda_atomics),
        ..Settings::default()
    };
    let wanted = args.module.as_deref();
    let operations = operations(&context, ir, language, &module, &settings, wanted)?;
    // The process ends soon: to free what LLVM holds costs more than it gives.
    std::mem::forget(context);

    let mut judged = judge(&operations, &module, text)?;
    // As the IR is, and as a compiler sees it behind its own optimizer.
    let levels = if args.optimize_atomics { &[None, Some(2)][..] } else { &[] };
    for &level in levels {
        if judged.is_kept() {
            break;
        }
        let context = Context::create();
        // What the target has no lowering for is not optimized, and stays as it was judged.
        if let Ok(found) = optimized(&context, ir, language, &module, &settings, wanted, level) {
            judged.accept(&found, &module, text)?;
        }
    }
    Ok(order(&judged))
}

/// The text of the PTX, and what it says.
fn parse(ptx: &Input) -> Result<(&str, Module), Errors> {
    let no_text = || Diagnostic::new(format!("'{}' is no text", ptx.name()));
    let text = ptx.text().ok_or_else(no_text)?;
    let diagnostic = |ModuleError { line, reason, .. }| Diagnostic {
        location: Some(Location { file: ptx.name().to_owned(), line, column: 0 }),
        ..Diagnostic::new(format!("'{}' is no PTX: {reason}", ptx.name()))
    };
    let module = text.parse().map_err(|ModuleErrors(errors)| errors.into_iter().map(diagnostic).collect::<Vec<_>>())?;
    Ok((text, module))
}

fn order(judged: &Judged<'_>) -> Order {
    let summary = |loss: Loss| loss.get_message().unwrap_or_default().to_owned();
    let effects = judged.effects.iter().map(|(function, lines)| Operation {
        function: (*function).to_owned(),
        operation: String::new(),
        place: None,
        verdict: Verdict::Lost,
        word: <&str>::from(Loss::Effect).to_owned(),
        summary: summary(Loss::Effect),
        missing: vec![EFFECT.to_owned()],
        notes: Vec::new(),
        is_misplaced: false,
        is_optimized: false,
        lines: lines.clone(),
    });
    let operations = judged.operations.iter().map(|found| {
        let judgement = found.judgement.clone().unwrap_or_default();
        let (verdict, word) = match (&found.judgement, judgement.loss()) {
            (None, _) => (Verdict::NotJudged, "not-judged"),
            (Some(_), Some(loss)) => (Verdict::Lost, loss.into()),
            (Some(_), None) => (Verdict::Kept, "right"),
        };
        let notes = &judgement.notes;
        Operation {
            function: found.function.to_owned(),
            operation: found.named.operation.clone(),
            place: found.named.location.as_ref().map(|at| (at.file.clone(), at.line, at.column)),
            verdict,
            word: word.to_owned(),
            summary: judgement.loss().map(summary).unwrap_or_default(),
            missing: judgement.violations.iter().map(|violation| violation.reason.to_string()).collect(),
            notes: notes.iter().map(|note| <&str>::from(note).to_owned()).collect(),
            is_misplaced: notes.contains(&Note::Misplaced),
            is_optimized: notes.contains(&Note::Optimized),
            lines: judgement.lines,
        }
    });
    let strange = judged.strange.iter().map(|(function, lines)| ((*function).to_owned(), lines.clone()));
    Order { operations: operations.chain(effects).collect(), strange: strange.collect() }
}
