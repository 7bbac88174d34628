//! Facts about a kernel's expectations of its arguments, found in a trial.

use std::collections::BTreeSet;

use ptx_isa::InstPlace;

use crate::{
    code::{Pc, Program},
    in_flight::Key,
    memory::Region,
};

/// The maximum number of recorded mbarrier events.
const EVENTS: usize = 1 << 14;

/// Facts about the kernel that a run shows, apart from findings.
#[derive(Debug, Default)]
pub struct Learned {
    /// By step, whether it was executed.
    pub covered: Vec<bool>,
    /// The events of mbarriers, in their order.
    pub mbarrier_events: Vec<MbarrierEvent>,
    /// The missing tensor maps: the place, and the number of dimensions.
    pub maps: Vec<(Region, usize)>,
    /// Places in shared memory from which copies to a tensor read, each with the place of the tensor map.
    pub stored: BTreeSet<(Region, Key)>,
    /// Reads of parameters at computed addresses: the step, the offset and the number of bytes.
    pub reads: BTreeSet<(Pc, u64, u64)>,
    /// Pieces of global memory that a strong access reads or writes: flags, locks, counters.
    pub synchronizing: BTreeSet<usize>,
    /// The tensor map of the copy that begins.
    pub map: Option<Region>,
}

/// An event of an mbarrier.
#[derive(Clone, Copy, Debug)]
pub enum MbarrierEvent {
    /// The mbarrier expects this number of bytes.
    Expects(Key, u64),
    /// A copy of `bytes` bytes has begun, to a place in shared memory, through a tensor map if it copies a tensor.
    Copy { barrier: Key, map: Option<Region>, bytes: u64, to: Key },
    /// The phase of the mbarrier has ended.
    Settles(Key),
}

impl Learned {
    /// Records that a step was executed.
    pub fn cover(&mut self, pc: Pc) {
        let pc = pc as usize;
        if self.covered.len() <= pc {
            self.covered.resize(pc + 1, false);
        }
        self.covered[pc] = true;
    }

    /// Whether a step was executed.
    pub fn is_covered(&self, step: usize) -> bool {
        self.covered.get(step).copied().unwrap_or(false)
    }

    /// The executed instructions of a program, ascending.
    pub fn instructions(&self, program: &Program) -> Vec<InstPlace> {
        let steps = program.steps.iter().enumerate().filter(|(step, _)| self.is_covered(*step));
        let mut all: Vec<InstPlace> = steps.map(|(_, step)| step.at).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Records an event of an mbarrier.
    pub fn record_event(&mut self, event: MbarrierEvent) {
        if self.mbarrier_events.len() < EVENTS {
            self.mbarrier_events.push(event);
        }
    }

    /// Records that a tensor map of `rank` dimensions is missing.
    pub fn misses(&mut self, map: Region, rank: usize) {
        if !self.maps.contains(&(map, rank)) {
            self.maps.push((map, rank));
        }
    }
}
