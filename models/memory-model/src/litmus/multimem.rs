//! Multimem instructions (section 9.7.9.13).

use ptx_isa::{
    AtomOp,
    syntax::{Shape, Text},
};

use super::{
    names::{register, replicas},
    operand::{NONE, Reader, Wrong},
    shorthand::Direction,
};
use crate::{
    multimem::Multimem,
    program::{Address, Location, Operand, RmwOp, Type},
    ptx::{Instruction, Sem, Semantics},
};

/// The mnemonic of all multimem instructions.
pub(super) const MNEMONIC: &str = "multimem";

/// A multimem instruction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    LoadReduce,
    Store,
    Reduce,
}

/// The first modifier of each multimem instruction, with the orderings that it may have. The first ordering is the
/// default.
const KINDS: [(&str, Kind, [Sem; 3]); 3] = [
    ("ld_reduce", Kind::LoadReduce, [Sem::Weak, Sem::Relaxed, Sem::Acquire]),
    ("st", Kind::Store, [Sem::Weak, Sem::Relaxed, Sem::Release]),
    ("red", Kind::Reduce, [Sem::Relaxed, Sem::Relaxed, Sem::Release]),
];

/// The operations of `multimem.ld_reduce` and `multimem.red` on integers.
const OPERATIONS: [AtomOp; 6] = [AtomOp::Min, AtomOp::Max, AtomOp::Add, AtomOp::And, AtomOp::Or, AtomOp::Xor];

impl<'t> Reader<'_, 't> {
    pub(super) fn multimem(&mut self) -> Result<Instruction, Wrong> {
        let words: &[Text<'t>] = &self.of.modifiers;
        let is_asynchronous = words.iter().any(|word| word.text == "async");
        let known = words.first().filter(|_| !is_asynchronous);
        let known = known.and_then(|word| KINDS.iter().find(|(name, ..)| *name == word.text));
        let Some((_, kind, orderings)) = known else {
            return self.wrong(format!(
                "`{}` is not an instruction of a litmus test: write an instruction for each replica instead of `multimem`",
                self.spelled()
            ));
        };
        let found = self.modifiers(&words[1..], |_| true)?;
        let name = format!("{MNEMONIC}.{}", words[0].text);
        let sem = found.sem.unwrap_or(orderings[0]);
        if !orderings.contains(&sem) || found.mmio || found.is_shared == Some(true) {
            return self.wrong(format!("PTX has no `{}`", self.spelled()));
        }
        let scope = self.scope(sem, found.scope, *kind == Kind::Reduce)?;
        let ty = found.ty.unwrap_or(self.default);
        if found.vec.is_some() || ty.is_float() || !matches!(ty.bits(), 32 | 64) {
            return self.wrong(format!("the model has `{name}` of integers of 32 and 64 bits"));
        }
        let op = match (kind, found.op) {
            (Kind::Store, None) => None,
            (Kind::LoadReduce | Kind::Reduce, Some(RmwOp::Atom(op))) if OPERATIONS.contains(&op) => Some(op),
            (Kind::Store, Some(_)) => return self.wrong(format!("`{name}` takes no operation")),
            _ => return self.wrong(format!("`{name}` needs `.min`, `.max`, `.add`, `.and`, `.or` or `.xor`")),
        };
        if let Some(op) = op {
            self.check_type(op.into())?;
        }
        self.count(2)?;
        let access = Semantics { multimem: true, ..Semantics::new(sem, scope) };
        self.accesses(*kind, op, ty, access)
    }

    fn accesses(&mut self, kind: Kind, op: Option<AtomOp>, ty: Type, access: Semantics) -> Result<Instruction, Wrong> {
        let direction = if kind == Kind::LoadReduce { Direction::Load } else { Direction::Store };
        let (address, value) = if direction == Direction::Load { (1, 0) } else { (0, 1) };
        let (name, offset) = self.pointed(address)?;
        let replicas = replicas(self.program, name);
        if replicas.is_empty() {
            let example = "`m @ multimem aliases x, y`";
            return self.wrong(format!("`{name}` is not a multimem address: declare it at the start, as in {example}"));
        }
        self.cell.uses.extend(&replicas);
        let at = |replica: &Location| Address { base: Operand::Address(*replica), offset };
        let b = if direction == Direction::Load { NONE } else { self.fitting(&self.of.operands[value], 2, ty)? };
        let mut elements = Vec::with_capacity(replicas.len());
        for (index, a) in replicas.iter().map(at).enumerate() {
            elements.push(match (kind, op) {
                (Kind::LoadReduce, _) => {
                    let d = register(self.thread(), &format!("%multimem{index}"));
                    Instruction::Load { d, a, ty, access }
                }
                (Kind::Reduce, Some(op)) => Instruction::Rmw { op: op.into(), d: None, a, b, c: NONE, ty, access },
                _ => Instruction::Store { a, b, ty, access },
            });
        }
        let reduced = match (kind, op) {
            (Kind::LoadReduce, Some(op)) => Some((op, self.register(value)?)),
            _ => None,
        };
        Ok(Instruction::Multimem(Multimem { elements, reduced }))
    }

    /// The name and the offset of an address.
    fn pointed(&self, index: usize) -> Result<(&'t str, i64), Wrong> {
        let written = &self.of.operands[index];
        match (written.address(), &written.shape) {
            (Some(address), _) => Ok((address.base.text, address.offset)),
            (None, Shape::Name { name, suffix: None }) => Ok((name.text, 0)),
            _ => self.wrong(format!("expected a multimem address as operand {} of `{MNEMONIC}`", index + 1)),
        }
    }
}
