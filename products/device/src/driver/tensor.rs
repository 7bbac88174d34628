//! Tensor maps. Their 128 bytes have the layout of the executor, since NVIDIA's is not published.

use ptx_execute::{
    TensorMap,
    matrix::map::{Fill, Interleave, TensorElement},
};

use crate::{
    call::{api, driver, put},
    error::{Done, Error},
    say::say,
};

/// The types of elements, in the order of `CUtensorMapDataType`.
const ELEMENTS: [TensorElement; 16] = {
    use TensorElement::*;
    [U8, U16, U32, S32, U64, S64, F16, F32, F64, Bf16, F32Ftz, Tf32, Tf32Ftz, B4x16, B4x16P64, B6x16P32]
};
/// The modes and atomicities of swizzles, in the order of `CUtensorMapSwizzle`.
const SWIZZLES: [(u8, u8); 7] = [(0, 0), (1, 0), (2, 0), (3, 0), (3, 1), (3, 2), (3, 3)];
const INTERLEAVES: [Interleave; 3] = [Interleave::None, Interleave::B16, Interleave::B32];
const FILLS: [Fill; 2] = [Fill::Zero, Fill::Nan];

/// The fields that tiles and im2col share.
struct Given {
    element: u32,
    rank: u32,
    address: u64,
    sizes: *const u64,
    strides: *const u64,
    element_strides: *const u32,
    interleave: u32,
    swizzle: u32,
    fill: u32,
}

impl Given {
    /// # Safety
    /// The arrays have as many elements as the tensor has dimensions; the strides have one fewer.
    unsafe fn map(&self) -> Done<TensorMap> {
        fn entry<T: Copy>(list: &[T], number: u32) -> Done<T> {
            list.get(number as usize).copied().ok_or(Error::InvalidValue)
        }
        let rank = Some(self.rank as usize).filter(|rank| (1..=5).contains(rank)).ok_or(Error::InvalidValue)?;
        let (mode, atomicity) = entry(&SWIZZLES, self.swizzle)?;
        let mut map = TensorMap {
            address: self.address,
            element: entry(&ELEMENTS, self.element)?,
            rank: self.rank,
            element_strides: [1; 5],
            interleave: entry(&INTERLEAVES, self.interleave)?,
            swizzle_mode: mode,
            swizzle_atomicity: atomicity,
            fill: entry(&FILLS, self.fill)?,
            ..TensorMap::default()
        };
        for axis in 0..rank {
            // SAFETY: the caller promises it.
            unsafe {
                map.sizes[axis] = u32::try_from(*self.sizes.add(axis)).map_err(|_| Error::InvalidValue)?;
                map.element_strides[axis] = *self.element_strides.add(axis);
                if axis > 0 {
                    map.strides[axis - 1] = *self.strides.add(axis - 1);
                }
            }
        }
        Ok(map)
    }
}

/// Writes a map, unless the API refuses it.
unsafe fn give(to: *mut [u8; 128], map: &TensorMap) -> Done {
    let refused = map.refused();
    if !refused.is_empty() {
        say(&format!("a tensor map is refused: {}", refused.join("; ")));
        return Err(Error::InvalidValue);
    }
    // SAFETY: the program passes a pointer for the result.
    unsafe { put(to, map.encode()) }
}

api! { driver:
    cuTensorMapEncodeTiled(
        to: *mut [u8; 128], element: u32, rank: u32, address: u64, sizes: *const u64, strides: *const u64,
        boxes: *const u32, element_strides: *const u32, interleave: u32, swizzle: u32, _promotion: u32, fill: u32,
    ) {
        let given = Given { element, rank, address, sizes, strides, element_strides, interleave, swizzle, fill };
        let mut map = given.map()?;
        (0..rank as usize).for_each(|axis| map.box_sizes[axis] = *boxes.add(axis));
        give(to, &map)
    }
    cuTensorMapEncodeIm2col(
        to: *mut [u8; 128], element: u32, rank: u32, address: u64, sizes: *const u64, strides: *const u64,
        lower: *const i32, upper: *const i32, channels: u32, pixels: u32, element_strides: *const u32,
        interleave: u32, swizzle: u32, _promotion: u32, fill: u32,
    ) {
        if !(3..=5).contains(&rank) {
            return Err(Error::InvalidValue);
        }
        let given = Given { element, rank, address, sizes, strides, element_strides, interleave, swizzle, fill };
        let mut map = given.map()?;
        (map.box_sizes[0], map.box_sizes[1]) = (channels, pixels);
        for axis in 0..rank as usize - 2 {
            map.lower[axis] = *lower.add(axis) as i16;
            map.upper[axis] = *upper.add(axis) as i16;
        }
        put(to, map.encode())
    }
    cuTensorMapReplaceAddress(map: *mut [u8; 128], address: u64) {
        let held = TensorMap::decode(&*map).map_err(|_| Error::InvalidValue)?;
        put(map, TensorMap { address, ..held }.encode())
    }
}
