//! The state of a CTA's barriers.

use std::collections::{BTreeMap, BTreeSet};

use ptx_isa::Reduction;

use crate::{
    clock::{JoinedPasts, View},
    code::{Pc, Reg},
    warp::Lanes,
};

/// A barrier at which threads have arrived.
#[derive(Debug, Default)]
pub struct Barrier {
    /// The lanes that have arrived, by warp, and the instruction of the arrival.
    pub arrived: Vec<(usize, Lanes, Pc)>,
    /// The number of threads for which it waits, if the instruction gives it.
    pub threads: Option<u32>,
    pub past: JoinedPasts,
    /// The reduction of the predicates so far, and its destinations: the warp, lanes, base and register.
    pub holds: u32,
    pub results: Vec<(usize, Lanes, u32, Reg, Reduction)>,
    pub predicates: u32,
    /// The threads that have arrived, with their epochs; without the barriers at which all threads of the CTA wait.
    pub arrivals: View,
    /// Whether only some threads of the CTA take part, or some do not wait.
    pub is_partial: bool,
}

impl Barrier {
    /// The warps that have arrived.
    pub fn warps(&self) -> impl Iterator<Item = usize> {
        self.arrived.iter().map(|(warp, ..)| *warp).collect::<BTreeSet<_>>().into_iter()
    }

    /// The number of arrived threads of a warp, whose lanes `live` have not ended. The warp arrives once in each round,
    /// and a lane that ended without arriving counts as arrived together with the other lanes.
    pub fn arrivals(&self, warp: usize, live: Lanes) -> u32 {
        let rounds = self.rounds(warp);
        let lanes_of = |round: &Vec<(Lanes, Pc)>| round.iter().fold(0, |all, (lanes, _)| all | lanes);
        // Lanes that have arrived may have ended since. Live lanes are still expected.
        let awaited = live | rounds.first().map_or(0, lanes_of);
        let count = |lanes: Lanes| if lanes == awaited { 32 } else { lanes.count_ones() };
        rounds.iter().map(|round| count(lanes_of(round))).sum()
    }

    /// The lanes of a warp that have arrived for the first time, with the instructions, then the lanes that have
    /// arrived for the second time, and so on. A lane that continues without waiting arrives again.
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

/// The barriers of a CTA, by their numbers, and the arrivals of the last generation of each.
#[derive(Debug, Default)]
pub struct Barriers(pub BTreeMap<u32, Barrier>, pub BTreeMap<u32, View>);

impl Barriers {
    /// The number of threads that have arrived at a barrier.
    pub fn arrived(&self, id: u32) -> u32 {
        self.0.get(&id).map_or(0, |barrier| barrier.arrived.iter().map(|(_, lanes, _)| lanes.count_ones()).sum())
    }

    /// Whether no thread has arrived at any barrier.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
