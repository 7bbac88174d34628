//! The product of matrices that are plain lists of elements.

use ptx_isa::matrix::MatrixShape;

use super::element::{Element, Numbers, Values};

/// M, N and K, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub m: usize,
    pub n: usize,
    pub k: usize,
}

impl Shape {
    /// The shape of a product. `None` for the shape of a single matrix.
    pub fn from_matrix_shape(MatrixShape { m, n, k }: MatrixShape) -> Option<Self> {
        Some(Self { m: m.into(), n: n.into(), k: k?.into() })
    }
}

/// A stand-in for an element of a product that is not computed. Elements get different numbers, each from 1 to 2 as
/// `f32`.
pub fn stand_in(step: u64, element: u64) -> u64 {
    let mixed = (step ^ element.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    0x3f80_0000 | mixed >> 41
}

/// The operation that combines single bits before they are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bits {
    And,
    Xor,
}

/// D = A × B + C·2⁻ˢ.
///
/// Sums are of `f32` (of `f64` for `.f64`), start with C and proceed upwards through K, and each step is rounded once.
/// The result is rounded once more to D's type. The order in which tensor cores add is not documented, so the last bits
/// may differ there. Integers are exact; a result that does not fit is clamped with `.satfinite`, and wraps without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Product {
    pub shape: Shape,
    pub a: Element,
    pub b: Element,
    pub c: Element,
    pub d: Element,
    pub negate_a: bool,
    pub negate_b: bool,
    pub saturate: bool,
    /// The number s: C is divided by 2ˢ.
    pub scale: u32,
    pub bits: Bits,
}

impl Product {
    pub fn new(shape: Shape, [d, a, b, c]: [Element; 4]) -> Self {
        Self { shape, a, b, c, d, negate_a: false, negate_b: false, saturate: false, scale: 0, bits: Bits::And }
    }

    /// A has M rows of K elements, B has N columns of K elements, C and the result have M rows of N elements. Missing
    /// elements are 0.
    pub fn multiply(&self, a: &[u64], b: &[u64], c: Option<&[u64]>) -> Vec<u64> {
        match self.d.numbers() {
            Numbers::Single => self.single(a, b, c),
            Numbers::Double => self.double(a, b, c),
            Numbers::Integer => self.integer(a, b, c),
        }
    }

    fn single(&self, a: &[u64], b: &[u64], c: Option<&[u64]>) -> Vec<u64> {
        let sign = |negate: bool| if negate { -1f32 } else { 1f32 };
        let (sign_a, sign_b) = (sign(self.negate_a), sign(self.negate_b));
        let scale = 2f32.powi(-(self.scale.min(64) as i32));
        let a = a.iter().map(|bits| sign_a * self.a.single(*bits));
        let b = b.iter().map(|bits| sign_b * self.b.single(*bits));
        let c = c.unwrap_or(&[]).iter().map(|bits| scale * self.c.single(*bits));
        let sums = self.sums(a, b, c, 0f32, |sum, a, b| sum + a * b);
        sums.into_iter().map(|sum| self.d.of_single(sum)).collect()
    }

    fn double(&self, a: &[u64], b: &[u64], c: Option<&[u64]>) -> Vec<u64> {
        let values = |list: &[u64]| list.iter().map(|bits| f64::from_bits(*bits)).collect::<Vec<_>>();
        let (a, b, c) = (values(a), values(b), values(c.unwrap_or(&[])));
        let sums = self.sums(a.into_iter(), b.into_iter(), c.into_iter(), 0f64, |sum, a, b| a.mul_add(b, sum));
        sums.into_iter().map(f64::to_bits).collect()
    }

    fn integer(&self, a: &[u64], b: &[u64], c: Option<&[u64]>) -> Vec<u64> {
        let a = a.iter().map(|bits| self.a.integer(*bits));
        let b = b.iter().map(|bits| self.b.integer(*bits));
        let c = c.unwrap_or(&[]).iter().map(|bits| self.c.integer(*bits));
        let xor = self.a == Element::B1 && self.bits == Bits::Xor;
        let sums = if xor {
            self.sums(a, b, c, 0, |sum, a, b| sum + (a ^ b))
        } else {
            self.sums(a, b, c, 0, |sum, a, b| sum + a * b)
        };
        let fit = |sum: i64| if self.saturate { sum.clamp(i32::MIN.into(), i32::MAX.into()) } else { sum };
        sums.into_iter().map(|sum| u64::from(fit(sum) as u32)).collect()
    }

    /// The rows of B are contiguous, so that the inner loop accesses memory in order.
    fn sums<T: Copy>(
        &self,
        a: impl Iterator<Item = T>,
        b: impl Iterator<Item = T>,
        c: impl Iterator<Item = T>,
        zero: T,
        step: impl Fn(T, T, T) -> T,
    ) -> Vec<T> {
        let Shape { m, n, k } = self.shape;
        let mut sums: Vec<T> = c.chain(std::iter::repeat(zero)).take(m * n).collect();
        let mut rows = vec![zero; n * k];
        for (i, value) in b.take(n * k).enumerate() {
            rows[i % k * n + i / k] = value;
        }
        for (i, factor) in a.take(m * k).enumerate() {
            let (row, k) = (i / k, i % k);
            for (sum, value) in sums[row * n..][..n].iter_mut().zip(&rows[k * n..][..n]) {
                *sum = step(*sum, factor, *value);
            }
        }
        sums
    }
}
