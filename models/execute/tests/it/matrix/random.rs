//! Elements of a type with small values, so that every sum is exact, and their values.

use half::{bf16, f16};
use ptx_execute::matrix::element::{Element, Values};

pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }

    /// An element's bits and value.
    pub fn element(&mut self, element: Element) -> (u64, f64) {
        let small = self.next(9) as i32 - 4;
        let value = f64::from(small);
        let float = |bits: u64| (bits, value);
        match element {
            Element::B16 => panic!("it is moved, and not computed with"),
            Element::F16 => float(u64::from(f16::from_f64(value).to_bits())),
            Element::Bf16 => float(u64::from(bf16::from_f64(value).to_bits())),
            // The low bits are ignored.
            Element::Tf32 => float(u64::from((value as f32).to_bits()) | 0x1abc),
            Element::F32 => float(u64::from((value as f32).to_bits())),
            Element::F64 => float(value.to_bits()),
            Element::S32 | Element::S8 | Element::S4 => float(small as u64 & (u64::MAX >> (64 - element.bits()))),
            Element::U8 => {
                let bits = self.next(256);
                (bits, bits as f64)
            }
            Element::U4 => {
                let bits = self.next(16);
                (bits, bits as f64)
            }
            Element::B1 => {
                let bits = self.next(2);
                (bits, bits as f64)
            }
            // 0, ±1, ±2, ±1.5, ±4 (if the format has it), by the tables of the formats.
            Element::E4m3 => pick(
                self,
                &[
                    (0, 0.0),
                    (0x38, 1.0),
                    (0xb8, -1.0),
                    (0x40, 2.0),
                    (0x3c, 1.5),
                    (0xc8, -4.0),
                    (0x08, 0.015_625),
                    (0x01, 0.001_953_125),
                ],
            ),
            Element::E5m2 => pick(self, &[(0, 0.0), (0x3c, 1.0), (0xbc, -1.0), (0x40, 2.0), (0x3e, 1.5), (0xc4, -4.0)]),
            Element::E2m3 => pick(
                self,
                &[(0, 0.0), (0x08, 1.0), (0x28, -1.0), (0x10, 2.0), (0x0c, 1.5), (0x38, -4.0), (0x01, 0.125)],
            ),
            Element::E3m2 => pick(
                self,
                &[(0, 0.0), (0x0c, 1.0), (0x2c, -1.0), (0x10, 2.0), (0x0e, 1.5), (0x34, -4.0), (0x01, 0.0625)],
            ),
            Element::E2m1 => pick(
                self,
                &[
                    (0, 0.0),
                    (2 << 2, 1.0),
                    (10 << 2, -1.0),
                    (4 << 2, 2.0),
                    (3 << 2, 1.5),
                    (14 << 2, -4.0),
                    (1 << 2, 0.5),
                ],
            ),
        }
    }
}

fn pick(random: &mut Random, table: &[(u64, f64)]) -> (u64, f64) {
    table[random.next(table.len() as u64) as usize]
}

/// The value of an element of a result.
pub fn value(element: Element, bits: u64) -> f64 {
    match element {
        Element::F16 => f16::from_bits(bits as u16).to_f64(),
        Element::F32 => f64::from(f32::from_bits(bits as u32)),
        Element::F64 => f64::from_bits(bits),
        _ => f64::from(bits as u32 as i32),
    }
}

/// An exact sum, rounded to the type of a result.
pub fn rounded(element: Element, sum: f64) -> f64 {
    if element == Element::F16 { f16::from_f64(sum).to_f64() } else { sum }
}

/// The sum of the products, and C.
pub fn naive(
    m: usize,
    n: usize,
    k: usize,
    a: impl Fn(usize, usize) -> f64,
    b: impl Fn(usize, usize) -> f64,
    c: impl Fn(usize, usize) -> f64,
) -> Vec<f64> {
    let mut d = Vec::new();
    for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
        d.push(c(i, j) + (0..k).map(|k| a(i, k) * b(k, j)).sum::<f64>());
    }
    d
}
