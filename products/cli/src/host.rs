//! `ptx-atomics verify-mapping --host`.

use std::time::Instant;

use ptx_atomics::mapping::{
    Mapping, NoProgram,
    host::HostMapping,
    host_threads::{Cell, Report, check_set, check_sources},
    mix,
    programs::Set,
    verify::BrokenProgram,
};
use ptx_atomics::memory_model::source::Rules;
use ptx_atomics::pass::{Diagnostic, Errors};
use serde::Serialize;

use crate::{
    cli::{Format, VerifyMappingArgs},
    format::{columns, json, markdown_table},
    litmus,
    mix::names,
};

/// A mapping of the host, with the field names of JSON.
#[derive(Serialize)]
struct Row<'m> {
    host: &'m str,
    rule: String,
    races: String,
    /// Choices of the host's threads, and of a mapping for the other threads.
    mixtures: u64,
    not_kept: u64,
    unknown: u64,
    /// A smallest program that is not kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    example: Option<String>,
}

const HEADER: [&str; 4] = ["on the host", "mixtures", "not kept", "unknown"];

/// The output, whether every mapping is kept, or every wrong mapping caught, and the counterexamples.
pub fn work(
    args: &VerifyMappingArgs,
    sets: &[Set],
    shard: impl Fn(Set) -> (usize, usize),
) -> Result<(String, bool, Vec<BrokenProgram>), Errors> {
    let processor = args.host.unwrap_or_default();
    let hosts = if args.mutants { HostMapping::wrong(processor) } else { HostMapping::right(processor) };
    let strategies = || mix::strategies().map(ToOwned::to_owned).collect();
    let of_gpu: Vec<String> = if args.mix.is_empty() { strategies() } else { names(&args.mix) };
    let mappings: Vec<Mapping<'_>> = of_gpu.iter().filter_map(|name| mix::mapping(name)).collect();
    let rules = Rules { sequences: args.rule, races: args.races };
    let (start, mut whole) = (Instant::now(), Report::default());
    let failed = |error: NoProgram| Diagnostic::new(error.to_string());
    for path in &args.files {
        whole.add(check_sources(&hosts, &mappings, &litmus::read_sources(path)?, rules).map_err(failed)?);
    }
    for &set in sets.iter().filter(|_| args.files.is_empty()) {
        whole.add(check_set(&hosts, &mappings, set, rules, shard(set)).map_err(failed)?);
    }
    let seconds = start.elapsed().as_secs_f64();
    let is_right = |cell: &Cell| match args.mutants {
        true => cell.not_kept > 0,
        false => cell.not_kept == 0 && cell.unknown == 0,
    };
    let right = whole.cells.iter().all(is_right);
    let rows: Vec<Row<'_>> = hosts.iter().zip(&whole.cells).map(|(host, cell)| make_row(args, host, cell)).collect();
    let cells = |row: &Row<'_>| {
        let counts = [row.mixtures, row.not_kept, row.unknown].map(|count| count.to_string());
        [vec![row.host.to_owned()], counts.to_vec()].concat()
    };
    let text = match args.format {
        Format::Json => json(&rows),
        Format::Markdown => markdown_table(&HEADER, rows.iter().map(cells)),
        Format::Text => {
            let counts = format!(
                "{processor} beside {}; release sequences of {}, races of {}: {} programs, {} of them undefined; {} different \
                 lowered programs, {} candidates, {seconds:.1} s\n",
                of_gpu.join(", "),
                args.rule,
                args.races,
                whole.programs,
                whole.undefined,
                whole.lowered,
                whole.candidates
            );
            let header = HEADER.map(ToOwned::to_owned).to_vec();
            let examples = whole.cells.iter().filter_map(|cell| cell.example.as_ref()).filter(|_| !args.mutants);
            let examples = examples.map(|found| format!("\nnot kept, by {}:\n{}", found.mapping, found.source));
            counts + &columns([header].into_iter().chain(rows.iter().map(cells))) + &examples.collect::<String>()
        }
    };
    Ok((text, right, whole.cells.into_iter().filter_map(|cell| cell.example).collect()))
}

fn make_row<'m>(args: &VerifyMappingArgs, host: &'m HostMapping, cell: &Cell) -> Row<'m> {
    Row {
        host: &host.name,
        rule: args.rule.to_string(),
        races: args.races.to_string(),
        mixtures: cell.mixtures,
        not_kept: cell.not_kept,
        unknown: cell.unknown,
        example: cell.example.as_ref().map(|found| found.source.to_string()),
    }
}
