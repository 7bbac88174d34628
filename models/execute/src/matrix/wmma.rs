//! `wmma.load`, `wmma.store` and `wmma.mma`. Section 9.7.14.4.
//!
//! PTX leaves open which element a lane has, so programs do not know it. Here the elements of a matrix follow each other, A
//! and D by rows and B by columns, an equal number in each lane; fragments of `.f16` that have more places than the matrix has
//! elements begin again. One matrix has one layout, whatever its type: what a program does to each element of C is right for D.

use std::str::FromStr;

use super::{
    element::{Element, Unsupported},
    fragment::{Lanes, get, packed, set},
    product::{Bits, Product, Shape},
};

/// Which matrix a fragment is of. C and D are alike.
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

/// Bytes of memory that belong to a register of a lane, from a bit of it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    pub lane: usize,
    pub register: usize,
    pub bit: usize,
    pub address: u64,
    pub bytes: usize,
}

/// The shapes, and what each multiplies.
#[rustfmt::skip]
const FORMS: [(&str, &[Element]); 7] = {
    use Element::*;
    [
        ("m16n16k16", &[F16, Bf16, S8, U8]),
        ("m32n8k16",  &[F16, Bf16, S8, U8]),
        ("m8n32k16",  &[F16, Bf16, S8, U8]),
        ("m16n16k8",  &[Tf32]),
        ("m8n8k4",    &[F64]),
        ("m8n8k32",   &[S4, U4]),
        ("m8n8k128",  &[B1]),
    ]
};

/// The accumulators that a type has.
fn accumulators(element: Element) -> &'static [Element] {
    match element {
        Element::F16 => &[Element::F16, Element::F32],
        Element::Bf16 | Element::Tf32 => &[Element::F32],
        Element::F64 => &[Element::F64],
        _ => &[Element::S32],
    }
}

/// What the shape among the words of an instruction multiplies, the shape, and the types.
fn words(modifiers: &[&str]) -> Option<(&'static [Element], Shape, Vec<Element>)> {
    let (shape, multiplied) = FORMS.iter().find(|(shape, _)| modifiers.contains(shape))?;
    let types = modifiers.iter().filter_map(|word| Element::from_str(word).ok()).collect();
    Some((multiplied, Shape::of(shape)?, types))
}

impl WmmaFragment {
    /// Reads the words of a load or a store: `load`, `a`, `sync`, `aligned`, `row`, `m16n16k16`, `shared`, `f16`.
    ///
    /// # Errors
    ///
    /// There is no such form.
    pub fn of(modifiers: &[&str]) -> Result<Self, Unsupported> {
        let refused = || Unsupported::new(format!("wmma.{}", modifiers.join(".")));
        let (multiplied, shape, types) = words(modifiers).ok_or_else(refused)?;
        let roles = [("a", Role::A), ("b", Role::B), ("c", Role::D), ("d", Role::D)];
        let (_, role) = roles.into_iter().find(|(word, _)| modifiers.contains(word)).ok_or_else(refused)?;
        let &[element] = types.as_slice() else { return Err(refused()) };
        let known = match role {
            Role::D => multiplied.iter().any(|multiplied| accumulators(*multiplied).contains(&element)),
            _ => multiplied.contains(&element),
        };
        if known { Ok(Self { role, shape, element }) } else { Err(refused()) }
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

    /// The elements of a lane.
    fn elements(&self) -> usize {
        self.registers() * packed(self.element.bits())
    }

    /// Row and column of an element of a lane.
    pub fn place(&self, lane: usize, index: usize) -> (usize, usize) {
        let (rows, columns) = self.size();
        let at = (lane * self.elements() + index) % (rows * columns);
        if self.role == Role::B { (at % rows, at / rows) } else { (at / columns, at % columns) }
    }

    /// What a load or store moves: `by_rows` is the layout, the stride is from one row (or column) to the next, in elements.
    /// Without a stride, they follow each other. Elements below a byte come by registers, as their layouts allow no other.
    pub fn accesses(&self, address: u64, stride: Option<u64>, by_rows: bool) -> Vec<Access> {
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
            accesses.push(Access { lane, register, bit, address: address.wrapping_add(at), bytes: step * bits / 8 });
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
    /// Reads the words of the instruction: `mma`, `sync`, `aligned`, `row`, `col`, `m16n16k16`, `f32`, `f32` for `.f16`, with
    /// the types of A and B between those of D and C for the others. The layouts of A and B do not matter to registers.
    ///
    /// # Errors
    ///
    /// There is no such form.
    pub fn of(modifiers: &[&str]) -> Result<Self, Unsupported> {
        let refused = || Unsupported::new(format!("wmma.{}", modifiers.join(".")));
        let (multiplied, shape, types) = words(modifiers).ok_or_else(refused)?;
        let types = match *types.as_slice() {
            [d, c] => [d, Element::F16, Element::F16, c],
            [d, a, b, c] if a == b => [d, a, b, c],
            _ => return Err(refused()),
        };
        let [d, a, _, c] = types;
        if !multiplied.contains(&a) || ![c, d].iter().all(|c| accumulators(a).contains(c)) {
            return Err(refused());
        }
        let mut product = Product::new(shape, types);
        product.saturate = modifiers.contains(&"satfinite") && d == Element::S32;
        product.bits = if modifiers.iter().any(|word| word.starts_with("xor")) { Bits::Xor } else { Bits::And };
        Ok(Self(product))
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
