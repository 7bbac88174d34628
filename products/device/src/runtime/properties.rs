//! `cudaDeviceProp`: all facts about the device in one structure, whose layout depends on the version.

use crate::{
    attributes::{self, UUID, attribute},
    call::{any, api},
    error::{Done, Error},
    runtime::{errors::runtime, version::version},
};

/// The size of a field in bytes.
#[derive(Clone, Copy)]
enum Field {
    Int,
    Size,
}

use Field::{Int, Size};

/// The fields that are attributes of the device: the offset before version 13 and from it on, the size, and the number
/// of the attribute.
#[rustfmt::skip]
const FIELDS: [(usize, usize, Field, u32); 65] = [
    (296, 296, Size, 8), (304, 304, Int, 12), (308, 308, Int, 10), (312, 312, Size, 11), (320, 320, Int, 1),
    (324, 324, Int, 2), (328, 328, Int, 3), (332, 332, Int, 4), (336, 336, Int, 5), (340, 340, Int, 6),
    (344, 344, Int, 7), (352, 352, Size, 9), (360, 360, Int, 75), (364, 364, Int, 76), (368, 368, Size, 14),
    (376, 376, Size, 51), (388, 384, Int, 16), (396, 388, Int, 18), (400, 392, Int, 19), (408, 396, Int, 21),
    (420, 404, Int, 22), (424, 408, Int, 23), (436, 420, Int, 70), (440, 424, Int, 71), (444, 428, Int, 72),
    (456, 440, Int, 24), (460, 444, Int, 25), (464, 448, Int, 26), (484, 468, Int, 42), (488, 472, Int, 43),
    (492, 476, Int, 27), (496, 480, Int, 28), (500, 484, Int, 29), (568, 552, Size, 30), (576, 560, Int, 31),
    (580, 564, Int, 32), (584, 568, Int, 33), (588, 572, Int, 34), (592, 576, Int, 50), (596, 580, Int, 35),
    (600, 584, Int, 40), (604, 588, Int, 41), (612, 592, Int, 37), (616, 596, Int, 38), (620, 600, Int, 108),
    (624, 604, Int, 39),
    (628, 608, Int, 78), (632, 612, Int, 79), (636, 616, Int, 80), (640, 624, Size, 81), (648, 632, Int, 82),
    (652, 636, Int, 83), (664, 648, Int, 86), (672, 652, Int, 88), (676, 656, Int, 89), (680, 660, Int, 90),
    (688, 668, Int, 95), (696, 672, Size, 97), (712, 688, Int, 106), (716, 692, Int, 109), (720, 696, Size, 111), (728, 704, Int, 99),
    (736, 712, Int, 113), (744, 720, Int, 115), (772, 748, Int, 120),
];
/// The fields that only versions before 13 have.
const OLD: [(usize, u32); 4] = [(384, 13), (392, 15), (608, 36), (668, 87)];

/// The offsets of the name, the identity and the total memory, in all versions from 12 on.
const UUID_AT: usize = 256;
const MEMORY_AT: usize = 288;
/// The size of the structure before version 13, and from it on.
const BYTES: [usize; 2] = [1032, 1008];

/// The bytes of the structure.
fn properties() -> Done<Vec<u8>> {
    any(|gpu| {
        let is_old = version() < 13000;
        let mut bytes = vec![0; if is_old { BYTES[0] } else { BYTES[1] }];
        let mut write = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        let value = |number: u32| attribute(gpu.sm, number).unwrap_or(0);
        write(0, attributes::name(gpu.sm).as_bytes());
        write(UUID_AT, &UUID);
        write(MEMORY_AT, &gpu.memory.limit.to_le_bytes());
        for (old, new, field, number) in FIELDS {
            let at = if is_old { old } else { new };
            match field {
                Int => write(at, &value(number).to_le_bytes()),
                Size => write(at, &i64::from(value(number)).to_le_bytes()),
            }
        }
        for (at, number) in OLD.into_iter().filter(|_| is_old) {
            write(at, &value(number).to_le_bytes());
        }
        Ok(bytes)
    })
}

api! { runtime:
    cudaGetDeviceProperties(to: *mut u8, device: i32) = cudaGetDeviceProperties_v2 {
        if device != 0 {
            return Err(Error::InvalidDevice);
        }
        if version() < 12000 {
            crate::say::say_once("the properties of CUDA 11 have another layout: link the program with CUDA 12 or 13");
            return Err(Error::NotSupported);
        }
        let bytes = properties()?;
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
        Ok(())
    }
}
