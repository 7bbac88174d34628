//! Arrays, and copies to and from them.

use ptx_isa::Type;

use crate::{
    array::{Array, Descriptor, Format},
    call::{any, api, offer, put, with},
    driver::array,
    error::{Done, Error},
    handle::Handle,
    objects::{Copy, Place, Stream},
    runtime::{
        errors::runtime,
        memory::{Extent, sides},
    },
    stream,
};

/// `cudaChannelFormatDesc`: the bits of each channel, and the number of their kind.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelDescription {
    bits: [u32; 4],
    kind: u32,
}

/// The types of channels, with their bits and the numbers of their kinds.
const TYPES: [(u32, u32, Type); 8] = [
    (8, 0, Type::S8),
    (16, 0, Type::S16),
    (32, 0, Type::S32),
    (8, 1, Type::U8),
    (16, 1, Type::U16),
    (32, 1, Type::U32),
    (16, 2, Type::F16),
    (32, 2, Type::F32),
];

impl ChannelDescription {
    /// Without channels.
    pub const NONE: Self = Self { bits: [0; 4], kind: 3 };

    pub fn format(self) -> Done<Format> {
        let channels = self.bits.iter().take_while(|bits| **bits != 0).count();
        let is_even = self.bits[..channels].iter().all(|bits| *bits == self.bits[0]);
        let found = TYPES.into_iter().find(|(bits, kind, _)| (*bits, *kind) == (self.bits[0], self.kind));
        match found {
            Some((.., ty)) if is_even && matches!(channels, 1 | 2 | 4) => Format::new(ty, channels as u32),
            _ => Err(Error::InvalidChannel),
        }
    }

    pub fn new(format: Format) -> Done<Self> {
        let ty = format.ty()?;
        let found = TYPES.into_iter().find(|(.., other)| *other == ty).ok_or(Error::InvalidChannel)?;
        let (bits, kind, _) = found;
        Ok(Self { bits: [0, 1, 2, 3].map(|index| if index < format.channels { bits } else { 0 }), kind })
    }
}

fn create(of: ChannelDescription, sizes: [usize; 3], flags: u32) -> Done<Handle<Array>> {
    let format = of.format()?;
    with(|gpu| gpu.create_array(Descriptor { sizes, format, flags }))
}

/// Copies rows to an array, or from it. `at` is a byte of a row.
fn copy_rows(
    stream: Option<Handle<Stream>>,
    array: Handle<Array>,
    at: [usize; 2],
    (address, pitch): (u64, usize),
    [width, rows]: [usize; 2],
    kind: u32,
    is_to: bool,
) -> Done {
    let [to_side, from_side] = sides(kind)?;
    if width > pitch {
        return Err(Error::InvalidValue);
    }
    let place = of_array(array, at, [width, rows])?;
    let other = Place { side: if is_to { from_side } else { to_side }, address, pitch, height: 0 };
    let (to, from) = if is_to { (place, other) } else { (other, place) };
    stream::copy(stream, Copy { to, from, bytes: width, rows, layers: 1 })
}

fn of_array(array: Handle<Array>, [x, y]: [usize; 2], [width, rows]: [usize; 2]) -> Done<Place> {
    with(|gpu| {
        gpu.flush();
        gpu.arrays.get(array)?.place([x, y, 0], [width, rows, 1])
    })
}

