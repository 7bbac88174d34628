//! The soundness check of lowerings: a lowered program must not have an outcome that its source forbids.

use std::{borrow::Cow, collections::HashMap};

use itertools::{Itertools, iproduct};
use ptx_lowering::AtomicOp;
use ptx_memory_model::{
    outcome::{Limits, State},
    program::{Instruction, Operand, Program, Thread},
    ptx::{self, Conventions, Ptx},
    source::{self, Cpp, Rules, search::SourceOutcomes},
    unfold::Limit,
};
use ptx_optimize::Rewrite;
use strum::Display;

use crate::{
    numbers::Numbers,
    optimize::optimized,
    translate::{Mapping, NoProgram, in_words, inline, operations},
};

/// An assumption beyond the PTX manual.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display)]
#[strum(serialize_all = "snake_case")]
pub enum Assumption {
    /// An access of an aligned word is a single access of all its bytes. It is morally strong with an access of one of
    /// them if both are strong and in each other's scopes. The manual gives no guarantee for races of accesses that
    /// overlap in part (section 8.7.2).
    BytesOfOneWord,
}

/// The verdict on a program under a mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Soundness {
    Sound,
    SoundIf(Assumption),
    /// The lowered program has final states that the source lacks; if the list is empty, it never ends.
    Unsound(Vec<State>),
    Unknown(Limit),
}

/// The bounds of the searches for a program and its lowering.
///
/// A loop of a lowering iterates again only if the variable was changed since the loop last read it. Each operation of
/// the source changes the variable once, and operations of the loop's own thread do not interleave. If all operations
/// reach all threads, successive reads of the loop do not go back in coherence order. The number of writes of other
/// threads plus one is therefore a sufficient number of iterations.
///
/// For a program with loops of its own, the search determines the number of iterations.
pub fn bounded(program: &Program<Cpp>, limits: Limits) -> Limits {
    if program.threads.iter().any(has_loop) {
        return Limits { rounds: OF_LOOPS, ..limits };
    }
    let mut writes = vec![vec![0; program.locations.len()]; program.threads.len()];
    for (thread, writes) in program.threads.iter().zip(&mut writes) {
        for statement in &thread.code {
            let (access, a) = match &statement.instruction {
                Instruction::Store { access, a, .. } | Instruction::Rmw { access, a, .. } => (access, a),
                _ => continue,
            };
            let reaches_all = program.threads.iter().all(|other| thread.place.includes(access.scope, other.place));
            let (Operand::Address(location), true) = (a.base, reaches_all) else { return limits };
            writes[usize::from(location.0)] += 1;
        }
    }
    let of_others = |(thread, location): (usize, usize)| {
        let others = writes.iter().enumerate().filter(|(other, _)| *other != thread);
        others.map(|(_, writes)| writes[location]).sum::<usize>()
    };
    let all = iproduct!(0..program.threads.len(), 0..program.locations.len());
    Limits { rounds: 1 + all.map(of_others).max().unwrap_or(0), rounds_suffice: true, ..limits }
}

/// The bounds of the search for the source. Outcomes that need more iterations are not searched, so they justify no
/// outcome of the lowering.
pub(crate) fn of_source(limits: Limits) -> Limits {
    Limits { rounds_suffice: true, ..limits }
}

/// The number of iterations that the search tries for a loop of a source program.
const OF_LOOPS: usize = 6;

fn has_loop(thread: &Thread<Cpp>) -> bool {
    let at = |label| thread.code.iter().position(|other| other.instruction == Instruction::Label(label));
    thread.code.iter().enumerate().any(|(index, statement)| match statement.instruction {
        Instruction::Branch { target, .. } => at(target).is_some_and(|to| to < index),
        _ => false,
    })
}

