//! The modifiers of an instruction, each read once.

use std::str::FromStr;

use ptx_isa::syntax::Text;

use crate::asynchronous::Memory;

/// The modifiers that are not read yet.
pub(super) struct Words<'t>(Vec<Text<'t>>);

impl<'t> Words<'t> {
    pub(super) fn of(words: &[Text<'t>]) -> Self {
        Self(words.to_vec())
    }

    /// Whether the word is there, which is read now.
    pub(super) fn take(&mut self, word: &str) -> bool {
        let found = self.0.iter().position(|other| other.text == word);
        found.map(|index| self.0.remove(index)).is_some()
    }

    /// The first word that is one of these.
    pub(super) fn parse<T: FromStr>(&mut self) -> Option<T> {
        let (index, found) =
            self.0.iter().enumerate().find_map(|(index, word)| Some((index, word.text.parse().ok()?)))?;
        self.0.remove(index);
        Some(found)
    }

    /// Reads words that say nothing to the model.
    pub(super) fn ignore(&mut self, words: &[&str]) {
        self.ignore_if(|word| words.contains(&word));
    }

    /// Reads words that say nothing to the model.
    pub(super) fn ignore_if(&mut self, is: impl Fn(&str) -> bool) {
        self.0.retain(|word| !is(word.text));
    }

    /// The state spaces, in their order.
    pub(super) fn spaces(&mut self) -> Vec<Memory> {
        let of = |word: &str| match word {
            "global" => Some(Memory::Global),
            "shared" | "shared::cta" | "shared::cluster" => Some(Memory::Shared),
            _ => None,
        };
        let found = self.0.iter().filter_map(|word| of(word.text)).collect();
        self.ignore_if(|word| of(word).is_some());
        found
    }

    /// The first word that is left.
    pub(super) fn first(&self) -> Option<Text<'t>> {
        self.0.first().copied()
    }
}
