//! Programs as the executor and as the memory model have them.

use std::collections::BTreeMap;

use libtest_mimic::Failed;
use ptx_isa::Module;
use ptx_memory_model::ptx::readings::Readings;

use crate::{
    alphabet::ALPHABET,
    compare::{Model, model, word},
    execute::{Class, INPUTS, Oracle},
    program::{Text, program},
};

#[derive(Default)]
struct Counts {
    races: u64,
    ordered: u64,
    /// What the two say that is not the same: in a few words, how often, and the shortest such program.
    disagreements: BTreeMap<String, (u64, String)>,
}

/// Where nothing hangs, both find a race, or none does. Semantics of mbarriers are none of the executor's.
pub fn compare(numbers: impl Iterator<Item = u64>) -> Result<(), Failed> {
    let mut counts = Counts::default();
    for number in numbers {
        let Some(program) = program(number) else { continue };
        if program.iter().flatten().any(|&letter| ALPHABET[letter].ptx.contains(".relaxed.")) {
            continue;
        }
        let text = Text::new(&program);
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
                format!("only the executor has a race: {first} and {second}")
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

/// The lines of a race of which one access is asynchronous, if the program ends.
fn executed(text: &Text) -> Result<Option<Option<[u32; 2]>>, String> {
    let kernel = text.kernel();
    let module: Module = kernel.parse().map_err(|error| format!("{kernel}{error}"))?;
    let function = module.functions().next().ok_or("no kernel")?;
    let oracle = Oracle::new(&module, function, &INPUTS[..1]);
    let Some(base) = oracle.bases.first() else { return Ok(None) };
    let races = base.races.iter().filter(|race| race.class == Class::Asynchronous);
    let of_threads = races.map(|race| [race.first, race.second]);
    Ok(Some(of_threads.into_iter().find(|lines| lines.iter().all(|line| text.thread(*line).is_some()))))
}
