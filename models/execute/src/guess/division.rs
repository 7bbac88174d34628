//! Divisions by a parameter without a division: the kernel multiplies by a reciprocal of the divisor and shifts the
//! product, as CUTLASS's `FastDivmod` does. The three numbers lie together in the parameters, and must fit each other.

use std::collections::BTreeMap;

use ptx_isa::{AluOp, arithmetic::Computation};

use super::loads::Load;
use crate::code::{Op, Reg, Source, Step};

/// A number of a division, which the divisor determines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Part {
    /// The reciprocal, with which the upper half of a product is taken.
    Multiplier,
    /// The distance by which the upper half is shifted to the right.
    Shift,
}

impl Part {
    /// The number for a divisor: the quotient is exact for all dividends below 2^31. Kernels do not multiply if the
    /// divisor is 1.
    pub(super) fn of(self, divisor: u64) -> u64 {
        let divisor = divisor & u64::from(u32::MAX);
        if divisor < 2 {
            return 0;
        }
        let bits = u64::BITS - (divisor - 1).leading_zeros();
        match self {
            Self::Multiplier => (1u64 << (31 + bits)).div_ceil(divisor),
            Self::Shift => u64::from(bits) - 1,
        }
    }
}

/// The size of each number in bytes.
const SIZE: u64 = 4;

/// The offsets of the numbers of divisions, each with the offset of its divisor: the number before the multiplier.
pub(super) fn divisions(steps: &[Step], loads: &[Load]) -> BTreeMap<u64, (Part, u64)> {
    let words = || loads.iter().filter(|load| load.bytes == SIZE && !load.ty.is_float());
    let loaded = |source: &Source| {
        let Source::Reg(register) = source else { return None };
        words().find(|load| load.register == Some(*register)).map(|load| load.offset)
    };
    let of = |wanted: AluOp| {
        steps.iter().filter_map(move |step| match &step.op {
            Op::Compute(of) if matches!(of.of, Computation::Alu(op, ty) if op == wanted && ty.bits() == 32) => {
                Some((of.results[0]?, &of.sources[..of.count]))
            }
            _ => None,
        })
    };
    let mut found = BTreeMap::new();
    let shifts: Vec<(Reg, u64)> = of(AluOp::Shr)
        .filter_map(|(_, sources)| match sources {
            [Source::Reg(product), shift] => Some((*product, loaded(shift)?)),
            _ => None,
        })
        .collect();
    for (product, sources) in of(AluOp::MulHi) {
        let Some(multiplier) = sources.iter().find_map(loaded) else { continue };
        let Some((_, shift)) = shifts.iter().find(|(shifted, _)| *shifted == product) else { continue };
        if let Some(divisor) = multiplier.checked_sub(SIZE).filter(|at| words().any(|load| load.offset == *at)) {
            found.insert(multiplier, (Part::Multiplier, divisor));
            found.insert(*shift, (Part::Shift, divisor));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_exact() {
        let most = i32::MAX as u64;
        let divisors = (2..2_000).chain((1..31).flat_map(|bits| [(1 << bits) - 1, 1 << bits, (1 << bits) + 1]));
        for divisor in divisors.filter(|divisor| *divisor > 1) {
            let (multiplier, shift) = (Part::Multiplier.of(divisor), Part::Shift.of(divisor));
            assert!(multiplier <= u64::from(u32::MAX), "{divisor}");
            for multiple in [1, 2, 3, 1000, most / divisor] {
                for dividend in [multiple * divisor - 1, multiple * divisor].map(|dividend| dividend.min(most)) {
                    assert_eq!(((dividend * multiplier) >> 32) >> shift, dividend / divisor, "{dividend} / {divisor}");
                }
            }
        }
    }
}
