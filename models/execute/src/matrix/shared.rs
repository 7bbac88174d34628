//! Matrices in shared memory, as the descriptors of `wgmma` and `tcgen05` define them. Sections 9.7.15.5.1.2, 9.7.16.3
//! and 9.7.16.4.1.

use super::element::Unsupported;

/// The swizzle mode: the bits of an address that are permuted, so that rows lie in different banks. Section 5.5.7.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Swizzle {
    None,
    B32,
    B64,
    B96,
    B128,
    /// A pattern of 128 bytes, in which groups of 32 bytes are contiguous.
    B128Atom32,
    /// Like `B128Atom32`, and the halves of each 16 bytes are swapped in every other line of 128 bytes.
    B128Atom32Flip8,
    /// A pattern of 128 bytes, in which groups of 64 bytes are contiguous.
    B128Atom64,
}

impl Swizzle {
    /// The mask of a line's number, the bit of the address at which the masked number is added modulo 2, and the width
    /// of the pattern in bytes.
    fn parts(self) -> (u32, u32, u32) {
        match self {
            Self::None => (0, 0, 16),
            Self::B32 => (1, 4, 32),
            Self::B64 => (3, 4, 64),
            Self::B96 => (1, 4, 96),
            Self::B128 => (7, 4, 128),
            Self::B128Atom32 | Self::B128Atom32Flip8 => (3, 5, 128),
            Self::B128Atom64 => (1, 6, 128),
        }
    }

    /// The swizzled address of a byte. Lines of 128 bytes are counted from line `base`, which is 0 if patterns begin at
    /// multiples of their size.
    pub fn apply(self, address: u32, base: u32) -> u32 {
        let (mask, to, _) = self.parts();
        let line = (address >> 7).wrapping_sub(base);
        let flip = if self == Self::B128Atom32Flip8 { (line & 1) << 3 } else { 0 };
        address ^ ((line & mask) << to) ^ flip
    }

    /// The width of a row of the pattern in bytes.
    pub fn width(self) -> u32 {
        self.parts().2
    }
}

/// Bytes of shared memory that an instruction accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes {
    pub address: u32,
    pub bytes: u32,
}

/// Merges ranges. Returns the same bytes in as few ranges as possible, in order.
pub fn merge(mut ranges: Vec<Bytes>) -> Vec<Bytes> {
    ranges.sort_unstable();
    let mut merged: Vec<Bytes> = Vec::new();
    for Bytes { address, bytes } in ranges {
        let end = u64::from(address) + u64::from(bytes);
        match merged.last_mut() {
            Some(last) if u64::from(last.address) + u64::from(last.bytes) >= u64::from(address) => {
                let all = end.saturating_sub(last.address.into()).max(last.bytes.into());
                last.bytes = u32::try_from(all).unwrap_or(u32::MAX);
            }
            _ => merged.push(Bytes { address, bytes }),
        }
    }
    merged
}

/// 16 bytes of a matrix that are contiguous in every layout: the elements from a row and a column on, in the direction
/// of contiguous elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    pub address: u32,
    pub row: usize,
    pub column: usize,
}

/// The matrix of a descriptor: A with its M rows, or the transpose of B with N rows, and K columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedMatrix {
    pub start: u32,
    /// The byte offsets. Their meaning depends on the layout.
    pub leading: u32,
    pub stride: u32,
    /// The line of 128 bytes in which the swizzle's pattern begins, modulo 8.
    pub base: u32,
    pub swizzle: Swizzle,
    pub rows: usize,
    pub columns: usize,
    /// The bits of an element.
    pub bits: usize,
    /// Whether M or N is contiguous instead of K.
    pub across: bool,
}

impl SharedMatrix {
    fn new(descriptor: u64, swizzle: Swizzle, [rows, columns, bits]: [usize; 3], across: bool) -> Self {
        let field = |at: u32| ((descriptor >> at) as u32 & 0x3fff) << 4;
        let base = (descriptor >> 49) as u32 & 7;
        let (start, leading, stride) = (field(0), field(16), field(32));
        Self { start, leading, stride, base, swizzle, rows, columns, bits, across }
    }

