//! Tests of the values that sequences compute, against the definitions of LLVM's Language Reference: every operation
//! and type on old and new GPUs, at every byte offset of a word, while another thread writes between any two steps.

use std::fmt;

use itertools::{Itertools, iproduct};
use proptest::prelude::{Strategy as Generate, *};
use ptx_atomics_conformance::reference::{self, reference, special};
use ptx_lowering::{
    Access, AtomicOp, B, C, Change, FpAtomics, Lowering, Operation, Ordering, Policy, RmwOp, Sequence, SyncScope,
    Target, Type,
    interpret::Machine,
    lower,
    ptx::{Scope, Space, arithmetic::mask},
};
use strum::IntoEnumIterator;

/// A GPU for each kind of lowering: without 64-bit operations, without scopes, without the memory model, without bf16,
/// with 128 bits and vectors, with `.noftz`.
const TARGETS: [(&str, &str); 7] = [
    ("sm_20", "ptx32"),
    ("sm_35", "ptx40"),
    ("sm_60", "ptx50"),
    ("sm_70", "ptx83"),
    ("sm_80", "ptx70"),
    ("sm_90", "ptx90"),
    ("sm_90", "ptx94"),
];

/// The memory of the value: its space, whether a generic address is tested for being local, and whether it is local.
const PLACES: [(Space, bool, bool); 6] = [
    (Space::Generic, false, false),
    (Space::Global, false, false),
    (Space::Shared, false, false),
    (Space::Local, false, true),
    (Space::Generic, true, false),
    (Space::Generic, true, true),
];

/// A test case without its values.
#[derive(Clone)]
struct Case {
    operation: Operation,
    target: Target,
    policy: Policy,
    local: bool,
    lowering: Lowering,
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation, target, policy, local, lowering } = self;
        write!(f, "{operation:?} {target} {policy:?} local {local}\n{}", lowering.sequence)
    }
}

impl Case {
    fn access(&self) -> Access {
        self.operation.access().expect("an access")
    }

    fn ty(&self) -> Type {
        self.access().ty
    }
}

/// The user's choices for floats.
fn policies() -> impl Iterator<Item = Policy> + Clone {
    iproduct!(FpAtomics::iter(), [false, true], [false, true]).map(|(fp_atomics, no_nans, flush_f32)| Policy {
        fp_atomics,
        no_nans,
        flush_f32,
        ..Policy::default()
    })
}

/// Every case that has a lowering. 128-bit cases have a lowering only on new GPUs.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for ((sm, ptx), (space, may_be_local, local), policy) in iproduct!(TARGETS, PLACES, policies()) {
        let target = Target::new(sm.parse().expect(sm), ptx.parse().ok()).expect(sm);
        let operations = Operation::all(space).filter(|operation| operation.access().is_some());
        let operations = operations.map(|o| if may_be_local { o.maybe_local() } else { o });
        for operation in operations.flat_map(|o| [o, o.aligned(4), o.may_skip_write()]).unique() {
            let op = AtomicOp { operation, ordering: Ordering::Relaxed, scope: SyncScope::Threads(Scope::Gpu) };
            match lower(&op, &policy, &target) {
                Ok(lowering) => cases.push(Case { operation, target, policy, local, lowering }),
                Err(errors) => {
                    let ty = operation.access().expect("an access").ty;
                    assert!(ty.bits() == 128, "{operation:?} {target}: {errors:?}");
                }
            }
        }
    }
    assert!(cases.len() > 10_000);
    cases
}

/// Whether `found` is a value that the operation may store.
fn admits(case: &Case, op: RmwOp, old: u128, b: u128, found: u128) -> bool {
    let changed = |change| case.lowering.changes.contains(&change);
    let flushes = case.policy.flush_f32 || changed(Change::FlushesSubnormals);
    // If the user asserts that there are no NaNs, any result for a NaN is accepted.
    let broken = changed(Change::FloatAsInteger) && [old, b].iter().any(|value| is_nan(case.ty(), *value));
    broken || reference::admits(op, case.ty(), [old, b], found, flushes)
}

/// Whether a value of a scalar type is a NaN.
fn is_nan(ty: Type, bits: u128) -> bool {
    if ty == Type::F32 { f32::from_bits(bits as u32).is_nan() } else { f64::from_bits(bits as u64).is_nan() }
}

