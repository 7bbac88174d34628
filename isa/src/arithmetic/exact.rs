//! Floating-point numbers of every format, with exact arithmetic that is rounded once at the end.

/// The bit layout of a floating-point number: sign, exponent, digits after the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    /// The width in bits.
    pub bits: u32,
    /// The digits after the point.
    pub digits: u32,
    /// The exponent of the smallest normal number.
    pub least: i32,
    /// The meaning of the highest exponent.
    pub specials: Specials,
    /// The number of zero bits below the number in a register.
    pub padding: u32,
}

/// The meaning of the highest exponent of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Specials {
    /// Infinity and NaN.
    Ieee,
    /// Numbers, except all ones, which is NaN.
    Nan,
    /// Numbers.
    None,
}

impl Format {
    const fn new(bits: u32, digits: u32, least: i32, specials: Specials) -> Self {
        Self { bits, digits, least, specials, padding: 0 }
    }

    pub const F16: Self = Self::new(16, 10, -14, Specials::Ieee);
    pub const BF16: Self = Self::new(16, 7, -126, Specials::Ieee);
    pub const F32: Self = Self::new(32, 23, -126, Specials::Ieee);
    pub const F64: Self = Self::new(64, 52, -1022, Specials::Ieee);
    pub const TF32: Self = Self { padding: 13, ..Self::new(19, 10, -126, Specials::Ieee) };
    /// The upper half of an `f64`.
    pub const HIGH: Self = Self { padding: 32, ..Self::new(32, 20, -1022, Specials::Ieee) };
    pub const E5M2: Self = Self::new(8, 2, -14, Specials::Ieee);
    pub const E4M3: Self = Self::new(8, 3, -6, Specials::Nan);
    pub const E3M2: Self = Self::new(6, 2, -2, Specials::None);
    pub const E2M3: Self = Self::new(6, 3, 0, Specials::None);
    pub const E2M1: Self = Self::new(4, 1, 0, Specials::None);

    fn sign(self) -> u128 {
        1 << (self.bits - 1)
    }

    /// The highest magnitude that is a number.
    fn highest(self) -> u128 {
        match self.specials {
            Specials::Ieee => self.infinity() - 1,
            Specials::Nan => self.sign() - 2,
            Specials::None => self.sign() - 1,
        }
    }

    fn infinity(self) -> u128 {
        self.sign() - (1 << self.digits)
    }

    pub fn is_nan(self, bits: u128) -> bool {
        let magnitude = bits >> self.padding & (self.sign() - 1);
        magnitude > self.highest() && (self.specials == Specials::Nan || magnitude > self.infinity())
    }

    /// The NaN that an instruction returns: all ones except the sign; for `f64`, a quiet NaN with a sign.
    fn nan(self) -> u128 {
        match self.bits {
            64 => 0xFFF8_0000_0000_0000,
            _ if self.specials == Specials::None => self.highest(),
            _ => self.sign() - 1,
        }
    }
}

/// Directions of rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// `.rn`: to the nearest number; halfway, to the even one.
    Nearest,
    /// `.rna`: to the nearest number; halfway, away from zero.
    Away,
    /// `.rz`: toward zero.
    Zero,
    /// `.rm`: toward minus infinity.
    Down,
    /// `.rp`: toward plus infinity.
    Up,
    /// `.rs`: away from zero if the sum of the discarded bits and a random number carries.
    Random {
        /// The number.
        number: u32,
        /// The number of its bits.
        bits: u32,
    },
}

/// The result if a value is too large for its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Overflow {
    /// Infinity or the largest number, as the rounding requires.
    Rounded,
    /// The largest number, even for infinity.
    Finite,
}

/// A number without a limit on its exponent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Exact {
    Nan,
    /// Infinity. The field is true for negative infinity.
    Infinite(bool),
    /// The significand times 2 to the power of the exponent. If the significand has more than 64 bits, its lowest bit
    /// is sticky: it represents all lower bits.
    Finite {
        negative: bool,
        significand: u128,
        exponent: i32,
    },
}

use Exact::{Finite, Infinite, Nan};

impl Exact {
    /// The number that the bits represent in a format.
    pub fn read(format: Format, bits: u128) -> Self {
        let bits = bits >> format.padding;
        let negative = bits & format.sign() != 0;
        let magnitude = bits & (format.sign() - 1);
        if magnitude > format.highest() {
            return if format.is_nan(bits << format.padding) { Nan } else { Infinite(negative) };
        }
        let fraction = magnitude & ((1 << format.digits) - 1);
        let (significand, exponent) = match (magnitude >> format.digits) as i32 {
            0 => (fraction, format.least),
            exponent => (fraction | 1 << format.digits, format.least + exponent - 1),
        };
        Finite { negative, significand, exponent: exponent - format.digits as i32 }
    }

