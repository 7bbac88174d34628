//! The comparison of the check with the memory model on a program.

use std::{
    collections::BTreeMap,
    fmt::{self, Display, Formatter},
};

use libtest_mimic::Failed;
use ptx_hazards::{Claim, Hazard, Report, Rule, check, litmus, read};
use ptx_isa::Module;
use ptx_memory_model::{
    execution::Event,
    litmus::{Litmus, Read},
    outcome::Limits,
    ptx::{Conventions, Proxy, Ptx, race::Missing, readings::Readings, search},
    unfold::Limit,
};

use crate::program::{Text, program};

const PROFILES: [(&str, Readings); 2] = [("strict", Readings::STRICT), ("default", Readings::DEFAULT)];
/// The largest number of times that missing instructions are inserted.
const ROUNDS: usize = 6;

/// The verdict of the memory model on a program.
pub enum Model {
    /// Two lines race.
    Races {
        lines: [Option<u32>; 2],
        why: Missing,
    },
    /// Two synchronous accesses race: the check does not cover them.
    RacesOtherwise,
    Ordered,
    Hangs,
    Unknown,
}

/// The numbers of programs of each kind, in both profiles.
#[derive(Default)]
pub struct Counts {
    programs: u64,
    of: [OfProfile; 2],
    /// The disagreements: a short description, the number of programs, and the first such program.
    disagreements: BTreeMap<String, (u64, String)>,
}

#[derive(Default)]
struct OfProfile {
    races: u64,
    /// Races for which the check finds an error.
    found: u64,
    /// Errors whose instructions are not in the model's race.
    elsewhere: u64,
    /// Programs whose first error has a litmus test.
    tests: u64,
    /// Races for which the check gives a warning.
    warned: u64,
    /// Races that the check leaves undecided.
    not_checked: u64,
    races_otherwise: u64,
    ordered: u64,
    false_findings: u64,
    /// Ordered programs that the check leaves undecided.
    ordered_not_checked: u64,
    hangs: u64,
    unknown: u64,
    /// Races without any finding after all remedies are inserted.
    mended: u64,
    /// Races that need more than inserted instructions.
    not_mended: u64,
    put_in: u64,
    /// Inserted instructions that are needed: without one of them, the check has a finding.
    needed: u64,
}

pub fn model(text: &Text, readings: Readings) -> Result<Model, String> {
    let litmus = text.litmus();
    let Read { litmus, lines, .. } =
        Litmus::read_with_lines(&litmus, Default::default()).map_err(|error| format!("{litmus}{error}"))?;
    let conventions = Conventions { readings, ..Conventions::MANUAL };
    Ok(match search::race(&litmus.program, conventions, Limits::default()) {
        Ok(None) => Model::Ordered,
        Ok(Some(race)) => {
            let both = [race.first, race.second].map(|event| &race.execution.skeleton.events[event]);
            let is_plain = |event: &Event<Ptx>| event.operation.is_none() && event.proxy() == Proxy::Generic;
            let line = |event: &Event<Ptx>| {
                let thread = event.thread?;
                text.line(thread, *lines.get(thread)?.get(event.statement)?)
            };
            if both.into_iter().all(is_plain) {
                Model::RacesOtherwise
            } else {
                Model::Races { lines: both.map(line), why: race.why }
            }
        }
        Err(Limit::Hangs) => Model::Hangs,
        Err(_) => Model::Unknown,
    })
}

/// The findings about two accesses of the threads. Findings about the code before and after the threads are left out,
/// because it is in no program; so are notes about one instruction, which report that it is not needed.
fn findings(text: &Text, readings: Readings) -> Result<Vec<Hazard>, String> {
    let kernel = text.kernel();
    let module: Module = kernel.parse().map_err(|error| format!("{kernel}{error}"))?;
    let reports = read(&module).iter().map(|kernel| check(kernel, readings)).collect::<Vec<Report>>();
    let findings = reports.into_iter().flat_map(|report| report.findings);
    let is_of_threads = |line: u32| text.thread(line).is_some();
    let is_asked =
        // The end of shared memory with its CTA does not cause a race.
        |of: &Hazard| (of.claim, of.rule) != (Claim::Note, Some(Rule::R7)) && is_of_threads(of.at.line) && of.first.map_or(of.claim == Claim::NotChecked, |first| is_of_threads(first.line));
    Ok(findings.filter(is_asked).collect())
}

