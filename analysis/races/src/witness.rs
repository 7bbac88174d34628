//! Executions that show a race or a divergent barrier: `models/execute/` runs the kernel in launches that it guesses, in several orders.

use std::time::Duration;

use ptx_execute::{Assumed, Device, End, Finding, FindingKind, Given, Launch, LaunchError, Options, Schedule, search};
use ptx_isa::{
    Dim3, InstPlace, Module,
    flat::{AccessKind, Action, Flat},
};
use web_time::Instant;

/// An execution in which something is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// The launch, which [`Assumed::launch`] makes on a new device with the seed.
    pub launch: Assumed,
    /// What all that is random is made of.
    pub seed: u64,
    /// The order of the threads, which follows from the seed.
    pub schedule: Schedule,
    /// What was found: two sites with lines, threads and CTAs, the place, and the message.
    pub found: Finding,
}

impl Witness {
    /// The two accesses in the order of the text; a barrier twice.
    pub fn pair(&self) -> [InstPlace; 2] {
        let own = self.found.site.at;
        let other = self.found.other.as_ref().map_or(own, |site| site.at);
        [own.min(other), own.max(other)]
    }
}

impl Witness {
    /// Whether it is a race of two threads of a CTA.
    pub fn is_race_of_cta(&self) -> bool {
        let is_race = matches!(self.found.kind, FindingKind::Race | FindingKind::SameValue);
        is_race && self.found.other.as_ref().is_some_and(|site| site.cta == self.found.site.cta)
    }
}

/// How many seeds each launch is run with: two for each order of the threads.
const SEEDS: u64 = 10;
/// How many instructions of warps one run may have, and how many all of a kernel.
const STEPS: u64 = 300_000;
const ALL_STEPS: u64 = 3_000_000;

/// How a launch is run with a seed.
pub fn options(seed: u64) -> Options {
    Options { most_steps: STEPS, ..Options::default() }.of_seed(seed)
}

/// Whether threads of a kernel wait for a write of another thread. Flags and locks begin with zeros, so that buffers have to.
pub fn polls(flat: &Flat) -> bool {
    flat.steps.iter().any(|step| match &step.action {
        Action::Access(access) => match access.kind {
            AccessKind::Ld => access.strong().is_some(),
            // A lock, a ticket, or a counter, whose value the thread reads.
            AccessKind::Atom => step.writes.iter().any(Option::is_some),
            _ => false,
        },
        Action::Fence(_) => true,
        _ => false,
    })
}

/// What launches are to have besides what is guessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs<'b> {
    /// Buffers begin with zeros.
    pub zeros: bool,
    /// How many CTAs there are to be in each direction, for what threads of two of them do.
    pub ctas: Option<Dim3>,
    /// The barriers. Threads that wait for ever at these alone are divergent; one that waits for memory is not.
    pub barriers: &'b [InstPlace],
}

impl Needs<'_> {
    /// A launch, and the same with more CTAs where they are needed and nobody says how many there are.
    fn of(self, launch: Assumed, given: &Given) -> Vec<Assumed> {
        let launch = Assumed { zeros: self.zeros, ..launch };
        let is_open = given.size.grid.is_none() && launch.size.grid == launch.size.cluster;
        // Two CTAs race more often than others, and a third one may come late.
        let more = self.ctas.filter(|_| is_open).into_iter().flat_map(|ctas| {
            [1, 2].map(|times| {
                let mut more = launch.clone();
                more.size.grid.iter_mut().zip([ctas[0] * times, ctas[1], ctas[2]]).for_each(|(size, of)| *size *= of);
                more
            })
        });
        std::iter::once(launch.clone()).chain(more).collect()
    }
}

/// Looks for executions with what is given, one after the other, until `is_enough` says so of what was found, which has each pair of lines
/// once.
///
/// # Errors
/// If the machine cannot launch the kernel at all.
pub fn witnesses(
    module: &Module,
    kernel: &str,
    all_given: &[Given],
    needs: Needs<'_>,
    limit: Duration,
    is_enough: &dyn Fn(&[Witness]) -> bool,
) -> Result<Vec<Witness>, Vec<LaunchError>> {
    let until = Instant::now() + limit;
    let mut all: Vec<Witness> = Vec::new();
    for (at, given) in all_given.iter().enumerate() {
        // The first one has half of the time if there are others.
        let parts = if at == 0 { all_given.len().min(2) } else { all_given.len() - at };
        let share = until.saturating_duration_since(Instant::now()) / parts as u32;
        if !is_enough(&all) && !share.is_zero() {
            shown(module, kernel, given, needs, share, is_enough, &mut all)?;
        }
    }
    Ok(all)
}

/// Adds what executions with what is given show.
fn shown(
    module: &Module,
    kernel: &str,
    given: &Given,
    needs: Needs<'_>,
    limit: Duration,
    is_enough: &dyn Fn(&[Witness]) -> bool,
    all: &mut Vec<Witness>,
) -> Result<(), Vec<LaunchError>> {
    let until = Instant::now() + limit;
    let launches = search(module, kernel, given, limit / 2)?;
    let mut steps = 0;
    // What stops at once shows nothing of a launch that a user would make.
    let stops = |end: End| matches!(end, End::Stopped(FindingKind::Trap | FindingKind::Unsupported));
    let launches = launches.into_iter().filter(|tried| !stops(tried.end)).map(|tried| tried.launch);
    for launch in launches.flat_map(|launch| needs.of(launch, given)) {
        for seed in 0..SEEDS {
            if is_enough(all) || steps >= ALL_STEPS || Instant::now() >= until {
                return Ok(());
            }
            let options = options(seed);
            let schedule = options.schedule;
            let mut device = Device::new(module, options)?;
            let assumed: Launch = launch.launch(&mut device);
            let report = device.launch(&assumed)?;
            steps += report.work;
            // An execution that traps does not count, and what comes behind an access that went astray is garbage.
            if report.findings.iter().any(|found| found.kind == FindingKind::Trap) {
                continue;
            }
            let hangs = report.findings.iter().filter(|found| found.kind == FindingKind::Hang);
            let is_met = hangs.into_iter().all(|found| needs.barriers.contains(&found.site.at));
            for found in report.findings {
                match found.kind {
                    FindingKind::Race
                    | FindingKind::SameValue
                    | FindingKind::DivergentBarrier
                    | FindingKind::BarrierCount => {}
                    FindingKind::Hang if is_met => {}
                    FindingKind::OutOfBounds | FindingKind::Misaligned => break,
                    _ => continue,
                }
                let witness = Witness { launch: launch.clone(), seed, schedule, found };
                let key = |of: &Witness| (of.pair(), of.found.kind);
                if !all.iter().any(|known| key(known) == key(&witness)) {
                    all.push(witness);
                }
            }
        }
    }
    Ok(())
}
