//! Barriers, the expensive part: `MEMBAR` waits until earlier accesses are performed, `ERRBAR` and `CGAERRBAR` until their
//! errors are known, `CCTL.IVALL` drops the first-level cache. A cta shares that cache, so that its scope needs only the
//! first.

use super::{Family, Sass};
use crate::{
    abi::Step,
    ptx::{AtomSem, FenceSem, LdSem, MembarLevel, Scope, Space, StSem},
};

/// The barriers of an ABI's sequence, with its access to global memory; the access itself is one more instruction in each
/// sequence of a row, and left out.
pub fn barriers(steps: &[Step], scope: Scope, family: Family) -> Sass {
    let release = || release(scope, family);
    let acquire = || acquire(scope, Space::Global, family);
    let of_step = |step: &Step| match step {
        Step::Fence(sem) => fence(Some(*sem), scope, family),
        Step::Ld(LdSem::Acquire | LdSem::MmioAcquire) | Step::Atom(AtomSem::Acquire) => acquire(),
        Step::St(StSem::Release | StSem::MmioRelease) | Step::Atom(AtomSem::Release) => release(),
        Step::Atom(AtomSem::AcqRel) => [release(), acquire()].concat(),
        Step::Ld(_) | Step::St(_) | Step::Atom(AtomSem::Relaxed) => Vec::new(),
    };
    Sass(steps.iter().flat_map(of_step).collect())
}

pub(super) fn fence(sem: Option<FenceSem>, scope: Scope, family: Family) -> Vec<String> {
    // A fence knows no space.
    let acquire = || acquire(scope, Space::Generic, family);
    match sem.unwrap_or(FenceSem::AcqRel) {
        FenceSem::Sc => [wait("SC", scope, family), acquire()].concat(),
        FenceSem::AcqRel => [release(scope, family), acquire()].concat(),
        FenceSem::Acquire => acquire(),
        FenceSem::Release => release(scope, family),
    }
}

/// From sm_70 on, `membar` is `fence.sc`.
pub(super) fn membar(level: MembarLevel, family: Family) -> Vec<String> {
    let (scope, before_sm_70) = match level {
        MembarLevel::Cta => (Scope::Cta, "MEMBAR.CTA"),
        MembarLevel::Gl => (Scope::Gpu, "MEMBAR.GL.IVALLD"),
        MembarLevel::Sys => (Scope::Sys, "MEMBAR.SYS.IVALLD"),
    };
    if family < Family::Sm70 { vec![before_sm_70.into()] } else { fence(Some(FenceSem::Sc), scope, family) }
}

/// What stands in front of a release.
pub(super) fn release(scope: Scope, family: Family) -> Vec<String> {
    wait("ALL", scope, family)
}

/// What stands behind an acquire from this space. Before sm_90 it is nothing for shared memory.
pub(super) fn acquire(scope: Scope, space: Space, family: Family) -> Vec<String> {
    let shared = matches!(space, Space::Shared | Space::SharedCta);
    let needless = scope == Scope::Cta || (shared && family < Family::Sm90);
    if needless { Vec::new() } else { vec!["CCTL.IVALL".into()] }
}

fn wait(kind: &str, scope: Scope, family: Family) -> Vec<String> {
    let scope = match scope {
        Scope::Cta => return vec![format!("MEMBAR.{kind}.CTA")],
        Scope::Cluster | Scope::Gpu => "GPU",
        Scope::Sys => "SYS",
    };
    let mut opcodes = vec![format!("MEMBAR.{kind}.{scope}"), "ERRBAR".into()];
    opcodes.extend((family >= Family::Sm90).then(|| "CGAERRBAR".into()));
    opcodes
}
