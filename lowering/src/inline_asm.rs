//! A sequence as the inline assembly of LLVM IR, which is also that of MLIR's LLVM dialect.

use std::fmt::{self, Write};

use crate::{
    op::Type,
    ptx::{Address, Instruction, Name, Names},
    sequence::{A, B, C, D, Sequence},
};

/// The text, the constraints, and the arguments of one call to inline assembly.
///
/// The address is an indirect memory operand (`*m`): LLVM folds a global and a constant offset into it and prints the
/// brackets. Where the sequence computes with it, it is an integer of 64 bits instead. The call returns the value
/// of [`D`], if [`InlineAsm::has_result`] holds. Values of 8 bits stand zero-extended in 16; half floats and vectors are
/// integers of their width.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InlineAsm {
    template: String,
    constraints: String,
    has_result: bool,
    arguments: Vec<Name>,
    address_is_integer: bool,
}

impl InlineAsm {
    /// The template, with `$0` and so on for the operands.
    pub fn template(&self) -> &str {
        &self.template
    }

    /// One constraint for each operand, and the clobber of memory: `=r,*m,r,~{memory}`.
    pub fn constraints(&self) -> &str {
        &self.constraints
    }

    /// Whether the call returns a value.
    pub fn has_result(&self) -> bool {
        self.has_result
    }

    /// The arguments in order, each one of [`A`], [`B`] and [`C`].
    pub fn arguments(&self) -> &[Name] {
        &self.arguments
    }

    /// Whether the argument [`A`] is an integer of 64 bits instead of a pointer.
    pub fn address_is_integer(&self) -> bool {
        self.address_is_integer
    }

    /// Wraps a sequence whose values have type `ty`.
    pub fn new(sequence: &Sequence, ty: Type) -> Self {
        let register = match (ty, ty.bits()) {
            (Type::F32, _) => 'f',
            (Type::F64, _) => 'd',
            (_, 8 | 16) => 'h',
            (_, 32) => 'r',
            (_, 64) => 'l',
            _ => 'q',
        };
        let has_result = sequence.instructions().any(|instruction| instruction.destinations().any(|d| *d == D));
        let arguments: Vec<_> =
            [A, B, C].into_iter().filter(|slot| sequence.instructions().any(|i| i.reads(slot))).collect();
        let address_is_integer =
            sequence.instructions().flat_map(Instruction::sources).any(|source| source.register() == Some(&A));

        let mut constraints = String::new();
        if has_result {
            constraints.push_str(if writes_early(sequence) { "=&" } else { "=" });
            constraints.push(register);
            constraints.push(',');
        }
        for argument in &arguments {
            match argument {
                argument if *argument != A => constraints.push(register),
                _ if address_is_integer => constraints.push('l'),
                _ => constraints.push_str("*m"),
            }
            constraints.push(',');
        }
        constraints.push_str("~{memory}");

        let names = Operands { has_result, arguments: &arguments, address_is_integer };
        let mut template = String::new();
        sequence.print(&mut template, &names).expect("writing to a string does not fail");
        let template = template.replace('\n', "\n\t");
        Self { template, constraints, has_result, arguments, address_is_integer }
    }
}

/// Whether [`D`] is written before the last read of an argument: then they must not share a register.
fn writes_early(sequence: &Sequence) -> bool {
    let first_write = sequence.instructions().position(|i| i.destinations().any(|d| *d == D));
    let reads = |i: &Instruction| [A, B, C].iter().any(|slot| i.reads(slot));
    let last_read = sequence.instructions().collect::<Vec<_>>().into_iter().rposition(reads);
    let loops = sequence.instructions().any(|i| matches!(i, Instruction::Bra { .. }));
    loops || first_write < last_read
}

/// Spells the slots as operands of the template. `$` is special there, so that no other name may contain it.
struct Operands<'a> {
    has_result: bool,
    arguments: &'a [Name],
    address_is_integer: bool,
}

impl Operands<'_> {
    fn index(&self, name: &Name) -> Option<usize> {
        let argument = self.arguments.iter().position(|argument| argument == name);
        argument.map(|index| index + usize::from(self.has_result)).or((*name == D).then_some(0))
    }
}

impl Names for Operands<'_> {
    fn register(&self, f: &mut dyn Write, name: &Name) -> fmt::Result {
        match self.index(name) {
            Some(index) => write!(f, "${index}"),
            None => f.write_str(&name.0.replace('$', "$$")),
        }
    }

    fn address(&self, f: &mut dyn Write, address: &Address) -> fmt::Result {
        if address.base == A && !self.address_is_integer {
            return self.register(f, &A);
        }
        f.write_char('[')?;
        self.register(f, &address.base)?;
        f.write_char(']')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, ty: Type, template: &str, constraints: &str) {
        let asm = InlineAsm::new(&text.parse().expect(text), ty);
        assert_eq!((asm.template.as_str(), asm.constraints.as_str()), (template, constraints));
    }

    #[test]
    fn registers_by_type() {
        let load = |bits: u32| format!("ld.b{bits} %d, [%a];");
        for (ty, register) in [
            (Type::I8, 'h'),
            (Type::Bf16, 'h'),
            (Type::F16x2, 'r'),
            (Type::F32x2, 'l'),
            (Type::I128, 'q'),
            (Type::F64x2, 'q'),
        ] {
            let template = load(ty.bits()).replace("%d, [%a]", "$0, $1");
            check(&load(ty.bits()), ty, &template, &format!("={register},*m,~{{memory}}"));
        }
    }

    #[test]
    fn an_address_that_is_computed_with_is_an_integer() {
        check(
            "and.b64 %word, %a, -4; ld.b32 %d, [%word]; st.b32 [%a], %b;",
            Type::I32,
            "and.b64 %word, $1, -4;\n\tld.b32 $0, [%word];\n\tst.b32 [$1], $2;",
            "=&r,l,r,~{memory}",
        );
    }

    #[test]
    fn operands_and_constraints() {
        check("atom.add.u32 %d, [%a], %b;", Type::I32, "atom.add.u32 $0, $1, $2;", "=r,*m,r,~{memory}");
        check("st.release.gpu.b64 [%a], %b;", Type::F64, "st.release.gpu.b64 $0, $1;", "*m,d,~{memory}");
        check("atom.cas.b32 %d, [%a], 0, %c;", Type::I32, "atom.cas.b32 $0, $1, 0, $2;", "=r,*m,r,~{memory}");
        check("fence.sc.sys;", Type::I32, "fence.sc.sys;", "~{memory}");
        check(
            "fence.sc.sys; ld.acquire.sys.b64 %d, [%a];",
            Type::I64,
            "fence.sc.sys;\n\tld.acquire.sys.b64 $0, $1;",
            "=l,*m,~{memory}",
        );
    }

    #[test]
    fn a_result_written_early_shares_no_register() {
        check("ld.b32 %d, [%a]; st.b32 [%a], %b;", Type::I32, "ld.b32 $0, $1;\n\tst.b32 $1, $2;", "=&r,*m,r,~{memory}");
    }
}
