//! Generated modules that try to make the optimizer unsound. Each module is lowered with and without the optimizer,
//! both results become litmus tests, and the optimized one must have no additional outcome.
//!
//! The inferences of a pass about a module rest on conditions ([`Condition`]). For each condition, a trial removes its
//! check and must then find an unsound module. `scripts/verify` and `ADVERSARY_MODULES=20000` try more modules. An
//! unsound module is kept, and its path printed.

use std::{
    collections::BTreeMap,
    env, fs,
    ops::Range,
    path::{Path, PathBuf},
};

use libtest_mimic::{Failed, Trial};
use ptx_atomics::{
    llvm::{AsyncMode, Input, Options},
    memory_model::{
        kernel::{Compiled, Kernels, Test, compile},
        outcome::{Layout, Limits, Outcomes},
        ptx::{Conventions, Program, readings::Readings, search},
    },
    optimize::Rewrites,
    ptx::{Module, ModuleErrors},
    ptx_from_llvm_ir,
};
use ptx_atomics_common::Condition;
use ptx_hazards::Claim;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use strum::{EnumMessage, IntoEnumIterator};
use testing::{
    adversary::{self, LINKED},
    target,
};

/// The number of modules that a trial of a condition tries.
const TRIED: u64 = 6_000;

/// Seeds of modules that are unsound without some condition. They are tried first.
const KNOWN: [u64; 16] = [3, 15, 24, 26, 43, 76, 93, 102, 123, 193, 387, 574, 1140, 1264, 2374, 2393];
/// The bound for the iterations of a loop that does more than wait.
const ROUNDS: usize = 2;
const LIMITS: Limits = Limits { rounds: ROUNDS, rounds_suffice: false, choices: 2_000_000, time: None };

pub fn trials() -> Vec<Trial> {
    let count: u64 = env::var("ADVERSARY_MODULES").map_or(400, |count| count.parse().expect("a number"));
    let first: u64 = env::var("ADVERSARY_SEED").map_or(0, |seed| seed.parse().expect("a number"));
    let modules =
        Trial::test("the optimizer keeps the outcomes of generated modules", move || all(first..first + count));
    let conditions = Condition::iter().map(|condition| {
        let name = format!("some module is unsound without: {}", condition.get_message().unwrap_or_default());
        Trial::test(name, move || without(condition))
    });
    let hazards = Trial::test("the optimizer adds no hazard to asynchronous operations", move || {
        asynchronous(first..first + count)
    });
    [modules, hazards].into_iter().chain(conditions).collect()
}

/// The optimizer adds no hazard to the asynchronous operations of a kernel. Missing instructions are searched for
/// before the optimizer runs, not after.
fn asynchronous(seeds: Range<u64>) -> Result<(), Failed> {
    let (mut changed, mut right, mut worse) = (0, 0, Vec::new());
    let total = seeds.end - seeds.start;
    for seed in seeds {
        let module = adversary::asynchronous(seed);
        let [off, on] = [Rewrites::NONE, Rewrites::all()].map(|optimize| lower(&module, optimize, None));
        let (off, on) = (off?, on?);
        changed += u64::from(off != on);
        // A hazard that is not checked without the optimizer may be found with it.
        let known = hazards(&off, &[Claim::Wrong, Claim::NotChecked])?;
        right += u64::from(known.is_empty());
        let found = hazards(&on, &[Claim::Wrong])?;
        if found.iter().any(|(rule, count)| known.get(rule).is_none_or(|known| known < count)) {
            worse.push(format!("{}: {found:?}", keep("kernel", seed, &module)?.display()));
        }
    }
    println!("{total} kernels, {changed} changed, {right} right, {} worse", worse.len());
    if !worse.is_empty() {
        return Err(format!("the optimizer adds hazards to: {worse:#?}").into());
    }
    // Many kernels of one thread must keep their fences, which order operations that complete later.
    assert!(changed * 4 > total && right * 3 > total, "of {total} kernels, {changed} changed, {right} right");
    Ok(())
}

/// The number of findings with these verdicts, by rule.
fn hazards(ptx: &str, verdicts: &[Claim]) -> Result<BTreeMap<String, usize>, String> {
    let module: Module = ptx.parse().map_err(|errors: ModuleErrors| errors.to_string())?;
    let mut found = BTreeMap::new();
    for kernel in ptx_hazards::read(&module) {
        let findings = ptx_hazards::check(&kernel, Readings::DEFAULT).findings;
        for finding in findings.iter().filter(|finding| verdicts.contains(&finding.claim)) {
            *found.entry(format!("{:?}", finding.rule)).or_default() += 1;
        }
    }
    Ok(found)
}

/// The result of a comparison of a module.
#[derive(Debug)]
enum Judged {
    /// The optimizer changed nothing.
    Same,
    /// The optimized module has no additional outcome.
    Kept,
    /// The modules were not compared, for this reason.
    Unknown(String),
    /// The optimized module has this additional outcome.
    Wrong(String),
}

