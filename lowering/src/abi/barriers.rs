//! The barriers of an ABI's sequence.

use super::row::Step;
use crate::{
    ptx::{AtomSem, LdSem, Scope, Space, StSem},
    sass::{Family, Sass, barriers},
};

/// The barriers that ptxas emits for a sequence of the ABI whose access is to global memory. The access itself is not
/// counted, because every sequence of a row has it.
pub fn barriers(steps: &[Step], scope: Scope, family: Family) -> Sass {
    let release = || barriers::release(scope, family);
    let acquire = || barriers::acquire(scope, Space::Global, family);
    let of_step = |step: &Step| match step {
        Step::Fence(sem) => barriers::fence(Some(*sem), scope, family),
        Step::Ld(LdSem::Acquire | LdSem::MmioAcquire) | Step::Atom(AtomSem::Acquire) => acquire(),
        Step::St(StSem::Release | StSem::MmioRelease) | Step::Atom(AtomSem::Release) => release(),
        Step::Atom(AtomSem::AcqRel) => [release(), acquire()].concat(),
        Step::Ld(_) | Step::St(_) | Step::Atom(AtomSem::Relaxed) => Vec::new(),
    };
    steps.iter().flat_map(of_step).collect()
}
