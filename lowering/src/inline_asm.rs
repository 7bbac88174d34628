//! The wrapping of a sequence as inline assembly of LLVM IR, which MLIR's LLVM dialect shares.

use std::fmt::{self, Write};

use crate::{
    op::Type as OpType,
    ptx::{Address, AluOp, Instruction, Name, Names, Operand, Statement, Type},
    sequence::{A, B, C, D, Sequence},
};

/// The text, the constraints, and the arguments of one call to inline assembly.
///
/// The address is an indirect memory operand (`*m`): LLVM folds a global and a constant offset into it and prints the
/// brackets. If the sequence computes with the address, or the compiler asks for a register, it is an integer of 64 bits
/// (`l`) instead. The call returns the value of [`D`], if [`InlineAsm::has_result`] holds. Values of 8 bits are
/// zero-extended to 16; half floats and vectors are passed as integers of their width. An argument of 128 bits is
/// passed as two halves, because libNVVM accepts no argument wider than 64 bits.
///
/// A compiler that prints LLVM IR as text takes the whole call from [`InlineAsm::call`]:
///
/// ```
/// use ptx_lowering::{
///     Access, AddressOperand, AtomicOp, InlineAsm, Operation, Ordering, Policy, RmwOp, SyncScope, Target, Type, lower, ptx,
/// };
///
/// let operation = Operation::Rmw(RmwOp::FAdd, Access::new(ptx::Space::Global, Type::F32));
/// let scope = SyncScope::Threads(ptx::Scope::Gpu);
/// let op = AtomicOp { operation, ordering: Ordering::AcqRel, scope };
/// let target = Target::new("sm_90".parse()?, None)?;
/// let lowering = lower(&op, &Policy::default(), &target).expect("sm_90 has it");
/// let asm = InlineAsm::new(&lowering.sequence, Type::F32, AddressOperand::Register);
/// assert_eq!(asm.constraints(), "=f,l,f,~{memory}");
/// assert_eq!(
///     asm.call(1, &["%address", "%value"]),
///     r#"call float asm sideeffect "atom.acq_rel.gpu.global.add.f32 $0, [$1], $2;", "=f,l,f,~{memory}"(i64 %address, float %value) nounwind"#
/// );
/// # Ok::<(), ptx_lowering::UnknownTarget>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InlineAsm {
    template: String,
    constraints: String,
    has_result: bool,
    arguments: Vec<Argument>,
    address_is_integer: bool,
    ty: OpType,
}

/// The form in which the call passes the address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressOperand {
    /// A pointer, as an indirect memory operand `*m`. LLVM folds its computation into the instruction. Versions of LLVM
    /// with typed pointers, such as the dialect of libNVVM before compute_100, do not have this form.
    #[default]
    Memory,
    /// An integer of 64 bits in a register.
    Register,
}

