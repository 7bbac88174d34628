//! Tensor maps, and `tensormap.replace`. Sections 5.5.8 and 9.7.9.28.
//!
//! The layout of NVIDIA's 128 bytes is not published. The layout here begins with a magic number, so that a block that
//! was not made with [`TensorMap::encode`] is recognized. A block of zeros is a map without a tensor: kernels that
//! build a map with `tensormap.replace` begin with it.

use strum::{Display, EnumIter, EnumString};

use super::{element::Unsupported, shared::Swizzle};

const MAGIC: [u8; 8] = *b"ptx-map1";

/// The type of a tensor's elements, in the order of `tensormap.replace`.
#[derive(Clone, Copy, Debug, Default, Display, EnumIter, EnumString, PartialEq, Eq)]
#[strum(serialize_all = "snake_case")]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum TensorElement {
    #[default]
    U8,
    U16,
    U32,
    S32,
    U64,
    S64,
    F16,
    F32,
    F32Ftz,
    F64,
    Bf16,
    Tf32,
    Tf32Ftz,
    B4x16,
    B4x16P64,
    B6x16P32,
}

const ELEMENTS: [TensorElement; 16] = {
    use TensorElement::*;
    [U8, U16, U32, S32, U64, S64, F16, F32, F32Ftz, F64, Bf16, Tf32, Tf32Ftz, B4x16, B4x16P64, B6x16P32]
};

impl TensorElement {
    /// The number of elements that are stored as a unit, and the bytes of the unit.
    pub fn unit(self) -> (u64, u64) {
        match self {
            Self::U8 => (1, 1),
            Self::U16 | Self::F16 | Self::Bf16 => (1, 2),
            Self::U32 | Self::S32 | Self::F32 | Self::F32Ftz | Self::Tf32 | Self::Tf32Ftz => (1, 4),
            Self::U64 | Self::S64 | Self::F64 => (1, 8),
            Self::B4x16 | Self::B4x16P64 => (16, 8),
            Self::B6x16P32 => (16, 12),
        }
    }

    /// Whether each unit has padding in shared memory.
    pub fn is_padded(self) -> bool {
        matches!(self, Self::B4x16P64 | Self::B6x16P32)
    }

    /// The bytes of a unit in shared memory. The types with padding fill 16 bytes.
    pub fn shared_unit(self) -> u64 {
        if self.is_padded() { 16 } else { self.unit().1 }
    }

    /// The conversion of an element of 32 bits by a load: `.ftz` flushes denormals to zero, and `.tf32` rounds to
    /// nearest even.
    pub fn loaded(self, bits: u32) -> u32 {
        let flushed = match self {
            Self::F32Ftz | Self::Tf32Ftz if bits & 0x7f80_0000 == 0 => bits & 0x8000_0000,
            _ => bits,
        };
        match self {
            Self::Tf32 | Self::Tf32Ftz if f32::from_bits(bits).is_nan() => bits | 0x2000,
            Self::Tf32 | Self::Tf32Ftz => (flushed.wrapping_add(0xfff + (flushed >> 13 & 1))) & !0x1fff,
            _ => flushed,
        }
    }
}

/// The grouping of channels. Only a map without groups is executed.
#[derive(Clone, Copy, Debug, Default, Display, EnumString, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Interleave {
    #[default]
    #[strum(to_string = "none")]
    None,
    #[strum(to_string = "16B")]
    B16,
    #[strum(to_string = "32B")]
    B32,
}

/// The value of an element outside of the tensor.
#[derive(Clone, Copy, Debug, Default, EnumString, PartialEq, Eq)]
#[strum(serialize_all = "lowercase")]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Fill {
    #[default]
    Zero,
    /// A NaN. The manual does not specify its bits; here it is the canonical NaN.
    Nan,
}

