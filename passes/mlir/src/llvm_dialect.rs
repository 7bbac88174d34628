//! The atomics of the LLVM dialect.

use melior::ir::{ValueLike, operation::OperationLike};
use ptx_atomics_common::operation::{Opcode, Problem, SYNC_SCOPES, unknown_sync_scope};
use ptx_lowering::Ordering;

use crate::{
    ir::{self, Op},
    memref,
    plan::Asked,
    vocabulary,
};

/// The operation of an op of the LLVM dialect; `None` for a load or store that is not atomic.
pub fn asked<'c, 'a>(op: Op<'c, 'a>) -> Result<Option<Asked<'c, 'a>>, Vec<Problem>> {
    let attribute = |name| ir::inherent(op, name);
    let number = |name| attribute(name).and_then(ir::integer);
    let ordering = |name| number(name).and_then(vocabulary::ordering);
    let (opcode, ordering_name) = match ir::name(op) {
        "llvm.fence" => (Opcode::Fence, "ordering"),
        "llvm.load" => (Opcode::Load, "ordering"),
        "llvm.store" => (Opcode::Store, "ordering"),
        "llvm.cmpxchg" => (Opcode::CmpXchg, "success_ordering"),
        _ => {
            let bin_op = number("bin_op").and_then(vocabulary::bin_op);
            let Some(bin_op) = bin_op else { return Err(vec![("unknown operation of llvm.atomicrmw".into(), None)]) };
            (Opcode::Rmw(bin_op), "ordering")
        }
    };
    let Some(ordering_found) = ordering(ordering_name) else { return Ok(None) };
    let mut problems = memref::misplaced_attributes(op);
    let name = attribute("syncscope").and_then(ir::string).unwrap_or_default();
    let sync_scope = SYNC_SCOPES.iter().position(|(known, _)| *known == name);
    if sync_scope.is_none() {
        problems.push(unknown_sync_scope(&format!("\"{name}\"")));
    }
    let operand = |index: usize| op.operands().nth(index);
    let address = opcode.pointer().and_then(operand);
    let sources: Vec<_> = opcode.sources().filter_map(operand).collect();
    let value = sources.first().copied().or_else(|| ir::result(op));
    match sync_scope {
        Some(sync_scope) if problems.is_empty() => Ok(Some(Asked {
            opcode,
            ordering: ordering_found,
            failure: ordering("failure_ordering").unwrap_or(Ordering::Relaxed),
            sync_scope,
            address: address.map(|pointer| (pointer, ir::address_space(pointer.r#type()).unwrap_or(0))),
            ty: address.and(value).map(|value| value.r#type()),
            volatile: attribute("volatile_").is_some(),
            alignment: number("alignment").and_then(|bytes| u64::try_from(bytes).ok()),
            sources,
        })),
        _ => Err(problems),
    }
}
