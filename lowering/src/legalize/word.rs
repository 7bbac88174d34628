//! Operations on 8 and 16 bits, in the aligned 32-bit word that contains the value, because 32 bits are the minimum of
//! `atom`.
//!
//! `atom.cas.b16` does not help: the assemblers expand it to such a loop, whose first load is weak. `prmt` extracts the
//! field from the word and inserts it, with one instruction each. Its selector is computed once, outside of loops.

use super::{
    body::{Body, register, setp},
    cas_loop::{AGAIN, RETRY, unless_kept},
    emit::{AtomForm, AtomOperands, Emit},
    update::Update,
};
use crate::{
    abi::Step,
    op::{RmwOp, Type as OpType},
    ptx::{AluOp, AtomOp, Cmp, Instruction, LdSem, Name, Operand, Statement, Type},
    sequence::{A, B, C, D},
};

/// The position of a field in its word.
struct Field {
    /// The address of the word.
    word: Name,
    /// The offset of the field in the word, in bytes; `None` if it is known to be 0.
    byte: Option<Name>,
    bits: u32,
}

/// Whether an operation compares signed values.
fn is_signed(op: RmwOp) -> bool {
    matches!(op, RmwOp::Max | RmwOp::Min)
}

/// `and`, `or` and `xor` as a single `atom`, with any semantics: the operand is widened so that other bytes do not
/// change.
pub fn bitwise(op: AtomOp, steps: &[Step], emit: &Emit<'_>, body: &mut Body) {
    let field = Field::locate(emit, body);
    let [operand, seen] = ["%operand", "%seen"].map(|name| body.register(Type::B32, name));
    body.cvt(Type::U32, Type::U16, &operand, register(&B));
    let shift = field.byte.as_ref().map(|byte| {
        let shift = body.register(Type::B32, "%shift");
        body.alu(AluOp::Shl, Type::B32, &shift, [register(byte), Operand::Immediate(3)]);
        shift
    });
    let ones = (1 << field.bits) - 1;
    let wide = match &shift {
        Some(shift) => {
            let wide = body.register(Type::B32, "%wide");
            if op == AtomOp::And {
                // Ones around the operand, by shifting the complement.
                body.alu(AluOp::Xor, Type::B32, &wide, [register(&operand), Operand::Immediate(ones)]);
                body.alu(AluOp::Shl, Type::B32, &wide, [register(&wide), register(shift)]);
                body.alu(AluOp::Not, Type::B32, &wide, [register(&wide)]);
            } else {
                body.alu(AluOp::Shl, Type::B32, &wide, [register(&operand), register(shift)]);
            }
            wide
        }
        None if op == AtomOp::And => {
            let wide = body.register(Type::B32, "%wide");
            let above = Operand::Immediate(u64::from(u32::MAX) ^ ones);
            body.alu(AluOp::Or, Type::B32, &wide, [register(&operand), above]);
            wide
        }
        None => operand,
    };
    let form = AtomForm::new(op, Type::B32);
    emit.around(steps, body, |body, sem| {
        let operands =
            AtomOperands { d: register(&seen), base: field.word.clone(), offset: 0, b: register(&wide), c: None };
        body.push(emit.atom(sem, form, operands));
    });
    if let Some(shift) = &shift {
        body.alu(AluOp::Shr, Type::U32, &seen, [register(&seen), register(shift)]);
    }
    body.cvt(Type::U16, Type::U32, &D, register(&seen));
}

/// Any other rmw, as a compare-and-swap loop on the word.
pub fn cas_loop(op: RmwOp, steps: &[Step], emit: &Emit<'_>, body: &mut Body) {
    let ty = emit.access().ty;
    let location = Field::locate(emit, body);
    let [seen, old, field, new] = ["%seen", "%old", "%field", "%new"].map(|name| body.register(Type::B32, name));
    let retry = body.register(Type::Pred, RETRY);
    let float = ty.is_float() && op != RmwOp::Xchg;
    let operand = if float { B } else { extended(op, ty, &B, "%operand", body) };
    let update = Update::new(op, ty, register(&operand), emit.target, body);
    let (extract, insert) = (location.extract(is_signed(op), body), location.insert(body));
    emit.around(steps, body, |body, sem| {
        body.push(emit.ld(LdSem::Relaxed, Type::B32, seen.clone(), location.word.clone()));
        body.label(AGAIN);
        body.mov(Type::B32, &old, register(&seen));
        if op != RmwOp::Xchg {
            prmt(body, &field, register(&old), Operand::Immediate(0), &extract);
        }
        if float {
            let value = body.register(Type::B16, "%value");
            body.cvt(Type::U16, Type::U32, &value, register(&field));
            update.apply(body, &value, &value);
            body.cvt(Type::U32, Type::U16, &new, register(&value));
        } else {
            update.apply(body, &field, &new);
        }
        prmt(body, &new, register(&old), register(&new), &insert);
        unless_kept(Type::B32, &old, &new, emit, body, |body| {
            let cas = AtomForm::new(AtomOp::Cas, Type::B32);
            let (d, base) = (register(&seen), location.word.clone());
            let operands = AtomOperands { d, base, offset: 0, b: register(&old), c: Some(register(&new)) };
            body.push(emit.atom(sem, cas, operands));
            body.test(RETRY, Cmp::Ne, Type::B32, register(&seen), register(&old));
            body.push(Statement::from(Instruction::Bra { target: AGAIN }).guarded(retry.clone()));
        });
    });
    // The field is extracted from the last seen word; an exchange does not depend on it.
    if op == RmwOp::Xchg {
        prmt(body, &field, register(&seen), Operand::Immediate(0), &extract);
    }
    body.cvt(Type::U16, Type::U32, &D, register(&field));
}

