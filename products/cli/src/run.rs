//! `ptx-atomics run`.

mod json;
pub mod place;
mod prepare;
mod repeat;
mod sarif;
pub mod sequence;
pub mod text;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use indicatif::ParallelProgressIterator;
use ptx_atomics::execute::described::{argument, assumed, comment, element, expect, npy, plan, result, runs, simulate};
pub use ptx_atomics::execute::described::{comment::quoted, sizes};
use ptx_atomics::execute::{Condition, Dependence, FaultKind, RunOptions};
use ptx_atomics::hazards::Budget;
use ptx_atomics::{pass::Errors, ptx::Module};
use rayon::prelude::*;

use self::{
    expect::Memory,
    plan::Plan,
    prepare::Prepared,
    result::{PlanResult, Showing},
    simulate::{Outcome, Simulation},
};
use crate::{
    cli::{RaceMode, RunArgs, RunFormat},
    input::cannot,
    output::{self, Content, Output},
    progress, render,
};

/// The exit status of a run that did not end.
const NOT_RUN: u8 = 2;

pub fn run(args: &RunArgs) -> ExitCode {
    let prepared = match prepare::prepare(args) {
        Ok(prepared) => prepared,
        Err((errors, input)) => {
            errors.iter().for_each(|error| render::error(error, input.as_ref()));
            return ExitCode::from(NOT_RUN);
        }
    };
    let Prepared { ptx, module, plans } = prepared;
    let (mut all, mut files, mut shown) = (Vec::new(), Vec::new(), String::new());
    for plan in plans {
        let found = execute(args, &module, plan);
        if args.format == RunFormat::Text {
            text::print(&found, &ptx);
            found.chosen().iter().for_each(|chosen| render::say(&format!("note: {chosen}")));
            render::say(&found.summary(args.races != RaceMode::Off));
            let has_race = found.findings.iter().any(|shown| shown.finding.kind == FaultKind::Race);
            let is_news = |why: &&Dependence| why.condition != Condition::Race && !has_race && found.errors.is_empty();
            let dependence = found.dependence().filter(is_news);
            dependence.iter().for_each(|why| render::say(&format!("note: schedules may differ: {why}")));
            let lag = found.lag();
            lag.iter().for_each(|lag| render::say(&format!("note: a thread that only waits may wait forever: {lag}")));
            let seed = found.failing_seed().filter(|_| found.seeds > 1);
            seed.iter().for_each(|seed| render::say(&format!("repeat it: {}", repeat::command(*seed))));
            shown += &found.printed;
            shown.extend(args.print.iter().filter_map(|(name, most)| found.contents(name, *most)));
        }
        files.extend(outputs(&found));
        all.push(found);
    }
    let shown = match args.format {
        RunFormat::Text => shown,
        RunFormat::Json => json::array(&all, ptx.input.name()),
        RunFormat::Sarif => sarif::log(&all, &ptx),
    };
    let is_written = (shown.is_empty() || output::print(&shown)) && written(files);
    let status = all.iter().map(PlanResult::status).max().unwrap_or(0);
    ExitCode::from(if is_written { status } else { NOT_RUN })
}

/// Runs a plan with all its seeds.
fn execute(args: &RunArgs, module: &Module, plan: Plan) -> PlanResult {
    let base =
        if args.like_check { ptx_atomics::hazards::options(0, &Budget::default()) } else { RunOptions::default() };
    let options = RunOptions {
        races: args.races != RaceMode::Off,
        step_limit: args.step_limit,
        memory_limit: args.memory_limit,
        ..base
    };
    let names: Vec<String> = plan.expect.iter().flat_map(expect::Expectation::names).map(str::to_owned).collect();
    let shown = args.print.iter().map(|(name, _)| name).chain(plan.out.iter().map(|(name, _)| name)).cloned();
    let (first, others): (Vec<String>, _) = (names.iter().cloned().chain(shown).collect(), names);
    let seeds: Vec<u64> = (0..args.seeds).map(|index| args.seed.wrapping_add(index)).collect();
    let title = plan.title();
    let bar = if seeds.len() > 1 { progress::bar(seeds.len(), "seeds") } else { progress::spinner(&title) };
    let told = bar.clone();
    let watch = move |progress| told.set_message(progress::of_launch(&title, progress));
    let simulation = Simulation { module, plan: &plan, options, schedule: args.schedule, watch: &watch };
    let one = |seed: u64| simulation.run(seed, if seed == args.seed { &first } else { &others });
    let mut outcomes: Vec<Outcome> = vec![one(args.seed)];
    // A determinate execution speaks for all seeds.
    if !outcomes[0].schedules().is_determinate() {
        let others: Vec<u64> = seeds.into_iter().skip(1).collect();
        outcomes.extend(others.into_par_iter().progress_with(bar.clone()).map(one).collect::<Vec<_>>());
    }
    bar.finish_and_clear();
    PlanResult::new(
        plan,
        outcomes,
        Showing { races_are_warnings: args.races == RaceMode::Warn, in_order: args.like_check },
    )
}

/// The output files of a plan, with their contents.
fn outputs(found: &PlanResult) -> Vec<(PathBuf, Vec<u8>)> {
    let of = |(name, path): &(String, PathBuf)| {
        let (ty, bytes) = found.memory.get(name)?;
        let bytes = match path.extension().and_then(|ending| ending.to_str()) {
            Some("npy") => npy::write(ty, bytes),
            _ if path == Path::new("-") => {
                let line = |element: &[u8]| format!("{}\n", element::format_element(ty, element));
                bytes.chunks_exact(element::size(ty)).map(line).collect::<String>().into_bytes()
            }
            _ => bytes.to_vec(),
        };
        Some((path.clone(), bytes))
    };
    found.plan.out.iter().filter_map(of).collect()
}

fn written(files: Vec<(PathBuf, Vec<u8>)>) -> bool {
    let open = |(name, bytes): (PathBuf, Vec<u8>)| match Output::open(&name) {
        Ok(output) => Ok(Content { name, output, bytes }),
        Err(error) => Err(cannot("write", &name, &error)),
    };
    let contents: Result<Vec<Content>, Errors> = files.into_iter().map(open).collect();
    let done =
        contents.and_then(|contents| output::publish(contents).map_err(|(name, error)| cannot("write", &name, &error)));
    done.inspect_err(|errors| errors.iter().for_each(|error| render::error(error, None))).is_ok()
}
