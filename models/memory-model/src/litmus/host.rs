//! Threads of the host: their cells, with the instructions in the syntax of herd7.
//!
//! A NIC has the requests of PCIe, and the instructions of AArch64 on registers.
//!
//! A register has a single name, the name of its 64 bits: `W0` is the low half of `X0`, and `EAX` of `RAX`. The width
//! of an access is the width of its register name.

mod aarch64;
mod cell;
mod nic;
mod print;
mod register;
mod x86;

use ptx_isa::syntax::Text;

pub(super) use self::{print::instruction, register::canonical};
use super::operand::{Cell, Wrong};
use crate::{place::Processor, ptx::Program};

/// Adds the content of a cell to a thread of the host.
pub(super) fn read(program: &mut Program, column: usize, text: Text<'_>) -> Result<Vec<Cell>, Wrong> {
    let processor = program.threads[column].place.processor;
    let mut reader = cell::Reader::new(program, column, text);
    let Some(written) = reader.labels()? else { return Ok(Vec::new()) };
    match processor {
        Processor::AArch64 => aarch64::read(&mut reader, &written)?,
        Processor::Nic => nic::read(&mut reader, &written)?,
        _ => x86::read(&mut reader, &written)?,
    }
    Ok(vec![reader.cell])
}
