//! Why the instruction set has no such operation on a target, without the code that lowers: the table of
//! `docs/rejections.md`.

use ptx_lowering::{
    AtomicOp, Operation, PtxVersion, SyncScope, Target,
    ptx::{Scope, Space},
};

/// The reasons for which an operation must be rejected; none if it must not.
pub fn reasons(op: &AtomicOp, target: &Target) -> Vec<&'static str> {
    let has = |sm, ptx| target.sm.number() >= sm && target.ptx >= ptx;
    let Some(access) = op.operation.access() else { return Vec::new() };
    let wide = access.ty.bits() == 128;
    let load = matches!(op.operation, Operation::Load(_));
    let rmw = !matches!(op.operation, Operation::Load(_) | Operation::Store(_));
    let shared_by_threads = !matches!(access.space, Space::Local | Space::Const);
    let system = op.scope == SyncScope::Threads(Scope::Sys) && shared_by_threads;
    let scoped = system && (rmw || !access.volatile);
    let table = [
        (access.space == Space::Const && !load, "write to constant memory"),
        (access.space == Space::SharedCluster && !has(90, PtxVersion(7, 8)), "cluster-shared memory"),
        (wide && !has(70, PtxVersion(8, 3)), "128 bits"),
        (wide && rmw && shared_by_threads && !has(90, PtxVersion(8, 3)), "128-bit rmw"),
        (wide && scoped && !has(70, PtxVersion(8, 4)), "128 bits at system scope"),
        (rmw && system && access.space != Space::Shared && !has(60, PtxVersion(5, 0)), "rmw of system scope"),
    ];
    let found: Vec<_> = table.into_iter().filter(|(holds, _)| *holds).map(|(_, reason)| reason).collect();
    // What cannot be written is not written with any width or scope.
    if found.first() == Some(&"write to constant memory") { found[..1].to_vec() } else { found }
}
