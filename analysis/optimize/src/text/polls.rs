//! A relaxed poll before a waiting loop.
//!
//! **Rule.** A block that only loads with acquire, compares, and branches back to itself gets a copy with a relaxed
//! load before it. When a thread leaves the copy, it executes the original block.
//!
//! **Why.** The new block only reads memory. The original block recomputes every register that the copy writes: no such
//! register is read from the previous iteration. So each execution of the new program is an execution of the old
//! program, with additional reads whose values are unused.
//!
//! The gain is in the iterations: `ld.acquire` invalidates the first-level cache in each (CCTL.IVALL). The price is an
//! additional load if the loop need not wait, so the rewrite is off by default. If the target has one-sided fences, the
//! optimizer's loop rewrite is better.

use crate::{Block, Event, Function};
use ptx_isa::{
    flat::{AccessKind, Action, Operand, Register},
    operation::{Opaque, Operation},
};
use ptx_lowering::{AtomicOp, Ordering};
use rustc_hash::FxHashSet;

use crate::text::{
    apply::{Edit, Labels, indent, respelled, span},
    feed::{Fed, mnemonic},
};

/// A polling block.
pub struct Poll {
    pub block: usize,
    /// The step of the load.
    pub step: usize,
    pub edit: Edit,
}

/// The polling blocks of a function whose ordering has a cost according to `costs`.
pub fn polls(
    text: &str,
    fed: &Fed<'_>,
    after: &Function,
    labels: &mut Labels,
    costs: impl Fn(&AtomicOp) -> bool,
) -> Vec<Poll> {
    (0..fed.blocks.len()).filter_map(|block| poll(text, fed, after, block, labels, &costs)).collect()
}

fn poll(
    text: &str,
    fed: &Fed<'_>,
    after: &Function,
    block: usize,
    labels: &mut Labels,
    costs: &impl Fn(&AtomicOp) -> bool,
) -> Option<Poll> {
    let steps = fed.blocks[block].clone();
    let [event] = &after.blocks[block].events[..] else { return None };
    let (step, atomic) = (event.id?, event.atomic()?);
    let acquires =
        matches!(atomic.op.operation, ptx_lowering::Operation::Load(_)) && atomic.op.ordering == Ordering::Acquire;
    let last = steps.clone().next_back()?;
    let goes_round = matches!(&fed.flat.steps[last].action, Action::Jump(to, None) if matches!(to[..], [to] if fed.flat.labels[to].at == steps.start));
    if !acquires || atomic.is_volatile() || !goes_round || fed.flat.steps[last].guard.is_none() || !costs(&atomic.op) {
        return None;
    }
    if !is_repeatable(fed, steps.clone()) {
        return None;
    }
    let relaxed = AtomicOp { ordering: Ordering::Relaxed, ..atomic.op };
    let start = span(text, fed, steps.start).start;
    let (label, indent) = (labels.new_one(), indent(text, start));
    let mut copy = format!("{label}:\n");
    for index in steps {
        let own = &text[span(text, fed, index)];
        let own = if index == step {
            let words = mnemonic(own);
            own.replacen(words, &respelled(words, &relaxed)?, 1)
        } else if index == last {
            let at = own.rfind(|c: char| c.is_whitespace())?;
            format!("{} {label};", own[..at].trim_end())
        } else {
            own.to_owned()
        };
        copy += &format!("{indent}{own}\n");
    }
    copy += indent;
    Some(Poll { block, step, edit: Edit { span: start..start, text: copy.trim_start_matches(' ').to_owned() } })
}

impl Poll {
    /// Adds the poll to the graph: all edges to the block lead to its copy first.
    pub fn add_to(&self, graph: &mut Function) {
        let copy = graph.blocks.len();
        for to in graph.blocks.iter_mut().flat_map(|block| &mut block.next).filter(|to| **to == self.block) {
            *to = copy;
        }
        let mut events = graph.blocks[self.block].events.clone();
        for atomic in events.iter_mut().filter_map(Event::atomic_mut) {
            atomic.op.ordering = Ordering::Relaxed;
        }
        let on_edge = Some((self.block, self.block));
        graph.blocks.push(Block { events, next: vec![copy, self.block], on_edge, ..Block::default() });
    }
}

/// Whether an instruction only computes its results from its operands.
fn computes(operation: &Operation) -> bool {
    match operation {
        Operation::Arithmetic(computation) => !computation.touches_carry(),
        operation => matches!(operation, Operation::Mov(_) | Operation::Opaque(Opaque::Sleep, _)),
    }
}

/// Whether a block may be executed once more without any effect except reads.
fn is_repeatable(fed: &Fed<'_>, steps: std::ops::Range<usize>) -> bool {
    let all = &fed.flat.steps[steps.clone()];
    let written: FxHashSet<Register> = all.iter().flat_map(|step| step.writes.iter().flatten().copied()).collect();
    let mut known = FxHashSet::default();
    for (index, step) in all.iter().enumerate() {
        let is_last = index + 1 == all.len();
        let mut reads = Vec::new();
        match &step.action {
            Action::Compute(operation, sources) if computes(operation) => {
                reads.extend(sources.iter().flat_map(Operand::registers));
            }
            Action::Access(access) if access.kind == AccessKind::Ld => reads.extend(access.address.registers()),
            Action::Jump(_, None) if is_last => {}
            _ => return false,
        }
        if step.guard.is_some() != is_last {
            return false;
        }
        reads.extend(step.guard.map(|(register, _)| register));
        if reads.iter().any(|register| written.contains(register) && !known.contains(register)) {
            return false;
        }
        known.extend(step.writes.iter().flatten().copied());
    }
    true
}