/// An argument of the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// The value of [`A`], [`B`] or [`C`].
    Whole(Name),
    /// The lower 64 bits of a value of 128 bits.
    Low(Name),
    /// The upper 64 bits of a value of 128 bits.
    High(Name),
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

    /// The arguments in order.
    pub fn arguments(&self) -> &[Argument] {
        &self.arguments
    }

    /// Whether the first argument is the address.
    pub fn takes_address(&self) -> bool {
        self.arguments.first() == Some(&Argument::Whole(A))
    }

    /// Whether the address is passed as a pointer, whose attribute is its pointee type.
    pub fn has_memory_operand(&self) -> bool {
        self.takes_address() && !self.address_is_integer
    }

    /// Whether the argument [`A`] is an integer of 64 bits instead of a pointer.
    pub fn address_is_integer(&self) -> bool {
        self.address_is_integer
    }

    /// The type of LLVM in which the call passes a value: `i16` also for values of 8 bits.
    pub fn value_type(&self) -> &'static str {
        register(self.ty).1
    }

    /// The type of LLVM of an argument that is not a pointer.
    pub fn argument_type(&self, argument: &Argument) -> &'static str {
        match argument {
            Argument::Whole(slot) if *slot != A => self.value_type(),
            _ => "i64",
        }
    }

    /// The call in the text of LLVM IR. `values` has a value for each of [`Self::arguments`], without its type; a
    /// pointer is to the given address space.
    pub fn call(&self, address_space: u32, values: &[&str]) -> String {
        let operand = |(argument, value): (&Argument, &&str)| match argument {
            Argument::Whole(slot) if *slot == A && !self.address_is_integer => {
                let space = if address_space == 0 { String::new() } else { format!("addrspace({address_space}) ") };
                format!("ptr {space}elementtype({}) {value}", self.value_type())
            }
            argument => format!("{} {value}", self.argument_type(argument)),
        };
        let operands: Vec<_> = self.arguments.iter().zip(values).map(operand).collect();
        let result = if self.has_result { self.value_type() } else { "void" };
        let template = self.template.replace('\n', "\\0A").replace('\t', "\\09");
        let (constraints, operands) = (&self.constraints, operands.join(", "));
        format!("call {result} asm sideeffect \"{template}\", \"{constraints}\"({operands}) nounwind")
    }

    /// Wraps a sequence whose values have type `ty`.
    pub fn new(sequence: &Sequence, ty: OpType, address: AddressOperand) -> Self {
        let (register, _) = register(ty);
        let slots = [A, B, C].into_iter().filter(|slot| sequence.instructions().any(|i| i.reads(slot)));
        let (whole, halved): (Vec<_>, Vec<_>) = slots.partition(|slot| *slot == A || ty.bits() < 128);
        let sequence = &joined(sequence, &halved);
        let halves = halved.into_iter().flat_map(|slot| [Argument::Low(slot.clone()), Argument::High(slot)]);
        let arguments: Vec<_> = whole.into_iter().map(Argument::Whole).chain(halves).collect();
        let has_result = sequence.instructions().any(|instruction| instruction.destinations().any(|d| *d == D));
        let address_is_integer = address == AddressOperand::Register
            || sequence.instructions().flat_map(Instruction::sources).any(|source| source.register() == Some(&A));

        let mut constraints = String::new();
        if has_result {
            constraints.push_str(if writes_early(sequence, &arguments) { "=&" } else { "=" });
            constraints.push_str(register);
            constraints.push(',');
        }
        for argument in &arguments {
            constraints.push_str(match argument {
                Argument::Whole(slot) if *slot != A => register,
                Argument::Whole(_) if !address_is_integer => "*m",
                _ => "l",
            });
            constraints.push(',');
        }
        constraints.push_str("~{memory}");

        let names = Operands { has_result, arguments: &arguments, address_is_integer };
        let mut template = String::new();
        sequence.print(&mut template, &names).expect("writing to a string does not fail");
        let template = template.replace('\n', "\n\t");
        Self { template, constraints, has_result, arguments, address_is_integer, ty }
    }
}

/// The constraint of a register for values of a type, and the type of LLVM that it holds.
fn register(ty: OpType) -> (&'static str, &'static str) {
    match (ty, ty.bits()) {
        (OpType::F32, _) => ("f", "float"),
        (OpType::F64, _) => ("d", "double"),
        (_, 8 | 16) => ("h", "i16"),
        (_, 32) => ("r", "i32"),
        (_, 64) => ("l", "i64"),
        _ => ("q", "i128"),
    }
}

impl Argument {
    /// The register that represents the argument in the sequence.
    fn register(&self) -> Name {
        match self {
            Self::Whole(slot) => slot.clone(),
            Self::Low(slot) => Name(format!("{}_low", slot.0).into()),
            Self::High(slot) => Name(format!("{}_high", slot.0).into()),
        }
    }
}

/// The sequence, preceded by instructions that join the halves of these slots into registers that it declares.
fn joined(sequence: &Sequence, slots: &[Name]) -> Sequence {
    let declared = (!slots.is_empty()).then(|| Statement::Reg { ty: Type::B128, names: slots.to_vec() });
    let joins = slots.iter().map(|slot| {
        let halves = [Argument::Low(slot.clone()), Argument::High(slot.clone())];
        let halves = Operand::Vector(halves.map(|half| Operand::Register(half.register())).into());
        let d = Operand::Register(slot.clone());
        Instruction::Alu { op: AluOp::Mov, ty: Type::B128, d, sources: vec![halves] }.into()
    });
    declared.into_iter().chain(joins).chain(sequence.statements().iter().cloned()).collect()
}

/// Whether [`D`] is written before the last read of an argument, so that they must not share a register.
fn writes_early(sequence: &Sequence, arguments: &[Argument]) -> bool {
    let first_write = sequence.instructions().position(|i| i.destinations().any(|d| *d == D));
    let reads = |i: &Instruction| arguments.iter().any(|argument| i.reads(&argument.register()));
    let last_read = sequence.instructions().collect::<Vec<_>>().into_iter().rposition(reads);
    let loops = sequence.instructions().any(|i| matches!(i, Instruction::Bra { .. }));
    loops || first_write < last_read
}

/// Spells the slots as operands of the template. `$` is special in a template, so no other name may contain it.
struct Operands<'a> {
    has_result: bool,
    arguments: &'a [Argument],
    address_is_integer: bool,
}

