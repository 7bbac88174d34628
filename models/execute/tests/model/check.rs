//! The comparison of the model with the machine on a program.

use std::collections::{BTreeMap, BTreeSet};

use ptx_execute::{Argument, Buffer, Contents, Device, FaultKind, Launch, RunOptions, Schedule};
use ptx_isa::{FullSize, Module};
use ptx_memory_model::{
    outcome::Limits,
    ptx::{
        Conventions,
        search::{Races, races},
    },
};
use testing::random::Random;

use crate::program::{Case, Op, REGISTERS};

/// The results of a comparison.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// The number of outcomes that the model allows, and how many of them the machine showed.
    pub allowed: usize,
    pub had: usize,
    /// The number of outcomes with a race, and without a race.
    pub racy: usize,
    pub free: usize,
    pub runs: usize,
    /// The number of runs that speak for every schedule.
    pub determinate: usize,
}

/// The observable values of an outcome: the registers, and the final contents of global memory.
type Values = Vec<u64>;

/// A device with a program, and the program's buffers.
struct Prepared<'m> {
    device: Device<'m>,
    x: Buffer,
    results: Buffer,
}

impl<'m> Prepared<'m> {
    fn new(case: &Case, module: &'m Module) -> Result<Self, String> {
        let mut device = Device::new(module, RunOptions::default()).map_err(render_errors)?;
        let x = device.allocate("x", Contents::Bytes(vec![0; 128]));
        let results = device.allocate("results", Contents::Bytes(vec![0; case.threads.len() * REGISTERS * 8]));
        Ok(Self { device, x, results })
    }
}

fn render_errors(errors: Vec<ptx_execute::LaunchError>) -> String {
    format!("{errors:?}")
}

/// A run that ends: its final values, its race if it has one, and whether it speaks for every schedule.
struct Run {
    values: Values,
    race: Option<String>,
    is_determinate: bool,
}

/// One run. `None` if the run does not end.
fn run(case: &Case, prepared: &mut Prepared<'_>, seed: u64) -> Result<Option<Run>, String> {
    let Prepared { device, x, results } = prepared;
    let (x, results) = (*x, *results);
    let mut random = Random(seed);
    let schedule = if seed % 8 == 7 { Schedule::Random } else { Schedule::Threads };
    let options = RunOptions { seed, schedule, stale: seed % 4 != 3, step_limit: 1 << 12, ..RunOptions::default() };
    device.set_options(options);
    device.write(x, 0, &[0; 128]);
    let mut arguments = vec![Argument::Buffer(x, 0), Argument::Buffer(results, 0)];
    // In some runs, one thread runs much later than the rest.
    let most = [1, 4, 12][seed as usize % 3];
    arguments.extend(case.threads.iter().map(|_| Argument::u32(random.below(most) as u32)));
    let (ctas, clusters) = case.sizes();
    let size = FullSize { grid: [ctas * clusters, 1, 1], cluster: [ctas, 1, 1], ..[case.block(), 1, 1].into() };
    let launch = Launch::new("kernel", size, arguments);
    let report = device.launch(&launch).map_err(render_errors)?;
    if let Some(finding) = report.findings.iter().find(|finding| finding.kind.ends()) {
        // The machine may not have the barrier of the cluster.
        let is_hang = finding.kind == FaultKind::Hang || finding.message.contains("barrier.cluster");
        return if is_hang { Ok(None) } else { Err(finding.to_string()) };
    }
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte));
    let mut values = Vec::new();
    for (index, thread) in case.threads.iter().enumerate() {
        let own = &device.contents(results)[index * REGISTERS * 8..][..thread.registers * 8];
        values.extend(own.chunks(8).map(word));
    }
    let global = case.places.iter().filter(|place| place.shared.is_none());
    values.extend(global.map(|place| word(&device.contents(x)[place.offset as usize..][..place.bytes.into()])));
    let is_race = |kind| matches!(kind, FaultKind::Race | FaultKind::SameValue);
    let race = report.findings.iter().find(|finding| is_race(finding.kind));
    let race = race.map(|finding| {
        let first = finding.other.as_ref().map(ToString::to_string).unwrap_or_default();
        format!("{finding}; {first}; {}", finding.site)
    });
    Ok(Some(Run { values, race, is_determinate: report.schedules.is_determinate() }))
}

