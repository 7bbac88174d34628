//! Instructions of AArch64.

use super::cell::{PLAIN, Reader, Word, Written, arithmetic};
use crate::{
    host::HostFence,
    litmus::operand::{NONE, Wrong},
    program::{AluOp, AtomOp, Cmp, Computation, Operand, RmwOp, Type},
    ptx::{Sem, Semantics},
};

const ACQUIRE: Semantics = Semantics { sem: Sem::Acquire, ..PLAIN };

/// Loads.
#[rustfmt::skip]
pub(super) const LOADS: [(&str, Semantics); 3] = [
    ("LDR", PLAIN), ("LDAR", ACQUIRE), ("LDAPR", Semantics { pc: true, ..ACQUIRE }),
];

/// Stores.
#[rustfmt::skip]
pub(super) const STORES: [(&str, Semantics); 2] = [
    ("STR", PLAIN), ("STLR", Semantics { sem: Sem::Release, ..PLAIN }),
];

/// Atomic operations with a result. A suffix of the name gives the ordering.
#[rustfmt::skip]
pub(super) const ATOMICS: [(&str, AtomOp); 6] = [
    ("LDADD", AtomOp::Add), ("LDSET", AtomOp::Or), ("LDEOR", AtomOp::Xor), ("LDUMAX", AtomOp::Max), ("LDUMIN", AtomOp::Min),
    ("SWP", AtomOp::Exch),
];

/// The same without a result.
#[rustfmt::skip]
pub(super) const DISCARDING: [(&str, AtomOp); 5] = [
    ("STADD", AtomOp::Add), ("STSET", AtomOp::Or), ("STEOR", AtomOp::Xor), ("STUMAX", AtomOp::Max), ("STUMIN", AtomOp::Min),
];

pub(super) const CAS: &str = "CAS";

/// The suffixes for the ordering of an atomic operation.
#[rustfmt::skip]
pub(super) const ORDERS: [(&str, Sem); 4] = [
    ("", Sem::Relaxed), ("A", Sem::Acquire), ("L", Sem::Release), ("AL", Sem::AcqRel),
];

#[rustfmt::skip]
pub(super) const CONDITIONS: [(&str, Cmp); 6] = [
    ("EQ", Cmp::Eq), ("NE", Cmp::Ne), ("LT", Cmp::Lt), ("LE", Cmp::Le), ("GT", Cmp::Gt), ("GE", Cmp::Ge),
];

/// Instructions that are not supported, and their replacement.
const REFUSED: [(&str, &str); 7] = [
    ("LDXR", "an exclusive pair may fail: write an atomic instruction of LSE, such as `LDADD` or `CAS`"),
    ("LDAXR", "an exclusive pair may fail: write an atomic instruction of LSE, such as `LDADDA` or `CASA`"),
    ("STXR", "an exclusive pair may fail: write an atomic instruction of LSE, such as `LDADD` or `CAS`"),
    ("STLXR", "an exclusive pair may fail: write an atomic instruction of LSE, such as `LDADDL` or `CASL`"),
    ("DSB", "a test has no device and no page table: write `DMB`, which orders the same accesses"),
    ("LDP", "write an `LDR` for each register instead of `LDP`"),
    ("STP", "write an `STR` for each register instead of `STP`"),
];

/// The operation and the ordering of a mnemonic, if it is a name of the table with a suffix for the ordering.
fn ordered<T: Copy>(mnemonic: &str, table: &[(&str, T)], orders: &[(&str, Sem)]) -> Option<(T, Sem)> {
    table.iter().find_map(|(name, of)| {
        let rest = mnemonic.strip_prefix(name)?;
        orders.iter().find(|(word, _)| *word == rest).map(|(_, sem)| (*of, *sem))
    })
}

