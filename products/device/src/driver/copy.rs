//! Copies.

use crate::{
    call::{api, driver, with},
    error::{Done, Error},
    handle::Handle,
    objects::{Copy, Place, Side, Stream},
    stream,
};

/// One end of a copy of rows, as `CUDA_MEMCPY2D` has it: offsets, the kind of memory, its addresses, and its pitch.
#[repr(C)]
#[derive(Clone, Copy)]
struct End2d {
    x: usize,
    y: usize,
    kind: u32,
    host: u64,
    device: u64,
    array: usize,
    pitch: usize,
}

/// `CUDA_MEMCPY2D`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Copy2d {
    from: End2d,
    to: End2d,
    width: usize,
    rows: usize,
}

/// One end of a copy of layers, as `CUDA_MEMCPY3D` has it.
#[repr(C)]
#[derive(Clone, Copy)]
struct End3d {
    x: usize,
    y: usize,
    z: usize,
    level: usize,
    kind: u32,
    host: u64,
    device: u64,
    array: usize,
    unused: usize,
    pitch: usize,
    height: usize,
}

/// `CUDA_MEMCPY3D`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Copy3d {
    from: End3d,
    to: End3d,
    width: usize,
    rows: usize,
    layers: usize,
}

impl End3d {
    /// The end of a copy of a size: the bytes of a row, the rows, and the layers.
    fn place(self, size: [usize; 3]) -> Done<Place> {
        // The numbers of `CUmemorytype`.
        let (side, start) = match self.kind {
            1 => (Side::Host, self.host),
            2 => (Side::Device, self.device),
            3 => {
                let (array, at) = (Handle::new(self.array), [self.x, self.y, self.z]);
                return with(|gpu| gpu.arrays.get(array)?.place(at, size));
            }
            4 => (Side::Any, self.device),
            _ => return Err(Error::InvalidValue),
        };
        let address = start + ((self.z * self.height + self.y) * self.pitch + self.x) as u64;
        Ok(Place { side, address, pitch: self.pitch, height: self.height })
    }
}

impl From<End2d> for End3d {
    fn from(End2d { x, y, kind, host, device, array, pitch }: End2d) -> Self {
        Self { x, y, z: 0, level: 0, kind, host, device, array, unused: 0, pitch, height: 0 }
    }
}

impl Copy2d {
    fn copy(self) -> Done<Copy> {
        let Self { from, to, width, rows } = self;
        Copy3d { from: from.into(), to: to.into(), width, rows, layers: 1 }.copy()
    }
}

impl Copy3d {
    pub fn copy(self) -> Done<Copy> {
        let Self { to, from, width, rows, layers } = self;
        let size = [width, rows, layers];
        Ok(Copy { to: to.place(size)?, from: from.place(size)?, bytes: width, rows, layers })
    }
}

/// Copies contiguous bytes in a stream.
pub fn flat(stream: Handle<Stream>, to: (Side, u64), from: (Side, u64), bytes: usize) -> Done {
    stream::copy(Some(stream), Copy::flat(to, from, bytes))
}

/// Copies contiguous bytes, and waits. A copy that the program waits for shows the output of kernels.
pub fn at_once(to: (Side, u64), from: (Side, u64), bytes: usize) -> Done {
    stream::copy(None, Copy::flat(to, from, bytes))
}

use Side::{Any, Device, Host};

api! { driver:
    cuMemcpy(to: u64, from: u64, bytes: usize) = cuMemcpy_ptds { at_once((Any, to), (Any, from), bytes) }
    cuMemcpyPeer(to: u64, _to_context: usize, from: u64, _from_context: usize, bytes: usize) = cuMemcpyPeer_ptds {
        at_once((Any, to), (Any, from), bytes)
    }
    cuMemcpyHtoD_v2(to: u64, from: u64, bytes: usize) = cuMemcpyHtoD = cuMemcpyHtoD_v2_ptds {
        at_once((Device, to), (Host, from), bytes)
    }
    cuMemcpyDtoH_v2(to: u64, from: u64, bytes: usize) = cuMemcpyDtoH = cuMemcpyDtoH_v2_ptds {
        at_once((Host, to), (Device, from), bytes)
    }
    cuMemcpyDtoD_v2(to: u64, from: u64, bytes: usize) = cuMemcpyDtoD = cuMemcpyDtoD_v2_ptds {
        at_once((Device, to), (Device, from), bytes)
    }
    cuMemcpyAsync(to: u64, from: u64, bytes: usize, stream: Handle<Stream>) = cuMemcpyAsync_ptsz {
        flat(stream, (Any, to), (Any, from), bytes)
    }
    cuMemcpyPeerAsync(
        to: u64, _to_context: usize, from: u64, _from_context: usize, bytes: usize, stream: Handle<Stream>,
    ) = cuMemcpyPeerAsync_ptsz { flat(stream, (Any, to), (Any, from), bytes) }
    cuMemcpyHtoDAsync_v2(
        to: u64, from: u64, bytes: usize, stream: Handle<Stream>,
    ) = cuMemcpyHtoDAsync = cuMemcpyHtoDAsync_v2_ptsz { flat(stream, (Device, to), (Host, from), bytes) }
    cuMemcpyDtoHAsync_v2(
        to: u64, from: u64, bytes: usize, stream: Handle<Stream>,
    ) = cuMemcpyDtoHAsync = cuMemcpyDtoHAsync_v2_ptsz { flat(stream, (Host, to), (Device, from), bytes) }
    cuMemcpyDtoDAsync_v2(
        to: u64, from: u64, bytes: usize, stream: Handle<Stream>,
    ) = cuMemcpyDtoDAsync = cuMemcpyDtoDAsync_v2_ptsz { flat(stream, (Device, to), (Device, from), bytes) }
    cuMemcpy2D_v2(copy: *const Copy2d) = cuMemcpy2D = cuMemcpy2D_v2_ptds = cuMemcpy2DUnaligned_v2 = cuMemcpy2DUnaligned = cuMemcpy2DUnaligned_v2_ptds {
        stream::copy(None, (*copy).copy()?)
    }
    cuMemcpy2DAsync_v2(copy: *const Copy2d, stream: Handle<Stream>) = cuMemcpy2DAsync = cuMemcpy2DAsync_v2_ptsz {
        stream::copy(Some(stream), (*copy).copy()?)
    }
    cuMemcpy3D_v2(copy: *const Copy3d) = cuMemcpy3D = cuMemcpy3D_v2_ptds {
        stream::copy(None, (*copy).copy()?)
    }
    cuMemcpy3DAsync_v2(copy: *const Copy3d, stream: Handle<Stream>) = cuMemcpy3DAsync = cuMemcpy3DAsync_v2_ptsz {
        stream::copy(Some(stream), (*copy).copy()?)
    }
}