/// Judges a lowered program, whose states have the layout of the source's states. Also returns the number of examined
/// executions.
pub fn judge(source: &SourceOutcomes, lowered: &ptx::Program, limits: Limits) -> (Soundness, u64) {
    if source.undefined {
        return (Soundness::Sound, 0);
    }
    if let Some(limit) = source.outcomes.unknown {
        return (Soundness::Unknown(limit), 0);
    }
    let mut found = ptx::search::outcomes(lowered, Conventions::MANUAL, limits);
    let mixed = found.unknown == Some(Limit::MixedSizes);
    if mixed {
        found = ptx::search::outcomes(&in_words(lowered), Conventions::MANUAL, limits);
    }
    let wrong = found.states.iter().filter(|state| !source.admit(state));
    let wrong: Vec<State> = wrong.map(Into::into).collect();
    let verdict = match found.unknown {
        _ if !wrong.is_empty() => Soundness::Unsound(wrong),
        Some(limit) => Soundness::Unknown(limit),
        None if found.states.is_empty() => Soundness::Unsound(Vec::new()),
        None if !found.speculative.iter().all(|state| source.admit(state)) => Soundness::Unknown(Limit::ThinAir),
        None if mixed => Soundness::SoundIf(Assumption::BytesOfOneWord),
        None => Soundness::Sound,
    };
    (verdict, found.candidates)
}

/// Lowers programs by several mappings, and judges each distinct result once.
pub struct Checker<'m, 'l> {
    mappings: &'m [Mapping<'l>],
    /// The number of the sequence of each operation, by mapping; `None` if the target has no lowering.
    known: Vec<HashMap<(AtomicOp, bool), Option<usize>>>,
    sequences: Numbers,
    rules: Rules,
    limits: Limits,
    pub counts: Counts,
    /// The defined programs to which each rewrite of the optimizer applies.
    pub rewritten: HashMap<Rewrite, u64>,
}

/// A program as a mapping lowers it; with an optimizer, the optimized program.
struct Version<'p> {
    mapping: usize,
    program: Cow<'p, Program<Cpp>>,
    /// The numbers of its sequences; `None` if the target has no lowering.
    numbers: Option<Vec<usize>>,
}

/// The extent of a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub programs: u64,
    /// Programs that use the expansion.
    pub expanded: u64,
    /// Programs with a data race, which are undefined in C++.
    pub racing: u64,
    /// Programs that are undefined.
    pub undefined: u64,
    /// Pairs of a program and a mapping.
    pub pairs: u64,
    /// Distinct PTX programs among these pairs.
    pub lowered: u64,
    /// Executions that the searches of both models completed.
    pub candidates: u64,
    /// Pairs without a lowering for the target.
    pub unsupported: u64,
    pub unsound: u64,
    /// Pairs that are unsound with the optimizer but have the same final states without it: the fault lies in the
    /// mapping.
    pub inherited: u64,
    /// Pairs that are sound under [`Assumption::BytesOfOneWord`].
    pub assumed: u64,
    pub unknown: u64,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.programs += other.programs;
        self.expanded += other.expanded;
        self.racing += other.racing;
        self.undefined += other.undefined;
        self.pairs += other.pairs;
        self.lowered += other.lowered;
        self.candidates += other.candidates;
        self.unsupported += other.unsupported;
        self.unsound += other.unsound;
        self.inherited += other.inherited;
        self.assumed += other.assumed;
        self.unknown += other.unknown;
    }
}

/// A program that a mapping does not preserve.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// The index of the mapping.
    pub mapping: usize,
    pub lowered: Program<Ptx>,
    pub states: Vec<State>,
}

