//! `ptx-atomics verify-mapping --mutants`.

use std::collections::BTreeMap;

use ptx_atomics::lowering::Strategy;
use ptx_atomics::mapping::{
    NoProgram,
    mutants::{Mutant, MutantResult, PLAIN_SETS, SETS, SUPERFLUOUS, hunt},
    verify::{EXPANSIONS, Expansion},
};
use serde::Serialize;
use strum::IntoEnumIterator;

use crate::format::{columns, markdown_table};

/// The mutants of a strategy on a target with an expansion, with the field names of JSON.
#[derive(Serialize)]
pub struct MutantCounts {
    expansion: &'static str,
    strategy: String,
    target: String,
    mutants: usize,
    /// Mutants that are known to be right.
    superfluous: usize,
    caught: usize,
    /// Mutants that programs with plain data catch, without other programs.
    caught_by_plain_data: usize,
    /// Mutants that are not known to be right, and that no program catches.
    missed: Vec<String>,
}

/// The counts for all mutants with these expansions.
pub fn rows(expansions: &[&'static Expansion]) -> Result<Vec<MutantCounts>, NoProgram> {
    let mut rows: Vec<MutantCounts> = Vec::new();
    for expansion in expansions {
        let plain = hunt(expansion, &PLAIN_SETS)?;
        for (mutant, with_plain) in hunt(expansion, &SETS)?.iter().zip(&plain) {
            let (strategy, target) = (mutant.strategy.to_string(), mutant.target.to_string());
            let same = |row: &&mut MutantCounts| {
                row.expansion == expansion.name && row.strategy == strategy && row.target == target
            };
            let row = match rows.iter_mut().rev().find(same) {
                Some(row) => row,
                None => {
                    let expansion = expansion.name;
                    let (superfluous, caught, missed) = (0, 0, Vec::new());
                    rows.push(MutantCounts {
                        expansion,
                        strategy,
                        target,
                        mutants: 0,
                        superfluous,
                        caught,
                        caught_by_plain_data: 0,
                        missed,
                    });
                    rows.last_mut().expect("pushed above")
                }
            };
            row.add(mutant, with_plain);
        }
    }
    Ok(rows)
}

impl MutantCounts {
    fn add(&mut self, mutant: &Mutant, with_plain: &Mutant) {
        let caught = |mutant: &Mutant| matches!(mutant.found, MutantResult::Caught(_));
        self.mutants += 1;
        self.caught_by_plain_data += usize::from(caught(with_plain));
        if caught(mutant) || caught(with_plain) {
            self.caught += 1;
        } else if mutant.superfluous().is_some() {
            self.superfluous += 1;
        } else {
            self.missed.push(mutant.to_string());
        }
    }
}

/// Whether there are mutants, and each mutant that is not known to be right is caught.
pub fn all_caught(rows: &[MutantCounts]) -> bool {
    rows.iter().any(|row| row.caught > 0) && rows.iter().all(|row| row.missed.is_empty())
}

/// Two tables, by expansion and by target; the reasons why mutants are superfluous; and the missed mutants.
pub fn text(rows: &[MutantCounts], markdown: bool) -> String {
    let expansions = EXPANSIONS.iter().map(|expansion| expansion.name.to_owned());
    let expansions: Vec<_> = expansions.filter(|name| rows.iter().any(|row| row.expansion == name)).collect();
    let targets: BTreeMap<_, _> =
        rows.iter().rev().enumerate().map(|(at, row)| (&row.target, usize::MAX - at)).collect();
    let mut targets: Vec<_> = targets.into_iter().collect();
    targets.sort_by_key(|(_, at)| *at);
    let targets: Vec<_> = targets.into_iter().map(|(target, _)| target.clone()).collect();
    let of_expansion = |row: &MutantCounts, name: &str| row.expansion == name;
    let of_target = |row: &MutantCounts, name: &str| row.target == name;
    let mut text = table("expansion", &expansions, rows, &of_expansion, markdown);
    text += "\n";
    text += &table("target", &targets, rows, &of_target, markdown);
    if rows.iter().any(|row| row.superfluous > 0) {
        text += "\nsuperfluous, since nothing is lost:\n";
        for superfluous in &SUPERFLUOUS {
            text += &format!("- {}: {}\n", superfluous.what, superfluous.why);
        }
    }
    for row in rows.iter().filter(|row| !row.missed.is_empty()) {
        text += &format!("\nmissed, of {} for {} by {}:\n", row.strategy, row.target, row.expansion);
        row.missed.iter().for_each(|missed| text += &format!("- {missed}\n"));
    }
    text
}

type Of<'o> = &'o dyn Fn(&MutantCounts, &str) -> bool;

/// For each name, the number of wrong mutants of each strategy, and the number of caught mutants.
fn table(title: &str, names: &[String], rows: &[MutantCounts], of: Of<'_>, markdown: bool) -> String {
    let strategies: Vec<String> = Strategy::iter().map(|strategy| strategy.to_string()).collect();
    let header: Vec<&str> = [title]
        .into_iter()
        .chain(strategies.iter().map(String::as_str))
        .chain(["all", "by plain data alone", "superfluous"])
        .collect();
    let cells = |name: &String| {
        let sum = |count: &dyn Fn(&MutantCounts) -> usize, strategy: Option<&String>| -> usize {
            let rows =
                rows.iter().filter(|row| of(row, name) && strategy.is_none_or(|strategy| row.strategy == *strategy));
            rows.map(count).sum()
        };
        let caught = |strategy| {
            let (caught, missed) = (sum(&|row| row.caught, strategy), sum(&|row| row.missed.len(), strategy));
            format!("{caught} of {}", caught + missed)
        };
        let by_plain_data = sum(&|row| row.caught_by_plain_data, None);
        let superfluous = sum(&|row| row.superfluous, None);
        let strategies = strategies.iter().map(|strategy| caught(Some(strategy)));
        let counts = [caught(None), by_plain_data.to_string(), superfluous.to_string()];
        [name.clone()].into_iter().chain(strategies).chain(counts).collect::<Vec<_>>()
    };
    let rows = names.iter().map(cells);
    match markdown {
        true => markdown_table(&header, rows),
        false => columns([header.iter().map(ToString::to_string).collect()].into_iter().chain(rows)),
    }
}
