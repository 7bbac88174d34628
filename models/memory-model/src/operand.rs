//! The operands of all instructions: registers, variables, addresses.

/// The value of a register or a location: its bits, zero-extended.
pub type Value = u64;

/// An index into [`Thread::registers`](crate::program::Thread::registers).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Register(pub u16);

/// An index into [`Program::locations`](crate::program::Program::locations): a virtual address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location(pub u16);

/// An operand of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// The value of a register.
    Register(Register),
    /// A constant.
    Immediate(Value),
    /// The address of a variable.
    Address(Location),
}

/// `[base+offset]`. Variables are [`SPACING`] apart; an offset that leads from one variable into another is an access
/// that the model does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// A variable, or a register that holds the address of a variable.
    pub base: Operand,
    /// The offset, in bytes.
    pub offset: i64,
}

/// The distance in bytes between the addresses of two variables.
pub const SPACING: u64 = 1 << 32;

impl From<Location> for Address {
    fn from(variable: Location) -> Self {
        Self { base: Operand::Address(variable), offset: 0 }
    }
}

impl Location {
    /// The address as a value, which registers can hold.
    pub fn address(self) -> Value {
        (u64::from(self.0) + 1) * SPACING
    }
}
