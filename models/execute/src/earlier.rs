//! Grids that may still run when a dependent launch begins, and the state that they leave.
//!
//! The machine runs each earlier grid to its end. It models the overlap with the dependent grid in three ways: the
//! accesses of the earlier grid remain candidates for races, loads may still return older values, and only
//! `griddepcontrol.wait` orders the earlier grid before the dependent grid. A grid that was complete before the dependent
//! grid could start is not one of them.

use ptx_isa::Dim3;
use rustc_hash::FxHashMap;

use crate::{
    clock::{Agent, Clock, Epoch, INDEX_BITS, Past},
    fault::place,
    history::History,
    launch::Launch,
    sync::{FenceSc, Locations},
};

/// The maximum number of CTAs of all grids that may overlap.
pub const MOST_CTAS: u64 = 1 << (32 - INDEX_BITS);

/// A grid that has run.
#[derive(Debug)]
pub struct Grid {
    pub launch: Launch,
    /// The number of its first CTA. The numbers of CTAs continue from grid to grid.
    pub first: u32,
}

/// The state of the grids since the last launch that was not dependent.
#[derive(Debug, Default)]
pub struct Earlier {
    pub grids: Vec<Grid>,
    /// By grid, whether it is complete before a dependent grid starts. The last grid may not be.
    pub complete: Vec<bool>,
    /// The joined pasts of the last grid's threads, which tell how much of the earlier grids they had seen.
    pub seen: Past,
    pub locations: Locations,
    pub history: History,
    pub fence_sc: FenceSc,
    /// By agent that is a chain of asynchronous operations, the thread that started the operations.
    pub owners: FxHashMap<Agent, u32>,
}

impl Grid {
    /// Whether a thread has waited for the end of the grid.
    pub fn is_complete_for(&self, clock: &Clock) -> bool {
        clock.has_seen(self.first << INDEX_BITS, Epoch::MAX)
    }

    /// The coordinates of a CTA. Each cluster is a box in the grid, and its CTAs have consecutive numbers.
    pub fn place(&self, cta: u32) -> Dim3 {
        let (grid, cluster, index) = (self.launch.size.grid, self.launch.size.cluster, cta - self.first);
        let count: u32 = cluster.iter().product();
        let clusters = [0, 1, 2].map(|axis| grid[axis] / cluster[axis].max(1));
        let (of, within) = (place(index / count, clusters), place(index % count, cluster));
        [0, 1, 2].map(|axis| of[axis] * cluster[axis] + within[axis])
    }

    /// The number after the number of its last CTA.
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

    /// The past at the start of a dependent grid: all events of the grids that are complete then.
    pub fn start(&self) -> Past {
        let mut past = Past::default();
        for (grid, _) in self.grids.iter().zip(&self.complete).filter(|(_, complete)| **complete) {
            past.join(&Past::of_ended(grid.first..grid.end()));
        }
        past
    }

    /// The past at the end of the last grid: all its events, and the events of earlier grids that its threads had seen.
    ///
    /// A grid that never waited may be complete before the grids that precede it, so their other events are not
    /// included.
    pub fn end(&self) -> Past {
        let mut past = self.seen.clone();
        if let Some(last) = self.grids.last() {
            past.join(&Past::of_ended(last.first..last.end()));
        }
        past
    }

    /// The number of threads of all grids together.
    pub fn threads(&self) -> u64 {
        self.grids.iter().map(|grid| grid.launch.threads()).fold(0, u64::saturating_add)
    }
}
