//! What memory a pointer or a memref points to, as far as the op's surroundings show.

use std::collections::HashSet;

use melior::ir::{
    BlockLike, RegionLike, Type, Value, ValueLike, attribute::IntegerAttribute, operation::OperationLike,
    r#type::MemRefType,
};
use ptx_atomics_lowering::ptx::Space;
use ptx_atomics_pass::{
    address_space,
    operation::{self, Problem},
};

use crate::ir::{self, Op};

const PRIVATE: &str = "#gpu.address_space<private>";

/// The memory spaces of the dialect `gpu`, and LLVM's address spaces for them: private memory is in the generic one, as in
/// MLIR's own conversion, which takes those of the dialect `nvvm` in no memref.
const SPACES: [(&str, u32); 3] =
    [("#gpu.address_space<global>", 1), ("#gpu.address_space<workgroup>", 3), (PRIVATE, 0)];

/// The greatest number of values that are looked at behind a pointer.
const FARTHEST: usize = 64;

/// LLVM's address space of a memref's elements.
pub fn of_memref(ty: MemRefType<'_>) -> Result<u32, Problem> {
    let Some(space) = ty.memory_space() else { return Ok(0) };
    let number = IntegerAttribute::try_from(space).ok().and_then(|number| u32::try_from(number.value()).ok());
    let text = space.to_string();
    number.or_else(|| SPACES.iter().find(|(name, _)| *name == text).map(|(_, number)| *number)).ok_or_else(|| {
        let known = SPACES.map(|(name, _)| name).join(", ");
        let numbers = address_space::KNOWN;
        (format!("unknown memory space {text}"), Some(format!("the known ones are {known}, and by number {numbers}")))
    })
}

/// The memory behind a pointer.
pub struct Memory {
    pub space: Space,
    /// A generic address that is local on some ways and not on others.
    pub partly_local: bool,
    /// A generic address whose object is not known.
    pub unresolved: bool,
}

impl Memory {
    /// Of a pointer, or of what the memref `pointer` holds, in LLVM's address space `number`.
    pub fn of(pointer: Value<'_, '_>, number: u32) -> Result<Self, Problem> {
        let space = address_space::space(number).ok_or_else(|| operation::wrong_address_space(number))?;
        let known = Self { space, partly_local: false, unresolved: false };
        if space != Space::Generic {
            return Ok(known);
        }
        let Some(objects) = objects(pointer) else { return Ok(Self { unresolved: true, ..known }) };
        let one = |object| objects.len() == 1 && objects.contains(&object);
        Ok(match () {
            () if one(Object::In(Space::Local)) => Self { space: Space::Local, ..known },
            () if one(Object::In(Space::Const)) => Self { space: Space::Const, ..known },
            () if one(Object::In(Space::Global)) => Self { space: Space::Global, ..known },
            () if one(Object::In(Space::Shared)) => Self { space: Space::Shared, ..known },
            () => Self {
                partly_local: objects.contains(&Object::In(Space::Local)),
                unresolved: objects.contains(&Object::Unknown),
                ..known
            },
        })
    }
}

#[derive(PartialEq, Eq, Hash)]
enum Object {
    In(Space),
    Unknown,
}

/// Ops whose result points into the object of their first operand.
const PASSING: [&str; 15] = [
    "llvm.getelementptr",
    "llvm.addrspacecast",
    "llvm.bitcast",
    "llvm.freeze",
    "builtin.unrealized_conversion_cast",
    "memref.cast",
    "memref.memory_space_cast",
    "memref.subview",
    "memref.view",
    "memref.reinterpret_cast",
    "memref.collapse_shape",
    "memref.expand_shape",
    "memref.transpose",
    "memref.assume_alignment",
    "memref.reshape",
];

