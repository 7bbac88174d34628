//! The values that matrix instructions compute, and the memory that they access. This module does not depend on the
//! machine. Registers are `[u64; 32]` by lane with the value in the low bits. Memory is passed as closures or as copies
//! of its lines. The places that an instruction accesses are returned as lists, which the caller checks.
//!
//! Every product has the same three steps: gather the elements through the instruction's layout into plain matrices,
//! [`product::Product::multiply`] them, scatter the result.
//!
//! [`element::Unsupported`] covers: block-scaled products; `wgmma` and `tcgen05.mma` with a sparse A; floats of 4 and 6
//! bits in `tcgen05.mma`; decompression in `tcgen05.cp` and `ldmatrix`, and matrices of bytes in `ldmatrix`;
//! `tcgen05.ld.red`; tensor maps with an interleave layout or padded elements, and the modes `.im2col::w`.

pub mod element;
pub mod fragment;
pub mod ldmatrix;
pub mod map;
pub mod mma;
pub mod product;
pub mod shared;
pub mod tcgen05;
pub mod tensor;
pub mod tile;
pub mod tiled;
pub mod wgmma;
pub mod wmma;
