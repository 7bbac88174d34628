//! The state of the check whether an execution speaks for every schedule.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    clock::{Agent, cta_of, index_of},
    code::Pc,
    report::Dependence,
};

/// The state of the check.
#[derive(Debug, Default)]
pub struct Watch {
    /// The first condition that failed.
    pub failed: Option<Dependence>,
    /// The followed values of each kind.
    values: [Values; 2],
    /// Whether a result that is stored depends on the schedule, so that pending values do, too.
    pub is_stored: bool,
    /// The condition that fails if pending values depend on the schedule.
    pub deferred: Option<Dependence>,
    /// Pairs of instructions whose unordered accesses steer nothing, and whether they commute.
    pub harmless: FxHashMap<(Pc, Pc), bool>,
    /// The waits that can be lapped: the CTA, the thread and the instruction.
    pub lapped: BTreeSet<(u32, u32, Pc)>,
    pub lag: Option<Dependence>,
    /// The warps in which a wait may have observed another phase than in another schedule: the CTA and the warp.
    pub late: FxHashSet<(u32, u32)>,
}

/// A kind of values that are followed through memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Followed {
    /// Values that depend on the schedule.
    Varying,
    /// Values that depend on the schedule if a result that is stored does. So far each such result is of a strong access
    /// with which no other access is unordered.
    Pending,
}

/// Followed values of a kind.
#[derive(Debug, Default)]
pub struct Values {
    /// The cells of memory that hold them, by their keys.
    pub cells: CellSet,
    /// The loads of such cells whose results are followed, and the instructions that write these results to memory.
    pub loads: FxHashSet<Pc>,
    pub carriers: FxHashSet<Pc>,
}

impl Watch {
    /// The followed values of a kind.
    pub fn values(&mut self, of: Followed) -> &mut Values {
        &mut self.values[of as usize]
    }

    /// Whether no value is followed.
    pub fn follows_nothing(&self) -> bool {
        self.values.iter().all(|values| values.cells.is_empty() && values.carriers.is_empty())
    }

    /// Records that a wait of a thread may have observed another phase than in another schedule.
    pub fn observes_late_phase(&mut self, agent: Agent) {
        self.late.insert((cta_of(agent), index_of(agent) as u32 / 32));
    }
}

/// A set of cells, whose neighbors are often in the set, too.
#[derive(Debug, Default)]
pub struct CellSet(FxHashMap<u64, [u64; 4]>);

impl CellSet {
    fn place(cell: u64) -> (u64, usize, u64) {
        (cell >> 8, (cell >> 6 & 3) as usize, 1 << (cell & 63))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn contains(&self, cell: u64) -> bool {
        let (key, word, bit) = Self::place(cell);
        self.0.get(&key).is_some_and(|words| words[word] & bit != 0)
    }

    pub fn set(&mut self, cell: u64, is_in: bool) {
        let (key, word, bit) = Self::place(cell);
        match is_in {
            true => self.0.entry(key).or_default()[word] |= bit,
            false => {
                if let Some(words) = self.0.get_mut(&key) {
                    words[word] &= !bit;
                }
            }
        }
    }
}