/// No module has an additional outcome. Many of the modules must change and be comparable.
fn all(seeds: Range<u64>) -> Result<(), Failed> {
    let total = seeds.end - seeds.start;
    let judged = seeds.into_par_iter().map(|seed| {
        let module = adversary::module(seed);
        let judged = judge(&module, None).map_err(|error| format!("module {seed}: {error}"))?;
        Ok(match judged {
            Judged::Wrong(outcome) => Judged::Wrong(format!("{}: {outcome}", keep("module", seed, &module)?.display())),
            judged => judged,
        })
    });
    let judged = judged.collect::<Result<Vec<_>, String>>()?;
    let (mut kept, mut reasons, mut wrong) = (0, BTreeMap::<String, u64>::new(), Vec::new());
    for judged in judged {
        match judged {
            Judged::Same => {}
            Judged::Kept => kept += 1,
            Judged::Unknown(why) => *reasons.entry(why).or_default() += 1,
            Judged::Wrong(outcome) => wrong.push(outcome),
        }
    }
    println!("{total} modules, {kept} changed and sound, {} unsound, not compared: {reasons:?}", wrong.len());
    if !wrong.is_empty() {
        return Err(format!("modules with an additional outcome: {wrong:#?}").into());
    }
    let unknown: u64 = reasons.values().sum();
    assert!(kept * 100 >= total * 40 && unknown * 100 <= total * 10, "of {total} modules, {kept}; {reasons:?}");
    Ok(())
}

/// Some module is unsound if the check of a condition is removed.
fn without(condition: Condition) -> Result<(), Failed> {
    for seed in KNOWN.into_iter().chain(0..TRIED) {
        let module = adversary::module(seed);
        // If the condition has no effect on a module, the module is sound.
        if lower(&module, Rewrites::all(), Some(condition))? == lower(&module, Rewrites::all(), None)? {
            continue;
        }
        let Judged::Wrong(outcome) = judge(&module, Some(condition))? else { continue };
        if !matches!(judge(&module, None)?, Judged::Wrong(_)) {
            println!("{condition}: module {seed}, {outcome}");
            return Ok(());
        }
    }
    Err(format!("none of {TRIED} modules is unsound").into())
}

fn judge(module: &adversary::Module, without: Option<Condition>) -> Result<Judged, String> {
    let off = lower(module, Rewrites::NONE, None)?;
    let on = lower(module, Rewrites::all(), without)?;
    if off == on {
        return Ok(Judged::Same);
    }
    let [off, on] = [test(module, &off)?, test(module, &on)?];
    let names = names(&off.litmus.program);
    if names != self::names(&on.litmus.program) {
        return Ok(Judged::Unknown("other registers and variables".into()));
    }
    let outcomes = |of: &Compiled| search::outcomes(&of.litmus.program, Conventions::MANUAL, LIMITS);
    let (tests, off, on) = ([&off, &on], outcomes(&off), outcomes(&on));
    if let Some(limit) = off.unknown.or(on.unknown) {
        let lines = tests.iter().flat_map(|of| of.unknown(Conventions::MANUAL, ROUNDS, limit));
        let line = lines.map(|(_, line)| line.text.clone()).next().unwrap_or_default();
        return Ok(Judged::Unknown(format!("{limit}: {line}")));
    }
    let new = |outcomes: &Outcomes| on.states.iter().find(|state| !outcomes.states.contains(state)).map(<[_]>::to_vec);
    match new(&off) {
        None => Ok(Judged::Kept),
        // An outcome that an implementation may have by reasoning away a dependency is not an error here.
        Some(state) if off.speculative.contains(&state) => Ok(Judged::Unknown("dependencies".into())),
        Some(state) => {
            let values = names.iter().zip(state).map(|(name, value)| format!("{name} = {value}"));
            Ok(Judged::Wrong(values.collect::<Vec<_>>().join(", ")))
        }
    }
}

fn lower(module: &adversary::Module, optimize: Rewrites, without: Option<Condition>) -> Result<String, String> {
    let (sm, ptx) = module.target;
    let options = Options { optimize, without, asynchronous: AsyncMode::Off, ..Options::new(target(sm, Some(ptx))) };
    let input = Input::new("adversary.ll", module.ir.clone());
    let ptx = ptx_from_llvm_ir(&input, &options).map_err(|errors| errors.to_string())?;
    String::from_utf8(ptx).map_err(|error| error.to_string())
}

/// The litmus test that the module's comments describe, for this PTX.
fn test(module: &adversary::Module, ptx: &str) -> Result<Compiled, String> {
    let kernels: Kernels = format!("{ptx}{LINKED}").parse().map_err(|errors: ModuleErrors| errors.to_string())?;
    let said = |errors| format!("{errors:?}");
    let tests = Test::read(&module.ir).map_err(said)?;
    let compiled = compile(&kernels, tests.first().ok_or("no test")?, Conventions::MANUAL, ROUNDS).map_err(said)?;
    compiled.into_iter().next().ok_or_else(|| "no test".into())
}

/// The registers and variables to which the values of an outcome belong.
fn names(program: &Program) -> Vec<String> {
    let layout = Layout::new(program);
    let register = |&(thread, register): &(usize, ptx_atomics::memory_model::program::Register)| {
        format!("P{thread}:{}", program.threads[thread].registers[usize::from(register.0)].name)
    };
    let registers = layout.registers().iter().map(register);
    registers.chain(program.locations.iter().map(|variable| variable.name.clone())).collect()
}

fn keep(kind: &str, seed: u64, module: &adversary::Module) -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("adversary");
    let path = folder.join(format!("{kind}-{seed}.ll"));
    let (sm, ptx) = module.target;
    let of = |optimize| lower(module, optimize, None);
    let comment = |text: String| text.lines().map(|line| format!("; {line}\n")).collect::<String>();
    let text = format!(
        "; {sm} +{ptx}\n{}; without the optimizer:\n{}; with it:\n{}",
        module.ir,
        comment(of(Rewrites::NONE)?),
        comment(of(Rewrites::all())?)
    );
    fs::create_dir_all(&folder).and_then(|()| fs::write(&path, text)).map_err(|error| error.to_string())?;
    Ok(path)
}