/// Arbitrary values, often special ones: zeros, ones, extremes, infinities, NaNs, subnormals.
fn value(ty: Type) -> impl Generate<Value = u128> {
    let scalar = ty.scalar();
    let element = prop_oneof![proptest::sample::select(special(scalar)), any::<u128>()];
    proptest::collection::vec(element, ty.lanes()).prop_map(move |elements| {
        let elements = elements.into_iter().map(|element| element & mask(scalar.bits()));
        elements.rev().fold(0u128, |packed, element| packed.checked_shl(scalar.bits()).unwrap_or(0) | element)
    })
}

/// The write of another thread before an access: to the value itself, or to a byte of the word around it.
#[derive(Clone, Debug)]
enum Interference {
    Value(u128),
    Byte(usize, u8),
}

#[derive(Clone, Debug)]
struct Values {
    old: u128,
    b: u128,
    c: u128,
    /// The offset of the value in its 16 bytes, in units of its size.
    place: usize,
    filler: u8,
    others: Vec<Option<Interference>>,
    constant: bool,
}

fn values(ty: Type) -> impl Generate<Value = Values> {
    let interference = prop_oneof![
        value(ty).prop_map(Interference::Value),
        (0..16usize, any::<u8>()).prop_map(|(at, byte)| Interference::Byte(at, byte))
    ];
    let others = proptest::collection::vec(proptest::option::of(interference), 0..6);
    let old = (value(ty), any::<bool>())
        .prop_flat_map(move |(b, same)| (Just(b), if same { Just(b).boxed() } else { value(ty).boxed() }));
    (old, value(ty), 0..16usize, any::<u8>(), others, any::<bool>()).prop_map(
        |((b, old), c, place, filler, others, constant)| Values { old, b, c, place, filler, others, constant },
    )
}

/// Runs a case, and compares the memory and the result with the definition of the operation on the value that the last
/// access read.
fn check(case: &Case, values: &Values) -> Result<(), TestCaseError> {
    let bits = case.ty().bits();
    let mut sequence = case.lowering.sequence.clone();
    let Values { old, b, c, .. } = *values;
    if values.constant && bits <= 64 && case.ty().lanes() == 1 && !matches!(case.ty(), Type::F16 | Type::Bf16) {
        sequence.bind(&B, b as u64);
        sequence.bind(&C, c as u64);
        prop_assert_eq!(sequence.to_string().parse::<Sequence>(), Ok(sequence.clone()));
    }
    let bytes = bits as usize / 8;
    let at = values.place * if case.access().word_aligned { 4 } else { bytes } % 16;
    let space = match case.access().space {
        _ if case.local => Space::Local,
        Space::Generic => Space::Global,
        space => space,
    };
    let is_generic = case.access().space == Space::Generic;
    let mut machine = Machine::new(bits, at, old, [b, c], values.filler).in_space(space, is_generic);
    let mut others = values.others.iter();
    let mut last = machine.clone();
    let by_element = case.lowering.changes.contains(&Change::AtomicByElement);
    let mut is_first = true;
    let d = machine.run(&sequence, |machine| {
        // If elements are updated separately, a write of another thread in between would not see a single value.
        if by_element && !std::mem::take(&mut is_first) {
            return;
        }
        // No other thread writes local memory.
        if let Some(Some(interference)) = others.next()
            && !case.local
        {
            match interference {
                Interference::Value(other) => machine.set(bits, *other),
                Interference::Byte(at, byte) => machine.memory_mut()[*at] = *byte,
            }
        }
        last = machine.clone();
    });
    let context = || format!("{case:?} {values:?}\n{sequence}");
    let d = d.map_err(|error| TestCaseError::fail(format!("{error}\n{}", context())))?;
    let seen = if case.local { old } else { last.get(bits) };
    let found = machine.get(bits);
    let expected = match case.operation {
        Operation::Fence => true,
        Operation::Load(_) => found == seen,
        Operation::Store(_) => found == b,
        Operation::Rmw(op, _) => admits(case, op, seen, b, found),
        Operation::CmpXchg { .. } => found == if seen == b { c } else { seen },
    };
    prop_assert!(expected, "{seen:#x} became {found:#x}\n{}", context());
    if !matches!(case.operation, Operation::Store(_)) {
        prop_assert_eq!(d.map(|d| d & mask(bits)), Some(seen), "the result is the value before\n{}", context());
    }
    let writes = machine.accesses().iter().filter(|access| access.writes());
    let times = writes.flat_map(|access| access.bytes.clone()).counts().into_values().max().unwrap_or(0);
    prop_assert!(times <= usize::from(case.operation.writes()), "{times} writes of one byte\n{}", context());
    let mut untouched = last;
    untouched.set(bits, found);
    prop_assert_eq!(untouched.memory(), machine.memory(), "bytes around the value\n{}", context());
    Ok(())
}

