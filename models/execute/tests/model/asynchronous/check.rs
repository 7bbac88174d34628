//! The comparison of the model with the machine on a program with asynchronous operations.

use std::collections::{BTreeMap, BTreeSet};

use ptx_execute::{Argument, Buffer, Contents, Device, Fault, FaultKind, Launch, RunOptions, Schedule};
use ptx_isa::{FullSize, Module};
use ptx_memory_model::{
    litmus::Litmus,
    outcome::Limits,
    ptx::{
        Conventions,
        search::{Races, races},
    },
};
use testing::random::Random;

use super::program::{GLOBAL, Program};
use crate::check::Seen;

/// The observable values: registers, and the final contents of global memory.
type Values = Vec<u64>;

/// The outcomes of the model with a race and without a race, and the registers at their beginning, each with its
/// thread.
struct Expected {
    racy: BTreeSet<Values>,
    free: BTreeSet<Values>,
    registers: Vec<(usize, String)>,
    places: Vec<String>,
}

/// The outcomes of the model. `None` if the model has no answer in time, or no outcome.
fn expected(program: &Program) -> Result<Option<Expected>, String> {
    let text = program.litmus();
    let litmus = Litmus::read(&text).map_err(|error| format!("{error}\n{text}"))?.program;
    let limits = Limits { choices: 40_000, ..Limits::default() };
    let Ok(Races { racy, free }) = races(&litmus, Conventions::MANUAL, limits) else { return Ok(None) };
    let of_thread = |(index, thread): (usize, &ptx_memory_model::ptx::Thread)| {
        let own = thread.registers.iter().filter(|register| register.observed);
        own.map(|register| (index, register.name.clone())).collect::<Vec<_>>()
    };
    let registers: Vec<_> = litmus.threads.iter().enumerate().flat_map(of_thread).collect();
    let is_global = |name: &str| GLOBAL.iter().any(|(other, _)| *other == name);
    let places: Vec<&str> = litmus.locations.iter().map(|variable| &*variable.name).collect();
    let seen = |state: &[u64]| {
        let is_seen = |index: usize| index < registers.len() || is_global(places[index - registers.len()]);
        state.iter().enumerate().filter(|(index, _)| is_seen(*index)).map(|(_, value)| *value).collect::<Values>()
    };
    let [racy, free] = [racy, free].map(|states| states.iter().map(seen).collect());
    let places = places.into_iter().filter(|name| is_global(name)).map(str::to_owned).collect();
    Ok(Some(Expected { racy, free, registers, places }))
}

/// The outcome of a run.
struct Outcome {
    values: Values,
    race: Option<String>,
    is_determinate: bool,
}

struct Prepared<'m> {
    device: Device<'m>,
    results: Buffer,
}

impl<'m> Prepared<'m> {
    fn new(module: &'m Module, registers: usize) -> Result<Self, String> {
        let mut device = Device::new(module, RunOptions::default()).map_err(|errors| format!("{errors:?}"))?;
        let results = device.allocate("results", Contents::Bytes(vec![0; registers * 8]));
        Ok(Self { device, results })
    }

    /// Runs the program once. `None` if the run does not end, or if it has an undefined use of an operation.
    fn run(&mut self, program: &Program, expected: &Expected, seed: u64) -> Result<Option<Outcome>, String> {
        let Self { device, results } = self;
        let mut random = Random(seed);
        let schedule = if seed % 8 == 7 { Schedule::Random } else { Schedule::Threads };
        let options = RunOptions {
            seed,
            schedule,
            stale: seed % 4 != 3,
            step_limit: 1 << 14,
            findings: 8,
            ..RunOptions::default()
        };
        device.set_options(options);
        let buffer = |device: &Device<'_>, name: &str| device.variable(name).ok_or_else(|| format!("no `{name}`"));
        for (name, value) in GLOBAL {
            let buffer = buffer(device, name)?;
            device.write(buffer, 0, &[u64::from(value).to_le_bytes(), [0; 8]].concat());
        }
        // In some runs, one thread runs much later than the rest.
        let most = [1, 4, 12][seed as usize % 3];
        let mut arguments = vec![Argument::Buffer(*results, 0)];
        arguments.extend(program.threads.iter().map(|_| Argument::u32(random.below(most) as u32)));
        let [ctas, threads] = program.sizes();
        let launch = Launch::new(
            "kernel",
            FullSize { grid: [ctas, 1, 1], cluster: [ctas, 1, 1], ..[threads, 1, 1].into() },
            arguments,
        );
        let report = device.launch(&launch).map_err(|errors| format!("{errors:?}"))?;
        if let Some(finding) = report.findings.iter().find(|finding| means_nothing(finding)) {
            let is_error = matches!(finding.kind, FaultKind::Unsupported | FaultKind::Trap);
            return if is_error { Err(finding.to_string()) } else { Ok(None) };
        }
        let word = |bytes: &[u8]| u64::from_le_bytes(*bytes.first_chunk().expect("a word"));
        let mut values: Values =
            device.contents(*results)[..expected.registers.len() * 8].chunks(8).map(word).collect();
        for name in &expected.places {
            values.push(word(device.contents(buffer(device, name)?)));
        }
        let race = report.findings.iter().find(|of| matches!(of.kind, FaultKind::Race | FaultKind::SameValue));
        let race = race
            .map(|of| format!("{of}; {}; {}", of.other.as_ref().map(ToString::to_string).unwrap_or_default(), of.site));
        Ok(Some(Outcome { values, race, is_determinate: report.schedules.is_determinate() }))
    }
}

