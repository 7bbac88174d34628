//! The barriers of a CTA that threads have arrived at.

use std::collections::{BTreeMap, BTreeSet};

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

impl Barrier {
    /// The warps that have arrived, each once.
    pub fn warps(&self) -> impl Iterator<Item = usize> {
        self.arrived.iter().map(|(warp, ..)| *warp).collect::<BTreeSet<_>>().into_iter()
    }

    /// How many threads of a warp count as arrived, of which these lanes have not ended: the warp arrives once in each round, and a lane
    /// that has ended without coming counts with the lanes that come.
    pub fn arrivals(&self, warp: usize, live: Lanes) -> u32 {
        let rounds = self.rounds(warp);
        let lanes_of = |round: &Vec<(Lanes, Pc)>| round.iter().fold(0, |all, (lanes, _)| all | lanes);
        // Lanes that have arrived may have ended since; live lanes are still to come.
        let awaited = live | rounds.first().map_or(0, lanes_of);
        let count = |lanes: Lanes| if lanes == awaited { 32 } else { lanes.count_ones() };
        rounds.iter().map(|round| count(lanes_of(round))).sum()
    }

    /// The lanes of a warp that have arrived once, with the places, those that have arrived twice, and so on: a lane that goes on arrives
    /// again.
    pub fn rounds(&self, warp: usize) -> Vec<Vec<(Lanes, Pc)>> {
        let mut rounds: Vec<Vec<(Lanes, Pc)>> = Vec::new();
        for &(_, mut lanes, pc) in self.arrived.iter().filter(|(other, ..)| *other == warp) {
            for round in &mut rounds {
                let earlier = round.iter().fold(0, |all, (lanes, _)| all | lanes);
                round.extend(Some((lanes & !earlier, pc)).filter(|(first, _)| *first != 0));
                lanes &= earlier;
            }
            rounds.extend(Some(vec![(lanes, pc)]).filter(|_| lanes != 0));
        }
        rounds
    }
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