/// The objects that a pointer or memref may point into. `None` if there are too many ways.
fn objects(pointer: Value<'_, '_>) -> Option<HashSet<Object>> {
    let (mut seen, mut open, mut found) = (Vec::new(), vec![pointer], HashSet::new());
    while let Some(value) = open.pop() {
        if seen.contains(&value) {
            continue;
        }
        seen.push(value);
        if seen.len() > FARTHEST {
            return None;
        }
        match sources(value) {
            Source::Object(object) => drop(found.insert(object)),
            Source::Values(values) => open.extend(values),
        }
    }
    Some(found)
}

enum Source<'c, 'a> {
    Object(Object),
    Values(Vec<Value<'c, 'a>>),
}

/// Where a pointer comes from.
fn sources<'c: 'a, 'a>(value: Value<'c, 'a>) -> Source<'c, 'a> {
    let unknown = Source::Object(Object::Unknown);
    // LLVM's address space of private memory is the generic one.
    if MemRefType::try_from(value.r#type())
        .ok()
        .and_then(|ty| ty.memory_space())
        .is_some_and(|s| s.to_string() == PRIVATE)
    {
        return Source::Object(Object::In(Space::Local));
    }
    if let Some(space) =
        number_of(value.r#type()).and_then(address_space::space).filter(|space| *space != Space::Generic)
    {
        return Source::Object(Object::In(space));
    }
    let Some((op, _)) = ir::defining(value) else {
        return if is_parameter_of_kernel(value) { Source::Object(Object::In(Space::Global)) } else { unknown };
    };
    // What lies outside of the kernel becomes a parameter of it, the stack of the host, too.
    if is_outside_of_launch(value) {
        return Source::Object(Object::In(Space::Global));
    }
    let name = ir::name(op);
    match name {
        "llvm.alloca" | "memref.alloca" => Source::Object(Object::In(Space::Local)),
        "llvm.select" | "arith.select" => Source::Values(op.operands().skip(1).collect()),
        "llvm.extractvalue" => field(op).map_or(unknown, |value| Source::Values(vec![value])),
        name if PASSING.contains(&name) => op.operand(0).map_or(unknown, |value| Source::Values(vec![value])),
        _ => unknown,
    }
}

/// LLVM's address space of a pointer's or memref's type.
fn number_of(ty: Type<'_>) -> Option<u32> {
    match MemRefType::try_from(ty) {
        Ok(memref) => of_memref(memref).ok(),
        Err(_) => ir::address_space(ty),
    }
}

/// The value that an `extractvalue` takes out of the `insertvalue`s before it; of a memref's descriptor the memref, which
/// points to the same.
fn field<'c, 'a>(extract: Op<'c, 'a>) -> Option<Value<'c, 'a>> {
    let (found, aggregate) = ir::inserted(extract)?;
    if found {
        return Some(aggregate);
    }
    let (op, _) = ir::defining(aggregate)?;
    if ir::name(op) == "builtin.unrealized_conversion_cast" { op.operand(0).ok() } else { None }
}

/// Whether the value is a parameter of a kernel: those point to global memory, as LLVM takes it, too.
fn is_parameter_of_kernel(value: Value<'_, '_>) -> bool {
    let Some((block, _)) = ir::argument_of(value) else { return false };
    let Some(function) = block.parent_operation() else { return false };
    let is_entry = block.parent_region().and_then(|region| region.first_block()) == Some(block);
    let is_kernel = ["gpu.kernel", "nvvm.kernel"].iter().any(|mark| function.has_attribute(mark))
        || ir::name(function) == "gpu.func" && function.has_attribute("kernel");
    is_entry && is_kernel
}

/// Whether the op of a value stands around the `gpu.launch` that uses it.
fn is_outside_of_launch(value: Value<'_, '_>) -> bool {
    let Some((op, _)) = ir::defining(value) else { return false };
    let in_device = ir::parents(op).any(|parent| matches!(ir::name(parent), "gpu.launch" | "gpu.module"));
    let used_in_launch = |user| ir::parents(user).any(|parent| matches!(ir::name(parent), "gpu.launch"));
    !in_device && ir::users(value).into_iter().any(used_in_launch)
}
