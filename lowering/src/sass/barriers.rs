//! Barriers, the expensive part: `MEMBAR` waits until earlier accesses are performed, `ERRBAR` and `CGAERRBAR` wait
//! until errors of earlier accesses are known, and `CCTL.IVALL` invalidates the first-level cache. The threads of a CTA
//! share that cache, so that scope cta needs only `MEMBAR`.

use super::family::Family;
use crate::ptx::{FenceSem, MembarLevel, Scope, Space};

/// The barriers of a fence. A fence without semantics is `fence.acq_rel`.
pub(crate) fn fence(sem: Option<FenceSem>, scope: Scope, family: Family) -> Vec<String> {
    // A fence applies to every state space.
    let acquire = || acquire(scope, Space::Generic, family);
    match sem.unwrap_or(FenceSem::AcqRel) {
        FenceSem::Sc => [wait("SC", scope, family), acquire()].concat(),
        FenceSem::AcqRel => [release(scope, family), acquire()].concat(),
        FenceSem::Acquire => acquire(),
        FenceSem::Release => release(scope, family),
    }
}

/// The barriers of a `membar`. From sm_70 on, it equals `fence.sc`.
pub(super) fn membar(level: MembarLevel, family: Family) -> Vec<String> {
    let before_sm_70 = match level {
        MembarLevel::Cta => "MEMBAR.CTA",
        MembarLevel::Gl => "MEMBAR.GL.IVALLD",
        MembarLevel::Sys => "MEMBAR.SYS.IVALLD",
    };
    if family < Family::Sm70 { vec![before_sm_70.into()] } else { fence(Some(FenceSem::Sc), level.scope(), family) }
}

/// The barriers before a release.
pub(crate) fn release(scope: Scope, family: Family) -> Vec<String> {
    wait("ALL", scope, family)
}

/// The barriers after an acquire from this space. Before sm_90, shared memory needs none.
pub(crate) fn acquire(scope: Scope, space: Space, family: Family) -> Vec<String> {
    let needless = scope == Scope::Cta || (space.is_shared_cta() && family < Family::Sm90);
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
