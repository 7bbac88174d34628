//! What is said of a kernel: the findings of the check, each with what executions show of it, and what executions alone show.

use ptx_execute::{Finding as Found, Site};

use crate::{Finding, Level, Report, Witness, Witnesses};

/// A finding with what executions say of it.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The finding.
    pub finding: Finding,
    /// What it is by the executions.
    pub level: Level,
    /// The execution.
    pub executed: Executed,
}

/// What is said of a kernel: first the findings of a report, in its order. `has_block` is whether it is known how many threads a CTA has.
pub fn shown(report: &Report, witnesses: Option<&Witnesses>, has_block: bool) -> Vec<Shown> {
    let shown = |finding: &Finding, executed: Executed| {
        let level = executed.level(finding);
        Shown { finding: finding.clone(), level, executed }
    };
    let proposed = report.findings.iter().enumerate();
    let proposed = proposed.map(|(number, finding)| shown(finding, Executed::of(witnesses, has_block, number)));
    let alone = witnesses.into_iter().flat_map(Witnesses::news);
    let alone = alone.map(|witness| shown(&witness.finding(), Executed::new(has_block, witness)));
    proposed.chain(alone).collect()
}

/// What executions say of a finding.
#[derive(Clone, Debug)]
pub enum Executed {
    /// None was looked for.
    No,
    /// It was in none of so many.
    Unseen(u32),
    Seen(Box<Witness>),
    /// In a launch whose number of threads in a CTA is made up.
    Assumed(Box<Witness>),
    /// A race of ordinary accesses, with the seed. Its notes are the finding's own.
    Race(u64, Box<Found>),
}

impl Executed {
    /// What shows the finding that has this number.
    fn of(witnesses: Option<&Witnesses>, has_block: bool, number: usize) -> Self {
        let Some(witnesses) = witnesses else { return Self::No };
        let shown = witnesses.found.iter().filter(|witness| witness.shows == Some(number));
        match shown.min_by_key(|witness| witness.class) {
            Some(witness) => Self::new(has_block, witness),
            None => Self::Unseen(witnesses.runs),
        }
    }

    fn new(has_block: bool, witness: &Witness) -> Self {
        let witness = Box::new(witness.clone());
        if has_block { Self::Seen(witness) } else { Self::Assumed(witness) }
    }

    /// What a finding is by it.
    fn level(&self, finding: &Finding) -> Level {
        Level::of(finding, self.witness().map(|witness| witness.class), !matches!(self, Self::Assumed(_)))
    }

    /// The execution that was seen.
    pub fn witness(&self) -> Option<&Witness> {
        match self {
            Self::Seen(witness) | Self::Assumed(witness) => Some(witness),
            Self::No | Self::Unseen(_) | Self::Race(..) => None,
        }
    }

    /// What was found in an execution, and its seed.
    pub fn found(&self) -> Option<(u64, &Found)> {
        match self {
            Self::Race(seed, found) => Some((*seed, found)),
            _ => self.witness().map(|witness| (witness.seed, &witness.found)),
        }
    }

    /// In words, with the lines of the PTX if its reader has it.
    pub fn notes(&self, has_ptx: bool) -> Vec<String> {
        match self {
            Self::No | Self::Race(..) => Vec::new(),
            Self::Unseen(runs) => vec![format!("in none of {runs} executions")],
            Self::Seen(witness) | Self::Assumed(witness) => {
                let Witness { found, is_dependent, .. } = &**witness;
                let twice =
                    if *is_dependent { ", where a second grid may start before the first one has ended" } else { "" };
                let words = |site: &Site| match has_ptx {
                    true => site.to_string(),
                    false => {
                        let ([x, y, z], [i, j, k]) = (site.thread, site.cta);
                        format!("{} of thread {x},{y},{z} of CTA {i},{j},{k}", site.instruction)
                    }
                };
                let first = found.other.as_ref().map(|site| format!("first {}, then ", words(site)));
                let sites = format!("{}{}", first.unwrap_or_default(), words(&found.site));
                let mut notes = vec![format!("an execution{twice}: {sites}")];
                if matches!(self, Self::Assumed(_)) {
                    notes.push("the kernel does not say how many threads a CTA has in each direction: with --block it is settled".into());
                }
                notes
            }
        }
    }
}
