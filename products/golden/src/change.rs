//! The judgement of a changed listing: whether the new code is as strong as the old code, and its cost.

use std::fmt;

use itertools::Itertools;
use ptx_atomics::{
    judge::{BasicBlock, ExtraKind, FunctionJudgement, Judgement, judge_function, stated_operations},
    lowering::sass::{Family, ResultUse, Sass},
    ptx::{Code, Function, Instruction, Line, Module},
};

use crate::{
    listing::{Section, read},
    outline::orders,
};

/// A function of the source. Its operations are the measure of the code.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// The operations of the function, in its control flow.
    pub blocks: Vec<BasicBlock>,
    /// The names of the operations in messages.
    pub names: Vec<String>,
}

/// The effects of the change of a listing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// The guarantees of the old code that the new code lacks, with the functions and variants.
    pub weaker: Vec<String>,
    /// The guarantees of the new code that the old code lacks.
    pub stronger: Vec<String>,
    /// The changes that could not be judged.
    pub unknown: Vec<String>,
    /// The cost of the old and of the new code, if they differ.
    pub cost: Vec<String>,
}

impl Change {
    /// Judges the new text of a listing by the old one. Each of `variants` is a GPU and a label that distinguishes
    /// variants of that GPU. `asked` returns the function of the source for a name and the number of a variant; without
    /// one, each code is judged by the operations that the other code states.
    pub fn between<'a>(
        old: &str,
        new: &str,
        variants: &[(&str, &str)],
        asked: impl Fn(&str, usize) -> Option<&'a Asked>,
    ) -> Self {
        let (old, new) = (read(old), read(new));
        let names = old.iter().chain(&new).map(|section| section.name).unique();
        // A message of several variants is printed once, in the order of the functions and of their operations.
        let mut said: Vec<(usize, String, Vec<String>)> = Vec::new();
        for name in names {
            let of = |sections: &[Section<'_>], (gpu, by): (&str, &str)| -> Option<Vec<String>> {
                let section = sections.iter().find(|section| section.name == name)?;
                Some(section.code_of(gpu, by)?.iter().map(|line| (*line).to_owned()).collect())
            };
            for (index, variant) in variants.iter().enumerate() {
                let (before, now) = (of(&old, *variant), of(&new, *variant));
                if before == now {
                    continue;
                }
                let change = match (&before, &now) {
                    (Some(before), Some(now)) => of_function(before, now, variant.0, asked(name, index)),
                    (Some(_), None) => Self { unknown: vec!["the function is gone".into()], ..Self::default() },
                    _ => Self { unknown: vec!["the function is new".into()], ..Self::default() },
                };
                let kinds = [change.weaker, change.stronger, change.unknown, change.cost];
                for (kind, words) in kinds.into_iter().enumerate() {
                    for words in words {
                        let label = [variant.0, variant.1].iter().filter(|word| !word.is_empty()).join(" ");
                        let words = format!("{name}: {words}");
                        match said.iter_mut().find(|(known, text, _)| *known == kind && *text == words) {
                            Some((.., variants)) => variants.push(label),
                            None => said.push((kind, words, vec![label])),
                        }
                    }
                }
            }
        }
        let mut all = Self::default();
        for (kind, words, variants) in said {
            let words = format!("{words} [{}]", variants.join(", "));
            match kind {
                0 => all.weaker.push(words),
                1 => all.stronger.push(words),
                2 => all.unknown.push(words),
                _ => all.cost.push(words),
            }
        }
        all
    }

    /// The verdict in one word.
    pub fn verdict(&self) -> &'static str {
        match (self.weaker.is_empty(), self.stronger.is_empty(), self.unknown.is_empty()) {
            (false, ..) => "WEAKER",
            (true, _, false) => "not judged",
            (true, false, true) => "stronger",
            (true, true, true) => "equal",
        }
    }
}

