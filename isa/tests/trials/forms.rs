//! The test of arithmetic on registers: the assemblers accept each operation on each type exactly on the targets that
//! its requirement allows.

use std::{collections::HashSet, fmt::Write};

use itertools::Itertools;
use libtest_mimic::{Failed, Trial};
use ptx_isa::{AluOp, Instruction, Name, Operand, PtxVersion, Sm, Target, Type};
use strum::IntoEnumIterator;
use testing::{ASSEMBLERS, Assembler, trial};

pub fn trials() -> Vec<Trial> {
    let cases = ASSEMBLERS.into_iter().flat_map(|assembler| {
        let sms = Sm::all().filter(move |sm| assembler.knows(&Target { sm: *sm, ptx: sm.lowest_ptx() }));
        // Variants of a GPU differ only in asynchronous instructions.
        sms.filter(|sm| sm.name().bytes().last().is_some_and(|last| last.is_ascii_digit()))
            .map(move |sm| (assembler, sm))
    });
    let trials: Vec<Trial> = cases
        .map(|(assembler, sm)| {
            let name = format!("{} takes arithmetic where its requirement says so: {sm}", assembler.name);
            trial(name, assembler.missing(), move || agree(&assembler, sm))
        })
        .collect();
    trials
}

/// The register of a type.
fn register(ty: Type) -> Operand {
    let name = match ty {
        Type::Pred => "%pred",
        Type::F32 => "%f32",
        Type::F64 => "%f64",
        ty => return Operand::Register(Name(format!("%b{}", ty.bits().max(16)).into())),
    };
    Operand::Register(Name::new(name))
}

/// Each operation on each type for which PTX has it. This crate also accepts integer types of another sign, or without
/// a sign.
fn all() -> Vec<Instruction> {
    let spelled = |op: AluOp, ty: Type| {
        use AluOp::*;
        let bits = matches!(ty, Type::B16 | Type::B32 | Type::B64);
        match op {
            Mov => ty.bits() >= 16 && !matches!(ty, Type::B128 | Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2),
            Selp => ty.bits() >= 16 && !matches!(ty, Type::B128 | Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2),
            Not | And | Or | Xor => bits || ty == Type::Pred,
            Cnot | Shl => bits,
            // Assemblers accept these on older targets than the instructions that set their flag; this crate has one
            // requirement for both.
            Addc | Subc => !bits && ty.bits() == 32,
            Popc | Clz | Brev | Lop3 | Prmt | Bfi | BmskClamp | BmskWrap => bits && ty != Type::B16,
            ShfLeftClamp | ShfLeftWrap | ShfRightClamp | ShfRightWrap => ty == Type::B32,
            Shr => ty.bits() >= 16 && ty.bits() <= 64,
            Neg | Abs => ty.is_signed() && ty != Type::S8 || ty.is_float() || ty.element().is_some(),
            Bfind | BfindShiftamt | Bfe => !bits && ty.bits() >= 32,
            _ => !bits && ty.bits() >= 16 && ty != Type::B128,
        }
    };
    let of = |(op, ty): (AluOp, Type)| Instruction::Alu {
        op,
        ty,
        d: register(op.result_type(ty)),
        sources: (0..op.arity())
            .map(|index| {
                if op == AluOp::Lop3 && index == 3 {
                    Operand::Immediate(30)
                } else {
                    register(op.source_type(ty, index))
                }
            })
            .collect(),
    };
    AluOp::iter()
        .cartesian_product(Type::iter())
        .filter(|(op, ty)| op.takes(*ty) && spelled(*op, *ty))
        .map(of)
        .collect()
}

fn agree(assembler: &Assembler, sm: Sm) -> Result<(), Failed> {
    let all = all();
    let (mut compared, mut differences) = ([0, 0], Vec::new());
    let begins = |ptx: PtxVersion| all.iter().any(|instruction| instruction.requirement().ptx == ptx);
    let targets = PtxVersion::all().map(|ptx| Target { sm, ptx });
    let known: Vec<_> = targets.filter(|target| target.ptx >= sm.lowest_ptx() && assembler.knows(target)).collect();
    for (index, target) in known.iter().enumerate() {
        // Only the oldest version, the versions in which an operation begins, and each version before those are tested.
        if index > 0 && ![Some(target), known.get(index + 1)].into_iter().flatten().any(|target| begins(target.ptx)) {
            continue;
        }
        let mut text = format!(".version {}\n.target {sm}\n.address_size 64\n.func f() {{\n", target.ptx);
        text += ".reg .pred %pred; .reg .b16 %b16; .reg .b32 %b32; .reg .f32 %f32; .reg .b64 %b64; .reg .f64 %f64;\n";
        let first = 6;
        for instruction in &all {
            writeln!(text, "{instruction};")?;
        }
        text += "ret; }\n";
        let rejected: HashSet<u32> = match assembler.judge(target, text.as_bytes())? {
            Ok(()) => HashSet::new(),
            Err(error) => error.lines().into_iter().map(|(line, _)| line).collect(),
        };
        for (line, instruction) in (first..).zip(&all) {
            let (ours, theirs) = (target.meets(instruction.requirement()), !rejected.contains(&line));
            compared[usize::from(ours)] += 1;
            if ours != theirs {
                differences.push(format!("{target}: {instruction}: only {}", if ours { "ours" } else { "theirs" }));
            }
        }
    }
    println!("{compared:?} compared");
    if compared[1] == 0 || !differences.is_empty() {
        let most = differences.iter().take(30).join("\n");
        return Err(format!("{} of {compared:?} differ\n{most}", differences.len()).into());
    }
    Ok(())
}
