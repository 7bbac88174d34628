//! The memory that a copy through a tensor map accesses: `cp.async.bulk.tensor`, `cp.reduce.async.bulk.tensor` and the
//! prefetch. Sections 5.5.3, 5.5.4, 5.5.7 and 9.7.9.27.1.

use super::{
    element::Unsupported,
    map::{Interleave, TensorMap},
    shared::Swizzle,
};

/// Bytes that are contiguous in shared memory and in global memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// `None` is outside of the tensor: a load writes the fill value, and a store skips the bytes.
    pub global: Option<u64>,
    pub shared: u32,
    pub bytes: u32,
}

/// The number of elements with padding in a row of a box.
const PADDED_ROW: u64 = 128;
/// The maximum number of bytes of a box. Shared memory is not larger.
const LARGEST: u64 = 256 << 10;

/// The parts of a copy, in the order in which they are made.
struct Copy<'a> {
    map: &'a TensorMap,
    swizzle: Swizzle,
    shared: u32,
    chunks: Vec<Chunk>,
}

impl TensorMap {
    /// The number of elements of a box in a dimension.
    fn count(&self, dimension: usize) -> u64 {
        let stride = if dimension == 0 { 1 } else { self.element_strides[dimension].max(1) };
        u64::from(self.box_sizes[dimension].div_ceil(stride))
    }

    /// The bytes of a row of a box.
    fn row(&self) -> u64 {
        let (elements, bytes) = self.element.unit();
        self.count(0) / elements * bytes
    }

    fn checked(&self, coordinates: &[i32], shared: u32) -> Result<Copy<'_>, Unsupported> {
        let refused = |what: &str| Err(Unsupported::new(format!("a copy through a tensor map {what}")));
        let swizzle = self.swizzle()?;
        if !(1..=5).contains(&self.rank) || coordinates.len() != self.rank as usize {
            return refused("of another rank");
        }
        if self.interleave != Interleave::None {
            return refused("with an interleave layout");
        }
        if self.element.is_padded() && self.count(0) != PADDED_ROW {
            return refused("of elements with padding whose box does not have 128 elements in its first dimension");
        }
        let row = self.count(0) / self.element.unit().0 * self.element.shared_unit();
        if row == 0
            || row > LARGEST
            || !row.is_multiple_of(16)
            || swizzle != Swizzle::None && row > u64::from(swizzle.width())
        {
            return refused("whose rows are not of a multiple of 16 bytes within the swizzle");
        }
        Ok(Copy { map: self, swizzle, shared, chunks: Vec::new() })
    }

    /// The size of a box in bytes, without padding. `complete_tx` counts all of them, including bytes outside of the
    /// tensor.
    pub fn tile_bytes(&self) -> u64 {
        (1..(self.rank as usize).min(5))
            .fold(self.row(), |bytes, dimension| bytes.saturating_mul(self.count(dimension)))
    }

    /// The parts of a box in the mode `.tile`. Coordinates are in the order of the instruction; `shared` is the address
    /// in shared memory.
    ///
    /// # Errors
    ///
    /// If the map has no such box, or a box that is not executed.
    pub fn tile(&self, coordinates: &[i32], shared: u32) -> Result<Vec<Chunk>, Unsupported> {
        let mut copy = self.checked(coordinates, shared)?;
        if self.tile_bytes() > LARGEST {
            return Err(Unsupported::new("a box that is larger than shared memory"));
        }
        let rank = self.rank as usize;
        let rows = self.tile_bytes() / self.row();
        for row in 0..rows {
            let mut rest = row;
            let mut at = [0; 5];
            at[0] = i64::from(coordinates[0]);
            for dimension in 1..rank {
                let count = self.count(dimension);
                let stride = i64::from(self.element_strides[dimension].max(1));
                at[dimension] = i64::from(coordinates[dimension]) + (rest % count) as i64 * stride;
                rest /= count;
            }
            copy.row(&at);
        }
        Ok(copy.chunks)
    }

    /// The bytes that `.tile::gather4` writes, or `.tile::scatter4` reads.
    pub fn gather_bytes(&self) -> u64 {
        self.row().saturating_mul(4)
    }

    /// The parts of four rows of a matrix, in the modes `.tile::gather4` and `.tile::scatter4`. The coordinates are the
    /// column and the four rows.
    ///
    /// # Errors
    ///
    /// If the map has another rank, or a box that is not executed.
    pub fn gather(&self, coordinates: [i32; 5], shared: u32) -> Result<Vec<Chunk>, Unsupported> {
        let mut copy = self.checked(&coordinates[..2], shared)?;
        for row in &coordinates[1..] {
            copy.row(&[coordinates[0].into(), (*row).into(), 0, 0, 0]);
        }
        Ok(copy.chunks)
    }

    /// The bytes of a copy in the mode `.im2col`.
    pub fn im2col_bytes(&self) -> u64 {
        self.row().saturating_mul(u64::from(self.box_sizes[1]))
    }

    /// The parts of pixels in the mode `.im2col`, from coordinates and offsets in the order of the instruction. The
    /// filter's base moves through the bounding box, along its first dimension first, and restarts at the lower corner
    /// of each dimension; the next image follows.
    ///
    /// # Errors
    ///
    /// If the map has fewer than three dimensions, or a feature that is not executed.
    pub fn im2col(&self, coordinates: &[i32], offsets: &[u16], shared: u32) -> Result<Vec<Chunk>, Unsupported> {
        let mut copy = self.checked(coordinates, shared)?;
        let rank = self.rank as usize;
        if rank < 3 || offsets.len() != rank - 2 || self.im2col_bytes() > LARGEST {
            return Err(Unsupported::new("this copy in the mode .im2col"));
        }
        let mut base = [0; 5];
        base.iter_mut().zip(coordinates).for_each(|(base, coordinate)| *base = i64::from(*coordinate));
        for _ in 0..self.box_sizes[1] {
            let mut at = base;
            at[1..].iter_mut().zip(offsets).for_each(|(at, offset)| *at += i64::from(*offset));
            copy.row(&at);
            self.next_pixel(&mut base);
        }
        Ok(copy.chunks)
    }

    /// Moves the filter's base to the next pixel.
    fn next_pixel(&self, base: &mut [i64; 5]) {
        let last = (self.rank as usize).clamp(2, 5) - 1;
        for (i, base) in base[1..last].iter_mut().enumerate() {
            *base += i64::from(self.element_strides[i + 1].max(1));
            if *base < i64::from(self.sizes[i + 1]) + i64::from(self.upper[i]) {
                return;
            }
            *base = i64::from(self.lower[i]);
        }
        base[last] += 1;
    }
}