/// The verdict, and a line for each reason.
impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = match self.verdict() {
            "WEAKER" => "WEAKER: the new text guarantees less than the snapshot",
            "stronger" => "stronger: the new text guarantees more than the snapshot",
            "equal" => "equal: the new text guarantees as much as the snapshot",
            _ => "not judged: the new text may or may not be as strong as the snapshot",
        };
        writeln!(f, "{said}")?;
        let kinds = [
            ("weaker", &self.weaker),
            ("stronger", &self.stronger),
            ("not judged", &self.unknown),
            ("cost", &self.cost),
        ];
        for (kind, reasons) in kinds {
            reasons.iter().try_for_each(|reason| writeln!(f, "  {kind}: {reason}"))?;
        }
        Ok(())
    }
}

fn of_function(old: &[String], new: &[String], gpu: &str, asked: Option<&Asked>) -> Change {
    let (Ok(before), Ok(now)) = (module(old, gpu), module(new, gpu)) else {
        return Change { unknown: vec!["the code is not PTX".into()], ..Change::default() };
    };
    let (Some(before), Some(now)) = (before.functions().next(), now.functions().next()) else {
        return Change::default();
    };
    let compared = match asked {
        Some(asked) => by_source(asked, before, now),
        None => by_each_other(before, now),
    };
    let mut change = compared.unwrap_or_else(|unknown| Change { unknown: vec![unknown], ..Change::default() });
    let (gone, come) = (unmodelled_mnemonics(before), unmodelled_mnemonics(now));
    change.weaker.extend(missing(&gone, &come).map(|text| format!("`{text}` is gone")));
    change.stronger.extend(missing(&come, &gone).map(|text| format!("`{text}` is new")));
    change.cost = cost(before, now, gpu).into_iter().collect();
    change
}

/// Parses the code of a listing as a function.
fn module(code: &[String], gpu: &str) -> Result<Module, ptx_atomics::ptx::ModuleErrors> {
    let lines = code.iter().map(|line| if line.ends_with(':') { format!("{line}\n") } else { format!("{line};\n") });
    format!(".version 9.0\n.target {gpu}\n.func f()\n{{\n{}}}\n", lines.collect::<String>()).parse()
}

/// Compares the guarantees of both codes for each operation of the source.
fn by_source(asked: &Asked, old: &Function, new: &Function) -> Result<Change, String> {
    let judged = |function| judge_function(&asked.blocks, function).map_err(|error| error.to_string());
    let (before, now) = (judged(old)?, judged(new)?);
    let mut change = Change::default();
    for ((name, old), new) in asked.names.iter().zip(&before.operations).zip(&now.operations) {
        let is_lost = new.loss().is_some() && old.loss().is_none();
        let note = if is_lost { "the source asks for it" } else { "the source does not ask for it" };
        let said = |words: Vec<String>| (!words.is_empty()).then(|| words.join(", "));
        change.weaker.extend(said(less(new, old)).map(|words| format!("{name}: {words}; {note}")));
        change.stronger.extend(said(less(old, new)).map(|words| format!("{name}: before, {words}")));
    }
    unclaimed(&before, &now, &mut change);
    Ok(change)
}

/// The guarantees of `than` for an operation that `code` lacks, and the errors that only `code` has.
fn less(code: &Judgement, than: &Judgement) -> Vec<String> {
    let of_strength = code.less_than(than);
    if !of_strength.is_empty() {
        return of_strength;
    }
    let known = |reason: &String| than.violations.iter().any(|violation| violation.reason == *reason);
    code.violations.iter().map(|violation| violation.reason.clone()).filter(|reason| !known(reason)).collect()
}

fn unclaimed(before: &FunctionJudgement, now: &FunctionJudgement, change: &mut Change) {
    let updates =
        |judged: &FunctionJudgement| judged.extras.iter().filter(|extra| extra.kind == ExtraKind::Update).count();
    let (old, new) = (updates(before), updates(now));
    if old != new {
        change.unknown.push(format!("{new} `atom` and `red` implement no operation of the source; before, {old}"));
    }
}

