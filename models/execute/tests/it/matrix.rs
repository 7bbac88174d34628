//! The matrix instructions against naive products and against the manual's formulae, written down once more.

mod mma;
mod random;
mod tensor;
mod tile;
mod wgmma;
mod wmma;
