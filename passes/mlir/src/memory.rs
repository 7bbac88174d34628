//! The memory that a pointer or a memref points to, as far as the ops around it show it.

use melior::ir::{
    BlockLike, RegionLike, Type, Value, ValueLike, attribute::IntegerAttribute, operation::OperationLike,
    r#type::MemRefType,
};
use ptx_atomics_common::{
    address_space,
    memory::{Memory, Object, Source},
    operation::{self, Problem},
};
use ptx_lowering::ptx::Space;

use crate::ir::{self, Extracted, Op};

const PRIVATE: &str = "#gpu.address_space<private>";

/// The memory spaces of the dialect `gpu`, and LLVM's address spaces for them. Private memory is in the generic address
/// space, as in MLIR's own conversion. That conversion accepts no memory space of the dialect `nvvm` in a memref.
const SPACES: [(&str, u32); 3] =
    [("#gpu.address_space<global>", 1), ("#gpu.address_space<workgroup>", 3), (PRIVATE, 0)];

/// LLVM's address space of a memref's elements.
pub fn of_memref(ty: MemRefType<'_>) -> Result<u32, Problem> {
    let Some(space) = ty.memory_space() else { return Ok(0) };
    let number = IntegerAttribute::try_from(space).ok().and_then(|number| u32::try_from(number.value()).ok());
    let text = space.to_string();
    number.or_else(|| SPACES.iter().find(|(name, _)| *name == text).map(|(_, number)| *number)).ok_or_else(|| {
        let known = SPACES.map(|(name, _)| name).join(", ");
        let numbers = address_space::KNOWN;
        (format!("unknown memory space {text}"), Some(format!("the known spaces are {known}, and by number {numbers}")))
    })
}

/// The memory of a pointer, or of the elements of the memref `pointer`, in LLVM's address space `number`.
pub fn memory_of(pointer: Value<'_, '_>, number: u32) -> Result<Memory, Problem> {
    match address_space::space(number).ok_or_else(|| operation::wrong_address_space(number))? {
        Space::Generic => Ok(Memory::from_pointer(pointer, |pointer| source(*pointer))),
        space => Ok(Memory::of_space(space)),
    }
}

/// The memory of a pointer or of a memref's elements; `None` for other values, and for address spaces that atomics
/// cannot access.
pub fn memory_of_value(value: Value<'_, '_>) -> Option<Memory> {
    memory_of(value, number_of(value.r#type())?).ok()
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

/// The origin of a pointer.
fn source<'c: 'a, 'a>(value: Value<'c, 'a>) -> Source<Value<'c, 'a>> {
    let unknown = Source::Object(Object::Unknown);
    // LLVM's address space for private memory is the generic one.
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
        // The state space of memory in the shared window of another CTA is treated as generic, as in LLVM IR.
        return Source::Object(Object::In(if space == Space::SharedCluster { Space::Generic } else { space }));
    }
    let Some((op, _)) = ir::defining(value) else {
        return if is_parameter_of_kernel(value) { Source::Object(Object::In(Space::Global)) } else { unknown };
    };
    // A value outside the kernel, including the address of host stack memory, becomes a parameter of the kernel.
    if is_outside_of_launch(value) {
        return Source::Object(Object::In(Space::Global));
    }
    let name = ir::name(op);
    match name {
        "llvm.alloca" | "memref.alloca" => Source::Object(Object::In(Space::Local)),
        "llvm.select" | "arith.select" => Source::Pointers(op.operands().skip(1).collect()),
        "llvm.extractvalue" => field(op).map_or(unknown, |value| Source::Pointers(vec![value])),
        name if PASSING.contains(&name) => op.operand(0).map_or(unknown, |value| Source::Pointers(vec![value])),
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

/// The value that an `extractvalue` extracts after the preceding `insertvalue`s. For a memref's descriptor it is the
/// memref, which points to the same object.
fn field<'c, 'a>(extract: Op<'c, 'a>) -> Option<Value<'c, 'a>> {
    match ir::extracted(extract)? {
        Extracted::Value(value) => Some(value),
        Extracted::In(aggregate) => {
            let (op, _) = ir::defining(aggregate)?;
            if ir::name(op) == "builtin.unrealized_conversion_cast" { op.operand(0).ok() } else { None }
        }
    }
}

/// Whether the value is a parameter of a kernel. LLVM, too, assumes that kernel parameters point to global memory.
fn is_parameter_of_kernel(value: Value<'_, '_>) -> bool {
    let Some((block, _)) = ir::argument_of(value) else { return false };
    let Some(function) = block.parent_operation() else { return false };
    let is_entry = block.parent_region().and_then(|region| region.first_block()) == Some(block);
    let is_kernel = ["gpu.kernel", "nvvm.kernel"].iter().any(|mark| function.has_attribute(mark))
        || ir::name(function) == "gpu.func" && function.has_attribute("kernel");
    is_entry && is_kernel
}

/// Whether the op of a value is outside the `gpu.launch` that uses the value.
fn is_outside_of_launch(value: Value<'_, '_>) -> bool {
    let Some((op, _)) = ir::defining(value) else { return false };
    let in_device = ir::parents(op).any(|parent| matches!(ir::name(parent), "gpu.launch" | "gpu.module"));
    let used_in_launch = |user| ir::parents(user).any(|parent| matches!(ir::name(parent), "gpu.launch"));
    !in_device && ir::users(value).into_iter().any(used_in_launch)
}
