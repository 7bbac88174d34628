//! `ptx-atomics check --async`: what asynchronous operations of kernels lack.

mod json;
mod kernels;
mod placed;
mod sarif;
mod summary;
mod text;

use std::process::ExitCode;

use self::{kernels::Read, placed::Placed, summary::Summary};
use crate::{
    cli::{CheckArgs, CheckFormat},
    output, render,
};

pub fn run(args: &CheckArgs) -> ExitCode {
    let (format, profile) =
        (args.kernels.format.unwrap_or(CheckFormat::Text), ptx_atomics_litmus::profile(args.readings.readings()));
    let mut summary = Summary::default();
    let mut all = Vec::new();
    for path in &args.kernels.paths {
        let Read { input, errors, modules } = kernels::read(args, path);
        errors.iter().for_each(|error| render::error(error, input.as_ref()));
        summary.errors.extend(errors);
        let Some(input) = input else { continue };
        for module in &modules {
            summary.add(&module.kernels);
            let placed = Placed::all(&input, module);
            match format {
                CheckFormat::Text => text::print(&placed, &input, &profile),
                CheckFormat::Json | CheckFormat::Sarif => all.extend(placed),
            }
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
    if written && summary.is_right() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
