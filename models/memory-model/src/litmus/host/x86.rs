//! Instructions of x86-64.

use super::cell::{PLAIN, Reader, Written, arithmetic};
use crate::{
    host::HostFence,
    litmus::operand::{NONE, Wrong},
    program::{AluOp, AtomOp, Cmp, Computation, Operand, RmwOp, Type},
    ptx::Sem,
};

/// The register with the expected value of a compare and exchange, which also receives the old value.
const EXPECTED: &str = "RAX";

/// Operations that `LOCK` makes atomic.
#[rustfmt::skip]
pub(super) const LOCKED: [(&str, AtomOp); 4] = [
    ("LOCK ADD", AtomOp::Add), ("LOCK AND", AtomOp::And), ("LOCK OR", AtomOp::Or), ("LOCK XOR", AtomOp::Xor),
];

#[rustfmt::skip]
pub(super) const CONDITIONS: [(&str, Cmp); 8] = [
    ("JE", Cmp::Eq), ("JNE", Cmp::Ne), ("JL", Cmp::Lt), ("JLE", Cmp::Le), ("JG", Cmp::Gt), ("JGE", Cmp::Ge), ("JZ", Cmp::Eq),
    ("JNZ", Cmp::Ne),
];

/// Instructions that are not supported, and their replacement.
const REFUSED: [(&str, &str); 6] = [
    ("LFENCE", "x86-TSO keeps reads in order by itself: leave `LFENCE` out"),
    ("SFENCE", "x86-TSO keeps writes in order by itself: leave `SFENCE` out"),
    ("MOVNTI", "the model has no stores that bypass the caches: write `MOV`"),
    ("CLFLUSH", "the model has no caches: leave `CLFLUSH` out"),
    ("XADD", "`XADD` without `LOCK` is not atomic: write `LOCK XADD`"),
    ("CMPXCHG", "`CMPXCHG` without `LOCK` is not atomic: write `LOCK CMPXCHG`"),
];

pub(super) fn read(reader: &mut Reader<'_, '_>, of: &Written<'_>) -> Result<(), Wrong> {
    let (mnemonic, words) = (&of.mnemonic[..], &of.operands);
    if let Some((_, why)) = REFUSED.iter().find(|(name, _)| *name == mnemonic) {
        return of.at.wrong(*why);
    }
    if let Some((_, op)) = LOCKED.iter().find(|(name, _)| *name == mnemonic) {
        of.count(2)?;
        let (ty, a) = (reader.find(words[1]).map_or(DEFAULT, |(_, ty)| ty), reader.address(words[0])?);
        let b = reader.value(words[1])?;
        reader.update(RmwOp::Atom(*op), None, a, [b, NONE], ty, Sem::AcqRel);
        return Ok(());
    }
    if let Some((_, cmp)) = CONDITIONS.iter().find(|(name, _)| *name == mnemonic) {
        of.count(1)?;
        reader.branch_on_flags(*cmp, words[0]);
        return Ok(());
    }
    match mnemonic {
        "NOP" => of.count(0)?,
        "MFENCE" => {
            of.count(0)?;
            reader.fence(HostFence::Mfence);
        }
        "MOV" | "MOVL" | "MOVQ" => moved(reader, of)?,
        "XCHG" => exchanged(reader, of)?,
        "LOCK XADD" => {
            of.count(2)?;
            let ((d, ty), a) = (reader.register(words[1])?, reader.address(words[0])?);
            reader.update(RmwOp::Atom(AtomOp::Add), Some(d), a, [Operand::Register(d), NONE], ty, Sem::AcqRel);
        }
        "LOCK CMPXCHG" => {
            of.count(2)?;
            let ((c, ty), a) = (reader.register(words[1])?, reader.address(words[0])?);
            let d = reader.scratch(EXPECTED);
            let operands = [Operand::Register(d), Operand::Register(c)];
            reader.update(RmwOp::Atom(AtomOp::Cas), Some(d), a, operands, ty, Sem::AcqRel);
        }
        "LOCK INC" | "LOCK DEC" => {
            of.count(1)?;
            let (a, by) = (reader.address(words[0])?, if mnemonic == "LOCK INC" { 1 } else { u64::MAX });
            let by = Operand::Immediate(by & u64::from(u32::MAX));
            reader.update(RmwOp::Atom(AtomOp::Add), None, a, [by, NONE], DEFAULT, Sem::AcqRel);
        }
        "CMP" => {
            of.count(2)?;
            let operands = [reader.value(words[0])?, reader.value(words[1])?];
            reader.compare(operands[0], operands[1]);
        }
        "JMP" => {
            of.count(1)?;
            reader.branch(None, words[0]);
        }
        _ => computed(reader, of)?,
    }
    Ok(())
}

/// The width of an access if no register determines it.
const DEFAULT: Type = Type::U32;

fn width(of: &Written<'_>) -> Type {
    if of.mnemonic.ends_with('Q') { Type::U64 } else { DEFAULT }
}

fn moved(reader: &mut Reader<'_, '_>, of: &Written<'_>) -> Result<(), Wrong> {
    of.count(2)?;
    let [to, from] = [of.operands[0], of.operands[1]];
    if Reader::is_memory(to) {
        let (a, ty) = (reader.address(to)?, reader.find(from).map_or(width(of), |(_, ty)| ty));
        let b = reader.value(from)?;
        reader.store(a, b, ty, PLAIN);
        return Ok(());
    }
    let (d, ty) = reader.register(to)?;
    if Reader::is_memory(from) {
        let a = reader.address(from)?;
        reader.load(d, ty, a, PLAIN);
    } else {
        let value = reader.value(from)?;
        reader.alu(Computation::MOV, ty, d, &[value]);
    }
    Ok(())
}

/// `XCHG` with memory is locked, with or without the prefix.
fn exchanged(reader: &mut Reader<'_, '_>, of: &Written<'_>) -> Result<(), Wrong> {
    of.count(2)?;
    let (memory, with) = match Reader::is_memory(of.operands[0]) {
        true => (of.operands[0], of.operands[1]),
        false => (of.operands[1], of.operands[0]),
    };
    let ((d, ty), a) = (reader.register(with)?, reader.address(memory)?);
    reader.update(RmwOp::Atom(AtomOp::Exch), Some(d), a, [Operand::Register(d), NONE], ty, Sem::AcqRel);
    Ok(())
}

/// Instructions on registers.
fn computed(reader: &mut Reader<'_, '_>, of: &Written<'_>) -> Result<(), Wrong> {
    let words = &of.operands;
    let op = match &of.mnemonic[..] {
        "SUB" | "DEC" => AluOp::Sub,
        "INC" => AluOp::Add,
        name => match arithmetic(name) {
            Some((op, _)) => op,
            None => return of.at.wrong(format!("`{name}` is not an instruction of a litmus test on x86-64")),
        },
    };
    let is_step = ["INC", "DEC"].contains(&&*of.mnemonic);
    of.count(if is_step { 1 } else { 2 })?;
    if words.iter().any(|word| Reader::is_memory(*word)) {
        let name = &of.mnemonic;
        return of.at.wrong(format!(
            "without `LOCK`, `{name}` on memory is a read and a write: write `LOCK {name}`, or each by `MOV`"
        ));
    }
    let (d, ty) = reader.register(words[0])?;
    let by = if is_step { Operand::Immediate(1) } else { reader.value(words[1])? };
    reader.alu(Computation::Alu(op), ty, d, &[Operand::Register(d), by]);
    Ok(())
}
