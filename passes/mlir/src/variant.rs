//! A row of the table of ops that stay as the NVVM dialect has them.

use ptx_atomics_common::needs::Needs;

/// A variant of an op: what tells it from the others, and what its instruction requires.
#[derive(Debug)]
pub struct Variant {
    /// The name of the op, without the dialect.
    pub op: &'static str,
    pub when: Condition,
    pub needs: Needs,
    /// The instruction, without the qualifiers that change nothing about what it requires.
    pub ptx: &'static str,
    pub conversion: Conversion,
}

/// What MLIR converts a variant to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversion {
    /// An intrinsic, whose attributes say what it does to memory.
    Intrinsic,
    /// An intrinsic of which LLVM believes that it touches less memory than it orders: only its arguments, or none that
    /// a program sees.
    NarrowIntrinsic,
    /// Inline assembly that does not clobber memory. It is `convert-nvvm-to-llvm` that writes it: without this pass the
    /// translation to LLVM IR fails, or drops the op's predicate.
    Asm,
}

/// What tells the variants of an op apart.
#[derive(Debug)]
pub enum Condition {
    /// Nothing: it is what the other variants of the op leave over.
    Always,
    /// An attribute has this value.
    Attribute(&'static str, &'static str),
    /// The operand with this index has this type.
    Operand(usize, &'static str),
}

pub const fn variant(op: &'static str, when: Condition, needs: Needs, ptx: &'static str) -> Variant {
    Variant { op, when, needs, ptx, conversion: Conversion::Intrinsic }
}

pub const fn since(sm: u32, major: u8, minor: u8) -> Needs {
    Needs::since(sm, major, minor)
}

impl Variant {
    pub const fn by(self, conversion: Conversion) -> Self {
        Self { conversion, ..self }
    }

    /// Whether LLVM may move accesses of memory across it that it orders.
    pub fn is_transparent(&self) -> bool {
        self.conversion != Conversion::Intrinsic
    }
}