    pub fn integer(value: i128) -> Self {
        Finite { negative: value < 0, significand: value.unsigned_abs(), exponent: 0 }
    }

    pub fn zero(negative: bool) -> Self {
        Finite { negative, significand: 0, exponent: 0 }
    }

    pub const ONE: Self = Finite { negative: false, significand: 1, exponent: 0 };

    pub fn is_negative(self) -> bool {
        matches!(self, Infinite(true) | Finite { negative: true, .. })
    }

    pub fn is_zero(self) -> bool {
        matches!(self, Finite { significand: 0, .. })
    }

    pub fn negated(self) -> Self {
        match self {
            Nan => Nan,
            Infinite(negative) => Infinite(!negative),
            Finite { negative, significand, exponent } => Finite { negative: !negative, significand, exponent },
        }
    }

    /// The product with a power of two.
    pub fn scaled(self, by: i32) -> Self {
        match self {
            Finite { negative, significand, exponent } => Finite { negative, significand, exponent: exponent + by },
            _ => self,
        }
    }

    /// The bits of the number, rounded to a format.
    pub fn round(self, format: Format, rounding: Rounding, overflow: Overflow) -> u128 {
        let of = |negative: bool, magnitude: u128| {
            (if negative { format.sign() | magnitude } else { magnitude }) << format.padding
        };
        let (negative, significand, exponent) = match self {
            Nan => return of(false, format.nan()),
            Infinite(negative) if format.specials == Specials::Ieee && overflow == Overflow::Rounded => {
                return of(negative, format.infinity());
            }
            // Conversions to such formats always have `.satfinite`.
            Infinite(negative) => return of(negative, format.highest()),
            Finite { negative, significand: 0, .. } => return of(negative, 0),
            Finite { negative, significand, exponent } => (negative, significand, exponent),
        };
        let digits = format.digits as i32;
        let highest = exponent + 127 - significand.leading_zeros() as i32;
        let place = highest.max(format.least);
        let units = to_units(significand, place - digits - exponent, negative, rounding);
        // A carry into the exponent correctly yields the next power of two.
        let magnitude = units.saturating_add(((place - format.least) as u128) << format.digits);
        let is_outward = match rounding {
            Rounding::Zero => false,
            Rounding::Down => negative,
            Rounding::Up => !negative,
            _ => true,
        };
        let limit = match overflow {
            Overflow::Rounded if is_outward && format.specials == Specials::Ieee => format.infinity(),
            _ => format.highest(),
        };
        of(negative, magnitude.min(limit))
    }

    /// The number rounded to an integer, as an exact number.
    pub fn integral(self, rounding: Rounding) -> Self {
        match self {
            Finite { negative, significand, exponent } if exponent < 0 => {
                Finite { negative, significand: to_units(significand, -exponent, negative, rounding), exponent: 0 }
            }
            _ => self,
        }
    }

    /// The nearest integer in a type's range. The number must be integral.
    pub fn to_integer(self, least: i128, most: i128) -> Option<i128> {
        let magnitude = match self {
            Nan => return None,
            Infinite(_) => i128::MAX,
            Finite { significand, exponent, .. } => {
                let fits = significand.leading_zeros() as i32 > exponent.max(0) + 1;
                if fits { (significand << exponent.max(0)) as i128 } else { i128::MAX }
            }
        };
        Some((if self.is_negative() { -magnitude } else { magnitude }).clamp(least, most))
    }

    /// The sum. The sum of two opposite numbers is +0, or -0 if it is rounded down.
    pub fn plus(self, other: Self, rounding: Rounding) -> Self {
        let zero = Self::zero(rounding == Rounding::Down);
        let (a, b) = match (self, other) {
            (Nan, _) | (_, Nan) => return Nan,
            (Infinite(a), Infinite(b)) => return if a == b { self } else { Nan },
            (Infinite(_), _) => return self,
            (_, Infinite(_)) => return other,
            _ if self.is_zero() && other.is_zero() => {
                return if self.is_negative() == other.is_negative() { self } else { zero };
            }
            _ if self.is_zero() => return other,
            _ if other.is_zero() => return self,
            _ => (self.normal(), other.normal()),
        };
        let ((high, high_at, high_negative), (low, low_at, low_negative)) = if a.1 >= b.1 { (a, b) } else { (b, a) };
        let low = jammed(low, (high_at - low_at) as u32);
        let (significand, negative) = match high_negative == low_negative {
            true => (high + low, high_negative),
            false if high >= low => (high - low, high_negative),
            false => (low - high, low_negative),
        };
        if significand == 0 { zero } else { Finite { negative, significand, exponent: high_at } }
    }

