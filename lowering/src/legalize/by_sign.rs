//! The maximum or minimum of floats by operations on integers, if no value is a NaN.
//!
//! The bits of two floats are ordered like the floats if they are compared as signed integers, unless both floats are
//! negative. Then the order of the bits as unsigned integers is the reverse of the floats' order. The sign of the
//! operand alone can select the comparison: as signed integers, any negative value is less than any nonnegative one; as
//! unsigned integers, it is greater. The order is total: -0 is less than +0.
//!
//! ```text
//!     mov            %bits, %b;
//!     setp.lt        %negative, %bits, 0;
//!     @%negative bra %below;
//!     atom.max.s32   %found, [%a], %bits;
//!     bra            %joined;
//! %below:
//!     atom.min.u32   %found, [%a], %bits;
//! %joined:
//!     mov            %d, %found;
//! ```
//!
//! ptxas would generate two branches from two predicated `atom`s, which take two instructions more.

use super::{
    body::{Body, register},
    emit::{AtomForm, AtomOperands, Emit},
};
use crate::{
    abi::Step,
    op::{RmwOp, Type as OpType},
    ptx::{AtomOp, Cmp, Instruction, Name, Operand, Statement, Target, Type},
    sequence::{A, B, D},
};

const BELOW: Name = Name::new("%below");
const JOINED: Name = Name::new("%joined");

/// The forms of `atom` for a nonnegative operand, and for a negative operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BySign(pub [AtomForm; 2]);

impl BySign {
    /// The forms for a maximum or minimum. Returns `None` for other operations, and if the target lacks a form.
    pub fn from_op(op: RmwOp, ty: OpType, target: &Target) -> Option<Self> {
        let (signed, unsigned) = match ty {
            OpType::F32 => (Type::S32, Type::U32),
            OpType::F64 => (Type::S64, Type::U64),
            _ => return None,
        };
        let (same, other) = match op {
            RmwOp::FMax | RmwOp::FMaximum | RmwOp::FMaximumNum => (AtomOp::Max, AtomOp::Min),
            RmwOp::FMin | RmwOp::FMinimum | RmwOp::FMinimumNum => (AtomOp::Min, AtomOp::Max),
            _ => return None,
        };
        let forms = [AtomForm::new(same, signed), AtomForm::new(other, unsigned)];
        forms.iter().all(|form| form.exists_on(target)).then_some(Self(forms))
    }
}

pub fn expand(BySign([signed, unsigned]): BySign, steps: &[Step], emit: &Emit<'_>, body: &mut Body) {
    let bits = emit.bits();
    let [operand, found] = ["%bits", "%found"].map(|name| body.register(bits, name));
    body.mov(bits, &operand, register(&B));
    let negative = body.test("%negative", Cmp::Lt, signed.ty, register(&operand), Operand::Immediate(0));
    emit.around(steps, body, |body, sem| {
        let atom = |form| {
            emit.atom(
                sem,
                form,
                AtomOperands { d: register(&found), base: A, offset: 0, b: register(&operand), c: None },
            )
        };
        body.push(Statement::from(Instruction::Bra { target: BELOW }).guarded(negative.clone()));
        body.push(atom(signed));
        body.push(Instruction::Bra { target: JOINED });
        body.label(BELOW);
        body.push(atom(unsigned));
        body.label(JOINED);
    });
    body.mov(bits, &D, register(&found));
}
