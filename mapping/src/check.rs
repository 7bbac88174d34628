//! Whether a lowering admits only what its source program admits.

use std::collections::HashMap;

use ptx_atomics_lowering::{AtomicOp, Sequence};
use ptx_memory_model::{
    outcome::{Limits, State},
    program::Program,
    ptx::{self, Conventions, Ptx},
    source::{self, Cpp, ReleaseSequences},
    states::States,
    unfold::Limit,
};

use crate::translate::{Mapping, NoProgram, in_words, inline, operations};

/// What a source program admits.
#[derive(Clone, Debug)]
pub enum Admitted {
    /// These final states.
    States(States),
    /// Everything: some execution races.
    All,
    Unknown(Limit),
}

/// What became of a program under a mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Sound,
    /// The lowered program ends in states that the source has not.
    Unsound(Vec<State>),
    /// Accesses of the lowered program overlap in part, and the model says nothing of that (section 8.7.2). Were each as wide as
    /// the word around it, the program would be sound.
    MixedSizes,
    Unknown(Limit),
}

/// What a program admits, and the number of executions that were looked at.
pub fn admitted(program: &Program<Cpp>, rule: ReleaseSequences, limits: Limits) -> (Admitted, u64) {
    let found = source::search::outcomes(program, rule, limits);
    let admitted = match (&found.race, found.outcomes.unknown) {
        (Some(_), _) => Admitted::All,
        (None, Some(limit)) => Admitted::Unknown(limit),
        (None, None) => Admitted::States(found.outcomes.states),
    };
    (admitted, found.outcomes.candidates)
}

/// Judges a lowered program, whose states are laid out like those of the source; and the number of executions that were
/// looked at.
pub fn judge(admitted: &Admitted, lowered: &ptx::Program, limits: Limits) -> (Verdict, u64) {
    let source = match admitted {
        Admitted::All => return (Verdict::Sound, 0),
        Admitted::Unknown(limit) => return (Verdict::Unknown(*limit), 0),
        Admitted::States(states) => states,
    };
    let mut found = ptx::search::outcomes(lowered, Conventions::MANUAL, limits);
    let mixed = found.unknown == Some(Limit::MixedSizes);
    if mixed {
        found = ptx::search::outcomes(&in_words(lowered), Conventions::MANUAL, limits);
    }
    let wrong = found.states.iter().filter(|state| !source.contains(state));
    let wrong: Vec<State> = wrong.map(Into::into).collect();
    let verdict = match found.unknown {
        _ if !wrong.is_empty() => Verdict::Unsound(wrong),
        Some(limit) => Verdict::Unknown(limit),
        None if !found.speculative.is_subset(source) => Verdict::Unknown(Limit::ThinAir),
        None if mixed => Verdict::MixedSizes,
        None => Verdict::Sound,
    };
    (verdict, found.candidates)
}

/// Lowers programs by several mappings, and judges what differs among the results once.
pub struct Checker<'m, 'l> {
    mappings: &'m [Mapping<'l>],
    /// What each mapping makes of an operation, as a number; nothing if the target has no lowering.
    known: Vec<HashMap<(AtomicOp, bool), Option<usize>>>,
    /// The sequences by their numbers.
    sequences: Vec<Sequence>,
    rule: ReleaseSequences,
    limits: Limits,
    pub counts: Counts,
}

/// How much was checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub programs: u64,
    /// Programs that race.
    pub undefined: u64,
    /// Pairs of a program and a mapping.
    pub pairs: u64,
    /// Different PTX programs among these.
    pub lowered: u64,
    /// Executions that the searches of both models completed.
    pub candidates: u64,
    /// Pairs that the target has no lowering for.
    pub unsupported: u64,
    pub unsound: u64,
    /// Pairs whose accesses have different sizes, so that only their order was looked at.
    pub mixed: u64,
    pub unknown: u64,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.programs += other.programs;
        self.undefined += other.undefined;
        self.pairs += other.pairs;
        self.lowered += other.lowered;
        self.candidates += other.candidates;
        self.unsupported += other.unsupported;
        self.unsound += other.unsound;
        self.mixed += other.mixed;
        self.unknown += other.unknown;
    }
}

/// A program that a mapping does not keep.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// The index of the mapping.
    pub mapping: usize,
    pub lowered: Program<Ptx>,
    pub states: Vec<State>,
}

impl<'m, 'l> Checker<'m, 'l> {
    pub fn new(mappings: &'m [Mapping<'l>], rule: ReleaseSequences, limits: Limits) -> Self {
        let known = mappings.iter().map(|_| HashMap::new()).collect();
        Self { mappings, known, sequences: Vec::new(), rule, limits, counts: Counts::default() }
    }

    /// Checks a program under every mapping.
    ///
    /// # Errors
    /// If a lowering has instructions that the model does not know.
    pub fn check(&mut self, program: &Program<Cpp>) -> Result<Vec<Counterexample>, NoProgram> {
        self.counts.programs += 1;
        let (admitted, candidates) = admitted(program, self.rule, self.limits);
        self.counts.candidates += candidates;
        if matches!(admitted, Admitted::All) {
            self.counts.undefined += 1;
            return Ok(Vec::new());
        }
        let mut judged: Vec<(Vec<usize>, Program<Ptx>, Verdict)> = Vec::new();
        let mut found = Vec::new();
        for mapping in 0..self.mappings.len() {
            let Some(numbers) = self.numbers(program, mapping)? else {
                self.counts.unsupported += 1;
                continue;
            };
            self.counts.pairs += 1;
            let index = match judged.iter().position(|(known, ..)| *known == numbers) {
                Some(index) => index,
                None => {
                    self.counts.lowered += 1;
                    let sequences: Vec<_> = numbers.iter().map(|&number| &self.sequences[number]).collect();
                    let lowered = inline(program, &sequences)?;
                    let (verdict, candidates) = judge(&admitted, &lowered, self.limits);
                    self.counts.candidates += candidates;
                    judged.push((numbers, lowered, verdict));
                    judged.len() - 1
                }
            };
            match &judged[index] {
                (.., Verdict::Sound) => {}
                (.., Verdict::MixedSizes) => self.counts.mixed += 1,
                (.., Verdict::Unknown(_)) => self.counts.unknown += 1,
                (_, lowered, Verdict::Unsound(states)) => {
                    self.counts.unsound += 1;
                    found.push(Counterexample { mapping, lowered: lowered.clone(), states: states.clone() });
                }
            }
        }
        Ok(found)
    }

    /// The numbers of the sequences that a mapping has for the operations of a program.
    fn numbers(&mut self, program: &Program<Cpp>, mapping: usize) -> Result<Option<Vec<usize>>, NoProgram> {
        let mut numbers = Vec::with_capacity(8);
        for (op, read) in operations(program, self.mappings[mapping].access)? {
            let known = self.known[mapping].get(&(op, read)).copied();
            let number = match known {
                Some(number) => number,
                None => {
                    let number = match self.mappings[mapping].sequence(&op, read) {
                        Ok(sequence) => Some(self.number(sequence)),
                        Err(NoProgram::Unsupported(_)) => None,
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

    fn number(&mut self, sequence: Sequence) -> usize {
        let known = self.sequences.iter().position(|known| *known == sequence);
        known.unwrap_or_else(|| {
            self.sequences.push(sequence);
            self.sequences.len() - 1
        })
    }
}
