//! The edits of the text for the optimizer's changes.

use std::ops::Range;

use crate::{Event, Function};
use ptx_isa::{Sem, flat::Action, mnemonic::ordered};
use ptx_lowering::{AtomicOp, Operation, Ordering, Policy, SyncScope, Target, lower};
use rustc_hash::FxHashMap;

use crate::text::feed::{Fed, mnemonic};

/// A change of the text: the span is replaced by `text`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    pub span: Range<usize>,
    pub text: String,
}

/// The text with all edits applied. Edits do not nest; edits at the same position keep their order. A line that becomes
/// empty is removed.
pub fn edited(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|edit| (edit.span.start, edit.span.end));
    let (mut made, mut at) = (String::with_capacity(text.len()), 0);
    for (index, Edit { span, text: new }) in edits.iter().enumerate() {
        let mut span = span.clone();
        let mut new = &**new;
        let is_removal = |edit: &&Edit| edit.text.is_empty();
        let before = index.checked_sub(1).map(|index| &edits[index]);
        if new.is_empty() {
            let line = line_of(text, &span);
            let touches = |other: &Edit| other.span.end > line.start && other.span.start < line.end;
            let beside = before.into_iter().chain(edits.get(index + 1));
            let is_alone = text[line.start..span.start].trim().is_empty() && text[span.end..line.end].trim().is_empty();
            if is_alone && !beside.into_iter().any(touches) {
                span = line;
            }
        } else if before.filter(is_removal).is_some_and(|removed| removed.span.end == span.start) {
            // The new text takes the line of the removed instruction.
            new = new.trim_start();
        }
        made.push_str(&text[at..span.start]);
        made.push_str(new);
        at = span.end;
    }
    made.push_str(&text[at..]);
    made
}

/// The lines of a span, including the last newline.
fn line_of(text: &str, span: &Range<usize>) -> Range<usize> {
    let start = text[..span.start].rfind('\n').map_or(0, |newline| newline + 1);
    let end = text[span.end..].find('\n').map_or(text.len(), |newline| span.end + newline + 1);
    start..end
}

/// Label names that do not occur in a text.
pub struct Labels {
    stem: String,
    count: usize,
}

impl Labels {
    pub fn new(text: &str) -> Self {
        let mut stem = "$rewritten".to_owned();
        while text.contains(&stem) {
            stem.push('_');
        }
        Self { stem, count: 0 }
    }

    pub fn new_one(&mut self) -> String {
        self.count += 1;
        format!("{}{}", self.stem, self.count - 1)
    }
}

/// The edits that turn a function into the optimizer's result; `None` if an edge has no position in the text.
pub fn apply(text: &str, fed: &Fed<'_>, after: &Function, target: &Target, labels: &mut Labels) -> Option<Vec<Edit>> {
    let mut applier = Applier { text, fed, target, labels, edits: Vec::new() };
    let known = fed.function.blocks.len();
    let before: FxHashMap<usize, AtomicOp> =
        fed.function.events().filter_map(|event| Some((event.id?, event.atomic()?.op))).collect();
    let left: FxHashMap<usize, AtomicOp> =
        after.events().filter_map(|event| Some((event.id?, event.atomic()?.op))).collect();
    for (step, op) in before {
        match left.get(&step) {
            None => applier.remove(step),
            Some(new) if *new != op => applier.change(step, new)?,
            Some(_) => {}
        }
    }
    for (number, block) in after.blocks[..known].iter().enumerate() {
        for (index, event) in block.events.iter().enumerate().filter(|(_, event)| event.id.is_none()) {
            let following = block.events[index..].iter().find_map(|event| event.id);
            applier.within(number, event, following)?;
        }
    }
    for block in &after.blocks[known..] {
        let (from, to) = block.on_edge.filter(|(from, to)| *from < known && *to < known)?;
        if !block.events.is_empty() {
            applier.between(from, to, &block.events)?;
        }
    }
    Some(applier.edits)
}

/// The span of an instruction, including its semicolon.
pub fn span(text: &str, fed: &Fed<'_>, step: usize) -> Range<usize> {
    let Range { start, end } = fed.lines[step].span;
    let rest = &text[end..];
    let blank = rest.len() - rest.trim_start().len();
    if rest[blank..].starts_with(';') && !text[start..end].ends_with(';') { start..end + blank + 1 } else { start..end }
}

/// The leading white space of a line.
pub fn indent(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let line = &text[start..at];
    &line[..line.len() - line.trim_start().len()]
}

struct Applier<'a, 'm> {
    text: &'a str,
    fed: &'a Fed<'m>,
    target: &'a Target,
    labels: &'a mut Labels,
    edits: Vec<Edit>,
}

impl Applier<'_, '_> {
    fn span(&self, step: usize) -> Range<usize> {
        span(self.text, self.fed, step)
    }

    fn indent(&self, at: usize) -> &str {
        indent(self.text, at)
    }

    fn insert(&mut self, at: usize, text: String) {
        self.edits.push(Edit { span: at..at, text });
    }

    fn remove(&mut self, step: usize) {
        self.edits.push(Edit { span: self.span(step), text: String::new() });
    }