/// The outcomes of the model as observable values.
fn outcomes(case: &Case) -> Option<[BTreeSet<Values>; 2]> {
    let limits = Limits { choices: 40_000, ..Limits::default() };
    let Races { racy, free } = races(&case.model(), Conventions::MANUAL, limits).ok()?;
    let registers: usize = case.threads.iter().map(|thread| thread.registers).sum();
    let seen = |state: &[u64]| {
        let hidden = |index: usize| index >= registers && case.places[index - registers].shared.is_some();
        state.iter().enumerate().filter(|(index, _)| !hidden(*index)).map(|(_, value)| *value).collect::<Values>()
    };
    Some([racy, free].map(|states| states.iter().map(seen).collect()))
}

/// Whether a thread may end before a barrier.
fn may_skip_barriers(case: &Case) -> bool {
    let ops = || case.threads.iter().flat_map(|thread| &thread.code);
    let is_barrier =
        |op: &Op| matches!(op, Op::Bar | Op::Counted { .. } | Op::Warp | Op::ClusterArrive { .. } | Op::ClusterWait);
    ops().any(|op| matches!(op, Op::Unless(..))) && ops().any(is_barrier)
}

/// Runs a program `runs` times, and compares the outcomes with the model. `None` if the model has no answer in time.
pub fn check(case: &Case, runs: u64) -> Result<Option<Seen>, String> {
    let Some([racy, free]) = outcomes(case) else { return Ok(None) };
    let text = case.ptx();
    let module: Module = text.parse().map_err(|error| format!("{error}\n{text}"))?;
    let wrong = |what: String| Err(format!("{}: {what}\n{case}", case.name));
    let mut prepared = Prepared::new(case, &module)?;
    let mut had: BTreeMap<Values, bool> = BTreeMap::new();
    let mut determinate = 0;
    let may_skip_barriers = may_skip_barriers(case);
    for seed in 0..runs {
        let Some(Run { values, race, is_determinate }) = run(case, &mut prepared, seed)? else { continue };
        let (may_race, may_not) = (racy.contains(&values), free.contains(&values));
        match &race {
            _ if !may_race && !may_not => return wrong(format!("seed {seed} gives {values:?}, which is forbidden")),
            Some(race) if !may_race => {
                return wrong(format!("seed {seed} gives {values:?}, and no race is there: {race}"));
            }
            None if !may_not => return wrong(format!("seed {seed} gives {values:?}, and a race is not found")),
            // Two writes of the same value race in the model, and change nothing. In the model, a thread may skip a barrier
            // because it reads a value that another thread writes after the barrier.
            None if is_determinate && !racy.is_empty() && !may_skip_barriers => {
                return wrong(format!("seed {seed} speaks for every schedule, and {:?} has a race", racy.first()));
            }
            _ => {}
        }
        determinate += usize::from(is_determinate);
        had.insert(values, race.is_some());
    }
    Ok(Some(Seen {
        allowed: racy.union(&free).count(),
        had: had.len(),
        racy: racy.len(),
        free: free.len(),
        runs: runs as usize,
        determinate,
    }))
}

/// Minimizes a program with an error. Returns the error of the smallest program.
pub fn smallest(case: &Case, runs: u64) -> Result<(), String> {
    let mut case = case.clone();
    let Err(mut what) = check(&case, runs) else { return Ok(()) };
    loop {
        let all =
            (0..case.threads.len()).flat_map(|thread| (0..case.threads[thread].code.len()).map(move |at| (thread, at)));
        let smaller = all.collect::<Vec<_>>().into_iter().find_map(|(thread, at)| {
            let mut smaller = case.clone();
            smaller.threads[thread].code.remove(at);
            check(&smaller, runs).err().map(|what| (smaller, what))
        });
        match smaller {
            Some((smaller, less)) => (case, what) = (smaller, less),
            None => return Err(what),
        }
    }
}

impl Seen {
    /// Adds the results of another program.
    pub fn add(&mut self, other: Self) {
        let Self { allowed, had, racy, free, runs, determinate } = other;
        self.allowed += allowed;
        self.had += had;
        self.racy += racy;
        self.free += free;
        self.runs += runs;
        self.determinate += determinate;
    }
}

impl std::fmt::Display for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { allowed, had, racy, free, runs, determinate } = self;
        let share = 100 * had / (*allowed).max(1);
        write!(
            f,
            "{allowed} outcomes ({racy} with a race, {free} without), {had} seen ({share}%) in {runs} runs, {determinate} of them determinate"
        )
    }
}
