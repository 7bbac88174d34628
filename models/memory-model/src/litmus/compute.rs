//! Instructions that compute.

use ptx_isa::{
    AluOp, Type,
    syntax::{Operand as Written, Shape, Text},
};
use strum::IntoEnumIterator;

use super::{
    modifier::Modifiers,
    names::register,
    operand::{NONE, Reader, Wrong},
};
use crate::{
    program::{Computation, Operand, Register},
    ptx::{Instruction, Thread},
};

impl<'t> Reader<'_, 't> {
    /// `sext.s8 d, a`: the sign of a type, extended to all bits of a register.
    pub(super) fn sext(&mut self) -> Result<Instruction, Wrong> {
        let Modifiers { ty, .. } = self.modifiers(&self.of.modifiers, |found| found.ty.is_some())?;
        let width = ty.unwrap_or(Type::S64).bits();
        match Type::iter().find(|ty| ty.is_signed() && ty.bits() == width) {
            Some(signed) => self.compute_as(Computation::Cvt(Type::S64), signed),
            None => self.wrong(format!("`sext` has no form of {width} bits")),
        }
    }

    /// An instruction on registers with these modifiers.
    pub(super) fn compute(&mut self, computation: Computation, modifiers: &[Text<'t>]) -> Result<Instruction, Wrong> {
        let Modifiers { ty, .. } = self.modifiers(modifiers, |found| found.ty.is_some())?;
        self.compute_as(computation, ty.unwrap_or(Type::U64))
    }

    fn compute_as(&mut self, computation: Computation, ty: Type) -> Result<Instruction, Wrong> {
        if !computation.is_known(ty) {
            return self.wrong(format!("the model does not compute `{}`: it has only integers", self.spelled()));
        }
        self.count(computation.arity() + 1)?;
        let mut sources = [NONE; 3];
        for (index, source) in sources.iter_mut().enumerate().take(computation.arity()) {
            *source = self.value(index + 1, computation.source_type(ty, index))?;
        }
        Ok(Instruction::Alu { computation, ty, d: self.register(0)?, sources })
    }

    /// `mov` that packs a vector of registers into one, or unpacks one. The operand `vector` is in braces.
    pub(super) fn moved(&mut self, vector: usize) -> Result<Vec<Instruction>, Wrong> {
        let Modifiers { ty, .. } = self.modifiers(&self.of.modifiers, |found| found.ty.is_some())?;
        self.count(2)?;
        let bits = ty.unwrap_or(Type::U64).bits();
        let Shape::Vector(elements) = &self.of.operands[vector].shape else { return self.wrong("no vector") };
        let moved = match vector {
            0 => {
                let result = |this: &mut Self, written: &Written<'t>| match written.shape {
                    Shape::Sink => Ok(None),
                    _ => this.register_of(written, 1).map(Some),
                };
                let whole = self.value(1, Type::U64)?;
                let results = elements.iter().map(|written| result(self, written)).collect::<Result<Vec<_>, _>>()?;
                unpacked(self.thread(), bits, &results, whole)
            }
            _ => {
                let ty = part(bits, elements.len()).unwrap_or(Type::U64);
                let values = elements.iter().map(|written| self.value_of(written, 2, ty));
                let values = values.collect::<Result<Vec<_>, _>>()?;
                let d = self.register(0)?;
                packed(self.thread(), bits, d, &values)
            }
        };
        moved.or_else(|why| self.wrong(why))
    }
}

/// The type of an element of a register with this number of bits and elements.
fn part(bits: u32, elements: usize) -> Result<Type, String> {
    let width = bits.checked_div(elements as u32).unwrap_or_default();
    let unsigned = Type::iter().find(|ty| ty.bits() == width && Computation::MOV.is_known(*ty));
    let fits = elements >= 2 && width * elements as u32 == bits && bits <= 64;
    unsigned.filter(|_| fits).ok_or_else(|| format!("`mov.b{bits}` does not take {elements} elements"))
}

fn alu(computation: Computation, ty: Type, d: Register, sources: [Operand; 3]) -> Instruction {
    Instruction::Alu { computation, ty, d, sources }
}

/// `mov` that unpacks a register of this number of bits into several: the first is the lowest. It uses scratch
/// registers, because a destination may be the register that is unpacked.
pub(crate) fn unpacked(
    thread: &mut Thread,
    bits: u32,
    results: &[Option<Register>],
    whole_value: Operand,
) -> Result<Vec<Instruction>, String> {
    let part = part(bits, results.len())?;
    let whole = register(thread, "%whole");
    let mut code = vec![alu(Computation::MOV, Type::U64, whole, [whole_value, NONE, NONE])];
    for result in results {
        if let Some(d) = result {
            code.push(alu(Computation::Cvt(part), part, *d, [Operand::Register(whole), NONE, NONE]));
        }
        let by = Operand::Immediate(part.bits().into());
        code.push(alu(Computation::Alu(AluOp::Shr), Type::U64, whole, [Operand::Register(whole), by, NONE]));
    }
    Ok(code)
}

/// `mov` that packs values into a register of this number of bits: the first is the lowest.
pub(crate) fn packed(
    thread: &mut Thread,
    bits: u32,
    d: Register,
    values: &[Operand],
) -> Result<Vec<Instruction>, String> {
    let part = part(bits, values.len())?;
    let [whole, element] = ["%whole", "%element"].map(|name| register(thread, name));
    let mut code = vec![alu(Computation::MOV, Type::U64, whole, [NONE; 3])];
    for value in values.iter().rev() {
        code.push(alu(Computation::Cvt(part), part, element, [*value, NONE, NONE]));
        let sources = [Operand::Register(whole), Operand::Immediate(1 << part.bits()), Operand::Register(element)];
        code.push(alu(Computation::Alu(AluOp::MadLo), Type::U64, whole, sources));
    }
    code.push(alu(Computation::MOV, Type::U64, d, [Operand::Register(whole), NONE, NONE]));
    Ok(code)
}

pub(super) fn is_vector(written: &Written<'_>) -> bool {
    matches!(written.shape, Shape::Vector(_))
}

/// The arithmetic that a mnemonic and its modifiers name, and the remaining modifiers. `mul` and `mad` alone give the
/// low bits.
pub(super) fn arithmetic<'t>(mnemonic: &str, modifiers: &[Text<'t>]) -> Option<(AluOp, Vec<Text<'t>>)> {
    let words: Vec<&str> = modifiers.iter().map(|word| word.text).collect();
    let op = match AluOp::from_mnemonic(mnemonic, &words) {
        None | Some(AluOp::Mul) => AluOp::from_mnemonic(mnemonic, &["lo"])?,
        Some(op) => op,
    };
    Some((op, modifiers.iter().filter(|word| !op.modifiers().any(|own| own == word.text)).copied().collect()))
}