/// A compare and exchange: a compare-and-swap of the word, repeated while the field has the expected value but other
/// bytes have changed.
pub fn cmpxchg(steps: &[Step], emit: &Emit<'_>, body: &mut Body) {
    let field = Field::locate(emit, body);
    let [seen, old, new, expected, desired] =
        ["%seen", "%old", "%new", "%expected", "%desired"].map(|name| body.register(Type::B32, name));
    let retry = body.register(Type::Pred, RETRY);
    body.cvt(Type::U32, Type::U16, &expected, register(&B));
    body.cvt(Type::U32, Type::U16, &desired, register(&C));
    let (extract, insert) = (field.extract(false, body), field.insert(body));
    emit.around(steps, body, |body, sem| {
        body.push(emit.ld(LdSem::Relaxed, Type::B32, seen.clone(), field.word.clone()));
        body.label(AGAIN);
        prmt(body, &old, register(&seen), register(&expected), &insert);
        prmt(body, &new, register(&seen), register(&desired), &insert);
        let cas = AtomForm::new(AtomOp::Cas, Type::B32);
        let (d, base) = (register(&seen), field.word.clone());
        let operands = AtomOperands { d, base, offset: 0, b: register(&old), c: Some(register(&new)) };
        body.push(emit.atom(sem, cas, operands));
        body.test(RETRY, Cmp::Ne, Type::B32, register(&seen), register(&old));
        prmt(body, &old, register(&seen), register(&expected), &insert);
        let same_field = setp(Cmp::Eq, Type::B32, &retry, register(&seen), register(&old));
        body.push(same_field.guarded(retry.clone()));
        body.push(Statement::from(Instruction::Bra { target: AGAIN }).guarded(retry.clone()));
    });
    prmt(body, &seen, register(&seen), Operand::Immediate(0), &extract);
    body.cvt(Type::U16, Type::U32, &D, register(&seen));
}

/// A narrow integer in 32 bits, sign- or zero-extended as the operation compares it.
pub fn extended(op: RmwOp, ty: OpType, value: &Name, into: &'static str, body: &mut Body) -> Name {
    let wide = body.register(Type::B32, into);
    let (to, from) = match (is_signed(op), ty.bits()) {
        (true, 8) => (Type::S32, Type::S8),
        (true, _) => (Type::S32, Type::S16),
        (false, 8) => (Type::U32, Type::U8),
        (false, _) => (Type::U32, Type::U16),
    };
    body.cvt(to, from, &wide, register(value));
    wide
}

impl Field {
    fn locate(emit: &Emit<'_>, body: &mut Body) -> Self {
        let bits = emit.access().ty.bits();
        if emit.access().word_aligned {
            return Self { word: A, byte: None, bits };
        }
        let (word, byte) = (body.register(Type::B64, "%word"), body.register(Type::B32, "%byte"));
        body.alu(AluOp::And, Type::B64, &word, [register(&A), Operand::Immediate(!3)]);
        body.cvt(Type::U32, Type::U64, &byte, register(&A));
        body.alu(AluOp::And, Type::B32, &byte, [register(&byte), Operand::Immediate(3)]);
        Self { word, byte: Some(byte), bits }
    }

    /// The selector with which `prmt` of the word and 0 extracts the field. It has one nibble for each byte: 4 selects
    /// a zero byte, and the top bit of a nibble replicates the sign.
    fn extract(&self, signed: bool, body: &mut Body) -> Operand {
        let (factor, at_zero) = match (self.bits, signed) {
            (8, false) => (0x0001, 0x4440),
            (8, true) => (0x1111, 0x8880),
            (_, false) => (0x0011, 0x4410),
            (_, true) => (0x1111, 0x9910),
        };
        let (factor, at_zero) = (Operand::Immediate(factor), Operand::Immediate(at_zero));
        let Some(byte) = &self.byte else { return at_zero };
        let extract = body.register(Type::B32, "%extract");
        body.alu(AluOp::MadLo, Type::U32, &extract, [register(byte), factor, at_zero]);
        register(&extract)
    }

    /// The selector with which `prmt` of the word and a value inserts the value into the field: 4 selects the value's
    /// lowest byte.
    fn insert(&self, body: &mut Body) -> Operand {
        let constant = Operand::Immediate;
        let at_zero = constant(if self.bits == 16 { 0x3254 } else { 0x3214 });
        let Some(byte) = &self.byte else { return at_zero };
        let insert = body.register(Type::B32, "%insert");
        let byte = || register(byte);
        if self.bits == 16 {
            body.alu(AluOp::MadLo, Type::U32, &insert, [byte(), constant(0x10DE), at_zero]);
            return register(&insert);
        }
        // In 0x3210, the nibble number `byte` becomes 4.
        let shift = body.register(Type::B32, "%shift");
        body.alu(AluOp::Shl, Type::B32, &shift, [byte(), constant(2)]);
        body.alu(AluOp::Sub, Type::U32, &insert, [constant(4), byte()]);
        body.alu(AluOp::Shl, Type::B32, &insert, [register(&insert), register(&shift)]);
        body.alu(AluOp::Add, Type::U32, &insert, [register(&insert), constant(0x3210)]);
        register(&insert)
    }
}

fn prmt(body: &mut Body, d: &Name, x: Operand, y: Operand, picks: &Operand) {
    body.alu(AluOp::Prmt, Type::B32, d, [x, y, picks.clone()]);
}
