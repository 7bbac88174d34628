//! A thread's code as a thread of the model, by the reader of litmus tests.

use ptx_isa::syntax::{self, Statement as Syntax, Text};

use super::{
    inline::{Flat, What},
    line::Line,
};
use crate::{
    litmus::{
        Dialect, cell,
        names::{label, register, variable},
        shorthand::END,
    },
    program::{Guard, Instruction, Statement, Stop},
    ptx::Program,
};

/// Litmus tests have matrices of one element, kernels do not.
const ASYNCHRONOUS: &str =
    "asynchronous operations are modelled in litmus tests, not in kernels: write their pattern as one";

/// Adds the code to a thread of the program. Gives where each statement stands.
pub(super) fn read(program: &mut Program, thread: usize, code: Vec<Flat>) -> Vec<Line> {
    for flat in &code {
        declare(program, thread, flat);
    }
    let mut lines = Vec::new();
    for Flat { line, what } in code {
        let before = program.threads[thread].code.len();
        let stop = match what {
            What::Stop(stop, guard) => Some((stop, guard, line.wrong.clone())),
            What::Text(text) => {
                let reader = cell::Thread { program, column: thread, dialect: Dialect::Ptx };
                let read = reader.read(Text::of(&text)).map_err(|(_, why)| why);
                let added = &program.threads[thread].code[before..];
                let is_asynchronous = |of: &Statement<_>| matches!(of.instruction, Instruction::Asynchronous(_));
                let why = match read {
                    Ok(_) if added.iter().any(is_asynchronous) => Some(ASYNCHRONOUS.to_owned()),
                    read => read.err(),
                };
                why.map(|why| (Stop::Unmodelled, guard_of(&text), Some(why)))
            }
        };
        let mut wrong = None;
        if let Some((stop, guard, why)) = stop {
            wrong = why;
            let of = &mut program.threads[thread];
            of.code.truncate(before);
            let guard = guard.map(|guard| {
                let p = guard.trim_start_matches(['@', '!']);
                Guard { p: register(of, p), negated: guard.starts_with("@!") }
            });
            of.code.push(Statement { guard, instruction: Instruction::Stop(stop) });
        }
        let added = program.threads[thread].code.len() - before;
        lines.extend(std::iter::repeat_n(Line { wrong, ..line }, added));
    }
    let of = &mut program.threads[thread];
    let end = label(of, END);
    of.code.push(Instruction::Label(end).into());
    lines.push(Line::default());
    lines
}

/// Declares the registers of an instruction, which may be read before they are written.
fn declare(program: &mut Program, thread: usize, flat: &Flat) {
    let What::Text(text) = &flat.what else { return };
    let Ok(Syntax::Instruction(of)) = syntax::statement(text) else { return };
    if of.mnemonic.text == "bra" {
        return;
    }
    let guard = of.guard.iter().map(|guard| guard.predicate);
    for name in of.operands.iter().flat_map(|operand| operand.names()).chain(guard) {
        if variable(program, name.text).is_none() {
            register(&mut program.threads[thread], name.text);
        }
    }
}

/// `@%p` of an instruction.
fn guard_of(text: &str) -> Option<String> {
    text.starts_with('@').then(|| text.split_whitespace().next().map(str::to_owned)).flatten()
}
