//! The operations of reductions.

use ptx_isa::{
    AtomOp, ModifierKind, Type,
    arithmetic::{Rmw, Subnormals},
};

use crate::{code::Operation, matrix::map::TensorElement};

/// The operation of an instruction, if it reduces.
pub fn operation(of: &Operation) -> Option<Rmw> {
    let op: AtomOp = of.form.modifier(ModifierKind::Operation)?.parse().ok()?;
    let ty: Type = of.form.modifier(ModifierKind::Type)?.parse().ok()?;
    Some(Rmw { op, vec: None, ty: with_sign(op, ty), subnormals: Subnormals::Kept })
}

/// The operation of a reduction through a tensor map. The map gives the type of the elements.
pub fn of_elements(of: &Operation, element: TensorElement) -> Option<Rmw> {
    use TensorElement::*;
    let op: AtomOp = of.form.modifier(ModifierKind::Operation)?.parse().ok()?;
    let ty = match element {
        U8 => Type::U8,
        U16 => Type::U16,
        U32 => Type::U32,
        S32 => Type::S32,
        U64 => Type::U64,
        S64 => Type::S64,
        F16 => Type::F16,
        Bf16 => Type::Bf16,
        F64 => Type::F64,
        F32 | F32Ftz | Tf32 | Tf32Ftz => Type::F32,
        B4x16 | B4x16P64 | B6x16P32 => return None,
    };
    Some(Rmw { op, vec: None, ty: with_sign(op, ty), subnormals: Subnormals::Kept })
}

/// Bitwise operations use untyped bits.
fn with_sign(op: AtomOp, ty: Type) -> Type {
    match (op, ty.bits()) {
        (AtomOp::And | AtomOp::Or | AtomOp::Xor, 32) => Type::B32,
        (AtomOp::And | AtomOp::Or | AtomOp::Xor, 64) => Type::B64,
        _ => ty,
    }
}
