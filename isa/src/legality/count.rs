//! Checks of the numbers of operands, elements, arguments and results.

/// The expected and the found operand, or the expected and the found number of operands.
pub type Refused = Option<(String, String)>;

/// A number of operands, elements, arguments or results that is too small or too large.
pub fn count(noun: &str, least: usize, most: usize, found: usize) -> Refused {
    let plural = if most == 1 { "" } else { "s" };
    let expected = if least == most { least.to_string() } else { format!("{least} or {most}") };
    (found < least || found > most).then(|| (format!("{expected} {noun}{plural}"), found.to_string()))
}
