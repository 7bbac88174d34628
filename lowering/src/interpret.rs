//! What a sequence computes: an interpreter of values, for one memory cell.
//!
//! It knows nothing of orderings. Between the instructions of the sequence another thread may write the cell.

use std::{collections::HashMap, ops::ControlFlow};

use crate::{
    ptx::{AluOp, AtomOp, Cmp, Instruction, Name, Operand, Statement, Type},
    sequence::{B, C, D, Sequence},
};

/// A sequence that cannot be executed, or that does not end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stuck {
    #[error("register {0} has no value")]
    Register(String),
    #[error("no label {0}")]
    Label(String),
    #[error("{0} is not modelled")]
    Unmodelled(String),
    #[error("no end after {0} statements")]
    Endless(usize),
}

/// The longest run, in statements.
const LIMIT: usize = 10_000;

/// Executes a sequence on `memory`, with the sources `b` and `c`, and returns the value of `%d`.
///
/// `other_thread` runs in front of each instruction that accesses memory.
///
/// # Errors
/// If the sequence reads what it never wrote, branches nowhere, or does not end.
pub fn interpret(
    sequence: &Sequence,
    memory: &mut u64,
    [b, c]: [u64; 2],
    mut other_thread: impl FnMut(&mut u64),
) -> Result<Option<u64>, Stuck> {
    let mut registers = Registers(HashMap::from([(B, b), (C, c)]));
    let mut next = 0;
    for _ in 0..LIMIT {
        let Some(statement) = sequence.0.get(next) else { return Ok(registers.0.remove(&D)) };
        next += 1;
        let Statement::Instruction { guard, instruction } = statement else { continue };
        if let Some(guard) = guard
            && (registers.read(&guard.p)? != 0) == guard.negated
        {
            continue;
        }
        if instruction.address().is_some() {
            other_thread(memory);
        }
        if let ControlFlow::Break(target) = registers.step(instruction, memory)? {
            let label = Statement::Label(target.clone());
            let position = sequence.0.iter().position(|statement| *statement == label);
            next = position.ok_or_else(|| Stuck::Label(target.0.to_string()))?;
        }
    }
    Err(Stuck::Endless(LIMIT))
}

struct Registers(HashMap<Name, u64>);

impl Registers {
    fn read(&self, name: &Name) -> Result<u64, Stuck> {
        self.0.get(name).copied().ok_or_else(|| Stuck::Register(name.0.to_string()))
    }

    fn value(&self, operand: &Operand) -> Result<u64, Stuck> {
        match operand {
            Operand::Register(name) => self.read(name),
            Operand::Immediate(bits) => Ok(*bits),
            other => Err(Stuck::Unmodelled(format!("{other:?}"))),
        }
    }

    fn write(&mut self, operand: &Operand, value: u64) {
        if let Operand::Register(name) = operand {
            self.0.insert(name.clone(), value);
        }
    }