/// Judges each code by the operations that the other code states.
fn by_each_other(old: &Function, new: &Function) -> Result<Change, String> {
    let judged = |stated: &Function, code: &Function| {
        let blocks = stated_operations(stated);
        let judged = judge_function(&blocks, code).map_err(|error| error.to_string())?;
        let own = judge_function(&blocks, stated).map_err(|error| error.to_string())?;
        let lines: Vec<&Line> = stated.body.iter().flatten().collect();
        let text = |judgement: &Judgement| {
            let of_operation = lines.iter().filter(|line| judgement.lines.contains(&line.number));
            of_operation.map(|line| &line.text).join("; ")
        };
        let pairs = judged.operations.iter().zip(&own.operations);
        Ok::<_, String>(
            pairs
                .flat_map(|(found, own)| less(found, own).into_iter().map(move |words| (text(own), words)))
                .collect_vec(),
        )
    };
    let said = |(text, words): (String, String)| format!("`{text}`: {words}");
    Ok(Change {
        weaker: judged(old, new)?.into_iter().map(said).collect(),
        stronger: judged(new, old)?.into_iter().map(|(text, words)| format!("`{text}`: before, {words}")).collect(),
        ..Change::default()
    })
}

/// The mnemonics of instructions that order memory and are not modelled: proxy fences, barriers, asynchronous
/// instructions.
fn unmodelled_mnemonics(function: &Function) -> Vec<&str> {
    let of_line = |line: &'_ Line| match &line.code {
        Code::Other(other) if orders(other) => Some(other.mnemonic.len()),
        _ => None,
    };
    let lines = function.body.iter().flatten().filter(|line| of_line(line).is_some());
    lines.filter_map(|line| if let Code::Other(other) = &line.code { Some(&*other.mnemonic) } else { None }).collect()
}

