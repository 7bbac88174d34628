//! Checks of every lowering by code that does not use the table: its strength, its values, its text.

use std::collections::HashMap;

use itertools::{Itertools, iproduct};
use ptx_judge::Strength;
use ptx_lowering::{
    Access, AtomicOp, Change, Lowering, Operation, Ordering, Policy, RmwOp, Sequence, Strategy, SyncScope, Target,
    Type, lower,
    ptx::{Scope, Space},
    sass::{Family, misplaces_ordering},
};
use strum::IntoEnumIterator;
use testing::{mutants::mutants, reasons::reasons};

const SPACES: [Space; 6] =
    [Space::Generic, Space::Global, Space::Shared, Space::SharedCluster, Space::Local, Space::Const];
const TARGETS: [(&str, Option<&str>); 10] = [
    ("sm_20", None),
    ("sm_35", None),
    ("sm_53", None),
    ("sm_60", None),
    ("sm_70", None),
    ("sm_80", None),
    ("sm_90", None),
    ("sm_90", Some("ptx86")),
    ("sm_100", None),
    ("sm_121f", Some("ptx90")),
];

fn target(sm: &str, ptx: Option<&str>) -> Target {
    Target::new(sm.parse().expect(sm), ptx.map(|ptx| ptx.parse().expect(ptx))).expect(sm)
}

fn scopes() -> impl Iterator<Item = SyncScope> + Clone {
    [SyncScope::SingleThread].into_iter().chain(Scope::iter().map(SyncScope::Threads)).collect_vec().into_iter()
}

/// Every operation × type × ordering × scope × space × strategy, and again those that change without NaNs.
fn grid() -> impl Iterator<Item = (AtomicOp, Policy)> {
    let plain = |operation: &Operation| matches!(operation, Operation::Load(_) | Operation::Store(_));
    // An `atom` is the same, volatile or not.
    let volatile = move |operation: Operation| plain(&operation).then(|| operation.volatile());
    let guarded = Operation::all(Space::Generic).map(Operation::maybe_local);
    let rmw = |operation: &Operation| matches!(operation, Operation::Rmw(..));
    let skipping = move |operation: Operation| rmw(&operation).then(|| operation.may_skip_write());
    let operations = SPACES
        .into_iter()
        .flat_map(Operation::all)
        .flat_map(move |o| [Some(o), volatile(o), Some(o.aligned(4)), skipping(o)].into_iter().flatten());
    let ops = iproduct!(operations.chain(guarded).unique(), Ordering::iter(), scopes().collect_vec())
        .filter(|(operation, ordering, _)| operation.takes(*ordering))
        .map(|(operation, ordering, scope)| AtomicOp { operation, ordering, scope });
    // `auto` uses sequences of `recommended` and `fence`; its own test shows that.
    let strategies = Strategy::iter().filter(|strategy| *strategy != Strategy::Auto).collect_vec();
    let policies = iproduct!([false, true], strategies)
        .map(|(no_nans, strategy)| Policy { no_nans, ..strategy.into() })
        .collect_vec();
    let depends = move |op: &AtomicOp| {
        let Operation::Rmw(op, access) = op.operation else { return false };
        let extremum = ["fmax", "fmin"].iter().any(|name| op.to_string().starts_with(name));
        extremum && matches!(access.ty, Type::F32 | Type::F64)
    };
    // Seven is coprime to the number of orderings, scopes and policies, so each of these occurs with each operation.
    let all = iproduct!(ops, policies).filter(move |(op, policy)| !policy.no_nans || depends(op));
    all.step_by(testing::stride(14))
}

fn lowered(op: &AtomicOp, strategy: Strategy, target: &Target) -> Option<Lowering> {
    lower(op, &strategy.into(), target).ok()
}

#[test]
fn every_lowering_is_strong_enough_and_on_target() {
    let counts = std::thread::scope(|scope| {
        let threads = TARGETS.map(|(sm, ptx)| scope.spawn(move || every_lowering_for(&target(sm, ptx))));
        threads.map(|thread| thread.join().expect("the output above has the error"))
    });
    let lowered_cells: usize = counts.iter().map(|(lowered, _)| lowered).sum();
    let rejected: usize = counts.iter().map(|(_, rejected)| rejected).sum();
    println!("{lowered_cells} lowerings checked, {rejected} rejected for the target");
    assert!(lowered_cells > 50_000 / testing::stride(14));
}

