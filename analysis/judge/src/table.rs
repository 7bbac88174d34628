//! The cheapest alignment of two sequences, by a table of partial alignments (Needleman and Wunsch, 1970).
//!
//! Rows and columns keep their orders: of two matched rows, the upper one has the column further left. Time is the
//! product of both lengths, and memory one byte for each cell.

use std::collections::HashSet;

use crate::cost::Fit;

/// A row, which may match one of the columns.
pub struct TableRow<'a> {
    pub candidates: Candidates<'a>,
    /// The cost of leaving the row without a column.
    pub leaving: u32,
}

/// The columns that a row may match, each with its cost.
#[derive(Clone, Copy)]
pub enum Candidates<'a> {
    Any(&'a [Fit]),
    Except(&'a HashSet<usize>, &'a [Fit]),
    Only(usize, &'a [Fit]),
}

impl Candidates<'_> {
    fn cost(self, column: usize) -> Fit {
        match self {
            Self::Any(costs) => costs[column],
            Self::Except(others, costs) => costs[column].filter(|_| !others.contains(&column)),
            Self::Only(only, costs) => costs[column].filter(|_| column == only),
        }
    }
}

/// The last step of a partial alignment.
#[derive(Clone, Copy)]
enum Move {
    Match,
    Skip,
    Leave,
}

/// The column that matches each row in the cheapest alignment. `columns` are in the order in which they are aligned;
/// `skipping` has the cost of leaving each of them without a row. Among equal costs, a match is preferred to skipping
/// the column, and that to leaving the row.
pub fn cheapest(rows: &[TableRow<'_>], columns: &[usize], skipping: &[u32]) -> Vec<Option<usize>> {
    let width = columns.len() + 1;
    let mut moves = vec![Move::Skip; (rows.len() + 1) * width];
    let mut costs: Vec<u32> = vec![0; width];
    for (place, column) in (1..).zip(columns) {
        costs[place] = costs[place - 1] + skipping[*column];
    }
    for (row, &TableRow { candidates, leaving }) in (1..).zip(rows) {
        let above = costs.clone();
        for place in 0..width {
            let mut best = (above[place].saturating_add(leaving), Move::Leave);
            if let Some(before) = place.checked_sub(1) {
                let column = columns[before];
                let skip = costs[before].saturating_add(skipping[column]);
                if skip <= best.0 {
                    best = (skip, Move::Skip);
                }
                let matched = candidates.cost(column).map(|cost| above[before].saturating_add(cost.into()));
                if let Some(matched) = matched.filter(|matched| *matched <= best.0) {
                    best = (matched, Move::Match);
                }
            }
            costs[place] = best.0;
            moves[row * width + place] = best.1;
        }
    }
    let mut matched = vec![None; rows.len()];
    let (mut row, mut place) = (rows.len(), columns.len());
    while row > 0 {
        match moves[row * width + place] {
            Move::Match => {
                (row, place) = (row - 1, place - 1);
                matched[row] = Some(columns[place]);
            }
            Move::Skip => place -= 1,
            Move::Leave => row -= 1,
        }
    }
    matched
}

#[cfg(test)]
mod tests {
    use itertools::Itertools;

    use super::*;

    /// Each digit of `rows` and `columns` is a kind: equal kinds match at no cost, neighboring ones at cost 3. A row
    /// costs 5 to leave, a column 1 to skip.
    fn check(rows: &str, columns: &str, expected: &str) {
        let (rows, columns): (Vec<u8>, Vec<u8>) = (rows.bytes().collect(), columns.bytes().collect());
        let fit = |row: u8, column: u8| match row.abs_diff(column) {
            0 => Some(0),
            1 => Some(3),
            _ => None,
        };
        let fits: Vec<Vec<Fit>> =
            rows.iter().map(|row| columns.iter().map(|column| fit(*row, *column)).collect()).collect();
        let rows: Vec<_> = fits.iter().map(|fits| TableRow { candidates: Candidates::Any(fits), leaving: 5 }).collect();
        let order: Vec<usize> = (0..columns.len()).collect();
        let matched = cheapest(&rows, &order, &vec![1; columns.len()]);
        let found = matched.iter().map(|column| column.map_or("-".into(), |column| column.to_string())).join(" ");
        assert_eq!(found, expected);
    }

    #[test]
    fn the_cheapest_alignment_keeps_both_orders() {
        check("", "123", "");
        check("123", "", "- - -");
        check("123", "123", "0 1 2");
        check("13", "123", "0 2");
        check("31", "13", "- 0");
        check("1", "2", "0");
        check("2", "12", "1");
        check("19", "91", "- 0");
    }
}
