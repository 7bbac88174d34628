//! Threads of the host: their cells, with the instructions as herd7 spells them.
//!
//! A register has one name, that of its 64 bits: `W0` is the low half of `X0`, and `EAX` of `RAX`. The width of an access is that
//! of its register.

mod aarch64;
mod cell;
mod print;
mod x86;

use super::{
    names::is_observed,
    operand::{Cell, Wrong},
};
use crate::{place::Processor, program::Type, ptx::Program};
use ptx_isa::syntax::Text;

pub(super) use self::print::instruction;

/// Adds what a cell has to a thread of the host.
pub(super) fn read(program: &mut Program, column: usize, text: Text<'_>) -> Result<Vec<Cell>, Wrong> {
    let processor = program.threads[column].place.processor;
    let mut reader = cell::Reader::new(program, column, text);
    let Some(written) = reader.labels()? else { return Ok(Vec::new()) };
    match processor {
        Processor::AArch64 => aarch64::read(&mut reader, &written)?,
        _ => x86::read(&mut reader, &written)?,
    }
    Ok(vec![reader.cell])
}

/// The name of a register on a processor; the name as it is, if that is none.
pub(super) fn canonical(processor: Processor, name: &str) -> String {
    known(processor, name).map_or_else(|| name.to_owned(), |(name, _)| name)
}

/// The name of a register, and the type of what it holds.
fn known(processor: Processor, name: &str) -> Option<(String, Type)> {
    match processor {
        Processor::Gpu => None,
        _ if !is_observed(name) => Some((name.to_owned(), Type::U64)),
        Processor::X86 => x86::register(name),
        Processor::AArch64 => aarch64::register(name),
    }
}
