//! Tests of the table of mnemonics against the manual's list of keywords, the measured forms, and an assembler.

use std::{collections::BTreeSet, fs, io::Write, process::Command};

use libtest_mimic::{Failed, Trial};
use ptx_isa::mnemonic::{Control, MNEMONICS, Mnemonic, Order};
use testing::{ASSEMBLERS, Assembler, shared_trial, trial};

pub fn trials() -> Vec<Trial> {
    let reference = |name: &str, test: fn(&str) -> Result<(), Failed>, file: &str| {
        shared_trial(name, &format!("reference/{file}"), move |path| test(&fs::read_to_string(path)?))
    };
    let newest = ASSEMBLERS[ASSEMBLERS.len() - 1];
    let trials = vec![
        reference("the first words are the manual's keywords", keywords, "ptx-isa-9.2-sections-1-8.txt"),
        reference("every measured form has a row", measured_forms, "async/legality.csv"),
        trial("the assembler knows every word".into(), newest.missing(), move || assembled(&newest)),
    ];
    trials
}

/// Checks the keywords of table 2 in section 4.3.2.
fn keywords(manual: &str) -> Result<(), Failed> {
    let table = manual.split("Table 2 Reserved Instruction Keywords").nth(1).ok_or("no table 2")?;
    let table = table.split("4.4. Identifiers").next().unwrap_or_default();
    // PTX 9.3 adds these keywords.
    let theirs: BTreeSet<_> = table.split_whitespace().chain(["fabric"]).collect();
    let ours: BTreeSet<_> = MNEMONICS.iter().filter_map(|row| row.words.split('.').next()).collect();
    assert!(theirs.len() > 100, "{theirs:?}");
    if ours != theirs {
        let (more, less) = (ours.difference(&theirs), theirs.difference(&ours));
        return Err(format!(
            "only ours: {:?}, only the manual's: {:?}",
            more.collect::<Vec<_>>(),
            less.collect::<Vec<_>>()
        )
        .into());
    }
    Ok(())
}

/// Checks the measured forms of asynchronous instructions, grouped by the beginnings of their mnemonics.
fn measured_forms(csv: &str) -> Result<(), Failed> {
    let mut groups = BTreeSet::new();
    for line in csv.lines().skip(1) {
        let mut fields = line.split(',').map(|field| field.trim_matches('"'));
        let (group, form) = (fields.next().ok_or("no group")?, fields.next().ok_or("no form")?);
        let form = form.split_whitespace().next().unwrap_or(form);
        let row = Mnemonic::find_row(form).ok_or_else(|| format!("no row for {form}"))?;
        // A row with too few words also matches other instructions.
        if row.words.split('.').count() < 2 && row.order.is_none() {
            return Err(format!("only `{}` for {form}", row.words).into());
        }
        let waits = form.contains(".wait_group");
        if form.starts_with("fence") != (row.words == "fence") || waits && row.order != Some(Order::Group) {
            return Err(format!("`{}` for {form}", row.words).into());
        }
        groups.insert(group.to_owned());
    }
    assert!(groups.len() > 20, "{groups:?}");
    Ok(())
}

/// Checks that the assembler knows every mnemonic: a known instruction without operands causes a different error than
/// an unknown one.
fn assembled(assembler: &Assembler) -> Result<(), Failed> {
    let rows = MNEMONICS.iter().filter(|row| row.control == Control::Next).map(|row| row.words);
    let words: Vec<_> = rows.chain(["frobnicate", "cp.frobnicate"]).collect();
    // The assembler needs another word to identify these instructions.
    let further = [
        (".lo", &["mad24", "madc", "mul24"][..]),
        (".l", &["shf"]),
        (".fractional", &["createpolicy"]),
        (".b", &["suld", "sust", "sured"]),
        (".async", &["clusterlaunchcontrol.try_cancel"]),
        (".a", &["wmma.load"]),
        (".d", &["wmma.store"]),
        (".inc", &["setmaxnreg"]),
    ];
    let further = |words: &str| further.iter().find(|(_, all)| all.contains(&words)).map_or("", |(word, _)| word);
    let body: String = words.iter().map(|words| format!("{words}{};\n", further(words))).collect();
    let mut file = tempfile::Builder::new().suffix(".ptx").tempfile()?;
    write!(file, ".version 9.5\n.target sm_100a\n.address_size 64\n.visible .entry k()\n{{\n{body}ret;\n}}\n")?;
    let output =
        Command::new(assembler.program()).args(["-arch", "sm_100a", "-o", "/dev/null"]).arg(file.path()).output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let unknown: BTreeSet<_> = said
        .lines()
        .filter(|line| line.contains("Not a name of any known instruction") || line.contains("Unknown modifier"))
        .filter_map(|line| line.split("line ").nth(1)?.split(';').next()?.parse::<usize>().ok())
        .map(|line| words[line - 6])
        .collect();
    // The two invented mnemonics show that the assembler reached the end of the text.
    if unknown != BTreeSet::from(["frobnicate", "cp.frobnicate"]) {
        return Err(format!("unknown are {unknown:?}\n{said}").into());
    }
    Ok(())
}
