//! The choice of the access of an operation on a target: a single instruction, or an expansion.

use super::{
    body::{Body, register},
    by_sign::{self, BySign},
    cas_loop,
    change::Change,
    emit::{AtomForm, AtomOperands, Emit, bits},
    local, native, packed,
    policy::Policy,
    refusal::Unsupported,
    sub, word,
};
use crate::{
    abi::{RowKind, Step},
    op::{Access, Operation, RmwOp},
    ptx::{AtomOp, AtomSem, Instruction, Space, Target},
    sass::Family,
    sequence::{A, B, C, D},
};

/// The replacement of the access in a row of the ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Implementation {
    /// `ld` or `st`; no access for a fence.
    Plain,
    /// A single `atom` on the slots.
    Atom(AtomForm),
    /// An `atom` on registers of the elements, or an `atom` for each register.
    Packed(AtomForm),
    /// This form of addition, with the negated operand.
    AddOfNegated(AtomForm),
    /// One of two `atom`s on integers, selected by the operand's sign.
    BySign(BySign),
    CasLoop(RmwOp),
    /// An `atom` on the word around the value.
    WordAtom(AtomOp),
    WordCasLoop(RmwOp),
    WordCmpXchg,
    /// Plain accesses without a row, because no other thread can access the memory.
    Private,
}

impl Implementation {
    /// Whether the expansion executes an `atom` several times, or contains several.
    pub fn repeats(self, access: Option<Access>) -> bool {
        match self {
            Self::Packed(form) | Self::AddOfNegated(form) => {
                form.vec.is_none() && access.is_some_and(|access| packed::is_packed(form, access.ty))
            }
            _ => matches!(self, Self::BySign(_) | Self::CasLoop(_) | Self::WordCasLoop(_) | Self::WordCmpXchg),
        }
    }

    /// Whether the implementation is a loop that can detect before its write that the value would not change, and often
    /// does. PTX compares at most 64 bits at once.
    pub fn may_skip_write(self, bits: u32) -> bool {
        matches!(self, Self::CasLoop(op) | Self::WordCasLoop(op) if op.often_keeps() && bits <= 64)
    }

    /// Whether the predicate `so` holds for an `atom` of the implementation with acquire and release semantics.
    pub fn is_assembled(self, emit: &Emit<'_>, so: fn(&Instruction, Family) -> bool) -> bool {
        let forms = match self {
            Self::Atom(form) | Self::Packed(form) | Self::AddOfNegated(form) => vec![form],
            Self::BySign(BySign(forms)) => forms.to_vec(),
            Self::WordAtom(op) => vec![AtomForm::new(op, bits(32))],
            _ => return false,
        };
        let Some(family) = Family::from_sm(emit.target.sm) else { return false };
        forms.into_iter().any(|form| {
            let operands = AtomOperands { d: register(&D), base: A, offset: 0, b: register(&B), c: None };
            so(&emit.atom(AtomSem::AcqRel, form, operands), family)
        })
    }

    pub fn expand(self, steps: &[Step], operation: Operation, emit: &Emit<'_>, body: &mut Body) {
        if emit.access.is_some_and(|access| access.may_be_local) {
            local::guard(operation, emit, body, |body| self.expand_shared(steps, emit, body));
        } else {
            self.expand_shared(steps, emit, body);
        }
    }

    /// Expands the implementation for memory that other threads can access.
    fn expand_shared(self, steps: &[Step], emit: &Emit<'_>, body: &mut Body) {
        match self {
            Self::Plain | Self::Private => steps.iter().for_each(|step| body.push(emit.plain_step(*step))),
            Self::Atom(form) => {
                let c = (form.op == AtomOp::Cas).then(|| register(&C));
                emit.atoms(form, steps, body, register(&B), c);
            }
            Self::AddOfNegated(form) => sub::expand(form, steps, emit, body),
            Self::Packed(form) => packed::expand(form, steps, emit, body, |_, _| {}),
            Self::BySign(forms) => by_sign::expand(forms, steps, emit, body),
            Self::CasLoop(op) => cas_loop::expand(op, steps, emit, body),
            Self::WordAtom(op) => word::bitwise(op, steps, emit, body),
            Self::WordCasLoop(op) => word::cas_loop(op, steps, emit, body),
            Self::WordCmpXchg => word::cmpxchg(steps, emit, body),
        }
    }
}

