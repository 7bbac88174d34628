//! A short PTX program that implements an atomic operation.

use std::{fmt, str::FromStr};

use crate::ptx::{
    AluOp, Instruction, Name, Names, Operand, ParseErrors, PtxNames, Statement, arithmetic::compare, parse_block,
};

/// The result, named as in the manual: `atom d, [a], b, c`.
pub const D: Name = Name::new("%d");
/// The address.
pub const A: Name = Name::new("%a");
/// The source: the value to store or to combine; for a compare and exchange, the expected value.
pub const B: Name = Name::new("%b");
/// The new value of a compare and exchange.
pub const C: Name = Name::new("%c");

/// The statements of a lowering, over the registers [`D`], [`A`], [`B`], [`C`] and the registers that it declares.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sequence(Vec<Statement>);

impl Sequence {
    /// The statements in their order.
    pub fn statements(&self) -> &[Statement] {
        &self.0
    }

    /// The instructions in their order, without declarations, labels and guards.
    pub fn instructions(&self) -> impl Iterator<Item = &Instruction> {
        self.0.iter().filter_map(Statement::instruction)
    }

    /// Whether the sequence declares registers or labels, so that braces must enclose it.
    pub fn is_block(&self) -> bool {
        self.instructions().count() < self.0.len()
    }

    /// Replaces a source register by a constant, given by its bits. Negations and conversions of the constant are
    /// computed now, and their result is propagated as a constant if no other instruction writes the same register.
    /// Comparisons with another constant decide branches.
    pub fn bind(&mut self, register: &Name, bits: u64) {
        self.substitute(register, bits);
        while let Some((p, holds)) = self.decided() {
            self.decide(&p, holds);
        }
    }

    fn substitute(&mut self, register: &Name, bits: u64) {
        let mut folded = Vec::new();
        for statement in &mut self.0 {
            let Statement::Instruction { guard, instruction } = statement else { continue };
            for source in instruction.sources_mut().filter(|source| **source == Operand::Register(register.clone())) {
                *source = Operand::Immediate(bits);
            }
            let d = instruction.destinations().next().filter(|_| guard.is_none()).cloned();
            if let Some(((ty, value), d)) = instruction.folded(bits).zip(d) {
                let sources = vec![Operand::Immediate(value)];
                *instruction = Instruction::Alu { op: AluOp::Mov, ty, d: Operand::Register(d.clone()), sources };
                folded.push((d, value));
            }
        }
        for (d, value) in folded {
            let writes = |statement: &Statement| {
                statement.instruction().is_some_and(|instruction| instruction.destinations().any(|name| *name == d))
            };
            if self.0.iter().filter(|statement| writes(statement)).count() == 1 {
                self.0.retain(|statement| !writes(statement));
                self.forget(&d);
                self.substitute(&d, value);
            }
        }
    }

    /// A predicate whose only definition compares two constants, with its value.
    fn decided(&self) -> Option<(Name, bool)> {
        self.0.iter().find_map(|statement| {
            let Statement::Instruction { guard: None, instruction } = statement else { return None };
            let Instruction::Setp { cmp, ty, p, a: Operand::Immediate(a), b: Operand::Immediate(b) } = instruction
            else {
                return None;
            };
            let holds = compare(*cmp, *ty, (*a).into(), (*b).into())?;
            let writers = self.instructions().filter(|other| other.destinations().any(|d| d == p));
            (writers.count() == 1).then(|| (p.clone(), holds))
        })
    }

    /// Removes a predicate with a known value, and the instructions whose guard is then false.
    fn decide(&mut self, predicate: &Name, holds: bool) {
        self.forget(predicate);
        self.0.retain_mut(|statement| {
            let Statement::Instruction { guard, instruction } = statement else { return true };
            let executes = guard.as_ref().is_none_or(|guard| guard.p != *predicate || guard.negated != holds);
            guard.take_if(|guard| guard.p == *predicate);
            executes && !instruction.destinations().any(|d| d == predicate)
        });
        self.straighten();
    }

    /// Removes unreachable statements, then branches to the next statement, then labels without a branch.
    fn straighten(&mut self) {
        let (mut targets, mut reached) = (self.targets(), true);
        self.0.retain(|statement| {
            reached |= matches!(statement, Statement::Label(label) if targets.contains(label));
            let kept = reached || matches!(statement, Statement::Reg { .. });
            let leaves = matches!(statement.instruction(), Some(Instruction::Bra { .. }));
            reached &= !leaves || matches!(statement, Statement::Instruction { guard: Some(_), .. });
            kept
        });
        for index in (1..self.0.len()).rev() {
            let target = match self.0[index - 1].instruction() {
                Some(Instruction::Bra { target }) => Some(target.clone()),
                _ => None,
            };
            if target.is_some_and(|target| self.0[index] == Statement::Label(target)) {
                self.0.remove(index - 1);
            }
        }
        targets = self.targets();
        self.0.retain(|statement| !matches!(statement, Statement::Label(label) if !targets.contains(label)));
    }

