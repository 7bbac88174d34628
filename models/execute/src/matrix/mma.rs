//! `mma.sync` and `mma.sp`. Section 9.7.14.5.14 and 9.7.14.6.3.

use ptx_isa::matrix::MatrixForm;

use super::{
    element::{Element, Numbers, Values},
    fragment::{ElementPosition, Fragment, Lanes, get, packed, set},
    product::{Bits, Product, Shape},
};

/// The shapes, whether A is sparse, and the multiplicand types of each.
#[rustfmt::skip]
const FORMS: [([usize; 3], bool, &[Element]); 21] = {
    use Element::*;
    [
        ([8, 8, 4], false, &[F16]),
        ([8, 8, 4], false, &[F64]),
        ([16, 8, 8], false, &[F16]),
        ([16, 8, 16], false, &[F16]),
        ([16, 8, 8], false, &[Bf16]),
        ([16, 8, 16], false, &[Bf16]),
        ([16, 8, 4], false, &[Tf32, F64]),
        ([16, 8, 8], false, &[Tf32, F64]),
        ([16, 8, 16], false, &[S8, U8, E4m3, E5m2, F64]),
        ([8, 8, 16], false, &[S8, U8]),
        ([16, 8, 32], false, &[S8, U8, S4, U4, E4m3, E5m2, E2m3, E3m2, E2m1]),
        ([8, 8, 32], false, &[S4, U4]),
        ([16, 8, 64], false, &[S4, U4]),
        ([8, 8, 128], false, &[B1]),
        ([16, 8, 128], false, &[B1]),
        ([16, 8, 256], false, &[B1]),
        ([16, 8, 8], true, &[Tf32]),
        ([16, 8, 16], true, &[F16, Bf16, Tf32]),
        ([16, 8, 32], true, &[F16, Bf16, S8, U8]),
        ([16, 8, 64], true, &[S8, U8, S4, U4, E4m3, E5m2, E2m3, E3m2, E2m1]),
        ([16, 8, 128], true, &[S4, U4]),
    ]
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    A,
    B,
    C,
    D,
}

/// A form of the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mma {
    product: Product,
    /// Whether half of the elements of A are zeros that are not stored.
    sparse: bool,
    /// Whether the rows of A, and the rows of B, are contiguous. Only `m8n8k4` of `.f16` has a choice.
    rows: [bool; 2],
}

impl Mma {
    /// The form. `None` if it is block-scaled, or PTX has no such form.
    pub fn from_form(form: &MatrixForm) -> Option<Self> {
        let &[d, a, b, c] = &form.elements[..] else { return None };
        let shape = Shape::from_matrix_shape(form.shape?)?;
        let sparse = form.is_sparse;
        let known = FORMS.iter().any(|(own, is_sparse, types)| {
            [shape.m, shape.n, shape.k] == *own && *is_sparse == sparse && types.contains(&a) && types.contains(&b)
        });
        // Multiplicand types of the same kind and width mix: signed with unsigned integers, and small floats with each
        // other.
        let mixes = a == b || a.bits() == b.bits() && a.bits() <= 8;
        let accumulates = match a.numbers() {
            Numbers::Double => [c, d] == [Element::F64; 2],
            Numbers::Integer => [c, d] == [Element::S32; 2],
            Numbers::Single if matches!(a, Element::Bf16 | Element::Tf32) => [c, d] == [Element::F32; 2],
            Numbers::Single => [c, d].iter().all(|c| matches!(c, Element::F16 | Element::F32)),
        };
        if !known || !mixes || !accumulates || form.is_scaled || a.numbers() != b.numbers() {
            return None;
        }
        let mut product = Product::new(shape, [d, a, b, c]);
        product.saturate = form.saturates;
        product.bits = if form.combines_by_xor { Bits::Xor } else { Bits::And };
        let layout = |index: usize| form.by_rows.get(index).copied();
        Some(Self { product, sparse, rows: [layout(0) != Some(false), layout(1) == Some(true)] })
    }

    /// Whether half of the elements of A are not stored.
    pub fn is_sparse(&self) -> bool {
        self.sparse
    }

    pub fn shape(&self) -> Shape {
        self.product.shape
    }

    /// The type of a matrix's elements.
    pub fn element(&self, role: Role) -> Element {
        match role {
            Role::A => self.product.a,
            Role::B => self.product.b,
            Role::C => self.product.c,
            Role::D => self.product.d,
        }
    }

    /// Whether each quarter of the warp computes a separate product.
    fn is_of_quarters(&self) -> bool {
        self.product.a == Element::F16 && self.product.shape.m == 8
    }

    pub fn products(&self) -> usize {
        if self.is_of_quarters() { 4 } else { 1 }
    }

    /// The number of a matrix's elements in each lane.
    pub fn elements(&self, role: Role) -> usize {
        let Shape { m, n, k } = self.product.shape;
        let count = match role {
            Role::A if self.sparse => m * k / 2,
            Role::A => m * k,
            Role::B => n * k,
            Role::C | Role::D => m * n,
        };
        count * self.products() / 32
    }

    /// The number of registers of D, A, B and C.
    pub fn registers(&self) -> [usize; 4] {
        [Role::D, Role::A, Role::B, Role::C].map(|role| self.elements(role).div_ceil(packed(self.element(role).bits())))
    }

