//! Textures and surfaces: images in global memory, and the elements that a texture read combines.
//!
//! The formulas are those of the CUDA C++ Programming Guide, "Texture Fetching". An image is a piece of global memory, so
//! that its accesses are checked as other accesses are. A texture has one mipmap level. In a cube, a linear filter does not
//! cross the edges of a face.

mod sample;

use ptx_isa::Type;
use rustc_hash::FxHashMap;

pub use self::sample::{Index, combined, face};

/// Elements in rows, planes or layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    /// The address of the first element.
    pub address: u64,
    /// The type of a channel: an integer of at most 32 bits, `F16` or `F32`.
    pub channel: Type,
    /// The number of channels of an element: 1, 2 or 4.
    pub channels: u32,
    /// The number of elements of a row; of rows; of planes, or of layers. Each is at least 1. The faces of a cube are
    /// six layers.
    pub sizes: [u32; 3],
    /// Whether the last size is a number of layers.
    pub has_layers: bool,
    /// The distance of rows, and of planes or layers, in bytes.
    pub pitches: [u64; 2],
}

impl Image {
    /// The size of an element in bytes.
    pub fn element_bytes(&self) -> u64 {
        u64::from(self.channel.bits() / 8 * self.channels)
    }
}

/// The element at coordinates outside of a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addressing {
    /// The texture is repeated. Only normalized coordinates have it; other coordinates are clamped.
    Wrap,
    /// The nearest element.
    Clamp,
    /// The texture is repeated, mirrored each time. Only normalized coordinates have it; other coordinates are clamped.
    Mirror,
    /// The color of the border.
    Border,
}

/// The way in which a texture is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampler {
    /// The addressing of each axis.
    pub addressing: [Addressing; 3],
    /// Whether the elements around the coordinates are interpolated.
    pub is_linear: bool,
    /// Whether coordinates are between 0 and 1, instead of 0 and the size.
    pub is_normalized: bool,
    /// Whether integers are read as numbers between 0 or -1, and 1.
    pub gives_fractions: bool,
    /// The color of the border.
    pub border: [f32; 4],
}

/// A texture, or a surface, which has no sampler.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Texture {
    pub image: Image,
    pub sampler: Option<Sampler>,
}

/// The textures and surfaces of a device, by their handles. No handle is given twice.
#[derive(Debug, Default)]
pub struct Textures {
    all: FxHashMap<u64, Texture>,
    last: u64,
}

impl Textures {
    pub fn insert(&mut self, texture: Texture) -> u64 {
        self.last += 1;
        self.all.insert(self.last, texture);
        self.last
    }

    pub fn remove(&mut self, handle: u64) {
        self.all.remove(&handle);
    }

    pub fn get(&self, handle: u64) -> Option<&Texture> {
        self.all.get(&handle)
    }

    /// Whether the device has never had a texture or a surface, as in runs without a description of them.
    pub fn is_unused(&self) -> bool {
        self.last == 0
    }
}
