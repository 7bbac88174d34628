//! The ops that stay unchanged because the NVVM dialect prints their exact instruction. They are checked against the
//! target, and guarded so that LLVM does not move accesses across them.

use melior::ir::{ValueLike, operation::OperationLike};
use ptx_atomics_common::{
    Options,
    operation::{Problem, SYNC_SCOPES},
};
use ptx_lowering::{Ordering, SyncScope, ptx::mnemonic::Mnemonic};

use crate::{
    ir::{self, Builder, Op},
    nvvm::{self, Variant},
    version,
    vocabulary::ordering_number,
};

fn variant_of(op: Op<'_, '_>) -> Option<&'static Variant> {
    let name = ir::name(op);
    let attribute = |name: &str| ir::inherent(op, name).map(|attribute| attribute.to_string());
    let types: Vec<_> = op.operands().map(|operand| operand.r#type().to_string()).collect();
    nvvm::variant_of(name.strip_prefix("nvvm.")?, attribute, &types)
}

/// The instruction that an op of the NVVM dialect represents, if the table has the op.
pub fn instruction(op: Op<'_, '_>) -> Option<&'static str> {
    variant_of(op).map(|variant| variant.ptx)
}

/// The problem of an op of the NVVM dialect whose instruction the target lacks.
pub fn missing(op: Op<'_, '_>, options: &Options) -> Option<Problem> {
    problem(variant_of(op)?, options)
}

/// The problem of a variant of an op whose instruction the target lacks.
pub fn problem(variant: &Variant, options: &Options) -> Option<Problem> {
    let message = variant.missing_on(&options.target)?;
    Some((message, Some("compile for a GPU and a PTX version that have it: --mcpu, --mattr, or #nvvm.target".into())))
}

/// Whether [`guard`] would change anything.
pub fn needs_guard(op: Op<'_, '_>) -> bool {
    match ir::name(op) {
        "nvvm.inline_ptx" => ir::inherent(op, "ptxCode").and_then(ir::string).is_some_and(|ptx| orders(&ptx)),
        _ => variant_of(op).is_some_and(Variant::is_transparent),
    }
}

/// Whether PTX accesses memory or synchronizes. MLIR gives such inline assembly no memory clobber.
fn orders(ptx: &str) -> bool {
    Mnemonic::all_in(ptx).any(Mnemonic::orders_or_touches_memory)
}

/// Inserts a fence before and after the op that only the compiler sees. The fences act as the memory clobber that
/// MLIR's inline assembly lacks, and as the effects that the attributes of LLVM's intrinsic omit.
pub fn guard(op: Op<'_, '_>) {
    let scope = SYNC_SCOPES.iter().find(|(_, scope)| *scope == SyncScope::SingleThread).map_or("", |(name, _)| name);
    let fence = |at: Builder<'_, '_>| {
        let ordering = at.i64(ordering_number(Ordering::SeqCst));
        at.op("llvm.fence", &[], &[("ordering", ordering), ("syncscope", at.string(scope))], &[]);
    };
    fence(Builder::before(op));
    if let Some(next) = op.next_in_block() {
        fence(Builder::before(next).at(op.location()));
    }
    // Inline assembly that is not convergent could be copied into each arm of a branch, so that only some of the
    // threads would reach each copy.
    if let Some((_, intrinsic)) = version::DIVERGENT.iter().find(|(name, _)| *name == ir::name(op)) {
        let at = Builder::before(op);
        let operands: Vec<_> = op.operands().collect();
        let zero = || at.value("llvm.mlir.constant", &[], &[("value", at.attribute("0 : i32"))], at.int(32));
        // Without a number, the op means barrier 0.
        let operands = if let [threads] = operands[..] { vec![zero(), threads] } else { operands };
        let segments = at.attribute(&format!("array<i32: {}, 0>", operands.len()));
        let attributes = [
            ("intrin", at.string(intrinsic)),
            ("operandSegmentSizes", segments),
            ("op_bundle_sizes", at.attribute("array<i32>")),
        ];
        at.op("llvm.call_intrinsic", &operands, &attributes, &[]);
        ir::erase(op);
    }
}
