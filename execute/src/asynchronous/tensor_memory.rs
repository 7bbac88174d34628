//! Tensor memory: which columns are allocated, what they hold, and the order of accesses (section 9.7.16.6).

use std::collections::BTreeMap;

use crate::{
    clock::{Agent, Clock, Epoch},
    machine::{Cta, Machine},
    matrix::tensor::{COLUMNS, Cell, LANES, TensorMemory},
    report::FindingKind,
    shadow::Record,
};

/// Lanes are looked at in groups of so many.
const GROUP: usize = 16;

/// What operations execute one behind the other without a wait (section 9.7.16.6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PipeKind {
    /// A product, by its accumulator and its shape.
    Product(u32, u64),
    /// An operand of a product in tensor memory, of the same product.
    Operand(u32, u64),
    Copy,
    Shift,
}

/// Where an operation of a pipe was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pipe {
    pub kind: PipeKind,
    pub agent: Agent,
    pub epoch: Epoch,
}

impl Pipe {
    fn is_before(self, later: Self) -> bool {
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
pub struct Touch {
    pub record: Record,
    pub pipe: Option<Pipe>,
}

impl Touch {
    fn is_before(&self, clock: &Clock, later: &Self) -> bool {
        if clock.has_seen(self.record.agent, self.record.epoch) {
            return true;
        }
        match (self.pipe, later.pipe) {
            (Some(first), Some(second)) => first.is_before(second) && clock.has_seen(first.agent, first.epoch),
            _ => false,
        }
    }
}

/// The tensor memory of a CTA.
#[derive(Default)]
pub struct Tensor {
    pub memory: Option<Box<TensorMemory>>,
    /// By group of lanes and column, the accesses that later ones may race with.
    cells: Vec<Vec<Touch>>,
    /// Where allocations begin, how many columns they have, and who allocated them.
    pub allocated: BTreeMap<usize, (usize, u32, u32)>,
    pub is_relinquished: bool,
}

impl Tensor {
    /// Where so many columns are free.
    pub fn free(&self, columns: usize) -> Option<usize> {
        let is_free = |at: &usize| {
            self.allocated.iter().all(|(start, (count, ..))| start + count <= *at || *at + columns <= *start)
        };
        (0..COLUMNS).step_by(columns.max(32)).filter(|at| at + columns <= COLUMNS).find(is_free)
    }

    /// Whether columns are allocated.
    fn has(&self, columns: std::ops::Range<usize>) -> bool {
        let mut at = columns.start;
        for (start, (count, ..)) in &self.allocated {
            if (*start..start + count).contains(&at) {
                at = start + count;
            }
        }
        at >= columns.end
    }

    fn touch(&mut self, group: usize, column: usize, clock: &Clock, new: &Touch, races: &mut Vec<Record>) {
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
            cell.clear();
        } else {
            // Of one chain, who has seen the later read has seen the earlier one.
            let is_repeated = |old: &Touch| {
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

impl Machine<'_> {
    /// Looks at an access of the tensor memory of a CTA of the cluster.
    pub fn touch_tensor(&mut self, cta: &mut Cta, thread: u32, rank: u32, slice: Slice, clock: &Clock, touch: &Touch) {
        let Some(owner) = self.rank(cta, Some(rank)) else { return };
        let first = Cell::of(slice.address);
        let columns = first.column..(first.column + slice.columns).min(COLUMNS);
        let groups = first.lane / GROUP..(first.lane + slice.lanes).div_ceil(GROUP).min(LANES / GROUP);
        let races_wanted = self.options.races;
        let mut races = Vec::new();
        let is_own = owner == cta.index;
        let target = match is_own {
            true => Some(&mut cta.asynchronous.tensor),
            false => {
                let other = self.ctas.get_mut(owner as usize).and_then(Option::as_deref_mut);
                other.map(|other| &mut other.asynchronous.tensor)
            }
        };
        let Some(tensor) = target else { return };
        let is_there = first.column + slice.columns <= COLUMNS && first.lane < LANES && tensor.has(columns.clone());
        if races_wanted {
            for group in groups {
                for column in columns.clone() {
                    tensor.touch(group, column, clock, touch, &mut races);
                }
            }
        }
        if !is_there {
            let (column, end) = (first.column, first.column + slice.columns);
            let message = format!("columns {column} to {end} of tensor memory are not all allocated");
            let place = Some(format!("tensor memory, column {column}"));
            self.find(cta, FindingKind::OutOfBounds, thread, touch.record.info.step(), None, place, message, None);
        }
        races.dedup();
        for earlier in races {
            let place = format!("tensor memory, column {}", first.column);
            self.race(cta, thread, touch.record, earlier, place, false);
        }
    }

    /// Works on the tensor memories of CTAs of the cluster, and on what they have in shared memory.
    pub fn with_tensor<T>(
        &mut self,
        cta: &mut Cta,
        ranks: &[u32],
        work: impl FnOnce(&Self, &Cta, &mut [&mut TensorMemory]) -> T,
    ) -> T {
        let owners: Vec<Option<u32>> = ranks.iter().map(|rank| self.rank(cta, Some(*rank))).collect();
        let mut memories: Vec<Box<TensorMemory>> = Vec::new();
        for owner in &owners {
            memories.push(self.tensor_slot(cta, *owner).and_then(Option::take).unwrap_or_default());
        }
        let mut borrowed: Vec<&mut TensorMemory> = memories.iter_mut().map(|memory| &mut **memory).collect();
        let result = work(self, cta, &mut borrowed);
        for (owner, memory) in owners.into_iter().zip(memories) {
            if let Some(slot) = self.tensor_slot(cta, owner) {
                *slot = Some(memory);
            }
        }
        result
    }

    fn tensor_slot<'s>(
        &'s mut self,
        cta: &'s mut Cta,
        owner: Option<u32>,
    ) -> Option<&'s mut Option<Box<TensorMemory>>> {
        let owner = owner?;
        if owner == cta.index {
            return Some(&mut cta.asynchronous.tensor.memory);
        }
        let other = self.ctas.get_mut(owner as usize)?.as_deref_mut()?;
        Some(&mut other.asynchronous.tensor.memory)
    }

    /// Tensor memory that a CTA leaves allocated.
    pub fn check_leaks(&mut self, cta: &mut Cta) {
        for (at, (columns, thread, pc)) in cta.asynchronous.tensor.allocated.clone() {
            let message = format!("{columns} columns of tensor memory from {at} on are not freed when the CTA ends");
            let help = Some("`tcgen05.dealloc` by a warp, behind a barrier of all that use it".into());
            self.find(cta, FindingKind::TensorMemory, thread, pc, None, None, message, help);
        }
    }
}