/// The kind of row that an operation belongs to, and the replacement of its access.
pub fn implementation(
    operation: Operation,
    policy: &Policy,
    target: &Target,
    changes: &mut Vec<Change>,
) -> Result<(RowKind, Implementation), Unsupported> {
    let kind = match operation {
        Operation::Fence => return Ok((RowKind::Fence, Implementation::Plain)),
        Operation::Load(_) => RowKind::Load,
        Operation::Store(_) => RowKind::Store,
        Operation::Rmw(op, access) if !op.takes(access.ty) => {
            return Err(Unsupported::RmwType { op, ty: access.ty });
        }
        Operation::CmpXchg { access, .. } if access.ty.is_float() => return Err(Unsupported::CmpXchgType(access.ty)),
        Operation::Rmw(..) | Operation::CmpXchg { .. } => RowKind::Rmw,
    };
    let access = operation.access();
    match access.map(|access| access.space) {
        Some(Space::Local) => {
            changes.push(Change::Local);
            return Ok((kind, Implementation::Private));
        }
        Some(Space::Const) if kind == RowKind::Load => {
            changes.push(Change::Constant);
            return Ok((kind, Implementation::Private));
        }
        Some(Space::Const) => return Err(Unsupported::ConstantWrite),
        _ => {}
    }
    changes.extend(access.filter(|access| access.may_be_local).map(|_| Change::MaybeLocal));
    let implementation = match operation {
        Operation::Rmw(op, access) => rmw(op, access, policy, target, changes),
        Operation::CmpXchg { access, .. } if access.ty.is_sub_word() => Implementation::WordCmpXchg,
        Operation::CmpXchg { access, .. } => Implementation::Atom(AtomForm::new(AtomOp::Cas, bits(access.ty.bits()))),
        _ => Implementation::Plain,
    };
    changes.extend(match implementation {
        Implementation::WordAtom(_) | Implementation::WordCasLoop(_) | Implementation::WordCmpXchg => {
            Some(Change::SubWord)
        }
        Implementation::CasLoop(_) => Some(Change::CasLoop),
        Implementation::AddOfNegated(_) => Some(Change::SubAsAdd),
        Implementation::BySign(_) => Some(Change::FloatAsInteger),
        _ => None,
    });
    changes.extend(matches!(implementation, Implementation::WordCasLoop(_)).then_some(Change::CasLoop));
    Ok((kind, implementation))
}

/// The replacement of the access of an rmw.
fn rmw(op: RmwOp, access: Access, policy: &Policy, target: &Target, changes: &mut Vec<Change>) -> Implementation {
    if let Some(form) = native::native(op, access, policy, target, changes) {
        return match packed::is_packed(form, access.ty) {
            true => Implementation::Packed(form),
            false => Implementation::Atom(form),
        };
    }
    let addition = match op {
        RmwOp::Sub => native::native(RmwOp::Add, access, policy, target, changes),
        RmwOp::FSub => native::native(RmwOp::FAdd, access, policy, target, changes),
        _ => None,
    };
    if let Some(form) = addition {
        return Implementation::AddOfNegated(form);
    }
    if let Some(forms) = BySign::from_op(op, access.ty, target).filter(|_| policy.no_nans) {
        return Implementation::BySign(forms);
    }
    match (op, access.ty) {
        (RmwOp::And, ty) if ty.is_sub_word() => Implementation::WordAtom(AtomOp::And),
        (RmwOp::Or, ty) if ty.is_sub_word() => Implementation::WordAtom(AtomOp::Or),
        (RmwOp::Xor, ty) if ty.is_sub_word() => Implementation::WordAtom(AtomOp::Xor),
        (_, ty) if ty.is_sub_word() => Implementation::WordCasLoop(op),
        _ => Implementation::CasLoop(op),
    }
}