pub(super) fn read(reader: &mut Reader<'_, '_>, of: &Written<'_>) -> Result<(), Wrong> {
    let mnemonic = &of.mnemonic[..];
    if let Some((_, why)) = REFUSED.iter().find(|(name, _)| *name == mnemonic) {
        return of.at.wrong(*why);
    }
    if let Some((_, access)) = LOADS.iter().find(|(name, _)| *name == mnemonic) {
        of.count(2)?;
        let ((d, ty), a) = (reader.register(of.operands[0])?, reader.address(of.operands[1])?);
        reader.load(d, ty, a, *access);
    } else if let Some((_, access)) = STORES.iter().find(|(name, _)| *name == mnemonic) {
        of.count(2)?;
        let ((b, ty), a) = (source(reader, of.operands[0])?, reader.address(of.operands[1])?);
        reader.store(a, b, ty, *access);
    } else if let Some((op, sem)) = ordered(mnemonic, &ATOMICS, &ORDERS) {
        of.count(3)?;
        let ((b, ty), a) = (source(reader, of.operands[0])?, reader.address(of.operands[2])?);
        let d = if is_zero(of.operands[1]) { None } else { Some(reader.register(of.operands[1])?.0) };
        reader.update(RmwOp::Atom(op), d, a, [b, NONE], ty, sem);
    } else if let Some((op, sem)) = ordered(mnemonic, &DISCARDING, &[ORDERS[0], ORDERS[2]]) {
        of.count(2)?;
        let ((b, ty), a) = (source(reader, of.operands[0])?, reader.address(of.operands[1])?);
        reader.update(RmwOp::Atom(op), None, a, [b, NONE], ty, sem);
    } else if let Some((_, sem)) = ordered(mnemonic, &[(CAS, ())], &ORDERS) {
        of.count(3)?;
        let (d, ty) = reader.register(of.operands[0])?;
        let ((c, _), a) = (source(reader, of.operands[1])?, reader.address(of.operands[2])?);
        reader.update(RmwOp::Atom(AtomOp::Cas), Some(d), a, [Operand::Register(d), c], ty, sem);
    } else {
        return other(reader, of);
    }
    Ok(())
}

/// Reads a barrier, or an instruction on registers.
fn other(reader: &mut Reader<'_, '_>, of: &Written<'_>) -> Result<(), Wrong> {
    let words = &of.operands;
    match &of.mnemonic[..] {
        "ISB" => reader.fence(HostFence::Isb),
        "DMB" => {
            of.count(1)?;
            match words[0].text.to_uppercase().parse() {
                Ok(dmb) => reader.fence(HostFence::Dmb(dmb)),
                Err(_) => return words[0].wrong(format!("the model has no `DMB {}`: write `DMB ISH`", words[0].text)),
            }
        }
        _ => control(reader, of)?,
    }
    Ok(())
}

/// Reads an instruction on registers, or a branch.
pub(super) fn control(reader: &mut Reader<'_, '_>, of: &Written<'_>) -> Result<(), Wrong> {
    let (mnemonic, words) = (&of.mnemonic[..], &of.operands);
    match mnemonic {
        "NOP" => of.count(0)?,
        "MOV" => {
            of.count(2)?;
            let ((d, ty), value) = (reader.register(words[0])?, source(reader, words[1])?.0);
            reader.alu(Computation::MOV, ty, d, &[value]);
        }
        "CMP" => {
            of.count(2)?;
            let (a, b) = (source(reader, words[0])?.0, source(reader, words[1])?.0);
            reader.compare(a, b);
        }
        "B" => {
            of.count(1)?;
            reader.branch(None, words[0]);
        }
        "CBZ" | "CBNZ" => {
            of.count(2)?;
            let cmp = if mnemonic == "CBZ" { Cmp::Eq } else { Cmp::Ne };
            let a = reader.register(words[0])?.0;
            reader.branch(Some((cmp, Operand::Register(a), Operand::Immediate(0))), words[1]);
        }
        _ => {
            let condition = mnemonic.strip_prefix("B.").or_else(|| mnemonic.strip_prefix('B'));
            let condition = condition.and_then(|word| CONDITIONS.iter().find(|(name, _)| *name == word));
            if let Some((_, cmp)) = condition {
                of.count(1)?;
                reader.branch_on_flags(*cmp, words[0]);
                return Ok(());
            }
            let Some(op) = arithmetic(mnemonic).map(|(op, _)| op).or((mnemonic == "SUB").then_some(AluOp::Sub)) else {
                let on = reader.processor_name();
                return of.at.wrong(format!("`{}` is not an instruction of a litmus test on {on}", of.mnemonic));
            };
            of.count(3)?;
            let (d, ty) = reader.register(words[0])?;
            let sources = [source(reader, words[1])?.0, source(reader, words[2])?.0];
            reader.alu(Computation::Alu(op), ty, d, &sources);
        }
    }
    Ok(())
}

fn is_zero(word: Word<'_>) -> bool {
    ["WZR", "XZR"].contains(&&*word.text.to_uppercase())
}

/// A register, the zero register, or a number, with the type of the register.
pub(super) fn source(reader: &mut Reader<'_, '_>, word: Word<'_>) -> Result<(Operand, Type), Wrong> {
    if is_zero(word) {
        let ty = if word.text.starts_with(['w', 'W']) { Type::U32 } else { Type::U64 };
        return Ok((Operand::Immediate(0), ty));
    }
    match reader.find(word) {
        Some((register, ty)) => Ok((Operand::Register(register), ty)),
        None => Ok((reader.value(word)?, Type::U64)),
    }
}
