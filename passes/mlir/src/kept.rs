//! Ops that stay what they are, because the NVVM dialect prints their exact instruction: checked against the target, and kept
//! from being passed by accesses that they order.

use melior::ir::{ValueLike, operation::OperationLike};
use ptx_atomics_lowering::{Ordering, SyncScope};
use ptx_atomics_pass::{
    Options,
    operation::{Problem, SYNC_SCOPES},
};

use crate::{
    ir::{self, Builder, Op},
    nvvm::{self, Form, Lowering},
    vocabulary::ordering_number,
};

/// The first words of PTX instructions that touch memory or synchronize. MLIR gives their inline assembly no memory clobber.
const ORDERING_PTX: [&str; 16] = [
    "atom",
    "red",
    "ld",
    "st",
    "fence",
    "membar",
    "bar",
    "barrier",
    "mbarrier",
    "cp",
    "multimem",
    "tcgen05",
    "wgmma",
    "griddepcontrol",
    "prefetch",
    "applypriority",
];

fn form(op: Op<'_, '_>) -> Option<&'static Form> {
    let name = ir::name(op);
    let attribute = |name: &str| ir::inherent(op, name).map(|attribute| attribute.to_string());
    let types: Vec<_> = op.operands().map(|operand| operand.r#type().to_string()).collect();
    nvvm::form_of(name.strip_prefix("nvvm.")?, attribute, &types)
}

/// What the target lacks for an op of the NVVM dialect.
pub fn missing(op: Op<'_, '_>, options: &Options) -> Option<Problem> {
    problem(form(op)?, options)
}

/// What the target lacks for a form of an op.
pub fn problem(form: &Form, options: &Options) -> Option<Problem> {
    let message = form.missing_on(&options.target)?;
    Some((message, Some("compile for a GPU and a PTX version that have it: --mcpu, --mattr, or #nvvm.target".into())))
}

/// Whether [`guard`] has something to do.
pub fn needs_guard(op: Op<'_, '_>) -> bool {
    match ir::name(op) {
        "nvvm.inline_ptx" => ir::inherent(op, "ptxCode").and_then(ir::string).is_some_and(|ptx| orders(&ptx)),
        _ => form(op).is_some_and(Form::is_transparent),
    }
}

fn orders(ptx: &str) -> bool {
    let words = ptx.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.into_iter().any(|word| ORDERING_PTX.contains(&word))
}

/// Puts a fence on both sides that only the compiler sees: it is the memory clobber that MLIR's inline assembly lacks, and what
/// the attributes of LLVM's intrinsic do not say.
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
    // A copy of it in each arm of a branch would be reached by a part of the threads.
    if let Some(Lowering::DivergentAsm { intrinsic }) = form(op).map(|form| form.lowering) {
        let at = Builder::before(op);
        let operands: Vec<_> = op.operands().collect();
        let zero = || at.value("llvm.mlir.constant", &[], &[("value", at.attribute("0 : i32"))], at.int(32));
        // Without a number it is barrier 0.
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
