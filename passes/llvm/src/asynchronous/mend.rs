//! What is found, said of instructions and mended, whatever the IR.

use std::collections::HashSet;

use ptx_atomics_common::{AsyncMode, Diagnostic, Errors, Location, Outcome, Remark};
use ptx_hazards::{Claim, Edit, Hazard, Position, Rule};
use ptx_isa::{InstPlace, Text};
use ptx_memory_model::ptx::readings::{Ambiguity, Reading, Readings};
use strum::EnumMessage;

use super::listing::Listing;

/// How often what is missing is looked for and inserted. What an insertion brings to light is rare.
const ROUNDS: usize = 8;

/// What is said of the asynchronous operations of a module.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// What is wrong, or why nothing was checked.
    pub warnings: Vec<Diagnostic>,
    /// What was inserted.
    pub remarks: Vec<Remark>,
}

/// A module of any IR whose asynchronous operations are checked.
pub trait Subject {
    /// An instruction or an op.
    type Instruction: Copy + PartialEq;

    /// The PTX of the module as it is, and the instructions by their numbers in it.
    ///
    /// # Errors
    /// Whatever keeps it from being compiled.
    fn listing(&self) -> Result<(Listing, Vec<Self::Instruction>), Errors>;

    /// Puts an instruction of PTX that `is_portable` next to one of the module; nothing where there is no place, as behind the
    /// end of a block.
    fn insert(&self, beside: Self::Instruction, position: Position, ptx: &str) -> Option<Self::Instruction>;

    /// Takes out what was inserted.
    fn erase(&self, instruction: Self::Instruction);

    /// The name of the function in which an instruction stands.
    fn function(&self, instruction: Self::Instruction) -> String;

    /// Where it stands in the source program, or in the input.
    fn location(&self, instruction: Self::Instruction) -> Option<Location>;

    /// As its IR is printed.
    fn text(&self, instruction: Self::Instruction) -> String;
}

/// What is wrong in PTX, or why that is not known.
pub type Find<'a> = &'a dyn Fn(&str, Readings) -> Result<Vec<Hazard>, Errors>;

/// Whether an instruction of PTX can stand elsewhere than in its text: it names no register and no variable.
pub fn is_portable(ptx: &str) -> bool {
    let operands = ptx.split_once(char::is_whitespace).map_or("", |(_, operands)| operands.trim());
    operands.is_empty() || operands.parse::<u32>().is_ok()
}

/// Looks for what asynchronous operations lack, and does about it what is asked for.
///
/// # Errors
/// What is wrong, if that is denied.
pub fn check(
    subject: &impl Subject,
    asynchronous: AsyncMode,
    remarks: bool,
    find: Find<'_>,
) -> Result<Checked, Errors> {
    let pass = Pass { subject, find };
    let done = match asynchronous {
        AsyncMode::Off => return Ok(Checked::default()),
        AsyncMode::Insert => pass.insert(remarks),
        AsyncMode::Check | AsyncMode::Deny => pass.check(),
    };
    match done {
        Ok(checked) if asynchronous == AsyncMode::Deny => {
            let all: Vec<_> = checked.warnings.into_iter().map(by_analysis).collect();
            Errors::from(all).or(Checked::default())
        }
        Ok(checked) => Ok(checked),
        Err(errors) => Ok(unchecked(errors)),
    }
}

/// What is denied without an execution.
fn by_analysis(mut finding: Diagnostic) -> Diagnostic {
    finding.notes.push("by the analysis alone: `ptx-atomics check` looks for an execution that shows it".into());
    finding
}

/// Why nothing was checked, as a warning.
fn unchecked(mut errors: Errors) -> Checked {
    let reason = errors.first_mut().map(std::mem::take).unwrap_or_default();
    let message = format!("asynchronous operations are not checked: {}", reason.message);
    Checked { warnings: vec![Diagnostic { message, ..reason }], remarks: Vec::new() }
}

/// What is wrong with PTX.
///
/// # Errors
/// If it is not read.
pub fn found(ptx: &str, readings: Readings) -> Result<Vec<Hazard>, Errors> {
    let error = |error| Diagnostic::new(format!("LLVM's PTX is not read: {error}"));
    let module: ptx_isa::Module = ptx.parse().map_err(error)?;
    Ok(ptx_hazards::read(&module).iter().flat_map(|kernel| ptx_hazards::check(kernel, readings).findings).collect())
}

