//! A short program in PTX that implements one atomic operation.

use std::{fmt, str::FromStr};

use crate::ptx::{Address, AluOp, Instruction, Name, Names, Operand, ParseError, PtxNames, Statement, parse_block};

/// The result, named as in the manual: `atom d, [a], b, c`.
pub const D: Name = Name::new("%d");
/// The address.
pub const A: Name = Name::new("%a");
/// The source: the value to store or to combine; the expected value of a compare and exchange.
pub const B: Name = Name::new("%b");
/// The new value of a compare and exchange.
pub const C: Name = Name::new("%c");

/// The statements of a lowering, over the registers [`D`], [`A`], [`B`], [`C`] and those that it declares itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sequence(pub Vec<Statement>);

impl Sequence {
    pub fn instructions(&self) -> impl Iterator<Item = &Instruction> {
        self.0.iter().filter_map(Statement::instruction)
    }

    /// Whether the sequence has registers or labels of its own, which braces must enclose.
    pub fn is_block(&self) -> bool {
        self.instructions().count() < self.0.len()
    }

    /// Puts a constant, given by its bits, in place of a source register. A negation of it is folded.
    pub fn bind(&mut self, register: &Name, bits: u64) {
        let mut folded = None;
        self.0.retain_mut(|statement| {
            let Statement::Instruction { instruction, .. } = statement else { return true };
            for source in instruction.sources_mut().filter(|source| **source == Operand::Register(register.clone())) {
                *source = Operand::Immediate(bits);
            }
            match instruction {
                Instruction::Alu { op: AluOp::Neg, ty, d, sources } if *sources == [Operand::Immediate(bits)] => {
                    folded = Some((d.clone(), bits.wrapping_neg() & (u64::MAX >> (64 - ty.bits()))));
                    false
                }
                _ => true,
            }
        });
        if let Some((negated, bits)) = folded {
            self.0
                .retain(|statement| !matches!(statement, Statement::Reg { names, .. } if *names == [negated.clone()]));
            self.bind(&negated, bits);
        }
    }

    /// Prints one statement a line, with braces around a block.
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
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse_block(text).map(Self)
    }
}

impl FromIterator<Statement> for Sequence {
    fn from_iter<I: IntoIterator<Item = Statement>>(statements: I) -> Self {
        Self(statements.into_iter().collect())
    }
}

impl Instruction {
    /// The address, if the instruction accesses memory.
    pub fn address(&self) -> Option<&Address> {
        match self {
            Self::Ld(ld) => Some(&ld.a),
            Self::St(st) => Some(&st.a),
            Self::Atom(atom) => Some(&atom.a),
            Self::Red(red) => Some(&red.a),
            _ => None,
        }
    }

    /// The register that the instruction writes.
    pub fn destination(&self) -> Option<&Name> {
        match self {
            Self::Ld(ld) => ld.d.register(),
            Self::Atom(atom) => atom.d.register(),
            Self::Alu { d, .. } => Some(d),
            Self::Setp { p, .. } => Some(p),
            _ => None,
        }
    }

    pub fn sources(&self) -> impl Iterator<Item = &Operand> {
        let (slice, pair): (&[Operand], [Option<&Operand>; 2]) = match self {
            Self::St(st) => (&[], [Some(&st.b), None]),
            Self::Atom(atom) => (&[], [Some(&atom.b), atom.c.as_ref()]),
            Self::Red(red) => (&[], [Some(&red.b), None]),
            Self::Alu { sources, .. } => (sources, [None, None]),
            Self::Setp { a, b, .. } => (&[], [Some(a), Some(b)]),
            _ => (&[], [None, None]),
        };
        slice.iter().chain(pair.into_iter().flatten())
    }

    fn sources_mut(&mut self) -> impl Iterator<Item = &mut Operand> {
        let (slice, pair): (&mut [Operand], [Option<&mut Operand>; 2]) = match self {
            Self::St(st) => (&mut [], [Some(&mut st.b), None]),
            Self::Atom(atom) => (&mut [], [Some(&mut atom.b), atom.c.as_mut()]),
            Self::Red(red) => (&mut [], [Some(&mut red.b), None]),
            Self::Alu { sources, .. } => (sources, [None, None]),
            Self::Setp { a, b, .. } => (&mut [], [Some(a), Some(b)]),
            _ => (&mut [], [None, None]),
        };
        slice.iter_mut().chain(pair.into_iter().flatten())
    }
}

impl Operand {
    pub fn register(&self) -> Option<&Name> {
        match self {
            Self::Register(name) => Some(name),
            _ => None,
        }
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
}
