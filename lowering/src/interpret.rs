//! What a sequence computes: an interpreter of values, for a few bytes of memory.
//!
//! It knows nothing of orderings. Between the instructions of the sequence another thread may write the memory.

use std::{collections::HashMap, ops::ControlFlow};

use crate::{
    ptx::{
        Address, AluOp, Atom, AtomOp, Cmp, Instruction, Name, Operand, Space, Statement, Type, VectorSize, sign_extend,
    },
    sequence::{A, B, C, D, Sequence},
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
    #[error("{bytes} bytes at offset {offset} are misaligned or outside of the memory")]
    Address { offset: i64, bytes: usize },
    #[error("no end after {0} statements")]
    Endless(usize),
}

/// What a sequence is executed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Little-endian; its first byte is aligned to all that PTX knows.
    pub memory: Vec<u8>,
    /// The offset of `%a` in the memory, in bytes.
    pub a: usize,
    pub b: u128,
    pub c: u128,
    /// Whether a generic address lies in the window of local memory.
    pub local: bool,
}

/// The longest run, in statements.
const LIMIT: usize = 10_000;

/// The address of the first byte of the memory.
const BASE: u64 = 0x7000_0000_1000;

impl Machine {
    /// A value of `bits` bits at `%a` in 32 bytes of memory that are otherwise `filler`.
    pub fn new(bits: u32, a: usize, old: u128, [b, c]: [u128; 2], filler: u8) -> Self {
        let mut machine = Self { memory: vec![filler; 32], a, b, c, local: false };
        machine.set(bits, old);
        machine
    }

    /// The value of `bits` bits at `%a`.
    pub fn get(&self, bits: u32) -> u128 {
        little_endian(&self.memory[self.a..][..bits as usize / 8])
    }

    /// Writes a value of `bits` bits at `%a`.
    pub fn set(&mut self, bits: u32, value: u128) {
        let bytes = bits as usize / 8;
        self.memory[self.a..][..bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
    }

    /// Executes a sequence and returns the value of `%d`.
    ///
    /// `other_thread` runs in front of each instruction that accesses memory.
    ///
    /// # Errors
    /// If the sequence reads what it never wrote, branches nowhere, leaves its memory, or does not end.
    pub fn run(&mut self, sequence: &Sequence, mut other_thread: impl FnMut(&mut Self)) -> Result<Option<u128>, Stuck> {
        let a = u128::from(BASE) + self.a as u128;
        let mut registers =
            Registers { values: HashMap::from([(A, a), (B, self.b), (C, self.c)]), carry: false, local: self.local };
        let mut next = 0;
        for _ in 0..LIMIT {
            let Some(statement) = sequence.0.get(next) else { return Ok(registers.values.remove(&D)) };
            next += 1;
            let Statement::Instruction { guard, instruction } = statement else { continue };
            if let Some(guard) = guard
                && (registers.read(&guard.p)? != 0) == guard.negated
            {
                continue;
            }
            if instruction.address().is_some() {
                other_thread(self);
            }
            if let ControlFlow::Break(target) = registers.step(instruction, &mut self.memory)? {
                let label = Statement::Label(target.clone());
                let position = sequence.0.iter().position(|statement| *statement == label);
                next = position.ok_or_else(|| Stuck::Label(target.0.to_string()))?;
            }
        }
        Err(Stuck::Endless(LIMIT))
    }
}

struct Registers {
    values: HashMap<Name, u128>,
    carry: bool,
    local: bool,
}

impl Registers {
    fn read(&self, name: &Name) -> Result<u128, Stuck> {
        self.values.get(name).copied().ok_or_else(|| Stuck::Register(name.0.to_string()))
    }

    /// The value of an operand of this width; the first element of a vector is the lowest.
    fn value(&self, operand: &Operand, bits: u32) -> Result<u128, Stuck> {
        match operand {
            Operand::Register(name) => Ok(self.read(name)? & mask(bits)),
            Operand::Immediate(constant) => Ok(u128::from(*constant) & mask(bits)),
            Operand::Vector(elements) => {
                let width = bits / elements.len() as u32;
                let values =
                    elements.iter().map(|element| self.value(element, width)).collect::<Result<Vec<_>, _>>()?;
                Ok(values.into_iter().rev().fold(0, |packed, value| (packed << width) | value))
            }
            Operand::Sink => Err(Stuck::Unmodelled("`_` as a source".into())),
        }
    }

