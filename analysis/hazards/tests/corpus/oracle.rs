//! The judgement of CPU executions on a kernel with a deletion. The machine shares only the syntax of PTX with the
//! check.

use std::collections::BTreeSet;

use ptx_execute::{Fault, FaultKind, LaunchError, RunOptions};
use ptx_isa::{Function, Module};
use testing::reported::{Class, INPUTS, race, run};

/// The judgement on a kernel with a deletion, the most important first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Judgement {
    /// Two lines race.
    Races(Class, [u32; 2]),
    /// An operation is used as the manual forbids it, on this line.
    Misused(u32, String),
    /// Threads wait forever, on this line.
    Hangs(u32),
    /// Tensor memory stays allocated.
    Leaks,
    /// Executions do not decide.
    Unclear(String),
    /// Every fault was already there before the deletion.
    Redundant,
}

/// The faults that some executions of a kernel show before any deletion.
pub struct Oracle {
    boxes: Vec<u32>,
    bases: Vec<BTreeSet<Judgement>>,
}

/// The possible box sizes of tensor copies, if they are unknown. A size is right if no thread waits forever with it.
const SIZES: [u32; 6] = [4096, 2048, 8192, 16384, 32768, 1024];

impl Oracle {
    /// Runs a kernel of a module whose tensor maps have boxes of the given sizes in bytes.
    pub fn new(module: &Module, kernel: &Function, boxes: &[u32]) -> Self {
        let all = match boxes {
            [] => SIZES.map(|bytes| vec![bytes; kernel.head.text.matches(".param").count()]).to_vec(),
            known => vec![known.to_vec()],
        };
        let bases = |boxes: &Vec<u32>| INPUTS.map(|input| judge_run(module, kernel, input, boxes)).to_vec();
        let waits = |base: &BTreeSet<Judgement>| base.iter().any(|of| matches!(of, Judgement::Hangs(_)));
        let mut tried = all.into_iter().map(|boxes| Self { bases: bases(&boxes), boxes });
        let first = tried.next().expect("there are sizes");
        if !first.bases.iter().any(waits) {
            return first;
        }
        tried.find(|of| !of.bases.iter().any(waits)).unwrap_or(first)
    }

    /// Judges the kernel after a deletion.
    pub fn judge(&self, module: &Module, name: &str) -> Judgement {
        let Some(kernel) = module.functions().find(|function| function.name == name) else {
            return Judgement::Unclear("no such kernel".into());
        };
        // Runs in which the original kernel does not end are useless.
        let ends = |of: &Judgement| !matches!(of, Judgement::Unclear(_) | Judgement::Hangs(_));
        let useful: Vec<_> = self.bases.iter().zip(INPUTS).filter(|(base, _)| base.iter().all(ends)).collect();
        if useful.is_empty() {
            return Judgement::Unclear("it does not end with nothing deleted, either".into());
        }
        let new = |(base, input): (&BTreeSet<Judgement>, (u64, u64))| {
            // An operation that already races in the original kernel also races with other accesses.
            let old: Vec<u32> = base.iter().flat_map(|of| of.lines()).collect();
            let found = judge_run(module, kernel, input, &self.boxes);
            found.into_iter().find(|of| !base.contains(of) && !of.lines().iter().any(|line| old.contains(line)))
        };
        useful.into_iter().filter_map(new).min().unwrap_or(Judgement::Redundant)
    }
}

impl Judgement {
    /// The lines of asynchronous operations that race.
    fn lines(&self) -> Vec<u32> {
        match self {
            Self::Races(Class::Asynchronous, lines) => lines.to_vec(),
            _ => Vec::new(),
        }
    }

    fn from_fault(finding: &Fault) -> Option<Self> {
        let line = finding.site.at.line;
        Some(match finding.kind {
            FaultKind::SameValue | FaultKind::Uninitialized => return None,
            FaultKind::Hang => Self::Hangs(line),
            FaultKind::TensorMemory => Self::Leaks,
            FaultKind::Misuse | FaultKind::Unfinished | FaultKind::Absent | FaultKind::BarrierCount => {
                Self::Misused(line, finding.message.clone())
            }
            _ => match race(finding) {
                Some((class, lines)) => Self::Races(class, lines),
                None => Self::Unclear(format!("line {line}: {finding}")),
            },
        })
    }
}

fn judge_run(module: &Module, kernel: &Function, (seed, number): (u64, u64), boxes: &[u32]) -> BTreeSet<Judgement> {
    let said =
        |errors: Vec<LaunchError>| errors.iter().map(|error| error.reason.clone()).collect::<Vec<_>>().join("; ");
    match run(module, kernel, number, boxes, RunOptions::default().of_seed(seed)) {
        Ok(report) => report.findings.iter().filter_map(Judgement::from_fault).collect(),
        Err(errors) => BTreeSet::from([Judgement::Unclear(said(errors))]),
    }
}