    /// The place of an element. The rows of B are K. The columns of a sparse A are the columns of the stored elements.
    pub fn place(&self, role: Role, lane: usize, index: usize) -> ElementPosition {
        if self.is_of_quarters() {
            return self.quarter(role, lane, index);
        }
        let rows = self.product.shape.m;
        let fragment = match role {
            Role::A => Fragment::A { rows },
            Role::B => Fragment::B,
            Role::C | Role::D => Fragment::Accumulator { rows },
        };
        fragment.place(self.element(role).bits(), lane, index)
    }

    /// Section 9.7.14.5.1.
    fn quarter(&self, role: Role, lane: usize, index: usize) -> ElementPosition {
        let high = lane / 16 * 4;
        let (along, across) = (lane % 4 + high, index);
        let (row, column) = match (role, self.rows, self.element(role)) {
            (Role::A, [true, _], _) => (along, across),
            (Role::A, [false, _], _) => (index + high, lane % 4),
            (Role::B, [_, true], _) => (lane % 4, index + high),
            (Role::B, [_, false], _) => (across, along),
            (_, _, Element::F16) => (along, across),
            _ => ((lane & 1) + (index & 2) + high, (index & 4) + (lane & 2) + (index & 1)),
        };
        ElementPosition { product: lane % 16 / 4, row, column }
    }

    /// The index of a place in the list of its matrix's elements.
    fn index(&self, role: Role, place: ElementPosition) -> usize {
        let Shape { n, k, .. } = self.product.shape;
        match role {
            Role::A if self.sparse => place.row * k / 2 + place.column,
            Role::A => place.row * k + place.column,
            Role::B => place.column * k + place.row,
            Role::C | Role::D => place.row * n + place.column,
        }
    }

    fn gather(&self, role: Role, product: usize, registers: &[Lanes]) -> Vec<u64> {
        let (bits, count) = (self.element(role).bits(), self.elements(role));
        let mut matrix = vec![0; count * 32 / self.products()];
        for (lane, index) in (0..32).flat_map(|lane| (0..count).map(move |index| (lane, index))) {
            let place = self.place(role, lane, index);
            if place.product == product
                && let Some(element) = matrix.get_mut(self.index(role, place))
            {
                *element = get(registers, lane, index, bits);
            }
        }
        matrix
    }

    /// Computes D. Registers are in the order of the instruction. Missing registers are 0, and are not written.
    pub fn compute(&self, a: &[Lanes], b: &[Lanes], c: &[Lanes], d: &mut [Lanes]) {
        for product in 0..self.products() {
            self.finish(product, &self.gather(Role::A, product, a), b, c, d);
        }
    }

    /// Computes D of a sparse A, whose stored elements are placed by the metadata. Metadata that PTX calls invalid is
    /// interpreted by its bits: of two elements for the same column, the last one is used.
    pub fn compute_sparse(
        &self,
        a: &[Lanes],
        metadata: &Lanes,
        selector: u32,
        b: &[Lanes],
        c: &[Lanes],
        d: &mut [Lanes],
    ) {
        let a = self.spread(&self.gather(Role::A, 0, a), metadata, selector as usize);
        self.finish(0, &a, b, c, d);
    }

    /// Expands A. Each thread of a group that the selector chooses has 16 bits of metadata for a row, and 16 bits for
    /// the row eight further on. Section 9.7.14.6.1.
    fn spread(&self, stored: &[u64], metadata: &Lanes, selector: usize) -> Vec<u64> {
        let Shape { m, k, .. } = self.product.shape;
        // The number of elements for one index, and the bits of the index.
        let (unit, width) = match self.product.a {
            Element::S4 | Element::U4 => (2, 2),
            Element::Tf32 => (1, 4),
            _ => (1, 2),
        };
        let each = 16 / width;
        let threads = (k / 2 / unit / each).max(1);
        let mut whole = vec![0; m * k];
        for (i, element) in stored.iter().enumerate() {
            let (row, column) = (i / (k / 2), i % (k / 2));
            let at = column / unit;
            let lane = row % 8 * 4 + (selector * threads + at / each) % 4;
            let index = (metadata[lane] >> (row / 8 * 16 + at % each * width)) as usize & ((1 << width) - 1);
            let chosen = if width == 4 { at * 2 + index / 8 } else { at / 2 * 4 + index };
            if let Some(place) = whole.get_mut(row * k + chosen * unit + column % unit) {
                *place = *element;
            }
        }
        whole
    }

    fn finish(&self, product: usize, a: &[u64], b: &[Lanes], c: &[Lanes], d: &mut [Lanes]) {
        let result =
            self.product.multiply(a, &self.gather(Role::B, product, b), Some(&self.gather(Role::C, product, c)));
        let bits = self.product.d.bits();
        for (lane, index) in (0..32).flat_map(|lane| (0..self.elements(Role::D)).map(move |index| (lane, index))) {
            let place = self.place(Role::D, lane, index);
            if place.product == product
                && let Some(value) = result.get(self.index(Role::D, place))
            {
                set(d, lane, index, bits, *value);
            }
        }
    }
}
