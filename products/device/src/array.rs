//! Arrays, and the textures and surfaces over arrays and over linear memory.

use ptx_execute::{Addressing, Image as Elements, Sampler, Texture};
use ptx_isa::Type;

use crate::{
    allocations::Kind,
    error::{Done, Error},
    gpu::Gpu,
    handle::Handle,
    objects::{Copy, Place, Side},
    say::say_once,
};

/// The distance of rows is a multiple of these bytes.
const ROW: u64 = 32;

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
const LAYERED: u32 = 1;
const CUBE: u32 = 4;
/// The flags that say how an array is used, which is not checked: surfaces, gathers, depths, and colors.
const USES: u32 = 0x3a;

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
    fn sampler(&self, resource: &Resource, ty: Type) -> Done<Sampler> {
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

impl Gpu {
    /// Makes an array.
    pub fn create_array(&mut self, descriptor: Descriptor) -> Done<Handle<Array>> {
        let Descriptor { sizes: [width, height, depth], format, flags } = descriptor;
        if flags & !(LAYERED | CUBE | USES) != 0 {
            say_once("arrays that are sparse or mapped later are not supported");
            return Err(Error::NotSupported);
        }
        let has_layers = flags & (LAYERED | CUBE) != 0;
        if width == 0 || has_layers && depth == 0 || flags & CUBE != 0 && (depth % 6 != 0 || width != height) {
            return Err(Error::InvalidValue);
        }
        let size = |size: usize| u32::try_from(size.max(1)).map_err(|_| Error::InvalidValue);
        let sizes = [size(width)?, size(height)?, size(depth)?];
        let row = (u64::from(sizes[0]) * format.bytes()?).next_multiple_of(ROW);
        let plane = row * u64::from(sizes[1]);
        let bytes = plane.checked_mul(sizes[2].into()).ok_or(Error::OutOfMemory)?;
        let address = self.allocate(bytes, Kind::Device, 0)?;
        let elements = Elements {
            address,
            channel: format.ty()?,
            channels: format.channels,
            sizes,
            has_layers,
            pitches: [row, plane],
        };
        Ok(self.arrays.insert(Array { descriptor, elements }))
    }

    /// Frees an array.
    pub fn destroy_array(&mut self, array: Handle<Array>) -> Done {
        let Array { elements, .. } = self.arrays.remove(array)?;
        self.free(elements.address)
    }

    /// Makes a texture, or a surface.
    pub fn create_texture(&mut self, bound: Bound) -> Done<u64> {
        let elements = self.elements(&bound.resource)?;
        let sampler = match bound.sampling {
            Some(sampling) => Some(sampling.sampler(&bound.resource, elements.channel)?),
            None if matches!(bound.resource, Resource::Array(_)) => None,
            None => return Err(Error::InvalidValue),
        };
        let handle = self.device.add_texture(Texture { image: elements, sampler });
        self.textures.insert(handle, bound);
        Ok(handle)
    }

    /// Forgets a texture or a surface.
    pub fn destroy_texture(&mut self, handle: u64) -> Done {
        self.device.remove_texture(handle);
        self.textures.remove(&handle).map(drop).ok_or(Error::InvalidValue)
    }

    /// A texture or a surface of the program.
    pub fn texture(&self, handle: u64) -> Done<Bound> {
        self.textures.get(&handle).copied().ok_or(Error::InvalidValue)
    }

    fn elements(&self, resource: &Resource) -> Done<Elements> {
        let of_memory = |address: u64, format: Format, [width, height]: [usize; 2], pitch: usize| {
            let (row, size) = (width as u64 * format.bytes()?, |size: usize| u32::try_from(size).ok());
            let bytes =
                (height as u64).saturating_sub(1).checked_mul(pitch as u64).and_then(|rows| rows.checked_add(row));
            if row == 0 || height == 0 || (pitch as u64) < row {
                return Err(Error::InvalidValue);
            }
            self.read(address, bytes.ok_or(Error::InvalidValue)? as usize)?;
            Ok(Elements {
                address,
                channel: format.ty()?,
                channels: format.channels,
                sizes: [size(width), size(height), Some(1)].map(|size| size.unwrap_or(u32::MAX)),
                has_layers: false,
                pitches: [pitch as u64, pitch as u64 * height as u64],
            })
        };
        match *resource {
            Resource::Array(array) => Ok(self.arrays.get(array)?.elements),
            Resource::Linear(address, format, bytes) => {
                of_memory(address, format, [bytes / format.bytes()?.max(1) as usize, 1], bytes)
            }
            Resource::Rows(address, format, sizes, pitch) => of_memory(address, format, sizes, pitch),
        }
    }
}
