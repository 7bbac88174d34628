//! Mix testing: programs whose parts are compiled by different mappings and then linked (Geeson et al., OOPSLA 2024).

use std::collections::HashMap;

use itertools::Itertools;
use ptx_lowering::{AtomicOp, Policy, PtxVersion, Strategy, Target, abi::EXTERNAL_MAPPINGS};
use ptx_memory_model::{
    outcome::Limits,
    program::Program,
    ptx::Ptx,
    source::{self, Cpp, Rules, read::Source, search::SourceOutcomes},
};
use strum::IntoEnumIterator;

use crate::{
    check::{Counterexample, Soundness, bounded, judge, of_source},
    numbers::Numbers,
    programs::{self, Set},
    translate::{Mapping, NoProgram, inline, operations},
    verify::{BrokenProgram, EXPANSIONS, on_all_cores},
};

/// The target on which all mappings are compared: it has every fence and every scope.
pub const TARGET: (&str, PtxVersion) = ("sm_90", PtxVersion(8, 6));

/// The names of the project's strategies.
pub fn strategies() -> impl Iterator<Item = &'static str> {
    Strategy::iter().map(Into::into)
}

/// The names of all mappings: the project's strategies, then third-party mappings.
pub fn names() -> Vec<&'static str> {
    strategies().chain(EXTERNAL_MAPPINGS.iter().map(|other| other.name)).collect()
}

/// The mapping with this name.
pub fn mapping(name: &str) -> Option<Mapping<'static>> {
    let target = Target::new(TARGET.0.parse().ok()?, Some(TARGET.1)).ok()?;
    let access = EXPANSIONS[0].access();
    if let Some(other) = EXTERNAL_MAPPINGS.iter().find(|other| other.name == name) {
        return Some(Mapping::other(other, target, access));
    }
    let strategy: Strategy = name.parse().ok()?;
    Some(Mapping::new(Policy::from(strategy), target, access, name.to_owned()))
}

/// The unit that one mapping compiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A thread: linked programs consist of kernels.
    Thread,
    /// An operation: a thread calls functions that other mappings have compiled.
    Operation,
}

/// The result for two mappings, or for one alone.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    /// The number of defined programs with units of both mappings.
    pub programs: u64,
    /// The number of choices of a mapping for each unit.
    pub mixtures: u64,
    /// The number of mixtures with a final state that the source forbids.
    pub not_kept: u64,
    /// The number of these mixtures whose program each of the two mappings alone preserves.
    pub together: u64,
    pub unknown: u64,
    /// A smallest mixture that is not preserved, preferably of a program that each mapping alone preserves.
    pub example: Option<Example>,
}

/// A mixture that is not preserved.
#[derive(Clone, Debug)]
pub struct Example {
    /// Whether each of the two mappings alone preserves the program.
    pub together: bool,
    pub found: BrokenProgram,
}

impl Example {
    /// Whether this example is preferable to another. The order is total, so the choice does not depend on the order of
    /// the programs.
    fn is_better(&self, other: &Self) -> bool {
        let size = |example: &Self| {
            let threads = &example.found.source.program.threads;
            (!example.together, threads.len() + threads.iter().map(|thread| thread.code.len()).sum::<usize>())
        };
        let text = |example: &Self| (example.found.source.to_string(), example.found.mapping.clone());
        size(self).cmp(&size(other)).then_with(|| text(self).cmp(&text(other))).is_lt()
    }
}

impl Cell {
    fn add(&mut self, other: Self) {
        self.programs += other.programs;
        self.mixtures += other.mixtures;
        self.not_kept += other.not_kept;
        self.together += other.together;
        self.unknown += other.unknown;
        if let Some(example) = other.example {
            self.consider(example);
        }
    }

    fn consider(&mut self, example: Example) {
        if self.example.as_ref().is_none_or(|known| example.is_better(known)) {
            self.example = Some(example);
        }
    }
}