impl Fill {
    /// The bytes of an element outside of the tensor.
    pub fn bytes(self, element: TensorElement) -> [u8; 8] {
        use TensorElement::*;
        match (self, element) {
            (Self::Nan, F16 | Bf16) => [0xff, 0x7f, 0, 0, 0, 0, 0, 0],
            (Self::Nan, F32 | F32Ftz | Tf32 | Tf32Ftz) => [0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0],
            (Self::Nan, F64) => 0x7fff_ffff_ffff_ffff_u64.to_le_bytes(),
            _ => [0; 8],
        }
    }
}

/// The contents of a tensor map. Dimensions are in the order of `cuTensorMapEncodeTiled`: the elements of the first
/// dimension are contiguous.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TensorMap {
    pub address: u64,
    pub element: TensorElement,
    /// 1 to 5, or 0 for a map without a tensor.
    pub rank: u32,
    /// In elements.
    pub sizes: [u32; 5],
    /// In bytes, of every dimension except the first.
    pub strides: [u64; 4],
    /// In elements. For im2col, the first is the channels per pixel, and the second the pixels per column.
    pub box_sizes: [u32; 5],
    /// Traversal strides, in elements.
    pub element_strides: [u32; 5],
    pub interleave: Interleave,
    /// The numbers of the swizzle mode and its atomicity in `tensormap.replace`.
    pub swizzle_mode: u8,
    pub swizzle_atomicity: u8,
    pub fill: Fill,
    /// The corners of the bounding box of im2col, in the dimensions between the first and the last.
    pub lower: [i16; 3],
    pub upper: [i16; 3],
}

/// A field of `tensormap.replace`, with the dimension, which the instruction calls `ord`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    GlobalAddress,
    Rank,
    BoxDim(usize),
    GlobalDim(usize),
    GlobalStride(usize),
    ElementStride(usize),
    Elemtype,
    InterleaveLayout,
    SwizzleMode,
    SwizzleAtomicity,
    FillMode,
}

impl Field {
    /// The field with this name in PTX.
    pub fn from_word(word: &str, ord: usize) -> Option<Self> {
        Some(match word {
            "global_address" => Self::GlobalAddress,
            "rank" => Self::Rank,
            "box_dim" => Self::BoxDim(ord),
            "global_dim" => Self::GlobalDim(ord),
            "global_stride" => Self::GlobalStride(ord),
            "element_stride" => Self::ElementStride(ord),
            "elemtype" => Self::Elemtype,
            "interleave_layout" => Self::InterleaveLayout,
            "swizzle_mode" => Self::SwizzleMode,
            "swizzle_atomicity" => Self::SwizzleAtomicity,
            "fill_mode" => Self::FillMode,
            _ => return None,
        })
    }
}

/// The entry of a list with a number.
fn numbered<T: Copy>(list: &[T], number: u64, what: &str) -> Result<T, Unsupported> {
    let found = usize::try_from(number).ok().and_then(|number| list.get(number));
    found.copied().ok_or_else(|| Unsupported::new(format!("the {what} {number} of a tensor map")))
}

impl TensorMap {
    /// # Errors
    ///
    /// If the mode and the atomicity cannot be combined.
    pub fn swizzle(&self) -> Result<Swizzle, Unsupported> {
        Ok(match (self.swizzle_mode, self.swizzle_atomicity) {
            (0, _) => Swizzle::None,
            (1, 0) => Swizzle::B32,
            (2, 0) => Swizzle::B64,
            (3, 0) => Swizzle::B128,
            (3, 1) => Swizzle::B128Atom32,
            (3, 2) => Swizzle::B128Atom32Flip8,
            (3, 3) => Swizzle::B128Atom64,
            (4, 0) => Swizzle::B96,
            (mode, atomicity) => {
                return Err(Unsupported::new(format!("the swizzle {mode} with atomicity {atomicity}")));
            }
        })
    }

