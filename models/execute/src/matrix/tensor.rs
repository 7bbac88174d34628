//! Tensor memory, and the instructions that move data to and from it: `tcgen05.ld`, `.st`, `.cp` and `.shift`. Sections
//! 9.7.16.1, 9.7.16.2.3, 9.7.16.8 and 9.7.16.9.

use super::{
    element::Unsupported,
    fragment::Lanes,
    shared::{SharedMatrix, Unit},
};

pub const LANES: usize = 128;
pub const COLUMNS: usize = 512;

/// 32 bits of tensor memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell {
    pub lane: usize,
    pub column: usize,
}

impl Cell {
    /// The cell that an address names: the lane is in the upper half, the column in the lower.
    pub fn from_address(address: u32) -> Self {
        Self { lane: (address >> 16) as usize, column: (address & 0xffff) as usize }
    }

    /// The cell at an offset from this cell. It may not exist.
    pub fn after(self, lanes: usize, columns: usize) -> Self {
        Self { lane: self.lane + lanes, column: self.column + columns }
    }

    /// Whether tensor memory has the cell.
    pub fn exists(self) -> bool {
        self.lane < LANES && self.column < COLUMNS
    }
}

/// The tensor memory of a CTA. A read of a cell that does not exist is 0, and a write is ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorMemory(Vec<u32>);

impl Default for TensorMemory {
    fn default() -> Self {
        Self(vec![0; LANES * COLUMNS])
    }
}

impl TensorMemory {
    pub fn get(&self, cell: Cell) -> u32 {
        if cell.exists() { self.0[cell.lane * COLUMNS + cell.column] } else { 0 }
    }

    pub fn set(&mut self, cell: Cell, value: u32) {
        if cell.exists() {
            self.0[cell.lane * COLUMNS + cell.column] = value;
        }
    }
}

/// A form of `tcgen05.ld` or `tcgen05.st`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    shape: &'static str,
    repeat: usize,
    /// Whether two columns share a register, 16 bits of each: `.pack::16b` or `.unpack::16b`.
    packed: bool,
    split: usize,
}

/// The shapes, and the registers of each for `.x1`.
const SHAPES: [(&str, usize); 5] = [("32x32b", 1), ("16x64b", 1), ("16x128b", 2), ("16x256b", 4), ("16x32bx2", 1)];

impl Transfer {
    /// Reads the modifiers of the instruction: `sync`, `aligned`, `16x256b`, `x8`, `pack::16b`, `b32`. The split is the
    /// immediate of `16x32bx2`, in columns.
    ///
    /// # Errors
    ///
    /// If PTX has no such form, or the form reduces.
    pub fn from_modifiers(modifiers: &[&str], split: u32) -> Result<Self, Unsupported> {
        let refused = || Unsupported::new(format!("tcgen05.{}", modifiers.join(".")));
        let (shape, registers) = SHAPES.into_iter().find(|(word, _)| modifiers.contains(word)).ok_or_else(refused)?;
        let repeat =
            modifiers.iter().find_map(|word| word.strip_prefix('x')?.parse::<usize>().ok()).ok_or_else(refused)?;
        if !repeat.is_power_of_two() || repeat * registers > 128 || modifiers.contains(&"red") {
            return Err(refused());
        }
        let packed = modifiers.iter().any(|word| word.ends_with("pack::16b"));
        Ok(Self { shape, repeat, packed, split: (split as usize).min(COLUMNS) })
    }

    /// The number of registers.
    pub fn registers(self) -> usize {
        SHAPES.iter().find(|(word, _)| *word == self.shape).map_or(0, |(_, registers)| registers * self.repeat)
    }

    /// The lane and the column of a register relative to the address, without packing. Section 9.7.16.2.3.
    fn place(self, lane: usize, register: usize) -> (usize, usize) {
        let (group, thread) = (lane / 4, lane % 4);
        match self.shape {
            "16x64b" => (group + 8 * (lane % 2), register * 2 + lane / 2 % 2),
            "16x128b" => (group + 8 * (register % 2), register / 2 * 4 + thread),
            "16x256b" => (group + 8 * (register / 2 % 2), register / 4 * 8 + thread * 2 + register % 2),
            "16x32bx2" => (lane % 16, register),
            _ => (lane, register),
        }
    }

    /// The cells of a register: one, or two when it is packed, the lower half first.
    pub fn cells(self, address: u32, lane: usize, register: usize) -> impl Iterator<Item = Cell> {
        let (down, along) = self.place(lane, register);
        let split = if self.shape == "16x32bx2" && lane >= 16 { self.split } else { 0 };
        let count = if self.packed { 2 } else { 1 };
        (0..count).map(move |half| Cell::from_address(address).after(down, split + along * count + half))
    }

    /// The cells that a warp accesses.
    pub fn touched(self, address: u32) -> Vec<Cell> {
        let places = (0..32).flat_map(|lane| (0..self.registers()).map(move |register| (lane, register)));
        places.flat_map(|(lane, register)| self.cells(address, lane, register)).collect()
    }

    /// `tcgen05.ld`.
    pub fn load(self, memory: &TensorMemory, address: u32) -> Vec<Lanes> {
        let mut registers = vec![[0; 32]; self.registers()];
        for (register, lanes) in registers.iter_mut().enumerate() {
            for (lane, value) in lanes.iter_mut().enumerate() {
                for (half, cell) in self.cells(address, lane, register).enumerate() {
                    let bits = u64::from(memory.get(cell));
                    *value |= if self.packed { (bits & 0xffff) << (16 * half) } else { bits };
                }
            }
        }
        registers
    }

