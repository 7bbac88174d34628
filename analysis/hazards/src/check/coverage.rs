//! What threads tell each other of an access, by the barriers at which some arrive and others wait.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{barriers::Signals, graph::Point};

/// What the arrivals that give a signal tell of an access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cover {
    /// Some arrival comes when the access is complete.
    pub good: bool,
    /// Some arrival comes when the access may be in flight.
    pub bad: bool,
    /// Some arrival comes when the access has started.
    pub handed: bool,
    /// Some arrival comes without a proxy fence between the access and it.
    pub unfenced: bool,
    /// The threads that arrive are of a role that did not do the access.
    pub passed_on: bool,
    /// The conditions that hold of the threads that arrive: their number in `Flow::among`.
    pub among: usize,
    /// Some arrival comes when the access may have begun again.
    pub again: bool,
}

/// For a signal, what each arrival tells, by its point, and by whether and among whom it is passed on.
type Covers = FxHashMap<Signals, BTreeMap<(Point, bool, usize), Cover>>;

/// What each signal tells of an access. It is found out in rounds, each of which knows what the one before has noted, and notes it anew. The
/// first knows nothing, so that what any of them notes is true.
#[derive(Debug, Default)]
pub struct Coverage {
    known: Covers,
    noted: Covers,
}

/// What is passed on by other roles, or what the one that did the access tells.
fn part(covers: &Covers, is_passed_on: bool) -> Covers {
    let part = |covers: &BTreeMap<(Point, bool, usize), Cover>| {
        let own = covers.iter().filter(|((_, passed_on, _), _)| *passed_on == is_passed_on);
        own.map(|(key, cover)| (*key, *cover)).collect::<BTreeMap<_, _>>()
    };
    let parts = covers.iter().map(|(signal, covers)| (*signal, part(covers)));
    parts.filter(|(_, covers)| !covers.is_empty()).collect()
}

impl Coverage {
    /// Ends the first part of a round, in which the role was followed that did the access.
    pub fn settle_own(&mut self) {
        let relayed = part(&self.known, true);
        self.known = part(&std::mem::take(&mut self.noted), false);
        for (signal, covers) in relayed {
            self.known.entry(signal).or_default().extend(covers);
        }
    }

    /// Ends a round, in which the other roles were followed, too. Whether what these tell is news.
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

    /// What an arrival of the role that did the access tells.
    pub fn entry(&mut self, signal: Signals, point: Point) -> &mut Cover {
        self.passed_on(signal, point, Cover::default())
    }

    /// What an arrival tells, where its threads are those of a cover: of the same role, and of the same conditions.
    pub fn passed_on(&mut self, signal: Signals, point: Point, of: Cover) -> &mut Cover {
        self.noted.entry(signal).or_default().entry((point, of.passed_on, of.among)).or_insert(of)
    }

    /// What a signal tells threads of a role, or of the one that did the access, about what threads outside of it did; `from_all` counts
    /// this one's own arrivals, too. Some threads of a role may tell others of the same role. An arrival that may come too early tells
    /// nothing.
    pub fn get(
        &self,
        signal: Signals,
        role: Option<&[bool]>,
        from_all: bool,
        is_of_others: &dyn Fn(Point, usize) -> bool,
    ) -> Option<Cover> {
        let covers = self.known.get(&signal)?;
        // Where a role alone meets, its threads that have waited tell those that have not.
        let is_alone = covers.values().all(|cover| cover.passed_on);
        let is_other = |((point, ..), cover): &(&(Point, bool, usize), &Cover)| {
            let among = if is_alone { cover.among } else { 0 };
            let is_told = cover.passed_on && is_of_others(*point, among);
            role.map_or(cover.passed_on || from_all, |role| !role[point.0] || is_told)
        };
        let covers = covers.iter().filter(is_other);
        let good = covers.clone().filter(|(_, cover)| cover.good && !cover.bad);
        Some(Cover {
            good: good.clone().next().is_some(),
            bad: covers.clone().any(|(_, cover)| cover.bad),
            handed: covers.clone().any(|(_, cover)| cover.handed),
            unfenced: good.clone().any(|(_, cover)| cover.unfenced),
            again: good.into_iter().any(|(_, cover)| cover.again),
            ..Cover::default()
        })
    }

    /// The signals that tell something of the access.
    pub fn signals(&self) -> impl Iterator<Item = Signals> {
        self.known.keys().copied()
    }

    /// The signals that tell of the access, of which no arrival comes when it may be in flight.
    pub fn told(&self) -> Signals {
        let tells = |covers: &BTreeMap<_, Cover>| {
            covers.values().any(|cover| cover.good || cover.handed) && !covers.values().any(|cover| cover.bad)
        };
        self.known.iter().filter(|(_, covers)| tells(covers)).fold(0, |mask, (signal, _)| mask | signal)
    }

    /// The arrivals that give a signal when an access is complete.
    pub fn good(&self, signal: Signals) -> impl Iterator<Item = Point> {
        let covers = self.known.get(&signal).into_iter().flatten();
        covers.filter(|(_, cover)| cover.good && !cover.bad && !cover.passed_on).map(|((point, ..), _)| *point)
    }
}

/// How an access of another role comes to be in flight again.
#[derive(Clone, Debug, Default)]
pub struct Foreign {
    /// The signals that tell of the access, but behind which the other role may begin it again without asking.
    pub again: FxHashSet<Signals>,
    /// The events behind which the other role may begin the access.
    pub permits: FxHashSet<Point>,
    /// The events behind which the other role may begin it for the first time only: barriers of the CTA, by which roles meet more than
    /// once.
    pub first_permits: FxHashSet<Point>,
    /// Whether the other role does the access at most once.
    pub once: bool,
}

impl Foreign {
    /// Whether the other role may begin the access behind an event.
    pub fn permits_at(&self, point: Point, is_first: bool) -> bool {
        self.permits.contains(&point) && (is_first || !self.once) || is_first && self.first_permits.contains(&point)
    }
}