/// The number of lowered operations, and the number that the target lacks.
fn every_lowering_for(target: &Target) -> (usize, usize) {
    let (mut lowered_cells, mut rejected) = (0, 0);
    // Many cells have the same sequence.
    let mut strengths = HashMap::new();
    for (op, policy) in grid() {
        match lower(&op, &policy, target) {
            Ok(lowering) => {
                lowered_cells += 1;
                let sequence = &lowering.sequence;
                assert_eq!(reasons(&op, target), [""; 0], "{op:?} {target}\n{sequence}");
                let family = Family::from_sm(target.sm);
                let misplaced = |instruction| family.is_some_and(|family| misplaces_ordering(instruction, family));
                assert!(!sequence.instructions().any(misplaced), "{op:?} {target}\n{sequence}");
                if !strengths.contains_key(sequence) {
                    assert_eq!(sequence.to_string().parse::<Sequence>().as_ref(), Ok(sequence));
                    strengths.insert(sequence.clone(), Strength::from_sequence(sequence));
                }
                let strength = &strengths[sequence];
                if sequence.statements().is_empty() {
                    assert_eq!((op.operation, op.scope), (Operation::Fence, SyncScope::SingleThread));
                } else if let Err(missing) = strength.covers(&op) {
                    panic!("{op:?} {policy:?} {target}: {missing:?}\n{sequence}");
                }
                if policy.strategies == Strategy::Proven.into()
                    && matches!(op.operation, Operation::Rmw(..) | Operation::CmpXchg { .. })
                {
                    let needs_relay = strength.acquire.is_some() && strength.release.is_some();
                    assert!(!needs_relay || strength.relay.is_some(), "{op:?} {target}\n{sequence}");
                }
                assert!(target.lacks(sequence.statements()).is_empty());
            }
            Err(errors) => {
                rejected += 1;
                assert!(!reasons(&op, target).is_empty(), "{op:?} {target}: {errors:?}");
            }
        }
    }
    (lowered_cells, rejected)
}

/// No lowering has an unneeded ordering: the checker detects every weakening of it.
#[test]
fn the_checker_catches_every_weaker_lowering() {
    let targets = [target("sm_80", None), target("sm_90", Some("ptx86"))];
    let strategies = [Strategy::Recommended, Strategy::Fence, Strategy::FenceAcquire];
    let mut caught = 0;
    for (operation, ordering, strategy, no_nans, target) in
        iproduct!(Operation::all(Space::Global), Ordering::iter(), strategies, [false, true], targets)
    {
        let op = AtomicOp { operation, ordering, scope: SyncScope::Threads(Scope::Sys) };
        if !operation.takes(ordering) || !reasons(&op, &target).is_empty() {
            continue;
        }
        let lowering = lower(&op, &Policy { no_nans, ..strategy.into() }, &target).expect("it has a lowering");
        if no_nans && !lowering.changes.contains(&Change::FloatAsInteger) {
            continue;
        }
        for (_, mutant) in mutants(&lowering.sequence) {
            caught += 1;
            assert!(
                Strength::from_sequence(&mutant).covers(&op).is_err(),
                "{op:?} {target}\n{}\nbecame\n{mutant}",
                lowering.sequence
            );
        }
    }
    println!("{caught} mutants caught");
    assert!(caught > 2_000);
}

#[test]
fn volatile_accesses_stay_volatile() {
    let check = |operation: Operation, ordering, strategy, expected: &str| {
        let op = AtomicOp { operation: operation.volatile(), ordering, scope: SyncScope::Threads(Scope::Gpu) };
        let lowering = lowered(&op, strategy, &target("sm_90", Some("ptx86"))).expect("a lowering");
        assert_eq!(lowering.sequence.to_string().replace('\n', " "), expected);
    };
    let access = Access::new(Space::Global, Type::I32);
    let (load, store) = (Operation::Load(access), Operation::Store(access));
    use Strategy::{Proven, Recommended};
    check(load, Ordering::Relaxed, Recommended, "ld.volatile.global.b32 %d, [%a];");
    check(load, Ordering::Acquire, Recommended, "ld.volatile.global.b32 %d, [%a]; fence.acquire.gpu;");
    check(load, Ordering::SeqCst, Recommended, "fence.sc.gpu; ld.volatile.global.b32 %d, [%a]; fence.acquire.gpu;");
    check(store, Ordering::Release, Recommended, "fence.release.gpu; st.volatile.global.b32 [%a], %b;");
    check(store, Ordering::SeqCst, Proven, "fence.sc.gpu; st.volatile.global.b32 [%a], %b;");
}