impl Copy<'_> {
    /// Adds a row of a box, which begins at the coordinates `at`. In shared memory it follows the previous row.
    fn row(&mut self, at: &[i64; 5]) {
        let map = self.map;
        let outer =
            (1..map.rank as usize).all(|dimension| (0..i64::from(map.sizes[dimension])).contains(&at[dimension]));
        let start = (1..map.rank as usize).fold(map.address, |address, dimension| {
            address.wrapping_add(map.strides[dimension - 1].wrapping_mul(at[dimension] as u64))
        });
        let (elements, bytes) = map.element.unit();
        let units = map.count(0) / elements;
        // The number of units before the tensor, and the range of units in it.
        let before = (-at[0]).clamp(0, (units * elements) as i64) as u64 / elements;
        let end = (i64::from(map.sizes[0]) - at[0]).clamp(0, (units * elements) as i64) as u64 / elements;
        let inside = if outer { before..end.max(before) } else { 0..0 };
        let first = (at[0].wrapping_add((inside.start * elements) as i64) as u64 / elements).wrapping_mul(bytes);
        let global = Some(start.wrapping_add(first));
        for (global, units) in [(None, inside.start), (global, inside.end - inside.start), (None, units - inside.end)] {
            match map.element.shared_unit() - bytes {
                0 => self.part(global, (units * bytes) as u32),
                padding => (0..units).for_each(|unit| {
                    self.part(global.map(|global| global.wrapping_add(unit * bytes)), bytes as u32);
                    self.shared = self.shared.wrapping_add(padding as u32);
                }),
            }
        }
    }

    /// Adds bytes that are contiguous before the swizzle.
    fn part(&mut self, mut global: Option<u64>, mut bytes: u32) {
        let atom = if self.swizzle == Swizzle::B128Atom32Flip8 { 8 } else { 16 };
        while bytes > 0 {
            let count = if self.swizzle == Swizzle::None { bytes } else { bytes.min(atom - self.shared % atom) };
            self.push(Chunk { global, shared: self.swizzle.apply(self.shared, 0), bytes: count });
            self.shared = self.shared.wrapping_add(count);
            global = global.map(|global| global.wrapping_add(count.into()));
            bytes -= count;
        }
    }

    /// Adds a chunk. A chunk that continues the last chunk is merged with it.
    fn push(&mut self, chunk: Chunk) {
        if let Some(last) = self.chunks.last_mut() {
            let after = last.global.map(|global| global.wrapping_add(last.bytes.into()));
            if after == chunk.global && last.shared.checked_add(last.bytes) == Some(chunk.shared) {
                last.bytes += chunk.bytes;
                return;
            }
        }
        self.chunks.push(chunk);
    }
}
