//! A cell of a thread of the host, before its instruction is identified: labels, a mnemonic, operands.

use ptx_isa::syntax::{Number, Text};

use super::register::resolve_register;
use crate::{
    host::HostFence,
    litmus::{
        cell::default_type,
        names::{declare, is_multimem, label, only_multimem, register, variable},
        operand::{Cell, NONE, Wrong},
    },
    place::{Processor, Scope},
    program::{
        Address, AluOp, AtomOp, Cmp, Computation, Instruction as Generic, Operand, Register, RmwOp, Type, Variable,
    },
    ptx::{Fence, Instruction, Program, Sem, Semantics},
};

/// A part of a cell, and its start in the file, in bytes.
#[derive(Clone, Copy)]
pub(super) struct Word<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
}

impl<'t> Word<'t> {
    fn new(text: &'t str, at: usize) -> Self {
        let front = text.len() - text.trim_start().len();
        Self { text: text.trim(), at: at + front }
    }

    pub(super) fn wrong<T>(self, message: impl Into<String>) -> Result<T, Wrong> {
        Err((self.at, message.into()))
    }
}

/// The text of a cell after its labels, in capitals except for names.
pub(super) struct Written<'t> {
    /// The mnemonic, with a `LOCK` prefix if there is one.
    pub(super) mnemonic: String,
    pub(super) at: Word<'t>,
    pub(super) operands: Vec<Word<'t>>,
}

pub(super) struct Reader<'p, 't> {
    program: &'p mut Program,
    column: usize,
    text: Word<'t>,
    pub(super) cell: Cell,
}

/// The address of an access.
pub(super) type At = Address;

impl<'p, 't> Reader<'p, 't> {
    pub(super) fn new(program: &'p mut Program, column: usize, text: Text<'t>) -> Self {
        let text = Word::new(text.text, text.start);
        Self { program, column, text, cell: Cell::at(text.at) }
    }

