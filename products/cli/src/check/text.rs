//! Findings in the format of rustc's errors, and verdicts as lines.

use std::{collections::HashMap, fmt::Write};

use annotate_snippets::Level;
use ptx_atomics::{
    check::{Question, Rule, Severity, Verdict, View, Witness},
    memory_model::kernel::source_name,
    pass::{Diagnostic, Input},
};

use super::module_views::ModuleViews;
use crate::render::{self, Message};

/// The limit of listed lines of findings with the same message.
const NAMED: usize = 10;

/// Findings with the same message about other lines of a kernel. An error is not grouped.
struct Group<'a> {
    first: &'a View<'a>,
    others: Vec<&'a View<'a>>,
}

pub fn print(views: &[&View<'_>], input: &Input, profile: &str, command: &dyn Fn(&Witness) -> Option<String>) {
    for Group { first, others } in groups(views) {
        let finding = first.finding;
        let level = match finding.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
            Severity::Note => Level::NOTE,
        };
        let rule = finding.rule.map(|rule| match rule {
            Rule::Async(_) => format!("rule {}, {}, profile {profile}", rule.name(), rule.source()),
            _ => format!("rule {}, {}", rule.name(), rule.source()),
        });
        let repeat = finding.witness().and_then(command).map(|command| format!("repeat it: {command}"));
        let (launch, facts) = match finding.witness() {
            Some(witness) if !witness.is_certain() => first.notes.split_at(first.notes.len().min(1)),
            _ => first.notes.split_at(0),
        };
        let diagnostic = Diagnostic {
            function: Some(source_name(&first.kernel)),
            location: first.place.clone(),
            operation: finding
                .operation
                .as_ref()
                .map(|operation| operation.text.clone())
                .filter(|operation| !operation.is_empty()),
            notes: launch
                .iter()
                .cloned()
                .chain(rule)
                .chain(facts.iter().cloned())
                .chain(repeat)
                .chain(also(&others))
                .collect(),
            help: first.help.clone(),
            ..Diagnostic::new(&*first.message)
        };
        let id = finding.rule.map(Rule::name);
        render::message(&Message { level, id, diagnostic: &diagnostic, first: first.first.as_ref() }, Some(input));
        finding.explanation.iter().for_each(|test| render::say(test));
    }
}

fn groups<'a>(views: &[&'a View<'a>]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    let mut known: HashMap<(&str, Option<Rule>, String), usize> = HashMap::new();
    for view in views {
        if view.finding.severity != Severity::Error {
            let key = (&*view.kernel, view.finding.rule, view.message_without_places());
            if let Some(group) = known.get(&key) {
                groups[*group].others.push(view);
                continue;
            }
            known.insert(key, groups.len());
        }
        groups.push(Group { first: view, others: Vec::new() });
    }
    groups
}

fn also(others: &[&View<'_>]) -> Option<String> {
    let mut lines: Vec<_> = others.iter().filter_map(|view| Some(view.place.as_ref()?.line)).collect();
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

/// A line for each kernel and question, and the assumptions of each proof.
pub fn verdicts(all: &[ModuleViews<'_>]) -> String {
    let mut text = String::new();
    for (shown_of, kernel) in
        all.iter().flat_map(|shown| shown.module.report.kernels.iter().map(move |one| (shown, one)))
    {
        for answer in &kernel.answers {
            let why = match answer.verdict {
                Verdict::NotAsked(why) => format!(": {why}"),
                _ if answer.is_stopped => ", stopped by the time limit".to_owned(),
                _ => String::new(),
            };
            let (name, question, verdict) = (source_name(&kernel.kernel), answer.question, answer.verdict);
            let _ = writeln!(text, "{}: {name}: {question}: {verdict}{why}", shown_of.name());
            // The proof for races is also the proof for barriers.
            let is_repeated = question == Question::Barriers
                && kernel.answer(Question::Races).is_some_and(|races| races.assumptions == answer.assumptions);
            let assumptions = answer.assumptions.iter().filter(|_| !is_repeated);
            assumptions.for_each(|assumption| text.push_str(&format!("  if {assumption}\n")));
        }
    }
    text
}
