//! Sets of final states.

use std::hash::BuildHasher;

use hashbrown::{HashTable, hash_table::Entry};
use rustc_hash::FxBuildHasher;

use crate::program::Value;

/// The maximum number of values in a set: 128 MiB.
const MAX_VALUES: usize = 1 << 24;

/// A set of rows of one width, in the order of insertion. It takes slightly more than 8 bytes for each value.
#[derive(Clone, Debug, Default)]
pub struct States {
    width: usize,
    values: Vec<Value>,
    /// Row numbers, by the hash of the row.
    rows: HashTable<u32>,
}

impl States {
    /// The empty set of rows with this number of values.
    pub fn new(width: usize) -> Self {
        Self { width, ..Self::default() }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows, in the order of insertion.
    pub fn iter(&self) -> impl Iterator<Item = &[Value]> {
        (0..self.len() as u32).map(|row| self.row(row))
    }

    /// Whether a row is in the set.
    pub fn contains(&self, state: &[Value]) -> bool {
        self.rows.find(hash(state), |&row| self.row(row) == state).is_some()
    }

    /// Adds a state of the set's width. Returns whether it is new.
    pub fn insert(&mut self, state: &[Value]) -> bool {
        let Self { width, values, rows } = self;
        let row = |row: u32| &values[row as usize * *width..][..*width];
        let number = rows.len() as u32;
        if let Entry::Vacant(entry) = rows.entry(hash(state), |&other| row(other) == state, |&other| hash(row(other))) {
            entry.insert(number);
            values.extend_from_slice(state);
            return true;
        }
        false
    }

    /// Whether the set accepts no further rows.
    pub(crate) fn is_full(&self) -> bool {
        self.values.len().max(self.len()) >= MAX_VALUES
    }

    /// Removes all rows.
    pub(crate) fn clear(&mut self) {
        self.values.clear();
        self.rows.clear();
    }

    /// A row by its number.
    pub(crate) fn row(&self, row: u32) -> &[Value] {
        &self.values[row as usize * self.width..][..self.width]
    }

    /// Whether every state of this set is in the other.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.iter().all(|state| other.contains(state))
    }
}

fn hash(state: &[Value]) -> u64 {
    FxBuildHasher.hash_one(state)
}

impl PartialEq for States {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.is_subset(other)
    }
}

impl Eq for States {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_rows() {
        let mut states = States::new(2);
        for state in [[1, 2], [2, 1], [1, 2]] {
            states.insert(&state);
        }
        assert_eq!(states.iter().collect::<Vec<_>>(), [[1, 2], [2, 1]]);
        assert!(states.contains(&[2, 1]) && !states.contains(&[2, 2]));
        let mut other = States::new(2);
        other.insert(&[2, 1]);
        assert!(other.is_subset(&states) && !states.is_subset(&other) && states != other);
        other.insert(&[1, 2]);
        assert_eq!(states, other);
        let mut large = States::new(MAX_VALUES / 2);
        for value in [1, 2] {
            assert!(!large.is_full());
            large.insert(&vec![value; MAX_VALUES / 2]);
        }
        assert!(large.is_full());
        // Without observed values, there is one state.
        let mut empty = States::new(0);
        empty.insert(&[]);
        empty.insert(&[]);
        assert_eq!((empty.len(), empty.iter().count()), (1, 1));
    }
}
