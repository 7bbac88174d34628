//! Programs as the machine on the CPU and as the memory model have them.

use std::collections::BTreeMap;

use libtest_mimic::Failed;
use ptx_execute::{FaultKind, Options};
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
    /// What the two say that is not the same: in a few words, how often, and the shortest such program.
    disagreements: BTreeMap<String, (u64, String)>,
}

/// Where nothing hangs, both find a race, or none does.
pub fn compare(numbers: impl Iterator<Item = u64>) -> Result<(), Failed> {
    let mut counts = Counts::default();
    for number in numbers {
        let Some(program) = program(number) else { continue };
        let text = Text::new(&program);
        // The machine does not run a commit that tells of A alone.
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

/// How many schedules a program gets.
const SEEDS: u64 = 5;

/// The lines of a race of which one access is asynchronous, if the program ends.
fn executed(text: &Text) -> Result<Option<Option<[u32; 2]>>, String> {
    let kernel = text.kernel();
    let module: Module = kernel.parse().map_err(|error| format!("{kernel}{error}"))?;
    let function = module.functions().next().ok_or("no kernel")?;
    let mut ends = false;
    for seed in 0..SEEDS {
        let report = run(&module, function, 0, &[], Options::default().of_seed(seed))
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
