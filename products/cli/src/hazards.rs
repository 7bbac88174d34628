//! `ptx-atomics check` of kernels: the report of all that is checked.

mod atomics;
mod baseline;
mod json;
pub mod junit;
mod kernels;
mod placed;
mod repeat;
pub mod sarif;
mod summary;
pub mod text;

use std::process::ExitCode;

use itertools::Itertools;
use ptx_atomics::{
    pass::{Errors, Input},
    ptx::Places,
};

pub use self::placed::{Executed, Level, Placed};
use self::{
    baseline::Baseline,
    kernels::{Module, Origin, Read},
    summary::Summary,
};
use crate::{
    cli::{CheckArgs, CheckFormat, KernelArgs},
    input::cannot,
    output, races, render,
};

pub fn run(args: &CheckArgs) -> ExitCode {
    let KernelArgs { paths, format, baseline, write_baseline, strict, .. } = &args.kernels;
    let (format, profile) =
        (format.unwrap_or(CheckFormat::Text), ptx_atomics::memory_model::report::profile(args.readings.readings()));
    let known = baseline.as_ref().map(|path| Baseline::read(path)).transpose();
    let mut known = match known {
        Ok(known) => known,
        Err(errors) => return failed(&errors),
    };
    let (mut summary, mut hidden) = (Summary::default(), 0);
    let mut all = Vec::new();
    for mut read in paths.iter().flat_map(|path| kernels::read(args, path)) {
        let errors = std::mem::take(&mut read.errors);
        errors.iter().for_each(|error| render::error(error, read.input.as_ref()));
        summary.errors.extend(errors);
        summary.add(&read);
        let Some(input) = &read.input else { continue };
        let mut placed = findings(args, &read, input);
        hidden += known.as_mut().map_or(0, |known| known.remove(&mut placed));
        summary.count(&placed);
        if format == CheckFormat::Text {
            text::print(&placed, input, &profile);
        }
        all.extend(placed);
    }
    summary.known = known.map(|known| (hidden, known.left()));
    if let Some(path) = write_baseline {
        let done = output::write(path, Baseline::text(&all).into_bytes());
        if let Err(error) = done {
            return failed(&cannot("write", path, &error));
        }
    }
    let written = match format {
        CheckFormat::Text => {
            render::omitted();
            render::say(&summary.to_string());
            true
        }
        CheckFormat::Json => output::print(&json::array(&all, &profile)),
        CheckFormat::Sarif => output::print(&sarif::log(&all, &profile, &summary.errors)),
        CheckFormat::Junit => output::print(&junit::suites(&all, &summary.kernels, &summary.errors, *strict)),
    };
    let is_right = summary.is_right(*strict) || write_baseline.is_some() && summary.errors.is_empty();
    if written && is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// All findings of a program.
fn findings(args: &CheckArgs, read: &Read, input: &Input) -> Vec<Placed> {
    let order = read.order.iter().flat_map(|order| atomics::findings(order, input));
    let of_module = |module: &Module| {
        Placed::of_module(input, module, &|witness| repeat::command(args, &read.path, module, witness))
    };
    let modules = read.modules.iter().flat_map(of_module);
    // What was inlined several times stands in one place.
    let hidden = read.hidden.iter().map(|(site, message)| placed::in_assembly(site, message, input));
    let hidden = hidden.unique_by(|placed| placed.place.clone().ok_or_else(|| placed.message.clone()));
    let races = read.races.iter().flat_map(|file| races::placed::shown(args, file));
    order.chain(modules).chain(hidden).chain(races).collect()
}

/// The findings in a text of PTX, all at its own lines, wherever it comes from.
pub fn in_text(args: &CheckArgs, input: &Input) -> Vec<Placed> {
    let (_, modules) = kernels::of_ptx(args, input);
    let own = |module: Module| Module { origin: Origin::Ptx(Places::of("")), ..module };
    modules.into_iter().flat_map(|module| Placed::of_module(input, &own(module), &|_| String::new())).collect()
}

fn failed(errors: &Errors) -> ExitCode {
    errors.iter().for_each(|error| render::error(error, None));
    ExitCode::FAILURE
}