    /// Executes one instruction; breaks with the label of a branch.
    fn step<'s>(&mut self, instruction: &'s Instruction, memory: &mut u64) -> Result<ControlFlow<&'s Name>, Stuck> {
        match instruction {
            Instruction::Fence(_) | Instruction::Membar(_) => {}
            Instruction::Ld(ld) => self.write(&ld.d, *memory),
            Instruction::St(st) => *memory = self.value(&st.b)?,
            Instruction::Atom(atom) => {
                let old = *memory;
                let b = self.value(&atom.b)?;
                let c = atom.c.as_ref().map(|c| self.value(c)).transpose()?;
                *memory =
                    atomic(atom.op, atom.ty, old, b, c).ok_or_else(|| Stuck::Unmodelled(instruction.to_string()))?;
                self.write(&atom.d, old);
            }
            Instruction::Red(red) => {
                let b = self.value(&red.b)?;
                *memory = atomic(red.op, red.ty, *memory, b, None)
                    .ok_or_else(|| Stuck::Unmodelled(instruction.to_string()))?;
            }
            Instruction::Alu { op, ty, d, sources } => {
                let sources = sources.iter().map(|source| self.value(source)).collect::<Result<Vec<_>, _>>()?;
                let value = alu(*op, *ty, &sources).ok_or_else(|| Stuck::Unmodelled(instruction.to_string()))?;
                self.0.insert(d.clone(), value);
            }
            Instruction::Setp { cmp, ty, p, a, b } => {
                let holds = compare(*cmp, *ty, self.value(a)?, self.value(b)?);
                self.0.insert(p.clone(), holds.into());
            }
            Instruction::Bra { target } => return Ok(ControlFlow::Break(target)),
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// The new value of the cell ('PTX ISA', section on `atom`).
fn atomic(op: AtomOp, ty: Type, old: u64, b: u64, c: Option<u64>) -> Option<u64> {
    match op {
        AtomOp::Exch => Some(b),
        AtomOp::Cas => Some(if old == b { c? } else { old }),
        AtomOp::Inc => Some(if old >= b { 0 } else { old + 1 }),
        AtomOp::Dec => Some(if old == 0 || old > b { b } else { old - 1 }),
        AtomOp::Add if ty == Type::F32 || ty == Type::F64 => alu(AluOp::AddRn, ty, &[old, b]),
        AtomOp::Add => alu(AluOp::Add, ty, &[old, b]),
        AtomOp::Min => alu(AluOp::Min, ty, &[old, b]),
        AtomOp::Max => alu(AluOp::Max, ty, &[old, b]),
        AtomOp::And => alu(AluOp::And, ty, &[old, b]),
        AtomOp::Or => alu(AluOp::Or, ty, &[old, b]),
        AtomOp::Xor => alu(AluOp::Xor, ty, &[old, b]),
    }
}

fn alu(op: AluOp, ty: Type, sources: &[u64]) -> Option<u64> {
    let mask = u64::MAX >> (64 - ty.bits().min(64));
    let signed = matches!(ty, Type::S32 | Type::S64);
    let sign_extend = |value: u64| ((value << (64 - ty.bits())) as i64) >> (64 - ty.bits());
    let value = match (op, sources) {
        (AluOp::Mov, [a]) => *a,
        (AluOp::Not, [a]) => !a,
        (AluOp::Neg, [a]) => a.wrapping_neg(),
        (AluOp::Add, [a, b]) => a.wrapping_add(*b),
        (AluOp::Sub, [a, b]) => a.wrapping_sub(*b),
        (AluOp::And, [a, b]) => a & b,
        (AluOp::Or, [a, b]) => a | b,
        (AluOp::Xor, [a, b]) => a ^ b,
        (_, [a, b]) if ty == Type::F32 => {
            let (a, b) = (f32::from_bits(*a as u32), f32::from_bits(*b as u32));
            return float(op, a.into(), b.into()).map(|value| (value as f32).to_bits().into());
        }
        (_, [a, b]) if ty == Type::F64 => return float(op, f64::from_bits(*a), f64::from_bits(*b)).map(f64::to_bits),
        (AluOp::Min, [a, b]) if signed => sign_extend(*a).min(sign_extend(*b)) as u64,
        (AluOp::Max, [a, b]) if signed => sign_extend(*a).max(sign_extend(*b)) as u64,
        (AluOp::Min, [a, b]) => *a.min(b),
        (AluOp::Max, [a, b]) => *a.max(b),
        _ => return None,
    };
    Some(value & mask)
}

/// Floating-point arithmetic in f64. For f32 the second rounding changes nothing: f64 has more than twice its digits.
///
/// The sign of a zero that `min` or `max` takes from two zeros is not something that a sequence may rely on; here it is
/// the wrong one.
fn float(op: AluOp, a: f64, b: f64) -> Option<f64> {
    let zeros = a == 0.0 && b == 0.0 && a.is_sign_negative() != b.is_sign_negative();
    Some(match op {
        AluOp::AddRn => a + b,
        AluOp::SubRn => a - b,
        AluOp::Min if zeros => 0.0,
        AluOp::Max if zeros => -0.0,
        AluOp::Min => a.min(b),
        AluOp::Max => a.max(b),
        _ => return None,
    })
}

fn compare(cmp: Cmp, ty: Type, a: u64, b: u64) -> bool {
    let order = match ty {
        Type::F32 => f32::from_bits(a as u32).partial_cmp(&f32::from_bits(b as u32)),
        Type::F64 => f64::from_bits(a).partial_cmp(&f64::from_bits(b)),
        Type::S32 => Some((a as i32).cmp(&(b as i32))),
        Type::S64 => Some((a as i64).cmp(&(b as i64))),
        _ => Some(a.cmp(&b)),
    };
    match cmp {
        Cmp::Eq => order.is_some_and(|order| order.is_eq()),
        Cmp::Ne => order.is_some_and(|order| order.is_ne()),
        Cmp::Ge => order.is_some_and(|order| order.is_ge()),
        Cmp::Gt => order.is_some_and(|order| order.is_gt()),
        Cmp::Nan => order.is_none(),
    }
}