/// A random case with random values. Every operation and type is equally likely.
fn any_case() -> impl Generate<Value = (Case, Values)> {
    proptest::sample::select(cases()).prop_flat_map(|case| (Just(case.clone()), values(case.ty())))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_sequence_computes_its_operation((case, values) in any_case()) {
        check(&case, &values)?;
    }
}

/// Every 8-bit operation on all pairs of values, at each offset.
#[test]
fn bytes_exhaustively() {
    let target = Target::new("sm_80".parse().expect("a GPU"), None).expect("a target");
    for op in RmwOp::iter().filter(|op| op.takes(Type::I8)) {
        let operation = Operation::Rmw(op, Access::new(Space::Global, Type::I8));
        let op = AtomicOp { operation, ordering: Ordering::Relaxed, scope: SyncScope::Threads(Scope::Gpu) };
        let lowering = lower(&op, &Policy::default(), &target).expect("a lowering");
        let case = Case { operation, target, policy: Policy::default(), local: false, lowering };
        for (old, b) in iproduct!(0..=255u8, (0..=255u8).step_by(5)) {
            let (place, filler) = (usize::from(old.wrapping_add(b)) % 4, old ^ b);
            let (old, b) = (old.into(), b.into());
            let values = Values { old, b, c: 0, place, filler, others: Vec::new(), constant: false };
            check(&case, &values).expect("the operation");
        }
    }
}

/// Floats of every class except NaN, of both signs: zeros, subnormal and normal numbers, each with its neighbors, and
/// infinities.
fn numbers(ty: Type) -> Vec<u128> {
    let fraction = if ty == Type::F32 { 23 } else { 52 };
    let (top, ones) = (1 << (ty.bits() - 1), (1u128 << fraction) - 1);
    let infinity = (top - 1) & !ones;
    let exponents = [0, 1 << fraction, (infinity / 2) & !ones, infinity - (1 << fraction)];
    let fractions = [0, 1, 1 << (fraction - 1), ones - 1, ones];
    let positive = iproduct!(exponents, fractions).map(|(exponent, fraction)| exponent | fraction);
    positive.chain([infinity]).flat_map(|number| [number, number | top]).collect()
}

/// Minimum and maximum by integers. All of them use the total order, in which -0 is less than +0.
#[test]
fn integers_compute_the_extremum_of_floats() {
    let policy = Policy { no_nans: true, ..Policy::default() };
    let mut compared = 0;
    for ((sm, ptx), op, ty, space) in
        iproduct!(TARGETS, RmwOp::iter(), [Type::F32, Type::F64], [Space::Generic, Space::Global, Space::Shared])
    {
        let target = Target::new(sm.parse().expect(sm), ptx.parse().ok()).expect(sm);
        let operation = Operation::Rmw(op, Access::new(space, ty));
        let asked = AtomicOp { operation, ordering: Ordering::Relaxed, scope: SyncScope::Threads(Scope::Gpu) };
        let Ok(lowering) = lower(&asked, &policy, &target) else { continue };
        if !lowering.changes.contains(&Change::FloatAsInteger) {
            continue;
        }
        let case = Case { operation, target, policy, local: false, lowering };
        for (old, b, constant) in iproduct!(numbers(ty), numbers(ty), [false, true]) {
            let values = Values { old, b, c: 0, place: 1, filler: 0xA5, others: Vec::new(), constant };
            check(&case, &values).expect("the operation");
            let number = |bits: u128| {
                if ty == Type::F32 { f32::from_bits(bits as u32).into() } else { f64::from_bits(bits as u64) }
            };
            let greater = matches!(op, RmwOp::FMax | RmwOp::FMaximum | RmwOp::FMaximumNum);
            let keeps = number(old).total_cmp(&number(b)).is_ge() == greater || old == b;
            let mut machine = Machine::new(ty.bits(), 0, old, [b, 0], 0);
            machine.run(&case.lowering.sequence, |_| {}).expect("an end");
            assert_eq!(machine.get(ty.bits()), if keeps { old } else { b }, "{op} {old:#x} {b:#x} {case:?}");
            compared += 1;
        }
    }
    // 64-bit minima and maxima begin with sm_32, so not every target has them.
    assert_eq!(compared, 2 * 42 * 42 * 6 * 3 * (TARGETS.len() + TARGETS.len() - 1));
}

