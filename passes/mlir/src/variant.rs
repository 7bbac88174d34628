//! The row type of the table of NVVM ops that the pass keeps.

use ptx_atomics_common::needs::Needs;

/// A variant of an op: the condition that selects it, and the requirements of its instruction.
#[derive(Debug)]
pub struct Variant {
    /// The name of the op, without the dialect.
    pub op: &'static str,
    pub when: Condition,
    pub needs: Needs,
    /// The instruction, without the modifiers that do not change its requirements.
    pub ptx: &'static str,
    pub conversion: Conversion,
}

/// The form to which MLIR converts a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversion {
    /// An intrinsic whose attributes describe its memory effects.
    Intrinsic,
    /// An intrinsic for which LLVM assumes fewer memory effects than it orders: only its arguments, or no memory that a
    /// program can access.
    NarrowIntrinsic,
    /// Inline assembly that does not clobber memory. `convert-nvvm-to-llvm` writes it: without that pass, the
    /// translation to LLVM IR fails, or drops the op's predicate.
    Asm,
}

/// The condition that selects a variant of an op.
#[derive(Debug)]
pub enum Condition {
    /// No condition: the variant applies if no other variant of the op does.
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

    /// Whether LLVM may move memory accesses that the variant orders across it.
    pub fn is_transparent(&self) -> bool {
        self.conversion != Conversion::Intrinsic
    }
}
