//! Sets of events, and relations between them, as bits. An execution has at most [`MAX_EVENTS`] events.

use std::ops::{BitAnd, BitOr, Not, Sub};

/// A set or a row of a relation is one `u64`.
pub const MAX_EVENTS: usize = 64;

/// A set of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Set(pub u64);

impl Set {
    /// The set of one event.
    pub fn singleton(event: usize) -> Self {
        Self(1 << event)
    }

    /// The first `events` events.
    pub fn first(events: usize) -> Self {
        if events < MAX_EVENTS { Self((1 << events) - 1) } else { Self(!0) }
    }

    /// Whether an event is in the set.
    pub fn contains(self, event: usize) -> bool {
        self.0 >> event & 1 != 0
    }

    /// Adds an event.
    pub fn insert(&mut self, event: usize) {
        self.0 |= 1 << event;
    }

    /// Whether no event is in the set.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl Iterator for Set {
    type Item = usize;

    /// Removes the smallest event from the set.
    fn next(&mut self) -> Option<usize> {
        let event = (!self.is_empty()).then(|| self.0.trailing_zeros() as usize)?;
        self.0 &= self.0 - 1;
        Some(event)
    }
}

impl FromIterator<usize> for Set {
    fn from_iter<I: IntoIterator<Item = usize>>(events: I) -> Self {
        events.into_iter().fold(Self::default(), |set, event| set | Self::singleton(event))
    }
}

impl BitOr for Set {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitAnd for Set {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl Sub for Set {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl Not for Set {
    type Output = Self;
    fn not(self) -> Self {
        Self(!self.0)
    }
}

/// Pairs of events. Row `a` holds every `b` with (a, b) in the relation.
#[derive(Clone, Copy)]
pub struct Relation {
    rows: [Set; MAX_EVENTS],
    /// Rows from here on are empty.
    len: usize,
}

impl Relation {
    /// The empty relation on the events 0 to `events` - 1.
    pub fn empty(events: usize) -> Self {
        Self { rows: [Set(0); MAX_EVENTS], len: events }
    }

    /// `[set]`: each event of the set with itself.
    pub fn identity(events: usize, set: Set) -> Self {
        set.fold(Self::empty(events), |mut relation, event| {
            relation.insert(event, event);
            relation
        })
    }

    /// `from * to`.
    pub fn product(events: usize, from: Set, to: Set) -> Self {
        let mut relation = Self::empty(events);
        from.for_each(|event| relation.rows[event] = to);
        relation
    }

    /// Every pair for which `related` holds.
    pub fn from_fn(events: usize, related: impl Fn(usize, usize) -> bool) -> Self {
        let mut relation = Self::empty(events);
        for a in 0..events {
            relation.rows[a] = (0..events).filter(|&b| related(a, b)).collect();
        }
        relation
    }

    /// The pairs for which `holds` returns true.
    pub fn filter(&self, holds: impl Fn(usize, usize) -> bool) -> Self {
        let mut relation = Self::empty(self.len);
        for a in 0..self.len {
            relation.rows[a] = self.rows[a].filter(|&b| holds(a, b)).collect();
        }
        relation
    }

    /// The number of events that the relation is on.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no pair is in the relation.
    pub fn is_empty(&self) -> bool {
        self.rows[..self.len].iter().all(|row| row.is_empty())
    }

    /// Removes a pair.
    pub fn remove(&mut self, a: usize, b: usize) {
        self.rows[a] = self.rows[a] - Set::singleton(b);
    }

    /// Adds a pair.
    pub fn insert(&mut self, a: usize, b: usize) {
        self.rows[a].insert(b);
    }

    /// Whether a pair is in the relation.
    pub fn contains(&self, a: usize, b: usize) -> bool {
        self.rows[a].contains(b)
    }

    /// The events that `a` is related to.
    pub fn row(&self, a: usize) -> Set {
        self.rows[a]
    }

    /// The events that an event is related to, mutable.
    pub fn row_mut(&mut self, a: usize) -> &mut Set {
        &mut self.rows[a]
    }

    /// All pairs, by the first event.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.len).flat_map(|a| self.rows[a].map(move |b| (a, b)))
    }

    fn zip(&self, other: &Self, op: impl Fn(Set, Set) -> Set) -> Self {
        let mut result = Self::empty(self.len);
        for a in 0..self.len {
            result.rows[a] = op(self.rows[a], other.rows[a]);
        }
        result
    }

    /// `self ; other`.
    pub fn then(&self, other: &Self) -> Self {
        let mut result = Self::empty(self.len);
        for a in 0..self.len {
            result.rows[a] = self.rows[a].fold(Set(0), |row, b| row | other.rows[b]);
        }
        result
    }

