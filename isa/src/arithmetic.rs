//! The results of PTX's computing instructions, on bits. Every interpreter of PTX uses this arithmetic.
//!
//! A value is in the low bits of a `u128`; the first element of a vector is the lowest. Bits above the width of an
//! operand's type are ignored, and bits above the width of a result are 0. No operand makes a function panic: `None`
//! means that PTX has no such instruction, or that the result depends on more than the operands (the carry flag).

mod alu;
mod bits;
mod compare;
mod computation;
mod convert;
mod exact;
mod extended;
mod float;
mod integer;
mod read;
mod rmw;
mod video;

pub use self::{
    alu::alu,
    bits::{in_register, mask, sign_extend, width},
    compare::{Combination, Compare, Select, Test, compare},
    computation::{Computation, Outcome},
    convert::{Conversion, Pack, convert},
    extended::{Extended, Mode},
    float::Float,
    rmw::{Rmw, Subnormals},
    video::{Video, VideoOp},
};
