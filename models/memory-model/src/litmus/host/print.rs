//! The printer of instructions of the host.

use super::{
    aarch64::{ATOMICS, CAS, CONDITIONS, DISCARDING, LOADS, ORDERS, STORES},
    cell::FLAGS,
    nic,
    register::half,
    x86::{self, LOCKED},
};
use crate::{
    host::HostFence,
    litmus::spelling::{Words, number},
    place::Processor,
    program::{Address, AluOp, AtomOp, Cmp, Computation, Operand, RmwOp, Type},
    ptx::{Fence, Instruction, Sem, Semantics},
};

/// An instruction of a thread of the host, as text in a column.
pub(in crate::litmus) fn instruction(words: &Words<'_>, instruction: &Instruction) -> String {
    let spelled = Spelled { words, processor: words.thread.place.processor };
    match instruction {
        Instruction::Fence(Fence::Host(HostFence::Mfence)) => "MFENCE".into(),
        Instruction::Fence(Fence::Host(HostFence::Isb)) => "ISB".into(),
        Instruction::Fence(Fence::Host(HostFence::Dmb(of))) => format!("DMB {of}"),
        Instruction::Label(label) => format!("{}:", words.label(*label)),
        Instruction::Branch { when, target } => spelled.branch(*when, words.label(*target)),
        Instruction::Alu { computation, ty, d, sources } => {
            spelled.alu(*computation, *ty, words.register(*d), &sources[..computation.arity()])
        }
        access if spelled.processor == Processor::X86 => spelled.x86(access),
        access if spelled.processor == Processor::Nic => spelled.nic(access),
        access => spelled.aarch64(access),
    }
}

/// The printer of the instructions of a processor.
struct Spelled<'w> {
    words: &'w Words<'w>,
    processor: Processor,
}

