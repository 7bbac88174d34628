//! PTX as types: the instructions that lowerings use, one printer and one parser. PTX is spelled nowhere else.
//!
//! The model covers what NVIDIA's manual ('PTX ISA 9.2', sections 8 and 9.7) gives for `ld`, `st`, `atom`, `red`,
//! `fence.{sc,acq_rel,acquire,release}` and `membar`, and the arithmetic that CAS loops need.

pub mod arithmetic;
mod form;
mod instruction;
pub mod mnemonic;
mod module;
mod parse;
mod print;
pub mod syntax;
mod target;
mod word;

pub use self::{
    form::{Form, takes},
    instruction::*,
    module::{Code, Function, Jump, Line, Module, ModuleError, Other},
    parse::{ParseError, ParseErrors, parse_block},
    print::{Names, PtxNames},
    target::{PtxVersion, Requirement, Sm, Target, UnknownTarget},
    word::*,
};
