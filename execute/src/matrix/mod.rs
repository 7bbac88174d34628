//! What the matrix instructions compute, and what of memory they touch. Nothing here knows the machine: registers come as
//! `[u64; 32]` by lane with the value in the low bits, memory as closures or copies of its lines, and places that an
//! instruction touches go back as lists, which the caller checks against what exists.
//!
//! Every product has the same three steps: gather the elements through the instruction's layout into plain matrices,
//! [`product::Product::multiply`] them, scatter the result.

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
pub mod wgmma;
pub mod wmma;
