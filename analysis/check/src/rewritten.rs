//! The comparison of a module before and after a rewrite: the check reports no additional finding, and no execution has
//! a data race that the same execution of the original module lacks.

use std::collections::BTreeMap;

use itertools::Itertools;
use ptx_execute::{Device, FaultKind, Given, SearchBudget, search_within};
use ptx_hazards::{Claim, Rule};
use ptx_isa::{Function, LaunchSize, Module, Stop};
use ptx_memory_model::ptx::readings::Readings;

/// The fault of a rewrite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Worse {
    /// A kernel lacks a wait or a fence that it had before.
    Lacks(String),
    /// A kernel has a data race that it did not have before.
    Race(String),
}

/// Compares a module with its rewritten form. The result names the kernels whose executions were cut off by the budget.
///
/// # Errors
/// The first kernel that is worse than before.
pub fn compare(before: &Module, after: &Module, size: LaunchSize, stop: &Stop) -> Result<Vec<String>, Worse> {
    let modules = [before, after];
    let found = modules.map(hazards);
    let more = found[1].iter().find(|(key, count)| found[0].get(key).is_none_or(|old| old < *count));
    if let Some(((kernel, _), _)) = more {
        return Err(Worse::Lacks(kernel.clone()));
    }
    let is_changed = |function: &&Function| {
        let same = before.functions().find(|own| own.name == function.name);
        function.is_kernel() && same.is_none_or(|own| own.to_string() != function.to_string())
    };
    let changed: Vec<&Function> = after.functions().filter(is_changed).collect();
    let mut left = STEPS;
    let mut cut = Vec::new();
    for (index, function) in changed.iter().enumerate() {
        // The steps that a kernel does not use go to later kernels.
        let share = left / (changed.len() - index) as u64;
        let mut own = Executions { modules, size, steps: share, stop };
        match own.of_kernel(&function.name) {
            Executed::New => return Err(Worse::Race(function.name.clone())),
            Executed::Cut => cut.push(function.name.clone()),
            Executed::Same => {}
        }
        left -= share - own.steps.min(share);
    }
    Ok(cut)
}

/// The number of actual or possible violations of each rule in each kernel.
fn hazards(module: &Module) -> BTreeMap<(String, Option<Rule>), usize> {
    let kernels = ptx_hazards::read(module);
    let found = kernels.iter().flat_map(|kernel| ptx_hazards::check(kernel, Readings::DEFAULT).findings);
    let wrong = found.filter(|hazard| matches!(hazard.claim, Claim::Wrong | Claim::NotChecked));
    wrong.map(|hazard| (hazard.kernel, hazard.rule)).counts().into_iter().collect()
}

/// Warp instructions in all executions of a module, which take about a second.
const STEPS: u64 = 600_000;
/// The number of schedules that are executed.
const SEEDS: u64 = 3;

/// The result of the same executions before and after the rewrite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Executed {
    /// Only the rewritten kernel has a data race.
    New,
    /// The rewritten kernel has no data race that the original kernel lacks, or it cannot be launched.
    Same,
    /// The budget ended before an execution did.
    Cut,
}

struct Executions<'e> {
    modules: [&'e Module; 2],
    size: LaunchSize,
    /// The steps that remain.
    steps: u64,
    stop: &'e Stop,
}

impl Executions<'_> {
    fn is_over(&self) -> bool {
        self.steps == 0 || self.stop.is_due()
    }

    fn of_kernel(&mut self, kernel: &str) -> Executed {
        if self.is_over() {
            return Executed::Cut;
        }
        let given = Given { size: self.size, ..Given::default() };
        // The other half is for the executions of the launch that the search finds.
        let half = self.steps / 2;
        let mut left = half;
        let found = search_within(self.modules[0], kernel, &given, &SearchBudget::default(), self.stop, &mut left);
        self.steps -= half - left;
        let Some(launch) = found.ok().and_then(|found| Some(found.first()?.launch.clone())) else {
            return Executed::Same;
        };
        let run_steps = self.steps / (2 * SEEDS);
        let mut runs = [Vec::new(), Vec::new()];
        for seed in 0..SEEDS {
            for (module, runs) in self.modules.into_iter().zip(&mut runs) {
                if self.is_over() {
                    return Executed::Cut;
                }
                let budget = ptx_hazards::Budget { run_steps, ..ptx_hazards::Budget::default() };
                let Ok(mut device) = Device::new(module, ptx_hazards::options(seed, &budget)) else {
                    return Executed::Same;
                };
                let launched = launch.launch(&mut device);
                let Ok(report) = device.launch(&launched) else { return Executed::Same };
                self.steps = self.steps.saturating_sub(report.work);
                let has_race = report.findings.iter().any(|fault| fault.kind == FaultKind::Race);
                runs.push((has_race, report.work >= run_steps));
            }
        }
        let has_race = |runs: &[(bool, bool)]| runs.iter().any(|(has_race, _)| *has_race);
        let is_cut = |runs: &[(bool, bool)]| runs.iter().any(|(_, is_cut)| *is_cut);
        let [before, after] = &runs;
        match has_race(after) {
            _ if has_race(before) => Executed::Same,
            // The race may be in the unexecuted rest of the original kernel.
            _ if is_cut(before) || is_cut(after) && !has_race(after) => Executed::Cut,
            true => Executed::New,
            false => Executed::Same,
        }
    }
}