impl<'m, 'l> Checker<'m, 'l> {
    pub fn new(mappings: &'m [Mapping<'l>], rules: impl Into<Rules>, limits: Limits) -> Self {
        let known = mappings.iter().map(|_| HashMap::new()).collect();
        let (counts, rewritten) = (Counts::default(), HashMap::new());
        Self { mappings, known, sequences: Numbers::default(), rules: rules.into(), limits, counts, rewritten }
    }

    /// Checks a program under every mapping; under a mapping with an optimizer only if the optimizer changes the
    /// program.
    ///
    /// # Errors
    /// If a lowering has instructions that the model lacks.
    pub fn check(&mut self, program: &Program<Cpp>) -> Result<Vec<Counterexample>, NoProgram> {
        self.counts.programs += 1;
        let (versions, rewrites) = self.versions(program)?;
        if versions.is_empty() {
            return Ok(Vec::new());
        }
        let limits = bounded(program, self.limits);
        let admitted = source::search::outcomes(program, self.rules, of_source(limits));
        self.counts.candidates += admitted.outcomes.candidates;
        self.counts.racing += u64::from(admitted.race.is_some());
        if admitted.undefined {
            self.counts.undefined += 1;
            return Ok(Vec::new());
        }
        for rewrite in rewrites {
            *self.rewritten.entry(rewrite).or_default() += 1;
        }
        let mut judged: Vec<(Version<'_>, Program<Ptx>, Soundness)> = Vec::new();
        let mut found = Vec::new();
        for version in versions {
            let Some(numbers) = &version.numbers else {
                self.counts.unsupported += 1;
                continue;
            };
            self.counts.pairs += 1;
            let mapping = version.mapping;
            let same = |known: &Version<'_>| known.numbers == version.numbers && known.program == version.program;
            let index = match judged.iter().position(|(known, ..)| same(known)) {
                Some(index) => index,
                None => {
                    self.counts.lowered += 1;
                    let lowered = inline(&version.program, &self.sequences.all(numbers))?;
                    let (verdict, candidates) = judge(&admitted, &lowered, limits);
                    self.counts.candidates += candidates;
                    judged.push((version, lowered, verdict));
                    judged.len() - 1
                }
            };
            match &judged[index] {
                (.., Soundness::Sound) => {}
                (.., Soundness::Unsound(states)) if self.inherits(program, mapping, states, &admitted, limits)? => {
                    self.counts.inherited += 1;
                }
                (.., Soundness::SoundIf(Assumption::BytesOfOneWord)) => self.counts.assumed += 1,
                (.., Soundness::Unknown(_)) => self.counts.unknown += 1,
                (_, lowered, Soundness::Unsound(states)) => {
                    self.counts.unsound += 1;
                    found.push(Counterexample { mapping, lowered: lowered.clone(), states: states.clone() });
                }
            }
        }
        Ok(found)
    }

    /// Whether a mapping with an optimizer also has these final states without the optimizer.
    fn inherits(
        &mut self,
        program: &Program<Cpp>,
        mapping: usize,
        states: &[State],
        admitted: &SourceOutcomes,
        limits: Limits,
    ) -> Result<bool, NoProgram> {
        let Mapping { access, optimizer, .. } = self.mappings[mapping];
        if optimizer.is_none() {
            return Ok(false);
        }
        let Some(numbers) = self.numbers(operations(program, access)?, mapping)? else { return Ok(false) };
        let (verdict, candidates) = judge(admitted, &inline(program, &self.sequences.all(&numbers))?, limits);
        self.counts.candidates += candidates;
        Ok(matches!(verdict, Soundness::Unsound(known) if states.iter().all(|state| known.contains(state))))
    }

    /// The lowerings of each mapping, except if its optimizer changes nothing; and all rewrites that change something.
    fn versions<'p>(&mut self, program: &'p Program<Cpp>) -> Result<(Vec<Version<'p>>, Vec<Rewrite>), NoProgram> {
        let mut versions = Vec::with_capacity(self.mappings.len());
        let mut rewrites = Vec::new();
        for mapping in 0..self.mappings.len() {
            let Mapping { access, optimizer, .. } = self.mappings[mapping];
            let (program, operations) = match optimizer {
                None => (Cow::Borrowed(program), operations(program, access)?),
                Some(options) => {
                    let optimized = optimized(program, access, &options)?;
                    let applied = optimized.remarks.iter().filter(|remark| remark.applied);
                    let before = rewrites.len();
                    rewrites.extend(applied.map(|remark| remark.rewrite));
                    if rewrites.len() == before {
                        continue;
                    }
                    (Cow::Owned(optimized.program), optimized.operations)
                }
            };
            let numbers = self.numbers(operations, mapping)?;
            versions.push(Version { mapping, program, numbers });
        }
        Ok((versions, rewrites.into_iter().unique().collect()))
    }

    /// The numbers of a mapping's sequences for the given operations.
    fn numbers(&mut self, operations: Vec<(AtomicOp, bool)>, mapping: usize) -> Result<Option<Vec<usize>>, NoProgram> {
        let mut numbers = Vec::with_capacity(operations.len());
        for (op, read) in operations {
            let known = self.known[mapping].get(&(op, read)).copied();
            let number = match known {
                Some(number) => number,
                None => {
                    let number = match self.mappings[mapping].sequence(&op, read) {
                        Ok(sequence) => Some(self.sequences.number_sequence(&sequence)),
                        Err(NoProgram::Unsupported(_) | NoProgram::NoRow { .. }) => None,
                        Err(unmodelled) => return Err(unmodelled),
                    };
                    self.known[mapping].insert((op, read), number);
                    number
                }
            };
            let Some(number) = number else { return Ok(None) };
            numbers.push(number);
        }
        Ok(Some(numbers))
    }
}
