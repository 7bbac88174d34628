//! Launches whose executions speak for every schedule: a possible fault that none of them shows needs another launch.

use std::iter;

use itertools::Itertools;
use ptx_execute::{Assumed, Condition, Device, ExpectedRaces, Fault, FaultKind, Report, Schedules, Value};
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
    /// The instructions of each of its races.
    races: Vec<Vec<InstPlace>>,
    /// Whether its races must be repaired first.
    needs_repair: bool,
    work: u64,
}

impl Determinate {
    /// Whether it executes nearly as many instructions as another launch. A launch that executes much less, such as a
    /// launch with a number that is zero, says little.
    fn executes(&self, most: usize) -> bool {
        self.executed.len() * 8 >= most * 7
    }

    /// Whether it executes a pair of instructions, without a race between them.
    fn shows_no_race(&self, pair: &[InstPlace]) -> bool {
        let executes = |at: &InstPlace| self.executed.binary_search(at).is_ok();
        pair.iter().all(executes) && !self.races.iter().any(|race| race.iter().all(|at| pair.contains(at)))
    }
}

/// The beginning of a search for determinate launches.
#[derive(Default)]
pub struct Begin<'b> {
    /// Launches that may be determinate.
    pub bases: &'b [Assumed],
    /// All launches that were tried, the best one first.
    pub tried: &'b [Assumed],
    /// The pairs of instructions of open findings.
    pub open: &'b [Vec<InstPlace>],
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
        Begin { bases, tried, open }: Begin<'_>,
        stop: &Stop,
    ) -> Self {
        let mut search = Search { check, mode, stop, steps: 0, all: Self::default() };
        for base in bases {
            search.add(base.clone());
        }
        // Smaller launches stand for the best launch if it is not determinate, or is too long.
        if tried.first().is_none_or(|best| !bases.contains(best)) {
            search.add_smaller(function, most, tried);
        }
        let Some(base) = search.all.base() else { return search.all };
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
        if guessed.numbers {
            search.add_empty(&base, guessed, open);
        }
        search.all
    }

    fn has(&self, launch: &Assumed) -> bool {
        self.launches.iter().any(|of| of.launch == *launch)
    }

    /// The launches that execute a pair of instructions without a race between them.
    fn without_race(&self, pair: &[InstPlace]) -> impl Iterator<Item = &Determinate> {
        self.launches.iter().filter(|of| of.shows_no_race(pair))
    }

    /// The number of launches that are missing until each of these pairs of instructions has enough.
    fn lacking(&self, open: &[Vec<InstPlace>]) -> usize {
        open.iter().map(|pair| ENOUGH.saturating_sub(self.without_race(pair).count())).sum()
    }

    /// The shortest of the launches that execute nearly as much as any.
    fn base(&self) -> Option<Assumed> {
        let most = self.most_executed();
        let wide = self.launches.iter().filter(|of| of.executes(most));
        wide.min_by_key(|of| of.work).map(|of| of.launch.clone())
    }

    /// The largest number of instructions that a launch executes.
    fn most_executed(&self) -> usize {
        self.launches.iter().map(|of| of.executed.len()).max().unwrap_or(0)
    }

    /// The evidence that no schedule of enough launches shows a finding about these pairs of instructions.
    pub fn evidence(&self, rule: Option<Rule>, pairs: &[Vec<InstPlace>]) -> Option<Evidence> {
        if !rule.is_some_and(is_visible) || pairs.is_empty() {
            return None;
        }
        let is_enough = |count: usize| count >= ENOUGH || self.is_given && count > 0;
        if !pairs.iter().all(|pair| is_enough(self.without_race(pair).count())) {
            return None;
        }
        let shows_none = |of: &&Determinate| pairs.iter().any(|pair| of.shows_no_race(pair));
        let fitting: Vec<&Determinate> = self.launches.iter().filter(shows_none).collect();
        let launches = fitting.iter().map(|of| of.launch.clone()).collect();
        let needs_repair = fitting.iter().any(|of| of.needs_repair);
        let evidence = if needs_repair { Evidence::AfterRepair } else { Evidence::EverySchedule };
        Some(evidence(launches))
    }
}

