//! `ptx-atomics verify-mapping`.

use std::{collections::BTreeMap, fs, path::Path, process::ExitCode, time::Instant};

use ptx_atomics::mapping::{
    NoProgram,
    programs::Set,
    verify::{BrokenProgram, EXPANSIONS, Expansion, MAXIMUM, Report, verify, verify_these},
};
use ptx_atomics::pass::{Diagnostic, Errors};
use ptx_atomics::{memory_model::source::Rules, optimize::Rewrite};
use serde::Serialize;
use strum::IntoEnumIterator;

use crate::{
    cli::{Format, VerifyMappingArgs},
    conditions,
    format::{columns, json, markdown_table},
    host, litmus, mix, mutants, output,
    render::{self, Lost},
};

/// The result for a set of programs, with the field names of JSON.
#[derive(Serialize)]
struct SetVerdict {
    programs_of: String,
    expansion: &'static str,
    rule: String,
    races: String,
    programs: u64,
    /// Programs with an operation that the expansion replaces.
    expanded: u64,
    /// Programs that race.
    racing: u64,
    undefined: u64,
    /// Pairs of a program and a strategy on a target.
    mapped: u64,
    /// Distinct PTX programs of these pairs.
    ptx_programs: u64,
    /// Candidate executions of both models.
    candidates: u64,
    not_kept: u64,
    /// Pairs whose PTX accesses overlap in part. They are kept under the assumption that an access of a word accesses
    /// all its bytes.
    bytes_of_one_word: u64,
    unknown: u64,
    seconds: f64,
    /// The defined programs that each rewrite of the optimizer applies to.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    rewritten: BTreeMap<String, u64>,
    /// The mappings for which some program is not kept.
    mappings: Vec<String>,
}

#[rustfmt::skip]
const HEADER: [&str; 13] = [
    "programs of", "expansion", "programs", "expanded", "racing", "undefined", "mapped", "PTX programs", "candidates", "not kept",
    "bytes of one word", "unknown", "seconds",
];

pub fn run(args: &VerifyMappingArgs) -> ExitCode {
    match work(args) {
        Ok((text, kept)) => {
            let written = output::print(&text);
            ExitCode::from(u8::from(!(kept && written)))
        }
        Err(errors) => {
            render::errors(&errors, None, Lost::All);
            ExitCode::FAILURE
        }
    }
}

/// The output, and whether every mapping is kept, or every mutant is caught.
fn work(args: &VerifyMappingArgs) -> Result<(String, bool), Errors> {
    if args.host.is_some() {
        let (text, right, found) = host::work(args, &sets(args), |set| shard(args, set))?;
        write(args, &found)?;
        return Ok((text, right));
    }
    if args.mutants && args.optimize {
        let rows = conditions::rows().map_err(|error| Diagnostic::new(error.to_string()))?;
        let text = match args.format {
            Format::Json => json(&rows),
            format => conditions::text(&rows, format == Format::Markdown),
        };
        return Ok((text, conditions::all_shown(&rows)));
    }
    if args.mutants {
        let all: Vec<_> = (0..EXPANSIONS.len()).collect();
        let rows = mutants::rows(&chosen(args, &all)).map_err(|error| Diagnostic::new(error.to_string()))?;
        let text = match args.format {
            Format::Json => json(&rows),
            format => mutants::text(&rows, format == Format::Markdown),
        };
        return Ok((text, mutants::all_caught(&rows)));
    }
    if !args.mix.is_empty() {
        let (text, kept, found) = mix::work(args, &sets(args), |set| shard(args, set))?;
        write(args, &found)?;
        return Ok((text, kept));
    }
    let mut rows = Vec::new();
    for (name, expansion, check) in tasks(args)? {
        let start = Instant::now();
        let report = check().map_err(|error| Diagnostic::new(error.to_string()))?;
        write(args, &report.found)?;
        let counts = report.counts;
        rows.push(SetVerdict {
            programs_of: name,
            expansion: expansion.name,
            rule: args.rule.to_string(),
            races: args.races.to_string(),
            programs: counts.programs,
            expanded: counts.expanded,
            racing: counts.racing,
            undefined: counts.undefined,
            mapped: counts.pairs,
            ptx_programs: counts.lowered,
            candidates: counts.candidates,
            not_kept: counts.unsound,
            bytes_of_one_word: counts.assumed,
            unknown: counts.unknown,
            seconds: start.elapsed().as_secs_f64(),
            rewritten: report.rewritten.iter().map(|(rewrite, programs)| (rewrite.to_string(), *programs)).collect(),
            mappings: report.found.iter().map(|found| found.mapping.clone()).collect(),
        });
    }
    // Over all sets, each rewrite must apply to a program.
    let all = args.optimize && args.files.is_empty() && args.sets.is_empty();
    let checked = !all || Rewrite::iter().all(|rewrite| rewritten(&rows, rewrite) > 0);
    Ok((text(args, &rows), checked && rows.iter().all(|row| row.not_kept == 0 && row.unknown == 0)))
}

/// The number of programs that a rewrite applies to.
fn rewritten(rows: &[SetVerdict], rewrite: Rewrite) -> u64 {
    rows.iter().filter_map(|row| row.rewritten.get(&rewrite.to_string())).sum()
}

type Task<'a> = (String, Expansion, Box<dyn Fn() -> Result<Report, NoProgram> + 'a>);

