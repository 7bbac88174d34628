//! The compare-and-swap loop, for operations that PTX has no `atom` for.
//!
//! The first load is strong: a weak one would race. Loads and swaps are relaxed and the row's fences stand outside, so
//! that no iteration pays for a fence. The last read and the only write are the swap that succeeds, between the fences.
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
//! Values are compared as bits, so that a NaN ends the loop.

use super::{Emit, bits, operand};
use crate::{
    abi::Step,
    op::{RmwOp, Type as OpType},
    ptx::{AluOp, AtomOp, AtomSem, Cmp, Instruction, LdSem, Name, Operand, Statement, Type},
    sequence::{B, D, Sequence},
};

const OLD: Name = Name::new("%old");
const NEW: Name = Name::new("%new");
const RETRY: Name = Name::new("%retry");
/// A condition of the operation itself.
const TEST: Name = Name::new("%test");
const AGAIN: Name = Name::new("%again");

/// Expands `op` in place of the one relaxed `atom` among the steps.
pub(super) fn expand(op: RmwOp, steps: &[Step], emit: &Emit) -> Sequence {
    let ty = bits(emit.access().ty);
    let cas = (AtomOp::Cas, ty);
    let swap = Step::Atom(AtomSem::Relaxed);
    let update = update(op, emit.access().ty);
    let tests = update.iter().filter_map(Statement::instruction).any(|i| i.destination() == Some(&TEST));

    let predicates = if tests { vec![RETRY, TEST] } else { vec![RETRY] };
    let mut statements =
        vec![Statement::Reg { ty, names: vec![OLD, NEW] }, Statement::Reg { ty: Type::Pred, names: predicates }];
    for step in steps {
        if *step != swap {
            statements.push(emit.step(*step, cas, operand(B), None));
            continue;
        }
        statements.push(emit.step(Step::Ld(LdSem::Relaxed), cas, operand(B), None));
        statements.push(Statement::Label(AGAIN));
        statements.push(alu(AluOp::Mov, ty, OLD, [operand(D)]));
        statements.extend(update.iter().cloned());
        statements.push(emit.step(swap, cas, operand(OLD), Some(operand(NEW))));
        statements.push(setp(Cmp::Ne, ty, RETRY, operand(D), operand(OLD)));
        statements.push(Statement::from(Instruction::Bra { target: AGAIN }).guarded(RETRY));
    }
    Sequence(statements)
}

/// The statements that compute `%new` from `%old` and `%b`, as LLVM's Language Reference defines the operation.
fn update(op: RmwOp, ty: OpType) -> Vec<Statement> {
    use AluOp::*;
    let untyped = bits(ty);
    let (unsigned, signed, float) = match ty.bits() {
        32 => (Type::U32, Type::S32, Type::F32),
        _ => (Type::U64, Type::S64, Type::F64),
    };
    let old = || operand(OLD);
    let new = || operand(NEW);
    let b = || operand(B);
    let constant = Operand::Immediate;
    match op {
        RmwOp::Xchg => vec![alu(Mov, untyped, NEW, [b()])],
        RmwOp::Add => vec![alu(Add, unsigned, NEW, [old(), b()])],
        RmwOp::Sub => vec![alu(Sub, unsigned, NEW, [old(), b()])],
        RmwOp::And => vec![alu(And, untyped, NEW, [old(), b()])],
        RmwOp::Nand => vec![alu(And, untyped, NEW, [old(), b()]), alu(Not, untyped, NEW, [new()])],
        RmwOp::Or => vec![alu(Or, untyped, NEW, [old(), b()])],
        RmwOp::Xor => vec![alu(Xor, untyped, NEW, [old(), b()])],
        RmwOp::Max => vec![alu(Max, signed, NEW, [old(), b()])],
        RmwOp::Min => vec![alu(Min, signed, NEW, [old(), b()])],
        RmwOp::UMax => vec![alu(Max, unsigned, NEW, [old(), b()])],
        RmwOp::UMin => vec![alu(Min, unsigned, NEW, [old(), b()])],
        RmwOp::FAdd => vec![alu(AddRn, float, NEW, [old(), b()])],
        RmwOp::FSub => vec![alu(SubRn, float, NEW, [old(), b()])],
        RmwOp::FMax => vec![alu(Max, float, NEW, [old(), b()])],
        RmwOp::FMin => vec![alu(Min, float, NEW, [old(), b()])],
        RmwOp::FMaximum => extremum(Max, And, float, untyped),
        RmwOp::FMinimum => extremum(Min, Or, float, untyped),
        RmwOp::UIncWrap => vec![
            alu(Add, unsigned, NEW, [old(), constant(1)]),
            setp(Cmp::Ge, unsigned, TEST, old(), b()),
            alu(Mov, untyped, NEW, [constant(0)]).guarded(TEST),
        ],
        // At 0 the decrement wraps to the greatest value, so that one minimum covers both conditions.
        RmwOp::UDecWrap => {
            vec![alu(Sub, unsigned, NEW, [old(), constant(1)]), alu(Min, unsigned, NEW, [new(), b()])]
        }
        RmwOp::USubCond => vec![
            alu(Mov, untyped, NEW, [old()]),
            setp(Cmp::Ge, unsigned, TEST, old(), b()),
            alu(Sub, unsigned, NEW, [old(), b()]).guarded(TEST),
        ],
        RmwOp::USubSat => {
            vec![alu(Max, unsigned, NEW, [old(), b()]), alu(Sub, unsigned, NEW, [new(), b()])]
        }
    }
}

