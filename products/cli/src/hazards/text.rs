//! Findings as rustc prints errors.

use std::collections::HashMap;

use annotate_snippets::Level as Shown;
use ptx_atomics::hazards::Rule;
use ptx_atomics::{
    memory_model::kernel::shown,
    pass::{Diagnostic, Input},
};

use super::placed::{Level, Placed};
use crate::render::{self, Message};

/// How many lines of findings that say the same are named.
const NAMED: usize = 10;

/// Findings that say the same of other lines of a kernel. What is wrong stands alone.
struct Group<'a> {
    first: &'a Placed,
    others: Vec<&'a Placed>,
}

pub fn print(findings: &[Placed], input: &Input, profile: &str) {
    for Group { first, others } in groups(findings) {
        let level = match first.level {
            Level::Error => Shown::ERROR,
            Level::Possible | Level::Warning => Shown::WARNING,
            Level::Note | Level::NotChecked => Shown::NOTE,
        };
        let rule = first.rule.map(|rule| format!("rule {rule}, {}, profile {profile}", rule.source()));
        let diagnostic = Diagnostic {
            function: Some(shown(&first.kernel)),
            location: first.place.clone(),
            operation: first.operation.clone(),
            notes: rule
                .into_iter()
                .chain(first.notes.iter().cloned())
                .chain(first.also.clone())
                .chain(first.executed.notes(first.is_ptx))
                .chain(first.repeat.as_ref().map(|command| format!("repeat it: {command}")))
                .chain(also(&others))
                .collect(),
            help: first.help.clone(),
            ..Diagnostic::new(&*first.message)
        };
        let message =
            Message { level, id: first.rule.map(Into::into), diagnostic: &diagnostic, first: first.first.as_ref() };
        render::message(&message, Some(input));
        first.explained.iter().for_each(|test| render::say(test));
    }
}

fn groups(findings: &[Placed]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut known: HashMap<(&str, Option<Rule>, String), usize> = HashMap::new();
    for placed in findings {
        if placed.level != Level::Error {
            let key = (&*placed.kernel, placed.rule, placed.message_without_lines());
            if let Some(group) = known.get(&key) {
                groups[*group].others.push(placed);
                continue;
            }
            known.insert(key, groups.len());
        }
        groups.push(Group { first: placed, others: Vec::new() });
    }
    groups
}

fn also(others: &[&Placed]) -> Option<String> {
    let mut lines: Vec<_> = others.iter().filter_map(|placed| Some(placed.place.as_ref()?.line)).collect();
    lines.sort_unstable();
    lines.dedup();
    let named: Vec<_> = lines.iter().take(NAMED).map(u32::to_string).collect();
    let more = match lines.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let s = if lines.len() == 1 { "" } else { "s" };
    (!lines.is_empty()).then(|| format!("the same on line{s} {}{more}", named.join(", ")))
}