    /// Takes the labels at the start, and splits the rest; `None` if the rest is empty.
    pub(super) fn labels(&mut self) -> Result<Option<Written<'t>>, Wrong> {
        let mut rest = self.text;
        while let Some((name, after)) = rest.text.split_once(':') {
            let name = Word::new(name, rest.at);
            if name.text.is_empty() || !name.text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$') {
                return name.wrong(format!("`{}` is not a label", name.text));
            }
            let column = self.column;
            let thread = &mut self.program.threads[column];
            let instruction = Generic::Label(label(thread, name.text));
            if thread.code.iter().any(|statement| statement.instruction == instruction) {
                return name.wrong(format!("P{column} has the label `{}` twice", name.text));
            }
            thread.code.push(instruction.into());
            rest = Word::new(after, rest.at + rest.text.len() - after.len());
        }
        if rest.text.is_empty() {
            return Ok(None);
        }
        self.cell.at = rest.at;
        let (mut first, mut after) = split(rest);
        let mut mnemonic = first.text.to_uppercase();
        if mnemonic == "LOCK" {
            (first, after) = split(after);
            mnemonic = format!("LOCK {}", first.text.to_uppercase());
        }
        Ok(Some(Written { mnemonic, at: rest, operands: operands(after) }))
    }

    /// The name of the processor in a message.
    pub(super) fn processor_name(&self) -> &'static str {
        match self.processor() {
            Processor::Nic => "a NIC",
            _ => "AArch64",
        }
    }

    /// The type of an access that no register determines.
    pub(super) fn width(&self) -> Type {
        default_type(self.program)
    }

    fn processor(&self) -> Processor {
        self.program.threads[self.column].place.processor
    }

    /// The register of this name, with the type of its value.
    pub(super) fn find(&mut self, word: Word<'_>) -> Option<(Register, Type)> {
        let (name, ty) = resolve_register(self.processor(), word.text)?;
        Some((register(&mut self.program.threads[self.column], &name), ty))
    }

    pub(super) fn register(&mut self, word: Word<'_>) -> Result<(Register, Type), Wrong> {
        match self.find(word) {
            Some(known) => Ok(known),
            None => word.wrong(format!("`{}` is not a register of {}", word.text, self.processor())),
        }
    }

    pub(super) fn scratch(&mut self, name: &str) -> Register {
        register(&mut self.program.threads[self.column], name)
    }

    /// A number, after `#` or `$` or alone.
    pub(super) fn number(&self, word: Word<'_>) -> Option<u64> {
        let text = word.text.trim_start_matches(['#', '$']);
        let (digits, negative) = text.strip_prefix('-').map_or((text, false), |digits| (digits, true));
        match Number::parse(digits)? {
            Number::Integer(value) if negative => Some(value.wrapping_neg()),
            Number::Integer(value) => Some(value),
            _ => None,
        }
    }

    /// Whether an operand is in brackets.
    pub(super) fn is_memory(word: Word<'_>) -> bool {
        word.text.starts_with('[')
    }

    /// The address in brackets: a variable or a register, plus an offset or index.
    pub(super) fn address(&mut self, word: Word<'_>) -> Result<At, Wrong> {
        let Some(inside) = word.text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) else {
            return word.wrong(format!("expected an address in brackets (`[x]`), found `{}`", word.text));
        };
        let inside = Word::new(inside, word.at + 1);
        let split = match self.processor() {
            Processor::AArch64 => operands(inside),
            _ => inside.text.find(['+', '-']).map_or(vec![inside], |at| {
                let (base, offset) = inside.text.split_at(at);
                vec![Word::new(base, inside.at), Word::new(offset.trim_start_matches('+'), inside.at + at)]
            }),
        };
        let base = self.base(split[0])?;
        match split[1..] {
            [] => Ok(Address { base, offset: 0 }),
            [offset] if self.number(offset).is_some() => {
                Ok(Address { base, offset: self.number(offset).unwrap_or_default() as i64 })
            }
            [index] | [index, _] => {
                if let [_, extended] = split[1..]
                    && !["SXTW", "UXTW", "LSL #0"].contains(&&*extended.text.to_uppercase())
                {
                    return extended.wrong(format!("expected `SXTW` or `UXTW`, found `{}`", extended.text));
                }
                let (index, ty) = self.register(index)?;
                let base = self.indexed(base, index, ty);
                Ok(Address { base: Operand::Register(base), offset: 0 })
            }
            _ => word.wrong(format!("`{}` is not an address: write `[x]`, `[x,#4]` or `[x,W1,SXTW]`", word.text)),
        }
    }

    /// A register that holds the sum of a base and a sign-extended index.
    fn indexed(&mut self, base: Operand, index: Register, ty: Type) -> Register {
        let sum = self.scratch("%address");
        let signed = if ty == Type::U32 { Type::S32 } else { Type::S64 };
        self.alu(Computation::Cvt(Type::S64), signed, sum, &[Operand::Register(index)]);
        self.alu(Computation::Alu(AluOp::Add), Type::U64, sum, &[base, Operand::Register(sum)]);
        sum
    }

    fn base(&mut self, word: Word<'_>) -> Result<Operand, Wrong> {
        if let Some(location) = variable(self.program, word.text) {
            if is_multimem(self.program, location) {
                return word.wrong(only_multimem(word.text));
            }
            self.cell.uses.push(location);
            return Ok(Operand::Address(location));
        }
        if let Some((register, _)) = self.find(word) {
            return Ok(Operand::Register(register));
        }
        let is_name = word.text.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && word.text.chars().all(|c| c.is_alphanumeric() || c == '_');
        match is_name.then(|| declare(self.program, Variable::new(word.text, 0))).flatten() {
            Some(location) => {
                self.cell.undeclared.push(word.text.into());
                self.cell.uses.push(location);
                Ok(Operand::Address(location))
            }
            None => word.wrong(format!("`{}` is neither a variable nor a register", word.text)),
        }
    }

    /// A register or a number.
    pub(super) fn value(&mut self, word: Word<'_>) -> Result<Operand, Wrong> {
        match (self.find(word), self.number(word)) {
            (Some((register, _)), _) => Ok(Operand::Register(register)),
            (None, Some(value)) => Ok(Operand::Immediate(value)),
            (None, None) => word.wrong(format!("`{}` is neither a register nor a number", word.text)),
        }
    }

    pub(super) fn push(&mut self, instruction: Instruction) {
        self.program.threads[self.column].code.push(instruction.into());
    }

    pub(super) fn fence(&mut self, fence: HostFence) {
        self.push(Generic::Fence(Fence::Host(fence)));
    }

    pub(super) fn alu(&mut self, computation: Computation, ty: Type, d: Register, sources: &[Operand]) {
        let mut all = [NONE; 3];
        all[..sources.len()].copy_from_slice(sources);
        self.push(Generic::Alu { computation, ty, d, sources: all });
    }

    pub(super) fn load(&mut self, d: Register, ty: Type, a: At, access: Semantics) {
        self.push(Generic::Load { d, a, ty, access });
    }

    pub(super) fn store(&mut self, a: At, b: Operand, ty: Type, access: Semantics) {
        self.push(Generic::Store { a, b, ty, access });
    }

    pub(super) fn update(&mut self, op: RmwOp, d: Option<Register>, a: At, [b, c]: [Operand; 2], ty: Type, sem: Sem) {
        self.push(Generic::Rmw { op, d, a, b, c, ty, access: Semantics::new(sem, Scope::Sys) });
    }

    /// Keeps two operands for the next branch.
    pub(super) fn compare(&mut self, a: Operand, b: Operand) {
        for (name, operand) in FLAGS.into_iter().zip([a, b]) {
            let flag = self.scratch(name);
            self.alu(Computation::MOV, Type::U64, flag, &[operand]);
        }
    }

    /// Branches if the operands that were compared last satisfy the comparison.
    pub(super) fn branch_on_flags(&mut self, cmp: Cmp, target: Word<'_>) {
        let [a, b] = FLAGS.map(|name| Operand::Register(self.scratch(name)));
        self.branch(Some((cmp, a, b)), target);
    }

    pub(super) fn branch(&mut self, when: Option<(Cmp, Operand, Operand)>, target: Word<'_>) {
        let target = label(&mut self.program.threads[self.column], target.text);
        self.cell.branch = Some(target);
        self.push(Generic::Branch { when, target });
    }
}