/// The tasks: each set with each expansion.
fn tasks(args: &VerifyMappingArgs) -> Result<Vec<Task<'_>>, Errors> {
    let rules = Rules { sequences: args.rule, races: args.races };
    let mut tasks: Vec<Task<'_>> = Vec::new();
    if !args.files.is_empty() {
        for path in &args.files {
            let sources = litmus::read_sources(path)?;
            for expansion in expansions(args, &[0]) {
                let sources = sources.clone();
                let check = Box::new(move || verify_these(&sources, &expansion, rules));
                tasks.push((path.display().to_string(), expansion, check));
            }
        }
        return Ok(tasks);
    }
    for set in sets(args) {
        let of_rmws = set.has_updates() || set.has_exchanges();
        // With the optimizer, only one further expansion differs: `MAXIMUM`.
        let others = if args.optimize { 0..0 } else { 1..EXPANSIONS.len() };
        let all = [0].into_iter().chain(others.filter(|&number| of_rmws && EXPANSIONS[number].is_in(set)));
        let mut all = expansions(args, &all.collect::<Vec<_>>());
        if args.optimize && args.expansions.is_empty() && set.has_updates() {
            all.push(MAXIMUM);
        }
        for expansion in all {
            tasks.push((
                set.to_string(),
                expansion,
                Box::new(move || verify(set, &expansion, rules, shard(args, set))),
            ));
        }
    }
    Ok(tasks)
}

/// The selected sets.
fn sets(args: &VerifyMappingArgs) -> Vec<Set> {
    let all = || Set::iter().filter(|set| args.optimize || !set.is_for_the_optimizer_alone()).collect();
    if args.sets.is_empty() { all() } else { args.sets.clone() }
}

/// The selected expansions.
fn chosen(args: &VerifyMappingArgs, default: &[usize]) -> Vec<&'static Expansion> {
    let given: Vec<_> = args.expansions.iter().map(|number| usize::from(*number)).collect();
    let numbers = if given.is_empty() { default } else { &given };
    numbers.iter().map(|number| &EXPANSIONS[*number]).collect()
}

/// The selected expansions, with the optimizer before the lowering if the arguments ask for it.
fn expansions(args: &VerifyMappingArgs, default: &[usize]) -> Vec<Expansion> {
    let optimized = |expansion: &Expansion| if args.optimize { expansion.optimized() } else { *expansion };
    chosen(args, default).into_iter().map(optimized).collect()
}

/// The part of a set that is checked.
fn shard(args: &VerifyMappingArgs, set: Set) -> (usize, usize) {
    let (k, n) = args.shard;
    let every = match args.all {
        true => set.whole(),
        // The optimizer does not change most programs of sets that were not made for it.
        false if args.optimize && !set.is_for_the_optimizer() => 5 * set.sample(),
        false => set.sample(),
    };
    // An offset of `every` would be the first sample again.
    (1 + (k - 1) * every + args.offset % every, n * every)
}

/// Writes the first counterexample of each mapping, and its PTX, if the arguments name a folder.
fn write(args: &VerifyMappingArgs, found: &[BrokenProgram]) -> Result<(), Errors> {
    let Some(folder) = &args.counterexamples else { return Ok(()) };
    let at = |path: &Path| {
        let path = path.display().to_string();
        move |error: std::io::Error| Diagnostic::new(format!("cannot write '{path}': {error}"))
    };
    fs::create_dir_all(folder).map_err(at(folder))?;
    for found in found {
        let stem =
            format!("{}.{}", found.source.name, found.mapping).replace(|c: char| !c.is_alphanumeric() && c != '.', "-");
        for (ending, text) in [("source.txt", found.source.to_string()), ("litmus", found.litmus().to_string())] {
            let path = folder.join(format!("{stem}.{ending}"));
            fs::write(&path, text).map_err(at(&path))?;
        }
    }
    Ok(())
}

const REWRITTEN: [&str; 2] = ["rewrite", "programs"];

/// The number of programs that each rewrite applies to.
fn rewrites(rows: &[SetVerdict]) -> impl Iterator<Item = Vec<String>> {
    Rewrite::iter().map(|rewrite| vec![rewrite.to_string(), rewritten(rows, rewrite).to_string()])
}

fn text(args: &VerifyMappingArgs, rows: &[SetVerdict]) -> String {
    let cells = |row: &SetVerdict| {
        let found = [row.not_kept, row.bytes_of_one_word, row.unknown];
        let counts = [
            &[row.programs, row.expanded, row.racing, row.undefined, row.mapped, row.ptx_programs, row.candidates][..],
            &found,
        ]
        .concat();
        let mut cells = vec![row.programs_of.clone(), row.expansion.to_owned()];
        cells.extend(counts.iter().map(ToString::to_string));
        cells.push(format!("{:.2}", row.seconds));
        cells
    };
    match args.format {
        Format::Json => json(&rows),
        Format::Markdown => {
            let table = markdown_table(&HEADER, rows.iter().map(cells));
            let of_rewrites = args.optimize.then(|| markdown_table(&REWRITTEN, rewrites(rows)));
            [table].into_iter().chain(of_rewrites).collect::<Vec<_>>().join("\n")
        }
        Format::Text => {
            let header = HEADER.iter().map(ToString::to_string).collect();
            let table = columns([header].into_iter().chain(rows.iter().map(cells)));
            let failing = |row: &SetVerdict| {
                let lines = row.mappings.iter().map(|mapping| format!("  {mapping}\n")).collect::<String>();
                let title = format!("not kept on programs of {}, by {}:\n", row.programs_of, row.expansion);
                if lines.is_empty() { String::new() } else { title + &lines }
            };
            let header = REWRITTEN.map(ToOwned::to_owned).to_vec();
            let of_rewrites = args.optimize.then(|| columns([header].into_iter().chain(rewrites(rows))));
            format!(
                "release sequences of {}, races of {}\n{table}{}{}",
                args.rule,
                args.races,
                of_rewrites.unwrap_or_default(),
                rows.iter().map(failing).collect::<String>()
            )
        }
    }
}