/// The words that one list has more often than another list.
fn missing<'t>(of: &[&'t str], in_: &[&'t str]) -> impl Iterator<Item = &'t str> {
    let found = in_.iter().copied().counts();
    let wanted = of.iter().copied().counts();
    wanted
        .into_iter()
        .filter(move |(word, count)| found.get(word).is_none_or(|found| found < count))
        .map(|(word, _)| word)
        .sorted()
}

/// The costs of both codes, if they differ: the barriers that ptxas makes of each code, and the number of its memory
/// instructions.
fn cost(old: &Function, new: &Function, gpu: &str) -> Option<String> {
    let family = Family::from_sm(gpu.parse().ok()?)?;
    let of = |function: &Function| -> Option<(usize, usize)> {
        let instructions = function.body.iter().flatten().filter_map(|line| match &line.code {
            Code::Instruction { instruction, .. } => Some(instruction),
            _ => None,
        });
        let sass: Sass = instructions.map(|instruction| measured(instruction, family)).collect::<Option<_>>()?;
        let counts = sass.counts();
        Some((counts.membar + counts.errbar + counts.cctl, sass.opcodes().len()))
    };
    let (before, now) = (of(old)?, of(new)?);
    (before != now).then(|| {
        let words = |(heavy, all): (usize, usize)| format!("{heavy} heavy of {all} instructions of memory");
        format!("{} before, {} now", words(before), words(now))
    })
}

fn measured(instruction: &Instruction, family: Family) -> Option<Sass> {
    Sass::from_instruction(instruction, ResultUse::Read, family)
}

#[cfg(test)]
mod tests {
    use ptx_atomics::lowering::{
        Access, AtomicOp, Operation, Ordering, RmwOp, SyncScope, Type,
        ptx::{Scope, Space},
    };

    use super::*;

    fn listing(body: &str) -> String {
        let lines = body.split("; ").map(|line| format!("      {line}\n")).collect::<String>();
        format!("f\n  sm_90\n{lines}\n")
    }

    /// Checks the judgement of a change, with or without the source.
    fn check(asked: Option<&Asked>, old: &str, new: &str, expected: &str) {
        let change = Change::between(&listing(old), &listing(new), &[("sm_90", "fence")], |_, _| asked);
        let said = [&change.weaker, &change.stronger, &change.unknown].into_iter().flatten().join(" | ");
        assert_eq!(format!("{}: {said}", change.verdict()), expected, "{old} to {new}");
    }

    fn add(ordering: Ordering) -> Asked {
        let operation = Operation::Rmw(RmwOp::Add, Access::new(Space::Global, Type::I32));
        let op = AtomicOp { operation, ordering, scope: SyncScope::Threads(Scope::Gpu) };
        Asked { blocks: vec![BasicBlock { operations: vec![op], next: Vec::new() }], names: vec!["add".into()] }
    }

    fn atom(words: &str) -> String {
        format!("atom.{words}.global.add.u32 %r1, [%rd1], 1")
    }

    #[test]
    fn texts_are_compared_with_their_source() {
        let acquire = add(Ordering::Acquire);
        let check = |old: &str, new: &str, expected| check(Some(&acquire), old, new, expected);
        check(
            &atom("acquire.gpu"),
            &atom("relaxed.gpu"),
            "WEAKER: f: add: no acquire, which had scope gpu; the source asks for it [sm_90 fence]",
        );
        check(
            &atom("acquire.sys"),
            &atom("acquire.gpu"),
            "WEAKER: f: add: acquire at scope gpu, not sys, strong access at scope gpu, not sys; the source does not ask for it \
             [sm_90 fence]",
        );
        let fenced = format!("{}; fence.acquire.gpu", atom("relaxed.gpu"));
        check(&atom("acquire.gpu"), &fenced, "equal: ");
        check(&fenced, &atom("acquire.gpu"), "equal: ");
        check(&atom("relaxed.gpu"), &fenced, "stronger: f: add: before, no acquire, which had scope gpu [sm_90 fence]");
        check("add.u32 %r1, %r2, 1", "add.u32 %r2, %r1, 1", "equal: ");
        let two = format!("{0}; {0}", atom("acquire.gpu"));
        check(
            &atom("acquire.gpu"),
            &two,
            "not judged: f: 1 `atom` and `red` implement no operation of the source; before, 0 [sm_90 fence]",
        );
    }

    #[test]
    fn texts_are_compared_without_a_source() {
        let check = |old: &str, new: &str, expected| check(None, old, new, expected);
        check(
            "ld.acquire.gpu.global.b32 %r1, [%rd1]",
            "ld.relaxed.gpu.global.b32 %r1, [%rd1]",
            "WEAKER: f: `ld.acquire.gpu.global.b32 %r1, [%rd1]`: no acquire, which had scope gpu [sm_90 fence]",
        );
        check("bar.sync 0; membar.gl", "membar.gl", "WEAKER: f: `bar.sync` is gone [sm_90 fence]");
        check("membar.gl", "fence.proxy.async; membar.gl", "stronger: f: `fence.proxy.async` is new [sm_90 fence]");
        check("fence.sc.gpu", "membar.gl", "equal: ");
    }

    #[test]
    fn costs_and_functions() {
        let gone =
            Change::between(&listing("membar.gl"), "g\n  sm_90\n      membar.gl\n", &[("sm_90", "")], |_, _| None);
        assert_eq!(gone.unknown, ["f: the function is gone [sm_90]", "g: the function is new [sm_90]"]);
        let fenced =
            Change::between(&listing("fence.sc.gpu"), &listing("fence.acq_rel.cta"), &[("sm_90", "")], |_, _| None);
        assert_eq!(fenced.cost.len(), 1, "{fenced}");
        assert!(fenced.cost[0].contains("before") && fenced.to_string().starts_with("WEAKER"), "{fenced}");
    }
}