/// Whether the first error has a litmus test.
fn has_test(text: &Text, findings: &[Hazard], readings: Readings) -> Result<bool, String> {
    let kernel = text.kernel();
    let module: Module = kernel.parse().map_err(|error| format!("{kernel}{error}"))?;
    let finding = findings.iter().find(|finding| finding.claim == Claim::Wrong);
    let test = read(&module).first().zip(finding).and_then(|(kernel, finding)| litmus(kernel, finding, readings));
    Ok(test.is_some())
}

fn any(findings: &[Hazard], claim: Claim) -> bool {
    findings.iter().any(|finding| finding.claim == claim)
}

impl Counts {
    /// Checks the program with a number, if there is one.
    pub fn compare(&mut self, number: u64) {
        let Some(program) = program(number) else { return };
        self.programs += 1;
        let text = Text::new(&program);
        for (index, (profile, readings)) in PROFILES.into_iter().enumerate() {
            if let Err(error) = self.compare_in(&text, index, profile, readings) {
                self.disagree(format!("{profile}: cannot be read"), error);
            }
        }
    }

    fn compare_in(&mut self, text: &Text, index: usize, profile: &str, readings: Readings) -> Result<(), String> {
        let model = model(text, readings)?;
        let findings = findings(text, readings)?;
        let of = &mut self.of[index];
        let word = |line: Option<u32>| line.map_or("?", |line| word(text.instruction(line)));
        match model {
            Model::Races { lines, why } => {
                of.races += 1;
                let both = |of: &Hazard| {
                    let own = [of.first.map(|first| first.line), Some(of.at.line)];
                    lines == own || lines == [own[1], own[0]]
                };
                if any(&findings, Claim::Wrong) {
                    of.found += 1;
                    let has_test = has_test(text, &findings, readings)?;
                    of.tests += u64::from(has_test);
                    if !findings.iter().any(both) {
                        of.elsewhere += 1;
                    }
                    if !has_test {
                        self.disagree(format!("{profile}: a finding has no litmus test"), text.litmus());
                    }
                    self.mend(text, index, profile, readings, findings)?;
                } else if findings.iter().any(both) {
                    of.warned += 1;
                    self.mend(text, index, profile, readings, findings)?;
                } else if any(&findings, Claim::NotChecked) {
                    of.not_checked += 1;
                } else {
                    let [first, second] = lines.map(word);
                    self.disagree(format!("{profile}: a race is missed: {first} and {second} ({why})"), text.litmus());
                }
            }
            Model::RacesOtherwise => of.races_otherwise += 1,
            Model::Ordered => {
                of.ordered += 1;
                of.ordered_not_checked += u64::from(any(&findings, Claim::NotChecked));
                if let Some(Hazard { rule, at, first, message, .. }) =
                    findings.iter().find(|finding| finding.claim != Claim::NotChecked)
                {
                    of.false_findings += 1;
                    let (first, second) = (word(first.map(|first| first.line)), word(Some(at.line)));
                    let rule = rule.map_or("no rule".to_owned(), |rule| rule.to_string());
                    let what = format!("{profile}: a false finding: {rule} at {first} and {second}");
                    self.disagree(what, format!("{message}\n{}", text.litmus()));
                }
            }
            Model::Hangs => of.hangs += 1,
            Model::Unknown => of.unknown += 1,
        }
        Ok(())
    }

    /// Inserts the remedies until there are no findings, and runs the model on the result.
    fn mend(
        &mut self,
        text: &Text,
        index: usize,
        profile: &str,
        readings: Readings,
        mut found: Vec<Hazard>,
    ) -> Result<(), String> {
        let mut mended = text.clone();
        for _ in 0..ROUNDS {
            let edits: Vec<_> =
                found.iter().filter_map(|finding| finding.remedy.as_ref()).flat_map(|of| of.edits.clone()).collect();
            let next = mended.with(&edits);
            let Some(next) = next.filter(|_| !edits.is_empty()) else { break };
            mended = next;
            self.of[index].put_in += edits.len() as u64;
            found = findings(&mended, readings)?;
        }
        if !found.is_empty() {
            self.of[index].not_mended += 1;
            return Ok(());
        }
        self.of[index].mended += 1;
        if let Model::Races { lines, why } = model(&mended, readings)? {
            let [first, second] = lines.map(|line| line.map_or("?", |line| word(mended.instruction(line))));
            let what = format!("{profile}: mended, and races: {first} and {second} ({why})");
            self.disagree(what, mended.litmus());
        }
        self.leave_out(mended, index, profile, readings)
    }

