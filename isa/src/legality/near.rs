//! The search for the nearest valid spelling of an unknown word.

/// A word is near another word if at most one letter in this number differs.
const NEAR: usize = 3;

/// The nearest word, if any word is near.
pub fn nearest<W: AsRef<str>>(word: &str, known: impl Iterator<Item = W>) -> Option<W> {
    let near = known.map(|known| (distance(word, known.as_ref()), known));
    let best = near.min_by_key(|(distance, _)| *distance)?;
    (best.0 * NEAR <= word.len()).then_some(best.1)
}

/// The number of letters to insert, delete or change.
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, a) in one.bytes().enumerate() {
        let mut before = std::mem::replace(&mut row[0], at + 1);
        for (index, b) in other.bytes().enumerate() {
            let changed = before + usize::from(a != b);
            before = row[index + 1];
            row[index + 1] = changed.min(before + 1).min(row[index] + 1);
        }
    }
    row[other.len()]
}
