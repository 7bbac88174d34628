//! The reports of findings at instructions, and the insertion of missing instructions, for any IR.

use std::collections::HashSet;

use ptx_atomics_common::{AsyncMode, Diagnostic, Errors, Location, Outcome, Remark};
use ptx_hazards::{Claim, Edit, Hazard, Position, Rule};
use ptx_isa::{InstPlace, Text};
use ptx_memory_model::ptx::readings::{Ambiguity, Reading, Readings};
use strum::EnumMessage;

use super::listing::Listing;

/// The maximal number of iterations of check and insertion. An insertion rarely exposes a new finding.
const ROUNDS: usize = 8;

/// The result of the check of a module's asynchronous operations.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// The findings, or the reason why the module was not checked.
    pub warnings: Vec<Diagnostic>,
    /// The insertions.
    pub remarks: Vec<Remark>,
}

/// A module, in any IR, whose asynchronous operations are checked.
pub trait Subject {
    /// An instruction or an op.
    type Instruction: Copy + PartialEq;

    /// The PTX of the current module, and the instructions, indexed by their numbers in it.
    ///
    /// # Errors
    /// The errors that prevent compilation.
    fn listing(&self) -> Result<(Listing, Vec<Self::Instruction>), Errors>;

    /// Inserts a PTX instruction that `is_portable` before or after an instruction of the module; `None` if that
    /// position does not exist, such as after the end of a basic block.
    fn insert(&self, beside: Self::Instruction, position: Position, ptx: &str) -> Option<Self::Instruction>;

    /// Removes an inserted instruction.
    fn erase(&self, instruction: Self::Instruction);

    /// The name of the function that contains an instruction.
    fn function(&self, instruction: Self::Instruction) -> String;

    /// The location of an instruction in the source program, or in the input.
    fn location(&self, instruction: Self::Instruction) -> Option<Location>;

    /// The text of an instruction in its IR.
    fn text(&self, instruction: Self::Instruction) -> String;
}

/// A check: the findings in PTX, or the reason why it could not be checked.
pub type Find<'a> = &'a dyn Fn(&str, Readings) -> Result<Vec<Hazard>, Errors>;

/// Whether an instruction of PTX can be moved out of its text: it names no register and no variable.
pub fn is_portable(ptx: &str) -> bool {
    let operands = ptx.split_once(char::is_whitespace).map_or("", |(_, operands)| operands.trim());
    operands.is_empty() || operands.parse::<u32>().is_ok()
}

/// Checks asynchronous operations, and reports or inserts missing instructions as requested.
///
/// # Errors
/// The findings, if the mode denies them.
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

/// Adds the note that a denied finding comes from the analysis, without a witness.
fn by_analysis(mut finding: Diagnostic) -> Diagnostic {
    finding.notes.push("by the analysis alone: `ptx-atomics check` searches for a witness".into());
    finding
}

/// A warning with the reason why the module was not checked.
fn unchecked(mut errors: Errors) -> Checked {
    let reason = errors.first_mut().map(std::mem::take).unwrap_or_default();
    let message = format!("asynchronous operations are not checked: {}", reason.message);
    Checked { warnings: vec![Diagnostic { message, ..reason }], remarks: Vec::new() }
}

/// The findings in PTX.
///
/// # Errors
/// An error if the PTX cannot be parsed.
pub fn find_hazards(ptx: &str, readings: Readings) -> Result<Vec<Hazard>, Errors> {
    let error = |error| Diagnostic::new(format!("LLVM's PTX cannot be read: {error}"));
    let module: ptx_isa::Module = ptx.parse().map_err(error)?;
    Ok(ptx_hazards::read(&module).iter().flat_map(|kernel| ptx_hazards::check(kernel, readings).findings).collect())
}

/// The readings that the insertion uses. They are strict, because a `tcgen05.fence` costs nothing.
fn of_inserter() -> Readings {
    let strict = |readings: Readings, of| readings.with(of, Reading::Strict);
    [Ambiguity::StartAfterEarlier, Ambiguity::FenceBesidesRelease].into_iter().fold(Readings::DEFAULT, strict)
}

/// The data that all steps of the check need.
struct Pass<'a, S> {
    subject: &'a S,
    find: Find<'a>,
}

/// An instruction that was inserted.
struct Inserted<I> {
    itself: I,
    ptx: String,
    /// The instruction next to which it was inserted.
    beside: I,
    position: Position,
    rule: Option<Rule>,
    message: String,
}

impl<S: Subject> Pass<'_, S> {
    fn check(&self) -> Result<Checked, Errors> {
        Ok(Checked { warnings: self.warnings()?, remarks: Vec::new() })
    }

    /// The findings in the current module.
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
            wrong.iter().for_each(|finding| self.repair(finding, &listing, &all, &mut inserted));
            if inserted.len() == before {
                break;
            }
        }
        self.leave_out(&mut inserted)?;
        let remarks = if remarks { inserted.iter().map(|one| self.remark(one)).collect() } else { Vec::new() };
        Ok(Checked { warnings: self.warnings()?, remarks })
    }

    /// Inserts the instructions that a finding requires and that have not been inserted yet. If the position of an
    /// instruction is unknown, or an instruction is not portable, inserts none.
    fn repair(
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

    /// Removes each inserted instruction whose removal causes no new finding. The first instructions are tried first:
    /// if several waits suffice, the latest stays.
    fn leave_out(&self, inserted: &mut Vec<Inserted<S::Instruction>>) -> Result<(), Errors> {
        if inserted.is_empty() {
            return Ok(());
        }
        let (mut listing, all) = self.subject.listing()?;
        // A finding is identified by its message, too: at the same lines, the message about a missing wait differs from
        // the message about a missing wait and barrier.
        let key = |finding: Hazard| (finding.kernel, finding.at.line, finding.first, finding.message);
        let known: HashSet<_> = self.wrong(&listing, of_inserter())?.into_iter().map(key).collect();
        let mut needless = HashSet::new();
        let is_inserted = |number: &usize| inserted.iter().any(|one| one.itself == all[*number]);
        let numbers = (0..all.len()).filter(is_inserted);
        let mut open: Vec<_> = numbers.map(|number| (number, listing.entry(number).map(str::to_owned))).collect();
        while let Some((_, first)) = open.first() {
            // Each trial removes at most one instruction of each kernel, because an instruction does not affect other
            // kernels. An instruction in a function that kernels may call is tried alone.
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
            Some(at) => Some(at.text_relative_to(location.as_ref().map(|location| location.file.as_str()))),
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

    /// A message about lines of the PTX, in which locations of the source replace the lines.
    fn source(&self, message: &Text, beside: Option<Location>, listing: &Listing, all: &[S::Instruction]) -> String {
        let file = beside.map(|at| at.file);
        let place = |at: InstPlace| self.subject.location(*all.get(listing.origin(at.line)?)?);
        message.placed(|at| Some(place(at)?.text_relative_to(file.as_deref())))
    }

    fn remark(&self, inserted: &Inserted<S::Instruction>) -> Remark {
        Remark {
            function: self.subject.function(inserted.beside),
            location: self.subject.location(inserted.beside),
            operation: self.subject.text(inserted.beside),
            outcome: Outcome::Inserted {
                instruction: inserted.ptx.clone(),
                side: if inserted.position == Position::Before { "before" } else { "after" },
                rule: inserted.rule.map_or_else(|| "the check".to_owned(), |rule| rule.to_string()),
                message: inserted.message.clone(),
            },
        }
    }
}

/// The remedy of a finding, without the lines of PTX that no user sees.
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
