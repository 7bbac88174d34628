//! Final states in which some values may be arbitrary.

use crate::{program::Value, states::States};

/// A set of rows of one width, in which some values are arbitrary.
#[derive(Clone, Debug, Default)]
pub struct Patterns {
    /// The masks of the arbitrary values of a row, without duplicates.
    open: Vec<Box<[bool]>>,
    /// For each mask, the rows, with 0 for arbitrary values.
    rows: Vec<States>,
}

impl Patterns {
    /// Adds a row; a value `None` is arbitrary.
    pub fn insert(&mut self, row: &[Option<Value>]) {
        let open: Box<[bool]> = row.iter().map(Option::is_none).collect();
        let known = self.open.iter().position(|other| *other == open);
        let index = known.unwrap_or_else(|| {
            self.open.push(open);
            self.rows.push(States::new(row.len()));
            self.rows.len() - 1
        });
        self.rows[index].insert(&row.iter().map(|value| value.unwrap_or_default()).collect::<Vec<_>>());
    }

    /// Whether a state equals a row in all values that are not arbitrary.
    pub fn admit(&self, state: &[Value]) -> bool {
        self.open.iter().zip(&self.rows).any(|(open, rows)| {
            let closed = state.iter().zip(open).map(|(&value, &open)| if open { 0 } else { value });
            rows.contains(&closed.collect::<Vec<_>>())
        })
    }

    /// The rows, with `None` for arbitrary values.
    pub fn iter(&self) -> impl Iterator<Item = Vec<Option<Value>>> {
        self.open.iter().zip(&self.rows).flat_map(|(open, rows)| {
            rows.iter().map(move |row| row.iter().zip(open).map(|(&value, &open)| (!open).then_some(value)).collect())
        })
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_values_are_any() {
        let mut patterns = Patterns::default();
        assert!(patterns.is_empty() && !patterns.admit(&[0, 0]));
        patterns.insert(&[Some(1), None]);
        patterns.insert(&[None, Some(2)]);
        for (state, admitted) in [([1, 7], true), ([7, 2], true), ([1, 2], true), ([0, 7], false), ([0, 0], false)] {
            assert_eq!(patterns.admit(&state), admitted, "{state:?}");
        }
    }
}