/// If the new value equals the old value, an operation that may skip its write only reads, and returns the same result.
#[test]
fn nothing_is_written_where_nothing_changes() {
    let target = Target::new("sm_90".parse().expect("a GPU"), "ptx86".parse().ok()).expect("a target");
    let (mut kept, mut changed) = (0, 0);
    for (operation, ordering) in iproduct!(Operation::all(Space::Global), [Ordering::Relaxed, Ordering::Acquire]) {
        let Operation::Rmw(op, access) = operation else { continue };
        let scope = SyncScope::Threads(Scope::Gpu);
        let lowered = |operation| lower(&AtomicOp { operation, ordering, scope }, &Policy::default(), &target);
        let (Ok(always), Ok(skipping)) = (lowered(operation), lowered(operation.may_skip_write())) else { continue };
        let skips = skipping.changes.contains(&Change::SkipsWrite);
        let is_loop = skipping.changes.contains(&Change::CasLoop);
        assert_eq!(skips, is_loop && op.often_keeps() && access.ty.bits() <= 64, "{operation:?}");
        if !skips {
            assert_eq!(always, skipping, "{operation:?}");
            continue;
        }
        let values = special(access.ty.scalar());
        for (old, b) in iproduct!(&values, &values) {
            let run = |lowering: &Lowering| {
                let mut machine = Machine::new(access.ty.bits(), 0, *old, [*b, 0], 0xA5);
                let mut accesses = 0;
                let d = machine.run(&lowering.sequence, |_| accesses += 1).expect("an end");
                (d, machine, accesses)
            };
            let ((d, memory, _), (skipped_d, skipped_memory, accesses)) = (run(&always), run(&skipping));
            assert_eq!((d, memory.memory()), (skipped_d, skipped_memory.memory()), "{op} {old:#x} {b:#x}");
            let keeps = memory.get(access.ty.bits()) == *old;
            assert_eq!(accesses, if keeps { 1 } else { 2 }, "{op} {old:#x} {b:#x}\n{}", skipping.sequence);
            *(if keeps { &mut kept } else { &mut changed }) += 1;
        }
    }
    assert!(kept > 10_000 && changed > 10_000, "{kept} kept, {changed} changed");
}

/// NVIDIA's definitions of the native operations of shared memory agree with LLVM's.
#[test]
fn native_definitions_are_llvms() {
    let edges = [0u32, 1, 2, 7, 8, i32::MAX as u32, i32::MIN as u32, u32::MAX - 1, u32::MAX];
    for (m, b) in iproduct!(edges, edges) {
        let check = |op, atoms: u32| {
            let llvm = reference(op, Type::I32, m.into(), b.into());
            assert!(llvm.admits(Type::I32, atoms.into()), "{op} {m} {b}: {atoms}, not {llvm:?}");
        };
        check(RmwOp::UIncWrap, if m >= b { 0 } else { m + 1 });
        check(RmwOp::UDecWrap, if m == 0 || m > b { b } else { m - 1 });
        check(RmwOp::Min, (m as i32).min(b as i32) as u32);
        check(RmwOp::UMin, m.min(b));
        check(RmwOp::Max, (m as i32).max(b as i32) as u32);
        check(RmwOp::UMax, m.max(b));
        check(RmwOp::Xchg, b);
    }
}