    fn write(&mut self, operand: &Operand, bits: u32, value: u128) {
        match operand {
            Operand::Register(name) => {
                self.values.insert(name.clone(), value & mask(bits));
            }
            Operand::Vector(elements) => {
                let width = bits / elements.len() as u32;
                for (index, element) in elements.iter().enumerate() {
                    self.write(element, width, value >> (width * index as u32));
                }
            }
            Operand::Sink | Operand::Immediate(_) => {}
        }
    }

    /// Where an access of so many bits stands in the memory.
    fn place(&self, address: &Address, bits: u32, memory: &[u8]) -> Result<std::ops::Range<usize>, Stuck> {
        let bytes = bits as usize / 8;
        let address = (self.read(&address.base)? as i64).wrapping_add(address.offset);
        let offset = address.wrapping_sub(BASE as i64);
        let error = Stuck::Address { offset, bytes };
        let start = usize::try_from(offset).map_err(|_| error.clone())?;
        let fits = start % bytes == 0 && start + bytes <= memory.len();
        if fits { Ok(start..start + bytes) } else { Err(error) }
    }

    /// Executes one instruction; breaks with the label of a branch.
    fn step<'s>(&mut self, instruction: &'s Instruction, memory: &mut [u8]) -> Result<ControlFlow<&'s Name>, Stuck> {
        let unmodelled = || Stuck::Unmodelled(instruction.to_string());
        match instruction {
            Instruction::Fence(_) | Instruction::Membar(_) => {}
            Instruction::Ld(ld) => {
                let bits = width(ld.vec, ld.ty);
                let place = self.place(&ld.a, bits, memory)?;
                self.write(&ld.d, bits, little_endian(&memory[place]));
            }
            Instruction::St(st) => {
                let bits = width(st.vec, st.ty);
                let place = self.place(&st.a, bits, memory)?;
                let bytes = self.value(&st.b, bits)?.to_le_bytes();
                let length = place.len();
                memory[place].copy_from_slice(&bytes[..length]);
            }
            Instruction::Atom(Atom { space, op, noftz, vec, ty, d, a, b, c, .. }) => {
                let bits = width(*vec, *ty);
                let place = self.place(a, bits, memory)?;
                let old = little_endian(&memory[place.clone()]);
                let c = c.as_ref().map(|c| self.value(c, bits)).transpose()?;
                // 'CUDA C Programming Guide', arithmetic of compute capability 2.x: only shared memory keeps subnormals.
                let flush = *ty == Type::F32 && !noftz && !matches!(space, Space::Shared | Space::SharedCta);
                let new = atomic(*op, *vec, *ty, flush, old, self.value(b, bits)?, c).ok_or_else(unmodelled)?;
                let length = place.len();
                memory[place].copy_from_slice(&new.to_le_bytes()[..length]);
                self.write(d, bits, old);
            }
            Instruction::Alu { op, ty, d, sources } => {
                let sources =
                    sources.iter().map(|source| self.value(source, ty.bits())).collect::<Result<Vec<_>, _>>()?;
                let value = self.carried(*op, *ty, &sources).or_else(|| alu(*op, *ty, &sources));
                self.write(d, ty.bits(), value.ok_or_else(unmodelled)?);
            }
            Instruction::Cvt { to, from, d, a, .. } => {
                let value = convert(*to, *from, self.value(a, from.bits())?).ok_or_else(unmodelled)?;
                self.values.insert(d.clone(), value & mask(to.bits()));
            }
            Instruction::Setp { cmp, ty, p, a, b } => {
                let holds = compare(*cmp, *ty, self.value(a, ty.bits())?, self.value(b, ty.bits())?);
                self.values.insert(p.clone(), holds.into());
            }
            Instruction::Isspacep { space: Space::Local, p, .. } => {
                self.values.insert(p.clone(), self.local.into());
            }
            Instruction::Bra { target } => return Ok(ControlFlow::Break(target)),
            Instruction::Red(_) | Instruction::Isspacep { .. } => return Err(unmodelled()),
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Arithmetic that reads or sets the carry flag.
    fn carried(&mut self, op: AluOp, ty: Type, sources: &[u128]) -> Option<u128> {
        let [a, b] = *sources else { return None };
        let borrows = matches!(op, AluOp::SubCc | AluOp::Subc);
        let b = if borrows { !b & mask(ty.bits()) } else { b };
        // A subtraction adds the complement and 1, which a borrow takes away.
        let carry_in = match op {
            AluOp::AddCc => false,
            AluOp::SubCc => true,
            AluOp::Addc | AluOp::Subc => self.carry,
            _ => return None,
        };
        let sum = a + b + u128::from(carry_in);
        if matches!(op, AluOp::AddCc | AluOp::SubCc) {
            self.carry = sum >> ty.bits() != 0;
        }
        Some(sum)
    }
}

fn mask(bits: u32) -> u128 {
    u128::MAX >> (128 - bits.min(128))
}

fn width(vec: Option<VectorSize>, ty: Type) -> u32 {
    vec.map_or(1, |vec| vec.elements() as u32) * ty.bits()
}

fn little_endian(bytes: &[u8]) -> u128 {
    bytes.iter().rev().fold(0, |value, byte| (value << 8) | u128::from(*byte))
}

/// The new value of the memory ('PTX ISA', section on `atom`), element by element for a vector or packed type.
fn atomic(
    op: AtomOp,
    vec: Option<VectorSize>,
    ty: Type,
    flush: bool,
    old: u128,
    b: u128,
    c: Option<u128>,
) -> Option<u128> {
    let element = match ty {
        Type::F16x2 => Type::F16,
        Type::Bf16x2 => Type::Bf16,
        ty => ty,
    };
    let (total, bits) = (width(vec, ty), element.bits());
    let places = (0..total).step_by(bits as usize);
    let one = |old: u128, b: u128| match op {
        AtomOp::Exch => Some(b),
        AtomOp::Cas => Some(if old == b { c? } else { old }),
        AtomOp::Inc => Some(if old >= b { 0 } else { old + 1 }),
        AtomOp::Dec => Some(if old == 0 || old > b { b } else { old - 1 }),
        AtomOp::Add if flush => alu(AluOp::AddRn, element, &[flushed(old), flushed(b)]).map(flushed),
        AtomOp::Add if is_float(element) => alu(AluOp::AddRn, element, &[old, b]),
        AtomOp::Add => alu(AluOp::Add, element, &[old, b]),
        AtomOp::Min => alu(AluOp::Min, element, &[old, b]),
        AtomOp::Max => alu(AluOp::Max, element, &[old, b]),
        AtomOp::And => alu(AluOp::And, element, &[old, b]),
        AtomOp::Or => alu(AluOp::Or, element, &[old, b]),
        AtomOp::Xor => alu(AluOp::Xor, element, &[old, b]),
    };
    places.map(|at| Some(one((old >> at) & mask(bits), (b >> at) & mask(bits))? << at)).sum()
}

/// A subnormal f32 as zero of its sign.
fn flushed(bits: u128) -> u128 {
    if f32::from_bits(bits as u32).is_subnormal() { bits & 0x8000_0000 } else { bits }
}

fn is_float(ty: Type) -> bool {
    matches!(ty, Type::F16 | Type::Bf16 | Type::F32 | Type::F64)
}

fn alu(op: AluOp, ty: Type, sources: &[u128]) -> Option<u128> {
    let bits = ty.bits();
    let signed = matches!(ty, Type::S8 | Type::S16 | Type::S32 | Type::S64);
    let extended = |value: u128| sign_extend(value as u64, bits);
    // A shift by the width or more gives 0.
    let shift = |amount: u128| u32::try_from(amount).unwrap_or(u32::MAX);
    let value = match (op, sources) {
        (AluOp::Mov, [a]) => *a,
        (AluOp::Not, [a]) => !a,
        (AluOp::Neg, [a]) if is_float(ty) => a ^ (1 << (bits - 1)),
        (AluOp::Neg, [a]) => a.wrapping_neg(),
        (AluOp::Add, [a, b]) => a.wrapping_add(*b),
        (AluOp::Sub, [a, b]) => a.wrapping_sub(*b),
        (AluOp::And, [a, b]) => a & b,
        (AluOp::Or, [a, b]) => a | b,
        (AluOp::Xor, [a, b]) => a ^ b,
        (AluOp::Shl, [a, b]) => a.checked_shl(shift(*b)).unwrap_or(0),
        (AluOp::Shr, [a, b]) if !signed => a.checked_shr(shift(*b)).unwrap_or(0),
        (AluOp::MadLo, [a, b, c]) => a.wrapping_mul(*b).wrapping_add(*c),
        (AluOp::Prmt, [a, b, c]) => permuted(*a as u32, *b as u32, *c as u32).into(),
        (_, [a, b]) if is_float(ty) => to_bits(ty, float(op, from_bits(ty, *a), from_bits(ty, *b))?),
        (AluOp::Min, [a, b]) if signed => extended(*a).min(extended(*b)) as u128,
        (AluOp::Max, [a, b]) if signed => extended(*a).max(extended(*b)) as u128,
        (AluOp::Min, [a, b]) => *a.min(b),
        (AluOp::Max, [a, b]) => *a.max(b),
        _ => return None,
    };
    Some(value & mask(bits))
}

/// `prmt.b32` in its default mode.
fn permuted(a: u32, b: u32, picks: u32) -> u32 {
    let bytes = [a.to_le_bytes(), b.to_le_bytes()].concat();
    let pick = |index: u32| {
        let nibble = picks >> (4 * index);
        let byte = bytes[(nibble & 7) as usize];
        match nibble & 8 {
            0 => byte,
            _ if byte & 0x80 != 0 => 0xFF,
            _ => 0,
        }
    };
    u32::from_le_bytes([pick(0), pick(1), pick(2), pick(3)])
}

fn convert(to: Type, from: Type, value: u128) -> Option<u128> {
    match (is_float(to), is_float(from)) {
        (true, true) => Some(to_bits(to, from_bits(from, value))),
        (false, false) if matches!(from, Type::S8 | Type::S16 | Type::S32 | Type::S64) => {
            Some(sign_extend(value as u64, from.bits()) as u128)
        }
        (false, false) => Some(value),
        _ => None,
    }
}

/// The digits after the point and the least exponent of a floating-point type.
fn format(ty: Type) -> (u32, i32) {
    match ty {
        Type::F16 => (10, -14),
        Type::Bf16 => (7, -126),
        Type::F32 => (23, -126),
        _ => (52, -1022),
    }
}

fn from_bits(ty: Type, bits: u128) -> f64 {
    match ty {
        Type::F64 => f64::from_bits(bits as u64),
        Type::F32 => f32::from_bits(bits as u32).into(),
        Type::Bf16 => f32::from_bits((bits as u32) << 16).into(),
        _ => {
            let (digits, least) = format(ty);
            let exponent = (bits as i32 >> digits) & 0x1F;
            let fraction = f64::from(bits as u32 & 0x3FF);
            let magnitude = match exponent {
                0x1F if fraction == 0.0 => f64::INFINITY,
                0x1F => f64::NAN,
                0 => fraction * 2f64.powi(least - 10),
                _ => (fraction + 1024.0) * 2f64.powi(exponent - 25),
            };
            if bits & 0x8000 == 0 { magnitude } else { -magnitude }
        }
    }
}

/// Rounds to nearest even. Before it, f64 arithmetic on f32 rounds a first time, which changes nothing: f64 has more than
/// twice the digits.
fn to_bits(ty: Type, value: f64) -> u128 {
    match ty {
        Type::F64 => value.to_bits().into(),
        Type::F32 => (value as f32).to_bits().into(),
        _ => {
            let (digits, least) = format(ty);
            let sign = u128::from(value.is_sign_negative()) << 15;
            let exponents = 0x7FFF & !((1 << digits) - 1);
            if value.is_nan() {
                return 0x7FFF;
            }
            let magnitude = value.abs();
            let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(least);
            // Counted in units of the last digit; one carried over into the exponent is the next power of two.
            let units = (magnitude * 2f64.powi(digits as i32 - exponent)).round_ties_even() as u128;
            let bits = ((exponent - least) as u128) << digits;
            sign | if magnitude.is_infinite() { exponents } else { (bits + units).min(exponents) }
        }
    }
}

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

fn compare(cmp: Cmp, ty: Type, a: u128, b: u128) -> bool {
    let order = match ty {
        _ if is_float(ty) => from_bits(ty, a).partial_cmp(&from_bits(ty, b)),
        Type::S8 | Type::S16 | Type::S32 | Type::S64 => {
            Some(sign_extend(a as u64, ty.bits()).cmp(&sign_extend(b as u64, ty.bits())))
        }
        _ => Some(a.cmp(&b)),
    };
    match cmp {
        Cmp::Eq => order.is_some_and(|order| order.is_eq()),
        Cmp::Ne => order.is_some_and(|order| order.is_ne()),
        Cmp::Lt => order.is_some_and(|order| order.is_lt()),
        Cmp::Ge => order.is_some_and(|order| order.is_ge()),
        Cmp::Gt => order.is_some_and(|order| order.is_gt()),
        Cmp::Nan => order.is_none(),
    }
}
