//! The check of programs whose threads run partly on the host and partly on the GPU.

use ptx_memory_model::{
    place::Scope,
    program::{Instruction, Program},
    ptx::Ptx,
    source::{self, Cpp, Rules, read::Source},
};

use crate::{
    check::{Counterexample, Soundness, bounded, judge, of_source},
    host::HostMapping,
    numbers::Numbers,
    programs::{self, Set},
    translate::{Mapping, NoProgram, inline, operations, typed},
    verify::{BrokenProgram, EXPANSIONS, on_all_cores},
};

/// The result for programs with some threads on the host.
#[derive(Default)]
pub struct Report {
    pub programs: u64,
    pub undefined: u64,
    /// The number of choices of threads that run on the host.
    pub mixtures: u64,
    /// The number of different programs with both processors.
    pub lowered: u64,
    /// The number of examined executions, of both models.
    pub candidates: u64,
    /// The results by the number of the host mapping.
    pub cells: Vec<Cell>,
}

/// The result for one mapping of the host.
#[derive(Clone, Default)]
pub struct Cell {
    /// Choices of the host's threads and of a mapping for the GPU's threads.
    pub mixtures: u64,
    pub not_kept: u64,
    pub unknown: u64,
    /// A smallest program that is not preserved.
    pub example: Option<BrokenProgram>,
}

impl Cell {
    fn add(&mut self, other: Self) {
        self.mixtures += other.mixtures;
        self.not_kept += other.not_kept;
        self.unknown += other.unknown;
        if let Some(found) = other.example {
            self.consider(found);
        }
    }

    fn consider(&mut self, found: BrokenProgram) {
        let size = |found: &BrokenProgram| {
            let threads = &found.source.program.threads;
            (threads.iter().map(|thread| thread.code.len()).sum::<usize>(), threads.len(), found.source.to_string())
        };
        if self.example.as_ref().is_none_or(|known| size(&found) < size(known)) {
            self.example = Some(found);
        }
    }
}

impl Report {
    /// Adds the result for further programs.
    pub fn add(&mut self, other: Self) {
        self.programs += other.programs;
        self.undefined += other.undefined;
        self.mixtures += other.mixtures;
        self.lowered += other.lowered;
        self.candidates += other.candidates;
        self.cells.resize(self.cells.len().max(other.cells.len()), Cell::default());
        self.cells.iter_mut().zip(other.cells).for_each(|(cell, other)| cell.add(other));
    }
}

