//! SIMD video instructions: operations on the halves or bytes of words (section 9.7.18), without selectors and masks.

use strum::EnumString;

use super::bits::{mask, sign_extend};
use crate::word::{Cmp, Type};

/// The operation on two elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumString)]
pub enum VideoOp {
    /// `vadd2`, `vadd4`
    #[strum(serialize = "vadd")]
    Add,
    /// `vsub2`, `vsub4`
    #[strum(serialize = "vsub")]
    Sub,
    /// `vavrg2`, `vavrg4`: the mean, with a half rounded away from zero.
    #[strum(serialize = "vavrg")]
    Average,
    /// `vabsdiff2`, `vabsdiff4`
    #[strum(serialize = "vabsdiff")]
    Distance,
    /// `vmin2`, `vmin4`
    #[strum(serialize = "vmin")]
    Min,
    /// `vmax2`, `vmax4`
    #[strum(serialize = "vmax")]
    Max,
    /// `vset2`, `vset4`: 1 if the comparison holds, 0 otherwise. ptxas also takes the names of unsigned comparisons if the
    /// second operand is unsigned; the types of the operands decide the signs.
    #[strum(disabled)]
    Set(Cmp),
}

/// A SIMD video instruction. Its operands are three words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Video {
    /// The operation.
    pub op: VideoOp,
    /// The number of elements of a word: two or four.
    pub lanes: u32,
    /// Whether the elements of the result are signed, which limits the range of `.sat`.
    pub signed: bool,
    /// Whether the elements of each operand are signed.
    pub operands: [bool; 2],
    /// `.sat`
    pub saturates: bool,
    /// `.add`: the sum of all elements and the third operand, instead of a word of elements.
    pub accumulates: bool,
}

impl Video {
    pub(super) const ARITY: usize = 3;
    pub(super) const OPERAND: Type = Type::B32;

    pub(super) fn execute(self, sources: &[u128]) -> Option<u128> {
        let [a, b, c] = *sources else { return None };
        let bits = 32 / self.lanes;
        let ones = mask(bits);
        let (least, most) = if self.signed { (-(1 << (bits - 1)), (ones >> 1) as i64) } else { (0, ones as i64) };
        let (mut word, mut sum) = (0, c);
        for at in (0..32).step_by(bits as usize) {
            let number = |value: u128, signed: bool| {
                let element = (value >> at & ones) as u64;
                if signed { sign_extend(element, bits) } else { element as i64 }
            };
            let exact = self.op.of(number(a, self.operands[0]), number(b, self.operands[1]))?;
            let exact = if self.saturates { exact.clamp(least, most) } else { exact };
            word |= (exact as u128 & ones) << at;
            sum = sum.wrapping_add(exact as u128);
        }
        Some(if self.accumulates { sum & mask(32) } else { word })
    }
}

impl VideoOp {
    fn of(self, a: i64, b: i64) -> Option<i64> {
        Some(match self {
            Self::Add => a + b,
            Self::Sub => a - b,
            Self::Average => (a + b + i64::from(a + b >= 0)) >> 1,
            Self::Distance => (a - b).abs(),
            Self::Min => a.min(b),
            Self::Max => a.max(b),
            Self::Set(cmp) => i64::from(match cmp {
                Cmp::Eq => a == b,
                Cmp::Ne => a != b,
                Cmp::Lt | Cmp::Lo => a < b,
                Cmp::Le | Cmp::Ls => a <= b,
                Cmp::Gt | Cmp::Hi => a > b,
                Cmp::Ge | Cmp::Hs => a >= b,
                _ => return None,
            }),
        })
    }
}
