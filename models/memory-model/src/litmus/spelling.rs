//! The text of numbers and operands.

use crate::{
    program::{Address, Label, Location, Operand, Register, Type, Value},
    ptx::{Program, Thread},
};

/// A value as text. A small negative number is printed with its sign; the bits are the same.
pub fn number(value: Value) -> String {
    if value > Value::MAX - (1 << 32) { (value as i64).to_string() } else { value.to_string() }
}

/// Whether constants of a type are written as the bits of a floating-point number (section 4.5.2).
pub(super) fn is_spelled_in_bits(ty: Type) -> bool {
    matches!(ty, Type::F32 | Type::F64)
}

/// The name of a variable.
pub(super) fn name(program: &Program, location: Location) -> &str {
    program.locations.get(usize::from(location.0)).map_or("?", |variable| &variable.name)
}

/// The names that operands refer to.
pub(super) struct Words<'p> {
    pub(super) program: &'p Program,
    pub(super) thread: &'p Thread,
}

impl Words<'_> {
    pub(super) fn register(&self, register: Register) -> &str {
        self.thread.registers.get(usize::from(register.0)).map_or("?", |register| &register.name)
    }

    pub(super) fn label(&self, label: Label) -> &str {
        self.thread.labels.get(usize::from(label.0)).map_or("?", |label| label)
    }

    pub(super) fn operand(&self, operand: Operand) -> String {
        match operand {
            Operand::Register(register) => self.register(register).into(),
            Operand::Immediate(value) => number(value),
            Operand::Address(location) => name(self.program, location).into(),
        }
    }

    /// A value as an operand of an instruction of this type.
    pub(super) fn value(&self, operand: Operand, ty: Type) -> String {
        match operand {
            Operand::Immediate(bits) if ty == Type::F32 => format!("0f{:08X}", bits as u32),
            Operand::Immediate(bits) if ty == Type::F64 => format!("0d{bits:016X}"),
            operand => self.operand(operand),
        }
    }

    pub(super) fn address(&self, a: Address) -> String {
        let base = self.operand(a.base);
        match a.offset {
            0 => base,
            offset if offset < 0 => format!("[{base}{offset}]"),
            offset => format!("[{base}+{offset}]"),
        }
    }
}