    /// Sets a field to the instruction's operand.
    ///
    /// # Errors
    ///
    /// If the map has no such dimension, or the field no such value.
    pub fn replace(&mut self, field: Field, value: u64) -> Result<(), Unsupported> {
        let small = value as u32;
        let place = |list: &mut [u32], ord: usize| {
            let place =
                list.get_mut(ord).ok_or_else(|| Unsupported::new(format!("dimension {ord} of a tensor map")))?;
            *place = small;
            Ok(())
        };
        match field {
            Field::GlobalAddress => self.address = value,
            Field::Rank => self.rank = numbered(&[1, 2, 3, 4, 5], value, "rank")?,
            Field::BoxDim(ord) => place(&mut self.box_sizes, ord)?,
            Field::GlobalDim(ord) => place(&mut self.sizes, ord)?,
            Field::ElementStride(ord) => place(&mut self.element_strides, ord)?,
            Field::GlobalStride(ord) => {
                let refused = || Unsupported::new(format!("dimension {ord} of a tensor map"));
                *self.strides.get_mut(ord).ok_or_else(refused)? = value;
            }
            Field::Elemtype => self.element = numbered(&ELEMENTS, value, "type")?,
            Field::InterleaveLayout => {
                self.interleave = numbered(&[Interleave::None, Interleave::B16, Interleave::B32], value, "interleave")?;
            }
            Field::SwizzleMode => self.swizzle_mode = numbered(&[0, 1, 2, 3, 4], value, "swizzle")?,
            Field::SwizzleAtomicity => self.swizzle_atomicity = numbered(&[0, 1, 2, 3], value, "atomicity")?,
            Field::FillMode => self.fill = numbered(&[Fill::Zero, Fill::Nan], value, "fill mode")?,
        }
        Ok(())
    }

    /// The block of 128 bytes in the layout of this module, which no GPU reads.
    pub fn encode(&self) -> [u8; 128] {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.address.to_le_bytes());
        let interleave = self.interleave as u8;
        bytes.extend([
            self.element as u8,
            self.rank as u8,
            interleave,
            self.swizzle_mode,
            self.swizzle_atomicity,
            self.fill as u8,
        ]);
        self.strides.iter().for_each(|stride| bytes.extend(stride.to_le_bytes()));
        self.sizes.iter().for_each(|size| bytes.extend(size.to_le_bytes()));
        // Boxes have at most 1024 elements in a dimension, and traversal strides are at most 8.
        self.box_sizes.iter().for_each(|size| bytes.extend((*size as u16).to_le_bytes()));
        bytes.extend(self.element_strides.map(|stride| stride as u8));
        self.lower.iter().chain(&self.upper).for_each(|corner| bytes.extend(corner.to_le_bytes()));
        let mut block = [0; 128];
        block.iter_mut().zip(bytes).for_each(|(place, byte)| *place = byte);
        block
    }

    /// # Errors
    ///
    /// If the block has neither the magic number nor only zeros, or has an invalid field.
    pub fn decode(block: &[u8; 128]) -> Result<Self, Unsupported> {
        if block.iter().all(|byte| *byte == 0) {
            return Ok(Self::default());
        }
        let mut rest = block.as_slice();
        let mut next = |count: usize| {
            let (bytes, after) = rest.split_at_checked(count).unwrap_or((&[], &[]));
            rest = after;
            bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
        };
        if next(8) != u64::from_le_bytes(MAGIC) {
            return Err(Unsupported::new("a tensor map that is none of ours"));
        }
        let mut map = Self { address: next(8), ..Self::default() };
        map.element = numbered(&ELEMENTS, next(1), "type")?;
        map.rank = numbered(&[0, 1, 2, 3, 4, 5], next(1), "rank")?;
        let fields = [Field::InterleaveLayout, Field::SwizzleMode, Field::SwizzleAtomicity, Field::FillMode];
        for field in fields {
            map.replace(field, next(1))?;
        }
        map.strides = [(); 4].map(|()| next(8));
        map.sizes = [(); 5].map(|()| next(4) as u32);
        map.box_sizes = [(); 5].map(|()| next(2) as u32);
        map.element_strides = [(); 5].map(|()| next(1) as u32);
        map.lower = [(); 3].map(|()| next(2) as i16);
        map.upper = [(); 3].map(|()| next(2) as i16);
        Ok(map)
    }
}
