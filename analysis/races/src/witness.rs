//! Executions that show a race or a divergent barrier: `models/execute/` runs the kernel in launches that it guesses, in several orders.

use ptx_execute::{Assumed, Device, End, Fault, FaultKind, Given, Launch, LaunchError, Options, Schedule, search};
use ptx_isa::{
    Dim3, InstPlace, Module,
    flat::{AccessKind, Action, Flat},
};

use crate::options::Budget;

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
    pub found: Fault,
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
        let is_race = matches!(self.found.kind, FaultKind::Race | FaultKind::SameValue);
        is_race && self.found.other.as_ref().is_some_and(|site| site.cta == self.found.site.cta)
    }
}

/// How many seeds each launch is run with: two for each order of the threads.
const SEEDS: u64 = 10;

/// How a launch is run with a seed.
pub fn options(seed: u64, budget: &Budget) -> Options {
    Options { most_steps: budget.run_steps, ..Options::default() }.of_seed(seed)
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
/// once. With how many executions there were.
///
/// # Errors
/// If the machine cannot launch the kernel at all.
pub fn witnesses(
    module: &Module,
    kernel: &str,
    all_given: &[Given],
    needs: Needs<'_>,
    options: &crate::options::Options,
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
    options: &'s crate::options::Options,
    is_enough: &'s dyn Fn(&[Witness]) -> bool,
    all: Vec<Witness>,
    executions: u32,
}

impl Search<'_> {
    /// Adds what executions of launches with the given values show, within so many steps. The number of steps that they had.
    fn run(&mut self, given: &Given, most: u64) -> Result<u64, Vec<LaunchError>> {
        let crate::options::Options { budget, stop, .. } = self.options;
        if most == 0 || (self.is_enough)(&self.all) || stop.is_due() {
            return Ok(0);
        }
        let launches = search(self.module, self.kernel, given, &budget.search, stop)?;
        let mut steps = 0;
        // A launch that stops at once shows nothing of a launch that a user would make.
        let stops = |end: End| matches!(end, End::Stopped(FaultKind::Trap | FaultKind::Unsupported));
        let launches = launches.into_iter().filter(|tried| !stops(tried.end)).map(|tried| tried.launch);
        let needs = self.needs;
        for launch in launches.flat_map(|launch| needs.of(launch, given)) {
            for seed in 0..SEEDS {
                if (self.is_enough)(&self.all) || steps >= most || stop.is_due() {
                    return Ok(steps);
                }
                steps += self.run_once(&launch, seed)?;
            }
        }
        Ok(steps)
    }

    /// Adds what one execution shows. The number of steps that it had.
    fn run_once(&mut self, launch: &Assumed, seed: u64) -> Result<u64, Vec<LaunchError>> {
        self.executions += 1;
        let options = options(seed, &self.options.budget);
        let schedule = options.schedule;
        let mut device = Device::new(self.module, options)?;
        let assumed: Launch = launch.launch(&mut device);
        let report = device.launch(&assumed)?;
        // An execution that traps does not count, and everything after an access that went astray is garbage.
        if report.findings.iter().any(|found| found.kind == FaultKind::Trap) {
            return Ok(report.work);
        }
        let hangs = report.findings.iter().filter(|found| found.kind == FaultKind::Hang);
        let is_met = hangs.into_iter().all(|found| self.needs.barriers.contains(&found.site.at));
        for found in report.findings {
            match found.kind {
                FaultKind::Race | FaultKind::SameValue | FaultKind::DivergentBarrier | FaultKind::BarrierCount => {}
                FaultKind::Hang if is_met => {}
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