/// The result for sets of programs: a cell for each mapping, and for each pair.
#[derive(Default)]
pub struct Report {
    pub programs: u64,
    pub undefined: u64,
    /// The number of different PTX programs.
    pub lowered: u64,
    /// The number of examined executions, of both models.
    pub candidates: u64,
    /// The cells by the numbers of two mappings, the smaller number first.
    pub cells: HashMap<(usize, usize), Cell>,
}

impl Report {
    /// Adds the result for further programs.
    pub fn add(&mut self, other: Self) {
        self.programs += other.programs;
        self.undefined += other.undefined;
        self.lowered += other.lowered;
        self.candidates += other.candidates;
        for (pair, cell) in other.cells {
            self.cells.entry(pair).or_default().add(cell);
        }
    }
}

/// Checks every pair of these mappings, and each alone, on a set of programs. Of every `shard.1` programs, only number
/// `shard.0` is checked.
///
/// # Errors
/// If a mapping has instructions that the model lacks.
pub fn mix(
    mappings: &[Mapping<'_>],
    unit: Unit,
    set: Set,
    rules: Rules,
    shard: (usize, usize),
) -> Result<Report, NoProgram> {
    each(mappings, unit, rules, shard, &|shard, check| programs::each(set, EXPANSIONS[0].values(), shard, check))
}

/// The same for given programs.
///
/// # Errors
/// See [`mix`].
pub fn mix_these(mappings: &[Mapping<'_>], unit: Unit, sources: &[Source], rules: Rules) -> Result<Report, NoProgram> {
    each(mappings, unit, rules, (1, 1), &|(k, n), check| {
        sources.iter().skip(k - 1).step_by(n).for_each(|source| check(&source.name, &source.program));
    })
}

type Each<'e> = &'e (dyn Fn((usize, usize), &mut dyn FnMut(&str, &Program<Cpp>)) + Sync);

fn each(
    mappings: &[Mapping<'_>],
    unit: Unit,
    rules: Rules,
    shard: (usize, usize),
    programs: Each<'_>,
) -> Result<Report, NoProgram> {
    let reports = on_all_cores(shard, |shard| {
        let mut mixer = Mixer { mappings, unit, rules, numbers: Numbers::default(), report: Report::default() };
        let mut error = None;
        programs(shard, &mut |name, program| {
            if error.is_none() {
                error = mixer.check(name, program).err();
            }
        });
        error.map_or(Ok(mixer.report), Err)
    })?;
    let mut whole = Report::default();
    reports.into_iter().for_each(|report| whole.add(report));
    Ok(whole)
}

struct Mixer<'m> {
    mappings: &'m [Mapping<'m>],
    unit: Unit,
    rules: Rules,
    numbers: Numbers,
    report: Report,
}

impl Mixer<'_> {
    fn check(&mut self, name: &str, program: &Program<Cpp>) -> Result<(), NoProgram> {
        self.report.programs += 1;
        let limits = bounded(program, EXPANSIONS[0].limits());
        let admitted = source::search::outcomes(program, self.rules, of_source(limits));
        self.report.candidates += admitted.outcomes.candidates;
        if admitted.undefined {
            self.report.undefined += 1;
            return Ok(());
        }
        let units = self.units(program)?;
        let count = units.len();
        let mut mixed = Mixed { program, admitted, limits, units, known: HashMap::new(), judged: Vec::new() };
        for (a, b) in pairs(self.mappings.len()) {
            let mut is_wrong = |mapping: usize| {
                let judged = mixed.judge(&vec![mapping; count], &self.numbers, &mut self.report)?;
                Ok(judged.is_some_and(|number| matches!(mixed.judged[number].0, Soundness::Unsound(_))))
            };
            let by_itself = is_wrong(a)? || is_wrong(b)?;
            let mut cell = Cell::default();
            for choice in choices(a, b, count) {
                let Some(number) = mixed.judge(&choice, &self.numbers, &mut self.report)? else { continue };
                let (verdict, lowered) = &mixed.judged[number];
                cell.mixtures += 1;
                match verdict {
                    Soundness::Sound | Soundness::SoundIf(_) => {}
                    Soundness::Unknown(_) => cell.unknown += 1,
                    Soundness::Unsound(states) => {
                        let together = !by_itself;
                        cell.not_kept += 1;
                        cell.together += u64::from(together);
                        let mapping = choice.iter().map(|&mapping| &self.mappings[mapping].name).join(", ");
                        let source = Source { name: name.to_owned(), program: program.clone() };
                        let (lowered, states) = (lowered.clone(), states.clone());
                        let example = Counterexample { mapping: choice[0], lowered, states };
                        cell.consider(Example { together, found: BrokenProgram { mapping, source, example } });
                    }
                }
            }
            cell.programs = u64::from(cell.mixtures > 0);
            self.report.cells.entry((a, b)).or_default().add(cell);
        }
        Ok(())
    }

    /// The units of a program.
    fn units(&mut self, program: &Program<Cpp>) -> Result<Vec<ByMapping>, NoProgram> {
        let access = EXPANSIONS[0].access();
        let mut units = Vec::new();
        for thread in &program.threads {
            let alone = Program { locations: Vec::new(), threads: vec![thread.clone()] };
            let all = operations(&alone, access)?;
            match self.unit {
                Unit::Thread => units.push(self.unit(&all)?),
                Unit::Operation => {
                    for operation in all.chunks(1) {
                        units.push(self.unit(operation)?);
                    }
                }
            }
        }
        Ok(units)
    }

    fn unit(&mut self, operations: &[(AtomicOp, bool)]) -> Result<ByMapping, NoProgram> {
        let by = |mapping: &Mapping<'_>| {
            let mut numbers = Vec::with_capacity(operations.len());
            for (op, read) in operations {
                match mapping.sequence(op, *read) {
                    Ok(sequence) => numbers.push(self.numbers.number_sequence(&sequence)),
                    Err(NoProgram::Unsupported(_) | NoProgram::NoRow { .. }) => return Ok(None),
                    Err(unmodelled) => return Err(unmodelled),
                }
            }
            Ok(Some(numbers))
        };
        self.mappings.iter().map(by).collect()
    }
}