/// `llvm.maximum` or `llvm.minimum`, with no `.NaN` modifier, which f64 lacks. Equal operands are the same bits or zeros
/// of both signs: `and` gives +0, `or` gives -0. A sum with a NaN is a NaN.
fn extremum(op: AluOp, of_zeros: AluOp, float: Type, untyped: Type) -> Vec<Statement> {
    let (old, b) = (|| operand(OLD), || operand(B));
    vec![
        alu(op, float, NEW, [old(), b()]),
        setp(Cmp::Eq, float, TEST, old(), b()),
        alu(of_zeros, untyped, NEW, [old(), b()]).guarded(TEST),
        setp(Cmp::Nan, float, TEST, old(), b()),
        alu(AluOp::AddRn, float, NEW, [old(), b()]).guarded(TEST),
    ]
}

fn alu<const N: usize>(op: AluOp, ty: Type, d: Name, sources: [Operand; N]) -> Statement {
    Instruction::Alu { op, ty, d, sources: sources.into() }.into()
}

fn setp(cmp: Cmp, ty: Type, p: Name, a: Operand, b: Operand) -> Statement {
    Instruction::Setp { cmp, ty, p, a, b }.into()
}

#[cfg(test)]
mod tests {
    use strum::IntoEnumIterator;

    use super::*;
    use crate::{
        interpret::interpret,
        legalize::native,
        op::Access,
        ptx::{Scope, Space},
    };

    /// Where PTX has the operation, a loop computes the same.
    #[test]
    fn a_loop_computes_what_the_native_operation_does() {
        let values =
            [0, 1, 2, 7, 0x3F80_0000, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0x3FF0 << 48, i64::MAX as u64, 1 << 63];
        let steps = [Step::Atom(AtomSem::Relaxed)];
        let mut compared = 0;
        for (op, ty) in
            RmwOp::iter().flat_map(|op| OpType::iter().map(move |ty| (op, ty))).filter(|(op, ty)| op.takes(*ty))
        {
            let Some(atom) = native(op, ty) else { continue };
            let emit = Emit { scope: Scope::Gpu, access: Some(Access::new(Space::Global, ty)) };
            let looped = expand(op, &steps, &emit);
            let direct: Sequence = steps.iter().map(|step| emit.step(*step, atom, operand(B), None)).collect();
            let mask = u64::MAX >> (64 - ty.bits());
            for (old, b) in values.iter().flat_map(|old| values.iter().map(move |b| (old & mask, b & mask))) {
                let run = |sequence: &Sequence| {
                    let mut memory = old;
                    (interpret(sequence, &mut memory, [b, 0], |_| {}), memory)
                };
                assert_eq!(run(&looped), run(&direct), "{op} {ty} {old:#x} {b:#x}\n{looped}");
                compared += 1;
            }
        }
        assert!(compared > 2_000);
    }
}
