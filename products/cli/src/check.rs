//! `ptx-atomics check`: the answers to every question about the kernels of the inputs, in one report.

mod baseline;
mod cache;
mod compare;
mod judged;
mod junit;
mod module_views;
mod order;
mod read;
mod repeat;
mod sarif;
mod summary;
mod text;

use std::process::ExitCode;

use ptx_atomics::{
    check::{View, Witness, json},
    pass::{Diagnostic, Errors},
};

use self::{baseline::Baseline, module_views::ModuleViews, read::Program, summary::Summary};
pub use self::{judged::in_thread, read::in_text};
use crate::{
    cli::{CheckArgs, CheckFormat, KernelArgs},
    format,
    input::cannot,
    output, render,
};

pub fn run(args: &CheckArgs) -> ExitCode {
    match (&args.ir, &args.ptx) {
        (Some(ir), Some(ptx)) if args.kernels.format.is_none() => compare::run(args, ir, ptx),
        _ => of_kernels(args),
    }
}

fn of_kernels(args: &CheckArgs) -> ExitCode {
    let KernelArgs { paths, format, baseline, write_baseline, strict, verbose, .. } = &args.kernels;
    let format = format.unwrap_or(CheckFormat::Text);
    let profile = ptx_atomics::memory_model::report::profile(args.readings.readings());
    let mut known = match baseline.as_ref().map(|path| Baseline::read(path)).transpose() {
        Ok(known) => known,
        Err(errors) => return failed(&errors),
    };
    let mut programs: Vec<Program> = match &args.ptx {
        Some(ptx) => vec![read::pair(args, ptx)],
        None => paths.iter().flat_map(|path| read::programs(args, path)).collect(),
    };
    let mut summary = Summary::new(args);
    for program in &mut programs {
        let errors = std::mem::take(&mut program.errors);
        errors.iter().for_each(|error| render::error(error, program.input.as_ref()));
        program.warnings.iter().for_each(|warning| render::warning(warning, program.input.as_ref()));
        summary.errors.extend(errors);
    }
    let has_kernel = |program: &Program| program.modules.iter().any(|module| !module.report.kernels.is_empty());
    if !programs.iter().any(has_kernel) && summary.errors.is_empty() {
        let error = Diagnostic::new("the input has no kernel to check");
        let error = error.help("give PTX with an entry, or a source with a kernel");
        render::error(&error, None);
        summary.errors.push(error);
    }
    let mut shown: Vec<ModuleViews<'_>> = programs.iter().flat_map(ModuleViews::collect).collect();
    let mut hidden = 0;
    if let Some(known) = &mut known {
        for views in shown.iter_mut().flat_map(|shown| &mut shown.views) {
            hidden += known.remove(views);
        }
    }
    summary.known = known.map(|known| (hidden, known.unmatched_count()));
    shown.iter().for_each(|shown| summary.add(shown));
    if let Some(path) = write_baseline {
        let views = shown.iter().flat_map(ModuleViews::iter);
        if let Err(error) = output::write(path, Baseline::text(views).into_bytes()) {
            return failed(&cannot("write", path, &error));
        }
    }
    let command = |shown: &ModuleViews<'_>, witness: &Witness| {
        Some(repeat::command(args, &shown.program.path, shown.module, witness))
    };
    let written = match format {
        CheckFormat::Text => {
            for shown in &shown {
                let is_listed = |view: &&View<'_>| {
                    let finding = view.finding;
                    let is_open = finding.is_unproved() || finding.is_not_checked() || finding.launches().is_some();
                    *verbose || *strict || !is_open
                };
                let views: Vec<&View<'_>> =
                    shown.iter().filter(|view| view.finding.allowed.is_none()).filter(is_listed).collect();
                if let Some(input) = &shown.program.input {
                    text::print(&views, input, &profile, &|witness| command(shown, witness));
                }
            }
            let written = if args.kernels.has_verdicts() { output::print(&text::verdicts(&shown)) } else { true };
            render::omitted();
            render::say(&summary.to_string());
            written
        }
        CheckFormat::Json => {
            let mut kernels = Vec::new();
            for shown in &shown {
                for (kernel, views) in shown.module.report.kernels.iter().zip(&shown.views) {
                    kernels.push(json::Kernel::new(shown.name(), kernel, views, &|witness| command(shown, witness)));
                }
            }
            let asked = args.kernels.questions().iter();
            output::print(&format::json(&json::Report::new(&profile, asked, kernels, &summary.errors, hidden)))
        }
        CheckFormat::Sarif => output::print(&sarif::log(&shown, &profile, &summary.errors, &command)),
        CheckFormat::Junit => output::print(&junit::suites(&shown, &summary.errors, *strict)),
    };
    let is_right = match write_baseline {
        Some(_) => summary.errors.is_empty(),
        None => summary.is_right(*strict),
    };
    if written && is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn failed(errors: &Errors) -> ExitCode {
    errors.iter().for_each(|error| render::error(error, None));
    ExitCode::FAILURE
}
