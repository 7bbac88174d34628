//! The whole suite: compiles functions, and judges each of them.

use std::collections::HashMap;

use ptx_isa::assembler::{Assembler, Error};
use ptx_judge::{BasicBlock, ExtraKind, FunctionJudgement, Judgement, Note, judge_function};
use ptx_lowering::{PtxVersion, Target, ptx::Function, sass::Family};
use rayon::prelude::*;

use crate::{
    cell::{Cell, Form},
    command::Failure,
    compile::{Compiled, Compiler, Patience},
    values::{self, Values},
    verdict::Grade,
};

/// The result of a function.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The function.
    pub cell: Cell,
    /// The worst verdict of the function's checks.
    pub verdict: Grade,
    /// The losses, or the messages of the compiler, for users; empty if the function is right.
    pub said: Vec<String>,
    /// Remarks on PTX that is right.
    pub notes: Vec<Note>,
    /// The result of the interpreter; `None` if the PTX lacks the function.
    pub values: Option<Values>,
    /// The PTX of the function, if there is any.
    pub ptx: Option<String>,
    /// The text of the module before the function.
    pub head: String,
}

impl Outcome {
    /// A function with a verdict and no further results.
    pub fn new(cell: Cell, verdict: Grade) -> Self {
        Self { cell, verdict, said: Vec::new(), notes: Vec::new(), values: None, ptx: None, head: String::new() }
    }
}

/// The compiler under test, and the settings of the suite.
#[derive(Clone, Debug)]
pub struct Suite {
    /// The compiler.
    pub compiler: Compiler,
    /// The assemblers that must accept the PTX, for each target that they support.
    pub assemblers: Vec<Assembler>,
    /// The number of functions that are compiled at once.
    pub batch: usize,
    /// The number of compilers that run at once.
    pub jobs: usize,
}

impl Suite {
    /// Runs the suite on functions for a target. The suite calls `done` with the number of functions that were finished
    /// since the last call.
    ///
    /// # Errors
    /// If the folder for files or the threads cannot be created.
    pub fn run(&self, target: &Target, cells: &[Cell], done: impl Fn(usize) + Sync) -> std::io::Result<Vec<Outcome>> {
        let threads = rayon::ThreadPoolBuilder::new().num_threads(self.jobs).build().map_err(std::io::Error::other)?;
        let patience = Patience::default();
        let part = |cells: &[Cell]| {
            let folder = tempfile::tempdir()?;
            let results = self.compiler.compile(target, cells, folder.path(), &patience);
            let outcomes = self.outcomes(target, cells, results);
            done(cells.len());
            Ok(outcomes)
        };
        let parts: std::io::Result<Vec<_>> =
            threads.install(|| cells.par_chunks(self.batch.max(1)).with_max_len(1).map(part).collect());
        Ok(parts?.into_iter().flatten().collect())
    }

    fn outcomes(&self, target: &Target, cells: &[Cell], results: Vec<Result<Compiled, Failure>>) -> Vec<Outcome> {
        let mut outcomes: Vec<_> =
            cells.iter().zip(&results).map(|(cell, result)| outcome(target, cell, result)).collect();
        let mut by_head: HashMap<&str, Vec<(usize, &Function)>> = HashMap::new();
        for (index, compiled) in results.iter().enumerate() {
            if let Ok(Compiled { head, function }) = compiled {
                by_head.entry(head).or_default().push((index, function));
            }
        }
        for assembler in &self.assemblers {
            for (head, functions) in &by_head {
                let own = Target { ptx: version(head).unwrap_or(target.ptx), ..*target };
                if !assembler.knows(&own) {
                    continue;
                }
                for (index, said) in rejected(assembler, &own, head, functions) {
                    outcomes[index].verdict = outcomes[index].verdict.max(Grade::Rejected);
                    outcomes[index].said.push(format!("{}: {said}", assembler.name()));
                }
            }
        }
        outcomes
    }
}

