//! The instructions of a program that the machine does not support, found before a run.

use ptx_isa::{Family, Runtime};

use crate::{
    code::{Callee, Op, Program},
    matrix::{
        element::Unsupported,
        wgmma::{Immediates, Wgmma},
    },
};

/// An instruction that the machine does not support.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// The line of PTX, from 1.
    pub line: u32,
    /// The instruction, without its operands: `vabsdiff.u32.u32.u32`.
    pub instruction: String,
    /// The reason, as a clause without a full stop.
    pub reason: String,
    /// Whether the run ends when a thread reaches the instruction, with a finding of the kind
    /// [`Unsupported`](crate::FaultKind::Unsupported). Otherwise its values are wrong, which a note of the report
    /// states, and the accesses of other instructions are checked as usual.
    pub ends: bool,
}

/// The reason why the machine does not support an operation, and whether the run ends there.
pub fn why(op: &Op) -> Option<(String, bool)> {
    match op {
        Op::Unsupported(what) => Some((format!("`{what}` is not an instruction that can be run here"), true)),
        Op::Invoke(of) => match &of.callee {
            Callee::Outside(name) if Runtime::from_symbol(name).is_none() => Some((undefined(name), true)),
            _ => None,
        },
        Op::Texture(of) => Some((of.zeros(), false)),
        Op::Matrix(of) => values(of.code.as_ref().map(drop).map_err(Clone::clone)),
        Op::Asynchronous(of) => match of.form.family() {
            Family::WgmmaMmaAsync | Family::WgmmaMmaAsyncSp => {
                values(Wgmma::from_modifiers(of.form.modifiers(), Immediates::default()).map(drop))
            }
            _ => None,
        },
        _ => None,
    }
}

/// The message about a called function that the module does not define.
pub fn undefined(name: &str) -> String {
    format!("the kernel calls `{name}`, which the module does not define")
}

fn values(known: Result<(), Unsupported>) -> Option<(String, bool)> {
    known.err().map(|Unsupported(what)| (format!("{what}: its values are not computed"), false))
}

impl Program {
    /// All instructions that the machine does not support, in the order of their lines.
    pub fn lacks(&self) -> Vec<Lack> {
        let lack = |step: &crate::code::Step| {
            let (reason, ends) = why(&step.op)?;
            let instruction = self.mnemonics.get(&step.at).cloned().unwrap_or_default();
            Some(Lack { line: step.at.line, instruction, reason, ends })
        };
        let mut all: Vec<Lack> = self.steps.iter().filter_map(lack).collect();
        all.sort_by_key(|lack| lack.line);
        all
    }
}