    /// Reads a descriptor of `wgmma`; the size is rows, columns and bits of an element. Section 9.7.15.5.1.2.2.
    pub fn of_wgmma(descriptor: u64, size: [usize; 3], across: bool) -> Self {
        let swizzle = [Swizzle::None, Swizzle::B128, Swizzle::B64, Swizzle::B32][(descriptor >> 62) as usize];
        Self::new(descriptor, swizzle, size, across)
    }

    /// Reads a descriptor of `tcgen05`. Section 9.7.16.4.1.
    ///
    /// # Errors
    ///
    /// If the descriptor has an invalid swizzle, fixed bits with other values, or the leading dimension as an address.
    pub fn of_tcgen05(descriptor: u64, size: [usize; 3], across: bool) -> Result<Self, Unsupported> {
        let swizzle = match descriptor >> 61 {
            0 => Swizzle::None,
            1 => Swizzle::B128Atom32,
            2 => Swizzle::B128,
            4 => Swizzle::B64,
            6 => Swizzle::B32,
            mode => return Err(Unsupported::new(format!("a descriptor with the swizzle {mode}"))),
        };
        if descriptor >> 46 & 7 != 1 {
            return Err(Unsupported::new("a descriptor without its constant 0b001 in bits 46 to 48"));
        }
        if descriptor >> 52 & 1 == 1 {
            return Err(Unsupported::new("a descriptor whose leading dimension is an address"));
        }
        Ok(Self::new(descriptor, swizzle, size, across))
    }

    /// The number of elements in 16 bytes.
    fn together(&self) -> usize {
        (128 / self.bits.max(1)).max(1)
    }

    /// The canonical layouts of sections 9.7.15.5.1.2.1.3 and 9.7.16.3.3, in bytes from the start.
    fn offset(&self, row: usize, column: usize) -> u32 {
        let (together, width) = (self.together() as u32, self.swizzle.width());
        let (row, column) = (row as u32, column as u32);
        let steps = |count: u32, bytes: u32| count.wrapping_mul(bytes);
        let plain = self.swizzle == Swizzle::None;
        let parts = if self.across {
            let (unit, units) = (row / together, width / 16);
            let lines = if self.swizzle == Swizzle::B128Atom32 { 4 } else { 8 };
            let (by_unit, by_lines) = if plain { (self.stride, self.leading) } else { (self.leading, self.stride) };
            [unit % units * 16, steps(unit / units, by_unit), column % lines * width, steps(column / lines, by_lines)]
        } else {
            let along = if plain { self.leading } else { 16 };
            [row % 8 * width, steps(row / 8, self.stride), steps(column / together, along), 0]
        };
        parts.into_iter().fold(0, u32::wrapping_add)
    }

    /// The units of the matrix, with their addresses.
    pub fn units(&self) -> impl Iterator<Item = Unit> {
        let (rows, columns) = if self.across { (self.together(), 1) } else { (1, self.together()) };
        let places = (0..self.rows)
            .step_by(rows)
            .flat_map(move |row| (0..self.columns).step_by(columns).map(move |column| (row, column)));
        places.map(|(row, column)| {
            let address = self.start.wrapping_add(self.offset(row, column));
            Unit { address: self.swizzle.apply(address, self.base), row, column }
        })
    }

    /// The bytes of the matrix.
    pub fn ranges(&self) -> Vec<Bytes> {
        merge(self.units().map(|unit| Bytes { address: unit.address, bytes: 16 }).collect())
    }

    /// The elements, row by row, each in the low bits. The closure reads 16 bytes at any address.
    pub fn load(&self, read: &dyn Fn(u32) -> [u8; 16]) -> Vec<u64> {
        let mut elements = vec![0; self.rows * self.columns];
        let mask = u128::MAX >> (128 - self.bits.clamp(1, 64));
        for unit in self.units() {
            let bytes = u128::from_le_bytes(read(unit.address));
            for i in 0..self.together() {
                let (row, column) = if self.across { (unit.row + i, unit.column) } else { (unit.row, unit.column + i) };
                if row < self.rows && column < self.columns {
                    elements[row * self.columns + column] = (bytes >> (i * self.bits) & mask) as u64;
                }
            }
        }
        elements
    }
}
