//! Results as a drawing.

use std::fmt::Write;

use crate::{
    report::{Results, percent},
    verdict::Grade,
};

/// A part of a bar: the verdicts that share the part, their label, the colour of the part, and the colour of its
/// letters. The colours are from the palette of Okabe and Ito, which colour-blind readers can distinguish.
struct Part {
    verdicts: &'static [Grade],
    words: &'static str,
    color: &'static str,
    letters: &'static str,
}

#[rustfmt::skip]
const PARTS: [Part; 8] = [
    Part { verdicts: &[Grade::Right],          words: "right",               color: "#0072b2", letters: "#fff" },
    Part { verdicts: &[Grade::Ordering],       words: "ordering lost",       color: "#d55e00", letters: "#000" },
    Part { verdicts: &[Grade::Scope],          words: "scope lost",          color: "#cc79a7", letters: "#000" },
    Part { verdicts: &[Grade::WeakLoadInLoop], words: "weak load in a loop", color: "#e69f00", letters: "#000" },
    Part { verdicts: &[Grade::NotAtomic],      words: "not atomic",          color: "#000",    letters: "#fff" },
    Part { verdicts: &[Grade::Volatile],       words: "volatile lost",       color: "#56b4e9", letters: "#000" },
    Part { verdicts: &[Grade::Effect, Grade::Value], words: "wrong effect or value", color: "#009e73", letters: "#000" },
    Part {
        verdicts: &[
            Grade::Undefined, Grade::Missing, Grade::Rejected, Grade::NoPtx, Grade::NoOutput, Grade::TooLong,
            Grade::CompilerError, Grade::Crash, Grade::Timeout,
        ],
        words: "error",
        color: "#999",
        letters: "#000",
    },
];

const TITLE: &str = "Atomics and fences that keep the semantics of the program, by GPU";
const LEFT: usize = 120;
const WIDTH: usize = 640;
const RIGHT: usize = 110;
const BAR: usize = 18;
const TOP: usize = 70;

/// A bar for each target.
pub fn svg(all: &[Results]) -> String {
    let height = TOP + all.len() * (BAR + 6) + 60;
    let total = LEFT + WIDTH + RIGHT;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"{total}\" height=\"{height}\" viewBox=\"0 0 {total} {height}\">\n"
    );
    let mut line = |text: String| writeln!(svg, "{text}").expect("a string takes all");
    line(format!("<title>{TITLE}</title>"));
    // Dark text on a white rectangle, because dark themes of a page may invert the colours of a drawing.
    line("<style>text { font: 12px sans-serif; fill: #333 }</style>".into());
    line("<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>".into());
    line(format!("<text x=\"10\" y=\"22\" style=\"font-size: 15px; font-weight: bold\">{TITLE}</text>"));
    let mut x = 10;
    for Part { words, color, .. } in &PARTS {
        line(format!("<rect x=\"{x}\" y=\"38\" width=\"12\" height=\"12\" fill=\"{color}\" stroke=\"#888\"/>"));
        line(format!("<text x=\"{}\" y=\"48\">{words}</text>", x + 16));
        x += 30 + 6 * words.len();
    }
    for (index, results) in all.iter().enumerate() {
        let (y, counts, functions) = (TOP + index * (BAR + 6), results.counts(), results.outcomes.len());
        let name = escaped(&results.name());
        line(format!("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{name}</text>", LEFT - 8, y + 13));
        let mut x = LEFT as f64;
        for Part { verdicts, words, color, letters } in &PARTS {
            let count: usize = verdicts.iter().filter_map(|verdict| counts.get(verdict)).sum();
            let length = WIDTH as f64 * count as f64 / functions.max(1) as f64;
            if count == 0 {
                continue;
            }
            let share = percent(count, functions);
            let place = format!("x=\"{x:.1}\" y=\"{y}\" width=\"{length:.1}\" height=\"{BAR}\"");
            line(format!("<rect {place} fill=\"{color}\"><title>{name}: {words}, {share}</title></rect>"));
            let label = format!("{words} {share}");
            if 7.0 * label.len() as f64 + 8.0 < length {
                let place = format!("x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\"", x + length / 2.0, y + 13);
                line(format!("<text {place} style=\"fill: {letters}\">{label}</text>"));
            }
            x += length;
        }
        let right = percent(results.right(), functions);
        line(format!("<text x=\"{}\" y=\"{}\">{right} right</text>", LEFT + WIDTH + 8, y + 13));
    }
    let y = TOP + all.len() * (BAR + 6);
    for tick in (0..=100).step_by(20) {
        let x = LEFT + WIDTH * tick / 100;
        line(format!(
            "<line x1=\"{x}\" y1=\"{}\" x2=\"{x}\" y2=\"{y}\" stroke=\"#888\" stroke-opacity=\"0.5\"/>",
            TOP - 6
        ));
        line(format!("<text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{tick}%</text>", y + 16));
    }
    let axis = "share of the functions, in percent; each function has one atomic or fence";
    line(format!("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{axis}</text>", LEFT + WIDTH / 2, y + 36));
    svg + "</svg>\n"
}

/// Escapes text for XML. Control characters are not allowed in XML.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            letter if letter.is_control() => escaped.push('\u{FFFD}'),
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use strum::IntoEnumIterator;

    use super::*;

    #[test]
    fn every_verdict_is_drawn_once() {
        for verdict in Grade::iter() {
            assert_eq!(PARTS.iter().filter(|part| part.verdicts.contains(&verdict)).count(), 1, "{verdict}");
        }
    }
}
