//! The questions about asynchronous operations, and about barriers of kernels that have them.

use ptx_execute::{Assumed, Assumption, FaultKind, Given, Value};
use ptx_hazards::{Claim, Class, Hazard, Kernel, Position, Rule as AsyncRule, Witnesses};
use ptx_isa::{Function, InstPlace, LaunchSize};

use crate::{
    check::Check,
    evidence::{Evidence, Looked, Mode, Open, Why, Witness},
    finding::{Edit, Finding, Remedy, Side, Site},
    fitting,
    question::Question,
    report::{Answer, Verdict},
    rule::Rule,
    schedules::{Begin, Launches},
    severity::Assessed,
};

/// The answers about a kernel, and its findings.
pub fn answers(check: &Check<'_>, function: &Function, kernel: &Kernel) -> (Vec<Answer>, Vec<Finding>) {
    let stop = check.stop.part(check.time);
    let report = ptx_hazards::check_within(kernel, check.readings, check.budget.hazards, &stop).distinct();
    let is_run = check.budget.has_executions() && report.is_shown_by_executions(kernel);
    let search = || {
        let numbers = check.launch.numbers.clone();
        let given = Given { size: check.launch.size, most: kernel.most, numbers };
        // A kernel that cannot be launched has no witness.
        ptx_hazards::witnesses(check.ptx, &kernel.name, &report.findings, &given, &check.budget.hazards, &stop).ok()
    };
    let found = is_run.then(search).flatten();
    let looked = match &found {
        Some(witnesses) => Looked::Executions(witnesses.runs),
        None if is_run => Looked::NoLaunch,
        None => Looked::No,
    };
    let shown = pair_with_witnesses(&report.findings, found.as_ref());
    let mut witnesses: Vec<Witness> = shown.iter().filter_map(|(_, found)| found.map(witness)).collect();
    fitting::count(check, function, Some(kernel), &mut witnesses, &stop);
    let mut witnesses = witnesses.into_iter();
    let is_open = |(hazard, found): &&(Hazard, Option<_>)| found.is_none() && hazard.claim != Claim::Note;
    let open: Vec<Vec<InstPlace>> = shown.iter().filter(is_open).flat_map(|(hazard, _)| pairs(hazard)).collect();
    let launches = match found.as_ref().filter(|_| !open.is_empty()) {
        Some(found) => {
            let tried: Vec<Assumed> = found.launches.iter().map(|tried| tried.launch.clone()).collect();
            let begin = Begin { bases: &found.determinate, tried: &tried, open: &open };
            Launches::run(check, function, kernel.most, Mode::Async, begin, &stop)
        }
        None => Launches::default(),
    };
    let has_cluster = LaunchSize::from_head(&function.head).or(check.launch.size).cluster.is_some();
    let findings: Vec<Finding> = shown
        .into_iter()
        .map(|(hazard, found)| {
            let witness = found.and_then(|_| witnesses.next());
            let explanation = if check.explains { explanation(check, kernel, &hazard) } else { None };
            Finding { explanation, ..finding(hazard, witness, looked, &launches) }
        })
        .filter(|finding| !is_of_guess(finding, has_cluster))
        .collect();
    // Without the question about barriers, the answer has the faults of the barriers of asynchronous operations, too.
    let has_barriers = check.questions.has(Question::Barriers);
    let is_of = |question| {
        move |finding: &&Finding| finding.question == question || question == Question::Async && !has_barriers
    };
    let answer = |question| Answer {
        question,
        verdict: Verdict::from_findings(question, findings.iter().filter(is_of(question))),
        assumptions: Vec::new(),
        is_stopped: stop.has_struck(),
        counts: if question == Question::Async { (report.synchronizations, report.unchecked) } else { (0, 0) },
    };
    (vec![answer(Question::Async), answer(Question::Barriers)], findings)
}

/// Whether only a guessed launch shows a wait that never ends or is lapped. The wrong number of threads, CTAs or bytes
/// usually is the reason: all launches have the same guessed cluster, and a phase that lacks bytes of guessed boxes can
/// be lapped in every launch. `has_cluster` says whether the size of the cluster is known.
fn is_of_guess(finding: &Finding, has_cluster: bool) -> bool {
    let Evidence::Witness(witness) = &finding.evidence else { return false };
    match finding.rule {
        Some(Rule::Deadlock) => {
            !witness.is_certain() || !has_cluster && witness.launch.size.cluster.iter().product::<u32>() > 1
        }
        Some(Rule::Lapped) => !witness.is_certain() || witness.launch.has_maps(),
        _ => false,
    }
}

/// Each hazard with the most certain execution that shows it, followed by the hazards that only executions show.
fn pair_with_witnesses<'w>(
    hazards: &[Hazard],
    found: Option<&'w Witnesses>,
) -> Vec<(Hazard, Option<&'w ptx_hazards::Witness>)> {
    let surest = |number: usize| {
        let showing = found.into_iter().flat_map(|all| &all.found).filter(move |one| one.shows == Some(number));
        showing.min_by_key(|witness| witness.class)
    };
    let proposed = hazards.iter().enumerate().map(|(number, hazard)| (hazard.clone(), surest(number)));
    let alone = found.into_iter().flat_map(Witnesses::news).map(|witness| (alone(witness), Some(witness)));
    proposed.chain(alone).collect()
}