/// The verdicts of the checker and of the interpreter on a function.
fn outcome(target: &Target, cell: &Cell, result: &Result<Compiled, Failure>) -> Outcome {
    let mut outcome = Outcome::new(cell.clone(), Grade::Right);
    let Compiled { head, function } = match result {
        Ok(compiled) => compiled,
        Err(Failure { verdict, said }) => return Outcome { verdict: *verdict, said: vec![said.clone()], ..outcome },
    };
    outcome.ptx = Some(function.to_string());
    outcome.head.clone_from(head);
    let source = [BasicBlock { operations: vec![cell.op], next: Vec::new() }];
    let judged = judge_function(&source, function).map(|mut judgement: FunctionJudgement| {
        if let Some(family) = Family::from_sm(target.sm) {
            judgement.note_assembler(&source, function, family);
        }
        // The function has no other operation, so that every extra access belongs to it. An address that does not name
        // a variable may be of any state space.
        judgement.extras.iter_mut().for_each(|extra| extra.of = Some(0));
        judgement.blame(|extra, _| extra.kind != ExtraKind::VolatileLoad || cell.is_volatile());
        if cell.form != Form::Variable {
            judgement.operations.iter_mut().for_each(Judgement::blame_space);
        }
        judgement.operations.pop()
    });
    match judged {
        Ok(Some(Judgement { violations, notes, .. })) => {
            outcome.verdict = violations.iter().map(|found| found.loss.into()).max().unwrap_or(Grade::Right);
            outcome.said.extend(violations.into_iter().map(|found| found.reason));
            outcome.notes = notes;
        }
        Ok(None) => {}
        Err(error) => {
            outcome.verdict = Grade::NoPtx;
            outcome.said.push(format!("the function is too large: {error}"));
        }
    }
    // The interpreter runs an operation that is not one atomic access without other threads.
    let other_threads =
        values::is_shared(cell) && outcome.verdict < Grade::NotAtomic && !outcome.notes.contains(&Note::ByElement);
    let values = values::check(cell, function, other_threads);
    let lost = match &values {
        Values::Wrong(wrong) => Some((Grade::Value, wrong)),
        Values::Effect(effect) => Some((Grade::Effect, effect)),
        Values::Right | Values::Unknown(_) => None,
    };
    if let Some((verdict, said)) = lost {
        outcome.verdict = outcome.verdict.max(verdict);
        outcome.said.push(said.clone());
    }
    outcome.values = Some(values);
    outcome
}

/// The functions that an assembler rejects, with its messages. A function that gets a message is removed, and the
/// remaining functions are assembled again.
fn rejected(assembler: &Assembler, target: &Target, head: &str, all: &[(usize, &Function)]) -> Vec<(usize, String)> {
    let mut rejected = Vec::new();
    let mut open = vec![all.to_vec()];
    while let Some(functions) = open.pop() {
        if functions.is_empty() {
            continue;
        }
        let mut text = head.to_owned();
        let mut next = 1 + lines(head);
        let mut starts = Vec::new();
        for (_, function) in &functions {
            let function = format!("{function}\n");
            starts.push(next);
            next += lines(&function);
            text += &function;
        }
        let Err(error) = assembler.assemble(target, &text) else { continue };
        let mut found: HashMap<usize, String> = HashMap::new();
        for (line, said) in error.lines() {
            if let Some(at) = starts.partition_point(|start| *start <= line).checked_sub(1) {
                found.entry(at).or_insert_with(|| said.to_owned());
            }
        }
        if !found.is_empty() {
            open.push(
                functions.iter().enumerate().filter(|(at, _)| !found.contains_key(at)).map(|(_, f)| *f).collect(),
            );
            rejected.extend(found.into_iter().map(|(at, said)| (functions[at].0, said)));
        } else if let [(index, _)] = functions[..] {
            let said = match error {
                Error::Rejected { said, .. } => said,
                other => other.to_string(),
            };
            rejected.push((index, said));
        } else {
            let (one, other) = functions.split_at(functions.len() / 2);
            open.extend([one.to_vec(), other.to_vec()]);
        }
    }
    rejected
}

/// The version of PTX that a module declares; some compilers ignore the version of the command.
fn version(head: &str) -> Option<PtxVersion> {
    let (major, minor) = head.strip_prefix(".version ")?.lines().next()?.trim().split_once('.')?;
    Some(PtxVersion(major.parse().ok()?, minor.parse().ok()?))
}

fn lines(text: &str) -> u32 {
    text.matches('\n').count() as u32
}
