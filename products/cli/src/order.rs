//! What became of the order and the scope of atomics and fences: PTX of any compiler, judged by the IR that it was made of.

use std::io::{self, Write};

use ptx_atomics::{
    isolated::Language,
    judge::Note,
    pass::{Diagnostic, Errors, Input, Location},
};
use serde::{Deserialize, Serialize};
use strum::{EnumIter, EnumMessage};

use crate::cli::CheckArgs;

#[cfg(feature = "llvm")]
mod judged;
#[cfg(not(feature = "llvm"))]
mod judged {
    use super::*;

    /// IR is read by LLVM alone.
    pub fn of(_: &CheckArgs, _: &Input, _: Language, _: &Input) -> Result<Order, Errors> {
        Err(Diagnostic::new("the IR is read by LLVM, which this build of ptx-atomics has not").into())
    }
}

/// Whether this build reads IR.
pub const READS_IR: bool = cfg!(feature = "llvm");

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
        judged::of(args, ir, language, ptx)
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