    /// `self^-1`.
    pub fn inverse(&self) -> Self {
        let mut result = Self::empty(self.len);
        self.pairs().for_each(|(a, b)| result.insert(b, a));
        result
    }

    /// `self?`.
    pub fn optional(&self) -> Self {
        let mut result = *self;
        (0..self.len).for_each(|a| result.insert(a, a));
        result
    }

    /// `self+`.
    pub fn closure(&self) -> Self {
        let mut result = *self;
        for via in 0..self.len {
            let row = result.rows[via];
            for a in 0..self.len {
                if result.rows[a].contains(via) {
                    result.rows[a] = result.rows[a] | row;
                }
            }
        }
        result
    }

    /// `[from] ; self ; [to]`.
    pub fn between(&self, from: Set, to: Set) -> Self {
        let mut result = Self::empty(self.len);
        (from & self.domain()).for_each(|a| result.rows[a] = self.rows[a] & to);
        result
    }

    /// The events that are related to some event.
    pub fn domain(&self) -> Set {
        (0..self.len).filter(|&a| !self.rows[a].is_empty()).collect()
    }

    /// Whether no event is related to itself.
    pub fn is_irreflexive(&self) -> bool {
        (0..self.len).all(|a| !self.contains(a, a))
    }

    /// Whether the relation has no cycle.
    pub fn is_acyclic(&self) -> bool {
        self.closure().is_irreflexive()
    }

    /// A shortest path from `a` to `b`, both included; from `a` back to `a` for a cycle.
    pub fn path(&self, a: usize, b: usize) -> Option<Vec<usize>> {
        let mut from = [usize::MAX; MAX_EVENTS];
        let mut queue = vec![a];
        let mut seen = Set(0);
        let mut next = 0;
        while let Some(&event) = queue.get(next) {
            next += 1;
            for successor in self.rows[event] - seen {
                seen.insert(successor);
                from[successor] = event;
                if successor == b {
                    let mut path = vec![b, event];
                    while path[path.len() - 1] != a {
                        path.push(from[path[path.len() - 1]]);
                    }
                    path.reverse();
                    return Some(path);
                }
                queue.push(successor);
            }
        }
        None
    }

    /// Adds (a, b) to a transitive relation, and keeps it transitive.
    pub fn insert_transitive(&mut self, a: usize, b: usize) {
        if self.contains(a, b) {
            return;
        }
        let row = self.rows[b] | Set::singleton(b);
        for event in 0..self.len {
            if event == a || self.rows[event].contains(a) {
                self.rows[event] = self.rows[event] | row;
            }
        }
    }
}

impl BitOr for Relation {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        self.zip(&other, |a, b| a | b)
    }
}

impl BitAnd for Relation {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        self.zip(&other, |a, b| a & b)
    }
}

impl Sub for Relation {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.zip(&other, |a, b| a - b)
    }
}

impl PartialEq for Relation {
    fn eq(&self, other: &Self) -> bool {
        self.rows == other.rows
    }
}

impl Eq for Relation {}

impl std::fmt::Debug for Relation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.pairs()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relation(pairs: &[(usize, usize)]) -> Relation {
        let mut relation = Relation::empty(5);
        pairs.iter().for_each(|&(a, b)| relation.insert(a, b));
        relation
    }

    #[test]
    fn relation_algebra() {
        let r = relation(&[(0, 1), (1, 2), (3, 4)]);
        assert_eq!(r.then(&r), relation(&[(0, 2)]));
        assert_eq!(r.closure(), relation(&[(0, 1), (1, 2), (0, 2), (3, 4)]));
        assert_eq!(r.inverse(), relation(&[(1, 0), (2, 1), (4, 3)]));
        assert_eq!(r.between(Set(0b1001), Set(0b10000)), relation(&[(3, 4)]));
        assert!(r.is_acyclic() && !(r | relation(&[(2, 0)])).is_acyclic());
        assert_eq!((r | relation(&[(2, 0)])).path(1, 1), Some(vec![1, 2, 0, 1]));
        assert_eq!(r.path(0, 3), None);
    }

    #[test]
    fn inserting_keeps_a_relation_transitive() {
        let mut r = relation(&[(0, 1), (2, 3)]).closure();
        r.insert_transitive(1, 2);
        assert_eq!(r, relation(&[(0, 1), (1, 2), (2, 3)]).closure());
        r.insert_transitive(3, 0);
        assert!(!r.is_irreflexive());
        assert_eq!(r, r.closure());
    }
}