    /// The labels that are targets of branches.
    fn targets(&self) -> Vec<Name> {
        let target = |instruction: &Instruction| match instruction {
            Instruction::Bra { target } => Some(target.clone()),
            _ => None,
        };
        self.instructions().filter_map(target).collect()
    }

    /// Removes the declaration of a register.
    fn forget(&mut self, register: &Name) {
        self.0.retain_mut(|statement| {
            let Statement::Reg { names, .. } = statement else { return true };
            names.retain(|name| name != register);
            !names.is_empty()
        });
    }

    /// Prints a statement on each line, with braces around a block.
    pub fn print(&self, f: &mut dyn fmt::Write, names: &dyn Names) -> fmt::Result {
        let block = self.is_block();
        f.write_str(if block { "{\n" } else { "" })?;
        for (index, statement) in self.0.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { "\n" })?;
            statement.print(f, names)?;
        }
        f.write_str(if block { "\n}" } else { "" })
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.print(f, &PtxNames)
    }
}

impl FromStr for Sequence {
    type Err = ParseErrors;

    fn from_str(text: &str) -> Result<Self, ParseErrors> {
        parse_block(text).map(Self)
    }
}

impl FromIterator<Statement> for Sequence {
    fn from_iter<I: IntoIterator<Item = Statement>>(statements: I) -> Self {
        Self(statements.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, bindings: &[(Name, u64)], expected: &str) {
        let mut sequence: Sequence = text.parse().expect(text);
        bindings.iter().for_each(|(register, bits)| sequence.bind(register, *bits));
        assert_eq!(sequence.to_string(), expected);
    }

    #[test]
    fn constants_print_by_the_type_of_the_instruction() {
        check("atom.add.u32 %d, [%a], %b;", &[(B, 0xFFFF_FFFF)], "atom.add.u32 %d, [%a], -1;");
        check("atom.add.f32 %d, [%a], %b;", &[(B, 0x3F80_0000)], "atom.add.f32 %d, [%a], 0f3F800000;");
        check(
            "neg.f32 %neg, %b; atom.add.f32 %d, [%a], %neg;",
            &[(B, 0x3F80_0000)],
            "atom.add.f32 %d, [%a], 0fBF800000;",
        );
        check(
            "neg.f64 %neg, %b; atom.add.f64 %d, [%a], %neg;",
            &[(B, 0)],
            "atom.add.f64 %d, [%a], 0d8000000000000000;",
        );
        check(
            "atom.cas.b64 %d, [%a], %b, %c;",
            &[(B, 0), (C, 1 << 63)],
            "atom.cas.b64 %d, [%a], 0, -9223372036854775808;",
        );
    }

    #[test]
    fn a_negated_constant_needs_no_register() {
        let sub = "{ .reg .b32 %neg; neg.s32 %neg, %b; atom.add.u32 %d, [%a], %neg; }";
        check(sub, &[(B, 1)], "atom.add.u32 %d, [%a], -1;");
        check(sub, &[(B, 0x8000_0000)], "atom.add.u32 %d, [%a], -2147483648;");
    }

    #[test]
    fn constants_decide_branches() {
        let choice = "{ .reg .pred %p; setp.lt.s32 %p, %b, 0; @%p bra %below; atom.max.s32 %d, [%a], %b; bra %joined; \
                      %below: atom.min.u32 %d, [%a], %b; %joined: fence.acq_rel.gpu; }";
        check(choice, &[(B, 1)], "atom.max.s32 %d, [%a], 1;\nfence.acq_rel.gpu;");
        check(choice, &[(B, 0x8000_0000)], "atom.min.u32 %d, [%a], -2147483648;\nfence.acq_rel.gpu;");
        let again = "{ .reg .pred %p; %again: atom.add.u32 %d, [%a], %b; setp.eq.u32 %p, %d, %b; @%p bra %again; }";
        let kept = "{\n.reg .pred %p;\n%again:\natom.add.u32 %d, [%a], 1;\nsetp.eq.u32 %p, %d, 1;\n@%p bra %again;\n}";
        check(again, &[(B, 1)], kept);
    }
}
