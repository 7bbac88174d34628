//! The comparison of the machine on the CPU with the memory model.

use std::collections::BTreeMap;

use libtest_mimic::Failed;
use ptx_execute::{FaultKind, RunOptions};
use ptx_isa::Module;
use ptx_memory_model::ptx::readings::Readings;
use testing::reported::{Class, race, run};

use crate::{
    compare::{Model, model, word},
    program::{Text, program},
};

#[derive(Default)]
struct Counts {
    races: u64,
    ordered: u64,
    /// The disagreements: a short description, the number of programs, and the shortest program.
    disagreements: BTreeMap<String, (u64, String)>,
}

/// For programs without a hang, checks that the machine and the model agree whether there is a race.
pub fn compare(numbers: impl Iterator<Item = u64>) -> Result<(), Failed> {
    let mut counts = Counts::default();
    for number in numbers {
        let Some(program) = program(number) else { continue };
        let text = Text::new(&program);
        // The machine does not run a commit of the reads of A alone.
        if text.litmus().contains("sync_restrict::shared::read") {
            continue;
        }
        let races = match model(&text, Readings::DEFAULT)? {
            Model::Races { .. } => true,
            Model::Ordered => false,
            Model::RacesOtherwise | Model::Hangs | Model::Unknown => continue,
        };
        let Some(pair) = executed(&text)? else { continue };
        if races {
            counts.races += 1;
        } else {
            counts.ordered += 1;
        }
        let what = match (races, pair) {
            (true, None) => "only the model has a race".to_owned(),
            (false, Some(lines)) => {
                let [first, second] = lines.map(|line| word(text.instruction(line)));
                format!("only the machine has a race: {first} and {second}")
            }
            _ => continue,
        };
        let litmus = text.litmus();
        let (count, shortest) = counts.disagreements.entry(what).or_insert_with(|| (0, litmus.clone()));
        *count += 1;
        if litmus.len() < shortest.len() {
            *shortest = litmus;
        }
    }
    println!("executed: {} programs with a race, {} without", counts.races, counts.ordered);
    if counts.disagreements.is_empty() && counts.races > 0 && counts.ordered > 0 {
        return Ok(());
    }
    let said =
        counts.disagreements.iter().map(|(what, (count, program))| format!("\n{count} times, {what}:\n{program}"));
    Err(said.collect::<String>().into())
}

/// The number of schedules for each program.
const SEEDS: u64 = 5;

/// The lines of a race with an asynchronous access, if the program ends.
fn executed(text: &Text) -> Result<Option<Option<[u32; 2]>>, String> {
    let kernel = text.kernel();
    let module: Module = kernel.parse().map_err(|error| format!("{kernel}{error}"))?;
    let function = module.functions().next().ok_or("no kernel")?;
    let mut ends = false;
    for seed in 0..SEEDS {
        let report = run(&module, function, 0, &[], RunOptions::default().of_seed(seed))
            .map_err(|errors| format!("{kernel}{errors:?}"))?;
        let is_of_threads = |lines: &[u32; 2]| lines.iter().all(|line| text.thread(*line).is_some());
        let races = report.findings.iter().filter_map(race).filter(|(class, _)| *class == Class::Asynchronous);
        if let Some((_, lines)) = races.into_iter().find(|(_, lines)| is_of_threads(lines)) {
            return Ok(Some(Some(lines)));
        }
        match report.findings.iter().find(|finding| finding.kind.ends()) {
            None => ends = true,
            Some(finding) if finding.kind == FaultKind::Hang => {}
            Some(finding) => return Err(format!("{kernel}{finding}")),
        }
    }
    Ok(ends.then_some(None))
}
