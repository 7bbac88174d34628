//! The replacement of each atomic op of the LLVM dialect by one `llvm.inline_asm`.

use melior::ir::{Attribute, Type, TypeLike, Value, ValueLike, operation::OperationLike};
use mlir_sys::*;
use ptx_atomics_common::{
    address_space,
    operation::{Opcode, Replacement},
};
use ptx_lowering::{A, Argument, B, Type as Model, ptx::Name};

use crate::{
    ir::{self, Builder, Op},
    plan::{Asked, Planned},
};

/// Replaces an op that represents one operation.
pub fn embed(planned: &Planned<'_, '_>) {
    for (asked, replacement) in &planned.asked {
        let at = Builder::before(planned.op);
        let result = call(at, asked, replacement);
        match (asked.opcode, result) {
            (Opcode::CmpXchg, Some(old)) => replace_pair(at, planned.op, old),
            (Opcode::CmpXchg | Opcode::Fence | Opcode::Store, _) => ir::erase(planned.op),
            (Opcode::Load | Opcode::Rmw(_), Some(value)) => ir::replace(planned.op, &[value]),
            // The result of a `red` has no use.
            (Opcode::Load | Opcode::Rmw(_), None) => ir::erase(planned.op),
        }
    }
}

/// The inline assembly, and its result as a value of the op's type.
fn call<'c, 'a>(at: Builder<'c, 'a>, asked: &Asked<'c, 'a>, replacement: &Replacement) -> Option<Value<'c, 'a>> {
    let asm = replacement.asm();
    let value = |slot: &Name| {
        let negated = asked.negated().map(|(_, value)| value);
        in_register(at, replacement, negated.unwrap_or(asked.sources[usize::from(*slot != B)]))
    };
    let argument = |argument: &Argument| match argument {
        Argument::Whole(slot) if *slot == A => address(at, asked, replacement),
        Argument::Whole(slot) => value(slot),
        Argument::Low(slot) => low_half(at, value(slot)),
        Argument::High(slot) => high_half(at, value(slot)),
    };
    let arguments: Vec<_> = asm.arguments().iter().map(argument).collect();
    let ty = asked.ty.unwrap_or_else(|| at.int(32));
    let mut attributes: Vec<(&str, Attribute<'c>)> = vec![
        ("asm_string", at.string(asm.template())),
        ("constraints", at.string(asm.constraints())),
        ("has_side_effects", at.unit()),
    ];
    if asm.has_memory_operand() {
        // If the op has no result, MLIR takes the first attribute for the result, and counts operands from there.
        let shift = if asm.has_result() { "" } else { "{}, " };
        let empty = arguments.iter().skip(1).map(|_| ", {}").collect::<String>();
        attributes.push(("operand_attrs", at.attribute(&format!("[{shift}{{elementtype = {ty}}}{empty}]"))));
    }
    let results = if asm.has_result() { vec![register_type(at, replacement, ty)] } else { Vec::new() };
    let call = at.op("llvm.inline_asm", &arguments, &attributes, &results);
    ir::result(call).map(|value| value_of(at, replacement, value, ty))
}

/// The address in the address space that the sequence accesses, as an integer if the sequence computes with it.
fn address<'c, 'a>(at: Builder<'c, 'a>, asked: &Asked<'c, 'a>, replacement: &Replacement) -> Value<'c, 'a> {
    let (pointer, found) = asked.address.expect("an access has an address");
    let wanted = address_space::number(replacement.space());
    let pointer = match found == wanted {
        true => pointer,
        false => at.value("llvm.addrspacecast", &[pointer], &[], at.pointer(wanted)),
    };
    match replacement.asm().address_is_integer() {
        true => at.value("llvm.ptrtoint", &[pointer], &[], at.int(64)),
        false => pointer,
    }
}

fn model(replacement: &Replacement) -> Model {
    replacement.op.operation.access().map_or(Model::I32, |access| access.ty)
}

/// The type of the register that holds a value.
fn register_type<'c>(at: Builder<'c, '_>, replacement: &Replacement, ty: Type<'c>) -> Type<'c> {
    match model(replacement) {
        _ if ir::address_space(ty).is_some() => ty,
        Model::F32 => at.ty("f32"),
        Model::F64 => at.ty("f64"),
        model => at.int(model.bits().max(16)),
    }
}

