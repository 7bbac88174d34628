//! The distribution of a matrix's elements over the registers of a warp.

/// A register of each lane.
pub type Lanes = [u64; 32];

/// The place of a fragment's element: the product of the warp to which it belongs, and its row and column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ElementPosition {
    pub product: usize,
    pub row: usize,
    pub column: usize,
}

/// The number of elements in a register.
pub fn packed(bits: usize) -> usize {
    (32 / bits.max(1)).max(1)
}

/// The value of an element of a lane. Elements are counted from the lowest bits of the first register. A missing
/// element is 0.
pub fn get(registers: &[Lanes], lane: usize, index: usize, bits: usize) -> u64 {
    let register = registers.get(index / packed(bits)).and_then(|lanes| lanes.get(lane));
    let mask = u64::MAX >> (64 - bits.clamp(1, 64));
    register.map_or(0, |word| word >> (index % packed(bits) * bits) & mask)
}

/// Writes an element of a lane. A missing element is ignored.
pub fn set(registers: &mut [Lanes], lane: usize, index: usize, bits: usize, value: u64) {
    let Some(word) = registers.get_mut(index / packed(bits)).and_then(|lanes| lanes.get_mut(lane)) else { return };
    let shift = index % packed(bits) * bits;
    let mask = u64::MAX >> (64 - bits.clamp(1, 64));
    *word = *word & !(mask << shift) | (value & mask) << shift;
}

/// The fragments that follow one rule for all types: a register of a thread has consecutive elements along K. Sections
/// 9.7.14.5.2 to 9.7.14.5.13, and 9.7.15.5.1.1 for each of the four warps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fragment {
    /// A, with `rows` rows.
    A {
        rows: usize,
    },
    B,
    /// C and D.
    Accumulator {
        rows: usize,
    },
}

impl Fragment {
    /// The row and the column of an element of `bits` bits. The rows of B are K.
    pub fn place(self, bits: usize, lane: usize, index: usize) -> ElementPosition {
        let (group, thread) = (lane / 4, lane % 4);
        let together = packed(bits);
        let (register, element) = (index / together, index % together);
        let along = |step: usize| thread * together + element + step * 4 * together;
        let (row, column) = match self {
            Self::A { rows } => {
                let blocks = (rows / 8).max(1);
                (group + 8 * (register % blocks), along(register / blocks))
            }
            Self::B => (along(register), group),
            Self::Accumulator { rows } => {
                let blocks = (rows / 8).max(1);
                (group + 8 * (index / 2 % blocks), thread * 2 + index % 2 + index / 2 / blocks * 8)
            }
        };
        ElementPosition { product: 0, row, column }
    }
}
