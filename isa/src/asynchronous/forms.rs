//! The parsed table of forms.

use std::sync::LazyLock;

use super::{
    family::Family,
    grammar::{Filled, Modifiers, Parameter},
    kind::ModifierKind,
    table::{FORMS, NAMES, WORDS},
};
use crate::target::Requirement;

/// Forms with the same operands and the same requirement, except for the requirements of individual modifiers.
#[derive(Debug)]
pub(super) struct Row {
    pub family: Family,
    pub modifiers: Modifiers,
    pub parameters: Vec<Parameter>,
    requirement: Requirement,
}

impl Row {
    /// The requirement of the form with these modifiers.
    pub fn requirement(&self, modifiers: &[&str]) -> Requirement {
        let has =
            |word: &str| modifiers.iter().any(|own| *own == word || word.ends_with("::") && own.starts_with(word));
        let own = WORDS.iter().filter(|(family, word, _)| self.family.words().starts_with(family) && has(word));
        own.fold(self.requirement, |requirement, (.., word)| requirement.and(*word))
    }
}

/// The rows of the table. A row that violates the notation is omitted; a test detects such a row.
pub(super) fn rows() -> &'static [Row] {
    static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
        let row = |family, requirement, operands: &str, modifiers: &str| {
            let parameters = named(operands).split_whitespace().map(Parameter::parse).collect::<Option<_>>()?;
            Some(Row { family, modifiers: Modifiers::parse(&named(modifiers)), parameters, requirement })
        };
        let rows = FORMS.iter().flat_map(|(family, requirement, operands, all)| {
            all.iter().filter_map(move |modifiers| row(*family, *requirement, operands, modifiers))
        });
        rows.collect()
    });
    &ROWS
}

impl Family {
    /// The rows of the family's forms.
    pub(super) fn rows(self) -> impl Iterator<Item = &'static Row> {
        rows().iter().filter(move |row| row.family == self)
    }
}

/// The reason why the words after the family's words fit no form, and the wrong word, if a single word is wrong.
pub(super) fn no_form<'t>(family: Family, words: &[&'t str]) -> (String, Option<&'t str>) {
    let nearest = family.rows().map(|row| row.modifiers.fill(words)).min_by_key(Filled::distance);
    let Some(Filled { words: filled, missing, left, swapped }) = nearest else {
        return (format!("'{family}' has no form"), None);
    };
    let is_known = |word: &str| family.rows().any(|row| row.modifiers.words().any(|own| own == word));
    let unknown = words.iter().find(|word| !is_known(word));
    let Some(&word) = unknown.or(left.first()) else {
        let reason = match (missing.first(), swapped) {
            (None, Some((first, second))) => {
                format!("'{family}' has .{first} before .{second} here: {family}.{}", filled.join("."))
            }
            (slot, _) => format!("'{family}' needs .{} here", slot.map_or("more".into(), |slot| slot.join(" or ."))),
        };
        return (reason, None);
    };
    let is_alike = |own: &String| {
        ModifierKind::from_word(own) == ModifierKind::from_word(word)
            && ModifierKind::from_word(word) != ModifierKind::Other
    };
    let slot =
        missing.first().filter(|slot| if unknown.is_some() { slot.iter().any(is_alike) } else { slot.len() <= 8 });
    let reason = match slot {
        _ if unknown.is_none() && words.iter().filter(|own| **own == word).count() > 1 => format!("a second .{word}"),
        Some(slot) => format!("'{family}' has .{} instead of .{word} here", slot.join(" or .")),
        None if unknown.is_some() => format!("'{family}' has no modifier .{word}"),
        None => format!("'{family}' has no modifier .{word} together with the other modifiers"),
    };
    (reason, Some(word))
}

/// The text with all names replaced by their meanings. Names are words in capitals; the meaning of a name may contain
/// other names.
fn named(text: &str) -> String {
    NAMES.iter().chain(NAMES).fold(text.to_owned(), |text, (name, meaning)| {
        let pieces: Vec<_> = text.split_inclusive([' ', '|', '{', '}', '@']).collect();
        pieces
            .into_iter()
            .map(|piece| {
                let end = piece.trim_end_matches([' ', '|', '{', '}', '@']).len();
                if &piece[..end] == *name { format!("{meaning}{}", &piece[end..]) } else { piece.to_owned() }
            })
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read() {
        assert_eq!(rows().len(), FORMS.iter().map(|(.., all)| all.len()).sum::<usize>());
        assert!(rows().len() > 200, "{}", rows().len());
        assert!(Family::all().all(|family| rows().iter().any(|row| row.family == family)));
        for row in rows() {
            let odd = row
                .modifiers
                .words()
                .find(|word| word.contains(['(', '{', ' ']) || word.chars().all(char::is_uppercase));
            assert_eq!(odd, None, "{}", row.family);
        }
        for (family, word, _) in WORDS {
            let has = |row: &Row| {
                row.modifiers.words().any(|own| own == *word || word.ends_with("::") && own.starts_with(word))
            };
            assert!(rows().iter().any(|row| row.family.words().starts_with(family) && has(row)), "{family} {word}");
        }
    }
}
