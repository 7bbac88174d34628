//! What the matrix instructions compute, and what of memory they touch. Nothing here knows the machine: registers come as
//! `[u64; 32]` by lane with the value in the low bits, memory as closures or copies of its lines, and places that an
//! instruction touches go back as lists, which the caller checks against what exists.
//!
//! Every product has the same three steps: gather the elements through the instruction's layout into plain matrices,
//! [`product::Product::multiply`] them, scatter the result.
//!
//! What is [`element::Unsupported`]: block-scaled products; `wgmma` and `tcgen05.mma` with a sparse A; floats of 4 and 6 bits
//! in `tcgen05.mma`; decompression in `tcgen05.cp` and `ldmatrix`, and the latter's matrices of bytes; `tcgen05.ld.red`; tensor
//! maps with an interleave layout or padded elements, and the modes `.im2col::w`.

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
