//! Numbers for sequences, so that programs can be compared by numbers.

use std::collections::HashMap;

use ptx_lowering::Sequence;

#[derive(Default)]
pub struct Numbers {
    pub sequences: Vec<Sequence>,
    known: HashMap<Sequence, usize>,
}

impl Numbers {
    pub fn number_sequence(&mut self, sequence: &Sequence) -> usize {
        *self.known.entry(sequence.clone()).or_insert_with(|| {
            self.sequences.push(sequence.clone());
            self.sequences.len() - 1
        })
    }

    /// The sequences with these numbers.
    pub fn all<'s>(&'s self, numbers: &'s [usize]) -> Vec<&'s Sequence> {
        numbers.iter().map(|&number| &self.sequences[number]).collect()
    }
}