#[test]
fn changes_are_named() {
    let check = |operation, ordering, scope, target: &Target, expected: &[Change]| {
        let op = AtomicOp { operation, ordering, scope };
        let lowering = lower(&op, &Policy::default(), target).expect("a lowering");
        assert_eq!(lowering.changes, expected, "{op:?} {target}");
    };
    let access = Access::new(Space::Global, Type::I32);
    let cmpxchg = Operation::CmpXchg { access, failure: Ordering::Acquire };
    let (gpu, cluster) = (SyncScope::Threads(Scope::Gpu), SyncScope::Threads(Scope::Cluster));
    let (sm_80, sm_90) = (target("sm_80", None), target("sm_90", None));
    use Change::*;
    check(Operation::Load(access), Ordering::Unordered, gpu, &sm_90, &[UnorderedAsRelaxed]);
    check(cmpxchg, Ordering::Release, gpu, &sm_90, &[FailureOrderingJoined]);
    check(cmpxchg, Ordering::Acquire, gpu, &sm_90, &[]);
    check(Operation::Fence, Ordering::Acquire, gpu, &sm_90, &[OneSidedFenceAsAcqRel]);
    check(Operation::Fence, Ordering::Acquire, gpu, &target("sm_90", Some("ptx86")), &[]);
    check(Operation::Load(access), Ordering::Acquire, cluster, &sm_80, &[ClusterAsGpu]);
    check(Operation::Load(access), Ordering::Acquire, cluster, &sm_90, &[]);
    check(Operation::Rmw(RmwOp::Nand, access), Ordering::Relaxed, gpu, &sm_90, &[CasLoop]);
    check(Operation::Load(access).volatile(), Ordering::Relaxed, gpu, &sm_90, &[Volatile]);
    check(Operation::Load(access).volatile(), Ordering::Acquire, gpu, &sm_90, &[Volatile, OneSidedFenceAsAcqRel]);
    check(Operation::Rmw(RmwOp::Add, access).volatile(), Ordering::AcqRel, gpu, &sm_90, &[VolatileAtom]);
    check(Operation::Rmw(RmwOp::Sub, access), Ordering::SeqCst, gpu, &sm_90, &[SubAsAdd]);
    check(Operation::Fence, Ordering::SeqCst, SyncScope::SingleThread, &sm_90, &[SingleThread]);
    check(Operation::Store(access), Ordering::SeqCst, SyncScope::SingleThread, &sm_90, &[SingleThread]);
}

#[test]
fn operations_without_a_source_language_are_errors() {
    let check = |operation, ordering, expected: &str| {
        let op = AtomicOp { operation, ordering, scope: SyncScope::Threads(Scope::Sys) };
        let errors = lower(&op, &Policy::default(), &target("sm_80", None)).expect_err(expected);
        assert_eq!(errors.iter().join("; "), expected);
    };
    let access = Access::new;
    let float = access(Space::Global, Type::F32);
    check(Operation::Load(float), Ordering::Release, "no language has release for a load");
    check(Operation::Fence, Ordering::Relaxed, "no language has relaxed for a fence");
    check(Operation::Rmw(RmwOp::Add, float), Ordering::Relaxed, "'add' is not defined on f32");
    check(
        Operation::CmpXchg { access: float, failure: Ordering::Relaxed },
        Ordering::Relaxed,
        "cmpxchg is not defined on f32",
    );
    check(
        Operation::Load(access(Space::SharedCluster, Type::I32)),
        Ordering::Relaxed,
        "the state space `.shared::cluster` requires sm_90 and PTX 7.8, and the target is sm_80 with PTX 7.0",
    );
}
