//! What an op that is not atomic does to memory.

use melior::ir::{Type, Value, ValueLike, attribute::FlatSymbolRefAttribute, operation::OperationLike};
use ptx_atomics_lowering::ptx::Space;
use ptx_atomics_optimize::Kind;
use ptx_atomics_pass::{
    assembly,
    callee::{self, Effect},
};

use crate::{
    ir::{self, Op},
    kept,
    memory::memory_of_value,
};

/// Dialects whose ops compute.
const COMPUTING: [&str; 8] = ["arith", "builtin", "cf", "complex", "index", "math", "scf", "ub"];

/// Ops that touch no memory that another thread sees, and order nothing, by the beginnings of their names.
const QUIET: [&str; 36] = [
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
];

/// Ops that access plain data where their operands point.
const PLAIN: [&str; 24] = [
    "affine.load",
    "affine.store",
    "affine.vector_load",
    "affine.vector_store",
    "llvm.intr.experimental.constrained",
    "llvm.intr.masked.",
    "llvm.intr.memcpy",
    "llvm.intr.memmove",
    "llvm.intr.memset",
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

/// What an op without regions is to the optimizer; nothing, if it touches no memory that another thread sees, and orders
/// nothing.
pub fn kind(op: Op<'_, '_>) -> Option<Kind> {
    let name = ir::name(op);
    if let Some(text) = assembly_of(op) {
        let unknown = || if assembly::is_barrier(&text) { Kind::Barrier } else { Kind::Unknown(said(op)) };
        return (!assembly::is_quiet(&text)).then(unknown);
    }
    if let Some(callee) = callee_of(op) {
        return match callee::effect(&callee) {
            Some(Effect::Quiet) => None,
            Some(Effect::Barrier) => Some(Kind::Barrier),
            Some(Effect::Plain) => op.operands().any(is_shared_with_threads).then_some(Kind::Plain),
            None => Some(Kind::Unknown(format!("the call to `{callee}`"))),
        };
    }
    let begins = |names: &[&str]| names.iter().any(|known| name.starts_with(known));
    if begins(&PLAIN) || begins(&["vector.transfer_"]) {
        let is_volatile = ["volatile_", "isVolatile"]
            .iter()
            .any(|name| ir::inherent(op, name).is_some_and(|attribute| attribute.to_string() != "false"));
        let invariant = ir::inherent(op, "invariant").is_some();
        return match op.operands().any(is_shared_with_threads) {
            true if is_volatile => Some(Kind::Unknown("a volatile access".into())),
            true if !invariant => Some(Kind::Plain),
            _ => None,
        };
    }
    match ir::dialect(op) {
        "gpu" if name == "gpu.barrier" => Some(Kind::Barrier),
        dialect if COMPUTING.contains(&dialect) || begins(&QUIET) => None,
        "llvm" if !is_call(name) => None,
        "vector" => None,
        _ => Some(Kind::Unknown(said(op))),
    }
}

fn is_call(name: &str) -> bool {
    matches!(name, "llvm.call" | "llvm.call_intrinsic" | "llvm.invoke" | "func.call" | "func.call_indirect")
}

/// An op in words.
fn said(op: Op<'_, '_>) -> String {
    match ir::name(op) {
        "llvm.inline_asm" | "nvvm.inline_ptx" => "inline assembly".into(),
        name if is_call(name) => "a call through a pointer".into(),
        name => format!("`{name}`"),
    }
}

/// The PTX that an op stands for, where it says so.
fn assembly_of(op: Op<'_, '_>) -> Option<String> {
    let string = |name| ir::inherent(op, name).and_then(ir::string);
    match ir::name(op) {
        "llvm.inline_asm" => string("asm_string"),
        "nvvm.inline_ptx" => string("ptxCode"),
        _ => kept::instruction(op).map(str::to_owned),
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

/// What an op may do with shared memory of other CTAs.
pub fn obstacle(op: Op<'_, '_>) -> Option<String> {
    if let Some(text) = assembly_of(op) {
        return (!assembly::stays_in_cta(&text)).then(|| format!("{} may use mapa", said(op)));
    }
    if let Some(callee) = callee_of(op) {
        return (!callee::stays_in_cta(&callee, false)).then(|| format!("the call to `{callee}` may use mapa"));
    }
    let name = ir::name(op);
    let begins = |names: &[&str]| names.iter().any(|known| name.starts_with(known));
    let has_access = begins(&["affine.", "func.", "gpu.", "memref.", "vector."]);
    let known = match ir::dialect(op) {
        "llvm" => !is_call(name),
        "nvvm" => begins(&QUIET) && !begins(&["nvvm.mapa"]),
        dialect => COMPUTING.contains(&dialect) || has_access && !is_call(name),
    };
    (!known).then(|| format!("{} may use mapa", said(op)))
}

/// Whether a value points to what other threads may see or write.
fn is_shared_with_threads(value: Value<'_, '_>) -> bool {
    points(value.r#type())
        && !memory_of_value(value).is_some_and(|memory| matches!(memory.space, Space::Local | Space::Const))
}

fn points(ty: Type<'_>) -> bool {
    ir::address_space(ty).is_some() || ty.to_string().starts_with("memref<")
}
