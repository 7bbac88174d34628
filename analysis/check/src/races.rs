//! The questions about data races and barriers of kernels without asynchronous operations.

use itertools::Itertools;
use ptx_execute::{End, FaultKind, Given, search};
use ptx_hazards::{Class, Rule as AsyncRule};
use ptx_isa::{Function, Stop, Text, flat::Library};
use ptx_races::check::{Kind, Obstacle, RaceOptions, check_kernel};

use crate::{
    check::Check,
    evidence::{Evidence, Looked, Mode, Open, Why, Witness},
    finding::{Finding, Remedy, Site},
    fitting,
    question::Question,
    report::{Answer, Verdict},
    rule::Rule,
    schedules::{Begin, Launches},
    severity::Assessed,
};

/// The answers about a kernel, and its findings.
pub fn answers(check: &Check<'_>, library: &Library<'_>, function: &Function) -> (Vec<Answer>, Vec<Finding>) {
    let stop = check.stop.part(check.time);
    let options = RaceOptions {
        size: check.launch.size,
        may_alias: check.launch.may_alias,
        numbers: check.launch.numbers.clone(),
        budget: check.budget.races,
        stop: stop.clone(),
    };
    let report = check_kernel(check.ptx, library, function, &options);
    let shown = report.obstacles.iter().filter_map(|obstacle| obstacle.witness.as_ref());
    let mut witnesses: Vec<Witness> = shown.map(witness).collect();
    fitting::count(check, function, None, &mut witnesses, &stop);
    let mut witnesses = witnesses.into_iter();
    let looked = match report.executions {
        _ if !check.budget.has_executions() => Looked::No,
        None => Looked::NoLaunch,
        Some(executions) => Looked::Executions(executions),
    };
    let is_open = report.obstacles.iter().any(|obstacle| obstacle.witness.is_none());
    let launches = if is_open && check.budget.has_executions() { launches(check, function, &stop) } else { None };
    let launches = launches.unwrap_or_default();
    let findings = report.obstacles.into_iter().map(|obstacle| {
        let witness = obstacle.witness.as_ref().and_then(|_| witnesses.next());
        finding(obstacle, witness, looked, &launches)
    });
    let findings = findings.collect_vec();
    let answer = |question| {
        let is_wrong =
            |finding: &Finding| finding.question == question && finding.witness().is_some_and(Witness::is_certain);
        let verdict =
            match Verdict::from_findings(question, findings.iter().filter(|finding| finding.question == question)) {
                // Kernels are known to run in spite of races of stores of the same value.
                _ if question == Question::Races && findings.iter().any(is_wrong) => Verdict::Race,
                // A proof covers both questions: a failed proof leaves both open.
                Verdict::Free if !findings.is_empty() => Verdict::Open,
                verdict => verdict,
            };
        let assumptions = if verdict == Verdict::Free { report.assumptions.clone() } else { Vec::new() };
        Answer { question, verdict, assumptions, is_stopped: stop.has_struck(), counts: (0, 0) }
    };
    (vec![answer(Question::Races), answer(Question::Barriers)], findings)
}

/// Runs determinate launches of a kernel.
fn launches(check: &Check<'_>, function: &Function, stop: &Stop) -> Option<Launches> {
    let given = Given { size: check.launch.size, most: None, numbers: check.launch.numbers.clone() };
    let tried = search(check.ptx, &function.name, &given, &check.budget.hazards.search, stop).ok()?;
    let bases: Vec<_> =
        tried.iter().filter(|tried| tried.end == End::Ended).map(|tried| tried.launch.clone()).collect();
    Some(Launches::run(check, function, None, Mode::Races, Begin { bases: &bases, ..Begin::default() }, stop))
}

fn witness(found: &ptx_races::witness::Witness) -> Witness {
    let ptx_races::witness::Witness { launch, seed, schedule, found } = found.clone();
    Witness {
        launch,
        is_given: false,
        launches: 1,
        seed,
        schedule,
        is_dependent: false,
        mode: Mode::Races,
        class: if found.kind == FaultKind::SameValue { Class::Warning } else { Class::Wrong },
        fault: found,
    }
}

fn finding(obstacle: Obstacle, witness: Option<Witness>, looked: Looked, launches: &Launches) -> Finding {
    let rule = match obstacle.kind {
        Kind::Race { same_value: true, .. } => Some(Rule::SameValue),
        Kind::Race { .. } => Some(Rule::Race),
        Kind::LockStep => Some(Rule::Deadlock),
        Kind::Barrier => {
            let shown = witness.as_ref().and_then(|witness| Rule::of_fault(witness.fault.kind));
            shown.filter(|rule| matches!(rule, Rule::Aligned | Rule::Setmaxnreg)).or(Some(Rule::Async(AsyncRule::R16)))
        }
        Kind::NotFollowed => None,
    };
    let assessed = match (&witness, rule) {
        (_, None) => Assessed::NOTE,
        // Compilers generate stores of one value by several threads.
        (Some(_), Some(Rule::SameValue)) => Assessed::TOLERATED,
        (Some(witness), _) if witness.is_certain() => Assessed::ERROR,
        _ => Assessed::POSSIBLE,
    };
    let every = launches.evidence(rule, &[obstacle.pair.to_vec()]).filter(|_| witness.is_none());
    let Assessed { severity, is_tolerated } = if every.is_some() { Assessed::NOTE } else { assessed };
    let sites = match &witness {
        Some(Witness { fault, .. }) => {
            let sites = fault.other.iter().chain([&fault.site]);
            sites.map(|site| Site { at: site.at, thread: Some((site.thread, site.cta)) }).collect()
        }
        None => obstacle.pair.iter().unique().map(|at| Site { at: *at, thread: None }).collect(),
    };
    let why = match obstacle.kind {
        Kind::NotFollowed => Why::NotFollowed,
        Kind::Race { too_hard: true, .. } => Why::TooHard,
        _ => Why::Claimed,
    };
    let help = witness.as_ref().and_then(|witness| witness.fault.help.clone());
    Finding {
        question: rule.map_or(Question::Races, Rule::question),
        rule,
        severity,
        is_tolerated,
        sites,
        operation: None,
        message: Text::new(obstacle.message),
        evidence: match witness {
            Some(witness) => Evidence::Witness(Box::new(witness)),
            None => every.unwrap_or(Evidence::Open(Open { why, looked })),
        },
        remedy: match (obstacle.remedy, help) {
            (Some(tried), _) => Some(Remedy::Tried(tried)),
            (None, Some(remedy)) => Some(Remedy::Executed { help: remedy.to_string(), remedy }),
            (None, None) => None,
        },
        explanation: None,
        allowed: None,
    }
}
