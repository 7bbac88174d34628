//! Barriers, the expensive part: `MEMBAR` waits until earlier accesses are performed, `ERRBAR` and `CGAERRBAR` until
//! their errors are known, `CCTL.IVALL` drops the first-level cache. A cta shares that cache, so that its scope needs
//! only the first.

use super::family::Family;
use crate::ptx::{FenceSem, MembarLevel, Scope, Space};

/// The barriers of a fence. Without semantics it is `fence.acq_rel`.
pub(crate) fn fence(sem: Option<FenceSem>, scope: Scope, family: Family) -> Vec<String> {
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
    let before_sm_70 = match level {
        MembarLevel::Cta => "MEMBAR.CTA",
        MembarLevel::Gl => "MEMBAR.GL.IVALLD",
        MembarLevel::Sys => "MEMBAR.SYS.IVALLD",
    };
    if family < Family::Sm70 { vec![before_sm_70.into()] } else { fence(Some(FenceSem::Sc), level.scope(), family) }
}

/// The barriers in front of a release.
pub(crate) fn release(scope: Scope, family: Family) -> Vec<String> {
    wait("ALL", scope, family)
}

/// The barriers behind an acquire from this space. Before sm_90 there are none for shared memory.
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
