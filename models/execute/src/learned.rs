//! What a trial tells of what a kernel expects of its arguments.

use std::collections::BTreeSet;

use crate::{code::Pc, in_flight::Key, memory::Region};

/// How many events of mbarriers are kept.
const EVENTS: usize = 1 << 14;

/// What a run shows of the kernel, besides what is wrong.
#[derive(Debug, Default)]
pub struct Learned {
    /// By step, whether it was executed.
    pub covered: Vec<bool>,
    /// What mbarriers were told, in its order.
    pub told: Vec<Told>,
    /// The tensor maps that are missing: where, and of how many dimensions.
    pub maps: Vec<(Region, usize)>,
    /// Places of shared memory that copies to a tensor read: of which map, and where.
    pub stored: BTreeSet<(Region, Key)>,
    /// Reads of parameters at addresses that are computed: the step, the offset and the bytes.
    pub reads: BTreeSet<(Pc, u64, u64)>,
    /// Pieces of global memory that a strong access touches: flags, locks, counters.
    pub synchronizing: BTreeSet<usize>,
    /// The map of the copy that begins.
    pub map: Option<Region>,
}

/// What an mbarrier was told.
#[derive(Clone, Copy, Debug)]
pub enum Told {
    /// So many bytes are expected.
    Expects(Key, u64),
    /// A copy of so many bytes has begun, to a place in shared memory, through a map if it is one of a tensor.
    Copy { barrier: Key, map: Option<Region>, bytes: u64, to: Key },
    /// Its phase ended.
    Settles(Key),
}

impl Learned {
    /// A step was executed.
    pub fn cover(&mut self, pc: Pc) {
        let pc = pc as usize;
        if self.covered.len() <= pc {
            self.covered.resize(pc + 1, false);
        }
        self.covered[pc] = true;
    }

    /// An mbarrier was told something.
    pub fn tell(&mut self, told: Told) {
        if self.told.len() < EVENTS {
            self.told.push(told);
        }
    }

    /// A tensor map of so many dimensions is missing.
    pub fn misses(&mut self, map: Region, rank: usize) {
        if !self.maps.contains(&(map, rank)) {
            self.maps.push((map, rank));
        }
    }
}