fn in_register<'c, 'a>(at: Builder<'c, 'a>, replacement: &Replacement, value: Value<'c, 'a>) -> Value<'c, 'a> {
    let value = match integers_for(at, value.r#type()) {
        Some(integers) => at.value("llvm.ptrtoint", &[value], &[], integers),
        None => value,
    };
    let wanted = register_type(at, replacement, value.r#type());
    if value.r#type() == wanted {
        return value;
    }
    if model(replacement).bits() == 8 {
        let byte = bitcast(at, value, at.int(8));
        return at.value("llvm.zext", &[byte], &[], wanted);
    }
    bitcast(at, value, wanted)
}

fn value_of<'c, 'a>(
    at: Builder<'c, 'a>,
    replacement: &Replacement,
    value: Value<'c, 'a>,
    ty: Type<'c>,
) -> Value<'c, 'a> {
    if value.r#type() == ty {
        return value;
    }
    if let Some(integers) = integers_for(at, ty) {
        let vector = bitcast(at, value, integers);
        return at.value("llvm.inttoptr", &[vector], &[], ty);
    }
    let narrow = model(replacement).bits() == 8;
    let value = if narrow { at.value("llvm.trunc", &[value], &[], at.int(8)) } else { value };
    bitcast(at, value, ty)
}

/// The lower 64 bits of an integer.
fn low_half<'c, 'a>(at: Builder<'c, 'a>, value: Value<'c, 'a>) -> Value<'c, 'a> {
    at.value("llvm.trunc", &[value], &[], at.int(64))
}

/// The upper 64 bits of an integer of 128.
fn high_half<'c, 'a>(at: Builder<'c, 'a>, value: Value<'c, 'a>) -> Value<'c, 'a> {
    let bits = at.value("llvm.mlir.constant", &[], &[("value", at.attribute("64 : i128"))], value.r#type());
    low_half(at, at.value("llvm.lshr", &[value, bits], &[], value.r#type()))
}

fn bitcast<'c, 'a>(at: Builder<'c, 'a>, value: Value<'c, 'a>, ty: Type<'c>) -> Value<'c, 'a> {
    if value.r#type() == ty { value } else { at.value("llvm.bitcast", &[value], &[], ty) }
}

/// The type of the vector of integers to which a vector of pointers is converted.
fn integers_for<'c>(at: Builder<'c, '_>, ty: Type<'c>) -> Option<Type<'c>> {
    // SAFETY: the type is live, and element and size are read only from a vector.
    unsafe {
        let raw = ty.to_raw();
        if !mlirTypeIsAVector(raw) {
            return None;
        }
        ir::address_space(Type::from_raw(mlirShapedTypeGetElementType(raw)))?;
        Some(Type::vector(&[mlirShapedTypeGetDimSize(raw, 0) as u64], at.int(64)))
    }
}

/// Replaces the uses of a `cmpxchg`'s pair: the old value is `old`, and success is its equality with the expected
/// value.
fn replace_pair<'c, 'a>(at: Builder<'c, 'a>, op: Op<'c, 'a>, old: Value<'c, 'a>) {
    let (pair, expected) = (op.result(0).expect("a cmpxchg has a result").into(), op.operand(1).expect("and operands"));
    let users = ir::users(pair);
    let success = |at: Builder<'c, 'a>| at.value("llvm.icmp", &[old, expected], &[("predicate", at.i64(0))], at.int(1));
    let mut found = None;
    for user in users.into_iter().filter(|user| ir::name(*user) == "llvm.extractvalue") {
        let first = ir::inherent(user, "position").is_some_and(|position| position.to_string() == "array<i64: 0>");
        let value = if first { old } else { *found.get_or_insert_with(|| success(at)) };
        ir::replace(user, &[value]);
    }
    if ir::users(pair).is_empty() {
        return ir::erase(op);
    }
    let success = found.unwrap_or_else(|| success(at));
    let put = |into, value, position: &str| {
        at.value("llvm.insertvalue", &[into, value], &[("position", at.attribute(position))], pair.r#type())
    };
    let empty = at.value("llvm.mlir.poison", &[], &[], pair.r#type());
    let first = put(empty, old, "array<i64: 0>");
    ir::replace(op, &[put(first, success, "array<i64: 1>")]);
}
