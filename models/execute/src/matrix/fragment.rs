//! How the elements of a matrix are spread over the registers of a warp.

/// A register of each lane.
pub type Lanes = [u64; 32];

/// The place of a fragment's element: which of the products of the warp it belongs to, and where in its matrix it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    pub product: usize,
    pub row: usize,
    pub column: usize,
}

/// The elements that a register has.
pub fn packed(bits: usize) -> usize {
    (32 / bits.max(1)).max(1)
}

/// An element of a lane, counted from the lowest bits of its first register. One that does not exist is 0.
pub fn get(registers: &[Lanes], lane: usize, index: usize, bits: usize) -> u64 {
    let register = registers.get(index / packed(bits)).and_then(|lanes| lanes.get(lane));
    let mask = u64::MAX >> (64 - bits.clamp(1, 64));
    register.map_or(0, |word| word >> (index % packed(bits) * bits) & mask)
}

/// Writes an element of a lane; one that does not exist stays so.
pub fn set(registers: &mut [Lanes], lane: usize, index: usize, bits: usize, value: u64) {
    let Some(word) = registers.get_mut(index / packed(bits)).and_then(|lanes| lanes.get_mut(lane)) else { return };
    let shift = index % packed(bits) * bits;
    let mask = u64::MAX >> (64 - bits.clamp(1, 64));
    *word = *word & !(mask << shift) | (value & mask) << shift;
}

/// The fragments that have one rule for all types: a register of a thread has elements that follow each other along K.
/// Sections 9.7.14.5.2 to 9.7.14.5.13, and 9.7.15.5.1.1 for each of the four warps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fragment {
    /// A, of so many rows.
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
    /// The row and the column of an element, which has so many bits. The rows of B are K.
    pub fn place(self, bits: usize, lane: usize, index: usize) -> Place {
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
        Place { product: 0, row, column }
    }
}