/// The sequences of a unit by mapping; `None` if the mapping lacks one of its operations.
type ByMapping = Vec<Option<Vec<usize>>>;

/// A program, with the judged lowerings so far.
struct Mixed<'p> {
    program: &'p Program<Cpp>,
    admitted: SourceOutcomes,
    limits: Limits,
    units: Vec<ByMapping>,
    /// By the sequences of the whole program: the index of the judged lowering.
    known: HashMap<Vec<usize>, usize>,
    judged: Vec<(Soundness, Program<Ptx>)>,
}

impl Mixed<'_> {
    /// Judges the program with a mapping for each unit, if each mapping has the operations of its unit.
    fn judge(&mut self, choice: &[usize], numbers: &Numbers, report: &mut Report) -> Result<Option<usize>, NoProgram> {
        let sequences = choice.iter().zip(&self.units).map(|(&mapping, unit)| unit[mapping].as_deref());
        let Some(sequences) = sequences.collect::<Option<Vec<_>>>().map(|units| units.concat()) else {
            return Ok(None);
        };
        if let Some(&number) = self.known.get(&sequences) {
            return Ok(Some(number));
        }
        let lowered = inline(self.program, &numbers.all(&sequences))?;
        let (verdict, candidates) = judge(&self.admitted, &lowered, self.limits);
        report.candidates += candidates;
        report.lowered += 1;
        self.known.insert(sequences, self.judged.len());
        self.judged.push((verdict, lowered));
        Ok(Some(self.judged.len() - 1))
    }
}

/// Every pair of mappings, including each mapping with itself.
pub fn pairs(mappings: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..mappings).flat_map(move |a| (a..mappings).map(move |b| (a, b)))
}

/// Every choice of one of two mappings for each unit in which both mappings occur.
fn choices(a: usize, b: usize, units: usize) -> Vec<Vec<usize>> {
    if a == b {
        return vec![vec![a; units]];
    }
    let all = (0..units).map(|_| [a, b]).multi_cartesian_product();
    all.filter(|choice| choice.contains(&a) && choice.contains(&b)).collect()
}
