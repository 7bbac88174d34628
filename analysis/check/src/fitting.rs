//! Fitting launches in addition to the launch of a witness: a fault that several of them show lies in the kernel, and
//! not in guessed arguments.

use ptx_execute::{Assumed, Device, Fault, FaultKind, Launch as OnDevice, Value};
use ptx_hazards::Kernel;
use ptx_isa::{Dim3, Function, InstPlace, LaunchSize, Stop, launch::MOST_THREADS};

use crate::{check::Check, evidence::Witness};

/// The parts of a launch that are guessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guessed {
    pub block: bool,
    pub grid: bool,
    pub numbers: bool,
    /// The largest number of threads of a CTA.
    pub most: u32,
}

/// The key by which faults are equal: the kind, and the sites in the order of the text.
type Key = (FaultKind, InstPlace, InstPlace);

/// The number of seeds of a group of witnesses that are tried in each launch.
const SEEDS: usize = 4;

/// The number of blocks of another size that are tried.
const BLOCKS: usize = 4;

/// Factors of the size of a block, of the grid and of numbers: each row is a launch, and all rows differ in each
/// column. Small launches come first, since they take less time.
pub const FACTORS: [[(u32, u32); 3]; 8] = [
    [(1, 2), (2, 1), (1, 2)],
    [(1, 4), (3, 1), (1, 4)],
    [(2, 1), (4, 1), (2, 1)],
    [(4, 1), (5, 1), (1, 8)],
    [(3, 1), (6, 1), (3, 1)],
    [(3, 2), (7, 1), (3, 2)],
    [(8, 1), (8, 1), (4, 1)],
    [(1, 8), (9, 1), (5, 1)],
];

/// A launch that differs from the launch of a group of witnesses.
struct Other {
    launch: Assumed,
    /// The witnesses that it has not shown.
    left: Vec<usize>,
    /// The seeds with which it ran.
    seeds: Vec<u64>,
}

/// Counts the launches that show the fault of each witness, until they are sufficient or the budget is spent.
pub fn count(check: &Check<'_>, function: &Function, kernel: Option<&Kernel>, witnesses: &mut [Witness], stop: &Stop) {
    let most = kernel.and_then(|kernel| kernel.most);
    let changes_registers = kernel.is_some_and(|kernel| kernel.changes_registers);
    let mut steps = 0;
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (at, witness) in witnesses.iter().enumerate() {
        let is_same = |other: &Witness| {
            other.launch == witness.launch && (other.mode, other.is_dependent) == (witness.mode, witness.is_dependent)
        };
        match groups.iter_mut().find(|group| is_same(&witnesses[group[0]])) {
            Some(group) => group.push(at),
            None => groups.push(vec![at]),
        }
    }
    for group in groups {
        let base = witnesses[group[0]].launch.clone();
        let guessed = Guessed::new(check, function, most, &base);
        let is_free = guessed.block && !is_declared(function, changes_registers, &base);
        let guessed =
            Guessed { block: is_free && other_block_fits(check, guessed, &witnesses[group[0]], &mut steps), ..guessed };
        if !guessed.any() {
            group.iter().for_each(|at| witnesses[*at].is_given = true);
            continue;
        }
        let launches = FACTORS.iter().filter_map(|factors| guessed.other(&base, *factors)).take(check.budget.launches);
        let mut launches: Vec<Other> =
            launches.map(|launch| Other { launch, left: group.clone(), seeds: Vec::new() }).collect();
        // Every launch has its first seed before its second.
        for _ in 0..SEEDS {
            for Other { launch, left, seeds } in &mut launches {
                left.retain(|at| !witnesses[*at].is_certain());
                if left.is_empty() || steps >= check.budget.launch_steps || stop.is_due() {
                    continue;
                }
                let mut own = left.iter().map(|at| witnesses[*at].seed).chain(0..);
                let seed = own.find(|seed| !seeds.contains(seed)).unwrap_or_default();
                seeds.push(seed);
                let Some((faults, work)) = run(check, launch, &witnesses[group[0]], seed) else {
                    left.clear();
                    continue;
                };
                steps += work;
                let keys: Vec<Key> = faults.iter().map(key).collect();
                left.retain(|at| {
                    let is_shown = keys.contains(&key(&witnesses[*at].fault));
                    witnesses[*at].launches += usize::from(is_shown);
                    !is_shown
                });
            }
        }
    }
}

impl Guessed {
    pub fn new(check: &Check<'_>, function: &Function, most: Option<u32>, launch: &Assumed) -> Self {
        let known = LaunchSize::from_head(&function.head).or(check.launch.size);
        let is_number = |value: &Value| matches!(value, Value::Number(_));
        Self {
            block: known.block.is_none(),
            grid: known.grid.is_none(),
            numbers: launch.fields.iter().any(|field| !field.is_given && is_number(&field.value)),
            most: function.head.most_threads.or(most).unwrap_or(MOST_THREADS).min(MOST_THREADS),
        }
    }

    pub fn any(self) -> bool {
        self.block || self.grid || self.numbers
    }

