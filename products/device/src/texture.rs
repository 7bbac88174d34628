//! The arrays, textures and surfaces of a process.

use ptx_execute::{Image as Elements, Texture};

use crate::{
    allocations::Kind,
    array::{Array, Bound, CUBE, Descriptor, Format, LAYERED, Resource, USES},
    error::{Done, Error},
    gpu::Gpu,
    handle::Handle,
    say::say_once,
};

/// The distance of rows is a multiple of these bytes.
const ROW: u64 = 32;

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
