//! The measured output of a version of LLVM for every atomic and fence, as a table for `embed = native`.

use ptx_atomics_common::backend::{Backend, Measured, OperationKey, StraightLine};
use ptx_lowering::{
    AtomicOp, Policy, Target, lower,
    ptx::{Code, Function, Instruction, Space},
};
use rayon::prelude::*;

use crate::{
    cell::{Cell, cells},
    compile::{Compiled, Compiler, Patience},
};

/// The number of the first GPU that is measured: for earlier GPUs, LLVM has no semantics and no scopes.
pub const FIRST: u32 = 70;

/// Compiles every function with an operation that is lowered without branches, for each target, and makes a table of
/// the output. The function calls `done` with the number of functions that were finished since the last call.
///
/// # Errors
/// If the folder for files or the threads cannot be created.
pub fn measure(
    compiler: &Compiler,
    version: [u32; 3],
    targets: &[Target],
    jobs: usize,
    done: impl Fn(usize) + Sync,
) -> std::io::Result<Backend> {
    let threads = rayon::ThreadPoolBuilder::new().num_threads(jobs).build().map_err(std::io::Error::other)?;
    let part = |target: &Target| {
        let folder = tempfile::tempdir()?;
        let cells = functions(target, version[0]);
        let results = compiler.compile(target, &cells, folder.path(), &Patience::default());
        done(cells.len());
        let printed = cells.into_iter().zip(results).map(|(cell, result)| {
            let printed = result.ok().filter(|compiled| is_for(compiled, target));
            let printed = printed.and_then(|compiled| order(&cell.op, &compiled.function, target));
            (cell.op, printed)
        });
        Ok((*target, printed.collect::<Vec<_>>()))
    };
    let parts: std::io::Result<Vec<_>> = threads.install(|| targets.par_iter().with_max_len(1).map(part).collect());
    let mut measured = Measured::new();
    for (target, printed) in parts? {
        for (op, printed) in printed {
            let Some(asked) = OperationKey::from_op(&op) else { continue };
            let by_target = measured.entry(asked).or_default();
            // Values of several types are the same for the lowering, and the table needs the same output for them.
            by_target
                .entry((target.sm.number(), target.ptx))
                .and_modify(|all| *all = all.take().filter(|all| Some(all) == printed.as_ref()))
                .or_insert(printed);
        }
    }
    Ok(Backend::new(version, &measured))
}

/// The functions that are compiled for a target.
pub fn functions(target: &Target, llvm: u32) -> Vec<Cell> {
    let spaces = [Space::Global, Space::Generic, Space::Shared];
    cells(target, llvm, &spaces, |op| {
        let lowering = lower(op, &Policy::default(), target);
        OperationKey::from_op(op).is_some()
            && lowering.is_ok_and(|lowering| StraightLine::from_sequence(&lowering.sequence, op).is_some())
    })
}

/// Whether the compiler compiled for the target. Some compilers print another PTX version than the command asks for.
fn is_for(compiled: &Compiled, target: &Target) -> bool {
    let head = format!(".version {}\n.target {}\n", target.ptx, target.sm.name());
    compiled.head.starts_with(&head)
}

/// The operation of a function without branches.
pub fn printed(op: &AtomicOp, function: &Function) -> Option<StraightLine> {
    StraightLine::of_instructions(of_operation(function), op)
}

/// The instructions before and after the access of a function, if the access is the same as in our lowering.
fn order(op: &AtomicOp, function: &Function, target: &Target) -> Option<String> {
    let printed = printed(op, function)?;
    let ours = StraightLine::from_sequence(&lower(op, &Policy::default(), target).ok()?.sequence, op)?;
    (printed.access == ours.access).then_some(printed.order)
}

/// The instructions of a function, except those that fetch its parameters, return its result and move values.
fn of_operation(function: &Function) -> impl Iterator<Item = Option<&Instruction>> {
    function.body.iter().flatten().filter_map(|line| match &line.code {
        Code::Label(_) => Some(None),
        Code::Instruction { guard: None, instruction: Instruction::Cvt { .. } } => None,
        Code::Instruction { guard: None, instruction } => Some(Some(instruction)),
        Code::Instruction { .. } => Some(None),
        Code::Other(other) => {
            let is_own = other.guard.is_none()
                && (other.mnemonic == "ret" || other.loads_parameter() || other.stores_parameter());
            (!is_own).then_some(None)
        }
        Code::Directive(_) | Code::Open | Code::Close => None,
    })
}
