//! An interpreter of sequences, which computes their values on a few bytes of memory.
//!
//! It ignores orderings. Between the instructions of the sequence, another thread may write the memory. The sequence's
//! accesses to the memory are logged.

use std::{
    collections::HashMap,
    ops::{ControlFlow, Range},
};

use crate::{
    ptx::{
        Address, AluOp, Atom, Instruction, Ld, Name, Operand, Red, Space, St, Statement, Type, VectorSize,
        arithmetic::{Rmw, Subnormals, alu, compare, convert, mask, sign_extend, width},
    },
    sequence::{A, B, C, D, Sequence},
};

/// The reason why a sequence cannot be executed to its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Stuck {
    /// The sequence reads a register that it never wrote.
    #[error("register {0} has no value")]
    Register(String),
    /// The sequence branches to a label that it does not have.
    #[error("no label {0}")]
    Label(String),
    /// The sequence has an instruction that the interpreter does not model.
    #[error("{0} is not modelled")]
    Unmodelled(String),
    /// The sequence accesses memory outside of its few bytes, or misaligned.
    #[error("{bytes} bytes at offset {offset} are misaligned or outside of the memory")]
    Address {
        /// The offset from the first byte of the memory, in bytes.
        offset: i64,
        /// The size of the access, in bytes.
        bytes: usize,
    },
    /// The sequence accesses another state space than the address's.
    #[error("an access to {named} memory, where the address is of {own} memory")]
    Space {
        /// The state space that the instruction names.
        named: Space,
        /// The state space of the memory.
        own: Space,
    },
    /// The sequence did not end after this number of statements.
    #[error("no end after {0} statements")]
    Endless(usize),
}

/// The memory and the arguments of a sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    memory: Memory,
    /// The offset of `%a` in the memory, in bytes.
    a: usize,
    b: u128,
    c: u128,
    /// The state space of the memory; `None` if an instruction may name any state space.
    space: Option<Space>,
    /// Whether `%a` is a generic address.
    generic: bool,
    accesses: Vec<ExecutedAccess>,
}

/// An executed access to the memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutedAccess {
    /// The range of bytes in the memory.
    pub bytes: Range<usize>,
    /// Whether the access is a store. A store counts even if it writes the value that is already there.
    pub is_store: bool,
    /// The memory directly before the access.
    pub before: Memory,
    /// The memory directly after the access.
    pub after: Memory,
}

impl ExecutedAccess {
    /// Whether other threads can distinguish the access from a load. An `atom` that does not change the value counts as
    /// a load.
    pub fn writes(&self) -> bool {
        self.is_store || self.before != self.after
    }
}

/// The memory of a [`Machine`], little-endian. Its first byte is aligned to the widest access.
pub type Memory = [u8; MEMORY];

/// The size of the memory, in bytes.
pub const MEMORY: usize = 32;

/// The maximum number of statements in a run.
const LIMIT: usize = 10_000;

/// The address of the first byte of the memory in its state space. Addresses of shared and local memory fit into 32
/// bits.
fn base(space: Option<Space>) -> u64 {
    match space {
        Some(Space::Shared | Space::SharedCta | Space::SharedCluster | Space::Local) => 0x1000,
        _ => 0x7000_0000_1000,
    }
}

/// The generic address of the first byte of a state space. It is 0 for global memory, whose addresses equal their
/// generic addresses.
pub fn window(space: Space) -> u64 {
    match space {
        Space::Shared | Space::SharedCta | Space::SharedCluster => 0x7A00_0000_0000,
        Space::Local => 0x7C00_0000_0000,
        Space::Const => 0x7E00_0000_0000,
        Space::Generic | Space::Global => 0,
    }
}

/// Whether two state spaces are the same memory in a cluster of one CTA.
fn is_same(one: Space, other: Space) -> bool {
    let shared = |space| matches!(space, Space::Shared | Space::SharedCta | Space::SharedCluster);
    one == other || shared(one) && shared(other)
}

impl Machine {
    /// A machine with 32 bytes of memory. All bytes are `filler`, except the value `old` of `bits` bits at `%a`. `a` is
    /// the offset of `%a` in bytes; `b` and `c` are the arguments. Every state space that an instruction names is the
    /// memory's, and no address is local.
    ///
    /// # Panics
    /// If the value is not within the memory.
    pub fn new(bits: u32, a: usize, old: u128, [b, c]: [u128; 2], filler: u8) -> Self {
        let memory = [filler; MEMORY];
        let mut machine = Self { memory, a, b, c, space: None, generic: false, accesses: Vec::new() };
        machine.set(bits, old);
        machine
    }

    /// The same machine, whose memory is in this state space. `%a` is an address in it, or a generic address.
    pub fn in_space(self, space: Space, generic: bool) -> Self {
        Self { space: Some(space), generic, ..self }
    }

    /// The accesses of the last run, in the order of execution.
    pub fn accesses(&self) -> &[ExecutedAccess] {
        &self.accesses
    }

    /// The memory, little-endian. Its first byte is aligned to the widest access.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Mutable access to the memory, for writes of another thread.
    pub fn memory_mut(&mut self) -> &mut [u8] {
        &mut self.memory
    }

