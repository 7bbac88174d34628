//! Edits of a function, each with its remark.

use ptx_lowering::AtomicOp;

use crate::{
    cost::Costs,
    function::{Atomic, Event, Function},
    graph::Fact,
    options::{OptimizeOptions, Rewrite},
    remark::Remark,
};

/// The position of an event: its block, and its index in the block.
pub type EventPlace = (usize, usize);

/// The change of an atomic operation or fence.
pub enum Change {
    /// The operation is replaced by this one.
    To(AtomicOp, String),
    /// The operation is removed.
    Remove(String),
}

/// A function during one rewrite.
pub struct Editor<'e> {
    pub function: &'e mut Function,
    pub options: &'e OptimizeOptions,
    pub costs: &'e Costs<'e>,
    pub remarks: &'e mut Vec<Remark>,
}

impl Editor<'_> {
    /// Records that a rewrite changed an event, or why it did not.
    pub fn remark(&mut self, id: Option<usize>, rewrite: Rewrite, applied: bool, message: impl Into<String>) {
        self.remarks.extend(id.map(|id| Remark { id, rewrite, applied, message: message.into() }));
    }

    /// Applies the changes that reduce the cost. Returns whether there was one.
    pub fn apply(&mut self, rewrite: Rewrite, changes: Vec<(EventPlace, Change)>) -> bool {
        let mut removed = Vec::new();
        let mut changed = false;
        for ((block, index), change) in changes {
            let event = &mut self.function.blocks[block].events[index];
            let id = event.id;
            let Some(atomic) = event.atomic_mut() else { continue };
            let message = match change {
                Change::To(op, message) if self.costs.is_less(&op, &atomic.op) => {
                    atomic.op = op;
                    message
                }
                Change::To(..) => continue,
                Change::Remove(_) if !self.costs.is_any(&atomic.op) => continue,
                Change::Remove(message) => {
                    removed.push((block, index));
                    message
                }
            };
            changed = true;
            self.remark(id, rewrite, true, message);
        }
        removed.sort_unstable();
        for (block, index) in removed.into_iter().rev() {
            self.function.blocks[block].events.remove(index);
        }
        changed
    }
}

/// The changes that `decide` makes from the facts before each atomic operation and fence. Volatile operations stay
/// unchanged.
pub fn from_the_front<F: Fact>(
    function: &Function,
    facts: &[Option<F>],
    mut decide: impl FnMut(&Atomic, &F, &Event) -> Option<Change>,
) -> Vec<(EventPlace, Change)> {
    let mut changes = Vec::new();
    for (number, (block, fact)) in function.blocks.iter().zip(facts).enumerate() {
        let Some(mut fact) = fact.clone() else { continue };
        for (index, event) in block.events.iter().enumerate() {
            if let Some(atomic) = event.atomic().filter(|atomic| !atomic.is_volatile()) {
                changes.extend(decide(atomic, &fact, event).map(|change| ((number, index), change)));
            }
            fact.pass(event);
        }
    }
    changes
}

/// The changes that `decide` makes from the facts after each atomic operation and fence.
pub fn from_the_back<F: Fact>(
    function: &Function,
    facts: &[F],
    mut decide: impl FnMut(&Atomic, &F, &Event) -> Option<Change>,
) -> Vec<(EventPlace, Change)> {
    let mut changes = Vec::new();
    for (number, (block, fact)) in function.blocks.iter().zip(facts).enumerate() {
        let mut fact = fact.clone();
        for (index, event) in block.events.iter().enumerate().rev() {
            if let Some(atomic) = event.atomic().filter(|atomic| !atomic.is_volatile()) {
                changes.extend(decide(atomic, &fact, event).map(|change| ((number, index), change)));
            }
            fact.pass(event);
        }
    }
    changes
}
