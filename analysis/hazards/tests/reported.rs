//! The check on reduced bug reports of other projects: it finds each bug before its fix, and is silent after.

use libtest_mimic::{Arguments, Failed, Trial};
use ptx_hazards::{Claim, Hazard, Rule, check, read};
use ptx_isa::Module;
use ptx_memory_model::ptx::readings::Readings;
use testing::reported::{Reported, reported};

/// The profile and severity with which the form before the fix is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Detection {
    Wrong,
    /// `default` only warns: of a read that a copy overwrites, and of an arrival of `.cta` at another CTA.
    Warning,
    /// `default` accepts it.
    Strict,
}

use Detection::{Strict, Warning, Wrong};

#[rustfmt::skip]
const REPORTED: [(&str, Rule, Detection); 23] = [
    ("cudnn_784",              Rule::R4,  Wrong),
    ("cula_114",               Rule::R4,  Wrong),
    ("cutlass_3647",           Rule::R8,  Warning),
    ("cutlass_3652",           Rule::R1,  Wrong),
    ("cutlass_3653",           Rule::R2,  Wrong),
    ("deepep_642",             Rule::R4,  Warning),
    ("deepep_657",             Rule::R7,  Wrong),
    ("deepgemm_389",           Rule::R4,  Warning),
    ("facebook_triton_1723",   Rule::R4,  Warning),
    ("facebook_triton_2024",   Rule::R1,  Wrong),
    ("fastvideo_1819",         Rule::R1,  Wrong),
    ("flashinfer_5334",        Rule::R1,  Wrong),
    ("flashkda_24_empty",      Rule::R4,  Wrong),
    ("flashkda_24_init",       Rule::R10, Strict),
    ("flashkda_24_store",      Rule::R4,  Wrong),
    ("sglang_39124",           Rule::R4,  Wrong),
    ("tilelang_2634",          Rule::R4,  Wrong),
    ("transformerengine_2695", Rule::R4,  Warning),
    ("triton_6061",            Rule::R4,  Wrong),
    ("triton_7293",            Rule::R12, Wrong),
    ("triton_9871",            Rule::R1,  Wrong),
    ("tvm_20074",              Rule::R8,  Wrong),
    ("vllm_182",               Rule::R1,  Wrong),
];

/// The files for which the answer of the check is still different. A file with the expected answer must leave the list.
const OPEN: [&str; 0] = [];

fn main() {
    let all = reported();
    let names: Vec<&str> = all.iter().map(|bug| &*bug.name).collect();
    assert!(REPORTED.iter().map(|(name, ..)| name).eq(&names), "the table does not have these files: {names:?}");
    let trials = all
        .into_iter()
        .zip(REPORTED)
        .map(|(bug, (name, rule, found))| Trial::test(name, move || ratchet(&bug, rule, found)));
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}

fn ratchet(bug: &Reported, rule: Rule, found: Detection) -> Result<(), Failed> {
    match (trial(bug, rule, found), OPEN.contains(&&*bug.name)) {
        (Ok(()), true) => Err("it is right now: take it off OPEN".into()),
        (Err(_), true) => Ok(()),
        (result, false) => result,
    }
}

fn trial(bug: &Reported, rule: Rule, found: Detection) -> Result<(), Failed> {
    if bug.before == bug.fixed {
        return Err("no line is the fix".into());
    }
    let fixed = findings(&bug.fixed, Readings::DEFAULT)?;
    let said = |of: &[Hazard]| of.iter().map(|of| format!("\n  {}: {}", of.at, of.message)).collect::<String>();
    if !fixed.is_empty() {
        return Err(format!("after the fix:{}", said(&fixed)).into());
    }
    let [default, strict] = [Readings::DEFAULT, Readings::STRICT].map(|readings| findings(&bug.before, readings));
    let (default, strict) = (default?, strict?);
    let has = |of: &[Hazard], claim| of.iter().any(|of| of.rule == Some(rule) && of.claim == claim);
    let as_expected = has(&strict, Claim::Wrong)
        && match found {
            Wrong => has(&default, Claim::Wrong),
            Warning => has(&default, Claim::Note) && !has(&default, Claim::Wrong),
            Strict => default.is_empty(),
        };
    if as_expected {
        return Ok(());
    }
    Err(format!("no {rule} before the fix, default:{}\nstrict:{}", said(&default), said(&strict)).into())
}

/// The errors and the warnings.
fn findings(text: &str, readings: Readings) -> Result<Vec<Hazard>, Failed> {
    let module: Module = text.parse()?;
    let all = read(&module).into_iter().flat_map(|kernel| check(&kernel, readings).findings);
    let matters = |of: &Hazard| match of.claim {
        Claim::Wrong => true,
        Claim::Note => of.first.is_some() || of.remedy.is_some(),
        Claim::NotChecked => false,
    };
    Ok(all.filter(matters).collect())
}
