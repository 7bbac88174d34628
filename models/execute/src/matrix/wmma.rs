//! `wmma.load`, `wmma.store` and `wmma.mma`. Section 9.7.14.4.
//!
//! PTX does not specify which element a lane has, so programs cannot depend on it. Here the elements of a matrix are
//! distributed in order, A and D by rows and B by columns, with an equal number in each lane. Fragments of `.f16` that
//! have more slots than the matrix has elements repeat the elements. A matrix has one layout for all types, so an
//! operation that a program applies to each element of C is also right for D.

use ptx_isa::matrix::{Fragment, MatrixForm};

use super::{
    element::{Element, Values},
    fragment::{Lanes, get, packed, set},
    product::{Bits, Product, Shape},
};

/// The matrix of a fragment. C and D are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    A,
    B,
    D,
}

/// A fragment in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WmmaFragment {
    pub role: Role,
    pub shape: Shape,
    pub element: Element,
}

/// Bytes of memory that a register of a lane holds, from a bit of the register on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterBytes {
    pub lane: usize,
    pub register: usize,
    pub bit: usize,
    pub address: u64,
    pub bytes: usize,
}

/// The shapes, and the multiplicand types of each.
#[rustfmt::skip]
const FORMS: [([usize; 3], &[Element]); 7] = {
    use Element::*;
    [
        ([16, 16, 16], &[F16, Bf16, S8, U8]),
        ([32, 8, 16], &[F16, Bf16, S8, U8]),
        ([8, 32, 16], &[F16, Bf16, S8, U8]),
        ([16, 16, 8], &[Tf32]),
        ([8, 8, 4], &[F64]),
        ([8, 8, 32], &[S4, U4]),
        ([8, 8, 128], &[B1]),
    ]
};

/// The accumulator types for a multiplicand type.
fn accumulators(element: Element) -> &'static [Element] {
    match element {
        Element::F16 => &[Element::F16, Element::F32],
        Element::Bf16 | Element::Tf32 => &[Element::F32],
        Element::F64 => &[Element::F64],
        _ => &[Element::S32],
    }
}

/// The shape of a form, and its multiplicand types.
fn shape(form: &MatrixForm) -> Option<(Shape, &'static [Element])> {
    let shape = Shape::from_matrix_shape(form.shape?)?;
    let (_, multiplied) = FORMS.iter().find(|(own, _)| [shape.m, shape.n, shape.k] == *own)?;
    Some((shape, multiplied))
}

impl WmmaFragment {
    /// The fragment of a load or a store, if PTX has such a form.
    pub fn from_form(form: &MatrixForm, fragment: Fragment) -> Option<Self> {
        let (shape, multiplied) = shape(form)?;
        let role = match fragment {
            Fragment::A => Role::A,
            Fragment::B => Role::B,
            Fragment::C | Fragment::D => Role::D,
        };
        let &[element] = &form.elements[..] else { return None };
        let known = match role {
            Role::D => multiplied.iter().any(|multiplied| accumulators(*multiplied).contains(&element)),
            _ => multiplied.contains(&element),
        };
        known.then_some(Self { role, shape, element })
    }

    /// Rows and columns of the matrix.
    fn size(&self) -> (usize, usize) {
        let Shape { m, n, k } = self.shape;
        match self.role {
            Role::A => (m, k),
            Role::B => (k, n),
            Role::D => (m, n),
        }
    }

    /// The number of registers: A and B of `.f16` have eight in every shape.
    pub fn registers(&self) -> usize {
        let (rows, columns) = self.size();
        match (self.role, self.element) {
            (Role::A | Role::B, Element::F16) => 8,
            _ => (rows * columns).div_ceil(32).div_ceil(packed(self.element.bits())),
        }
    }

    /// The number of elements of a lane.
    fn elements(&self) -> usize {
        self.registers() * packed(self.element.bits())
    }

    /// Row and column of an element of a lane.
    pub fn place(&self, lane: usize, index: usize) -> (usize, usize) {
        let (rows, columns) = self.size();
        let at = (lane * self.elements() + index) % (rows * columns);
        if self.role == Role::B { (at % rows, at / rows) } else { (at / columns, at % columns) }
    }

    /// The accesses of a load or store. `by_rows` is the layout; the stride is the distance between rows (or columns)
    /// in elements. Without a stride, rows (or columns) are contiguous. Elements smaller than a byte are accessed by
    /// registers, because their layouts allow nothing else.
    pub fn accesses(&self, address: u64, stride: Option<u64>, by_rows: bool) -> Vec<RegisterBytes> {
        let (rows, columns) = self.size();
        let stride = stride.unwrap_or(if by_rows { columns } else { rows } as u64);
        let bits = self.element.bits();
        let step = if bits < 8 { packed(bits) } else { 1 };
        let mut accesses = Vec::new();
        for (lane, index) in (0..32).flat_map(|lane| (0..self.elements()).step_by(step).map(move |index| (lane, index)))
        {
            let (row, column) = self.place(lane, index);
            let (line, along) = if by_rows { (row, column) } else { (column, row) };
            let at = stride.wrapping_mul(line as u64).wrapping_add(along as u64).wrapping_mul(bits as u64) / 8;
            let (register, bit) = (index / packed(bits), index % packed(bits) * bits);
            accesses.push(RegisterBytes {
                lane,
                register,
                bit,
                address: address.wrapping_add(at),
                bytes: step * bits / 8,
            });
        }
        accesses
    }

    /// The matrix as a list of rows, or of columns for B.
    fn gather(&self, registers: &[Lanes]) -> Vec<u64> {
        let (rows, columns) = self.size();
        let bits = self.element.bits();
        (0..rows * columns).map(|at| get(registers, at / self.elements(), at % self.elements(), bits)).collect()
    }
}

/// `wmma.mma`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wmma(Product);

impl Wmma {
    /// The form, if PTX has it. `.f16` has two types, D and C. Other products also have the types of A and B, between D
    /// and C. The layouts of A and B do not affect registers.
    pub fn from_form(form: &MatrixForm) -> Option<Self> {
        let (shape, multiplied) = shape(form)?;
        let types = match form.elements[..] {
            [d, c] => [d, Element::F16, Element::F16, c],
            [d, a, b, c] if a == b => [d, a, b, c],
            _ => return None,
        };
        let [d, a, _, c] = types;
        if !multiplied.contains(&a) || ![c, d].iter().all(|c| accumulators(a).contains(c)) {
            return None;
        }
        let mut product = Product::new(shape, types);
        product.saturate = form.saturates && d == Element::S32;
        product.bits = if form.combines_by_xor { Bits::Xor } else { Bits::And };
        Some(Self(product))
    }

    /// The fragments of D, A, B and C.
    pub fn fragments(&self) -> [WmmaFragment; 4] {
        let Product { shape, a, b, c, d, .. } = self.0;
        [(Role::D, d), (Role::A, a), (Role::B, b), (Role::D, c)].map(|(role, element)| WmmaFragment {
            role,
            shape,
            element,
        })
    }

    /// D from A, B and C.
    pub fn compute(&self, a: &[Lanes], b: &[Lanes], c: &[Lanes]) -> Vec<Lanes> {
        let [d, of_a, of_b, of_c] = self.fragments();
        let result = self.0.multiply(&of_a.gather(a), &of_b.gather(b), Some(&of_c.gather(c)));
        let mut registers = vec![[0; 32]; d.registers()];
        for (at, value) in result.into_iter().enumerate() {
            set(&mut registers, at / d.elements(), at % d.elements(), d.element.bits(), value);
        }
        registers
    }
}
