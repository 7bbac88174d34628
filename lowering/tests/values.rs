//! What sequences compute, against the definitions of LLVM's Language Reference.

use itertools::iproduct;
use proptest::prelude::{Strategy as Generate, *};
use ptx_atomics_lowering::{
    Access, AtomicOp, B, C, Operation, Ordering, RmwOp, Sequence, Strategies, Strategy, SyncScope, Target, Type,
    interpret::interpret,
    lower,
    ptx::{Scope, Space},
};
use strum::IntoEnumIterator;

fn sequence(operation: Operation, strategy: Strategy) -> Sequence {
    let op = AtomicOp { operation, ordering: Ordering::SeqCst, scope: SyncScope::Threads(Scope::Sys) };
    let target = Target::new("sm_90".parse().expect("a GPU"), None).expect("a target");
    lower(&op, &Strategies::from(strategy), &target).expect("a lowering").sequence
}

fn rmw_types() -> Vec<(RmwOp, Type)> {
    iproduct!(RmwOp::iter(), Type::iter()).filter(|(op, ty)| op.takes(*ty)).collect()
}

/// What LLVM's Language Reference says an `atomicrmw` stores, for values of `ty`.
fn reference(op: RmwOp, ty: Type, old: u64, b: u64) -> Value {
    let signed = |value: u64| if ty.bits() == 32 { i64::from(value as i32) } else { value as i64 };
    let float = |value: u64| if ty == Type::F32 { f32::from_bits(value as u32).into() } else { f64::from_bits(value) };
    let bits = |value: f64| if ty == Type::F32 { u64::from((value as f32).to_bits()) } else { value.to_bits() };
    let (x, y) = (float(old), float(b));
    let ordered = |less: bool| {
        let keep_old = if x == y { x.is_sign_negative() == less } else { (x < y) == less };
        if x.is_nan() || y.is_nan() { Value::Nan } else { Value::Bits(if keep_old { old } else { b }) }
    };
    let number = |pick: fn(f64, f64) -> f64| match (x.is_nan(), y.is_nan()) {
        (true, true) => Value::Nan,
        (true, false) => Value::Bits(b),
        (false, true) => Value::Bits(old),
        _ if x == 0.0 && y == 0.0 => Value::EitherZero,
        _ => Value::Bits(bits(pick(x, y))),
    };
    let arithmetic = |value: f64| if value.is_nan() { Value::Nan } else { Value::Bits(bits(value)) };
    let integer = match op {
        RmwOp::Xchg => b,
        RmwOp::Add => old.wrapping_add(b),
        RmwOp::Sub => old.wrapping_sub(b),
        RmwOp::And => old & b,
        RmwOp::Nand => !(old & b),
        RmwOp::Or => old | b,
        RmwOp::Xor => old ^ b,
        RmwOp::Max => signed(old).max(signed(b)) as u64,
        RmwOp::Min => signed(old).min(signed(b)) as u64,
        RmwOp::UMax => old.max(b),
        RmwOp::UMin => old.min(b),
        RmwOp::UIncWrap => {
            if old >= b {
                0
            } else {
                old + 1
            }
        }
        RmwOp::UDecWrap => {
            if old == 0 || old > b {
                b
            } else {
                old - 1
            }
        }
        RmwOp::USubCond => {
            if old >= b {
                old - b
            } else {
                old
            }
        }
        RmwOp::USubSat => old.saturating_sub(b),
        RmwOp::FAdd => return arithmetic(x + y),
        RmwOp::FSub => return arithmetic(x - y),
        RmwOp::FMax => return number(f64::max),
        RmwOp::FMin => return number(f64::min),
        RmwOp::FMaximum => return ordered(false),
        RmwOp::FMinimum => return ordered(true),
    };
    Value::Bits(integer & (u64::MAX >> (64 - ty.bits())))
}

#[derive(Debug)]
enum Value {
    Bits(u64),
    Nan,
    EitherZero,
}

impl Value {
    fn admits(&self, ty: Type, found: u64) -> bool {
        match self {
            Self::Bits(bits) => found == *bits,
            Self::Nan if ty == Type::F32 => f32::from_bits(found as u32).is_nan(),
            Self::Nan => f64::from_bits(found).is_nan(),
            Self::EitherZero => found & !(1 << (ty.bits() - 1)) == 0,
        }
    }
}

/// Values that are often special: zeros, ones, extremes, infinities, NaNs, subnormals.
fn value(ty: Type) -> impl Generate<Value = u64> {
    let special: Vec<u64> = match ty {
        Type::F32 => {
            [0.0, -0.0, 1.0, -1.5, f32::MAX, f32::MIN_POSITIVE / 4.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN]
                .map(|v: f32| v.to_bits().into())
                .to_vec()
        }
        Type::F64 => {
            [0.0, -0.0, 1.0, -1.5, f64::MAX, f64::MIN_POSITIVE / 4.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN]
                .map(f64::to_bits)
                .to_vec()
        }
        _ => vec![0, 1, 2, u64::MAX, u64::MAX - 1, 1 << (ty.bits() - 1), (1 << (ty.bits() - 1)) - 1],
    };
    let mask = u64::MAX >> (64 - ty.bits());
    prop_oneof![proptest::sample::select(special), any::<u64>()].prop_map(move |bits| bits & mask)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() })]

    /// Every rmw computes what LLVM's Language Reference says, also when another thread interferes.
    #[test]
    fn values(
        (op, ty, old, b, others) in (proptest::sample::select(rmw_types())).prop_flat_map(|(op, ty)| {
            (Just(op), Just(ty), value(ty), value(ty), proptest::collection::vec(proptest::option::of(value(ty)), 0..6))
        }),
        constant: bool,
    ) {
        let operation = Operation::Rmw(op, Access::new(Space::Global, ty));
        let mut sequence = sequence(operation, Strategy::Recommended);
        if constant {
            sequence.bind(&B, b);
            prop_assert_eq!(sequence.to_string().parse::<Sequence>(), Ok(sequence.clone()));
        }
        let mut memory = old;
        let mut others = others.into_iter();
        let mut last_seen = old;
        let d = interpret(&sequence, &mut memory, [b, 0], |cell| {
            if let Some(Some(other)) = others.next() {
                *cell = other;
            }
            last_seen = *cell;
        });
        let d = d.map_err(|error| TestCaseError::fail(format!("{error}\n{sequence}")))?;
        prop_assert_eq!(d, Some(last_seen), "the result is the value before\n{}", sequence);
        let expected = reference(op, ty, last_seen, b);
        prop_assert!(expected.admits(ty, memory), "{op} {ty} {last_seen:#x} {b:#x}: {memory:#x}, not {expected:?}\n{sequence}");
    }

    #[test]
    fn cmpxchg_values(old in value(Type::I64), b in value(Type::I64), c in value(Type::I64), equal: bool) {
        let access = Access::new(Space::Global, Type::I64);
        let operation = Operation::CmpXchg { access, failure: Ordering::Acquire };
        let mut sequence = sequence(operation, Strategy::Fence);
        sequence.bind(&C, c);
        let b = if equal { old } else { b };
        let mut memory = old;
        prop_assert_eq!(interpret(&sequence, &mut memory, [b, 0], |_| {}), Ok(Some(old)));
        prop_assert_eq!(memory, if old == b { c } else { old });
    }
}
