//! Witnesses: executions that show the findings of the check.
//!
//! The machine of `models/execute/` runs the kernel in several launches, with several seeds and thread orders. A race
//! that it finds belongs to one execution, and the same launch and seed show it again.

mod class;

use std::{
    collections::BTreeSet,
    mem::{replace, take},
};

use ptx_execute::{
    AccessType, Assumption, Detail, Device, End, Fault, FaultKind, Given, Launch, LaunchError, Peer, Race, Report,
    RunOptions, Schedule, Site, SiteKind, Tried, Value, search,
};
use ptx_isa::{Family, InstPlace, Module, Stop};

pub use self::class::Class;
use self::class::class;
use crate::{
    check::is_asynchronous,
    finding::{Claim, Hazard, Pair, Rule},
    kernel::Kernel,
    options::Budget,
};

/// An execution that shows a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// The launch, which [`ptx_execute::Assumed::launch`] makes on a new device with the seed.
    pub launch: ptx_execute::Assumed,
    /// The source of all random choices: the [`options`] of an execution follow from it.
    pub seed: u64,
    /// The order of the threads, which follows from the seed.
    pub schedule: Schedule,
    /// Whether the witness takes two such launches. The second may start before the first has ended.
    pub is_dependent: bool,
    /// The class of the fault, which includes its certainty.
    pub class: Class,
    /// The fault that the machine found: two sites with lines, threads and CTAs, the memory location, and the message.
    pub found: Fault,
    /// The index of the check's finding that it shows; `None` if it shows no finding.
    pub shows: Option<usize>,
}

impl Witness {
    /// The two accesses, in the order of the text; the same one twice if there is only one.
    pub fn pair(&self) -> (InstPlace, InstPlace) {
        places(&self.found)
    }

    /// Repeats the execution.
    ///
    /// # Errors
    /// If the machine cannot launch the kernel.
    pub fn again(&self, module: &Module, budget: &Budget) -> Result<Report, Vec<LaunchError>> {
        let mut device = Device::new(module, options(self.seed, budget))?;
        let launch = self.launch.launch(&mut device);
        let report = device.launch(&launch)?;
        if self.is_dependent { device.launch(&Launch { dependent: true, ..launch }) } else { Ok(report) }
    }
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Witnesses {
    /// The launches that were tried, the best one first.
    pub launches: Vec<Tried>,
    /// The faults of asynchronous operations, each pair of lines once.
    pub found: Vec<Witness>,
    /// Races of ordinary accesses, which the check does not cover.
    pub plain: Vec<Witness>,
    /// The launches whose execution speaks for every schedule, and shows no fault of an asynchronous operation.
    pub determinate: Vec<ptx_execute::Assumed>,
    /// The number of executions.
    pub runs: u32,
    /// The number of warp instructions in these executions.
    pub steps: u64,
    /// Whether the budget was spent before each proposed finding had a witness and each seed was tried.
    pub is_cut: bool,
}

impl Witnesses {
    /// The witnesses that no finding reports. Of several witnesses with the same two kinds of accesses, the same lack
    /// and a common line, only the first. A witness whose first access has a finding already is left out, because its
    /// lack is the same.
    pub fn news(&self) -> Vec<&Witness> {
        let keys = |witness: &Witness| {
            let (least, most) = witness.pair();
            let (kind, detail) = (witness.found.kind, witness.found.detail);
            [least, most].map(|line| (witness.class, kind, detail, line))
        };
        let (shown, others): (Vec<_>, Vec<_>) = self.found.iter().partition(|witness| witness.shows.is_some());
        let first =
            |witness: &Witness| witness.found.other.as_ref().map(|site| (site.at.line, witness.found.lacks_fence()));
        let known: BTreeSet<_> = shown.iter().filter_map(|witness| first(witness)).collect();
        let mut told: BTreeSet<_> = shown.into_iter().flat_map(keys).collect();
        others
            .into_iter()
            .filter(|witness| {
                let own = keys(witness);
                let is_told = own.iter().any(|key| told.contains(key))
                    || first(witness).is_some_and(|first| known.contains(&first));
                told.extend(own);
                !is_told
            })
            .collect()
    }
}

impl crate::finding::Report {
    /// Whether executions could show anything: the kernel has asynchronous operations or `setmaxnreg`, or a finding is
    /// proposed.
    pub fn is_shown_by_executions(&self, kernel: &Kernel) -> bool {
        let is_open = |finding: &Hazard| finding.claim != Claim::Note && finding.rule.is_some();
        is_asynchronous(kernel) || kernel.changes_registers || self.findings.iter().any(is_open)
    }
}

/// The options of an execution with a seed.
pub fn options(seed: u64, budget: &Budget) -> RunOptions {
    let options = RunOptions {
        most_steps: budget.run_steps,
        lenient: true,
        presence: true,
        findings: 2,
        products: false,
        ..RunOptions::default()
    };
    options.of_seed(seed)
}

/// The number of seeds for the best launch: two for each schedule; and the number if no finding is proposed.
const SEEDS: u64 = 10;
const FEW_SEEDS: u64 = 5;
/// The part of all instructions that is added for launches in which a number is zero, as a divisor.
const EMPTY: u64 = 4;

/// Searches for executions of a kernel that show the proposed findings, and for other faults of asynchronous
/// operations.
///
/// # Errors
/// If the machine cannot launch the kernel at all.
pub fn witnesses(
    module: &Module,
    kernel: &str,
    proposed: &[Hazard],
    given: &Given,
    budget: &Budget,
    stop: &Stop,
) -> Result<Witnesses, Vec<LaunchError>> {
    let launches = search(module, kernel, given, &budget.search, stop)?;
    let mut search = Search { module, proposed, budget, stop, all: Witnesses { launches, ..Witnesses::default() } };
    search.run()?;
    Ok(search.all)
}

/// A search in progress.
struct Search<'s> {
    module: &'s Module,
    proposed: &'s [Hazard],
    budget: &'s Budget,
    stop: &'s Stop,
    all: Witnesses,
}

