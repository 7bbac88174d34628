//! Tables with few rows: equal results share a row.

use std::collections::{BTreeMap, BTreeSet};

use itertools::Itertools;

/// A place in a table: for each column that determines the result, the number of its value.
pub type Coordinates = Vec<usize>;

/// A set of places: all combinations of some values of each column.
pub type Row = Vec<BTreeSet<usize>>;

/// A column: its heading, and the names of its values.
pub struct Column {
    /// The heading.
    pub head: &'static str,
    /// The names of all its values.
    pub names: Vec<String>,
    /// Whether consecutive values are named by the first and the last.
    pub is_range: bool,
}

impl Column {
    /// The names of some values; `all` for all of them.
    pub fn listed(&self, set: &BTreeSet<usize>) -> String {
        if set.len() == self.names.len() {
            return "all".to_owned();
        }
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for index in set {
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == *index && self.is_range => *last = *index,
                _ => runs.push((*index, *index)),
            }
        }
        runs.into_iter().map(|(first, last)| self.run(first, last)).join(", ")
    }

    /// `sm_90 with ptx85` and `sm_90 with ptx90` together are `sm_90`.
    fn run(&self, first: usize, last: usize) -> String {
        let whole = |index: usize| self.names[index].split(" with ").next().unwrap_or_default();
        let shown = |index: usize, next: usize| {
            let both = (first..=last).contains(&next) && next != index && whole(index) == whole(next);
            if both { whole(index) } else { &*self.names[index] }
        };
        let (from, to) = (shown(first, first + 1), shown(last, last.saturating_sub(1)));
        match last - first {
            _ if from == to => from.to_owned(),
            1 => format!("{from}, {to}"),
            _ => format!("{from} to {to}"),
        }
    }
}

/// All places of a table with these columns.
pub fn places(columns: &[Column]) -> impl Iterator<Item = Coordinates> {
    columns.iter().map(|column| 0..column.names.len()).multi_cartesian_product()
}

/// A set of places as few rows, in the order of the columns.
pub fn rows(places: &BTreeSet<Coordinates>) -> Vec<Row> {
    let mut by_first: BTreeMap<usize, BTreeSet<Coordinates>> = BTreeMap::new();
    for place in places {
        let Some((first, rest)) = place.split_first() else { return vec![Row::new()] };
        by_first.entry(*first).or_default().insert(rest.to_vec());
    }
    let mut by_rest: BTreeMap<BTreeSet<Coordinates>, BTreeSet<usize>> = BTreeMap::new();
    for (first, rest) in by_first {
        by_rest.entry(rest).or_default().insert(first);
    }
    let with_first = |(rest, firsts): (BTreeSet<Coordinates>, BTreeSet<usize>)| {
        rows(&rest).into_iter().map(move |row| [vec![firsts.clone()], row].concat())
    };
    by_rest.into_iter().flat_map(with_first).collect()
}

/// Whether a row contains a place.
pub fn is_in(place: &Coordinates, row: &Row) -> bool {
    place.iter().zip(row).all(|(value, set)| set.contains(value))
}

/// The places that a row contains.
pub fn places_of(row: &Row) -> impl Iterator<Item = Coordinates> {
    row.iter().map(|set| set.iter().copied()).multi_cartesian_product()
}

/// The values at the places of a row, as text: each value, with its places unless it applies to the whole row.
pub fn by_place(row: &Row, columns: &[Column], value: impl Fn(&Coordinates) -> Option<String>) -> Vec<String> {
    let mut by_value: BTreeMap<String, BTreeSet<Coordinates>> = BTreeMap::new();
    for place in places_of(row) {
        if let Some(value) = value(&place) {
            by_value.entry(value).or_default().insert(place);
        }
    }
    let parts = by_value.iter().flat_map(|(value, places)| rows(places).into_iter().map(move |part| (value, part)));
    let part = |(value, part): (&String, Row)| {
        let narrower = part.iter().zip(row).zip(columns).filter(|((part, row), _)| part != row);
        let places = narrower.map(|((part, _), column)| column.listed(part)).join("; ");
        if places.is_empty() { value.clone() } else { format!("{value} ({places})") }
    };
    parts.map(part).collect()
}

/// A table as text: the headings of its columns, and its rows. The format of cells is in `data.rs`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grid {
    /// The headings of the columns.
    pub head: Vec<String>,
    /// A cell for each column.
    pub rows: Vec<Vec<String>>,
}

impl Grid {
    /// A table without the leading columns that have `all` in every row.
    pub fn new(columns: &[Column], others: &[&str], lines: &[(Row, Vec<String>)]) -> Self {
        let is_shown = |index: usize| lines.iter().any(|(row, _)| row[index].len() < columns[index].names.len());
        let shown: Vec<usize> = (0..columns.len()).filter(|index| is_shown(*index)).collect();
        let head = shown.iter().map(|index| columns[*index].head).chain(others.iter().copied());
        let line = |(row, rest): &(Row, Vec<String>)| {
            shown.iter().map(|index| columns[*index].listed(&row[*index])).chain(rest.iter().cloned()).collect()
        };
        Self { head: head.map(ToOwned::to_owned).collect(), rows: lines.iter().map(line).collect() }
    }
}
