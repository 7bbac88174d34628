//! Source programs as text that [`super::read`] reads.

use std::fmt;

use super::{Cpp, Instruction, Order, Thread, read::Source};
use crate::litmus::number;
use crate::program::{Address, AtomOp, Cmp, Computation, Label, Language, Operand, Register, RmwOp, Statement};

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "name: {}", self.name)?;
        for (index, thread) in self.program.threads.iter().enumerate() {
            let place = thread.place;
            let cluster = place.cluster.map_or(String::new(), |cluster| format!(".{cluster}"));
            let name = |location: usize| self.program.locations[location].name.clone();
            write!(f, "P{index}@{}{cluster}.{}:", place.cta, place.gpu)?;
            let mut after = " ";
            for (index, Statement { instruction, .. }) in thread.code.iter().enumerate() {
                let role = role(thread, index);
                // The target of a `break` is after the loop, so the text does not name it.
                if role == Role::Left {
                    continue;
                }
                // A brace needs no semicolon.
                let between = if matches!(role, Role::Repeat | Role::End) { " " } else { after };
                write!(f, "{between}{}", text(thread, role, &name, instruction))?;
                after = if matches!(role, Role::Guard | Role::Loop) { " " } else { "; " };
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// The role of a statement in the blocks of the text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// The label before a loop.
    Loop,
    /// The branch back to it.
    Repeat,
    /// The branch out of it.
    Break,
    /// The label that the break leads to.
    Left,
    /// The branch over guarded statements.
    Guard,
    /// The label after guarded statements.
    End,
    /// Neither a branch nor a label.
    Other,
}

fn role(thread: &Thread, index: usize) -> Role {
    let at = |label: Label| thread.code.iter().position(|other| other.instruction == Instruction::Label(label));
    let branch = |label: Label| {
        let leads =
            |other: &Statement<Cpp>| matches!(other.instruction, Instruction::Branch { target, .. } if target == label);
        thread.code.iter().position(leads)
    };
    // A branch leaves a loop if it passes over the branch that repeats the loop.
    let leaves = |from: usize, to: usize| {
        (from..to).any(|over| match thread.code[over].instruction {
            Instruction::Branch { target, .. } => at(target).is_some_and(|start| start < from),
            _ => false,
        })
    };
    match thread.code[index].instruction {
        Instruction::Label(label) => match branch(label) {
            Some(from) if from < index && leaves(from, index) => Role::Left,
            Some(from) if from > index => Role::Loop,
            _ => Role::End,
        },
        Instruction::Branch { target, .. } => match at(target) {
            Some(to) if to < index => Role::Repeat,
            Some(to) if leaves(index, to) => Role::Break,
            _ => Role::Guard,
        },
        _ => Role::Other,
    }
}

/// An instruction of a thread. The text format has no branches except guards and loops, and no arithmetic: other
/// instructions are printed under their names in this crate.
fn text(thread: &Thread, role: Role, name: &dyn Fn(usize) -> String, instruction: &Instruction) -> String {
    let register = |register: Register| thread.registers[usize::from(register.0)].name.clone();
    let operand = |operand: &Operand| match operand {
        Operand::Register(number) => register(*number),
        Operand::Immediate(value) => number(*value),
        Operand::Address(location) => format!("&{}", name(usize::from(location.0))),
    };
    let address = |address: &Address| match address.base {
        Operand::Address(location) => name(usize::from(location.0)),
        other => operand(&other),
    };
    let scope = |access: &<Cpp as Language>::Semantics| match access.order {
        Order::NonAtomic => String::new(),
        _ => format!(".{}", access.scope),
    };
    match instruction {
        Instruction::Load { d, a, access, .. } => {
            format!("{}=ld.{}{} {}", register(*d), access.order, scope(access), address(a))
        }
        Instruction::Store { a, b, access, .. } => {
            format!("st.{}{} {} {}", access.order, scope(access), address(a), operand(b))
        }
        Instruction::Rmw { op, d, a, b, c, access, .. } => {
            let d = d.map_or(String::new(), |d| format!("{}=", register(d)));
            let a = address(a);
            match op {
                RmwOp::Atom(AtomOp::Cas) => {
                    let (success, failure) = (access.order, access.failure);
                    format!("{d}cas.{success}/{failure}.{} {a} {} {}", access.scope, operand(b), operand(c))
                }
                op => format!("{d}rmw.{op}.{}.{} {a} {}", access.order, access.scope, operand(b)),
            }
        }
        Instruction::Fence(fence) => format!("fence.{}.{}", fence.order, fence.scope),
        Instruction::Alu { computation: Computation::MOV, d, sources: [a, ..], .. } => {
            format!("{}={}", register(*d), operand(a))
        }
        Instruction::Branch { when: Some((cmp @ (Cmp::Eq | Cmp::Ne), a, b)), .. } => {
            // The branch of a guard passes over the guarded statements.
            let holds = if (*cmp == Cmp::Eq) == (role == Role::Guard) { "!=" } else { "==" };
            let compared = format!("{} {holds} {}", operand(a), operand(b));
            match role {
                Role::Repeat => format!("}} while {compared}"),
                Role::Break => format!("break if {compared}"),
                _ => format!("if {compared} {{"),
            }
        }
        Instruction::Label(_) => if role == Role::Loop { "do {" } else { "}" }.to_owned(),
        other => format!("{other:?}"),
    }
}
