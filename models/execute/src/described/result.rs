//! The combined results of all executions of a plan.

use strum::IntoStaticStr;

use super::{
    argument::Content,
    element,
    expect::Memory,
    plan::Plan,
    simulate::{Held, Outcome},
};
use crate::{Dependence, Fault, FaultKind, LaunchError, Note, Report, Schedules};

/// The results of a plan.
pub struct PlanResult {
    pub plan: Plan,
    pub findings: Vec<PlanFinding>,
    pub notes: Vec<Note>,
    /// The reasons why a launch was rejected.
    pub errors: Vec<LaunchError>,
    pub failed: Vec<Failed>,
    /// The number of instructions that threads have executed.
    pub steps: u64,
    /// The number of seeds that were run.
    pub seeds: usize,
    /// Whether the first seed speaks for every schedule.
    pub schedules: Schedules,
    /// The output of the kernels with the first seed.
    pub printed: String,
    /// The final contents of memory with the first seed.
    pub memory: Held,
}

/// A finding, with its kernel and the seeds that found it.
pub struct PlanFinding {
    pub finding: Fault,
    pub kernel: String,
    pub level: Importance,
    pub seeds: Vec<u64>,
}

/// Options for the presentation of findings.
#[derive(Clone, Copy, Debug, Default)]
pub struct Showing {
    pub races_are_warnings: bool,
    /// Whether the two orders of a pair of accesses are separate findings, as for `check`.
    pub in_order: bool,
}

/// A condition that does not hold.
pub struct Failed {
    pub text: String,
    /// The reason with the first of the seeds.
    pub why: String,
    pub seeds: Vec<u64>,
}

/// The importance of a finding for its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Importance {
    /// The finding ends the run, and gives no information about the kernel.
    Unknown,
    Wrong,
    Warning,
}

impl Importance {
    fn from_kind(kind: FaultKind, races_are_warnings: bool) -> Self {
        match kind {
            FaultKind::StepLimit | FaultKind::Unsupported => Self::Unknown,
            FaultKind::Race if races_are_warnings => Self::Warning,
            kind if kind.is_warning() => Self::Warning,
            _ => Self::Wrong,
        }
    }
}

impl PlanResult {
    pub fn new(plan: Plan, outcomes: Vec<Outcome>, options: Showing) -> Self {
        let mut found = Self {
            plan,
            findings: Vec::new(),
            notes: Vec::new(),
            errors: Vec::new(),
            failed: Vec::new(),
            steps: 0,
            seeds: outcomes.len(),
            schedules: outcomes.first().map(Outcome::schedules).unwrap_or_default(),
            printed: String::new(),
            memory: Held::default(),
        };
        for (index, outcome) in outcomes.into_iter().enumerate() {
            let Outcome { seed, reports, errors, failed, memory } = outcome;
            for (launch, report) in reports.into_iter().enumerate() {
                if index == 0 {
                    found.printed += &report.printed;
                }
                found.add(launch, report, seed, options);
            }
            for error in errors {
                if !found.errors.contains(&error) {
                    found.errors.push(error);
                }
            }
            for (text, why) in failed {
                match found.failed.iter_mut().find(|failed| failed.text == text) {
                    Some(failed) => failed.seeds.push(seed),
                    None => found.failed.push(Failed { text, why, seeds: vec![seed] }),
                }
            }
            if index == 0 {
                found.memory = memory;
            }
        }
        found
    }