/// Whether a run with this finding has no defined outcome: it does not end, or it uses phases or the lifetime of an
/// mbarrier wrongly.
fn means_nothing(finding: &Fault) -> bool {
    let is_of_barrier = finding.kind == FaultKind::Misuse && finding.message.contains("mbarrier");
    finding.kind.ends()
        || is_of_barrier
        || matches!(finding.kind, FaultKind::BarrierCount | FaultKind::DivergentBarrier)
}

/// Runs a program `runs` times, and compares the outcomes with the model. `None` if the model has no answer.
pub fn check(program: &Program, runs: u64) -> Result<Option<Seen>, String> {
    let Some(expected) = expected(program)? else { return Ok(None) };
    let text = program.ptx(&expected.registers);
    let module: Module = text.parse().map_err(|error| format!("{error}\n{text}"))?;
    let mut prepared = Prepared::new(&module, expected.registers.len())?;
    let wrong = |what: String| Err(format!("{what}\n{program}"));
    let mut had: BTreeMap<Values, bool> = BTreeMap::new();
    let mut determinate = 0;
    for seed in 0..runs {
        let outcome = prepared.run(program, &expected, seed);
        let Some(Outcome { values, race, is_determinate }) =
            outcome.map_err(|error| format!("{error}\n{program}{text}"))?
        else {
            continue;
        };
        let (may_race, may_not) = (expected.racy.contains(&values), expected.free.contains(&values));
        match &race {
            _ if !may_race && !may_not => {
                return wrong(format!("seed {seed} gives {values:?}, which is forbidden; {race:?}"));
            }
            Some(race) if !may_race => {
                return wrong(format!("seed {seed} gives {values:?}, and no race is there: {race}"));
            }
            None if !may_not => return wrong(format!("seed {seed} gives {values:?}, and a race is not found")),
            None if is_determinate && !expected.racy.is_empty() => {
                return wrong(format!("seed {seed} speaks for every schedule, and one has a race"));
            }
            _ => {}
        }
        determinate += usize::from(is_determinate);
        had.insert(values, race.is_some());
    }
    let Expected { racy, free, .. } = expected;
    let allowed = racy.union(&free).count();
    Ok(Some(Seen { allowed, had: had.len(), racy: racy.len(), free: free.len(), runs: runs as usize, determinate }))
}

/// Minimizes a program with an error. Returns the error of the smallest program.
pub fn smallest(program: &Program, runs: u64) -> Result<(), String> {
    let mut program = program.clone();
    let Err(mut what) = check(&program, runs) else { return Ok(()) };
    let kind = |what: &str| what.contains("forbidden") || what.contains("race");
    loop {
        let threads = program.threads.iter().enumerate();
        let places: Vec<_> = threads.flat_map(|(thread, of)| (0..of.code.len()).map(move |at| (thread, at))).collect();
        let smaller = places.into_iter().find_map(|(thread, at)| {
            let mut smaller = program.clone();
            smaller.threads[thread].code.remove(at);
            let less = check(&smaller, runs).err().filter(|less| kind(less) == kind(&what))?;
            Some((smaller, less))
        });
        match smaller {
            Some((smaller, less)) => (program, what) = (smaller, less),
            None => return Err(what),
        }
    }
}
