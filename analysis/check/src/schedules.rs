//! Launches whose executions speak for every schedule: a possible fault that none of them shows needs another launch.

use ptx_execute::{Assumed, Device, FaultKind, Report};
use ptx_hazards::Rule as AsyncRule;
use ptx_isa::{Function, InstPlace, Stop};

use crate::{
    check::Check,
    evidence::{ENOUGH, Evidence, Mode},
    fitting::{FACTORS, Guessed},
    rule::Rule,
};

/// A launch, and its instructions in every schedule.
struct Determinate {
    launch: Assumed,
    executed: Vec<InstPlace>,
    /// The instructions of its faults.
    faulty: Vec<InstPlace>,
}

/// The determinate launches of a kernel.
#[derive(Default)]
pub struct Launches {
    launches: Vec<Determinate>,
    /// Whether the whole launch is given, so that one launch suffices.
    is_given: bool,
}

impl Launches {
    /// Runs launches, and then launches that differ from the best of them in all guessed parts, until enough of these are
    /// determinate or the budget is spent. A run that accesses memory outside of its buffers says nothing, and neither
    /// does a hang, since guessed arguments may be the reason.
    pub fn run(
        check: &Check<'_>,
        function: &Function,
        most: Option<u32>,
        mode: Mode,
        bases: &[Assumed],
        tried: &[Assumed],
        stop: &Stop,
    ) -> Self {
        let mut search = Search { check, mode, stop, steps: 0, all: Self::default() };
        for base in bases {
            search.add(base.clone());
        }
        if search.all.launches.is_empty() {
            search.add_smaller(function, most, tried);
        }
        let best = search.all.launches.iter().max_by_key(|of| of.executed.len()).map(|of| of.launch.clone());
        let Some(base) = best else { return search.all };
        let mut guessed = Guessed::new(check, function, most, &base);
        search.all.is_given = !guessed.any();
        for factors in FACTORS.iter().take(check.budget.launches) {
            if search.is_over() || !guessed.any() {
                break;
            }
            let is_added = guessed.other(&base, *factors).is_some_and(|launch| search.add(launch));
            // The roles of warps and the counts of barriers may admit only one size of a CTA.
            if !is_added && guessed.block {
                guessed.block = guessed.other(&base, *factors).is_none();
                let fixed = Guessed { block: false, ..guessed };
                if let Some(launch) = fixed.other(&base, *factors) {
                    search.add(launch);
                }
            }
        }
        search.all
    }

    /// The evidence that no schedule of enough launches shows a finding about these instructions.
    pub fn evidence(&self, rule: Option<Rule>, sites: &[InstPlace]) -> Option<Evidence> {
        if !rule.is_some_and(is_visible) || sites.is_empty() {
            return None;
        }
        let fits = |of: &&Determinate| {
            let executes = |at: &InstPlace| of.executed.binary_search(at).is_ok();
            sites.iter().all(executes) && !sites.iter().all(|at| of.faulty.contains(at))
        };
        let launches: Vec<Assumed> = self.launches.iter().filter(fits).map(|of| of.launch.clone()).collect();
        let is_enough = launches.len() >= ENOUGH || self.is_given && !launches.is_empty();
        is_enough.then_some(Evidence::EverySchedule(launches))
    }
}

/// A search for determinate launches.
struct Search<'s> {
    check: &'s Check<'s>,
    mode: Mode,
    stop: &'s Stop,
    steps: u64,
    all: Launches,
}

impl Search<'_> {
    fn is_over(&self) -> bool {
        // A launch that executes much less, such as a launch with a number that is zero, says little.
        let most = self.all.launches.iter().map(|of| of.executed.len()).max().unwrap_or(0);
        let count = self.all.launches.iter().filter(|of| of.executed.len() * 8 >= most * 7).count();
        count >= ENOUGH || self.steps >= self.check.budget.launch_steps || self.stop.is_due()
    }

    /// Adds the first determinate launch of launches with smaller numbers.
    fn add_smaller(&mut self, function: &Function, most: Option<u32>, tried: &[Assumed]) {
        for launch in tried {
            let guessed = Guessed { block: false, grid: false, ..Guessed::new(self.check, function, most, launch) };
            for by in [1, 2, 4, 8] {
                let smaller = guessed.other(launch, [(1, 1), (1, 1), (1, by)]);
                if smaller.is_some_and(|launch| self.add(launch)) || self.is_over() {
                    return;
                }
            }
        }
    }

    /// Runs a launch, and adds it if it is determinate. Returns whether it is.
    fn add(&mut self, launch: Assumed) -> bool {
        if self.steps >= self.check.budget.launch_steps || self.stop.is_due() {
            return false;
        }
        let Some(report) = run(self.check, self.mode, &launch) else { return false };
        self.steps += report.work;
        let is_evidence = report.schedules.is_determinate() && report.findings.iter().all(|fault| is_usual(fault.kind));
        if is_evidence {
            let sites = report.findings.iter().flat_map(|fault| fault.other.iter().chain([&fault.site]));
            let faulty = sites.map(|site| site.at).collect();
            self.all.launches.push(Determinate { launch, executed: report.executed, faulty });
        }
        is_evidence
    }
}

/// Whether an execution shows a fault of a rule. A single grid shows nothing about other grids, and an execution has no
/// clobbers; the executor orders arrivals of the cluster by any scope.
fn is_visible(rule: Rule) -> bool {
    match rule {
        Rule::Async(rule) => !matches!(rule, AsyncRule::R8 | AsyncRule::R13 | AsyncRule::R14),
        Rule::Race => true,
        Rule::SameValue | Rule::Order(_) | Rule::Misplaced => false,
        Rule::Deadlock | Rule::Lapped | Rule::Setmaxnreg | Rule::Aligned => false,
    }
}

fn is_usual(kind: FaultKind) -> bool {
    use FaultKind::{Race, SameValue, Unfinished, Uninitialized};
    matches!(kind, Race | SameValue | Unfinished | Uninitialized)
}

fn run(check: &Check<'_>, mode: Mode, launch: &Assumed) -> Option<Report> {
    let options = ptx_execute::RunOptions { coverage: true, ..mode.options(0, &check.budget) };
    let mut device = Device::new(check.ptx, options).ok()?;
    let launched = launch.launch(&mut device);
    device.launch(&launched).ok()
}
