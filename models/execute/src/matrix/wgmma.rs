//! `wgmma.mma_async`. Section 9.7.15.5.2.

use std::str::FromStr;

use ptx_isa::matrix::MatrixShape;

use super::{
    element::{Element, Unsupported, Values},
    fragment::{Fragment, Lanes, get, packed, set},
    product::{Bits, Product, Shape},
    shared::SharedMatrix,
};

/// The immediate operands of the instruction. Missing operands have these defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Immediates {
    /// Whether `imm-scale-a` is -1.
    pub negate_a: bool,
    pub negate_b: bool,
    pub transpose_a: bool,
    pub transpose_b: bool,
}

/// A form of the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wgmma {
    product: Product,
    transpose: [bool; 2],
}

/// K, the multiplicand types, and the accumulator types.
#[rustfmt::skip]
const FORMS: [(usize, &[Element], &[Element]); 6] = {
    use Element::*;
    [
        (16,  &[F16],        &[F16, F32]),
        (16,  &[Bf16],       &[F32]),
        (8,   &[Tf32],       &[F32]),
        (32,  &[E4m3, E5m2], &[F16, F32]),
        (32,  &[S8, U8],     &[S32]),
        (256, &[B1],         &[S32]),
    ]
};

impl Wgmma {
    /// Reads the modifiers of the instruction after `wgmma`: `mma_async`, `sync`, `aligned`, `m64n128k16`, `f32`,
    /// `f16`, `f16`.
    ///
    /// # Errors
    ///
    /// If the form is sparse, or PTX has no such form.
    pub fn from_modifiers(modifiers: &[&str], immediates: Immediates) -> Result<Self, Unsupported> {
        let refused = || Unsupported::new(format!("wgmma.{}", modifiers.join(".")));
        let shape = modifiers
            .iter()
            .find_map(|word| Shape::from_matrix_shape(MatrixShape::from_word(word)?))
            .ok_or_else(refused)?;
        let types: Vec<Element> = modifiers.iter().filter_map(|word| Element::from_str(word).ok()).collect();
        let &[d, a, b] = types.as_slice() else { return Err(refused()) };
        let known = FORMS.iter().any(|(k, multiplied, accumulators)| {
            *k == shape.k && multiplied.contains(&a) && multiplied.contains(&b) && accumulators.contains(&d)
        });
        let transposes = immediates.transpose_a || immediates.transpose_b;
        let sparse = modifiers.iter().any(|word| word.starts_with("sp"));
        if !known || sparse || shape.m != 64 || shape.n % 8 != 0 || transposes && a.bits() != 16 {
            return Err(refused());
        }
        let mut product = Product::new(shape, [d, a, b, d]);
        (product.negate_a, product.negate_b) = (immediates.negate_a, immediates.negate_b);
        product.saturate = modifiers.contains(&"satfinite");
        product.bits = Bits::And;
        Ok(Self { product, transpose: [immediates.transpose_a, immediates.transpose_b] })
    }

    pub fn shape(&self) -> Shape {
        self.product.shape
    }

    /// The number of registers of D, and of an A in registers.
    pub fn registers(&self) -> [usize; 2] {
        let Shape { n, k, .. } = self.product.shape;
        [n / 2 / packed(self.product.d.bits()), k / 2 / packed(self.product.a.bits())]
    }

    /// A in shared memory.
    pub fn a(&self, descriptor: u64) -> SharedMatrix {
        let Shape { m, k, .. } = self.product.shape;
        SharedMatrix::of_wgmma(descriptor, [m, k, self.product.a.bits()], self.transpose[0])
    }

    /// B, with N rows.
    pub fn b(&self, descriptor: u64) -> SharedMatrix {
        let Shape { n, k, .. } = self.product.shape;
        SharedMatrix::of_wgmma(descriptor, [n, k, self.product.b.bits()], self.transpose[1])
    }

    /// A from the registers of four warps.
    pub fn a_of_registers(&self, warps: &[Vec<Lanes>; 4]) -> Vec<u64> {
        let Shape { m, k, .. } = self.product.shape;
        let bits = self.product.a.bits();
        let mut a = vec![0; m * k];
        for (warp, lane, index) in places(k / 2) {
            let place = Fragment::A { rows: 16 }.place(bits, lane, index);
            if let Some(element) = a.get_mut((warp * 16 + place.row) * k + place.column) {
                *element = get(&warps[warp], lane, index, bits);
            }
        }
        a
    }

    /// The registers of D of one warp. `a` has the warp's sixteen rows, unless they are in its registers.
    pub fn compute_warp(&self, a: Option<&[u64]>, a_registers: &[Lanes], b: &[u64], d: Option<&[Lanes]>) -> Vec<Lanes> {
        let Shape { n, k, .. } = self.product.shape;
        let gather = |registers: &[Lanes], fragment: Fragment, bits: usize, count: usize, columns: usize| {
            let mut all = vec![0; 16 * columns];
            for (lane, index) in (0..32 * count).map(|i| (i / count, i % count)) {
                let place = fragment.place(bits, lane, index);
                if let Some(element) = all.get_mut(place.row * columns + place.column) {
                    *element = get(registers, lane, index, bits);
                }
            }
            all
        };
        let (bits, accumulator) = (self.product.d.bits(), Fragment::Accumulator { rows: 16 });
        let own = a.is_none().then(|| gather(a_registers, Fragment::A { rows: 16 }, self.product.a.bits(), k / 2, k));
        let c = d.map(|registers| gather(registers, accumulator, bits, n / 2, n));
        let product = Product { shape: Shape { m: 16, n, k }, ..self.product };
        let result = product.multiply(a.or(own.as_deref()).unwrap_or(&[]), b, c.as_deref());
        let mut registers = vec![[0; 32]; self.registers()[0]];
        for (lane, index) in (0..32 * (n / 2)).map(|i| (i / (n / 2), i % (n / 2))) {
            let place = accumulator.place(bits, lane, index);
            set(&mut registers, lane, index, bits, result[place.row * n + place.column]);
        }
        registers
    }

    /// The registers of D by warp. `a` and `b` are lists of M and N rows with K columns; without `d`, `scale-d` is
    /// false.
    pub fn compute(&self, a: &[u64], b: &[u64], d: Option<&[Vec<Lanes>; 4]>) -> [Vec<Lanes>; 4] {
        let Shape { m, n, .. } = self.product.shape;
        let bits = self.product.d.bits();
        let place = |warp: usize, lane, index| {
            let place = Fragment::Accumulator { rows: 16 }.place(bits, lane, index);
            (warp * 16 + place.row) * n + place.column
        };
        let c = d.map(|warps| {
            let mut c = vec![0; m * n];
            for (warp, lane, index) in places(n / 2) {
                c[place(warp, lane, index)] = get(&warps[warp], lane, index, bits);
            }
            c
        });
        let result = self.product.multiply(a, b, c.as_deref());
        let mut warps = [(); 4].map(|()| vec![[0; 32]; self.registers()[0]]);
        for (warp, lane, index) in places(n / 2) {
            set(&mut warps[warp], lane, index, bits, result[place(warp, lane, index)]);
        }
        warps
    }
}

/// The elements of a warpgroup, `count` per thread: the warp, the lane and the index.
fn places(count: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..4 * 32 * count).map(move |i| (i / count / 32, i / count % 32, i % count))
}
