//! The test of spellings: the newest assembler accepts, on at least one GPU, exactly the instructions on registers that
//! [`Computation::from_mnemonic`] accepts.

use std::{
    collections::{BTreeSet, HashSet},
    fmt::Write,
    str::FromStr,
};

use itertools::Itertools;
use libtest_mimic::{Failed, Trial};
use ptx_isa::{
    Target, Type,
    arithmetic::{Computation, Test},
};
use testing::{ASSEMBLERS, Assembler, all, trial, word as hash};

/// GPUs that together support every instruction.
const GPUS: [&str; 2] = ["sm_100a", "sm_120a"];

/// The number of lines in one run: an assembler's time for a text with errors grows faster than the text.
const LINES: usize = 2000;

/// One in this number of changed instructions is tested, unless all are.
const SAMPLE: u64 = 8;

/// Instructions that the assembler accepts although the manual lacks them: mnemonics and one of their modifiers.
const UNDOCUMENTED: [(&str, &str); 5] =
    [("addc", "sat"), ("subc", "sat"), ("madc", "sat"), ("rcp", "ftz"), ("testp", "")];

pub fn trials() -> Vec<Trial> {
    let newest = ASSEMBLERS.into_iter().max_by_key(|assembler| assembler.newest()).expect("there are some");
    let trials = vec![
        trial("each instruction that is read is taken".into(), newest.missing(), move || every_form(&newest)),
        trial("changed instructions are taken if they are read".into(), newest.missing(), move || changed(&newest)),
    ];
    trials
}

fn read(form: &str) -> Option<Computation> {
    let (mnemonic, modifiers) = form.split_once('.')?;
    Computation::from_mnemonic(mnemonic, &modifiers.split('.').collect::<Vec<_>>())
}

fn register(ty: Type, index: usize) -> String {
    match ty {
        Type::Pred => format!("%p{index}"),
        Type::F32 => format!("%f{index}"),
        Type::F64 => format!("%g{index}"),
        ty => format!("%b{}{index}", ["x", "y", "z", "w"][(ty.bits().ilog2() - 3) as usize]),
    }
}

/// An instruction with this spelling, and with operands for this computation.
fn spelled(form: &str, of: Computation) -> String {
    let mut results: Vec<String> = of.result_types().enumerate().map(|(index, ty)| register(ty, 8 + index)).collect();
    // A `setp` of halves has one predicate.
    if form.starts_with("setp")
        && !form.contains("x2")
        && of.source_type(0).bits() == 16
        && of.source_type(0).is_float()
    {
        results.truncate(1);
    }
    let sources = (0..of.arity()).map(|index| match (form.starts_with("lop3"), index) {
        (true, 3) => "30".into(),
        _ => register(of.source_type(index), index),
    });
    format!("{form} {}, {};", results.join("|"), sources.format(", "))
}

/// Whether each of these lines is accepted on at least one GPU.
fn taken(assembler: &Assembler, lines: &[String]) -> Result<Vec<bool>, Failed> {
    let mut all = vec![false; lines.len()];
    for gpu in GPUS {
        let target = Target { sm: gpu.parse()?, ptx: assembler.newest() };
        for (chunk, verdicts) in lines.chunks(LINES).zip(all.chunks_mut(LINES)) {
            let mut text = format!(".version {}\n.target {gpu}\n.address_size 64\n.func f() {{\n", target.ptx);
            text += ".reg .pred %p<12>; .reg .b8 %bx<12>; .reg .b16 %by<12>; .reg .b32 %bz<12>; .reg .b64 %bw<12>;";
            text += ".reg .f32 %f<12>; .reg .f64 %g<12>;\n";
            let first = text.lines().count() as u32 + 1;
            chunk.iter().try_for_each(|line| writeln!(text, "{line}"))?;
            text += "ret; }\n";
            let rejected: HashSet<u32> = match assembler.judge(&target, text.as_bytes())? {
                Ok(()) => HashSet::new(),
                Err(error) => error.lines().into_iter().map(|(line, _)| line).collect(),
            };
            for (line, verdict) in (first..).zip(verdicts) {
                *verdict |= !rejected.contains(&line);
            }
        }
    }
    Ok(all)
}

