//! The operations with a form of `atom` that computes exactly their result, for each target.

use super::{
    change::Change,
    emit::{AtomForm, bits},
    packed,
    policy::{FpAtomics, Policy},
};
use crate::{
    op::{Access, RmwOp, Type as OpType},
    ptx::{AtomOp, Space, Target, Type},
};

/// The form of `atom` for this operation; `None` if the target has none.
pub fn native(
    op: RmwOp,
    access: Access,
    policy: &Policy,
    target: &Target,
    changes: &mut Vec<Change>,
) -> Option<AtomForm> {
    let form = match (op, access.ty.is_float()) {
        (RmwOp::FAdd, true) => addition(access, policy, target)?,
        (RmwOp::Xchg, _) if !access.ty.is_sub_word() => AtomForm::new(AtomOp::Exch, bits(access.ty.bits())),
        (_, false) => integer(op, access.ty)?,
        _ => return None,
    };
    // No loop can implement an exchange of 128 bits, so the error names the missing form of the target.
    if !form.exists_on(target) && form.op != AtomOp::Exch {
        return None;
    }
    if access.ty.is_float() && form.op == AtomOp::Add {
        let flushes = form.ty == Type::F32 && !form.noftz && !access.space.is_shared_cta() && !policy.flush_f32;
        changes.extend(flushes.then_some(Change::FlushesSubnormals));
        changes.extend((access.ty.lanes() > 1).then_some(Change::AtomicByElement));
    }
    Some(form)
}

fn integer(op: RmwOp, ty: OpType) -> Option<AtomForm> {
    use Type::*;
    let (unsigned, signed) = match ty {
        OpType::I32 => (U32, S32),
        OpType::I64 => (U64, S64),
        _ => return None,
    };
    let (op, ty) = match op {
        RmwOp::Add => (AtomOp::Add, unsigned),
        RmwOp::And => (AtomOp::And, bits(ty.bits())),
        RmwOp::Or => (AtomOp::Or, bits(ty.bits())),
        RmwOp::Xor => (AtomOp::Xor, bits(ty.bits())),
        RmwOp::Max => (AtomOp::Max, signed),
        RmwOp::Min => (AtomOp::Min, signed),
        RmwOp::UMax => (AtomOp::Max, unsigned),
        RmwOp::UMin => (AtomOp::Min, unsigned),
        RmwOp::UIncWrap if ty == OpType::I32 => (AtomOp::Inc, unsigned),
        RmwOp::UDecWrap if ty == OpType::I32 => (AtomOp::Dec, unsigned),
        _ => return None,
    };
    Some(AtomForm::new(op, ty))
}

/// The form of an addition. Measurements show that the native f32 addition flushes subnormals in global memory, and not
/// in shared memory (CUDA C Programming Guide, arithmetic of compute capability 2.x and later).
fn addition(Access { space, ty, .. }: Access, policy: &Policy, target: &Target) -> Option<AtomForm> {
    let noftz = |ty| AtomForm { op: AtomOp::Add, noftz: true, vec: None, ty };
    match (ty, policy.fp_atomics) {
        (OpType::F64, _) => Some(AtomForm::new(AtomOp::Add, Type::F64)),
        (OpType::F16, _) => Some(noftz(Type::F16)),
        (OpType::Bf16, _) => Some(noftz(Type::Bf16)),
        (OpType::F32, FpAtomics::Ieee) if noftz(Type::F32).exists_on(target) => Some(noftz(Type::F32)),
        (OpType::F32, FpAtomics::Ieee) if !space.is_shared_cta() && !policy.flush_f32 => None,
        (OpType::F32, _) => Some(AtomForm::new(AtomOp::Add, Type::F32)),
        (_, FpAtomics::Ieee) => None,
        (_, FpAtomics::Native) => {
            let form = packed::form(ty)?;
            // A vector `atom` works only on global memory. At a generic address that points to shared memory, it loses
            // the addition.
            if form.vec.is_none() || space == Space::Global && form.exists_on(target) {
                return Some(form);
            }
            // No loop can compare a wider value.
            let has_loop = AtomForm::new(AtomOp::Cas, bits(ty.bits())).exists_on(target);
            (!has_loop).then(|| packed::part(form))
        }
    }
}
