//! Source programs as text, which [`super::read`] reads.

use std::fmt;

use super::{Cpp, Instruction, Order, Thread, read::Source};
use crate::litmus::number;
use crate::program::{Address, AtomOp, Cmp, Language, Operand, Register, RmwOp, Statement};

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "name: {}", self.name)?;
        for (index, thread) in self.program.threads.iter().enumerate() {
            let place = thread.place;
            let cluster = place.cluster.map_or(String::new(), |cluster| format!(".{cluster}"));
            let name = |location: usize| self.program.locations[location].name.clone();
            write!(f, "P{index}@{}{cluster}.{}:", place.cta, place.gpu)?;
            let mut behind = " ";
            for Statement { instruction: code, .. } in &thread.code {
                // A brace needs no semicolon.
                let between = if matches!(code, Instruction::Label(_)) { " " } else { behind };
                write!(f, "{between}{}", instruction(thread, &name, code))?;
                behind = if matches!(code, Instruction::Branch { .. }) { " " } else { "; " };
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// An instruction of a thread. The text has no branches but those of guards, whose ends are labels, and no arithmetic: what it
/// has not comes out as it is called here.
pub fn instruction(thread: &Thread, name: &dyn Fn(usize) -> String, instruction: &Instruction) -> String {
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
        Instruction::Branch { when: Some((Cmp::Ne, a, b)), .. } => format!("if {} == {} {{", operand(a), operand(b)),
        Instruction::Branch { when: Some((Cmp::Eq, a, b)), .. } => format!("if {} != {} {{", operand(a), operand(b)),
        Instruction::Label(_) => "}".to_owned(),
        other => format!("{other:?}"),
    }
}