    /// The significand with its highest bit at bit 125, the exponent and the sign. The number must not be zero.
    fn normal(self) -> (u128, i32, bool) {
        let Finite { negative, significand, exponent } = self else { return (0, 0, false) };
        let by = significand.leading_zeros() as i32 - 2;
        // A longer significand has a sticky lowest bit.
        let significand = if by < 0 { jammed(significand, by.unsigned_abs()) } else { significand << by };
        (significand, exponent - by, negative)
    }

    /// The product. Both numbers must come from [`Exact::read`].
    pub fn times(self, other: Self) -> Self {
        let negative = self.is_negative() != other.is_negative();
        match (self, other) {
            (Nan, _) | (_, Nan) => Nan,
            (Infinite(_), _) | (_, Infinite(_)) => {
                if self.is_zero() || other.is_zero() {
                    Nan
                } else {
                    Infinite(negative)
                }
            }
            (Finite { significand: a, exponent: x, .. }, Finite { significand: b, exponent: y, .. }) => {
                Finite { negative, significand: a * b, exponent: x + y }
            }
        }
    }

    /// The quotient. Both numbers must come from [`Exact::read`].
    pub fn over(self, other: Self) -> Self {
        let negative = self.is_negative() != other.is_negative();
        match (self, other) {
            (Nan, _) | (_, Nan) | (Infinite(_), Infinite(_)) => Nan,
            (Infinite(_), _) => Infinite(negative),
            (_, Infinite(_)) => Self::zero(negative),
            _ if other.is_zero() => {
                if self.is_zero() {
                    Nan
                } else {
                    Infinite(negative)
                }
            }
            _ if self.is_zero() => Self::zero(negative),
            (Finite { significand: a, exponent: x, .. }, Finite { significand: b, exponent: y, .. }) => {
                let by = a.leading_zeros();
                let (quotient, rest) = ((a << by) / b, (a << by) % b);
                Finite { negative, significand: quotient | u128::from(rest != 0), exponent: x - by as i32 - y }
            }
        }
    }

    pub fn root(self) -> Self {
        match self {
            _ if self.is_zero() => self,
            _ if self.is_negative() => Nan,
            Finite { significand, exponent, .. } => {
                let by = significand.leading_zeros() as i32;
                let by = by - (exponent - by).rem_euclid(2);
                let square = significand << by;
                let root = square.isqrt();
                // The root has 64 bits, so one more bit can be sticky.
                let is_exact = root * root == square;
                Finite {
                    negative: false,
                    significand: root << 1 | u128::from(!is_exact),
                    exponent: (exponent - by) / 2 - 1,
                }
            }
            _ => self,
        }
    }
}

/// The value shifted to the right, with a sticky lowest bit.
fn jammed(value: u128, by: u32) -> u128 {
    let kept = value.checked_shr(by).unwrap_or(0);
    kept | u128::from(kept.checked_shl(by).unwrap_or(0) != value)
}

/// A significand rounded to units of 2 to the power of `cut`. A negative `cut` shifts to the left, which is exact.
fn to_units(significand: u128, cut: i32, negative: bool, rounding: Rounding) -> u128 {
    if cut <= 0 {
        return significand.checked_shl(cut.unsigned_abs()).unwrap_or(0);
    }
    let cut = cut.unsigned_abs();
    let units = significand.checked_shr(cut).unwrap_or(0);
    let rest = significand - units.checked_shl(cut).unwrap_or(0);
    if rest == 0 {
        return units;
    }
    // The discarded part of a number this small is less than half a unit.
    let half = 1u128.checked_shl(cut - 1).unwrap_or(u128::MAX);
    let is_up = match rounding {
        Rounding::Nearest => rest > half || rest == half && units & 1 == 1,
        Rounding::Away => rest >= half,
        Rounding::Zero => false,
        Rounding::Down => negative,
        Rounding::Up => !negative,
        Rounding::Random { number, bits } => {
            // The highest discarded bits.
            let part = if cut > bits { rest.checked_shr(cut - bits).unwrap_or(0) } else { rest << (bits - cut) };
            (part + u128::from(number)) >> bits != 0
        }
    };
    units + u128::from(is_up)
}
