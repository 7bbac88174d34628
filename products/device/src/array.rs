//! Arrays, and the descriptions of textures and surfaces.

use ptx_execute::{Addressing, Image as Elements, Sampler};
use ptx_isa::Type;

use crate::{
    error::{Done, Error},
    handle::Handle,
    objects::{Copy, Place, Side},
    say::say_once,
};

/// The formats of channels, with their numbers in `CUarray_format`.
const FORMATS: [(u32, Type); 8] = [
    (0x01, Type::U8),
    (0x02, Type::U16),
    (0x03, Type::U32),
    (0x08, Type::S8),
    (0x09, Type::S16),
    (0x0a, Type::S32),
    (0x10, Type::F16),
    (0x20, Type::F32),
];
/// The numbers of `CUaddress_mode`.
const ADDRESSING: [Addressing; 4] = [Addressing::Wrap, Addressing::Clamp, Addressing::Mirror, Addressing::Border];

/// The flags of `CUDA_ARRAY3D_DESCRIPTOR`.
pub const LAYERED: u32 = 1;
pub const CUBE: u32 = 4;
/// The flags that say how an array is used, which is not checked: surfaces, gathers, depths, and colors.
pub const USES: u32 = 0x3a;

/// The flags of `CUDA_TEXTURE_DESC`.
pub const READ_AS_INTEGER: u32 = 1;
pub const NORMALIZED: u32 = 2;
pub const SRGB: u32 = 0x10;

/// The type of a channel from its number.
fn channel(format: u32) -> Done<Type> {
    let found = FORMATS.into_iter().find(|(number, _)| *number == format);
    found.map(|(_, ty)| ty).ok_or_else(|| {
        say_once(&format!(
            "expected a format of integers or floating-point numbers in an array, found number {format:#x}"
        ));
        Error::NotSupported
    })
}

/// A format of elements: the number of the type of a channel, and the number of channels.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    pub channel: u32,
    pub channels: u32,
}

impl Format {
    /// The format of a type.
    pub fn new(ty: Type, channels: u32) -> Done<Self> {
        let found = FORMATS.into_iter().find(|(_, other)| *other == ty);
        found.map(|(channel, _)| Self { channel, channels }).ok_or(Error::InvalidValue)
    }

    /// The type of a channel.
    pub fn ty(self) -> Done<Type> {
        channel(self.channel)
    }

    /// The size of an element in bytes.
    pub fn bytes(self) -> Done<u64> {
        match self.channels {
            1 | 2 | 4 => Ok(u64::from(self.ty()?.bits() / 8 * self.channels)),
            _ => Err(Error::InvalidValue),
        }
    }
}

/// `CUDA_ARRAY3D_DESCRIPTOR`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Descriptor {
    /// The sizes in elements. An axis that the array does not have is 0.
    pub sizes: [usize; 3],
    pub format: Format,
    pub flags: u32,
}

/// An array.
#[derive(Clone, Copy, Debug)]
pub struct Array {
    pub descriptor: Descriptor,
    pub elements: Elements,
}

impl Array {
    /// The number of bytes of a row.
    pub fn width(&self) -> usize {
        self.elements.sizes[0] as usize * self.elements.element_bytes() as usize
    }

    /// The end of a copy in the array: `x` is in bytes. The copy has rows of `bytes` bytes.
    pub fn place(&self, [x, y, z]: [usize; 3], [bytes, rows, layers]: [usize; 3]) -> Done<Place> {
        let [_, height, depth] = self.elements.sizes.map(|size| size as usize);
        let fits = |at: usize, count: usize, size: usize| at.checked_add(count).is_some_and(|end| end <= size);
        if !fits(x, bytes, self.width()) || !fits(y, rows, height) || !fits(z, layers, depth) {
            return Err(Error::InvalidValue);
        }
        let [row, plane] = self.elements.pitches;
        let address = self.elements.address + z as u64 * plane + y as u64 * row + x as u64;
        Ok(Place { side: Side::Device, address, pitch: row as usize, height })
    }

