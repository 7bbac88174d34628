//! The compare-and-swap loop, for operations without an `atom` on the target.
//!
//! The first load is strong, because a weak load would race. The load and the `cas` are relaxed, and the row's fences
//! are outside of the loop, so that no iteration executes a fence. Without one-sided fences the `cas` acquires, which
//! costs less than a full fence. The successful `cas` is the last read and the only write.
//!
//! ```text
//!     ld.relaxed.<scope>     %d, [%a];
//! %again:
//!     mov                    %old, %d;
//!     ...                    %new, from %old and %b
//!     atom.relaxed.<scope>.cas %d, [%a], %old, %new;
//!     setp.ne                %retry, %d, %old;
//!     @%retry bra            %again;
//! ```
//!
//! Values are compared as bits, so that a NaN does not prevent the loop from ending.
//!
//! If the operation may skip its write, the loop ends before the `cas` if the `cas` would not change the value:
//!
//! ```text
//!     setp.ne                %change, %new, %old;
//!     @!%change bra          %kept;
//!     atom ...
//! %kept:
//! ```

use super::{
    body::{Body, register},
    emit::{AtomForm, AtomOperands, Emit},
    update::{Update, differ},
};
use crate::{
    abi::Step,
    op::RmwOp,
    ptx::{AtomOp, Cmp, Instruction, LdSem, Name, Statement, Type},
    sequence::{A, B, D},
};

pub const AGAIN: Name = Name::new("%again");
pub const RETRY: &str = "%retry";
const KEPT: Name = Name::new("%kept");

/// Expands `op`, and replaces the relaxed `atom` of the steps by a loop.
pub fn expand(op: RmwOp, steps: &[Step], emit: &Emit<'_>, body: &mut Body) {
    let (ty, bits) = (emit.access().ty, emit.bits());
    let (old, new) = (body.register(bits, "%old"), body.register(bits, "%new"));
    body.register(Type::Pred, RETRY);
    let update = Update::new(op, ty, register(&B), emit.target, body);
    emit.around(steps, body, |body, sem| {
        body.push(emit.ld(LdSem::Relaxed, bits, D, A));
        body.label(AGAIN);
        body.mov(bits, &old, register(&D));
        update.apply(body, &old, &new);
        unless_kept(bits, &old, &new, emit, body, |body| {
            let cas = AtomForm::new(AtomOp::Cas, bits);
            let operands =
                AtomOperands { d: register(&D), base: A, offset: 0, b: register(&old), c: Some(register(&new)) };
            body.push(emit.atom(sem, cas, operands));
            let retry = differ(body, RETRY, ty, register(&D), register(&old));
            body.push(Statement::from(Instruction::Bra { target: AGAIN }).guarded(retry));
        });
    });
}

/// The rest of a loop that writes `new` over `old`. If the operation may skip its write, the loop ends before the write
/// if both values are equal.
pub fn unless_kept(
    bits: Type,
    old: &Name,
    new: &Name,
    emit: &Emit<'_>,
    body: &mut Body,
    write: impl FnOnce(&mut Body),
) {
    if !emit.access().may_skip_write {
        return write(body);
    }
    let change = body.test("%change", Cmp::Ne, bits, register(new), register(old));
    body.push(Statement::from(Instruction::Bra { target: KEPT }).unless(change));
    write(body);
    body.label(KEPT);
}

#[cfg(test)]
mod tests {
    use strum::IntoEnumIterator;

    use super::*;
    use crate::{
        interpret::Machine,
        legalize::{FpAtomics, Policy, native::native},
        op::{Access, Type as OpType},
        ptx::{AtomSem, Scope, Space, Target},
    };

    /// If PTX has the operation natively, a loop computes the same value.
    #[test]
    fn a_loop_computes_the_result_of_the_native_operation() {
        let values =
            [0, 1, 2, 7, 0x3F80_0000, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0x3FF0 << 48, i64::MAX as u64, 1 << 63];
        let steps = [Step::Atom(AtomSem::Relaxed)];
        let target = Target::new("sm_90".parse().expect("a GPU"), "ptx94".parse().ok()).expect("a target");
        let policy = Policy { fp_atomics: FpAtomics::Ieee, ..Policy::default() };
        let mut compared = 0;
        let types = [OpType::I32, OpType::I64, OpType::F32, OpType::F64];
        for (op, ty) in RmwOp::iter().flat_map(|op| types.map(|ty| (op, ty))).filter(|(op, ty)| op.takes(*ty)) {
            let access = Access::new(Space::Shared, ty);
            let Some(form) = native(op, access, &policy, &target, &mut Vec::new()) else { continue };
            let emit = Emit { scope: Scope::Gpu, target: &target, access: Some(access), mmio: false };
            let (mut looped, mut direct) = (Body::default(), Body::default());
            expand(op, &steps, &emit, &mut looped);
            emit.atoms(form, &steps, &mut direct, register(&B), None);
            let (looped, direct) = (looped.finish(), direct.finish());
            let mask = u64::MAX >> (64 - ty.bits());
            for (old, b) in values.iter().flat_map(|old| values.iter().map(move |b| (old & mask, b & mask))) {
                let run = |sequence| {
                    let mut machine = Machine::new(ty.bits(), 0, old.into(), [b.into(), 0], 0);
                    (machine.run(sequence, |_| {}), *machine.memory())
                };
                assert_eq!(run(&looped), run(&direct), "{op} {ty} {old:#x} {b:#x}\n{looped}");
                compared += 1;
            }
        }
        assert!(compared > 2_000);
    }
}
