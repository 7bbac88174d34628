//! `ptx-atomics check` of kernels: what asynchronous operations lack, and what inline assembly hides.

mod baseline;
mod json;
mod kernels;
mod placed;
mod repeat;
mod sarif;
mod summary;
mod text;

use std::process::ExitCode;

use ptx_atomics::llvm::Errors;

use self::{baseline::Baseline, kernels::Read, placed::Placed, summary::Summary};
use crate::{
    cli::{CheckArgs, CheckFormat, KernelArgs},
    input::cannot,
    output, render,
};

pub fn run(args: &CheckArgs) -> ExitCode {
    let KernelArgs { paths, format, baseline, write_baseline, strict, .. } = &args.kernels;
    let (format, profile) =
        (format.unwrap_or(CheckFormat::Text), ptx_atomics_litmus::profile(args.readings.readings()));
    let known = baseline.as_ref().map(|path| Baseline::read(path)).transpose();
    let mut known = match known {
        Ok(known) => known,
        Err(errors) => return failed(&errors),
    };
    let (mut summary, mut hidden) = (Summary::default(), 0);
    let mut all = Vec::new();
    for path in paths {
        let Read { input, errors, modules } = kernels::read(args, path);
        errors.iter().for_each(|error| render::error(error, input.as_ref()));
        summary.errors.extend(errors);
        let Some(input) = input else { continue };
        for module in &modules {
            summary.add(&module.kernels);
            let mut placed = Placed::all(&input, module, &|witness| repeat::command(args, path, module, witness));
            hidden += known.as_mut().map_or(0, |known| known.remove(&mut placed));
            summary.count(&placed);
            if format == CheckFormat::Text {
                text::print(&placed, &input, &profile);
            }
            all.extend(placed);
        }
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
    };
    let is_right = summary.is_right(*strict) || write_baseline.is_some() && summary.errors.is_empty();
    if written && is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn failed(errors: &Errors) -> ExitCode {
    errors.iter().for_each(|error| render::error(error, None));
    ExitCode::FAILURE
}
