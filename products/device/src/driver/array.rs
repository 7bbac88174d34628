//! Arrays, and the copies of contiguous bytes to and from them.

use crate::{
    array::{Array, Descriptor, Format},
    call::{any, api, driver, put, with},
    error::Done,
    handle::Handle,
    objects::{
        Side::{self, Device, Host},
        Stream,
    },
    stream,
};

/// `CUDA_ARRAY_DESCRIPTOR`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Descriptor2d {
    sizes: [usize; 2],
    format: Format,
}

/// Copies contiguous bytes to an array, or from it, from a byte of a row on.
pub fn copy(
    stream: Option<Handle<Stream>>,
    array: Handle<Array>,
    [x, y]: [usize; 2],
    other: (Side, u64),
    bytes: usize,
    is_to: bool,
) -> Done {
    let copies = with(|gpu| {
        gpu.flush();
        gpu.arrays.get(array)?.copies(x, y, other, bytes, is_to)
    })?;
    copies.into_iter().try_for_each(|copy| stream::copy(stream, copy))
}

fn descriptor(array: Handle<Array>) -> Done<Descriptor> {
    with(|gpu| Ok(gpu.arrays.get(array)?.descriptor))
}

api! { driver:
    cuArrayCreate_v2(to: *mut Handle<Array>, of: *const Descriptor2d) = cuArrayCreate {
        let Descriptor2d { sizes: [width, height], format } = *of;
        put(to, with(|gpu| gpu.create_array(Descriptor { sizes: [width, height, 0], format, flags: 0 }))?)
    }
    cuArray3DCreate_v2(to: *mut Handle<Array>, of: *const Descriptor) = cuArray3DCreate {
        put(to, with(|gpu| gpu.create_array(*of))?)
    }
    cuArrayGetDescriptor_v2(to: *mut Descriptor2d, array: Handle<Array>) = cuArrayGetDescriptor {
        let Descriptor { sizes: [width, height, _], format, .. } = descriptor(array)?;
        put(to, Descriptor2d { sizes: [width, height], format })
    }
    cuArray3DGetDescriptor_v2(to: *mut Descriptor, array: Handle<Array>) = cuArray3DGetDescriptor {
        put(to, descriptor(array)?)
    }
    cuArrayDestroy(array: Handle<Array>) { any(|gpu| gpu.destroy_array(array)) }
    cuMemcpyDtoA_v2(
        to: Handle<Array>, offset: usize, from: u64, bytes: usize,
    ) = cuMemcpyDtoA = cuMemcpyDtoA_v2_ptds { copy(None, to, [offset, 0], (Device, from), bytes, true) }
    cuMemcpyAtoD_v2(
        to: u64, from: Handle<Array>, offset: usize, bytes: usize,
    ) = cuMemcpyAtoD = cuMemcpyAtoD_v2_ptds { copy(None, from, [offset, 0], (Device, to), bytes, false) }
    cuMemcpyHtoA_v2(
        to: Handle<Array>, offset: usize, from: u64, bytes: usize,
    ) = cuMemcpyHtoA = cuMemcpyHtoA_v2_ptds { copy(None, to, [offset, 0], (Host, from), bytes, true) }
    cuMemcpyAtoH_v2(
        to: u64, from: Handle<Array>, offset: usize, bytes: usize,
    ) = cuMemcpyAtoH = cuMemcpyAtoH_v2_ptds { copy(None, from, [offset, 0], (Host, to), bytes, false) }
    cuMemcpyHtoAAsync_v2(
        to: Handle<Array>, offset: usize, from: u64, bytes: usize, stream: Handle<Stream>,
    ) = cuMemcpyHtoAAsync = cuMemcpyHtoAAsync_v2_ptsz { copy(Some(stream), to, [offset, 0], (Host, from), bytes, true) }
    cuMemcpyAtoHAsync_v2(
        to: u64, from: Handle<Array>, offset: usize, bytes: usize, stream: Handle<Stream>,
    ) = cuMemcpyAtoHAsync = cuMemcpyAtoHAsync_v2_ptsz { copy(Some(stream), from, [offset, 0], (Host, to), bytes, false) }
}
