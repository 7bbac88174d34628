//! An executor of kernels: one CTA, one schedule, and the accesses that nothing orders in it.
//!
//! It shares nothing with the check but the syntax of PTX. Values are integers, or unknown.

#![allow(dead_code, reason = "each test uses a part of it")]

mod barrier;
mod clock;
mod code;
mod machine;
mod matrices;
mod race;
mod tensor;

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashMap},
};

use ptx_isa::{Function, Head, Module};

use self::{
    code::{Program, decode},
    machine::{Choice, Execution, Extents, execute},
};
pub use self::{
    machine::{End, Guess},
    race::{Class, Race},
};

/// An execution of a kernel with nothing deleted.
#[derive(Clone, Debug)]
pub struct Base {
    pub choice: Choice,
    pub races: BTreeSet<Race>,
    pub end: End,
    pub leaks: bool,
    extents: Extents,
    /// How often some warp executed each line.
    pub lines: HashMap<u32, u32>,
    steps: u64,
}

/// Some executions of a kernel that together reach most of it.
#[derive(Clone, Debug)]
pub struct Oracle {
    pub bases: Vec<Base>,
    /// Why others could not be used.
    pub unclear: BTreeSet<(u32, String)>,
}

/// What is said of a kernel with something deleted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Judgement {
    Races(Race),
    /// Threads wait for ever, on this line.
    Hangs(u32),
    /// Tensor memory stays allocated.
    Leaks,
    /// There is no race that was not there before.
    Redundant,
    Unclear(u32, String),
}

pub type Input = (&'static [u64], u64, u64);

/// Integers, the CTA and the size of the grid, so that loops are left out, run once, and run often.
pub const INPUTS: [Input; 15] = [
    (&[12], 0, 1),
    (&[512], 0, 2),
    (&[1024, 512, 256], 0, 3),
    (&[64], 0, 1),
    (&[1], 0, 1),
    (&[0], 0, 1),
    (&[192], 0, 1),
    (&[512], 1, 8),
    (&[512], 3, 8),
    (&[300, 2], 0, 2),
    (&[2, 700], 0, 1),
    (&[128, 384, 3], 0, 2),
    (&[384, 256, 64, 2], 0, 1),
    (&[256, 0, 512], 0, 2),
    (&[3, 64, 500, 256], 1, 2),
];

const CHOICES: usize = 5;

/// More rounds of a loop say nothing new.
const ROUNDS: u32 = 40;

impl Oracle {
    pub fn new(module: &Module, function: &Function, inputs: &[Input]) -> Self {
        let mut open: Vec<Base> = Vec::new();
        let mut unclear = BTreeSet::new();
        if Head::read(&function.head).required_ctas.is_some() {
            unclear.insert((0, "several CTAs".into()));
            return Self { bases: Vec::new(), unclear };
        }
        let program = decode(module, function);
        for &(integers, cta, grid) in inputs {
            for guess in [Guess::None, Guess::All(false), Guess::All(true)] {
                let choice = Choice { integers: integers.to_vec(), cta, grid, guess };
                let base = Base::new(&program, choice);
                let is_unclear = matches!(base.end, End::Unclear(..));
                match &base.end {
                    End::Unclear(line, why) => drop(unclear.insert((*line, why.clone()))),
                    End::Hangs(line) => drop(unclear.insert((*line, "it waits for ever".into()))),
                    End::Done => open.push(base),
                }
                if !is_unclear {
                    break;
                }
            }
        }
        // What reaches most that the others do not.
        let mut bases: Vec<Base> = Vec::new();
        let mut reached: HashMap<u32, u32> = HashMap::new();
        while bases.len() < CHOICES && !open.is_empty() {
            let gain = |base: &Base| -> u32 {
                let of = |(line, count): (&u32, &u32)| {
                    (*count).min(ROUNDS).saturating_sub(reached.get(line).copied().unwrap_or(0))
                };
                base.lines.iter().map(of).sum()
            };
            let value = |index: &usize| (gain(&open[*index]), Reverse(open[*index].steps));
            let Some(best) = (0..open.len()).max_by_key(value) else { break };
            let base = open.remove(best);
            open.retain(|other| other.lines != base.lines);
            for (line, count) in &base.lines {
                let reached = reached.entry(*line).or_default();
                *reached = (*reached).max((*count).min(ROUNDS));
            }
            bases.push(base);
        }
        Self { bases, unclear }
    }

    /// The kernel with something deleted.
    pub fn judge(&self, module: &Module, name: &str) -> Judgement {
        let Some(function) = module.functions().find(|function| function.name == name) else {
            return Judgement::Unclear(0, "no such kernel".into());
        };
        let mut judgements = BTreeSet::new();
        let program = decode(module, function);
        for base in &self.bases {
            let after = execute(&program, &base.choice, &mut base.extents.clone());
            // What is in flight at the wrong time as the kernel is, is so wherever it meets something.
            let is_old = |race: &&Race| {
                let meets = |line: u32| line == race.first || line == race.second;
                let same = |old: &Race| old.class == Class::Asynchronous && meets(old.first);
                base.races.contains(race) || base.races.iter().any(same)
            };
            let new = after.races.iter().find(|race| !is_old(race));
            if let Some(race) = new {
                judgements.insert(Judgement::Races(*race));
                if race.class == Class::Asynchronous {
                    break;
                }
            }
            judgements.insert(match after.end {
                End::Hangs(line) if base.end == End::Done => Judgement::Hangs(line),
                End::Unclear(line, why) => Judgement::Unclear(line, why),
                _ if after.leaks && !base.leaks => Judgement::Leaks,
                _ => Judgement::Redundant,
            });
        }
        let is_unclear = |judgement: &Judgement| matches!(judgement, Judgement::Unclear(..));
        match judgements.iter().next() {
            None => {
                let (line, why) = self.unclear.first().cloned().unwrap_or_default();
                Judgement::Unclear(line, why)
            }
            Some(Judgement::Redundant) if judgements.iter().any(is_unclear) => {
                judgements.into_iter().find(is_unclear).unwrap_or(Judgement::Redundant)
            }
            Some(first) => first.clone(),
        }
    }
}

impl Base {
    fn new(program: &Program, choice: Choice) -> Self {
        let mut extents = Extents::default();
        execute(program, &choice, &mut extents);
        extents.settle();
        let Execution { races, end, leaks, lines, steps } = execute(program, &choice, &mut extents);
        Self { choice, races, end, leaks, extents, lines, steps }
    }
}