    fn add(&mut self, launch: usize, report: Report, seed: u64, options: Showing) {
        self.steps += report.steps;
        let kernel = self.plan.launches.get(launch).map(|launch| launch.kernel.clone()).unwrap_or_default();
        for finding in report.findings {
            let places = |finding: &Fault| {
                let places = [finding.other.as_ref().map_or(0, |other| other.at.line), finding.site.at.line];
                if options.in_order { places } else { [places[0].min(places[1]), places[0].max(places[1])] }
            };
            let key = |finding: &Fault| (finding.kind, places(finding));
            let same = |shown: &&mut PlanFinding| shown.kernel == kernel && key(&shown.finding) == key(&finding);
            match self.findings.iter_mut().find(same) {
                Some(shown) if shown.seeds.last() == Some(&seed) => {}
                Some(shown) => shown.seeds.push(seed),
                None => {
                    let level = Importance::from_kind(finding.kind, options.races_are_warnings);
                    self.findings.push(PlanFinding { finding, kernel: kernel.clone(), level, seeds: vec![seed] });
                }
            }
        }
        for note in report.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }

    /// The exit status: 0 without errors, 1 with errors, 2 if the run did not reach its end.
    pub fn status(&self) -> u8 {
        let has = |level| self.findings.iter().any(|shown| shown.level == level);
        match () {
            () if !self.errors.is_empty() || has(Importance::Unknown) => 2,
            () if has(Importance::Wrong) || !self.failed.is_empty() => 1,
            () => 0,
        }
    }

    /// The first seed with an error.
    pub fn failing_seed(&self) -> Option<u64> {
        let findings =
            self.findings.iter().filter(|shown| shown.level != Importance::Warning).map(|shown| &shown.seeds);
        findings.chain(self.failed.iter().map(|failed| &failed.seeds)).flatten().min().copied()
    }

    fn races(&self) -> usize {
        self.findings.iter().filter(|shown| shown.finding.kind == FaultKind::Race).count()
    }

    /// The values that the search chose, in one line.
    pub fn chosen(&self) -> Option<String> {
        let grows = self.plan.buffers.iter().filter(|buffer| buffer.content == Content::Grows);
        let buffers = match &grows.map(|buffer| &*buffer.name).collect::<Vec<_>>()[..] {
            [] => None,
            [one] => Some(format!("{one} is a buffer of small random numbers")),
            all => Some(format!("{} are buffers of small random numbers", all.join(", "))),
        };
        let all: Vec<_> = buffers.into_iter().chain(self.plan.chosen()).collect();
        (!all.is_empty()).then(|| format!("chosen, because not given: {}", all.join("; ")))
    }

    /// A line about the whole run. `races` is whether it checked for races.
    pub fn summary(&self, races: bool) -> String {
        let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        let other = |shown: &&PlanFinding, level| shown.finding.kind != FaultKind::Race && shown.level == level;
        let others = |level| self.findings.iter().filter(|shown| other(shown, level)).count();
        let end = if self.status() == 2 { "not run to its end, " } else { "" };
        let steps = format!("{} by threads", counted(self.steps as usize, "instruction"));
        let is_determinate = self.schedules.is_determinate();
        let has_hang = self.findings.iter().any(|shown| shown.finding.kind == FaultKind::Hang);
        let races = match self.races() {
            _ if !races => "races not checked".to_owned(),
            0 if is_determinate && !has_hang && self.lag().is_none() => "no race and no deadlock".to_owned(),
            0 => "no race".to_owned(),
            count => counted(count, "race"),
        };
        let rest = [
            (others(Importance::Wrong) + others(Importance::Unknown) + self.errors.len(), "other error"),
            (others(Importance::Warning), "warning"),
            (self.failed.len(), "failed condition"),
        ];
        let rest = rest.iter().filter(|(count, _)| *count > 0).map(|(count, what)| counted(*count, what));
        let (runs, launches) = match self.plan.launches.len() {
            _ if !is_determinate => (Some(counted(self.seeds, "seed")), ""),
            0 | 1 => (None, " in any schedule of this launch"),
            _ => (None, " in any schedule of these launches"),
        };
        let all = [format!("{end}{steps}"), races].into_iter().chain(rest).chain(runs);
        format!("{}: {}{launches}", self.plan.title(), all.collect::<Vec<_>>().join(", "))
    }

