//! The operations that PTX itself states, as a reference for the judgement of another text.

use ptx_lowering::{
    Access, AtomicOp, Operation, Ordering, RmwOp, SyncScope, Type,
    ptx::{Atom, FenceSem, Function, Instruction, Red},
};

use crate::{
    block::BasicBlock,
    event::{MemoryEvent, fence},
    flow::Flow,
};

/// Each strong access and each fence of a function as an operation, in its control flow. Compare-and-swap loops are not
/// analyzed: their `cas` is a compare and exchange.
pub fn stated_operations(function: &Function) -> Vec<BasicBlock> {
    let flow = Flow::of_function(function);
    let order = flow.in_order();
    let mut places = vec![None; flow.nodes.len()];
    order.iter().enumerate().for_each(|(place, node)| places[*node] = Some(place));
    let block = |node: usize| BasicBlock {
        operations: operation(&flow, node).into_iter().collect(),
        next: flow.nodes[node].next.iter().filter_map(|next| places[*next]).collect(),
    };
    order.iter().map(|node| block(*node)).collect()
}

fn operation(flow: &Flow<'_>, node: usize) -> Option<AtomicOp> {
    if let Some((sem, scope)) = fence(flow, node) {
        let ordering = match sem {
            FenceSem::Sc => Ordering::SeqCst,
            FenceSem::AcqRel => Ordering::AcqRel,
            FenceSem::Acquire => Ordering::Acquire,
            FenceSem::Release => Ordering::Release,
        };
        return Some(AtomicOp { operation: Operation::Fence, ordering, scope: SyncScope::Threads(scope) });
    }
    let event = MemoryEvent::from_node(flow, node)?;
    let ty = match event.bits {
        8 => Type::I8,
        16 => Type::I16,
        32 => Type::I32,
        64 => Type::I64,
        128 => Type::I128,
        _ => return None,
    };
    let access = Access::new(event.space, ty);
    let operation = match flow.instruction(node)? {
        Instruction::Ld(_) => Operation::Load(access),
        Instruction::St(_) => Operation::Store(access),
        Instruction::Atom(Atom { op, .. }) | Instruction::Red(Red { op, .. }) => match RmwOp::from_atom_op(*op, true) {
            Some(op) => Operation::Rmw(op, access),
            None => Operation::CmpXchg { access, failure: Ordering::Relaxed },
        },
        _ => return None,
    };
    let volatile = event.volatile && !event.is_rmw();
    let ordering = match (event.acquires, event.releases) {
        (true, true) => Ordering::AcqRel,
        (true, false) => Ordering::Acquire,
        (false, true) => Ordering::Release,
        (false, false) => Ordering::Relaxed,
    };
    Some(AtomicOp {
        operation: if volatile { operation.volatile() } else { operation },
        ordering,
        scope: SyncScope::Threads(event.strong?),
    })
}

#[cfg(test)]
mod tests {
    use itertools::Itertools;
    use ptx_lowering::ptx::Module;

    use super::*;
    use crate::judge_function;

    fn function(body: &str) -> Module {
        format!(".version 8.6\n.target sm_90\n.func f() {{\n{body}\n}}").parse().expect(body)
    }

    /// Judges a second body by the operations that the first one states.
    fn check(stated: &str, body: &str, expected: &str) {
        let (stated, module) = (function(stated), function(body));
        let blocks = stated_operations(stated.functions().next().expect("a function"));
        let judged = judge_function(&blocks, module.functions().next().expect("a function")).expect("few operations");
        let found = judged.operations.iter().map(|found| found.loss().map_or("right", Into::into)).join(" ");
        assert_eq!(found, expected, "{body}");
    }

    #[test]
    fn a_text_keeps_its_statements() {
        let bodies = [
            "fence.sc.sys; atom.acquire.gpu.global.add.u32 %r1, [%rd1], 1; fence.acquire.cta;",
            "ld.relaxed.sys.global.b32 %r1, [%rd1]; @%p1 bra $A; st.release.gpu.global.b8 [%rd2], %r1; $A: membar.gl; ret;",
            "$L: atom.acq_rel.sys.shared.cas.b64 %rd2, [%rd1], %rd3, %rd4; setp.ne.b64 %p1, %rd2, %rd3; @%p1 bra $L; ret;",
            "ld.volatile.global.b32 %r1, [%rd1]; red.release.gpu.global.max.s32 [%rd1], 1; ld.global.b32 %r2, [%rd1];",
            "st.mmio.relaxed.sys.global.b32 [%rd1], 1; atom.global.cas.b128 %q, [%rd1], %q, %q;",
        ];
        for (body, count) in bodies.into_iter().zip([3, 3, 1, 2, 2]) {
            check(body, body, &vec!["right"; count].join(" "));
        }
    }

    #[test]
    fn a_weaker_text_does_not() {
        let check_one = |stated: &str, body: &str, expected| {
            check(
                &format!("{stated}.global.add.u32 %r1, [%rd1], 1;"),
                &format!("{body}.global.add.u32 %r1, [%rd1], 1;"),
                expected,
            );
        };
        check_one("atom.acq_rel.sys", "atom.relaxed.sys", "ordering");
        check_one("atom.acq_rel.sys", "atom.acq_rel.gpu", "scope");
        check_one("fence.sc.sys; atom.relaxed.sys", "fence.acq_rel.sys; atom.relaxed.sys", "ordering right");
        check_one("fence.sc.sys; atom.relaxed.sys", "atom.relaxed.sys", "missing right");
        check("ld.acquire.gpu.global.b32 %r1, [%rd1];", "ld.global.b32 %r1, [%rd1];", "not-atomic");
    }
}
