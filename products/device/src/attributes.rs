//! The attributes of the device.

use ptx_isa::{
    Sm,
    launch::{MOST_BLOCK, MOST_GRID, MOST_THREADS},
};

/// The number of multiprocessors. It is small, since programs launch work for each multiprocessor.
pub const MULTIPROCESSORS: u32 = 8;
/// The bytes of shared memory that the system keeps in each CTA.
pub const RESERVED_SHARED: u32 = 1024;
/// The number of threads of a warp.
pub const WARP: u32 = 32;

/// The limits of a multiprocessor.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The maximum shared memory of a CTA that asks for it, and of a multiprocessor, in bytes.
    pub shared_of_cta: u32,
    pub shared: u32,
    /// The maximum number of threads and of CTAs.
    pub threads: u32,
    pub ctas: u32,
}

/// The limits by the number of the GPU ('CUDA C++ Programming Guide', compute capabilities): KiB of shared memory of a
/// CTA and of a multiprocessor, threads, CTAs. A row is for its GPU and for newer GPUs up to the next row.
#[rustfmt::skip]
const LIMITS: [(u32, [u32; 4]); 14] = [
    (0,   [ 48,  64, 2048, 32]),
    (60,  [ 48,  64, 2048, 32]),
    (61,  [ 48,  96, 2048, 32]),
    (70,  [ 96,  96, 2048, 32]),
    (75,  [ 64,  64, 1024, 16]),
    (80,  [163, 164, 2048, 32]),
    (86,  [ 99, 100, 1536, 16]),
    (87,  [163, 164, 1536, 16]),
    (88,  [ 99, 100, 1536, 16]),
    (89,  [ 99, 100, 1536, 24]),
    (90,  [227, 228, 2048, 32]),
    (100, [227, 228, 2048, 32]),
    (110, [227, 228, 1536, 24]),
    (120, [ 99, 100, 1536, 24]),
];

/// The limits of a multiprocessor of a GPU.
pub fn limits(sm: Sm) -> Limits {
    let row = LIMITS.iter().rev().find(|(number, _)| *number <= sm.number()).unwrap_or(&LIMITS[0]);
    let [of_cta, shared, threads, ctas] = row.1;
    Limits { shared_of_cta: of_cta << 10, shared: shared << 10, threads, ctas }
}

/// The value of an attribute.
enum Value {
    Fixed(u32),
    Of(fn(Sm) -> u32),
    /// 1 for this GPU and newer ones.
    Since(u32),
}

use Value::{Fixed, Of, Since};