/// A hazard that only an execution shows.
fn alone(witness: &ptx_hazards::Witness) -> Hazard {
    let ptx_hazards::Witness { launch, class, found, .. } = witness;
    let claim = match class {
        Class::Wrong => Claim::Wrong,
        Class::Stuck => Claim::NotChecked,
        Class::Warning | Class::Plain => Claim::Note,
    };
    let is_barrier = matches!(found.kind, FaultKind::DivergentBarrier | FaultKind::BarrierCount);
    let help = found.help.clone();
    Hazard {
        first: found.other.as_ref().map(|site| site.at),
        rule: (is_barrier && found.place.is_none()).then_some(AsyncRule::R16),
        lacks_fence: found.lacks_fence(),
        remedy: help.map(|help| ptx_hazards::Remedy {
            executed: Some(help.clone()),
            ..ptx_hazards::Remedy::words(help.to_string())
        }),
        ..Hazard::new(&launch.kernel, found.site.at, claim, found.message.clone())
    }
}

fn witness(found: &ptx_hazards::Witness) -> Witness {
    let ptx_hazards::Witness { launch, seed, schedule, is_dependent, class, found, .. } = found.clone();
    Witness {
        launch,
        is_given: false,
        launches: 1,
        seed,
        schedule,
        is_dependent,
        mode: Mode::Async,
        class,
        fault: found,
    }
}

fn finding(hazard: Hazard, witness: Option<Witness>, looked: Looked, launches: &Launches) -> Finding {
    let shown = witness.as_ref().map(|witness| (witness.class, witness.is_certain()));
    let is_about_two = hazard.first.is_some() || hazard.remedy.is_some();
    let Assessed { severity, is_tolerated } =
        Assessed::of_hazard(hazard.claim, is_about_two, hazard.rule.is_some(), shown);
    let shown_rule = witness.as_ref().and_then(|witness| Rule::of_fault(witness.fault.kind));
    let rule = match shown_rule {
        Some(Rule::Aligned) => shown_rule,
        _ => hazard.rule.map(Rule::Async).or(shown_rule),
    };
    // Nothing is invented that could keep an arrival or bytes away.
    let is_deadlock = |witness: &Witness| {
        let is_invented = |field: &Assumption| !field.is_given && !matches!(field.value, Value::Buffer(_));
        let has_invented = witness.launch.has_maps() || witness.launch.fields.iter().any(is_invented);
        witness.class == Class::Stuck && witness.is_certain() && !has_invented
    };
    let Assessed { severity, is_tolerated } = match &witness {
        Some(witness) if rule == Some(Rule::Deadlock) && is_deadlock(witness) => Assessed::ERROR,
        _ => Assessed { severity, is_tolerated },
    };
    let sites = match &witness {
        Some(Witness { fault, .. })
            if (hazard.first, hazard.at) == (fault.other.as_ref().map(|site| site.at), fault.site.at) =>
        {
            let sites = fault.other.iter().chain([&fault.site]);
            sites.map(|site| Site { at: site.at, thread: Some((site.thread, site.cta)) }).collect()
        }
        _ => hazard.first.into_iter().chain([hazard.at]).map(|at| Site { at, thread: None }).collect(),
    };
    let why = match (hazard.claim, hazard.cause.clone()) {
        (_, Some(cause)) => Why::Unknown(cause),
        (Claim::NotChecked, None) if rule.is_none() => Why::NotFollowed,
        (_, None) => Why::Claimed,
    };
    let evidence = match (witness, hazard.claim) {
        (Some(witness), _) => Evidence::Witness(Box::new(witness)),
        (None, Claim::Note) => Evidence::Proof,
        (None, _) => launches.evidence(rule, &pairs(&hazard)).unwrap_or(Evidence::Open(Open { why, looked })),
    };
    let Assessed { severity, is_tolerated } = match &evidence {
        Evidence::EverySchedule(_) | Evidence::AfterRepair(_) => Assessed::NOTE,
        _ => Assessed { severity, is_tolerated },
    };
    Finding {
        question: rule.map_or(Question::Async, Rule::question),
        rule,
        severity,
        is_tolerated,
        sites,
        operation: None,
        message: hazard.message,
        evidence,
        remedy: hazard.remedy.map(remedy),
        explanation: None,
        allowed: None,
    }
}

/// The pairs of instructions of a hazard. A pair without a first instruction has one.
fn pairs(hazard: &Hazard) -> Vec<Vec<InstPlace>> {
    hazard.pairs().map(|pair| pair.first.into_iter().chain([pair.at]).collect()).collect()
}

fn remedy(remedy: ptx_hazards::Remedy) -> Remedy {
    let edit = |edit: ptx_hazards::Edit| Edit {
        at: edit.at,
        side: match edit.position {
            Position::Before => Side::Before,
            Position::After => Side::After,
        },
        instruction: edit.instruction,
    };
    match remedy.executed {
        Some(executed) if remedy.edits.is_empty() => Remedy::Executed { help: remedy.help, remedy: executed },
        _ => Remedy::Insert { help: remedy.help, edits: remedy.edits.into_iter().map(edit).collect() },
    }
}

/// A litmus test of a hazard, with an execution of it.
fn explanation(check: &Check<'_>, kernel: &Kernel, hazard: &Hazard) -> Option<String> {
    let test = ptx_hazards::litmus(kernel, hazard, check.readings).filter(|_| hazard.claim != Claim::NotChecked)?;
    ptx_memory_model::report::of_finding(&test.to_string(), check.readings)
}
