//! The memory effects of ops that are not atomic.

use std::collections::HashSet;

use melior::ir::{RegionLike, Type, Value, ValueLike, attribute::FlatSymbolRefAttribute, operation::OperationLike};
use ptx_atomics_common::{
    assembly,
    callee::{Declared, Effect},
};
use ptx_lowering::ptx::Space;
use ptx_optimize::EventKind;

use crate::{
    diagnostic::FUNCTIONS,
    ir::{self, Op},
    memory::memory_of_value,
    native_ops,
    options::module_of,
};

/// The dialects whose ops only compute.
const COMPUTING: [&str; 8] = ["arith", "builtin", "cf", "complex", "index", "math", "scf", "ub"];

/// Ops that access no memory that another thread accesses, and order no access, by prefixes of their names.
const QUIET: [&str; 65] = [
    "affine.apply",
    "affine.max",
    "affine.min",
    "affine.yield",
    "func.constant",
    "gpu.block_",
    "gpu.cluster_",
    "gpu.global_id",
    "gpu.grid_dim",
    "gpu.lane_id",
    "gpu.num_subgroups",
    "gpu.shuffle",
    "gpu.subgroup_id",
    "gpu.subgroup_size",
    "gpu.thread_id",
    "gpu.yield",
    "llvm.addrspacecast",
    "llvm.alloca",
    "llvm.bitcast",
    "llvm.extractelement",
    "llvm.extractvalue",
    "llvm.freeze",
    "llvm.getelementptr",
    "llvm.icmp",
    "llvm.insertelement",
    "llvm.insertvalue",
    "llvm.intr.annotation",
    "llvm.intr.assume",
    "llvm.intr.dbg.",
    "llvm.intr.invariant.",
    "llvm.intr.is.constant",
    "llvm.intr.launder.",
    "llvm.intr.lifetime.",
    "llvm.intr.prefetch",
    "llvm.intr.ptr.annotation",
    "llvm.intr.ptrmask",
    "llvm.intr.ssa.copy",
    "llvm.intr.stack",
    "llvm.intr.strip.",
    "llvm.intr.threadlocal.",
    "llvm.intr.var.annotation",
    "llvm.ptrto",
    "llvm.select",
    "llvm.shufflevector",
    "memref.alloca",
    "memref.assume_alignment",
    "memref.cast",
    "memref.collapse_shape",
    "memref.dim",
    "memref.expand_shape",
    "memref.extract_",
    "memref.get_global",
    "memref.memory_space_cast",
    "memref.rank",
    "memref.reinterpret_cast",
    "memref.reshape",
    "memref.subview",
    "memref.transpose",
    "memref.view",
    "nvvm.elect.sync",
    "nvvm.mapa",
    "nvvm.match.sync",
    "nvvm.read.ptx.sreg.",
    "nvvm.shfl.sync",
    "vector.type_cast",
];

/// Ops that access plain data at their operands.
const PLAIN: [&str; 26] = [
    "affine.load",
    "affine.store",
    "affine.vector_load",
    "affine.vector_store",
    "llvm.intr.experimental.vp.strided.",
    "llvm.intr.masked.",
    "llvm.intr.matrix.column.major.",
    "llvm.intr.memcpy",
    "llvm.intr.memmove",
    "llvm.intr.memset",
    "llvm.intr.va",
    "llvm.intr.vp.",
    "llvm.load",
    "llvm.store",
    "llvm.va_arg",
    "memref.copy",
    "memref.load",
    "memref.store",
    "vector.compressstore",
    "vector.expandload",
    "vector.gather",
    "vector.load",
    "vector.maskedload",
    "vector.maskedstore",
    "vector.scatter",
    "vector.store",
];

/// The names of functions with a body. The body of such a function determines its effect.
pub struct Bodies(HashSet<String>);

impl Bodies {
    /// The functions in an op, and next to it in its module.
    pub fn around(op: Op<'_, '_>) -> Self {
        let all = ir::children(module_of(op)).chain(ir::all(op));
        let functions = all.filter(|op| FUNCTIONS.contains(&ir::name(*op)) && has_body(*op));
        Self(functions.filter_map(ir::symbol).collect())
    }

    /// A called function, if only its name can show its effect.
    fn declared<'n>(&self, name: &'n str) -> Option<Declared<'n>> {
        Declared::new(name, self.0.contains(name))
    }
}

/// Whether a function has a body.
pub fn has_body(function: Op<'_, '_>) -> bool {
    function.region(0).is_ok_and(|region| region.first_block().is_some())
}

