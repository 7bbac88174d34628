//! `ldmatrix`, `stmatrix` and `movmatrix`: 8×8 matrices of 16-bit elements between rows in memory and fragments.
//! Sections 9.7.14.5.15 to 9.7.14.5.17.

use ptx_isa::matrix::{MatrixForm, MatrixShape};

use super::{
    element::Element,
    fragment::{Lanes, get, set},
};

/// A row: 16 bytes of shared memory.
pub type Row = [u8; 16];

/// A form of `ldmatrix` or `stmatrix`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LdMatrix {
    count: usize,
    transposed: bool,
}

impl LdMatrix {
    /// The form. `None` if the matrices have elements of 8 bits or fewer, or PTX has no such form.
    pub fn from_form(form: &MatrixForm) -> Option<Self> {
        let is_square = form.shape == Some(MatrixShape { m: 8, n: 8, k: None });
        let count = usize::from(form.count.filter(|count| matches!(count, 1 | 2 | 4))?);
        (is_square && form.elements == [Element::B16]).then_some(Self { count, transposed: form.transposes })
    }

    /// The number of registers, each for one matrix.
    pub fn registers(&self) -> usize {
        self.count
    }

    /// The number of lanes, from lane 0 on, that give the address of a row of 16 bytes, aligned to 16. The addresses of
    /// the remaining lanes are ignored.
    pub fn rows(&self) -> usize {
        self.count * 8
    }

    /// The row, as the number of its lane, and the index of the 16-bit element in it, for an element of a register.
    fn place(self, register: usize, lane: usize, element: usize) -> (usize, usize) {
        let (row, column) = (lane / 4, lane % 4 * 2 + element);
        if self.transposed { (register * 8 + column, row) } else { (register * 8 + row, column) }
    }

    /// Loads registers from rows. Each row is at the index of the lane that gives its address.
    pub fn load(self, rows: &[Row]) -> Vec<Lanes> {
        let mut registers = vec![[0; 32]; self.count];
        for register in 0..self.count {
            for (lane, element) in (0..64).map(|i| (i / 2, i % 2)) {
                let (row, column) = self.place(register, lane, element);
                let row = rows.get(row).copied().unwrap_or_default();
                let value = u16::from_le_bytes([row[column * 2], row[column * 2 + 1]]);
                set(&mut registers[register..], lane, element, 16, u64::from(value));
            }
        }
        registers
    }

    /// The rows that `stmatrix` writes, by the lane that gives their address.
    pub fn store(self, registers: &[Lanes]) -> Vec<Row> {
        let mut rows = vec![Row::default(); self.rows()];
        for register in 0..self.count.min(registers.len()) {
            for (lane, element) in (0..64).map(|i| (i / 2, i % 2)) {
                let (row, column) = self.place(register, lane, element);
                let value = get(&registers[register..], lane, element, 16) as u16;
                rows[row][column * 2..][..2].copy_from_slice(&value.to_le_bytes());
            }
        }
        rows
    }
}

/// The result of `movmatrix.sync.aligned.m8n8.trans.b16`.
pub fn movmatrix(source: &Lanes) -> Lanes {
    let plain = LdMatrix { count: 1, transposed: false };
    let rows = plain.store(&[*source]);
    LdMatrix { transposed: true, ..plain }.load(&rows)[0]
}