/// Checks mappings of the host together with mappings of the GPU on a set of programs, at scope sys. Every nonempty
/// choice of threads runs on the host. Of every `shard.1` programs, only number `shard.0` is checked.
///
/// # Errors
/// If a mapping has instructions that the model lacks.
pub fn check_set(
    hosts: &[HostMapping],
    mappings: &[Mapping<'_>],
    set: Set,
    rules: Rules,
    shard: (usize, usize),
) -> Result<Report, NoProgram> {
    each(hosts, mappings, rules, shard, &|shard, check| programs::each(set, EXPANSIONS[0].values(), shard, check))
}

/// The same for given programs.
///
/// # Errors
/// See [`check_set`].
pub fn check_sources(
    hosts: &[HostMapping],
    mappings: &[Mapping<'_>],
    sources: &[Source],
    rules: Rules,
) -> Result<Report, NoProgram> {
    each(hosts, mappings, rules, (1, 1), &|(k, n), check| {
        sources.iter().skip(k - 1).step_by(n).for_each(|source| check(&source.name, &source.program));
    })
}

type Each<'e> = &'e (dyn Fn((usize, usize), &mut dyn FnMut(&str, &Program<Cpp>)) + Sync);

fn each(
    hosts: &[HostMapping],
    mappings: &[Mapping<'_>],
    rules: Rules,
    shard: (usize, usize),
    programs: Each<'_>,
) -> Result<Report, NoProgram> {
    let reports = on_all_cores(shard, |shard| {
        let report = Report { cells: vec![Cell::default(); hosts.len()], ..Report::default() };
        let mut checker = Checker { hosts, mappings, rules, numbers: Numbers::default(), report };
        let mut error = None;
        programs(shard, &mut |name, program| {
            if error.is_none() {
                error = checker.check(name, program).err();
            }
        });
        error.map_or(Ok(checker.report), Err)
    })?;
    let mut whole = Report::default();
    reports.into_iter().for_each(|report| whole.add(report));
    Ok(whole)
}

struct Checker<'m> {
    hosts: &'m [HostMapping],
    mappings: &'m [Mapping<'m>],
    rules: Rules,
    numbers: Numbers,
    report: Report,
}

impl Checker<'_> {
    fn check(&mut self, name: &str, program: &Program<Cpp>) -> Result<(), NoProgram> {
        self.report.programs += 1;
        let limits = bounded(program, EXPANSIONS[0].limits());
        let program = &typed(&at_scope_sys(program), EXPANSIONS[0].values().ty)?;
        let admitted = source::search::outcomes(program, self.rules, of_source(limits));
        self.report.candidates += admitted.outcomes.candidates;
        if admitted.undefined {
            self.report.undefined += 1;
            return Ok(());
        }
        let threads = program.threads.len();
        let mut judged: Vec<(Program<Ptx>, Soundness)> = Vec::new();
        for (number, mapping) in self.mappings.iter().enumerate() {
            let Some(whole) = self.lowered(program, mapping)? else { continue };
            for (index, host) in self.hosts.iter().enumerate() {
                for on_host in 1..1_usize << threads {
                    let lowered = with_host(program, &whole, host, on_host)?;
                    let known = judged.iter().position(|(other, _)| *other == lowered);
                    let known = match known {
                        Some(known) => known,
                        None => {
                            let (verdict, candidates) = judge(&admitted, &lowered, limits);
                            self.report.candidates += candidates;
                            self.report.lowered += 1;
                            judged.push((lowered, verdict));
                            judged.len() - 1
                        }
                    };
                    self.report.mixtures += 1;
                    let cell = &mut self.report.cells[index];
                    cell.mixtures += 1;
                    match &judged[known] {
                        (_, Soundness::Sound | Soundness::SoundIf(_)) => {}
                        (_, Soundness::Unknown(_)) => cell.unknown += 1,
                        (lowered, Soundness::Unsound(states)) => {
                            cell.not_kept += 1;
                            let source = Source { name: name.to_owned(), program: program.clone() };
                            let mapping = format!("{} check_set {}", host.name, mapping.name);
                            let (lowered, states) = (lowered.clone(), states.clone());
                            let example = Counterexample { mapping: number, lowered, states };
                            cell.consider(BrokenProgram { mapping, source, example });
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// The whole program on the GPU; `None` if the mapping lacks one of its operations.
    fn lowered(&mut self, program: &Program<Cpp>, mapping: &Mapping<'_>) -> Result<Option<Program<Ptx>>, NoProgram> {
        let mut numbers = Vec::new();
        for (op, read) in operations(program, EXPANSIONS[0].access())? {
            match mapping.sequence(&op, read) {
                Ok(sequence) => numbers.push(self.numbers.number_sequence(&sequence)),
                Err(NoProgram::Unsupported(_) | NoProgram::NoRow { .. }) => return Ok(None),
                Err(unmodelled) => return Err(unmodelled),
            }
        }
        inline(program, &self.numbers.all(&numbers)).map(Some)
    }
}

/// The program with these threads on the host: a bit mask selects the threads.
fn with_host(
    source: &Program<Cpp>,
    lowered: &Program<Ptx>,
    host: &HostMapping,
    on_host: usize,
) -> Result<Program<Ptx>, NoProgram> {
    let mut program = lowered.clone();
    for (index, (thread, source)) in program.threads.iter_mut().zip(&source.threads).enumerate() {
        if on_host >> index & 1 != 0 {
            *thread = host.thread(source)?;
        }
    }
    Ok(program)
}

/// The program with all scopes widened to the system.
fn at_scope_sys(program: &Program<Cpp>) -> Program<Cpp> {
    let mut program = program.clone();
    for statement in program.threads.iter_mut().flat_map(|thread| &mut thread.code) {
        match &mut statement.instruction {
            Instruction::Load { access, .. } | Instruction::Store { access, .. } | Instruction::Rmw { access, .. } => {
                access.scope = Scope::Sys;
            }
            Instruction::Fence(fence) => fence.scope = Scope::Sys,
            _ => {}
        }
    }
    program
}
