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
    program::{Computation, Operand},
    ptx::Instruction,
};

impl<'t> Reader<'_, 't> {
    /// `sext.s8 d, a`: the sign of a type, extended to all bits of a register.
    pub(super) fn sext(&mut self) -> Result<Instruction, Wrong> {
        let Modifiers { ty, .. } = self.modifiers(&self.of.modifiers, |found| found.ty.is_some())?;
        let width = ty.unwrap_or(Type::S64).bits();
        match Type::iter().find(|ty| ty.is_signed() && ty.bits() == width) {
            Some(signed) => self.compute_as(Computation::Cvt(Type::S64), signed),
            None => self.wrong(format!("there is no `sext` of {width} bits")),
        }
    }

    /// An instruction on registers with these modifiers.
    pub(super) fn compute(&mut self, computation: Computation, modifiers: &[Text<'t>]) -> Result<Instruction, Wrong> {
        let Modifiers { ty, .. } = self.modifiers(modifiers, |found| found.ty.is_some())?;
        self.compute_as(computation, ty.unwrap_or(Type::U64))
    }

    fn compute_as(&mut self, computation: Computation, ty: Type) -> Result<Instruction, Wrong> {
        if !computation.is_known(ty) {
            return self.wrong(format!("`{}` is not what the model computes: it has integers alone", self.spelled()));
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
        let width = bits.checked_div(elements.len() as u32).unwrap_or_default();
        let unsigned = |bits: u32| Type::iter().find(|ty| ty.bits() == bits && Computation::MOV.is_known(*ty));
        let (Some(part), true) =
            (unsigned(width), elements.len() >= 2 && width * elements.len() as u32 == bits && bits <= 64)
        else {
            return self.wrong(format!("`{}` does not take {} elements", self.spelled(), elements.len()));
        };
        let alu = |computation, ty, d, sources| Instruction::Alu { computation, ty, d, sources };
        let op = |op| Computation::Alu(op);
        // Scratch registers: an element may be the register that is packed, or unpacked.
        let whole = register(self.thread(), "%whole");
        let element = register(self.thread(), "%element");
        let mut code = vec![alu(Computation::MOV, Type::U64, whole, [NONE; 3])];
        if vector == 0 {
            code[0] = alu(Computation::MOV, Type::U64, whole, [self.value(1, Type::U64)?, NONE, NONE]);
            for written in elements {
                if written.shape != Shape::Sink {
                    let d = self.register_of(written, 1)?;
                    code.push(alu(Computation::Cvt(part), part, d, [Operand::Register(whole), NONE, NONE]));
                }
                let by = Operand::Immediate(width.into());
                code.push(alu(op(AluOp::Shr), Type::U64, whole, [Operand::Register(whole), by, NONE]));
            }
            return Ok(code);
        }
        // The first element is the lowest.
        for written in elements.iter().rev() {
            let value = self.value_of(written, 2, part)?;
            code.push(alu(Computation::Cvt(part), part, element, [value, NONE, NONE]));
            let sources = [Operand::Register(whole), Operand::Immediate(1 << width), Operand::Register(element)];
            code.push(alu(op(AluOp::MadLo), Type::U64, whole, sources));
        }
        code.push(alu(Computation::MOV, Type::U64, self.register(0)?, [Operand::Register(whole), NONE, NONE]));
        Ok(code)
    }
}

pub(super) fn is_vector(written: &Written<'_>) -> bool {
    matches!(written.shape, Shape::Vector(_))
}

/// The arithmetic that a mnemonic and its modifiers name, and the modifiers that are left. `mul` and `mad` alone give the low
/// bits.
pub(super) fn arithmetic<'t>(mnemonic: &str, modifiers: &[Text<'t>]) -> Option<(AluOp, Vec<Text<'t>>)> {
    let words: Vec<&str> = modifiers.iter().map(|word| word.text).collect();
    let op = match AluOp::of(mnemonic, &words) {
        None | Some(AluOp::Mul) => AluOp::of(mnemonic, &["lo"])?,
        Some(op) => op,
    };
    Some((op, modifiers.iter().filter(|word| !op.modifiers().any(|own| own == word.text)).copied().collect()))
}
