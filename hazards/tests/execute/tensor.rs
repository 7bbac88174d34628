//! Where matrices lie, in shared memory and in tensor memory.

use super::code::{Address, Source};

/// A matrix of `wgmma` or `tcgen05.mma` in shared memory, of which one instruction reads 32 bytes along K.
#[derive(Clone, Copy, Debug)]
pub struct Matrix {
    /// M or N.
    pub rows: u32,
    /// M or N is what is contiguous.
    pub across: bool,
    /// Its descriptor is one of `tcgen05`.
    pub tensor: bool,
}

impl Matrix {
    /// The parts that it consists of, as ranges of bytes. With a swizzle, whole rows of the pattern.
    pub fn parts(self, descriptor: u64) -> Vec<(u64, u64)> {
        let field = |at: u32| (descriptor >> at & 0x3fff) << 4;
        let (start, leading, stride) = (field(0), field(16), field(32));
        let swizzle = if self.tensor {
            match descriptor >> 61 & 7 {
                1 | 2 => 128,
                4 => 64,
                6 => 32,
                _ => 0,
            }
        } else {
            [0, 128, 64, 32][(descriptor >> 62 & 3) as usize]
        };
        let rows = u64::from(self.rows);
        // A pattern has eight rows of its width.
        let (first, size, counts, steps) = match (swizzle, self.across) {
            (0, _) => (start, 128, [rows.div_ceil(8), 2], [stride, leading]),
            (width, false) => (start & !(8 * width - 1), 8 * width, [rows.div_ceil(8), 1], [stride, 0]),
            // Sixteen rows of K are two patterns; elements are two bytes wide.
            (width, true) => (start & !(8 * width - 1), 8 * width, [(rows * 2).div_ceil(width), 2], [leading, stride]),
        };
        let mut parts = Vec::new();
        for i in 0..counts[0] {
            for j in 0..counts[1] {
                parts.push((first + i * steps[0] + j * steps[1], size));
            }
        }
        parts
    }
}

#[derive(Clone, Debug)]
pub struct Product {
    pub d: Address,
    /// The descriptor of A, or where it is in tensor memory.
    pub a: Option<Source>,
    pub a_tensor: Option<Address>,
    pub b: Source,
    /// The instruction descriptor.
    pub shape: Source,
    pub scales: Vec<Address>,
    pub scaled: bool,
}

/// What an instruction descriptor says.
#[derive(Clone, Copy, Debug)]
pub struct Dimensions {
    pub m: u32,
    pub n: u32,
    pub a_across: bool,
    pub b_across: bool,
}

impl Dimensions {
    #[expect(clippy::cast_possible_truncation, reason = "fields of a few bits")]
    pub fn of(descriptor: u64, scaled: bool) -> Self {
        let field = |at: u32, bits: u32| (descriptor >> at) as u32 & ((1 << bits) - 1);
        let m = if scaled { field(27, 2) << 7 } else { field(24, 5) << 4 };
        Self { m, n: field(17, 6) << 3, a_across: field(15, 1) == 1, b_across: field(16, 1) == 1 }
    }
}

/// Lanes and columns of tensor memory.
#[derive(Clone, Copy, Debug)]
pub struct Slice {
    pub lanes: u32,
    pub columns: u32,
    /// The second half begins so many columns behind the first.
    pub apart: Option<u32>,
    /// Bytes of a copy's source.
    pub bytes: u32,
}

impl Slice {
    /// Of `tcgen05.ld` and `.st`, for one warp.
    pub fn of(shape: &str, repeat: u32) -> Option<Self> {
        let (lanes, columns) = match shape {
            "32x32b" => (32, 1),
            "16x32bx2" => (16, 1),
            "16x64b" => (16, 2),
            "16x128b" => (16, 4),
            "16x256b" => (16, 8),
            _ => return None,
        };
        Some(Self { lanes, columns: columns * repeat, apart: None, bytes: 0 })
    }

    pub fn apart(self, columns: Option<u32>) -> Self {
        Self { apart: columns, ..self }
    }

    /// Of `tcgen05.cp`: all lanes, as what is copied to some warps is copied to others too.
    pub fn of_copy(words: &[&str]) -> Option<Self> {
        let shape = words.iter().find(|word| word.as_bytes()[0].is_ascii_digit() && word.ends_with('b'))?;
        let (rows, bits) = shape.trim_end_matches('b').split_once('x')?;
        let (rows, bits): (u32, u32) = (rows.parse().ok()?, bits.parse().ok()?);
        Some(Self { lanes: 128, columns: bits / 32, apart: None, bytes: rows * bits / 8 })
    }

    /// The source of a copy: rows of a width that is that of the columns.
    pub fn parts(self, descriptor: u64) -> Vec<(u64, u64)> {
        let field = |at: u32| (descriptor >> at & 0x3fff) << 4;
        let (start, leading, stride) = (field(0), field(16), field(32));
        let width = u64::from(self.columns * 4);
        let rows = u64::from(self.bytes) / width;
        match descriptor >> 61 & 7 {
            0 => {
                let mut parts = Vec::new();
                for i in 0..rows.div_ceil(8) {
                    for j in 0..width.div_ceil(16) {
                        parts.push((start + i * stride + j * leading, 128.min(u64::from(self.bytes))));
                    }
                }
                parts
            }
            _ => (0..rows.div_ceil(8)).map(|i| ((start & !1023) + i * stride, 1024)).collect(),
        }
    }
}