/// The kind of event that an op without regions is for the optimizer; `None` if it accesses no memory that another
/// thread accesses, and orders no access.
pub fn kind(op: Op<'_, '_>, bodies: &Bodies) -> Option<EventKind> {
    let name = ir::name(op);
    if let Some(text) = assembly_of(op) {
        let unknown =
            || if assembly::is_barrier(&text) { EventKind::Barrier } else { EventKind::Unknown(describe_op(op)) };
        return (!assembly::is_quiet(&text)).then(unknown);
    }
    if let Some(callee) = callee_of(op) {
        return match bodies.declared(&callee).and_then(Declared::effect) {
            Some(Effect::Quiet) => None,
            Some(Effect::Barrier) => Some(EventKind::Barrier),
            Some(Effect::Plain) => op.operands().any(is_shared_with_threads).then_some(EventKind::Plain),
            None => Some(EventKind::Unknown(format!("the call to `{callee}`"))),
        };
    }
    let begins = |names: &[&str]| names.iter().any(|known| name.starts_with(known));
    if begins(&PLAIN) || begins(&["vector.transfer_"]) {
        let is_volatile = ["volatile_", "isVolatile"]
            .iter()
            .any(|name| ir::inherent(op, name).is_some_and(|attribute| attribute.to_string() != "false"));
        let invariant = ir::inherent(op, "invariant").is_some();
        return match op.operands().any(is_shared_with_threads) {
            true if is_volatile => Some(EventKind::Unknown("a volatile access".into())),
            true if !invariant => Some(EventKind::Plain),
            _ => None,
        };
    }
    match ir::dialect(op) {
        "gpu" if name == "gpu.barrier" => Some(EventKind::Barrier),
        dialect if COMPUTING.contains(&dialect) || begins(&QUIET) => None,
        // Any other op with a pointer operand may access the memory there.
        "llvm" | "vector" if !is_call(name) && !op.operands().any(|operand| points(operand.r#type())) => None,
        _ => Some(EventKind::Unknown(describe_op(op))),
    }
}

fn is_call(name: &str) -> bool {
    matches!(name, "llvm.call" | "llvm.call_intrinsic" | "llvm.invoke" | "func.call" | "func.call_indirect")
}

/// The description of an op for messages.
fn describe_op(op: Op<'_, '_>) -> String {
    match ir::name(op) {
        "llvm.inline_asm" | "nvvm.inline_ptx" => "inline assembly".into(),
        name if is_call(name) => "a call through a pointer".into(),
        name => format!("`{name}`"),
    }
}

/// The PTX that an op represents, if the op or the table of native ops contains it.
fn assembly_of(op: Op<'_, '_>) -> Option<String> {
    let string = |name| ir::inherent(op, name).and_then(ir::string);
    match ir::name(op) {
        "llvm.inline_asm" => string("asm_string"),
        "nvvm.inline_ptx" => string("ptxCode"),
        _ => native_ops::instruction(op).map(str::to_owned),
    }
}

/// The name of the function that an op calls.
pub fn callee_of(op: Op<'_, '_>) -> Option<String> {
    match ir::name(op) {
        "llvm.call_intrinsic" => ir::inherent(op, "intrin").and_then(ir::string),
        "llvm.call" | "func.call" => {
            let callee = FlatSymbolRefAttribute::try_from(ir::inherent(op, "callee")?).ok()?;
            Some(callee.value().to_owned())
        }
        _ => None,
    }
}

/// The reason why an op may reach shared memory of other CTAs.
pub fn obstacle(op: Op<'_, '_>, bodies: &Bodies) -> Option<String> {
    if let Some(text) = assembly_of(op) {
        return (!assembly::stays_in_cta(&text)).then(|| format!("{} may use mapa", describe_op(op)));
    }
    if let Some(callee) = callee_of(op) {
        let stays = bodies.declared(&callee).is_some_and(|declared| declared.stays_in_cta(false));
        return (!stays).then(|| format!("the call to `{callee}` may use mapa"));
    }
    let name = ir::name(op);
    let begins = |names: &[&str]| names.iter().any(|known| name.starts_with(known));
    let has_access = begins(&["affine.", "func.", "gpu.", "memref.", "vector."]);
    let known = match ir::dialect(op) {
        "llvm" => !is_call(name),
        "nvvm" => begins(&QUIET) && !begins(&["nvvm.mapa"]),
        dialect => COMPUTING.contains(&dialect) || has_access && !is_call(name),
    };
    (!known).then(|| format!("{} may use mapa", describe_op(op)))
}

/// Whether a value points to memory that other threads may read or write.
fn is_shared_with_threads(value: Value<'_, '_>) -> bool {
    points(value.r#type())
        && !memory_of_value(value).is_some_and(|memory| matches!(memory.space, Space::Local | Space::Const))
}

/// Whether a type is a pointer, or contains pointers.
fn points(ty: Type<'_>) -> bool {
    let has_pointers = |text: String| text.starts_with("memref<") || text.contains("!llvm.ptr");
    ir::address_space(ty).is_some() || has_pointers(ty.to_string())
}
