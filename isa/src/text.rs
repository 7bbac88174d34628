//! A message that refers to places of PTX. A front end prints each place in its reader's terms, as a line of PTX or of
//! a source.

use std::fmt::{self, Display, Formatter};

use crate::InstPlace;

/// A message, in one sentence without a period.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Text(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum Part {
    Words(String),
    /// Alternative places, printed as ` on line 7 or on line 8`.
    Places(Vec<InstPlace>),
}

impl Text {
    /// A message without a place.
    pub fn new(words: impl Into<String>) -> Self {
        Self(vec![Part::Words(words.into())])
    }

    /// The message, followed by a place.
    #[must_use]
    pub fn at(self, place: InstPlace) -> Self {
        self.at_any(vec![place])
    }

    /// The message, followed by alternative places.
    #[must_use]
    pub fn at_any(mut self, places: Vec<InstPlace>) -> Self {
        self.0.push(Part::Places(places));
        self
    }

    /// The message, followed by words.
    #[must_use]
    pub fn then(mut self, words: impl Into<String>) -> Self {
        self.0.push(Part::Words(words.into()));
        self
    }

    /// The message between two texts.
    #[must_use]
    pub fn between(self, before: impl Into<String>, after: impl Into<String>) -> Self {
        let parts = std::iter::once(Part::Words(before.into())).chain(self.0).chain([Part::Words(after.into())]);
        Self(parts.collect())
    }

    /// Whether the message names a place.
    pub fn names(&self, place: InstPlace) -> bool {
        self.0.iter().any(|part| matches!(part, Part::Places(places) if places.contains(&place)))
    }

    /// The message with each place replaced by its text from `place`, such as `on line 7`. A place without text is left
    /// out, and so are repetitions of the same text.
    pub fn placed(&self, place: impl Fn(InstPlace) -> Option<String>) -> String {
        let mut text = String::new();
        for part in &self.0 {
            match part {
                Part::Words(words) => text.push_str(words),
                Part::Places(places) => {
                    let mut known: Vec<String> = Vec::new();
                    for words in places.iter().filter_map(|at| place(*at)) {
                        if !known.contains(&words) {
                            text.push_str(if known.is_empty() { " " } else { " or " });
                            text.push_str(&words);
                            known.push(words);
                        }
                    }
                }
            }
        }
        text
    }
}

impl From<String> for Text {
    fn from(words: String) -> Self {
        Self::new(words)
    }
}

impl From<&str> for Text {
    fn from(words: &str) -> Self {
        Self::new(words)
    }
}

/// Prints the message with lines of the PTX.
impl Display for Text {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.placed(|at| Some(format!("on line {at}"))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_printed_in_the_terms_of_the_reader() {
        let [three, seven, eight] = [3, 7, 8].map(InstPlace::line);
        let text = Text::new("the ld").at(seven).then(" is late, as").at_any(vec![three, seven, eight]);
        assert_eq!(text.to_string(), "the ld on line 7 is late, as on line 3 or on line 7 or on line 8");
        let source = |at: InstPlace| (at.line > 3).then(|| format!("on line {}", at.line / 2));
        assert_eq!(text.placed(source), "the ld on line 3 is late, as on line 3 or on line 4");
        assert!(text.names(eight) && !text.names(InstPlace::line(9)));
        assert_eq!(text.between("if ", ": unknown").placed(|_| None), "if the ld is late, as: unknown");
    }
}