/// The divisors of guessed numbers.
const SMALLER: [u32; 7] = [64, 32, 16, 8, 4, 2, 1];

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
        let most = self.all.most_executed();
        self.all.launches.iter().filter(|of| of.executes(most)).count() >= ENOUGH || self.is_spent()
    }

    fn is_spent(&self) -> bool {
        self.steps >= self.check.budget.schedule_steps || self.stop.is_due()
    }

    /// Adds determinate launches with smaller numbers, the smallest first: each that ends within the budget is
    /// followed by a larger launch.
    fn add_smaller(&mut self, function: &Function, most: Option<u32>, tried: &[Assumed]) {
        for launch in tried {
            let guessed = Guessed { block: false, grid: false, ..Guessed::new(self.check, function, most, launch) };
            let mut has_launch = false;
            for by in SMALLER {
                let smaller = guessed.other(launch, [(1, 1), (1, 1), (1, by)]);
                let is_added = smaller.is_some_and(|launch| self.add(launch));
                if self.is_spent() || !is_added && has_launch {
                    return;
                }
                has_launch |= is_added;
            }
            if has_launch {
                return;
            }
        }
    }

    /// Adds determinate launches in which a number is zero, such as the length of a sequence, while the instructions of
    /// an open finding have too few launches.
    fn add_empty(&mut self, base: &Assumed, guessed: Guessed, open: &[Vec<InstPlace>]) {
        for index in 0..base.fields.len() {
            let others = FACTORS.iter().filter_map(|factors| guessed.other(base, *factors));
            for mut launch in iter::once(base.clone()).chain(others) {
                let field = &mut launch.fields[index];
                let lacking = self.all.lacking(open);
                if lacking == 0 || field.is_given || !matches!(field.value, Value::Number(_)) {
                    break;
                }
                field.value = Value::Number(0);
                if self.all.has(&launch) {
                    continue;
                }
                if !self.add(launch) || self.all.lacking(open) == lacking {
                    break;
                }
            }
        }
    }

    /// Runs a launch, and adds it if it is determinate. Returns whether it is. A launch counts once: a smaller number may
    /// be the same number.
    fn add(&mut self, launch: Assumed) -> bool {
        if self.all.has(&launch) {
            return true;
        }
        if self.is_spent() {
            return false;
        }
        let Some((report, needs_repair)) = run(self.check, self.mode, &launch) else { return false };
        self.steps += report.work;
        let is_evidence = report.schedules.is_determinate() && report.findings.iter().all(|fault| is_usual(fault.kind));
        if is_evidence {
            let sites = |fault: &Fault| fault.other.iter().chain([&fault.site]).map(|site| site.at).collect();
            let is_race = |fault: &&Fault| matches!(fault.kind, FaultKind::Race | FaultKind::SameValue);
            let races = report.findings.iter().filter(is_race).map(sites).unique().collect();
            self.all.launches.push(Determinate {
                launch,
                executed: report.executed,
                races,
                needs_repair,
                work: report.work,
            });
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
    use FaultKind::{Race, SameValue, Setmaxnreg, Unfinished, Uninitialized};
    matches!(kind, Race | SameValue | Setmaxnreg | Unfinished | Uninitialized)
}

/// Runs a launch. If it has races and no other fault, it runs again: their values may steer nothing; if they do, the
/// execution is about the kernel with an order for these races. Returns whether it is.
fn run(check: &Check<'_>, mode: Mode, launch: &Assumed) -> Option<(Report, bool)> {
    let options = ptx_execute::RunOptions { coverage: true, ..mode.options(0, &check.budget) };
    let run = |findings: &[Fault], races| {
        let mut device = Device::new(check.ptx, options.clone()).ok()?;
        device.expect_races(findings, races);
        let launched = launch.launch(&mut device);
        device.launch(&launched).ok()
    };
    let first = run(&[], ExpectedRaces::Varying)?;
    let is_race = matches!(&first.schedules, Schedules::Dependent(why) if why.condition == Condition::Race);
    if !is_race || !first.findings.iter().all(|fault| is_usual(fault.kind)) {
        return Some((first, false));
    }
    let mut work = first.work;
    for races in [ExpectedRaces::Varying, ExpectedRaces::Ordered] {
        let again = run(&first.findings, races)?;
        work += again.work;
        if again.schedules.is_determinate() {
            return Some((Report { work, ..again }, races == ExpectedRaces::Ordered));
        }
    }
    Some((Report { work, ..first }, false))
}
