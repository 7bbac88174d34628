//! `tcgen05.mma` and `tcgen05.mma.ws`. Sections 9.7.16.4.2, 9.7.16.10.5 and 9.7.16.10.9.

use super::{
    element::{Element, Unsupported, Values},
    product::{Product, Shape, stand_in},
    shared::SharedMatrix,
    tensor::{Cell, LANES, TensorMemory},
};

/// Types by their number in the instruction descriptor.
type Numbered = &'static [Option<Element>];

/// The kinds that are computed: the types of A and B by their number in the instruction descriptor, and the types of D.
#[rustfmt::skip]
const KINDS: [(&str, Numbered, Numbered); 4] = {
    use Element::*;
    [
        ("kind::f16",    &[Some(F16), Some(Bf16)],   &[Some(F16), Some(F32)]),
        ("kind::tf32",   &[None, None, Some(Tf32)],  &[None, Some(F32)]),
        ("kind::f8f6f4", &[Some(E4m3), Some(E5m2)],  &[Some(F16), Some(F32)]),
        ("kind::i8",     &[Some(U8), Some(S8)],      &[None, None, Some(S32)]),
    ]
};

/// The layout of D in tensor memory: section 9.7.16.10.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    m: usize,
    ctas: usize,
    weight_stationary: bool,
    /// The number of parts into which the columns of D are split, one below the other.
    parts: usize,
    /// Whether rows use only the first 16 of every 32 lanes, from the address's lane on.
    half: bool,
}

/// Layouts G, E, F, D, D, B and A.
#[rustfmt::skip]
const LAYOUTS: [Layout; 7] = [
    Layout { m: 32,  ctas: 1, weight_stationary: true,  parts: 4, half: false },
    Layout { m: 64,  ctas: 1, weight_stationary: true,  parts: 2, half: false },
    Layout { m: 64,  ctas: 1, weight_stationary: false, parts: 1, half: true },
    Layout { m: 128, ctas: 1, weight_stationary: false, parts: 1, half: false },
    Layout { m: 128, ctas: 1, weight_stationary: true,  parts: 1, half: false },
    Layout { m: 128, ctas: 2, weight_stationary: false, parts: 2, half: false },
    Layout { m: 256, ctas: 2, weight_stationary: false, parts: 1, half: false },
];

/// The operands of the instruction besides its matrices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// `enable-input-d`.
    pub accumulate: bool,
    /// `scale-input-d`: D is divided by two to this power before the sums are added.
    pub scale: u32,
    /// `disable-output-lane`: 128 bits for the lanes of the first CTA, and 128 bits for the lanes of the second CTA.
    pub disabled: [u32; 8],
}

/// A form of the instruction, with its instruction descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorMma {
    product: Product,
    layout: Layout,
    transpose: [bool; 2],
}

impl TensorMma {
    /// Reads the modifiers of the instruction, such as `cta_group::1`, `kind::f16`, and its instruction descriptor.
    ///
    /// # Errors
    ///
    /// If the form is sparse, block-scaled, shifts A, has elements of 4 or 6 bits, or is malformed.
    pub fn from_modifiers(modifiers: &[&str], descriptor: u32) -> Result<Self, Unsupported> {
        let refused =
            || Unsupported::new(format!("tcgen05.{} with the descriptor {descriptor:#x}", modifiers.join(".")));
        let has = |word: &str| modifiers.contains(&word);
        let field = |at: u32, bits: u32| (descriptor >> at & ((1 << bits) - 1)) as usize;
        let kind = KINDS.iter().find(|(word, ..)| has(word)).ok_or_else(refused)?;
        let typed = |list: &[Option<Element>], number: usize| list.get(number).copied().flatten().ok_or_else(refused);
        let (a, b, d) = (typed(kind.1, field(7, 3))?, typed(kind.1, field(10, 3))?, typed(kind.2, field(4, 2))?);
        let (m, n, ctas) = (field(24, 5) << 4, field(17, 6) << 3, if has("cta_group::2") { 2 } else { 1 });
        let layout = LAYOUTS
            .into_iter()
            .find(|layout| (layout.m, layout.ctas, layout.weight_stationary) == (m, ctas, has("ws")));
        let layout = layout.ok_or_else(refused)?;
        if !(8..=256).contains(&n)
            || n % (8 * ctas) != 0
            || field(2, 1) == 1
            || has("sp")
            || has("block_scale")
            || has("ashift")
        {
            return Err(refused());
        }
        let mut product = Product::new(Shape { m, n, k: 256 / a.bits() }, [d, a, b, d]);
        product.saturate = d == Element::S32 && field(3, 1) == 1;
        product.negate_a = d != Element::S32 && field(13, 1) == 1;
        product.negate_b = d != Element::S32 && field(14, 1) == 1;
        Ok(Self { product, layout, transpose: [field(15, 1) == 1, field(16, 1) == 1] })
    }

    pub fn shape(&self) -> Shape {
        self.product.shape
    }

    /// The number of CTAs that take part, each with its own shared memory and its own tensor memory.
    pub fn ctas(&self) -> usize {
        self.layout.ctas
    }