    /// The copies of contiguous bytes to or from the rows of an array, from byte `x` of row `y` on: each with its place
    /// in the array, the offset in the contiguous bytes, and its sizes.
    pub fn pieces(&self, x: usize, y: usize, bytes: usize) -> Done<Vec<(Place, usize, [usize; 2])>> {
        let width = self.width();
        let (mut pieces, mut done) = (Vec::new(), 0);
        while done < bytes {
            let at = x.checked_add(done).ok_or(Error::InvalidValue)?;
            let (row, column, rest) = (y + at / width, at % width, bytes - done);
            // A part of a row, or all whole rows.
            let (length, rows) =
                if column > 0 || rest < width { (rest.min(width - column), 1) } else { (width, rest / width) };
            pieces.push((self.place([column, row, 0], [length, rows, 1])?, done, [length, rows]));
            done += length * rows;
        }
        Ok(pieces)
    }

    /// Copies of contiguous bytes to an array, or from it.
    pub fn copies(
        &self,
        x: usize,
        y: usize,
        (side, address): (Side, u64),
        bytes: usize,
        is_to: bool,
    ) -> Done<Vec<Copy>> {
        let copy = |(array, offset, [bytes, rows]): (Place, usize, [usize; 2])| {
            let flat = Place { side, address: address + offset as u64, pitch: bytes, height: 0 };
            let (to, from) = if is_to { (array, flat) } else { (flat, array) };
            Copy { to, from, bytes, rows, layers: 1 }
        };
        Ok(self.pieces(x, y, bytes)?.into_iter().map(copy).collect())
    }
}

/// The memory of a texture or a surface.
#[derive(Clone, Copy, Debug)]
pub enum Resource {
    Array(Handle<Array>),
    /// An address, the format of elements, and the number of bytes.
    Linear(u64, Format, usize),
    /// An address, the format of elements, the sizes in elements, and the distance of rows in bytes.
    Rows(u64, Format, [usize; 2], usize),
}

/// `CUDA_TEXTURE_DESC`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Sampling {
    pub addressing: [u32; 3],
    pub filter: u32,
    pub flags: u32,
    pub most_anisotropy: u32,
    pub level_filter: u32,
    pub level_bias: f32,
    pub levels: [f32; 2],
    pub border: [f32; 4],
    pub unused: [u32; 12],
}

/// A texture or a surface of the program. A surface has no sampling.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    pub resource: Resource,
    pub sampling: Option<Sampling>,
}

impl Sampling {
    /// The sampler of a texture whose channels have a type.
    pub fn sampler(&self, resource: &Resource, ty: Type) -> Done<Sampler> {
        if self.flags & SRGB != 0 {
            say_once("textures with the encoding sRGB are not supported");
            return Err(Error::NotSupported);
        }
        let mut addressing = [Addressing::Clamp; 3];
        for (to, number) in addressing.iter_mut().zip(self.addressing) {
            *to = *ADDRESSING.get(number as usize).ok_or(Error::InvalidValue)?;
        }
        let gives_fractions = self.flags & READ_AS_INTEGER == 0 && !ty.is_float() && ty.bits() < 32;
        let sampler = Sampler {
            addressing,
            is_linear: self.filter == 1,
            is_normalized: self.flags & NORMALIZED != 0,
            gives_fractions,
            border: self.border,
        };
        match resource {
            // An index outside of linear memory gives zeros.
            Resource::Linear(..) => Ok(Sampler {
                addressing: [Addressing::Border; 3],
                is_linear: false,
                is_normalized: false,
                border: [0.0; 4],
                ..sampler
            }),
            // Integers are not interpolated.
            _ if sampler.is_linear && !gives_fractions && !ty.is_float() => Err(Error::InvalidValue),
            _ => Ok(sampler),
        }
    }
}
