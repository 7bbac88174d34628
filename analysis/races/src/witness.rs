//! Witnesses of races and divergent barriers: `models/execute/` runs the kernel in guessed launches under several
//! schedules.

use ptx_execute::{
    Assumed, Detail, Device, End, Fault, FaultKind, Given, Launch, LaunchError, RunOptions, Schedule, search,
};
use ptx_isa::{
    Dim3, InstPlace, Module,
    flat::{AccessKind, Action, Flat},
};

use crate::options::Budget;

/// An execution with a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// The launch, which [`Assumed::launch`] builds on a new device with the seed.
    pub launch: Assumed,
    /// The seed of all random choices.
    pub seed: u64,
    /// The schedule of the threads, which follows from the seed.
    pub schedule: Schedule,
    /// The fault: two sites with lines, threads and CTAs, the memory location, and the message.
    pub found: Fault,
}

impl Witness {
    /// The two accesses in the order of the text; for a barrier, its site twice.
    pub fn pair(&self) -> [InstPlace; 2] {
        let own = self.found.site.at;
        let other = self.found.other.as_ref().map_or(own, |site| site.at);
        [own.min(other), own.max(other)]
    }
}

impl Witness {
    /// Whether the fault is a race of two threads of a CTA.
    pub fn is_race_of_cta(&self) -> bool {
        let is_race = matches!(self.found.kind, FaultKind::Race | FaultKind::SameValue);
        is_race && self.found.other.as_ref().is_some_and(|site| site.cta == self.found.site.cta)
    }
}

/// The number of seeds for each launch: two for each schedule.
const SEEDS: u64 = 10;

/// The machine options for a seed.
pub fn options(seed: u64, budget: &Budget) -> RunOptions {
    RunOptions { most_steps: budget.run_steps, ..RunOptions::default() }.of_seed(seed)
}

/// Whether threads of a kernel wait for a write of another thread. Flags and locks must begin with zeros, and so must
/// buffers then.
pub fn polls(flat: &Flat) -> bool {
    flat.steps.iter().any(|step| match &step.action {
        Action::Access(access) => match access.kind {
            AccessKind::Ld => access.strong().is_some(),
            // A lock, a ticket, or a counter whose value the thread reads.
            AccessKind::Atom => step.writes.iter().any(Option::is_some),
            _ => false,
        },
        Action::Fence(_) => true,
        _ => false,
    })
}

/// Requirements on launches in addition to the guessed values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs<'b> {
    /// Whether buffers begin with zeros.
    pub zeros: bool,
    /// The number of CTAs in each direction that faults between two CTAs need.
    pub ctas: Option<Dim3>,
    /// The barriers. Threads that wait forever only at barriers are divergent; a thread that waits for memory is not.
    pub barriers: &'b [InstPlace],
}

impl Needs<'_> {
    /// A launch, and the same launch with more CTAs if they are needed and the user gives no grid size.
    fn list_launches(self, launch: Assumed, given: &Given) -> Vec<Assumed> {
        let launch = Assumed { zeros: self.zeros, ..launch };
        let is_open = given.size.grid.is_none() && launch.size.grid == launch.size.cluster;
        // A launch with two CTAs shows most races; a third CTA may arrive late.
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

/// Searches for executions with each of the given values in turn, until `is_enough` accepts the witnesses, which have
/// each pair of sites once. Also returns the number of executions.
///
/// # Errors
/// If the machine cannot launch the kernel at all.
pub fn witnesses(
    module: &Module,
    kernel: &str,
    all_given: &[Given],
    needs: Needs<'_>,
    options: &crate::options::RaceOptions,
    is_enough: &dyn Fn(&[Witness]) -> bool,
) -> Result<(Vec<Witness>, u32), Vec<LaunchError>> {
    let mut search = Search { module, kernel, needs, options, is_enough, all: Vec::new(), executions: 0 };
    let mut left = options.budget.all_run_steps;
    for (at, given) in all_given.iter().enumerate() {
        // The first of several has half of the steps.
        let parts = if at == 0 { all_given.len().min(2) } else { all_given.len() - at };
        let share = left / parts as u64;
        left -= share.min(search.run(given, share)?);
    }
    Ok((search.all, search.executions))
}

/// A search for executions.
struct Search<'s> {
    module: &'s Module,
    kernel: &'s str,
    needs: Needs<'s>,
    options: &'s crate::options::RaceOptions,
    is_enough: &'s dyn Fn(&[Witness]) -> bool,
    all: Vec<Witness>,
    executions: u32,
}

impl Search<'_> {
    /// Adds the witnesses of launches with the given values, within `most` steps. Returns the number of steps taken.
    fn run(&mut self, given: &Given, most: u64) -> Result<u64, Vec<LaunchError>> {
        let crate::options::RaceOptions { budget, stop, .. } = self.options;
        if most == 0 || (self.is_enough)(&self.all) || stop.is_due() {
            return Ok(0);
        }
        let launches = search(self.module, self.kernel, given, &budget.search, stop)?;
        let mut steps = 0;
        // A launch that stops at once tells nothing about a launch that a user would make.
        let stops = |end: End| matches!(end, End::Stopped(FaultKind::Trap | FaultKind::Unsupported));
        let launches = launches.into_iter().filter(|tried| !stops(tried.end)).map(|tried| tried.launch);
        let needs = self.needs;
        for launch in launches.flat_map(|launch| needs.list_launches(launch, given)) {
            for seed in 0..SEEDS {
                if (self.is_enough)(&self.all) || steps >= most || stop.is_due() {
                    return Ok(steps);
                }
                steps += self.run_once(&launch, seed)?;
            }
        }
        Ok(steps)
    }

    /// Adds the witnesses of one execution. Returns the number of steps taken.
    fn run_once(&mut self, launch: &Assumed, seed: u64) -> Result<u64, Vec<LaunchError>> {
        self.executions += 1;
        let options = options(seed, &self.options.budget);
        let schedule = options.schedule;
        let mut device = Device::new(self.module, options)?;
        let assumed: Launch = launch.launch(&mut device);
        let report = device.launch(&assumed)?;
        // An execution that traps does not count, and the results after an out-of-bounds access are garbage.
        if report.findings.iter().any(|found| found.kind == FaultKind::Trap) {
            return Ok(report.work);
        }
        let hangs = report.findings.iter().filter(|found| found.kind == FaultKind::Hang);
        let is_met = hangs.into_iter().all(|found| self.needs.barriers.contains(&found.site.at));
        for found in report.findings {
            match found.kind {
                FaultKind::Race
                | FaultKind::SameValue
                | FaultKind::DivergentBarrier
                | FaultKind::DivergentWarp
                | FaultKind::Setmaxnreg
                | FaultKind::BarrierCount => {}
                FaultKind::Hang if is_met || found.detail == Detail::LockStep => {}
                FaultKind::OutOfBounds | FaultKind::Misaligned => break,
                _ => continue,
            }
            let witness = Witness { launch: launch.clone(), seed, schedule, found };
            let key = |of: &Witness| (of.pair(), of.found.kind);
            if !self.all.iter().any(|known| key(known) == key(&witness)) {
                self.all.push(witness);
            }
        }
        Ok(report.work)
    }
}
