//! Tests of terms.

use proptest::prelude::*;
use ptx_isa::Stop;

use super::*;
use crate::solve::{Answer, solve};

/// A step of a random computation: the operation, the earlier values that it takes, and a number.
type Step = (u8, usize, usize, u64);

/// Values of 16, 32 and 1 bits, computed by all operations on terms.
fn computed(terms: &mut Terms, start: [Term; 3], steps: &[Step]) -> Term {
    use Binary::*;
    const SAFE: [Binary; 7] = [Mul, And, Or, Xor, Shl, ShrUnsigned, ShrSigned];
    let mut values = start.to_vec();
    for &(what, a, b, number) in steps {
        let (a, b) = (values[a % values.len()], values[b % values.len()]);
        let bits = terms.bits(a);
        let is_signed = number & 1 == 1;
        let same = terms.widen(b, bits, is_signed);
        // Most constants of programs are small, or next to a power of two.
        let constant = match number % 4 {
            0 => number % 20,
            1 => 1 << (number % u64::from(bits)),
            2 => ones(1 + (number >> 4) as u32 % bits),
            _ => number,
        };
        let constant = terms.constant(constant, bits);
        let other = if number & 8 == 8 { constant } else { same };
        let op = SAFE[what as usize / 12 % SAFE.len()];
        let new = match what % 12 {
            0 => terms.add(a, other),
            1 => terms.sub(a, other),
            2 => terms.scale(number, a),
            3 => terms.not(a),
            4 => terms.equal(a, other),
            5 => terms.less(is_signed, a, other),
            6 => {
                let condition = terms.less(is_signed, a, constant);
                terms.choose(condition, same, a)
            }
            7 => terms.widen(a, [16, 32][(number >> 1) as usize % 2].max(bits), is_signed),
            8 => terms.extract(a, (number as u32 >> 1) % bits, 1),
            9 if bits == 32 => terms.extract(a, [0, 7, 16][(number >> 1) as usize % 3], 16),
            _ => terms.binary(op, a, other),
        };
        values.push(new);
    }
    values.last().copied().expect("a value")
}

fn check(inputs: [u64; 3], steps: &[Step]) {
    let widths = [32, 16, 1];
    let mut terms = Terms::default();
    let numbers = [0, 1, 2].map(|index| terms.constant(inputs[index], widths[index]));
    let leaves = [0, 1, 2].map(|index| terms.leaf(LeafName::Parameter(index, 0), Shared::Grid, widths[index]));
    let expected = computed(&mut terms, numbers, steps);
    assert!(terms.value(expected).is_some(), "numbers make numbers");
    let result = computed(&mut terms, leaves, steps);
    let most = terms.most(result);
    assert_eq!(terms.value(expected).unwrap_or(0) & !most, 0, "bits that it cannot have");
    let mut all: Vec<Term> = (0..3).map(|index| terms.equal(leaves[index], numbers[index])).collect();
    let same = terms.equal(result, expected);
    all.push(terms.not(same));
    assert_eq!(
        solve(&terms, &all, &mut 1_000_000, &mut 10_000_000, &Stop::never()),
        Answer::Never,
        "{inputs:x?} {steps:?}"
    );
    // Replacing the leaves by numbers gives the same result as computing with the numbers.
    let replaced = terms.replace(result, &mut FxHashMap::default(), &mut |_, leaf, _| match leaf.name {
        LeafName::Parameter(index, _) => Some(numbers[index]),
        _ => None,
    });
    assert_eq!(replaced, expected, "{inputs:x?} {steps:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 8000, ..ProptestConfig::default() })]

    /// A simplified term has the same value as the computation on numbers.
    #[test]
    fn terms_have_their_computed_values(
        inputs: [u64; 3],
        shifts: [u8; 3],
        steps in prop::collection::vec((any::<u8>(), 0..12usize, 0..12usize, any::<u64>()), 1..12),
    ) {
        // Half of the inputs are all ones, which reach most bounds.
        let input = |index: usize| if shifts[index] < 128 { inputs[index] } else { u64::MAX } >> (shifts[index] % 64);
        check([0, 1, 2].map(input), &steps);
    }
}

/// Sums of large multiples do not overflow their bounds.
#[test]
fn bounds_of_large_sums() {
    let mut terms = Terms::default();
    let leaves = [0, 1, 2].map(|index| terms.leaf(LeafName::Parameter(index, 0), Shared::Grid, 64));
    let sum = terms.sum(u64::MAX, &leaves.map(|leaf| (u64::MAX - 1, leaf)), 64);
    assert_eq!(terms.most(sum), u64::MAX);
    assert_eq!(terms.widen(sum, 64, false), sum);
}
