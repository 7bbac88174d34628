//! The operands of an instruction, converted to operands of the model.

use ptx_isa::{
    Type,
    syntax::{self, Number, Operand as Written, Shape, Text},
};

use super::{
    names::{declare, is_multimem, label, only_multimem, register, variable},
    shared::Mapped,
    spelling::{is_spelled_in_bits, number},
    test::Dialect,
};
use crate::{
    asynchronous::Memory,
    program::{Address, Label, Location, Operand, Register, Value, Variable, fits},
    ptx::{Program, Thread},
};

/// A position in the file, in bytes, and an error message.
pub(crate) type Wrong = (usize, String);

/// The effects of an instruction on the rest of the test.
pub(crate) struct Cell {
    /// The position of its mnemonic in the file, in bytes.
    pub(crate) at: usize,
    /// Whether it names a state space, and whether that is shared memory.
    pub(crate) is_shared: Option<bool>,
    /// The variables that it accesses.
    pub(crate) uses: Vec<Location>,
    /// The names of accessed variables that were not declared.
    pub(crate) undeclared: Vec<String>,
    /// The kind of memory of the variables of asynchronous instructions.
    pub(crate) placed: Vec<(Location, Memory)>,
    /// Whether the instruction works for a pair of CTAs.
    pub(crate) of_pair: bool,
    /// Registers that must keep their initial value, because the instruction depends on it.
    pub(crate) constant: Vec<Register>,
    pub(crate) mapped: Option<Mapped>,
    /// The target of a branch.
    pub(crate) branch: Option<Label>,
}

impl Cell {
    /// The empty record of an instruction.
    pub(crate) fn at(at: usize) -> Self {
        Self {
            at,
            is_shared: None,
            uses: Vec::new(),
            undeclared: Vec::new(),
            placed: Vec::new(),
            of_pair: false,
            constant: Vec::new(),
            mapped: None,
            branch: None,
        }
    }
}

/// An instruction whose operands are being resolved.
pub(crate) struct Reader<'r, 't> {
    pub(crate) program: &'r mut Program,
    pub(crate) column: usize,
    pub(crate) dialect: Dialect,
    /// The type of an access that does not name one.
    pub(crate) default: Type,
    /// The start of the cell in the file, in bytes.
    pub(crate) start: usize,
    pub(crate) of: &'r syntax::Instruction<'t>,
    pub(crate) cell: Cell,
}

/// The operand of the model for an operand that the instruction does not have.
pub(crate) const NONE: Operand = Operand::Immediate(0);

