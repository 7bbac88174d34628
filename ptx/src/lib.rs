//! PTX as types: the instructions that lowerings use, one printer and one parser. PTX is spelled nowhere else.
//!
//! The model covers what NVIDIA's manual ('PTX ISA 9.2', sections 8 and 9.7) gives for `ld`, `st`, `atom`, `red`,
//! `fence.{sc,acq_rel,acquire,release}` and `membar`, and the arithmetic that CAS loops need.

pub mod arithmetic;
mod instruction;
mod module;
mod parse;
mod print;
pub mod syntax;
mod target;

pub use self::{
    instruction::*,
    module::{Code, Function, Jump, Line, Module, ModuleError, Other},
    parse::{ParseError, parse_block},
    print::{Names, PtxNames},
    target::{Form, PtxVersion, Requirement, Sm, Target, UnknownTarget, takes},
};