    /// A launch that differs from another launch in all guessed parts; `None` if a size does not fit.
    pub fn other(self, base: &Assumed, [block, grid, number]: [(u32, u32); 3]) -> Option<Assumed> {
        let scaled = |size: u32, (by, of): (u32, u32)| {
            let product = size.checked_mul(by)?;
            (product % of == 0).then_some(product / of).filter(|scaled| *scaled > 0)
        };
        let mut launch = base.clone();
        if self.block {
            launch.size.block = self.block(base.size.block, |size| scaled(size, block))?;
        }
        if self.grid {
            launch.size.grid[0] = scaled(base.size.grid[0], grid)?;
        }
        if self.numbers {
            for field in launch.fields.iter_mut().filter(|field| !field.is_given) {
                if let Value::Number(value) = &mut field.value {
                    let (by, of) = (u64::from(number.0), u64::from(number.1));
                    // Signed numbers keep their sign, and none becomes zero.
                    *value = value.checked_mul(by).map_or(*value, |product| (product / of).max(1));
                }
            }
        }
        Some(launch)
    }

    /// A block of another size: whole warps, unless the known block has a partial warp.
    fn block(self, base: Dim3, scaled: impl Fn(u32) -> Option<u32>) -> Option<Dim3> {
        let fits = |block: &Dim3| {
            let threads: u32 = block.iter().product();
            threads <= self.most && (threads.is_multiple_of(32) || !base.iter().product::<u32>().is_multiple_of(32))
        };
        let along = |axis: usize| {
            let mut block = base;
            block[axis] = scaled(base[axis])?;
            Some(block).filter(fits)
        };
        // A two-dimensional block grows in its second direction.
        if base[1] > 1 { along(1).or_else(|| along(0)) } else { along(0) }
    }
}

/// Whether the block has all threads for which the kernel is compiled, in one dimension: `.maxntid` gives their number.
/// Kernels are usually launched with this number, and are often wrong with another. If boxes of tensor maps are guessed,
/// too, the number alone convinces less, unless warpgroups move registers to each other: the roles of the warps then
/// have one size of the block.
fn is_declared(function: &Function, changes_registers: bool, launch: &Assumed) -> bool {
    let [threads, 1, 1] = launch.size.block else { return false };
    function.head.most_threads == Some(threads) && (changes_registers || !launch.has_maps())
}

/// Whether the kernel runs without errors in a block of another size. If it does in none, its code has the size of the
/// block, and the other launches keep it. Boxes of tensor maps may be the reason for the errors, if they are guessed, too.
fn other_block_fits(check: &Check<'_>, guessed: Guessed, witness: &Witness, steps: &mut u64) -> bool {
    if witness.launch.has_maps() {
        return true;
    }
    let guessed = Guessed { grid: false, numbers: false, ..guessed };
    let launches = FACTORS.iter().filter_map(|factors| guessed.other(&witness.launch, *factors));
    let launches: Vec<Assumed> = launches.take(BLOCKS).collect();
    // A bound on the number of threads may leave too few blocks for an answer.
    launches.len() < BLOCKS
        || launches.iter().any(|launch| {
            let mut device = Device::new(check.ptx, witness.mode.options(0, &check.budget)).ok();
            let report = device.as_mut().and_then(|device| {
                let launched = launch.launch(device);
                device.launch(&launched).ok()
            });
            *steps += report.as_ref().map_or(0, |report| report.work);
            report.is_some_and(|report| report.findings.iter().all(|fault| is_of_order(fault.kind)))
        })
}

/// Whether a fault is about the order of accesses, and not about the memory and the threads that a launch has.
fn is_of_order(kind: FaultKind) -> bool {
    use FaultKind::{Absent, Lapped, Race, SameValue, Setmaxnreg, Unfinished};
    matches!(kind, Absent | Lapped | Race | SameValue | Setmaxnreg | Unfinished)
}

fn key(fault: &Fault) -> Key {
    let at = fault.site.at;
    let other = fault.other.as_ref().map_or(at, |site| site.at);
    (fault.kind, at.min(other), at.max(other))
}

/// The faults of an execution before the first out-of-bounds access, and the number of its instructions.
fn run(check: &Check<'_>, launch: &Assumed, like: &Witness, seed: u64) -> Option<(Vec<Fault>, u64)> {
    use FaultKind::{Misaligned, OutOfBounds, Trap, Unsupported};
    let mut device = Device::new(check.ptx, like.mode.options(seed, &check.budget)).ok()?;
    let launched = launch.launch(&mut device);
    let mut report = device.launch(&launched).ok()?;
    let mut work = report.work;
    if like.is_dependent {
        report = device.launch(&OnDevice { dependent: true, ..launched }).ok()?;
        work += report.work;
    }
    let is_usual = |fault: &Fault| !matches!(fault.kind, Misaligned | OutOfBounds | Trap | Unsupported);
    Some((report.findings.into_iter().take_while(is_usual).collect(), work))
}

#[cfg(test)]
mod tests {
    use itertools::Itertools;

    use super::*;

    #[test]
    fn launches_differ_in_all_that_is_guessed() {
        for column in 0..3 {
            let ratios = FACTORS.map(|row| f64::from(row[column].0) / f64::from(row[column].1));
            let is_other = ratios.iter().map(|ratio| ratio.to_bits()).all_unique() && !ratios.contains(&1.0);
            assert!(is_other, "{column}: {ratios:?}");
        }
    }
}
