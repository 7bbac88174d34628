//! A text with positions in the units of the protocol: lines from 0, and UTF-16 units within a line.

use std::ops;

use lsp_types::{Position, Range};

/// A text, and the offsets of its lines.
pub struct Text {
    text: String,
    starts: Vec<usize>,
}

impl Text {
    pub fn new(text: String) -> Self {
        let starts = [0].into_iter().chain(text.match_indices('\n').map(|(end, _)| end + 1)).collect();
        Self { text, starts }
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The range of a line without its end, by its number from 0; after the last line, the empty range at the end of
    /// the text.
    fn line(&self, number: usize) -> ops::Range<usize> {
        let start = self.starts.get(number).copied().unwrap_or(self.text.len());
        let end = self.starts.get(number + 1).copied().unwrap_or(self.text.len());
        start..start + self.text[start..end].trim_end_matches(['\n', '\r']).len()
    }

    /// The position of a byte; an offset after the text is the end of the text.
    pub fn position(&self, offset: usize) -> Position {
        let offset = (0..=offset.min(self.text.len())).rev().find(|at| self.text.is_char_boundary(*at)).unwrap_or(0);
        let line = self.starts.partition_point(|start| *start <= offset) - 1;
        let units = self.text[self.starts[line]..offset].encode_utf16().count();
        Position::new(number(line), number(units))
    }

    /// The offset of a position; a position after a line is the end of the line.
    pub fn offset(&self, place: Position) -> usize {
        let line = self.line(place.line as usize);
        let mut units = 0;
        let before = self.text[line.clone()].chars().take_while(|c| {
            units += c.len_utf16();
            units <= place.character as usize
        });
        line.start + before.map(char::len_utf8).sum::<usize>()
    }

    /// The range of a span of bytes.
    pub fn range(&self, span: ops::Range<usize>) -> Range {
        Range::new(self.position(span.start), self.position(span.end.max(span.start)))
    }

    /// The range of the text in a line, by its number from 1; without such a line, the range in the first line.
    pub fn words(&self, number: u32) -> Range {
        self.find_words(number, 0)
    }

    /// The range of the text in a line after a number of characters.
    pub fn find_words(&self, number: u32, characters: usize) -> Range {
        let line = self.line((number as usize).saturating_sub(1));
        let skipped = self.text[line.clone()].chars().take(characters).map(char::len_utf8).sum::<usize>();
        let rest = &self.text[line.start + skipped..line.end];
        let start = line.end - rest.trim_start().len();
        self.range(start..start + rest.trim().len())
    }

    /// The position of an insertion of whole lines before a line, by its number from 1, and the inserted text, with the
    /// indentation of line `like`.
    pub fn insertion(&self, number: u32, like: u32, words: &str) -> (Position, String) {
        let at = self.starts.get((number as usize).saturating_sub(1)).copied();
        let model = &self.text[self.line((like as usize).saturating_sub(1))];
        let indent = &model[..model.len() - model.trim_start().len()];
        let end = if self.text.contains("\r\n") { "\r\n" } else { "\n" };
        match at {
            Some(at) => (self.position(at), format!("{indent}{words}{end}")),
            None => (self.position(self.text.len()), format!("{end}{indent}{words}")),
        }
    }
}

fn number(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_units_of_utf16() {
        // The letter has two bytes and one unit; the sign has four bytes and two units.
        let text = Text::new("ä\u{1d11e}x\r\n\ty\n".to_owned());
        let cases = [(0, 0, 0), (2, 0, 1), (6, 0, 3), (7, 0, 4), (9, 1, 0), (10, 1, 1), (12, 2, 0)];
        for (offset, line, character) in cases {
            let place = Position::new(line, character);
            assert_eq!((text.position(offset), text.offset(place)), (place, offset));
        }
        // Offsets within a sign, after a line, and after the text.
        assert_eq!(text.position(4), Position::new(0, 1));
        assert_eq!([(0, 2), (0, 99), (9, 9)].map(|(line, at)| text.offset(Position::new(line, at))), [2, 7, 12]);
        assert_eq!(text.position(99), Position::new(2, 0));
    }

    #[test]
    fn lines() {
        let text = Text::new("a\n\t bc ;\nd".to_owned());
        let range = |line, from, to| Range::new(Position::new(line, from), Position::new(line, to));
        assert_eq!(text.words(2), range(1, 2, 6));
        assert_eq!(text.find_words(2, 3), range(1, 3, 6));
        assert_eq!([0, 1, 9].map(|number| text.words(number)), [range(0, 0, 1), range(0, 0, 1), range(2, 1, 1)]);
        assert_eq!(text.insertion(2, 2, "x;"), (Position::new(1, 0), "\t x;\n".to_owned()));
        assert_eq!(text.insertion(4, 3, "x;"), (Position::new(2, 1), "\nx;".to_owned()));
    }
}