    /// The reason why schedules that were not run may have other results.
    pub fn dependence(&self) -> Option<&Dependence> {
        match &self.schedules {
            Schedules::Dependent(dependence) => Some(dependence),
            Schedules::Determinate { .. } | Schedules::Unknown => None,
        }
    }

    /// The wait that a late warp misses, if every other schedule is alike.
    pub fn lag(&self) -> Option<&Dependence> {
        match &self.schedules {
            Schedules::Determinate { lag } => lag.as_deref(),
            Schedules::Dependent(_) | Schedules::Unknown => None,
        }
    }

    /// The contents of a buffer or a variable in one line, with at most `most` elements.
    pub fn contents(&self, name: &str, most: Option<usize>) -> Option<String> {
        let (ty, bytes) = self.memory.get(name)?;
        let all = bytes.chunks_exact(element::size(ty));
        let count = all.len();
        let shown: Vec<_> =
            all.take(most.unwrap_or(usize::MAX)).map(|bytes| element::format_element(ty, bytes)).collect();
        let more = if shown.len() < count { ", …" } else { "" };
        Some(format!("{name} = [{}{more}]\n", shown.join(", ")))
    }

    /// The seeds as text, relative to all seeds. `None` if only one seed was run.
    pub fn with(&self, seeds: &[u64]) -> Option<String> {
        let first = seeds.first().filter(|_| self.seeds > 1)?;
        Some(match seeds.len() {
            1 => format!("with seed {first} of {} seeds", self.seeds),
            count => format!("with {count} of {} seeds, first with seed {first}", self.seeds),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Site;

    fn finding(kind: FaultKind, line: u32, other: u32) -> Fault {
        let site = |line| Site {
            at: ptx_isa::InstPlace::line(line),
            source: None,
            kind: crate::SiteKind::Other,
            instruction: "st".into(),
            thread: [0; 3],
            cta: [0; 3],
        };
        Fault {
            kind,
            site: site(line),
            other: Some(site(other)),
            place: None,
            message: "m".into(),
            help: None,
            detail: crate::Detail::None,
        }
    }

    fn check(outcomes: &[&[(FaultKind, u32, u32)]], failed: &[&str], races_are_warnings: bool, expected: &str) {
        let outcome = |(seed, findings): (usize, &&[(FaultKind, u32, u32)])| {
            let findings = findings.iter().map(|(kind, line, other)| finding(*kind, *line, *other)).collect();
            let failed = failed.iter().map(|text| ((*text).to_owned(), "why".to_owned())).collect();
            let reports = vec![Report { findings, steps: 10, ..Report::default() }];
            Outcome { seed: seed as u64, reports, failed, ..Outcome::default() }
        };
        let options = Showing { races_are_warnings, in_order: false };
        let found = PlanResult::new(Plan::default(), outcomes.iter().enumerate().map(outcome).collect(), options);
        let shown: String =
            found.findings.iter().map(|shown| format!("{} {:?} ", shown.finding.kind, shown.seeds)).collect();
        let said = format!("{shown}{} {} {:?}", found.status(), found.steps, found.failing_seed());
        assert_eq!(said, expected);
    }

    #[test]
    fn findings_of_seeds() {
        use FaultKind::*;
        check(&[&[], &[]], &[], false, "0 20 None");
        check(
            &[&[(Race, 1, 2)], &[(Race, 2, 1), (Race, 2, 1)], &[(Race, 3, 2)]],
            &[],
            false,
            "race [0, 1] race [2] 1 30 Some(0)",
        );
        check(&[&[(Race, 1, 2)]], &[], true, "race [0] 0 10 None");
        check(&[&[(SameValue, 1, 2)]], &[], false, "same-value [0] 0 10 None");
        check(&[&[], &[(StepLimit, 1, 0), (Race, 1, 2)]], &[], false, "step-limit [1] race [1] 2 20 Some(1)");
        check(&[&[(SameValue, 1, 2)]], &["x == 1"], false, "same-value [0] 1 10 Some(0)");
    }
}
