//! Grids that may still run when a dependent launch begins, and what is left of them.
//!
//! They have run to their end here. What makes the dependent grid one that overlaps with them is that their accesses stay where
//! races are looked for, and older values where loads may return them, and that only `griddepcontrol.wait` puts them in front.

use ptx_isa::Dim3;
use rustc_hash::FxHashMap;

use crate::{
    clock::{Agent, INDEX_BITS, Past},
    fault::place,
    history::History,
    launch::Launch,
    sync::{FenceSc, Locations},
};

/// The most CTAs that grids have together which may overlap.
pub const MOST_CTAS: u64 = 1 << (32 - INDEX_BITS);

/// A grid that has run.
#[derive(Debug)]
pub struct Grid {
    pub launch: Launch,
    /// The number of its first CTA. CTAs are numbered on from grid to grid.
    pub first: u32,
}

/// What is left of the grids behind the last launch that was not dependent.
#[derive(Debug, Default)]
pub struct Earlier {
    pub grids: Vec<Grid>,
    /// What the threads of the last grid had seen of those in front of it.
    pub seen: Past,
    pub locations: Locations,
    pub history: History,
    pub fence_sc: FenceSc,
    /// By agent that is no thread, the thread that started its operations.
    pub owners: FxHashMap<Agent, u32>,
}

impl Grid {
    /// The place of a CTA: clusters are boxes in the grid, one behind the other.
    pub fn place(&self, cta: u32) -> Dim3 {
        let (grid, cluster, index) = (self.launch.size.grid, self.launch.size.cluster, cta - self.first);
        let count: u32 = cluster.iter().product();
        let clusters = [0, 1, 2].map(|axis| grid[axis] / cluster[axis].max(1));
        let (of, within) = (place(index / count, clusters), place(index % count, cluster));
        [0, 1, 2].map(|axis| of[axis] * cluster[axis] + within[axis])
    }

    /// The number behind that of its last CTA.
    pub fn end(&self) -> u32 {
        self.first + self.launch.size.grid.iter().product::<u32>()
    }
}

impl Earlier {
    /// The number of the first CTA of the next grid. Its clusters begin at multiples of their size.
    pub fn next(&self, launch: &Launch) -> u32 {
        let end = self.grids.last().map_or(0, Grid::end);
        end.next_multiple_of(launch.size.cluster.iter().product::<u32>().max(1))
    }

    /// What comes before the end of the last grid: all that it did, and what its threads had seen of those in front of it.
    ///
    /// A grid that never waited may be complete before those in front of it are, so they are not part of it.
    pub fn end(&self) -> Past {
        let mut past = self.seen.clone();
        if let Some(last) = self.grids.last() {
            past.join(&Past::of_ended(last.first..last.end()));
        }
        past
    }

    /// How many threads all of them have.
    pub fn threads(&self) -> u64 {
        self.grids.iter().map(|grid| grid.launch.threads()).fold(0, u64::saturating_add)
    }
}
