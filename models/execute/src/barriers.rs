//! The barriers of a CTA that threads have arrived at.

use std::collections::BTreeMap;

use ptx_isa::Reduction;

use crate::{
    clock::Meeting,
    code::{Pc, Reg},
    warp::Lanes,
};

/// A barrier that threads have arrived at.
#[derive(Debug, Default)]
pub struct Barrier {
    /// By warp, the lanes that have arrived, and where.
    pub arrived: Vec<(usize, Lanes, Pc)>,
    /// How many threads it is for, if that is said.
    pub threads: Option<u32>,
    pub past: Meeting,
    /// What is computed of the predicates so far, and where it goes: the warp, lanes, base and register.
    pub holds: u32,
    pub results: Vec<(usize, Lanes, u32, Reg, Reduction)>,
    pub predicates: u32,
    /// Whether threads wait that must do so with all of their warp.
    pub aligned: bool,
}

/// The barriers of a CTA, by their numbers.
#[derive(Debug, Default)]
pub struct Barriers(pub BTreeMap<u32, Barrier>);

impl Barriers {
    /// How many threads have arrived at a barrier.
    pub fn arrived(&self, id: u32) -> u32 {
        self.0.get(&id).map_or(0, |barrier| barrier.arrived.iter().map(|(_, lanes, _)| lanes.count_ones()).sum())
    }

    /// Whether threads wait at some barrier.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