    /// Removes inserted instructions that are not needed, as the compiler's pass does. Without any of the remaining
    /// ones, the model must have a race.
    fn leave_out(&mut self, mut mended: Text, index: usize, profile: &str, readings: Readings) -> Result<(), String> {
        loop {
            let mut fewer = None;
            for without in mended.without_each() {
                if findings(&without, readings)?.is_empty() {
                    fewer = Some(without);
                    break;
                }
            }
            let Some(fewer) = fewer else { break };
            mended = fewer;
        }
        for without in mended.without_each() {
            self.of[index].needed += 1;
            // If there are two races, the model reports only one.
            if !matches!(model(&without, readings)?, Model::Races { .. } | Model::RacesOtherwise) {
                self.disagree(format!("{profile}: put in, and the model has no race without it"), mended.litmus());
            }
        }
        Ok(())
    }

    /// Records a disagreement, with the shortest program of its kind.
    fn disagree(&mut self, what: String, program: String) {
        let (count, first) = self.disagreements.entry(what).or_insert_with(|| (0, program.clone()));
        *count += 1;
        if program.len() < first.len() {
            *first = program;
        }
    }

    /// Fails if there is a disagreement, or if a kind has no programs.
    pub fn result(&self) -> Result<(), Failed> {
        let of_all_kinds = self.of.iter().all(|of| of.races > 0 && of.ordered > 0 && of.hangs > 0);
        if self.disagreements.is_empty() && of_all_kinds {
            return Ok(());
        }
        let mut text = format!("{self}\n");
        for (what, (count, program)) in &self.disagreements {
            text += &format!("\n{count} times, {what}:\n{program}\n");
        }
        Err(text.into())
    }

    /// Adds the counts of another part.
    pub fn add(&mut self, other: &Self) {
        self.programs += other.programs;
        for (of, other) in self.of.iter_mut().zip(&other.of) {
            for ((_, count), (_, more)) in of.each().into_iter().zip(other.counts()) {
                *count += more;
            }
        }
    }
}

impl OfProfile {
    fn each(&mut self) -> [(&'static str, &mut u64); 16] {
        [
            ("race", &mut self.races),
            ("of these, found", &mut self.found),
            ("of these, found at other instructions", &mut self.elsewhere),
            ("of these, with a litmus test", &mut self.tests),
            ("warned of", &mut self.warned),
            ("of these, not checked", &mut self.not_checked),
            ("race without asynchronous operations, and are left out", &mut self.races_otherwise),
            ("do not race", &mut self.ordered),
            ("of these, falsely found", &mut self.false_findings),
            ("of these, not checked", &mut self.ordered_not_checked),
            ("hang", &mut self.hangs),
            ("unknown to the model", &mut self.unknown),
            ("mended", &mut self.mended),
            ("not mended by insertions", &mut self.not_mended),
            ("instructions put in", &mut self.put_in),
            ("of these, needed", &mut self.needed),
        ]
    }

    fn counts(&self) -> [(&'static str, u64); 16] {
        let mut all = Self { ..*self };
        all.each().map(|(what, count)| (what, *count))
    }
}

impl Display for Counts {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} programs", self.programs)?;
        for ((profile, _), of) in PROFILES.iter().zip(&self.of) {
            let counts = of.counts().map(|(what, count)| format!("{count} {what}"));
            write!(f, "\n{profile}: {}", counts.join(", "))?;
        }
        Ok(())
    }
}

/// The first word of an instruction after its guard.
pub fn word(instruction: &str) -> &str {
    instruction.split([' ', ';']).find(|word| !word.starts_with('@')).unwrap_or_default()
}