/// The operands that were compared last.
pub(super) const FLAGS: [&str; 2] = ["%compared", "%with"];

/// An access of the host without ordering.
pub(super) const PLAIN: Semantics = Semantics { sem: Sem::Relaxed, ..Semantics::WEAK };

impl Written<'_> {
    pub(super) fn count(&self, expected: usize) -> Result<(), Wrong> {
        let found = self.operands.len();
        if found == expected {
            return Ok(());
        }
        self.at.wrong(format!("`{}` takes {expected} operands here, not {found}", self.mnemonic))
    }
}

/// The operation with this name, which atomics and instructions on registers share.
pub(super) fn arithmetic(name: &str) -> Option<(AluOp, AtomOp)> {
    Some(match name {
        "ADD" => (AluOp::Add, AtomOp::Add),
        "AND" => (AluOp::And, AtomOp::And),
        "OR" | "ORR" => (AluOp::Or, AtomOp::Or),
        "XOR" | "EOR" => (AluOp::Xor, AtomOp::Xor),
        _ => return None,
    })
}

/// The first word, and the rest.
fn split(word: Word<'_>) -> (Word<'_>, Word<'_>) {
    let end = word.text.find(char::is_whitespace).unwrap_or(word.text.len());
    let (first, rest) = word.text.split_at(end);
    (Word::new(first, word.at), Word::new(rest, word.at + end))
}

/// The parts between the commas outside of brackets.
fn operands(word: Word<'_>) -> Vec<Word<'_>> {
    let (mut all, mut start, mut depth) = (Vec::new(), 0, 0);
    for (at, c) in word.text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            ',' if depth == 0 => {
                all.push(Word::new(&word.text[start..at], word.at + start));
                start = at + 1;
            }
            _ => {}
        }
    }
    if !word.text.is_empty() {
        all.push(Word::new(&word.text[start..], word.at + start));
    }
    all
}
