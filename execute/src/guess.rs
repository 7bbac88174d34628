//! Arguments that a kernel takes without stopping itself at once: numbers that the conditions at its beginning let through.

use ptx_isa::{Module, arithmetic::Computation};

use crate::{
    code::{Op, Program, Source},
    device::State,
    launch::{Argument, Contents, Launch, LaunchError, Options, Schedule},
    report::FindingKind,
};

/// Numbers that kernels are often made for.
const USUAL: [u64; 16] = [16, 1, 0, 2, 3, 4, 8, 10, 32, 64, 100, 128, 256, 512, 1024, 4096];
/// How many numbers are tried for a parameter, and how many instructions of warps a trial has.
const TRIALS: usize = 96;
const STEPS: u64 = 20_000;

impl Launch {
    /// The same launch with numbers in place of some arguments, given by their places, so that the kernel gets past the
    /// conditions at its beginning, which end in `trap`. Buffers are replaced by ones that grow while it looks for them.
    /// Where no numbers are found, it has those that got farthest.
    ///
    /// # Errors
    /// If the kernel cannot be launched at all.
    pub fn fitted(&self, module: &Module, open: &[usize]) -> Result<Self, Vec<LaunchError>> {
        let options = Options { schedule: Schedule::WarpAhead, races: false, ..Options::default() };
        let mut best = self.clone();
        let mut state = State::new(module, options)?;
        let mut scratch = self.clone();
        for (index, argument) in scratch.arguments.iter_mut().enumerate() {
            if let Argument::Buffer(buffer, _) = argument {
                *buffer = state.allocate(&format!("scratch {index}"), Contents::Grows(1 << 26));
            }
        }
        let mut score = state.trial(&scratch, STEPS)?;
        let numbers = state.with_program(&self.kernel, numbers)?;
        for _ in 0..3 {
            for &index in open {
                for number in &numbers {
                    let Some(Argument::Bytes(old)) = best.arguments.get(index).cloned() else { break };
                    if score == u64::MAX {
                        return Ok(best);
                    }
                    let bytes: Vec<u8> = number.to_le_bytes().iter().copied().chain([0; 8]).take(old.len()).collect();
                    scratch.arguments[index] = Argument::Bytes(bytes.clone());
                    let new = state.trial(&scratch, STEPS)?;
                    if new > score {
                        score = new;
                        best.arguments[index] = Argument::Bytes(bytes);
                    } else {
                        scratch.arguments[index] = Argument::Bytes(old);
                    }
                }
            }
        }
        Ok(best)
    }
}

/// The numbers that the program compares with, those beside them, and the usual ones.
fn numbers(program: &Program) -> Vec<u64> {
    let mut all = Vec::new();
    for step in &program.steps {
        let Op::Compute(of) = &step.op else { continue };
        let compares = matches!(of.of, Computation::Setp(..) | Computation::Compare(_));
        let constants = of.sources[..of.count].iter().filter_map(|source| match source {
            Source::Number(number) => Some(*number),
            _ => None,
        });
        for number in constants.filter(|_| compares) {
            all.extend([number, number.wrapping_add(1), number.wrapping_sub(1)]);
        }
    }
    let mut found: Vec<u64> = Vec::new();
    for number in all.into_iter().chain(USUAL) {
        if !found.contains(&number) && found.len() < TRIALS {
            found.push(number);
        }
    }
    found
}

/// How far a trial came: as far as can be, if the kernel did not stop itself.
pub fn progress(report: &crate::Report, time: u64) -> u64 {
    let stopped = report.findings.iter().any(|finding| finding.kind == FindingKind::Trap);
    if stopped { time } else { u64::MAX }
}
