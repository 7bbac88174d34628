//! PTX as types: the instructions that lowerings use, one printer and one parser. PTX is spelled nowhere else.
//!
//! The model covers what NVIDIA's manual ('PTX ISA 9.2', sections 8 and 9.7) gives for `ld`, `st`, `atom`, `red`,
//! `fence.{sc,acq_rel,acquire,release}` and `membar`, and the arithmetic that CAS loops need.

mod instruction;
mod module;
mod parse;
mod print;

pub use self::{
    instruction::*,
    module::{Code, Function, Jump, Line, Module, ModuleError, Other},
    parse::ParseError,
    print::{Names, PtxNames},
};
pub(crate) use self::{parse::parse_block, print::sign_extend};
