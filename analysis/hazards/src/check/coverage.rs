//! The knowledge about an access that threads pass to each other through barriers.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{barriers::Signals, graph::Point};

/// The facts about an access that the arrivals on a signal pass on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cover {
    /// Some arrival comes after the access is complete.
    pub is_after_completion: bool,
    /// Some arrival comes while the access may be in flight.
    pub is_during_flight: bool,
    /// Some arrival comes after the access has started.
    pub is_after_start: bool,
    /// Some arrival comes without a proxy fence between the access and the arrival.
    pub is_unfenced: bool,
    /// The arriving threads are of a role that did not do the access.
    pub is_relayed: bool,
    /// The conditions of the arriving threads: their number in `Flow::condition_sets`.
    pub condition_set: usize,
    /// Some arrival comes after the access may have begun again.
    pub is_after_restart: bool,
}

/// For a signal, the cover of each arrival; the key is its point, whether another role passes it on, and the conditions
/// of the arriving threads.
type Covers = FxHashMap<Signals, BTreeMap<(Point, bool, usize), Cover>>;

/// The cover of each signal. It is computed in iterations: each uses the notes of the previous iteration and takes new
/// notes. The first iteration starts with no notes, so that the notes of every iteration are true.
#[derive(Debug, Default)]
pub struct Coverage {
    known: Covers,
    noted: Covers,
}

/// The part of the covers that other roles pass on, or the part of the role that did the access.
fn part(covers: &Covers, is_relayed: bool) -> Covers {
    let part = |covers: &BTreeMap<(Point, bool, usize), Cover>| {
        let own = covers.iter().filter(|((_, relayed, _), _)| *relayed == is_relayed);
        own.map(|(key, cover)| (*key, *cover)).collect::<BTreeMap<_, _>>()
    };
    let parts = covers.iter().map(|(signal, covers)| (*signal, part(covers)));
    parts.filter(|(_, covers)| !covers.is_empty()).collect()
}

impl Coverage {
    /// Ends the first part of an iteration, which follows the role that did the access.
    pub fn settle_own(&mut self) {
        let relayed = part(&self.known, true);
        self.known = part(&std::mem::take(&mut self.noted), false);
        for (signal, covers) in relayed {
            self.known.entry(signal).or_default().extend(covers);
        }
    }

    /// Ends an iteration, which has also followed the other roles. Returns whether their covers have changed.
    pub fn settle_relayed(&mut self) -> bool {
        let noted = part(&std::mem::take(&mut self.noted), true);
        if noted == part(&self.known, true) {
            return false;
        }
        self.known = part(&self.known, false);
        for (signal, covers) in noted {
            self.known.entry(signal).or_default().extend(covers);
        }
        true
    }

    /// The cover of an arrival of the role that did the access.
    pub fn entry(&mut self, signal: Signals, point: Point) -> &mut Cover {
        self.relayed_entry(signal, point, Cover::default())
    }

    /// The cover of an arrival whose threads have the role and the conditions of another cover.
    pub fn relayed_entry(&mut self, signal: Signals, point: Point, of: Cover) -> &mut Cover {
        self.noted.entry(signal).or_default().entry((point, of.is_relayed, of.condition_set)).or_insert(of)
    }

    /// The combined cover of a signal for the threads of a role, or of the role that did the access: it counts accesses
    /// by threads outside of the role; `from_all` counts the role's own arrivals, too. Some threads of a role may tell
    /// other threads of the same role. An arrival that may come too early counts for nothing.
    pub fn get(
        &self,
        signal: Signals,
        role: Option<&[bool]>,
        from_all: bool,
        is_disjoint: &dyn Fn(Point, usize) -> bool,
    ) -> Option<Cover> {
        let covers = self.known.get(&signal)?;
        // At a barrier that only one role uses, its threads that have waited tell its threads that have not.
        let is_alone = covers.values().all(|cover| cover.is_relayed);
        let is_other = |((point, ..), cover): &(&(Point, bool, usize), &Cover)| {
            let among = if is_alone { cover.condition_set } else { 0 };
            let is_informed = cover.is_relayed && is_disjoint(*point, among);
            role.map_or(cover.is_relayed || from_all, |role| !role[point.0] || is_informed)
        };
        let covers = covers.iter().filter(is_other);
        let good = covers.clone().filter(|(_, cover)| cover.is_after_completion && !cover.is_during_flight);
        Some(Cover {
            is_after_completion: good.clone().next().is_some(),
            is_during_flight: covers.clone().any(|(_, cover)| cover.is_during_flight),
            is_after_start: covers.clone().any(|(_, cover)| cover.is_after_start),
            is_unfenced: good.clone().any(|(_, cover)| cover.is_unfenced),
            is_after_restart: good.into_iter().any(|(_, cover)| cover.is_after_restart),
            ..Cover::default()
        })
    }

    /// The signals with a cover of the access.
    pub fn signals(&self) -> impl Iterator<Item = Signals> {
        self.known.keys().copied()
    }

    /// The signals that tell of the access and have no arrival while it may be in flight.
    pub fn completion_signals(&self) -> Signals {
        let tells = |covers: &BTreeMap<_, Cover>| {
            covers.values().any(|cover| cover.is_after_completion || cover.is_after_start)
                && !covers.values().any(|cover| cover.is_during_flight)
        };
        self.known.iter().filter(|(_, covers)| tells(covers)).fold(0, |mask, (signal, _)| mask | signal)
    }

    /// The arrivals that give a signal after the access is complete.
    pub fn completed_arrivals(&self, signal: Signals) -> impl Iterator<Item = Point> {
        let covers = self.known.get(&signal).into_iter().flatten();
        covers
            .filter(|(_, cover)| cover.is_after_completion && !cover.is_during_flight && !cover.is_relayed)
            .map(|((point, ..), _)| *point)
    }
}

/// The points at which an access of another role may be in flight again.
#[derive(Clone, Debug, Default)]
pub struct Foreign {
    /// The signals that tell of the access, and after which the other role may begin it again without waiting for this
    /// role.
    pub restart_signals: FxHashSet<Signals>,
    /// The events after which the other role may begin the access.
    pub permits: FxHashSet<Point>,
    /// The events after which the other role may begin the access for the first time only: barriers of the CTA, at
    /// which roles meet more than once.
    pub first_permits: FxHashSet<Point>,
    /// Whether the other role does the access at most once.
    pub is_once: bool,
}

impl Foreign {
    /// Whether the other role may begin the access after an event.
    pub fn permits_at(&self, point: Point, is_first: bool) -> bool {
        self.permits.contains(&point) && (is_first || !self.is_once) || is_first && self.first_permits.contains(&point)
    }
}