    /// The value of `bits` bits at `%a`.
    ///
    /// # Panics
    /// If the value is not within the memory.
    pub fn get(&self, bits: u32) -> u128 {
        self.get_of(&self.memory, bits)
    }

    /// The value of `bits` bits at `%a` in an earlier state of the memory.
    ///
    /// # Panics
    /// If the value is not within the memory.
    pub fn get_of(&self, memory: &Memory, bits: u32) -> u128 {
        little_endian(&memory[self.a..][..bits as usize / 8])
    }

    /// Writes a value of `bits` bits at `%a`.
    ///
    /// # Panics
    /// If the value is not within the memory.
    pub fn set(&mut self, bits: u32, value: u128) {
        let bytes = bits as usize / 8;
        self.memory[self.a..][..bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
    }

    /// Executes a sequence and returns the value of `%d`.
    ///
    /// `other_thread` runs before each instruction that accesses memory.
    ///
    /// # Errors
    /// If the sequence reads a register that it never wrote, branches to a missing label, leaves its memory, or does
    /// not end.
    pub fn run(&mut self, sequence: &Sequence, mut other_thread: impl FnMut(&mut Self)) -> Result<Option<u128>, Stuck> {
        let generic = self.space.filter(|_| self.generic).map_or(0, window);
        let a = u128::from(base(self.space) + generic) + self.a as u128;
        let values = HashMap::from([(A, a), (B, self.b), (C, self.c)]);
        let mut registers = Registers { values, carry: false, space: self.space };
        self.accesses.clear();
        let mut next = 0;
        for _ in 0..LIMIT {
            let Some(statement) = sequence.statements().get(next) else { return Ok(registers.values.remove(&D)) };
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
            let (place, before) = (registers.accessed(instruction)?, self.memory);
            let went = registers.step(instruction, place.clone(), &mut self.memory)?;
            if let Some(bytes) = place {
                let is_store = matches!(instruction, Instruction::St(_));
                self.accesses.push(ExecutedAccess { bytes, is_store, before, after: self.memory });
            }
            if let ControlFlow::Break(target) = went {
                let label = Statement::Label(target.clone());
                let position = sequence.statements().iter().position(|statement| *statement == label);
                next = position.ok_or_else(|| Stuck::Label(target.0.to_string()))?;
            }
        }
        Err(Stuck::Endless(LIMIT))
    }
}

struct Registers {
    values: HashMap<Name, u128>,
    carry: bool,
    /// The state space of the memory.
    space: Option<Space>,
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
                let width = element_width(elements, bits)?;
                let values = elements
                    .iter()
                    .enumerate()
                    .map(|(index, element)| self.value(element, width).map(|value| value << (width * index as u32)));
                values.sum()
            }
            Operand::Sink => Err(Stuck::Unmodelled("`_` as a source".into())),
        }
    }

    fn write(&mut self, operand: &Operand, bits: u32, value: u128) -> Result<(), Stuck> {
        match operand {
            Operand::Register(name) => {
                self.values.insert(name.clone(), value & mask(bits));
            }
            Operand::Vector(elements) => {
                let width = element_width(elements, bits)?;
                for (index, element) in elements.iter().enumerate() {
                    self.write(element, width, value >> (width * index as u32))?;
                }
            }
            Operand::Sink | Operand::Immediate(_) => {}
        }
        Ok(())
    }

    /// Writes a value to a register that may be wider than its type. A signed type is sign-extended (sections 9.7.9 and
    /// 9.7.10).
    fn write_extended(&mut self, name: &Name, ty: Type, value: u128) {
        let value = value & mask(ty.bits());
        let extended = if ty.is_signed() { sign_extend(value as u64, ty.bits()) as u128 } else { value };
        self.values.insert(name.clone(), extended);
    }

    /// The bytes of the memory that an instruction accesses, if it accesses memory.
    fn accessed(&self, instruction: &Instruction) -> Result<Option<Range<usize>>, Stuck> {
        let (vec, ty, space, address) = match instruction {
            Instruction::Ld(Ld { vec, ty, space, a, .. })
            | Instruction::St(St { vec, ty, space, a, .. })
            | Instruction::Atom(Atom { vec, ty, space, a, .. })
            | Instruction::Red(Red { vec, ty, space, a, .. }) => (*vec, *ty, *space, a),
            _ => return Ok(None),
        };
        let bits = accessed(vec, ty).ok_or_else(|| Stuck::Unmodelled(instruction.to_string()))?;
        self.place(address, space, bits).map(Some)
    }

    /// The bytes of the memory that an access of this number of bits covers.
    fn place(&self, address: &Address, named: Space, bits: u32) -> Result<Range<usize>, Stuck> {
        let bytes = bits as usize / 8;
        let address = (self.read(&address.base)? as i64).wrapping_add(address.offset);
        let start = match self.space {
            Some(own) if named == Space::Generic => base(self.space) + window(own),
            Some(own) if !is_same(own, named) => return Err(Stuck::Space { named, own }),
            _ => base(self.space),
        };
        let offset = address.wrapping_sub(start as i64);
        let error = Stuck::Address { offset, bytes };
        let start = usize::try_from(offset).map_err(|_| error.clone())?;
        let fits = start.is_multiple_of(bytes) && start + bytes <= MEMORY;
        if fits { Ok(start..start + bytes) } else { Err(error) }
    }

    /// Executes an instruction, which accesses these bytes. Returns `Break` with the label of a taken branch.
    fn step<'s>(
        &mut self,
        instruction: &'s Instruction,
        place: Option<Range<usize>>,
        memory: &mut Memory,
    ) -> Result<ControlFlow<&'s Name>, Stuck> {
        let unmodelled = || Stuck::Unmodelled(instruction.to_string());
        let place = place.unwrap_or_default();
        let bits = 8 * place.len() as u32;
        match instruction {
            Instruction::Fence(_) | Instruction::Membar(_) => {}
            Instruction::Ld(ld) => {
                let value = little_endian(&memory[place]);
                match &ld.d {
                    Operand::Register(d) if ld.vec.is_none() => self.write_extended(d, ld.ty, value),
                    d => self.write(d, bits, value)?,
                }
            }
            Instruction::St(st) => {
                let bytes = self.value(&st.b, bits)?.to_le_bytes();
                let length = place.len();
                memory[place].copy_from_slice(&bytes[..length]);
            }
            Instruction::Atom(Atom { space, op, noftz, vec, ty, b, .. })
            | Instruction::Red(Red { space, op, noftz, vec, ty, b, .. }) => {
                let (d, c) = match instruction {
                    Instruction::Atom(Atom { d, c, .. }) => (d, c.as_ref()),
                    _ => (&Operand::Sink, None),
                };
                let old = little_endian(&memory[place.clone()]);
                let c = c.map(|c| self.value(c, bits)).transpose()?;
                // 'CUDA C Programming Guide', arithmetic of compute capability 2.x: only shared memory keeps subnormals.
                let kept = *noftz || space.is_shared_cta();
                let subnormals = if kept { Subnormals::Kept } else { Subnormals::Flushed };
                let rmw = Rmw { op: *op, vec: *vec, ty: *ty, subnormals };
                let new = rmw.apply(old, self.value(b, bits)?, c).ok_or_else(unmodelled)?;
                let length = place.len();
                memory[place].copy_from_slice(&new.to_le_bytes()[..length]);
                self.write(d, bits, old)?;
            }
            Instruction::Alu { op, ty, d, sources } => {
                let value = |(index, source)| self.value(source, op.source_type(*ty, index).bits());
                let sources = sources.iter().enumerate().map(value).collect::<Result<Vec<_>, _>>()?;
                let value = self.carried(*op, *ty, &sources).or_else(|| alu(*op, *ty, &sources));
                self.write(d, op.result_type(*ty).bits(), value.ok_or_else(unmodelled)?)?;
            }
            Instruction::Cvt { to, from, d, a, .. } => {
                let value = convert(*to, *from, self.value(a, from.bits())?).ok_or_else(unmodelled)?;
                self.write_extended(d, *to, value);
            }
            Instruction::Setp { cmp, ty, p, a, b } => {
                let holds = compare(*cmp, *ty, self.value(a, ty.bits())?, self.value(b, ty.bits())?);
                self.values.insert(p.clone(), holds.ok_or_else(unmodelled)?.into());
            }
            Instruction::Isspacep { space, p, .. } => {
                let holds = match self.space {
                    Some(own) => is_same(own, *space),
                    None if *space == Space::Local => false,
                    None => return Err(unmodelled()),
                };
                self.values.insert(p.clone(), holds.into());
            }
            Instruction::Bra { target } => return Ok(ControlFlow::Break(target)),
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Executes arithmetic that reads or sets the carry flag.
    fn carried(&mut self, op: AluOp, ty: Type, sources: &[u128]) -> Option<u128> {
        let [a, b] = *sources else { return None };
        if ty.bits() > 64 {
            return None;
        }
        let borrows = matches!(op, AluOp::SubCc | AluOp::Subc);
        let b = if borrows { !b & mask(ty.bits()) } else { b };
        // A subtraction adds the complement and 1; a borrow cancels the 1.
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

/// The width of an access in bits; `None` if it is not a whole number of bytes, or wider than every instruction on
/// values.
fn accessed(vec: Option<VectorSize>, ty: Type) -> Option<u32> {
    Some(width(vec, ty)).filter(|bits| bits.is_multiple_of(8) && (8..=128).contains(bits))
}

/// The width of each element of a vector with this total number of bits.
fn element_width(elements: &[Operand], bits: u32) -> Result<u32, Stuck> {
    let count = elements.len() as u32;
    let parts = (1..=bits).contains(&count) && bits.is_multiple_of(count);
    parts.then(|| bits / count).ok_or_else(|| Stuck::Unmodelled(format!("a vector of {count} in {bits} bits")))
}

fn little_endian(bytes: &[u8]) -> u128 {
    bytes.iter().rev().fold(0, |value, byte| (value << 8) | u128::from(*byte))
}
