//! Tensor memory: the allocated columns, their contents, and the order of accesses (section 9.7.16.6).

use crate::tensor_memory::{GROUP, Slice, TensorAccess};
use crate::{
    clock::Clock,
    machine::{Cta, Machine},
    matrix::tensor::{COLUMNS, Cell, LANES, TensorMemory},
    report::FaultKind,
};

impl Machine<'_> {
    /// Checks an access of the tensor memory of a CTA of the cluster.
    pub fn touch_tensor(
        &mut self,
        cta: &mut Cta,
        thread: u32,
        rank: u32,
        slice: Slice,
        clock: &Clock,
        touch: &TensorAccess,
    ) {
        let Some(owner) = self.rank(cta, Some(rank)) else { return };
        let first = Cell::from_address(slice.address);
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
            self.find(cta, FaultKind::OutOfBounds, thread, touch.record.info.step(), None, place, message, None);
        }
        races.dedup();
        for earlier in races {
            self.depend_on_race(touch.record, earlier, false, None);
            let place = format!("tensor memory, column {}", first.column);
            self.race(cta, thread, touch.record, earlier, place, false, false);
        }
    }

    /// Calls a function with the tensor memories of CTAs of the cluster and with their shared memory.
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

    /// Reports tensor memory that is still allocated when a CTA ends.
    pub fn check_leaks(&mut self, cta: &mut Cta) {
        for (at, (columns, thread, pc)) in cta.asynchronous.tensor.allocated.clone() {
            let message = format!("{columns} columns of tensor memory from {at} on are not freed when the CTA ends");
            let help = Some("add `tcgen05.dealloc` in a warp, after a barrier of all threads that use it".into());
            self.find(cta, FaultKind::TensorMemory, thread, pc, None, None, message, help);
        }
    }
}