impl Search<'_> {
    fn run(&mut self) -> Result<(), Vec<LaunchError>> {
        self.launches()?;
        self.empty()
    }

    fn launches(&mut self) -> Result<(), Vec<LaunchError>> {
        let launches = self.all.launches.clone();
        // The best launch is run with all schedules before the other launches.
        for (index, tried) in launches.iter().enumerate() {
            let seeds = match (index, self.is_open()) {
                (0, true) => SEEDS,
                (0, false) => FEW_SEEDS,
                (_, true) => SEEDS / 2,
                (_, false) if self.all.found.is_empty() && is_lost(tried, &launches[0]) => FEW_SEEDS,
                (_, false) => 0,
            };
            for seed in 0..seeds {
                if self.all.steps >= self.budget.all_run_steps || self.stop.is_due() {
                    self.all.is_cut = true;
                    return Ok(());
                }
                if self.is_done() {
                    return Ok(());
                }
                // Every other seed would have the same faults.
                if self.run_once(tried, seed)? {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Runs launches in which a number is zero, for findings that are still open: mostly a loop then has no iteration.
    /// Other faults of these executions are ignored, because strides of zero let accesses overlap, and an idle grid
    /// need not wait for other grids.
    fn empty(&mut self) -> Result<(), Vec<LaunchError>> {
        let Some(best) = self.all.launches.first().cloned() else { return Ok(()) };
        let most = self.all.steps + self.budget.all_run_steps / EMPTY;
        let is_number = |field: &Assumption| !field.is_given && matches!(field.value, Value::Number(1..));
        for (index, field) in best.launch.fields.iter().enumerate() {
            if !is_number(field) {
                continue;
            }
            if !self.is_open() || self.is_done() || self.all.steps >= most || self.stop.is_due() {
                break;
            }
            let mut tried = best.clone();
            tried.launch.fields[index].value = Value::Number(0);
            let (found, plain) = (take(&mut self.all.found), self.all.plain.clone());
            self.run_once(&tried, 0)?;
            self.all.plain = plain;
            let new = replace(&mut self.all.found, found);
            let shown = new.into_iter().filter(|witness| witness.shows.is_some() && !witness.is_dependent);
            shown.for_each(|witness| self.keep(witness));
        }
        Ok(())
    }

    /// Whether any fault is proposed.
    fn is_open(&self) -> bool {
        self.proposed.iter().any(|finding| finding.claim != Claim::Note && finding.rule.is_some())
    }

    /// Whether each proposed fault has a witness.
    fn is_done(&self) -> bool {
        let is_shown = |index: usize| self.all.found.iter().any(|witness| witness.shows == Some(index));
        let mut open = self.proposed.iter().enumerate().filter(|(_, finding)| finding.claim != Claim::Note);
        self.all.runs > 0 && !self.proposed.is_empty() && open.all(|(index, _)| is_shown(index))
    }

    /// Runs a launch with a seed. Returns whether the execution speaks for every schedule.
    fn run_once(&mut self, tried: &Tried, seed: u64) -> Result<bool, Vec<LaunchError>> {
        self.all.runs += 1;
        let options = options(seed, self.budget);
        let schedule = options.schedule;
        let mut device = Device::new(self.module, options)?;
        let launch = tried.launch.launch(&mut device);
        let report = device.launch(&launch)?;
        self.all.steps += report.work;
        if self.proposed.iter().any(|finding| finding.rule == Some(Rule::R14)) {
            let second = device.launch(&Launch { dependent: true, ..launch })?;
            self.all.steps += second.work;
            self.keep_early(tried, seed, schedule, second.findings);
        }
        let is_determinate = report.schedules.is_determinate();
        if is_determinate && !self.all.determinate.contains(&tried.launch) {
            self.all.determinate.push(tried.launch.clone());
        }
        // Reports after an access to invented memory are meaningless.
        let astray = report.findings.iter().position(|finding| is_astray(finding.kind));
        let findings: Vec<Fault> = report.findings.into_iter().take(astray.unwrap_or(usize::MAX)).collect();
        // Copies that the check expects to overlap have the same address.
        let is_too_large =
            findings.iter().any(|found| is_of_too_large_a_box(found) && self.find_shown_finding(found).is_none());
        let misused = findings.iter().position(|found| found.kind == FaultKind::Misuse);
        for (index, found) in findings.into_iter().enumerate() {
            if is_too_large && is_of_box(&found) {
                continue;
            }
            let shows = self.find_shown_finding(&found);
            // An invented argument may cause a misuse, unless the check expects the misuse.
            let is_expected = shows.is_some() && is_use(found.kind);
            let class = if is_expected {
                Some(Class::Wrong)
            } else {
                class(&found, tried, misused.is_some_and(|first| first < index))
            };
            let Some(class) = class else { continue };
            let launch = tried.launch.clone();
            self.keep(Witness { launch, seed, schedule, is_dependent: false, class, found, shows });
        }
        Ok(is_determinate)
    }

    /// Keeps early accesses of a grid: the grid before it ran the same kernel with the same arguments.
    fn keep_early(&mut self, tried: &Tried, seed: u64, schedule: Schedule, findings: Vec<Fault>) {
        let is_early = |found: &Fault| found.race().is_some_and(|race| race.by_earlier_grid);
        for found in findings.into_iter().filter(is_early) {
            let is_it = |finding: &Hazard| finding.rule == Some(Rule::R14) && finding.at == found.site.at;
            let Some(shown) = self.proposed.iter().position(is_it) else { continue };
            // Another grid may write different values.
            let class = if found.kind == FaultKind::Race { Class::Wrong } else { Class::Warning };
            let launch = tried.launch.clone();
            self.keep(Witness { launch, seed, schedule, is_dependent: true, class, found, shows: Some(shown) });
        }
    }

    /// Keeps a witness, unless there is already one of the same lines that is as certain.
    fn keep(&mut self, witness: Witness) {
        let list = if witness.class == Class::Plain { &mut self.all.plain } else { &mut self.all.found };
        let key = |of: &Witness| (pair(&of.found), of.found.kind, of.is_dependent);
        match list.iter_mut().find(|old| key(old) == key(&witness)) {
            Some(old) if old.class > witness.class => *old = witness,
            Some(_) => {}
            None => list.push(witness),
        }
    }

    /// The finding that an execution shows: a finding of the same kind that has the same two accesses in the same
    /// order, or a finding of a rule about them. One grid alone shows nothing about earlier grids.
    fn find_shown_finding(&self, found: &Fault) -> Option<usize> {
        let position = |says: &dyn Fn(&Hazard) -> bool| {
            let is_shown = |finding: &Hazard| finding.rule.is_some_and(|rule| is_of_rule(rule, finding, found));
            self.proposed.iter().position(|finding| is_shown(finding) && says(finding))
        };
        let is_own = |own: Pair| (own.first.unwrap_or(own.at), own.at) == pair(found);
        let named = position(&|finding| is_own(finding.pair()));
        let exact = named.or_else(|| position(&|finding| finding.pairs().any(is_own)));
        // A fault of a single instruction does not depend on the access before it.
        let is_alone = found.other.is_none() && !matches!(found.kind, FaultKind::Absent | FaultKind::Unfinished);
        let single = |finding: &Hazard| is_alone && finding.at == found.site.at;
        let exact = exact.or_else(|| position(&single));
        exact.or_else(|| position(&|finding| is_by_rule(finding, found)))
    }
}

/// Whether a launch executes as much as the best one and its phases do not fit: the number of iterations may be the
/// only difference. Launches with tensor maps are left out, because PTX does not specify the boxes.
fn is_lost(tried: &Tried, best: &Tried) -> bool {
    let is_lost = matches!(tried.end, End::Stopped(FaultKind::BarrierCount | FaultKind::Hang));
    is_lost && tried.covered.0 >= best.covered.0 && !tried.launch.has_maps()
}

/// Whether a fault is a forbidden use of an instruction.
fn is_use(kind: FaultKind) -> bool {
    use FaultKind::{Absent, BarrierCount, DivergentBarrier, DivergentWarp, Misuse, TensorMemory};
    matches!(kind, Absent | Misuse | TensorMemory | BarrierCount | DivergentBarrier | DivergentWarp)
}

/// Whether an execution shows a fault of the kind that a rule reports. A race that lacks only a fence does not show a
/// missing wait. A misused instruction shows only a rule about its use, because invented arguments, such as addresses
/// in descriptors, may cause the misuse.
fn is_of_rule(rule: Rule, finding: &Hazard, found: &Fault) -> bool {
    use Rule::{R3, R6, R7, R8, R9, R10, R14, R15, R16};
    let is_of = |rules: &[Rule]| rules.contains(&rule);
    match found.kind {
        FaultKind::Race => rule != R14 && (!found.lacks_fence() || finding.lacks_fence),
        FaultKind::Hang => is_of(&[R3, R7, R8, R9, R16]),
        FaultKind::Unfinished => is_of(&[R7]),
        FaultKind::Absent => is_of(&[R15]),
        FaultKind::TensorMemory => is_of(&[R6]),
        FaultKind::Misuse => is_of(&[R6, R8, R10, R16]),
        // The fault of an mbarrier has a memory location.
        FaultKind::BarrierCount => is_of(&[R16]) && found.place.is_none(),
        FaultKind::DivergentBarrier | FaultKind::DivergentWarp => is_of(&[R16]),
        _ => false,
    }
}

/// Whether an execution shows the fault of a rule at other lines than the check names.
fn is_by_rule(finding: &Hazard, found: &Fault) -> bool {
    let (least, most) = places(found);
    let names = |line| line == finding.at || Some(line) == finding.first;
    match finding.rule {
        Some(Rule::R5) => found.detail == Detail::Registers && (names(least) || names(most)),
        Some(Rule::R7) if found.kind == FaultKind::Unfinished => {
            finding.claim == Claim::Note && finding.first == Some(found.site.at)
        }
        Some(Rule::R6) => found.kind == FaultKind::TensorMemory,
        // Either the peer has not started, or it has ended.
        Some(Rule::R15) if found.kind == FaultKind::Absent => {
            (finding.peer == Some(Peer::Ended)) == (found.detail == Detail::Peer(Peer::Ended))
        }
        // The thread order decides which of two barriers the machine names.
        Some(Rule::R16) => {
            use FaultKind::{BarrierCount, DivergentBarrier, DivergentWarp};
            matches!(found.kind, DivergentBarrier | DivergentWarp | BarrierCount)
        }
        _ => false,
    }
}

/// The two accesses in their order; the same one twice if there is only one.
fn pair(found: &Fault) -> (InstPlace, InstPlace) {
    let second = found.site.at;
    (found.other.as_ref().map_or(second, |site| site.at), second)
}

fn places(found: &Fault) -> (InstPlace, InstPlace) {
    let (first, second) = pair(found);
    (first.min(second), first.max(second))
}

/// Whether a copy through a tensor map is involved.
fn is_of_box(found: &Fault) -> bool {
    let of = |site: &Site| site.family() == Some(Family::CpAsyncBulkTensor);
    of(&found.site) || found.other.as_ref().is_some_and(of)
}

/// Whether copies through tensor maps overlap each other or an mbarrier: then their boxes, which PTX does not specify,
/// are too large.
fn is_of_too_large_a_box(found: &Fault) -> bool {
    let loads = |site: &Site| {
        let family = Family::CpAsyncBulkTensor;
        site.kind == SiteKind::Asynchronous { family, has_mbarrier: true }
    };
    let is_barrier = |site: &Site| site.family().is_some_and(Family::is_mbarrier);
    let Some(other) = &found.other else { return false };
    let (one, two) = (&found.site, other);
    let apart = loads(one) && loads(two) && one.at != two.at;
    // A copy signals its own mbarrier on completion, which is not a write of its data.
    let meets = loads(one) && is_barrier(two) || loads(two) && is_barrier(one);
    let writes = |race: Race| race.accesses.contains(&AccessType::AsynchronousWrite);
    apart || meets && found.race().is_some_and(writes)
}

/// Whether a fault ends the evidence about the kernel: invented arguments may have caused it.
fn is_astray(kind: FaultKind) -> bool {
    use FaultKind::{Misaligned, OutOfBounds, Trap, Unsupported};
    matches!(kind, Misaligned | OutOfBounds | Trap | Unsupported)
}
