//! Whether a lowering admits only what its source program admits.

use ptx_memory_model::{
    outcome::{Limits, State},
    program::Program,
    ptx::{self, Conventions, Ptx},
    source::{self, Cpp, ReleaseSequences},
    unfold::Limit,
};

use crate::translate::{Cache, Mapping, NoProgram};

/// What a source program admits.
#[derive(Clone, Debug)]
pub enum Admitted {
    /// These final states.
    States(source::search::SourceOutcomes),
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
    Unknown(Limit),
}

/// What a program admits.
pub fn admitted(program: &Program<Cpp>, rule: ReleaseSequences, limits: Limits) -> Admitted {
    let found = source::search::outcomes(program, rule, limits);
    match (&found.race, found.outcomes.unknown) {
        (Some(_), _) => Admitted::All,
        (None, Some(limit)) => Admitted::Unknown(limit),
        (None, None) => Admitted::States(found),
    }
}

/// Judges a lowered program. Its states are laid out like those of the source.
pub fn judge(admitted: &Admitted, lowered: &ptx::Program, limits: Limits) -> Verdict {
    let source = match admitted {
        Admitted::All => return Verdict::Sound,
        Admitted::Unknown(limit) => return Verdict::Unknown(*limit),
        Admitted::States(found) => &found.outcomes.states,
    };
    let found = ptx::search::outcomes(lowered, Conventions::MANUAL, limits);
    let wrong = found.states.iter().filter(|state| !source.contains(state));
    let wrong: Vec<State> = wrong.map(Into::into).collect();
    match found.unknown {
        _ if !wrong.is_empty() => Verdict::Unsound(wrong),
        Some(limit) => Verdict::Unknown(limit),
        None => Verdict::Sound,
    }
}

/// Lowers programs by several mappings, and judges what differs among the results once.
pub struct Checker<'m, 'l> {
    mappings: &'m [Mapping<'l>],
    caches: Vec<Cache>,
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
    /// Pairs that the target has no lowering for.
    pub unsupported: u64,
    pub unsound: u64,
    pub unknown: u64,
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
        let caches = mappings.iter().map(|_| Cache::default()).collect();
        Self { mappings, caches, rule, limits, counts: Counts::default() }
    }

    /// Checks a program under every mapping.
    ///
    /// # Errors
    /// If a lowering has instructions that the model does not know.
    pub fn check(&mut self, program: &Program<Cpp>) -> Result<Vec<Counterexample>, NoProgram> {
        let counts = &mut self.counts;
        counts.programs += 1;
        let admitted = admitted(program, self.rule, self.limits);
        if matches!(admitted, Admitted::All) {
            counts.undefined += 1;
            return Ok(Vec::new());
        }
        let mut judged: Vec<(Program<Ptx>, Verdict)> = Vec::new();
        let mut found = Vec::new();
        for (index, (mapping, cache)) in self.mappings.iter().zip(&mut self.caches).enumerate() {
            let lowered = match mapping.translate(program, cache) {
                Ok(lowered) => lowered,
                Err(NoProgram::Unsupported(_)) => {
                    counts.unsupported += 1;
                    continue;
                }
                Err(unmodelled) => return Err(unmodelled),
            };
            counts.pairs += 1;
            let known = judged.iter().position(|(other, _)| *other == lowered);
            let known = known.unwrap_or_else(|| {
                counts.lowered += 1;
                let verdict = judge(&admitted, &lowered, self.limits);
                judged.push((lowered, verdict));
                judged.len() - 1
            });
            match &judged[known] {
                (_, Verdict::Sound) => {}
                (_, Verdict::Unknown(_)) => counts.unknown += 1,
                (lowered, Verdict::Unsound(states)) => {
                    counts.unsound += 1;
                    let (lowered, states) = (lowered.clone(), states.clone());
                    found.push(Counterexample { mapping: index, lowered, states });
                }
            }
        }
        Ok(found)
    }
}
