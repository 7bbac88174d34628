//! Copies and fills of memory.

use std::{ptr, slice};

use crate::{
    error::{Done, Error},
    gpu::Gpu,
    objects::{Copy, Fill, Side},
};

impl Gpu {
    pub fn copy(&mut self, copy: &Copy) -> Done {
        let Copy { to, from, bytes, rows, layers } = copy;
        for layer in 0..*layers {
            for row in 0..*rows {
                self.copy_row((to.side, to.at(row, layer)?), (from.side, from.at(row, layer)?), *bytes)?;
            }
        }
        Ok(())
    }

    fn copy_row(&mut self, (to_side, to): (Side, u64), (from_side, from): (Side, u64), bytes: usize) -> Done {
        if bytes == 0 {
            return Ok(());
        }
        if to == 0 || from == 0 {
            return Err(Error::InvalidValue);
        }
        let is_device = |side, address| side == Side::Device || self.device.find(address).is_some();
        match (is_device(to_side, to), is_device(from_side, from)) {
            (true, true) => {
                let held = self.read(from, bytes)?.to_vec();
                self.write(to, &held)
            }
            // SAFETY: the program promises that it may read the bytes.
            (true, false) => self.write(to, unsafe { slice::from_raw_parts(from as *const u8, bytes) }),
            (false, true) => {
                let held = self.read(from, bytes)?;
                // SAFETY: the program promises that it may write the bytes. They may be the bytes that are read.
                unsafe { ptr::copy(held.as_ptr(), to as *mut u8, bytes) };
                Ok(())
            }
            (false, false) => {
                // SAFETY: the program promises that it may read and write the bytes.
                unsafe { ptr::copy(from as *const u8, to as *mut u8, bytes) };
                Ok(())
            }
        }
    }

    pub fn fill(&mut self, fill: &Fill) -> Done {
        let Fill { address, value, size, width, pitch, rows } = *fill;
        let row: Vec<u8> = value.to_le_bytes()[..size].repeat(width);
        for index in 0..rows as u64 {
            if !row.is_empty() {
                self.write(address + index * pitch as u64, &row)?;
            }
        }
        Ok(())
    }
}