    /// `tcgen05.st`. Unpacking writes zeros to the upper half of each cell.
    pub fn store(self, memory: &mut TensorMemory, address: u32, registers: &[Lanes]) {
        for (register, lanes) in registers.iter().enumerate().take(self.registers()) {
            for (lane, value) in lanes.iter().enumerate() {
                for (half, cell) in self.cells(address, lane, register).enumerate() {
                    let bits = if self.packed { value >> (16 * half) & 0xffff } else { *value };
                    memory.set(cell, bits as u32);
                }
            }
        }
    }
}

/// A form of `tcgen05.cp`. With `.cta_group::2`, each CTA of the pair copies from its own shared memory into its own
/// tensor memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copy {
    rows: usize,
    /// The bytes of a row.
    bytes: usize,
    /// The number of consecutive rows that are copied to consecutive lanes.
    group: usize,
    /// The distance in lanes between the beginnings of two groups.
    apart: usize,
    /// The lanes at which the copies begin.
    starts: &'static [usize],
}

/// Section 9.7.16.9.2: the modifiers, rows, bytes, and destinations. `.4x256b` has one row for each warp's lanes.
#[rustfmt::skip]
const COPIES: [(&str, &str, Copy); 6] = [
    ("128x256b", "",              Copy { rows: 128, bytes: 32, group: 128, apart: 128, starts: &[0] }),
    ("128x128b", "",              Copy { rows: 128, bytes: 16, group: 128, apart: 128, starts: &[0] }),
    ("4x256b",   "",              Copy { rows: 4,   bytes: 32, group: 1,   apart: 32,  starts: &[0] }),
    ("64x128b",  "warpx2::02_13", Copy { rows: 64,  bytes: 16, group: 64,  apart: 64,  starts: &[0, 64] }),
    ("64x128b",  "warpx2::01_23", Copy { rows: 64,  bytes: 16, group: 32,  apart: 64,  starts: &[0, 32] }),
    ("32x128b",  "warpx4",        Copy { rows: 32,  bytes: 16, group: 32,  apart: 32,  starts: &[0, 32, 64, 96] }),
];

impl Copy {
    /// Reads the modifiers of the instruction: `cta_group::1`, `64x128b`, `warpx2::02_13`.
    ///
    /// # Errors
    ///
    /// If PTX has no such form, or the form decompresses.
    pub fn from_modifiers(modifiers: &[&str]) -> Result<Self, Unsupported> {
        let multicast = modifiers.iter().find(|word| word.starts_with("warpx")).copied().unwrap_or_default();
        let decompresses = modifiers.iter().any(|word| word.contains("x16"));
        let found = COPIES.iter().find(|(shape, cast, _)| modifiers.contains(shape) && *cast == multicast);
        match found {
            Some((_, _, copy)) if !decompresses => Ok(*copy),
            _ => Err(Unsupported::new(format!("tcgen05.{}", modifiers.join(".")))),
        }
    }

    /// The source matrix.
    ///
    /// # Errors
    ///
    /// If the descriptor is malformed.
    pub fn source(self, descriptor: u64) -> Result<SharedMatrix, Unsupported> {
        SharedMatrix::of_tcgen05(descriptor, [self.rows, self.bytes, 8], false)
    }

    /// The destination cells of 4 bytes of a unit, counted from its start.
    pub fn cells(self, address: u32, unit: Unit, word: usize) -> impl Iterator<Item = Cell> {
        let lane = unit.row / self.group * self.apart + unit.row % self.group;
        self.starts.iter().map(move |start| Cell::from_address(address).after(start + lane, unit.column / 4 + word))
    }

    /// The cells that are written.
    pub fn touched(self, address: u32, source: &SharedMatrix) -> Vec<Cell> {
        source.units().flat_map(|unit| (0..4).flat_map(move |word| self.cells(address, unit, word))).collect()
    }

    /// Copies. The closure reads 16 bytes of shared memory.
    pub fn copy(self, memory: &mut TensorMemory, address: u32, source: &SharedMatrix, read: &dyn Fn(u32) -> [u8; 16]) {
        for unit in source.units() {
            let bytes = u128::from_le_bytes(read(unit.address));
            for word in 0..4 {
                for cell in self.cells(address, unit, word) {
                    memory.set(cell, (bytes >> (32 * word)) as u32);
                }
            }
        }
    }
}

/// The cells of `tcgen05.shift.down`: 32 bytes in each of the 32 lanes of a warp.
pub fn shifted(address: u32) -> impl Iterator<Item = Cell> {
    (0..32).flat_map(move |lane| (0..8).map(move |column| Cell::from_address(address).after(lane, column)))
}

/// `tcgen05.shift.down`: each of the 32 lanes gets the row of the next lane. The last lane keeps its row, which
/// `tcgen05.cp.4x256b` refreshes. The manual does not define the direction of down in numbers; this is the direction in
/// which that copy makes sense.
pub fn shift(memory: &mut TensorMemory, address: u32) {
    for cell in shifted(address) {
        if cell.lane != Cell::from_address(address).lane + 31 {
            memory.set(cell, memory.get(cell.after(1, 0)));
        }
    }
}
