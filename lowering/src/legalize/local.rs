//! The lowering for memory that no other thread accesses: plain loads, stores and arithmetic. No other thread could
//! observe an order.

use super::{
    body::{Body, register},
    emit::Emit,
    update::{Update, differ},
    word::extended,
};
use crate::{
    op::{Operation, RmwOp},
    ptx::{Instruction, Name, Space, Statement, Type},
    sequence::{A, B, C, D},
};

const PRIVATE: Name = Name::new("%private");
const DONE: Name = Name::new("%done");

pub fn expand(operation: Operation, emit: &Emit<'_>, body: &mut Body) {
    match operation {
        Operation::Fence => {}
        Operation::Load(_) => body.push(emit.plain_ld(emit.bits(), D)),
        Operation::Store(_) => body.push(emit.plain_st(emit.bits(), B)),
        Operation::Rmw(op, _) => {
            body.push(emit.plain_ld(emit.bits(), D));
            let stored = stored(op, emit, body);
            body.push(emit.plain_st(emit.bits(), stored));
        }
        Operation::CmpXchg { access, .. } => {
            body.push(emit.plain_ld(emit.bits(), D));
            let differ = differ(body, "%differ", access.ty, register(&D), register(&B));
            body.push(Statement::from(emit.plain_st(emit.bits(), C)).unless(differ));
        }
    }
}

/// The value that an rmw stores.
fn stored(op: RmwOp, emit: &Emit<'_>, body: &mut Body) -> Name {
    let ty = emit.access().ty;
    if op == RmwOp::Xchg {
        return B;
    }
    if !ty.is_sub_word() || ty.is_float() {
        let update = Update::new(op, ty, register(&B), emit.target, body);
        let stored = body.register(emit.bits(), "%stored");
        update.apply(body, &D, &stored);
        return stored;
    }
    let operand = extended(op, ty, &B, "%operand", body);
    let old = extended(op, ty, &D, "%before", body);
    let new = body.register(Type::B32, "%after");
    Update::new(op, ty, register(&operand), emit.target, body).apply(body, &old, &new);
    let stored = body.register(Type::B16, "%stored");
    body.cvt(Type::U16, Type::U32, &stored, register(&new));
    stored
}

/// Emits a run-time test whether the address is local, with plain accesses for a local address and `otherwise` for any
/// other.
pub fn guard(operation: Operation, emit: &Emit<'_>, body: &mut Body, otherwise: impl FnOnce(&mut Body)) {
    let p = body.register(Type::Pred, "%local");
    body.push(Instruction::Isspacep { space: Space::Local, p: p.clone(), a: register(&A) });
    body.push(Statement::from(Instruction::Bra { target: PRIVATE }).guarded(p));
    otherwise(body);
    body.push(Instruction::Bra { target: DONE });
    body.label(PRIVATE);
    expand(operation, emit, body);
    body.label(DONE);
}