    /// The part of A in the shared memory of each CTA. The first CTA has the upper rows.
    ///
    /// # Errors
    ///
    /// If the descriptor is malformed.
    pub fn a(&self, descriptor: u64) -> Result<SharedMatrix, Unsupported> {
        let Shape { m, k, .. } = self.product.shape;
        SharedMatrix::of_tcgen05(descriptor, [m / self.ctas(), k, self.product.a.bits()], self.transpose[0])
    }

    /// The part of B, with N rows, in the shared memory of each CTA. The first CTA has the first rows.
    ///
    /// # Errors
    ///
    /// If the descriptor is malformed.
    pub fn b(&self, descriptor: u64) -> Result<SharedMatrix, Unsupported> {
        let Shape { n, k, .. } = self.product.shape;
        SharedMatrix::of_tcgen05(descriptor, [n / self.ctas(), k, self.product.b.bits()], self.transpose[1])
    }

    /// The CTA and the lane of a row, in the first part.
    fn row(&self, row: usize) -> (usize, usize) {
        let rows = self.layout.m / self.layout.ctas;
        let at = row % rows;
        (row / rows, if self.layout.half { at / 16 * 32 + at % 16 } else { at })
    }

    /// The lane at which a part of the columns begins.
    fn part(&self, part: usize) -> usize {
        LANES / self.layout.parts * part
    }

    /// The CTA and the cell of an element of D. An element of 16 bits is in the lower half.
    pub fn d_cell(&self, address: u32, row: usize, column: usize) -> (usize, Cell) {
        let (cta, lane) = self.row(row);
        let columns = self.product.shape.n / self.layout.parts;
        (cta, Cell::from_address(address).after(lane + self.part(column / columns), column % columns))
    }

    /// The elements of D, one row after the other: their CTAs and their cells.
    fn d_cells(&self, address: u32) -> impl Iterator<Item = (usize, Cell)> {
        let Shape { m, n, .. } = self.product.shape;
        let parts = self.layout.parts;
        (0..m).flat_map(move |row| {
            let (cta, lane) = self.row(row);
            let first = move |part| Cell::from_address(address).after(lane + self.part(part), 0);
            (0..parts).flat_map(move |part| (0..n / parts).map(move |column| (cta, first(part).after(0, column))))
        })
    }

    /// The cells of D that are written, and are read before if the instruction accumulates.
    pub fn d_touched(&self, address: u32, output: &Output) -> Vec<(usize, Cell)> {
        self.d_cells(address).filter(|(cta, cell)| is_enabled(output, *cta, *cell)).collect()
    }

    /// The cells of 4 bytes of a row of A. Each part of the columns has a copy of the whole A.
    fn a_cells(&self, address: u32, row: usize, word: usize) -> impl Iterator<Item = (usize, Cell)> {
        let (cta, lane) = self.row(row);
        (0..self.layout.parts).map(move |part| (cta, Cell::from_address(address).after(lane + self.part(part), word)))
    }

    /// The cells of an A in tensor memory.
    pub fn a_touched(&self, address: u32) -> Vec<(usize, Cell)> {
        let places = (0..self.product.shape.m).flat_map(|row| (0..8).map(move |word| (row, word)));
        places.flat_map(|(row, word)| self.a_cells(address, row, word)).collect()
    }

    /// A from tensor memory. If each part of the columns has a copy, the first copy is used.
    pub fn a_of_tensor(&self, memories: &[&TensorMemory], address: u32) -> Vec<u64> {
        let Shape { m, k, .. } = self.product.shape;
        let bits = self.product.a.bits();
        let element = |i: usize| {
            let (row, at) = (i / k, i % k * bits);
            let cell = self.a_cells(address, row, at / 32).next();
            let word = cell.and_then(|(cta, cell)| Some(memories.get(cta)?.get(cell))).unwrap_or_default();
            u64::from(word >> (at % 32)) & (u64::MAX >> (64 - bits))
        };
        (0..m * k).map(element).collect()
    }

    /// Writes stand-ins to D instead of a product.
    pub fn stand_in(&self, step: u64, memories: &mut [&mut TensorMemory], address: u32, output: &Output) {
        self.d_cells(address).enumerate().for_each(|(element, (cta, cell))| {
            if let Some(memory) = memories.get_mut(cta)
                && is_enabled(output, cta, cell)
            {
                memory.set(cell, stand_in(step, element as u64) as u32);
            }
        });
    }

    /// Writes D. A has M rows and B has N rows, of K elements. With two CTAs, the rows of the second follow the rows of
    /// the first. The memories are indexed by CTA.
    pub fn compute(&self, a: &[u64], b: &[u64], memories: &mut [&mut TensorMemory], address: u32, output: &Output) {
        let product = Product { scale: output.scale, ..self.product };
        let old: Option<Vec<u64>> = output.accumulate.then(|| {
            self.d_cells(address)
                .map(|(cta, cell)| memories.get(cta).map_or(0, |memory| u64::from(memory.get(cell))))
                .collect()
        });
        for ((cta, cell), value) in self.d_cells(address).zip(product.multiply(a, b, old.as_deref())) {
            if let Some(memory) = memories.get_mut(cta)
                && is_enabled(output, cta, cell)
            {
                memory.set(cell, value as u32);
            }
        }
    }
}

fn is_enabled(output: &Output, cta: usize, cell: Cell) -> bool {
    let mask = output.disabled.get(cta * 4 + cell.lane / 32).copied().unwrap_or_default();
    mask >> (cell.lane % 32) & 1 == 0
}
