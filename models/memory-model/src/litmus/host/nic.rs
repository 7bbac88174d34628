//! Requests of a NIC over PCIe.

use super::{
    aarch64::{control, source},
    cell::{PLAIN, Reader, Written},
};
use crate::{
    litmus::operand::{NONE, Wrong},
    program::{AtomOp, Instruction, RmwOp},
    ptx::Semantics,
};

/// A memory read, and a memory write.
pub(super) const READ: &str = "MRd";
pub(super) const WRITE: &str = "MWr";

/// AtomicOp requests.
#[rustfmt::skip]
pub(super) const ATOMICS: [(&str, AtomOp); 3] = [
    ("FetchAdd", AtomOp::Add), ("Swap", AtomOp::Exch), ("CAS", AtomOp::Cas),
];

/// The relaxed-ordering attribute of a request.
pub(super) const RELAXED_ORDERING: &str = ".RO";

pub(super) fn read(reader: &mut Reader<'_, '_>, of: &Written<'_>) -> Result<(), Wrong> {
    let words = &of.operands;
    let (name, relaxed_ordering) = match of.mnemonic.strip_suffix(RELAXED_ORDERING) {
        Some(name) => (name, true),
        None => (&of.mnemonic[..], false),
    };
    let access = Semantics { relaxed_ordering, ..PLAIN };
    if name.eq_ignore_ascii_case(READ) {
        if relaxed_ordering {
            return of.at.wrong(format!("the attribute of a read lets it pass no write: write `{READ}`"));
        }
        of.count(2)?;
        let ((d, ty), a) = (reader.register(words[0])?, reader.address(words[1])?);
        reader.load(d, ty, a, access);
    } else if name.eq_ignore_ascii_case(WRITE) {
        of.count(2)?;
        let (a, b) = (reader.address(words[0])?, source(reader, words[1])?.0);
        reader.store(a, b, reader.width(), access);
    } else if let Some((_, op)) = ATOMICS.iter().find(|(known, _)| name.eq_ignore_ascii_case(known)) {
        of.count(if *op == AtomOp::Cas { 4 } else { 3 })?;
        let ((d, ty), a) = (reader.register(words[0])?, reader.address(words[1])?);
        let b = source(reader, words[2])?.0;
        let c = if *op == AtomOp::Cas { source(reader, words[3])?.0 } else { NONE };
        reader.push(Instruction::Rmw { op: RmwOp::Atom(*op), d: Some(d), a, b, c, ty, access });
    } else {
        return control(reader, of);
    }
    Ok(())
}