impl Spelled<'_> {
    /// The name of the part of a register that a type takes.
    fn part(&self, name: &str, ty: Type) -> String {
        match self.processor {
            Processor::AArch64 if ty == Type::U32 && name.starts_with('X') => name.replacen('X', "W", 1),
            Processor::X86 if ty == Type::U32 => half(name).unwrap_or(name).to_owned(),
            _ => name.to_owned(),
        }
    }

    fn operand(&self, operand: Operand, ty: Type) -> String {
        let sign = if self.processor == Processor::X86 { "$" } else { "#" };
        match operand {
            Operand::Immediate(value) => format!("{sign}{}", number(value)),
            Operand::Register(register) => self.part(self.words.register(register), ty),
            operand => self.words.operand(operand),
        }
    }

    fn address(&self, a: Address) -> String {
        let base = self.words.operand(a.base);
        match (self.processor, a.offset) {
            (_, 0) => format!("[{base}]"),
            (Processor::X86, offset) => format!("[{base}{offset:+}]"),
            (_, offset) => format!("[{base},#{offset}]"),
        }
    }

    fn branch(&self, when: Option<(Cmp, Operand, Operand)>, target: &str) -> String {
        let is_x86 = self.processor == Processor::X86;
        let Some((cmp, a, b)) = when else { return format!("{} {target}", if is_x86 { "JMP" } else { "B" }) };
        let of_flags = matches!(a, Operand::Register(a) if self.words.register(a) == FLAGS[0]);
        let named =
            |table: &[(&'static str, Cmp)]| table.iter().find(|(_, of)| *of == cmp).map_or("?", |(name, _)| *name);
        match (is_x86, of_flags) {
            (true, _) => format!("{} {target}", named(&x86::CONDITIONS)),
            (false, true) => format!("B.{} {target}", named(&CONDITIONS)),
            (false, false) => {
                let mnemonic = if cmp == Cmp::Eq { "CBZ" } else { "CBNZ" };
                let _ = b;
                format!("{mnemonic} {},{target}", self.operand(a, Type::U64))
            }
        }
    }

    fn alu(&self, computation: Computation, ty: Type, d: &str, sources: &[Operand]) -> String {
        let d = self.part(d, ty);
        let sources: Vec<String> = sources.iter().map(|source| self.operand(*source, ty)).collect();
        let is_x86 = self.processor == Processor::X86;
        let name = match computation {
            Computation::Alu(AluOp::Mov) => "MOV",
            Computation::Alu(AluOp::Add) => "ADD",
            Computation::Alu(AluOp::Sub) => "SUB",
            Computation::Alu(AluOp::And) => "AND",
            Computation::Alu(AluOp::Or) => {
                if is_x86 {
                    "OR"
                } else {
                    "ORR"
                }
            }
            Computation::Alu(AluOp::Xor) => {
                if is_x86 {
                    "XOR"
                } else {
                    "EOR"
                }
            }
            Computation::Cvt(_) => "SXTW",
            _ => "?",
        };
        // On x86, the destination is also the first source.
        let sources = if is_x86 && sources.len() == 2 { &sources[1..] } else { &sources[..] };
        format!("{name} {d},{}", sources.join(","))
    }

    fn x86(&self, access: &Instruction) -> String {
        match access {
            Instruction::Load { d, a, ty, .. } => {
                format!("MOV {},{}", self.part(self.words.register(*d), *ty), self.address(*a))
            }
            Instruction::Store { a, b, ty, .. } => {
                let q = if *ty == Type::U64 && matches!(b, Operand::Immediate(_)) { "Q" } else { "" };
                format!("MOV{q} {},{}", self.address(*a), self.operand(*b, *ty))
            }
            Instruction::Rmw { op, d, a, b, c, ty, .. } => {
                let (mnemonic, with) = match (op, d) {
                    (RmwOp::Atom(AtomOp::Exch), _) => ("XCHG", b),
                    (RmwOp::Atom(AtomOp::Cas), _) => ("LOCK CMPXCHG", c),
                    (RmwOp::Atom(AtomOp::Add), Some(_)) => ("LOCK XADD", b),
                    (RmwOp::Atom(op), _) => (LOCKED.iter().find(|(_, of)| of == op).map_or("?", |(name, _)| *name), b),
                    (RmwOp::Sub, _) => ("?", b),
                };
                format!("{mnemonic} {},{}", self.address(*a), self.operand(*with, *ty))
            }
            _ => "?".into(),
        }
    }

    fn nic(&self, access: &Instruction) -> String {
        let attribute = |access: &Semantics| if access.relaxed_ordering { nic::RELAXED_ORDERING } else { "" };
        match access {
            Instruction::Load { d, a, .. } => {
                format!("{} {},{}", nic::READ, self.words.register(*d), self.address(*a))
            }
            Instruction::Store { a, b, ty, access } => {
                format!("{}{} {},{}", nic::WRITE, attribute(access), self.address(*a), self.operand(*b, *ty))
            }
            Instruction::Rmw { op, d: Some(d), a, b, c, ty, access } => {
                let name = nic::ATOMICS.iter().find(|(_, of)| RmwOp::Atom(*of) == *op).map_or("?", |(name, _)| *name);
                let operands: &[Operand] = if *op == RmwOp::Atom(AtomOp::Cas) { &[*b, *c] } else { &[*b] };
                let operands: String = operands.iter().map(|of| format!(",{}", self.operand(*of, *ty))).collect();
                format!("{name}{} {},{}{operands}", attribute(access), self.words.register(*d), self.address(*a))
            }
            _ => "?".into(),
        }
    }

    fn aarch64(&self, access: &Instruction) -> String {
        let value = |operand: Operand, ty: Type| match operand {
            Operand::Immediate(0) => (if ty == Type::U32 { "WZR" } else { "XZR" }).to_owned(),
            operand => self.operand(operand, ty),
        };
        let named = |sem: Sem| ORDERS.iter().find(|(_, of)| *of == sem).map_or("?", |(name, _)| *name);
        match access {
            Instruction::Load { d, a, ty, access } => {
                let mnemonic = LOADS.iter().find(|(_, of)| of == access).map_or("?", |(name, _)| *name);
                format!("{mnemonic} {},{}", self.part(self.words.register(*d), *ty), self.address(*a))
            }
            Instruction::Store { a, b, ty, access } => {
                let mnemonic = STORES.iter().find(|(_, of)| of == access).map_or("?", |(name, _)| *name);
                format!("{mnemonic} {},{}", value(*b, *ty), self.address(*a))
            }
            Instruction::Rmw { op: RmwOp::Atom(op), d, a, b, c, ty, access } => {
                let (order, a) = (named(access.sem), self.address(*a));
                let name = |table: &[(&'static str, AtomOp)]| {
                    table.iter().find(|(_, of)| of == op).map_or("?", |(name, _)| *name)
                };
                match d {
                    _ if *op == AtomOp::Cas => format!("{CAS}{order} {},{},{a}", value(*b, *ty), value(*c, *ty)),
                    Some(d) => {
                        let d = self.part(self.words.register(*d), *ty);
                        format!("{}{order} {},{d},{a}", name(&ATOMICS), value(*b, *ty))
                    }
                    None if matches!(access.sem, Sem::Relaxed | Sem::Release) && *op != AtomOp::Exch => {
                        format!("{}{order} {},{a}", name(&DISCARDING), value(*b, *ty))
                    }
                    None => format!(
                        "{}{order} {},{},{a}",
                        name(&ATOMICS),
                        value(*b, *ty),
                        value(Operand::Immediate(0), *ty)
                    ),
                }
            }
            _ => "?".into(),
        }
    }
}