/// Copies contiguous bytes to an array, or from it.
fn copy(
    stream: Option<Handle<Stream>>,
    array: Handle<Array>,
    at: [usize; 2],
    address: u64,
    bytes: usize,
    kind: u32,
    is_to: bool,
) -> Done {
    let [to_side, from_side] = sides(kind)?;
    array::copy(stream, array, at, (if is_to { from_side } else { to_side }, address), bytes, is_to)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaCreateChannelDesc(x: u32, y: u32, z: u32, w: u32, kind: u32) -> ChannelDescription {
    ChannelDescription { bits: [x, y, z, w], kind }
}

api! { runtime:
    cudaMallocArray(
        to: *mut Handle<Array>, of: *const ChannelDescription, width: usize, height: usize, flags: u32,
    ) { put(to, create(*of, [width, height, 0], flags)?) }
    cudaMalloc3DArray(to: *mut Handle<Array>, of: *const ChannelDescription, size: Extent, flags: u32) {
        put(to, create(*of, [size.x, size.y, size.z], flags)?)
    }
    cudaFreeArray(array: Handle<Array>) {
        // NULL is allowed.
        if array.is_null() { Ok(()) } else { any(|gpu| gpu.destroy_array(array)) }
    }
    cudaGetChannelDesc(to: *mut ChannelDescription, array: Handle<Array>) {
        put(to, ChannelDescription::new(with(|gpu| Ok(gpu.arrays.get(array)?.descriptor.format))?)?)
    }
    cudaArrayGetInfo(to: *mut ChannelDescription, size: *mut Extent, flags: *mut u32, array: Handle<Array>) {
        let Descriptor { sizes: [x, y, z], format, flags: given } = with(|gpu| Ok(gpu.arrays.get(array)?.descriptor))?;
        offer(to, ChannelDescription::new(format)?);
        offer(size, Extent { x, y, z });
        offer(flags, given);
        Ok(())
    }
    cudaMemcpyToArray(
        to: Handle<Array>, x: usize, y: usize, from: u64, bytes: usize, kind: u32,
    ) = cudaMemcpyToArray_ptds { copy(None, to, [x, y], from, bytes, kind, true) }
    cudaMemcpyFromArray(
        to: u64, from: Handle<Array>, x: usize, y: usize, bytes: usize, kind: u32,
    ) = cudaMemcpyFromArray_ptds { copy(None, from, [x, y], to, bytes, kind, false) }
    cudaMemcpyToArrayAsync(
        to: Handle<Array>, x: usize, y: usize, from: u64, bytes: usize, kind: u32, stream: Handle<Stream>,
    ) = cudaMemcpyToArrayAsync_ptsz { copy(Some(stream), to, [x, y], from, bytes, kind, true) }
    cudaMemcpyFromArrayAsync(
        to: u64, from: Handle<Array>, x: usize, y: usize, bytes: usize, kind: u32, stream: Handle<Stream>,
    ) = cudaMemcpyFromArrayAsync_ptsz { copy(Some(stream), from, [x, y], to, bytes, kind, false) }
    cudaMemcpy2DToArray(
        to: Handle<Array>, x: usize, y: usize, from: u64, pitch: usize, width: usize, rows: usize, kind: u32,
    ) = cudaMemcpy2DToArray_ptds { copy_rows(None, to, [x, y], (from, pitch), [width, rows], kind, true) }
    cudaMemcpy2DFromArray(
        to: u64, pitch: usize, from: Handle<Array>, x: usize, y: usize, width: usize, rows: usize, kind: u32,
    ) = cudaMemcpy2DFromArray_ptds { copy_rows(None, from, [x, y], (to, pitch), [width, rows], kind, false) }
    cudaMemcpy2DToArrayAsync(
        to: Handle<Array>, x: usize, y: usize, from: u64, pitch: usize, width: usize, rows: usize, kind: u32,
        stream: Handle<Stream>,
    ) = cudaMemcpy2DToArrayAsync_ptsz { copy_rows(Some(stream), to, [x, y], (from, pitch), [width, rows], kind, true) }
    cudaMemcpy2DFromArrayAsync(
        to: u64, pitch: usize, from: Handle<Array>, x: usize, y: usize, width: usize, rows: usize, kind: u32,
        stream: Handle<Stream>,
    ) = cudaMemcpy2DFromArrayAsync_ptsz { copy_rows(Some(stream), from, [x, y], (to, pitch), [width, rows], kind, false) }
    cudaMemcpy2DArrayToArray(
        to: Handle<Array>, to_x: usize, to_y: usize, from: Handle<Array>, from_x: usize, from_y: usize, width: usize,
        rows: usize, _kind: u32,
    ) = cudaMemcpy2DArrayToArray_ptds {
        let to = of_array(to, [to_x, to_y], [width, rows])?;
        let from = of_array(from, [from_x, from_y], [width, rows])?;
        stream::copy(None, Copy { to, from, bytes: width, rows, layers: 1 })
    }
}