impl Operands<'_> {
    fn index(&self, name: &Name) -> Option<usize> {
        let argument = self.arguments.iter().position(|argument| argument.register() == *name);
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
        match address.base == A && !self.address_is_integer {
            true => self.register(f, &A),
            false => self.in_brackets(f, address),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, ty: OpType, template: &str, constraints: &str) {
        let asm = InlineAsm::new(&text.parse().expect(text), ty, AddressOperand::Memory);
        assert_eq!((asm.template.as_str(), asm.constraints.as_str()), (template, constraints));
    }

    #[test]
    fn registers_by_type() {
        let load = |bits: u32| format!("ld.b{bits} %d, [%a];");
        for (ty, register) in [
            (OpType::I8, 'h'),
            (OpType::Bf16, 'h'),
            (OpType::F16x2, 'r'),
            (OpType::F32x2, 'l'),
            (OpType::I128, 'q'),
            (OpType::F64x2, 'q'),
        ] {
            let template = load(ty.bits()).replace("%d, [%a]", "$0, $1");
            check(&load(ty.bits()), ty, &template, &format!("={register},*m,~{{memory}}"));
        }
    }

    #[test]
    fn an_address_that_is_computed_with_is_an_integer() {
        check(
            "and.b64 %word, %a, -4; ld.b32 %d, [%word]; st.b32 [%a], %b;",
            OpType::I32,
            "and.b64 %word, $1, -4;\n\tld.b32 $0, [%word];\n\tst.b32 [$1], $2;",
            "=&r,l,r,~{memory}",
        );
        check(
            "mov.b64 %base, %a; ld.b32 %d, [%base+4];",
            OpType::I32,
            "mov.b64 %base, $1;\n\tld.b32 $0, [%base+4];",
            "=r,l,~{memory}",
        );
    }

    #[test]
    fn operands_and_constraints() {
        check("atom.add.u32 %d, [%a], %b;", OpType::I32, "atom.add.u32 $0, $1, $2;", "=r,*m,r,~{memory}");
        check("st.release.gpu.b64 [%a], %b;", OpType::F64, "st.release.gpu.b64 $0, $1;", "*m,d,~{memory}");
        check("atom.cas.b32 %d, [%a], 0, %c;", OpType::I32, "atom.cas.b32 $0, $1, 0, $2;", "=r,*m,r,~{memory}");
        check("fence.sc.sys;", OpType::I32, "fence.sc.sys;", "~{memory}");
        check(
            "fence.sc.sys; ld.acquire.sys.b64 %d, [%a];",
            OpType::I64,
            "fence.sc.sys;\n\tld.acquire.sys.b64 $0, $1;",
            "=l,*m,~{memory}",
        );
    }

    #[test]
    fn an_address_in_a_register_has_brackets() {
        let check = |text: &str, template: &str, constraints: &str, call: &str| {
            let asm = InlineAsm::new(&text.parse().expect(text), OpType::I32, AddressOperand::Register);
            assert_eq!((asm.template(), asm.constraints()), (template, constraints));
            assert!(asm.address_is_integer() && !asm.has_memory_operand());
            assert!(asm.call(3, &["%p", "1"]).ends_with(call), "{}", asm.call(3, &["%p", "1"]));
        };
        check("ld.shared.b32 %d, [%a];", "ld.shared.b32 $0, [$1];", "=r,l,~{memory}", "(i64 %p) nounwind");
        let call = r#"call void asm sideeffect "fence.sc.cta;\0A\09st.b32 [$0], $1;", "l,r,~{memory}"(i64 %p, i32 1) nounwind"#;
        check("fence.sc.cta; st.b32 [%a], %b;", "fence.sc.cta;\n\tst.b32 [$0], $1;", "l,r,~{memory}", call);
    }

    #[test]
    fn arguments_of_128_bits_are_two() {
        check(
            "atom.cas.b128 %d, [%a], %b, %c;",
            OpType::I128,
            "{\n\t.reg .b128 %b, %c;\n\tmov.b128 %b, {$2, $3};\n\tmov.b128 %c, {$4, $5};\n\tatom.cas.b128 $0, $1, %b, %c;\n\t}",
            "=q,*m,l,l,l,l,~{memory}",
        );
    }

    #[test]
    fn a_result_written_early_shares_no_register() {
        check(
            "ld.b32 %d, [%a]; st.b32 [%a], %b;",
            OpType::I32,
            "ld.b32 $0, $1;\n\tst.b32 $1, $2;",
            "=&r,*m,r,~{memory}",
        );
    }
}
