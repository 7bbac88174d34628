//! `ptx-atomics litmus --from-source`: programs in scoped C++ that are lowered, with the outcomes of source and PTX.

use std::path::Path;

use ptx_atomics::mapping::{Mapping, typed};
use ptx_atomics::{
    lowering::{Access, Policy, Type, ptx::Space},
    memory_model::{
        condition::{Condition, Formula, Quantifier},
        litmus::Litmus,
        outcome::{Layout, Limits, Outcomes},
        program::Type as ModelType,
        ptx::{Conventions, Program, search},
        source::{
            self,
            read::{Source, sources},
            search::SourceOutcomes,
        },
        states::States,
        unfold::Limit,
    },
    pass::{Diagnostic, Errors, Location},
};

use ptx_atomics::memory_model::report::{OUTCOMES, first_rows, why};

use crate::{cli::LitmusArgs, input};

/// The output, and whether the PTX of every program has only outcomes of its source.
pub fn run(args: &LitmusArgs, path: &Path, limits: Limits) -> Result<(String, bool), Errors> {
    let sources = read(path)?;
    let target = args.target.target(None, None).map_err(|error| Diagnostic::new(error.to_string()))?;
    let policy = Policy::from(args.strategy.strategies());
    let mapping = Mapping::new(policy, target, Access::new(Space::Global, Type::I32), target.to_string());
    let (mut text, mut kept, mut errors) = (String::new(), true, Errors::new());
    for source in sources {
        match compare(args, &source, &mapping, limits) {
            Ok((part, is_kept)) => {
                text += &part;
                kept &= is_kept;
            }
            Err(found) => errors.extend(found),
        }
    }
    errors.or((text, kept))
}

/// Reads programs in scoped C++; `-` is standard input.
pub fn read(path: &Path) -> Result<Vec<Source>, Errors> {
    let input = input::read(path)?;
    let Ok(text) = std::str::from_utf8(input.bytes()) else {
        return Err(Diagnostic::new(format!("'{}' is not text", input.name())).into());
    };
    sources(text).map_err(|error| {
        let place = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let (line, column) = (place(error.line), place(error.column));
        let location = Some(Location { file: input.name().to_owned(), line, column });
        Diagnostic { location, ..Diagnostic::new(error.message) }.into()
    })
}

fn compare(
    args: &LitmusArgs,
    source: &Source,
    mapping: &Mapping<'_>,
    limits: Limits,
) -> Result<(String, bool), Errors> {
    // The values have the types of their variables.
    let typed = typed(&source.program, ModelType::U32);
    let lowered = typed.and_then(|program| Ok((mapping.translate(&program)?, program)));
    let (program, typed) = lowered.map_err(|error| Diagnostic::new(format!("{}: {error}", source.name)))?;
    let admitted = source::search::outcomes(&typed, args.rule, limits);
    let found = search::outcomes(&program, Conventions::MANUAL, limits);
    let (verdict, kept) = verdict(&admitted, &found);
    let most = if args.all_outcomes { usize::MAX } else { OUTCOMES };
    let table = table(&program, &admitted.outcomes.states, &found.states, most);
    let litmus = Litmus {
        name: source.name.replace(' ', "-"),
        comments: vec![mapping.name.clone()],
        program,
        condition: Condition { quantifier: Quantifier::Exists, formula: Formula::True },
    };
    Ok((format!("{source}\n{litmus}\n{table}{}: {verdict}\n\n", source.name), kept))
}

/// The verdict in words, and whether the lowered program keeps the outcomes of the source.
fn verdict(admitted: &SourceOutcomes, found: &Outcomes) -> (String, bool) {
    let wrong = found.states.iter().filter(|state| !admitted.outcomes.states.contains(state)).count();
    let open = (!found.speculative.is_subset(&admitted.outcomes.states)).then_some(Limit::ThinAir);
    match (&admitted.race, admitted.outcomes.unknown.or(found.unknown).or(open)) {
        (Some(_), _) => ("undefined: the source races, so that every outcome is allowed".into(), true),
        (None, Some(limit)) => (format!("unknown: {}", why(limit)), false),
        (None, None) if wrong > 0 => (format!("not kept: {wrong} outcomes that the source lacks"), false),
        (None, None) => ("kept: the source has every outcome".into(), true),
    }
}

/// The outcomes of source and PTX, and which of the two programs has each outcome.
fn table(program: &Program, source: &States, lowered: &States, most: usize) -> String {
    let layout = Layout::new(program);
    let registers = layout.registers().iter().map(|&(thread, register)| {
        let declared = &program.threads[thread].registers[usize::from(register.0)];
        format!("P{thread}:{}", declared.name)
    });
    let memory = program.locations.iter().map(|variable| variable.name.clone());
    let header = registers.chain(memory).chain(["source".into(), "PTX".into()]).collect();
    let mut states: Vec<&[u64]> = source.iter().chain(lowered.iter()).collect();
    states.sort_unstable();
    states.dedup();
    let mark = |states: &States, state: &[u64]| if states.contains(state) { "yes" } else { "-" }.to_owned();
    let row = |state: &[u64]| {
        let values = state.iter().map(ToString::to_string);
        values.chain([mark(source, state), mark(lowered, state)]).collect()
    };
    first_rows(header, states.into_iter().map(row), most)
}