/// Attributes by their numbers, `CUdevice_attribute`. An attribute that is not here is 0.
#[rustfmt::skip]
const ATTRIBUTES: [(u32, Value); 92] = [
    (1,   Fixed(MOST_THREADS)),
    (2,   Fixed(MOST_BLOCK[0])),
    (3,   Fixed(MOST_BLOCK[1])),
    (4,   Fixed(MOST_BLOCK[2])),
    (5,   Fixed(MOST_GRID[0])),
    (6,   Fixed(MOST_GRID[1])),
    (7,   Fixed(MOST_GRID[2])),
    (8,   Fixed(48 << 10)),        // shared memory of a CTA
    (9,   Fixed(64 << 10)),        // constant memory
    (10,  Fixed(WARP)),
    (11,  Fixed(i32::MAX as u32)), // pitch
    (12,  Fixed(64 << 10)),        // registers of a CTA
    (13,  Fixed(1_000_000)),       // clock rate in kHz
    (14,  Fixed(512)),             // alignment of textures
    (15,  Fixed(1)),               // overlap of copies and kernels
    (16,  Fixed(MULTIPROCESSORS)),
    (19,  Fixed(1)),               // maps host memory
    (21,  Fixed(131_072)),         // textures
    (22,  Fixed(131_072)),
    (23,  Fixed(65_536)),
    (24,  Fixed(16_384)),
    (25,  Fixed(16_384)),
    (26,  Fixed(16_384)),
    (27,  Fixed(32_768)),
    (28,  Fixed(32_768)),
    (29,  Fixed(2048)),
    (30,  Fixed(512)),             // alignment of surfaces
    (31,  Fixed(1)),               // concurrent kernels
    (36,  Fixed(1_000_000)),       // clock rate of memory in kHz
    (37,  Fixed(1024)),            // width of the memory bus
    (38,  Fixed(32 << 20)),        // L2 cache
    (39,  Of(|sm| limits(sm).threads)),
    (40,  Fixed(1)),               // copy engines
    (41,  Fixed(1)),               // unified addressing
    (42,  Fixed(32_768)),
    (43,  Fixed(2048)),
    (45,  Fixed(32_768)),
    (46,  Fixed(32_768)),
    (51,  Fixed(32)),              // alignment of the pitch of textures
    (52,  Fixed(32_768)),
    (53,  Fixed(32_768)),
    (54,  Fixed(2046)),
    (55,  Fixed(32_768)),          // surfaces
    (56,  Fixed(131_072)),
    (57,  Fixed(65_536)),
    (58,  Fixed(16_384)),
    (59,  Fixed(16_384)),
    (60,  Fixed(16_384)),
    (61,  Fixed(32_768)),
    (62,  Fixed(2048)),
    (63,  Fixed(32_768)),
    (64,  Fixed(32_768)),
    (65,  Fixed(2048)),
    (66,  Fixed(32_768)),
    (67,  Fixed(32_768)),
    (68,  Fixed(2046)),
    (69,  Fixed(268_435_456)),
    (70,  Fixed(131_072)),
    (71,  Fixed(65_000)),
    (72,  Fixed(2_097_120)),
    (75,  Of(|sm| sm.number() / 10)),
    (76,  Of(|sm| sm.number() % 10)),
    (78,  Fixed(1)),               // priorities of streams
    (79,  Fixed(1)),               // L1 cache of global memory
    (80,  Fixed(1)),               // L1 cache of local memory
    (81,  Of(|sm| limits(sm).shared)),
    (82,  Fixed(64 << 10)),        // registers of a multiprocessor
    (83,  Fixed(1)),               // managed memory
    (86,  Fixed(0)),               // native atomics of the host
    (87,  Fixed(2)),               // performance of single to double precision
    (89,  Fixed(1)),               // managed memory that the host and a kernel access
    (90,  Fixed(1)),               // preemption
    (95,  Since(60)),              // cooperative launch
    (97,  Of(|sm| limits(sm).shared_of_cta)),
    (99,  Fixed(1)),               // registers host memory
    (102, Fixed(1)),               // virtual memory
    (106, Of(|sm| limits(sm).ctas)),
    (107, Fixed(1)),               // compression of memory
    (108, Fixed(24 << 20)),        // persisting part of the L2 cache
    (109, Fixed(128 << 20)),       // window of an access policy
    (111, Fixed(RESERVED_SHARED)),
    (113, Fixed(1)),               // registers host memory for reading
    (115, Fixed(1)),               // memory pools
    (120, Since(90)),              // launches of clusters
    (127, Since(90)),              // tensor maps
    (129, Fixed(0)),               // unified function pointers
    (130, Fixed(0)),               // NUMA
    (131, Fixed(u32::MAX)),
    (134, Fixed(u32::MAX)),
    (33,  Fixed(1)),               // PCI bus
    (34,  Fixed(0)),               // PCI device
    (50,  Fixed(0)),               // PCI domain
];

/// The number of attributes of CUDA 13.5, from 1.
const MOST: u32 = 161;

/// The value of an attribute; `None` if the API has no such attribute.
pub fn attribute(sm: Sm, number: u32) -> Option<i32> {
    let found = ATTRIBUTES.iter().find(|(own, _)| *own == number).map(|(_, value)| match value {
        Fixed(value) => *value,
        Of(of) => of(sm),
        Since(first) => u32::from(sm.number() >= *first),
    });
    found.or_else(|| (1..=MOST).contains(&number).then_some(0)).map(|value| value as i32)
}

/// The name of the device.
pub fn name(sm: Sm) -> String {
    format!("ptx-atomics {sm}")
}

/// The identity of the device.
pub const UUID: [u8; 16] = *b"ptx-atomics\0\0\0\0\x01";
