//! The fields of a kernel's parameters, inferred from the use of their values.

use std::collections::BTreeMap;

use ptx_isa::{AluOp, Role, Space, arithmetic::Computation};
use rustc_hash::FxHashSet;

use super::{
    division::{Part, divisions},
    loads::{Load, kernel_steps, loads},
};
use crate::code::{Given, Op, Pc, Program, Reg, Source, Step};

/// Bytes of a kernel's parameters that one instruction loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The offset of the field from the beginning of all parameters.
    pub offset: u64,
    /// The size of the field: at most 8.
    pub bytes: u64,
    pub kind: FieldKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// An address of global memory.
    Address,
    Integer,
    Float,
    /// A number that follows from the divisor at an offset.
    Division(Part, u64),
}

/// The fields that the kernel loads, in the order of their offsets. `reads` are the loads at computed addresses.
pub fn fields(program: &Program, reads: impl IntoIterator<Item = (Pc, u64, u64)>) -> Vec<Field> {
    let (addresses, floats, loads) = (addresses(program), floats(program), loads(program, reads));
    let divisions = divisions(&program.steps[kernel_steps(program)], &loads);
    let mut found: BTreeMap<u64, Field> = BTreeMap::new();
    for Load { offset, bytes, ty, register } in loads {
        let declared = program.parameters.iter().any(|own| own.is_pointer && own.offset == offset);
        let is_in = |all: &FxHashSet<Reg>| register.is_some_and(|register| all.contains(&register));
        let kind = match divisions.get(&offset) {
            _ if declared || bytes == 8 && is_in(&addresses) => FieldKind::Address,
            _ if ty.is_float() || is_in(&floats) => FieldKind::Float,
            Some((part, divisor)) => FieldKind::Division(*part, *divisor),
            None => FieldKind::Integer,
        };
        let field = found.entry(offset).or_insert(Field { offset, bytes, kind });
        if kind == FieldKind::Address || bytes > field.bytes {
            *field = Field { offset, bytes, kind };
        }
    }
    apart(found.into_values())
}

/// Makes fields disjoint. If a later part of an integer is also loaded separately, the integer is split into its parts.
/// Parts of other fields add nothing.
fn apart(all: impl Iterator<Item = Field>) -> Vec<Field> {
    let mut apart: Vec<Field> = Vec::new();
    for field in all {
        match apart.last_mut().map(|wide| (wide.offset + wide.bytes, wide)) {
            Some((end, wide)) if field.offset < end && wide.kind == FieldKind::Integer => {
                wide.bytes = field.offset - wide.offset;
                apart.push(Field { bytes: field.bytes.max(end - field.offset), ..field });
            }
            Some((end, _)) if field.offset + field.bytes <= end => {}
            _ => apart.push(field),
        }
    }
    apart
}

/// The registers whose values become addresses of global memory without a multiplication. A sum contains at most one
/// address.
fn addresses(program: &Program) -> FxHashSet<Reg> {
    let steps = &program.steps[kernel_steps(program)];
    let mut found: FxHashSet<Reg> = FxHashSet::default();
    let mut mark = |source: Source| found.extend(register_of(source));
    for step in steps {
        match &step.op {
            Op::Access(of) if matches!(of.space, Space::Global | Space::Generic | Space::Const) => {
                mark(of.address.base)
            }
            Op::Asynchronous(of) => {
                for (role, given) in &of.arguments {
                    match given {
                        Given::Address(address) => mark(address.base),
                        Given::Tensor(map, _) => mark(*map),
                        Given::One(source) if *role == Role::Value && of.form.has("global_address") => mark(*source),
                        _ => {}
                    }
                }
            }
            Op::Matrix(of) => {
                for given in &of.operands {
                    if let Given::Address(address) = given {
                        mark(address.base);
                    }
                }
            }
            _ => {}
        }
    }
    origins(steps, found, through)
}

/// The registers whose values become operands of floating-point arithmetic. The types of loads do not tell: newer
/// compilers load all words as `.b32`.
fn floats(program: &Program) -> FxHashSet<Reg> {
    let steps = &program.steps[kernel_steps(program)];
    let mut found: FxHashSet<Reg> = FxHashSet::default();
    for step in steps {
        if let Op::Compute(of) = &step.op {
            let sources = of.sources[..of.count].iter().enumerate();
            let floats = sources.filter(|(index, _)| of.of.source_type(*index).is_float());
            found.extend(floats.filter_map(|(_, source)| register_of(*source)));
        }
    }
    origins(steps, found, |of| match of {
        Computation::Alu(AluOp::Mov, _) => &[0],
        Computation::Alu(AluOp::Selp, _) => &[0, 1],
        _ => &[],
    })
}

fn register_of(source: Source) -> Option<Reg> {
    match source {
        Source::Reg(register) => Some(register),
        _ => None,
    }
}

/// Registers, and all registers from which they may have their values. `through` gives the operands that a computation
/// hands on.
fn origins(
    steps: &[Step],
    mut found: FxHashSet<Reg>,
    through: impl Fn(Computation) -> &'static [usize],
) -> FxHashSet<Reg> {
    loop {
        let before = found.len();
        for step in steps {
            match &step.op {
                Op::Cvta { d, a, .. } if found.contains(d) => found.extend(register_of(*a)),
                Op::Compute(of) if of.results[0].is_some_and(|d| found.contains(&d)) => {
                    let sources = through(of.of).iter().filter_map(|index| of.sources[..of.count].get(*index));
                    found.extend(sources.filter_map(|source| register_of(*source)));
                }
                _ => {}
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

/// The operands from which a computation may derive an address.
fn through(of: Computation) -> &'static [usize] {
    match of {
        Computation::Alu(AluOp::Mov, ty) | Computation::Cvt { from: ty, .. } if ty.bits() == 64 => &[0],
        Computation::Alu(AluOp::Add | AluOp::Selp, ty) if ty.bits() == 64 => &[0, 1],
        Computation::Alu(AluOp::Sub | AluOp::And, ty) if ty.bits() == 64 => &[0],
        Computation::Alu(AluOp::MadLo, ty) if ty.bits() == 64 => &[2],
        Computation::Alu(AluOp::MadWide, _) => &[2],
        _ => &[],
    }
}
