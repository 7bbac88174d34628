//! The reduction of compiled code to a small program: shared memory is separated from each thread's private memory, and
//! few registers remain.

use std::collections::BTreeMap;

use crate::{
    limit::{Limit, MAX_REGISTERS},
    multimem::Multimem,
    program::{
        Barrier, BarrierName, BarrierPart, Guard, Instruction, Location, Operand, Register, RegisterDeclaration,
        Thread, Value, Variable,
    },
    ptx::{Program, Ptx},
    unfold::{PathAccess, Unfolding, unfold},
};

use super::objects::Objects;

/// The parts of memory that the threads may access, and the parts that conditions name.
pub(super) struct Accessed {
    /// The parts, by their first byte.
    parts: BTreeMap<Value, Part>,
}

#[derive(Clone)]
struct Part {
    bytes: u64,
    threads: Vec<usize>,
    written: bool,
    strong: bool,
}

impl Part {
    /// Whether another thread may observe the accesses of one thread.
    fn is_shared(&self) -> bool {
        self.threads.len() > 1 && (self.written || self.strong)
    }
}

/// Finds the memory that the threads may access. Memory that one thread writes and another one accesses becomes shared,
/// until a fixed point: a thread may reach more of its code if it reads values of other threads.
pub(super) fn accessed(program: &mut Program, unfolding: Unfolding) -> Result<Accessed, Limit> {
    loop {
        let mut parts: BTreeMap<Value, Part> = BTreeMap::new();
        let mut cells: BTreeMap<Location, Part> = BTreeMap::new();
        for (thread, of) in program.threads.iter().enumerate() {
            for PathAccess { span, writes, statement } in unfold(program, of, unfolding, &[])?.touched {
                let strong = is_strong(&of.code[statement].instruction);
                let one = Part { bytes: span.bytes.into(), threads: vec![thread], written: writes, strong };
                let at = program.address_of(span.variable) + Value::from(span.offset);
                merge(cells.entry(span.variable).or_insert_with(|| one.clone()), &one);
                add(&mut parts, at, one);
            }
        }
        let mut changed = false;
        for (location, part) in cells {
            let variable = &mut program.locations[usize::from(location.0)];
            if variable.private && part.is_shared() {
                variable.private = false;
                changed = true;
            }
        }
        if !changed {
            return Ok(Accessed { parts });
        }
    }
}

fn is_strong(instruction: &Instruction<Ptx>) -> bool {
    match instruction {
        Instruction::Load { access, .. } | Instruction::Store { access, .. } | Instruction::Rmw { access, .. } => {
            access.strong()
        }
        Instruction::Vector(elements) | Instruction::Multimem(Multimem { elements, .. }) => {
            elements.iter().any(is_strong)
        }
        _ => false,
    }
}

fn merge(part: &mut Part, other: &Part) {
    for thread in &other.threads {
        if !part.threads.contains(thread) {
            part.threads.push(*thread);
        }
    }
    part.written |= other.written;
    part.strong |= other.strong;
}

/// Adds an access; overlapping parts are merged.
fn add(parts: &mut BTreeMap<Value, Part>, mut at: Value, mut part: Part) {
    let overlapping: Vec<Value> = parts
        .range(at.saturating_sub(8)..at + part.bytes)
        .filter(|(other, of)| **other + of.bytes > at)
        .map(|(other, _)| *other)
        .collect();
    for other in overlapping {
        let Some(of) = parts.remove(&other) else { continue };
        let end = (other + of.bytes).max(at + part.bytes);
        at = at.min(other);
        part.bytes = end - at;
        merge(&mut part, &of);
    }
    parts.insert(at, part);
}

impl Accessed {
    /// Replaces the cells of objects by a variable for each accessed part.
    pub fn rebuild(&self, program: &mut Program, objects: &Objects<'_>) {
        let addresses: Vec<Value> =
            (0..program.locations.len()).map(|index| program.address_of(Location(index as u16))).collect();
        for statement in program.threads.iter_mut().flat_map(|thread| &mut thread.code) {
            for operand in statement.instruction.operands_mut() {
                if let Operand::Address(location) = *operand {
                    *operand = Operand::Immediate(addresses[usize::from(location.0)]);
                }
            }
        }
        program.locations.clear();
        for (&at, part) in &self.parts {
            let Some(object) = objects.at(at) else { continue };
            let offset = at - object.base;
            program.locations.push(Variable {
                address: Some(at),
                private: !part.is_shared(),
                ..Variable::new(object.name_of(offset, part.bytes), object.initial(offset, part.bytes))
            });
        }
    }

    /// Makes a part of the bytes that a condition names. If they are never accessed, the part keeps its name and its
    /// initial value.
    pub fn name(&mut self, at: Value, bytes: u64) {
        add(&mut self.parts, at, Part { bytes, threads: Vec::new(), written: false, strong: false });
    }

    /// Whether exactly these bytes are a part.
    pub fn is(&self, at: Value, bytes: u64) -> bool {
        self.parts.get(&at).is_some_and(|part| part.bytes == bytes)
    }

    /// Whether a thread accesses the part that contains these bytes.
    pub fn touches(&self, at: Value, bytes: u64) -> bool {
        let mut parts = self.parts.range(at.saturating_sub(8)..at + bytes);
        parts.any(|(other, of)| *other + of.bytes > at && !of.threads.is_empty())
    }
}