impl<'t> Reader<'_, 't> {
    pub(crate) fn thread(&mut self) -> &mut Thread {
        &mut self.program.threads[self.column]
    }

    pub(crate) fn mnemonic(&self) -> &'t str {
        self.of.mnemonic.text
    }

    /// An error of the instruction.
    pub(crate) fn wrong<T>(&self, message: impl Into<String>) -> Result<T, Wrong> {
        Err((self.cell.at, message.into()))
    }

    /// An error at a place in the cell.
    pub(crate) fn wrong_at<T>(&self, text: Text<'_>, message: impl Into<String>) -> Result<T, Wrong> {
        Err((self.start + text.start, message.into()))
    }

    /// The mnemonic with its modifiers.
    pub(crate) fn spelled(&self) -> String {
        let dots = self.of.modifiers.iter().map(|word| format!(".{}", word.text));
        self.mnemonic().to_owned() + &dots.collect::<String>()
    }

    pub(crate) fn count(&self, expected: usize) -> Result<(), Wrong> {
        let found = self.of.operands.len();
        if found == expected {
            return Ok(());
        }
        self.wrong(format!("`{}` takes {expected} operands here, not {found}", self.mnemonic()))
    }

    /// Whether an operand is in brackets, or a variable.
    pub(crate) fn is_address(&self, index: usize) -> bool {
        match &self.of.operands[index].shape {
            Shape::Memory { .. } => true,
            Shape::Name { name, .. } => variable(self.program, name.text).is_some(),
            _ => false,
        }
    }

    /// An error at an operand, which is number `which` from 1.
    fn no_operand<T>(&self, which: usize, expected: &str) -> Result<T, Wrong> {
        self.wrong(format!("expected {expected} as operand {which} of `{}`", self.mnemonic()))
    }

    pub(crate) fn register(&mut self, index: usize) -> Result<Register, Wrong> {
        self.register_of(&self.of.operands[index], index + 1)
    }

    pub(crate) fn register_of(&mut self, written: &Written<'t>, which: usize) -> Result<Register, Wrong> {
        match written.shape {
            Shape::Name { name, suffix: None } if variable(self.program, name.text).is_none() => {
                Ok(register(self.thread(), name.text))
            }
            _ => self.no_operand(which, "a register"),
        }
    }

    pub(crate) fn label(&mut self, index: usize) -> Result<Label, Wrong> {
        match self.of.operands[index].shape {
            Shape::Name { name, suffix: None } => {
                let target = label(self.thread(), name.text);
                self.cell.branch = Some(target);
                Ok(target)
            }
            _ => self.no_operand(index + 1, "a label"),
        }
    }

    pub(crate) fn value(&mut self, index: usize, ty: Type) -> Result<Operand, Wrong> {
        self.value_of(&self.of.operands[index], index + 1, ty)
    }

    /// A register, a constant of a type, or a variable's address.
    pub(crate) fn value_of(&mut self, written: &Written<'t>, which: usize, ty: Type) -> Result<Operand, Wrong> {
        let text = written.text.text;
        match written.shape {
            Shape::Name { name, suffix: None } => Ok(self.name(name.text)),
            Shape::Name { .. } => self.wrong(format!("`{text}` has no value here: write a number instead")),
            Shape::Number(number) => match constant(number, text, ty) {
                Some(value) => Ok(Operand::Immediate(value)),
                None if is_spelled_in_bits(ty) => {
                    self.wrong_at(written.text, format!("`{text}` is not a number of type `.{ty}`"))
                }
                None => self.wrong_at(written.text, format!("`{text}` is not a number of 64 bits")),
            },
            Shape::Unknown if text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) => {
                self.wrong_at(written.text, format!("`{text}` is not a number of 64 bits"))
            }
            _ => self.no_operand(which, "a register or a number"),
        }
    }

    /// A value of a type. A constant must fit the type.
    pub(crate) fn fitting(&mut self, written: &Written<'t>, which: usize, ty: Type) -> Result<Operand, Wrong> {
        match self.value_of(written, which, ty)? {
            Operand::Immediate(value) if !fits(ty, value) => {
                self.wrong(format!("`{}` does not fit into {} bits", number(value), ty.bits()))
            }
            operand => Ok(operand),
        }
    }

    fn name(&mut self, name: &str) -> Operand {
        match variable(self.program, name) {
            Some(location) => Operand::Address(location),
            None => Operand::Register(register(self.thread(), name)),
        }
    }

    pub(crate) fn address(&mut self, index: usize) -> Result<Address, Wrong> {
        self.address_of(&self.of.operands[index], index + 1)
    }

    /// An address, with brackets or without. A variable may be new, unless the name looks like a register.
    pub(crate) fn address_of(&mut self, written: &Written<'t>, which: usize) -> Result<Address, Wrong> {
        let of_ptx = written.address().map(|syntax::Address { base, offset }| (base.text, offset));
        let Some((name, offset)) = of_ptx.or_else(|| below(written.text.text)) else {
            return self.no_operand(which, "an address");
        };
        let known = &self.program.threads[self.column].registers;
        if variable(self.program, name).is_none() && !known.iter().any(|register| register.name == name) {
            let digits = name.strip_prefix('r').filter(|rest| rest.chars().all(|c| c.is_ascii_digit()));
            let new = Variable::new(name, 0);
            let declared = !name.starts_with('%') && digits.is_none() && declare(self.program, new).is_some();
            if !declared {
                return self.wrong(format!("`{name}` is neither a variable nor a register that was set"));
            }
            self.cell.undeclared.push(name.into());
        }
        let base = self.name(name);
        if let Operand::Address(variable) = base {
            if is_multimem(self.program, variable) {
                return self.wrong(only_multimem(name));
            }
            self.cell.uses.push(variable);
        }
        Ok(Address { base, offset })
    }
}

/// The name and the offset in `[x-4]`, which is `[x+-4]` in PTX.
fn below(text: &str) -> Option<(&str, i64)> {
    let (name, offset) = text.strip_prefix('[')?.strip_suffix(']')?.split_once('-')?;
    let name = Text::new(name).names().next().filter(|found| found.text == name.trim())?;
    match Number::parse(offset.trim())? {
        Number::Integer(offset) => Some((name.text, (offset as i64).wrapping_neg())),
        _ => None,
    }
}

/// The bits of a constant of a type; `None` if the type does not have the constant, and for a negative constant of more
/// than 64 bits.
fn constant(number: Number, text: &str, ty: Type) -> Option<Value> {
    match (number, ty) {
        (Number::Integer(value), _) if !is_spelled_in_bits(ty) => {
            Some(value).filter(|_| !text.starts_with('-') || value as i64 <= 0)
        }
        (Number::Single(bits), Type::F32) => Some(bits.into()),
        (Number::Double(bits), Type::F64) => Some(bits),
        (Number::Decimal(value), Type::F32) => Some((value as f32).to_bits().into()),
        (Number::Decimal(value), Type::F64) => Some(value.to_bits()),
        _ => None,
    }
}