/// The readings by which is inserted: a `tcgen05.fence` costs nothing.
fn of_inserter() -> Readings {
    let strict = |readings: Readings, of| readings.with(of, Reading::Strict);
    [Ambiguity::StartAfterEarlier, Ambiguity::FenceBesidesRelease].into_iter().fold(Readings::DEFAULT, strict)
}

/// What all steps need.
struct Pass<'a, S> {
    subject: &'a S,
    find: Find<'a>,
}

/// An instruction that was inserted.
struct Inserted<I> {
    itself: I,
    ptx: String,
    /// The instruction beside which it stands.
    beside: I,
    position: Position,
    rule: Option<Rule>,
    message: String,
}

impl<S: Subject> Pass<'_, S> {
    fn check(&self) -> Result<Checked, Errors> {
        Ok(Checked { warnings: self.warnings()?, remarks: Vec::new() })
    }

    /// What is wrong with the module as it is.
    fn warnings(&self) -> Result<Vec<Diagnostic>, Errors> {
        let (listing, all) = self.subject.listing()?;
        let wrong = self.wrong(&listing, Readings::DEFAULT)?;
        Ok(wrong.iter().map(|finding| self.diagnostic(finding, &listing, &all)).collect())
    }

    fn wrong(&self, listing: &Listing, readings: Readings) -> Result<Vec<Hazard>, Errors> {
        let found = (self.find)(&listing.ptx, readings)?;
        Ok(found.into_iter().filter(|finding| finding.claim == Claim::Wrong).collect())
    }

    fn insert(&self, remarks: bool) -> Result<Checked, Errors> {
        let mut inserted: Vec<Inserted<S::Instruction>> = Vec::new();
        for _ in 0..ROUNDS {
            let (listing, all) = self.subject.listing()?;
            let wrong = self.wrong(&listing, of_inserter())?;
            let before = inserted.len();
            wrong.iter().for_each(|finding| self.mend(finding, &listing, &all, &mut inserted));
            if inserted.len() == before {
                break;
            }
        }
        self.leave_out(&mut inserted)?;
        let remarks = if remarks { inserted.iter().map(|one| self.remark(one)).collect() } else { Vec::new() };
        Ok(Checked { warnings: self.warnings()?, remarks })
    }

    /// Inserts what a finding asks for, unless some of it has no place, or stands there already.
    fn mend(
        &self,
        finding: &Hazard,
        listing: &Listing,
        all: &[S::Instruction],
        inserted: &mut Vec<Inserted<S::Instruction>>,
    ) {
        let place = |edit: &Edit| {
            let beside = *all.get(listing.origin(edit.at.line)?)?;
            is_portable(&edit.instruction).then_some(beside)
        };
        let edits = finding.remedy.iter().flat_map(|remedy| &remedy.edits);
        let Some(places) = edits.clone().map(place).collect::<Option<Vec<_>>>() else { return };
        for (edit, beside) in edits.zip(places) {
            let (position, instruction) = (edit.position, &edit.instruction);
            let is_same = |one: &Inserted<S::Instruction>| {
                one.beside == beside && one.position == position && one.ptx == *instruction
            };
            if inserted.iter().any(is_same) {
                continue;
            }
            if let Some(itself) = self.subject.insert(beside, position, instruction) {
                let ptx = instruction.clone();
                let message = self.source(&finding.message, self.subject.location(beside), listing, all);
                inserted.push(Inserted { itself, ptx, beside, position, rule: finding.rule, message });
            }
        }
    }

    /// Takes out again what can be left out without anything being wrong that is not wrong with it. What stands first is tried
    /// first, so that waits stay where they are latest.
    fn leave_out(&self, inserted: &mut Vec<Inserted<S::Instruction>>) -> Result<(), Errors> {
        if inserted.is_empty() {
            return Ok(());
        }
        let (mut listing, all) = self.subject.listing()?;
        // Without a wait, another message is said of the same lines than without the barrier that is missing, too.
        let key = |finding: Hazard| (finding.kernel, finding.at.line, finding.first, finding.message);
        let known: HashSet<_> = self.wrong(&listing, of_inserter())?.into_iter().map(key).collect();
        let mut needless = HashSet::new();
        let is_inserted = |number: &usize| inserted.iter().any(|one| one.itself == all[*number]);
        let numbers = (0..all.len()).filter(is_inserted);
        let mut open: Vec<_> = numbers.map(|number| (number, listing.entry(number).map(str::to_owned))).collect();
        while let Some((_, first)) = open.first() {
            // One of each kernel, which says nothing of other kernels. What kernels may call is tried alone.
            let (alone, mut kernels) = (first.is_none(), HashSet::new());
            let tries = |(_, kernel): &mut (usize, Option<String>)| match kernel {
                Some(kernel) => !alone && kernels.insert(kernel.clone()),
                None => alone && kernels.insert(String::new()),
            };
            let tried: Vec<_> = open.extract_if(.., tries).collect();
            let numbers: HashSet<_> = tried.iter().map(|(number, _)| *number).collect();
            let found = self.wrong(&listing.without(&numbers), of_inserter())?.into_iter().map(key);
            let wrong: HashSet<_> = found.filter(|found| !known.contains(found)).map(|(kernel, ..)| kernel).collect();
            let elsewhere = wrong.iter().any(|kernel| !kernels.contains(kernel));
            let needs = |kernel: &Option<String>| elsewhere || kernel.as_ref().is_some_and(|name| wrong.contains(name));
            needless.extend(tried.iter().filter(|(_, kernel)| !needs(kernel)).map(|(number, _)| *number));
            listing = listing.without(&needless);
        }
        let is_needless = |itself| needless.iter().any(|number| all[*number] == itself);
        let taken: Vec<_> = inserted.extract_if(.., |one| is_needless(one.itself)).collect();
        taken.iter().for_each(|one| self.subject.erase(one.itself));
        Ok(())
    }

    fn diagnostic(&self, finding: &Hazard, listing: &Listing, all: &[S::Instruction]) -> Diagnostic {
        let of = |line: u32| listing.origin(line).and_then(|number| all.get(number).copied());
        let instruction = of(finding.at.line);
        let location = instruction.and_then(|instruction| self.subject.location(instruction));
        let message = self.source(&finding.message, location.clone(), listing, all);
        let first = finding.first.and_then(|place| Some((place, of(place.line)?)));
        let first = first.filter(|(_, first)| Some(*first) != instruction);
        let first = first.and_then(|(place, first)| match self.subject.location(first) {
            Some(_) if finding.message.names(place) => None,
            Some(at) => Some(at.beside(location.as_ref().map(|location| location.file.as_str()))),
            None => Some(format!("`{}`", self.subject.text(first))),
        });
        let first = first.map(|place| format!("the first access is {place}"));
        let rule = finding.rule.map(|rule| format!("rule {rule}: {}", rule.get_message().unwrap_or_default()));
        Diagnostic {
            message,
            function: Some(instruction.map_or_else(|| finding.kernel.clone(), |of| self.subject.function(of))),
            location: location.clone(),
            operation: instruction.map(|of| self.subject.text(of)),
            notes: first.into_iter().chain(rule).collect(),
            help: help(finding),
        }
    }

    /// A message about lines of the PTX, with places of the source in their stead.
    fn source(&self, message: &Text, beside: Option<Location>, listing: &Listing, all: &[S::Instruction]) -> String {
        let file = beside.map(|at| at.file);
        let place = |at: InstPlace| self.subject.location(*all.get(listing.origin(at.line)?)?);
        message.placed(|at| Some(place(at)?.beside(file.as_deref())))
    }

    fn remark(&self, inserted: &Inserted<S::Instruction>) -> Remark {
        Remark {
            function: self.subject.function(inserted.beside),
            location: self.subject.location(inserted.beside),
            operation: self.subject.text(inserted.beside),
            outcome: Outcome::Inserted {
                instruction: inserted.ptx.clone(),
                side: if inserted.position == Position::Before { "in front of" } else { "behind" },
                rule: inserted.rule.map_or_else(|| "the check".to_owned(), |rule| rule.to_string()),
                message: inserted.message.clone(),
            },
        }
    }
}

/// What would mend a finding, without the lines of PTX that nobody sees.
fn help(finding: &Hazard) -> Option<String> {
    let remedy = finding.remedy.as_ref()?;
    if remedy.edits.is_empty() {
        return Some(remedy.help.clone());
    }
    let mut instructions: Vec<&str> = Vec::new();
    for edit in &remedy.edits {
        if !instructions.contains(&edit.instruction.as_str()) {
            instructions.push(&edit.instruction);
        }
    }
    let does = if instructions.iter().all(|ptx| is_portable(ptx)) { "; async=insert does it" } else { "" };
    Some(format!("insert {}{does}", instructions.join(" and ")))
}
