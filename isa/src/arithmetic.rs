//! What instructions compute, on bits: one arithmetic for all who execute PTX.
//!
//! A value stands in the low bits of a `u128`, the first element of a vector lowest. Bits above the width of an operand's
//! type are not looked at, and those of a result are 0. No operand makes a function panic: `None` says that there is no such
//! instruction, or that its result depends on more than its operands (the carry flag).

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

pub use self::{
    alu::alu,
    bits::{in_register, mask, sign_extend, width},
    compare::{Combination, Compare, Select, Test, compare},
    computation::{Computation, Outcome},
    convert::{Conversion, Pack, convert},
    extended::{Extended, Mode},
    float::Float,
    rmw::{Rmw, Subnormals},
};