/// Removes the barriers of threads that are alone in their CTA, where no other thread waits.
pub(super) fn without_lone_barriers(program: &mut Program) {
    let places: Vec<_> = program.threads.iter().map(|thread| thread.place).collect();
    for thread in &mut program.threads {
        let is_alone = places.iter().filter(|place| **place == thread.place).count() == 1;
        for statement in thread.code.iter_mut().filter(|_| is_alone) {
            let name = BarrierName::Cta { instance: 0, id: Operand::Immediate(0), quorum: None };
            if statement.instruction == Instruction::Barrier(Barrier { part: BarrierPart::Sync, of: name }) {
                // The statement is replaced by an empty one, so that indices stay valid.
                statement.instruction = Instruction::Vector(Vec::new());
            }
        }
    }
}

/// Merges registers that never hold a value at the same time, if there are too many.
pub(super) fn share_registers(thread: &mut Thread<Ptx>) -> Result<(), Limit> {
    let count = thread.registers.len();
    if count <= MAX_REGISTERS {
        return Ok(());
    }
    let live = live(thread);
    let mut places: Vec<(Bits, RegisterDeclaration)> = Vec::new();
    let mut place_of = vec![0u16; count];
    // The points at which each register holds a value: where it is live, and where it is written.
    let mut held = vec![Bits::new(thread.code.len() + 1); count];
    for (point, live) in live.iter().enumerate() {
        live.each(|register| held[register].insert(point));
    }
    for (point, statement) in thread.code.iter().enumerate() {
        for register in uses(&statement.instruction).1 {
            // An element of a vector is written before the address of the next one is read.
            held[register].insert(point);
            held[register].insert(point + 1);
        }
    }
    for register in 0..count {
        let declared = thread.registers[register].clone();
        // An observed register holds its value to the end.
        let free = |place: &(Bits, RegisterDeclaration)| {
            !declared.observed && !place.1.observed && place.0.is_disjoint(&held[register])
        };
        let index = match places.iter().position(free) {
            Some(index) => index,
            None => {
                places.push((Bits::new(thread.code.len() + 1), declared));
                places.len() - 1
            }
        };
        places[index].0.add(&held[register]);
        place_of[register] = index as u16;
    }
    if places.len() > MAX_REGISTERS {
        return Err(Limit::Registers);
    }
    thread.registers = places.into_iter().map(|(_, declared)| declared).collect();
    for statement in &mut thread.code {
        if let Some(Guard { p, .. }) = &mut statement.guard {
            *p = Register(place_of[usize::from(p.0)]);
        }
        for operand in statement.instruction.operands_mut() {
            if let Operand::Register(register) = operand {
                *register = Register(place_of[usize::from(register.0)]);
            }
        }
        for register in statement.instruction.results_mut() {
            *register = Register(place_of[usize::from(register.0)]);
        }
    }
    Ok(())
}

/// A set of small numbers.
#[derive(Clone, PartialEq)]
struct Bits(Vec<u64>);

impl Bits {
    fn new(size: usize) -> Self {
        Self(vec![0; size.div_ceil(64)])
    }

    fn insert(&mut self, bit: usize) {
        self.0[bit / 64] |= 1 << (bit % 64);
    }

    fn remove(&mut self, bit: usize) {
        self.0[bit / 64] &= !(1 << (bit % 64));
    }

    fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }

    fn is_disjoint(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| a & b == 0)
    }

    fn each(&self, mut of: impl FnMut(usize)) {
        for (word, bits) in self.0.iter().enumerate() {
            (0..64).filter(|bit| bits >> bit & 1 != 0).for_each(|bit| of(word * 64 + bit));
        }
    }
}

/// The registers that an instruction reads, and those that it writes.
fn uses(instruction: &Instruction<Ptx>) -> (Vec<usize>, Vec<usize>) {
    let mut instruction = instruction.clone();
    let read = instruction.operands_mut().into_iter().filter_map(|operand| match operand {
        Operand::Register(register) => Some(usize::from(register.0)),
        _ => None,
    });
    let read = read.collect();
    (read, instruction.results_mut().into_iter().map(|register| usize::from(register.0)).collect())
}

/// For each statement, the registers whose values may still be read from there on.
fn live(thread: &Thread<Ptx>) -> Vec<Bits> {
    let end = thread.code.len();
    let target = |label| {
        let is = |statement: &crate::program::Statement<Ptx>| statement.instruction == Instruction::Label(label);
        thread.code.iter().position(is).unwrap_or(end)
    };
    let next: Vec<Vec<usize>> = thread
        .code
        .iter()
        .enumerate()
        .map(|(pc, statement)| match statement.instruction {
            Instruction::Branch { when, target: to } => {
                if when.is_none() && statement.guard.is_none() {
                    vec![target(to)]
                } else {
                    vec![target(to), pc + 1]
                }
            }
            Instruction::Stop(_) if statement.guard.is_none() => vec![end],
            _ => vec![pc + 1],
        })
        .collect();
    let mut live = vec![Bits::new(thread.registers.len()); end + 1];
    for (index, register) in thread.registers.iter().enumerate() {
        if register.observed {
            live[end].insert(index);
        }
    }
    loop {
        let mut changed = false;
        for pc in (0..end).rev() {
            let statement = &thread.code[pc];
            let mut now = Bits::new(thread.registers.len());
            next[pc].iter().for_each(|&to| now.add(&live[to]));
            let (read, written) = uses(&statement.instruction);
            match statement.guard {
                Some(guard) => now.insert(guard.p.0.into()),
                None => written.into_iter().for_each(|register| now.remove(register)),
            }
            read.into_iter().for_each(|register| now.insert(register));
            if now != live[pc] {
                live[pc] = now;
                changed = true;
            }
        }
        if !changed {
            return live;
        }
    }
}
