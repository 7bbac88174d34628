//! The reasons why a target's instruction set lacks an operation, from the table of `docs/rejections.md` and
//! independent of the lowering.

use ptx_lowering::{
    AtomicOp, Operation, PtxVersion, RmwOp, SyncScope, Target, Type,
    ptx::{Scope, Space},
};

/// The reasons for which the lowering must reject an operation; empty if it must not.
pub fn reasons(op: &AtomicOp, target: &Target) -> Vec<&'static str> {
    reasons_of(op, target, false)
}

/// Whether `atom` updates the elements of a vector of 128 bits separately on every GPU with 128-bit registers. For
/// `bf16x2`, only the GPUs of `.b128` do.
fn is_divided(op: &AtomicOp) -> bool {
    let Operation::Rmw(RmwOp::FAdd | RmwOp::FSub, access) = op.operation else { return false };
    matches!(access.ty, Type::F32x4 | Type::F16x8)
}

/// The reasons if `is_whole` requires a vector update to be a single access, as `--fp-atomics ieee` does.
pub fn reasons_of(op: &AtomicOp, target: &Target, is_whole: bool) -> Vec<&'static str> {
    let has = |sm, ptx| target.sm.number() >= sm && target.ptx >= ptx;
    let Some(access) = op.operation.access() else { return Vec::new() };
    let wide = access.ty.bits() == 128;
    let one_access = wide && (is_whole || !is_divided(op));
    let load = matches!(op.operation, Operation::Load(_));
    let rmw = !matches!(op.operation, Operation::Load(_) | Operation::Store(_));
    let shared_by_threads = !matches!(access.space, Space::Local | Space::Const);
    let system = op.scope == SyncScope::Threads(Scope::Sys) && shared_by_threads;
    let scoped = system && (rmw || !access.volatile);
    let table = [
        (access.space == Space::Const && !load, "write to constant memory"),
        (access.space == Space::SharedCluster && !has(90, PtxVersion(7, 8)), "cluster-shared memory"),
        (wide && !has(70, PtxVersion(8, 3)), "128 bits"),
        (one_access && rmw && shared_by_threads && !has(90, PtxVersion(8, 3)), "128-bit rmw"),
        (one_access && scoped && !has(70, PtxVersion(8, 4)), "128 bits at system scope"),
        (rmw && system && access.space != Space::Shared && !has(60, PtxVersion(5, 0)), "rmw of system scope"),
    ];
    let found: Vec<_> = table.into_iter().filter(|(holds, _)| *holds).map(|(_, reason)| reason).collect();
    // A write to constant memory has no lowering with any width or scope, so no further reason is given.
    if found.first() == Some(&"write to constant memory") { found[..1].to_vec() } else { found }
}