    /// Gives an instruction another ordering and another scope.
    fn change(&mut self, step: usize, new: &AtomicOp) -> Option<()> {
        let span = self.span(step);
        let own = &self.text[span.clone()];
        let words = mnemonic(own);
        // A comment may precede the mnemonic.
        let at = own.find(words).filter(|at| !own[..*at].contains('/'))?;
        let span = span.start + at..span.start + at + words.len();
        let text = match new.operation {
            Operation::Fence => self.fence(new)?,
            _ => respelled(words, new)?,
        };
        self.edits.push(Edit { span, text });
        Some(())
    }

    /// A fence, without a semicolon.
    fn fence(&self, op: &AtomicOp) -> Option<String> {
        let sequence = lower(op, &Policy::default(), self.target).ok()?.sequence;
        match sequence.statements() {
            [fence] => Some(fence.to_string().trim().trim_end_matches(';').to_owned()),
            _ => None,
        }
    }

    /// Inserts a fence into an existing block: before an instruction, or otherwise at the end.
    fn within(&mut self, block: usize, event: &Event, following: Option<usize>) -> Option<()> {
        let steps = self.fed.blocks[block].clone();
        let fence = self.fence(&event.atomic()?.op)?;
        let last = steps.clone().next_back()?;
        // A guarded instruction has a block by itself, in which no fence can be placed.
        if steps.clone().any(|step| self.is_guarded_event(step)) {
            return None;
        }
        match following {
            Some(step) => self.in_front(step, &fence),
            None if self.is_jump(last) => self.in_front(last, &fence),
            None => self.insert_fence_after(last, &fence),
        }
        Some(())
    }

    fn is_guarded_event(&self, step: usize) -> bool {
        let is_event = self.fed.function.events().any(|event| event.id == Some(step));
        is_event && self.fed.flat.steps[step].guard.is_some()
    }

    fn is_jump(&self, step: usize) -> bool {
        self.fed.flat.steps[step].action.jumps()
    }

    fn in_front(&mut self, step: usize, fence: &str) {
        let start = self.span(step).start;
        let indent = self.indent(start).to_owned();
        self.insert(start, format!("{fence};\n{indent}"));
    }

    fn insert_fence_after(&mut self, step: usize, fence: &str) {
        let Range { start, end } = self.span(step);
        let indent = self.indent(start).to_owned();
        self.insert(end, format!("\n{indent}{fence};"));
    }

    /// Inserts fences on an edge.
    fn between(&mut self, from: usize, to: usize, events: &[Event]) -> Option<()> {
        let last = self.fed.blocks[from].clone().next_back()?;
        if self.is_guarded_event(last) {
            return None;
        }
        let fences = events.iter().map(|event| self.fence(&event.atomic()?.op)).collect::<Option<Vec<_>>>()?;
        let fences = fences.join("; ");
        let step = &self.fed.flat.steps[last];
        let falls = self.fed.begins.get(&(last + 1)) == Some(&to);
        match &step.action {
            Action::Jump(targets, None) => {
                let [target] = targets[..] else { return None };
                let jumps = self.fed.begins.get(&self.fed.flat.labels[target].at) == Some(&to);
                match (jumps, falls && step.guard.is_some()) {
                    (true, false) if step.guard.is_none() => self.in_front(last, &fences),
                    (true, false) => self.aside(last, &fences)?,
                    (false, true) => self.insert_fence_after(last, &fences),
                    _ => return None,
                }
            }
            action if action.jumps() => match falls && step.guard.is_some() {
                true => self.insert_fence_after(last, &fences),
                false => return None,
            },
            _ => self.insert_fence_after(last, &fences),
        }
        Some(())
    }

    /// Inserts fences for the taken side of a guarded branch: the opposite guard jumps over them.
    fn aside(&mut self, branch: usize, fences: &str) -> Option<()> {
        let span = self.span(branch);
        let own = self.text[span.clone()].to_owned();
        let rest = own.strip_prefix('@')?;
        let (guard, jump) = rest.split_at(rest.find(char::is_whitespace)?);
        let opposite = guard.strip_prefix('!').map_or_else(|| format!("!{guard}"), str::to_owned);
        let (label, indent) = (self.labels.new_one(), self.indent(span.start).to_owned());
        let jump = jump.trim();
        let text = format!("@{opposite} bra {label};\n{indent}{fences};\n{indent}{jump}\n{label}:");
        self.edits.push(Edit { span, text });
        Some(())
    }
}

/// The mnemonic of an access with the ordering and the scope of an operation.
pub fn respelled(mnemonic: &str, new: &AtomicOp) -> Option<String> {
    let ordering = match new.operation {
        Operation::CmpXchg { failure, .. } => new.ordering.join(failure),
        _ => new.ordering,
    };
    let sem = match ordering {
        Ordering::Unordered | Ordering::SeqCst => return None,
        Ordering::Relaxed => Sem::Relaxed,
        Ordering::Acquire => Sem::Acquire,
        Ordering::Release => Sem::Release,
        Ordering::AcqRel => Sem::AcqRel,
    };
    let SyncScope::Threads(scope) = new.scope else { return None };
    Some(ordered(mnemonic, sem, scope))
}
