//! The tensor memory of a CTA, and the order of its accesses.

use std::collections::BTreeMap;

use crate::{
    clock::{Agent, Clock, Epoch},
    matrix::tensor::{COLUMNS, LANES, TensorMemory},
    shadow::Record,
};

pub const GROUP: usize = 16;

/// Kinds of operations that execute in order without a wait (section 9.7.16.6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PipeKind {
    /// A product, by its accumulator and its shape.
    Product(u32, u64),
    /// An operand in tensor memory of a product with this accumulator and shape.
    Operand(u32, u64),
    Copy,
    Shift,
}

/// The kind of an operation of a pipe, and its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pipe {
    pub kind: PipeKind,
    pub agent: Agent,
    pub epoch: Epoch,
}

impl Pipe {
    pub fn is_before(self, later: Self) -> bool {
        use PipeKind::{Copy, Operand, Product, Shift};
        match (self.kind, later.kind) {
            (Product(a, shape), Product(b, other)) => a == b && shape == other,
            (Operand(..), Operand(..)) | (Copy, Product(..) | Operand(..) | Copy) => true,
            (Product(..) | Operand(..), Copy) => true,
            (Shift, Product(..) | Operand(..) | Copy) | (Product(..) | Operand(..), Shift) => true,
            _ => false,
        }
    }
}

/// An access of tensor memory.
#[derive(Clone, Copy, Debug)]
pub struct TensorAccess {
    pub record: Record,
    pub pipe: Option<Pipe>,
}

impl TensorAccess {
    pub fn is_before(&self, clock: &Clock, later: &Self) -> bool {
        if clock.has_seen(self.record.agent, self.record.epoch) {
            return true;
        }
        match (self.pipe, later.pipe) {
            (Some(first), Some(second)) => first.is_before(second) && clock.has_seen(first.agent, first.epoch),
            _ => false,
        }
    }
}

/// The allocations that a CTA performs together with its peer, by `.cta_group::2`.
#[derive(Default)]
pub struct Joint {
    /// The number of the joint allocations that it has begun, and the last of them.
    pub begun: u32,
    pub last: Option<(Agent, Epoch)>,
    /// The allocation that waits for the peer: its warp, its first column, and its access.
    pub waiting: Option<(u32, usize, Record)>,
}

/// The tensor memory of a CTA.
#[derive(Default)]
pub struct Tensor {
    pub memory: Option<Box<TensorMemory>>,
    /// By group of lanes and column, the accesses with which later accesses may race.
    pub cells: Vec<Vec<TensorAccess>>,
    /// The allocations by their first column: the number of columns, and the thread and instruction that allocated
    /// them.
    pub allocated: BTreeMap<usize, (usize, u32, u32)>,
    pub is_relinquished: bool,
    pub joint: Joint,
}

impl Tensor {
    /// The first column of a free range of columns.
    pub fn free(&self, columns: usize) -> Option<usize> {
        let is_free = |at: &usize| {
            self.allocated.iter().all(|(start, (count, ..))| start + count <= *at || *at + columns <= *start)
        };
        (0..COLUMNS).step_by(columns.max(32)).filter(|at| at + columns <= COLUMNS).find(is_free)
    }

    /// Whether all columns of a range are allocated.
    pub fn has(&self, columns: std::ops::Range<usize>) -> bool {
        let mut at = columns.start;
        for (start, (count, ..)) in &self.allocated {
            if (*start..start + count).contains(&at) {
                at = start + count;
            }
        }
        at >= columns.end
    }

    pub fn touch(&mut self, group: usize, column: usize, clock: &Clock, new: &TensorAccess, races: &mut Vec<Record>) {
        if self.cells.is_empty() {
            self.cells.resize_with(LANES / GROUP * COLUMNS, Vec::new);
        }
        let Some(cell) = self.cells.get_mut(group * COLUMNS + column) else { return };
        let writes = new.record.info.writes();
        for old in &*cell {
            if (writes || old.record.info.writes()) && !old.is_before(clock, new) {
                races.push(old.record);
            }
        }
        if writes {
            // An access that races with the write may race with later accesses, too.
            let is_repeated = |old: &TensorAccess| {
                let (old, new) = (old.record, new.record);
                (old.agent, old.info.step(), old.info.writes()) == (new.agent, new.info.step(), true)
            };
            cell.retain(|old| !old.is_before(clock, new) && !is_repeated(old));
        } else {
            // A thread that has seen the later read of a chain has seen the earlier read.
            let is_repeated = |old: &TensorAccess| {
                old.record.agent == new.record.agent && old.pipe.map(|pipe| pipe.kind) == new.pipe.map(|pipe| pipe.kind)
            };
            cell.retain(|old| old.record.info.writes() || !(is_repeated(old) || old.is_before(clock, new)));
        }
        cell.push(*new);
    }
}

/// Lanes and columns of tensor memory, from an address on.
#[derive(Clone, Copy, Debug)]
pub struct Slice {
    pub address: u32,
    pub lanes: usize,
    pub columns: usize,
}
