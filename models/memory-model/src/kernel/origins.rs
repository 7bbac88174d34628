//! The origin of the instructions of a thread: their text, and the lines of the source.

use std::collections::HashMap;

use ptx_isa::{
    Code, InstPlace, Module, Places,
    flat::{Flat, Step},
    syntax::{self, Text, TokenKind},
};

use super::{
    line::{Line, SourceLine},
    names::source_name,
};

/// The instructions of a module.
pub(super) struct Origins<'m>(HashMap<InstPlace, Origin<'m>>);

struct Origin<'m> {
    text: &'m str,
    /// The lines of the preceding `.loc`, from the innermost outwards.
    places: &'m [SourceLine],
}

impl<'m> Origins<'m> {
    pub fn new(module: &'m Module, places: &'m Places) -> Self {
        let mut origins = HashMap::new();
        for (function, own) in module.functions().enumerate() {
            let mut here: &[SourceLine] = &[];
            for (index, line) in own.body.iter().flatten().enumerate() {
                let at = own.place(function as u32, index);
                match line.code {
                    Code::Directive(_) => here = places.at(line.number).unwrap_or(here),
                    _ => drop(origins.insert(at, Origin { text: &line.text, places: here })),
                }
            }
        }
        Self(origins)
    }

    /// The line of an instruction of a thread, and the lines of its calls.
    pub fn line(&self, flat: &Flat, step: &Step) -> Line {
        let Some(origin) = self.0.get(&step.at) else { return Line::default() };
        let mut places = origin.places.to_vec();
        let outward = std::iter::successors(flat.calls[step.call].from, |(_, call)| flat.calls[*call].from);
        for (at, _) in outward {
            places.extend(self.0.get(&at).into_iter().flat_map(|call| call.places).cloned());
        }
        Line { number: step.at.line, text: demangled(origin.text), places, wrong: None }
    }
}

/// An instruction with the names of the source.
fn demangled(text: &str) -> String {
    let mut shown_text = String::new();
    let mut end = 0;
    for token in syntax::tokens(Text::new(text)).filter(|token| token.kind == TokenKind::Name) {
        let name = token.text.text;
        if name.starts_with("_R") || name.starts_with("_Z") {
            shown_text += &text[end..token.text.start];
            shown_text += &source_name(name);
            end = token.text.start + name.len();
        }
    }
    shown_text + &text[end..]
}