fn every_form(assembler: &Assembler) -> Result<(), Failed> {
    let lines: Vec<String> =
        Computation::forms().filter_map(|form| read(&form).map(|of| spelled(&form, of))).sorted().dedup().collect();
    let verdicts = taken(assembler, &lines)?;
    let missing = lines.iter().zip(verdicts).filter(|(_, taken)| !taken).map(|(line, _)| line).collect_vec();
    println!("{} are taken", lines.len() - missing.len());
    match missing.is_empty() && lines.len() > 1000 {
        true => Ok(()),
        false => {
            Err(format!("{} of {} are only ours\n{}", missing.len(), lines.len(), missing.iter().take(40).join("\n"))
                .into())
        }
    }
}

/// Tests forms with one modifier removed, added or replaced.
fn changed(assembler: &Assembler) -> Result<(), Failed> {
    let forms: BTreeSet<String> = Computation::forms().filter(|form| read(form).is_some()).collect();
    let is_type = |word: &&str| word.bytes().any(|byte| byte.is_ascii_digit()) && !word.starts_with("rc");
    let vocabulary: BTreeSet<&str> =
        forms.iter().flat_map(|form| form.split('.').skip(1)).filter(|word| !is_type(word)).collect();
    // An assembler also accepts repeated modifiers, and the modifiers of `testp` on any instruction.
    let is_plain = |changed: &String| {
        let words: Vec<&str> = changed.split('.').collect();
        let asks = words.iter().any(|word| Test::from_str(word).is_ok());
        words.iter().skip(1).filter(|word| !is_type(word)).all_unique() && (!asks || words[0] == "testp")
    };
    let mut changes = Vec::new();
    for form in &forms {
        let words: Vec<&str> = form.split('.').collect();
        let types = words.iter().skip(1).position(is_type).map_or(words.len(), |at| at + 1);
        let with = |range: std::ops::Range<usize>, word: Option<&str>| {
            words[..range.start].iter().copied().chain(word).chain(words[range.end..].iter().copied()).join(".")
        };
        for word in &vocabulary {
            changes.push((form, with(types..types, Some(word))));
            changes.extend((1..types).map(|at| (form, with(at..at + 1, Some(word)))));
        }
        changes.extend((1..types).map(|at| (form, with(at..at + 1, None))));
    }
    let kept: Vec<_> = changes
        .into_iter()
        .filter(|(_, changed)| (all() || hash(changed) % SAMPLE == 0) && is_plain(changed) && !forms.contains(changed))
        .unique_by(|(_, changed)| changed.clone())
        .collect();
    let of: Vec<_> = kept.iter().map(|(form, changed)| (read(changed), read(form), changed)).collect();
    // For integers, the crate also accepts signs that PTX rejects.
    let is_lenient = |of: &Option<Computation>| {
        matches!(of, Some(Computation::Alu(..) | Computation::Setp(..) | Computation::Cvt { .. }))
    };
    let of: Vec<_> = of.into_iter().filter(|(ours, ..)| !is_lenient(ours)).collect();
    let lines: Vec<String> =
        of.iter().filter_map(|(ours, form, changed)| Some(spelled(changed, ours.or(*form)?))).collect();
    let verdicts = taken(assembler, &lines)?;
    let is_undocumented = |line: &str| {
        UNDOCUMENTED.iter().any(|(name, word)| line.starts_with(&format!("{name}.")) && line.contains(word))
    };
    let whose = |ours: bool| if ours { "ours" } else { "theirs" };
    let differences: Vec<String> = of
        .iter()
        .zip(&lines)
        .zip(&verdicts)
        .filter(|(((ours, ..), line), taken)| ours.is_some() != **taken && (ours.is_some() || !is_undocumented(line)))
        .map(|(((ours, ..), line), _)| format!("{line} is only {}", whose(ours.is_some())))
        .collect();
    println!("{} compared; {} are taken", lines.len(), verdicts.iter().filter(|taken| **taken).count());
    match differences.is_empty() && !lines.is_empty() {
        true => Ok(()),
        false => {
            Err(format!("{} of {} differ\n{}", differences.len(), lines.len(), differences.iter().take(160).join("\n"))
                .into())
        }
    }
}
