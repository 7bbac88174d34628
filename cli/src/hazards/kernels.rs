//! What is checked: PTX, or what becomes PTX.

use std::{path::Path, time::Duration};

use ptx_atomics::memory_model::kernel::shown;
use ptx_atomics::{
    isolated::{self, Job, Language, Unoptimized},
    llvm::{Diagnostic, Errors, Input, Location},
    ptx::{Head, Module as Ptx, ModuleError, Places},
};
use ptx_execute::Given;
use ptx_hazards::{Finding, Kernel, Limits, Options, Report, Verdict, Witnesses};

use crate::{
    cli::{CheckArgs, CheckFormat, KernelArgs},
    input,
};

/// What a file has.
pub struct Read {
    /// Nothing if it cannot be read.
    pub input: Option<Input>,
    /// What of it is not checked, but for what is only not known.
    pub errors: Vec<Diagnostic>,
    pub modules: Vec<Module>,
}

/// A module that is checked.
pub struct Module {
    pub origin: Origin,
    pub kernels: Vec<Checked>,
}

/// Where the lines of the PTX come from.
pub enum Origin {
    /// They are those of the input, which says from which source.
    Ptx(Places),
    /// IR, whose PTX nobody sees.
    Ir(Unoptimized),
}

/// What is known of a kernel.
pub struct Checked {
    pub report: Report,
    /// Executions in which something goes wrong; nothing if none were looked for.
    pub witnesses: Option<Witnesses>,
    /// Whether it is known how many threads a CTA has: an execution with another number is none of the kernel.
    pub has_block: bool,
    /// For each finding a litmus test with an execution, where these are asked for and there are any.
    pub explained: Vec<Option<String>>,
}

/// Reads and checks the kernels of a file.
pub fn read(args: &CheckArgs, path: &Path) -> Read {
    let input = match input::read(path) {
        Ok(input) => input,
        Err(errors) => return Read { input: None, errors: errors.into_iter().collect(), modules: Vec::new() },
    };
    let (errors, modules) = match language(args, path) {
        None => of_ptx(args, &input),
        Some(language) => {
            of_ir(args, &input, language).unwrap_or_else(|errors| (errors.into_iter().collect(), Vec::new()))
        }
    };
    Read { input: Some(input), errors, modules }
}

/// What a file is written in; nothing if it is PTX.
fn language(args: &CheckArgs, path: &Path) -> Option<Language> {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("ptx") => None,
        Some("ll" | "bc") => args.language.or(Some(Language::Llvm)),
        Some("mlir" | "mlirbc") => args.language.or(Some(Language::Mlir)),
        _ => args.language,
    }
}

fn of_ptx(args: &CheckArgs, input: &Input) -> (Vec<Diagnostic>, Vec<Module>) {
    let Some(text) = input.text() else {
        let help = "give PTX, or .ll, .bc or .mlir";
        return (vec![Diagnostic::new(format!("'{}' is no text", input.name())).help(help)], Vec::new());
    };
    let (module, errors) = Ptx::read_partly(text);
    let error = |ModuleError { line, reason, .. }| Diagnostic {
        location: Some(Location { file: input.name().to_owned(), line, column: 0 }),
        ..Diagnostic::new(reason)
    };
    let errors = errors.into_iter().map(error).collect();
    (errors, vec![Module { origin: Origin::Ptx(Places::of(text)), kernels: checked(args, &module) }])
}

fn of_ir(args: &CheckArgs, input: &Input, language: Language) -> Result<(Vec<Diagnostic>, Vec<Module>), Errors> {
    let mut job = Job::new(input.clone());
    job.language = language;
    job.module.clone_from(&args.module);
    job.options = args.options();
    let (mut errors, mut modules) = (Vec::new(), Vec::new());
    for lines in isolated::unoptimized(&job)? {
        let (module, unread) = Ptx::read_partly(&lines.ptx);
        let error = |ModuleError { reason, .. }| {
            Diagnostic::new(format!("the PTX of '{}' cannot be read: {reason}", input.name()))
        };
        errors.extend(unread.into_iter().map(error));
        let kernels = checked(args, &module);
        modules.push(Module { origin: Origin::Ir(lines), kernels });
    }
    Ok((errors, modules))
}

fn checked(args: &CheckArgs, module: &Ptx) -> Vec<Checked> {
    let damaged = module.functions().filter(|function| function.body.is_none() && Head::read(&function.head).is_entry);
    let damaged = damaged.map(|function| not_checked(&function.name));
    let KernelArgs { block, grid, params, .. } = &args.kernels;
    let parameters = params.iter().map(|(name, number)| (name.clone(), number.cast_signed())).collect();
    let kernels = ptx_hazards::read_with(module, &Options { block: *block, grid: *grid, parameters });
    let wanted = |name: &str| match &args.kernels.kernel {
        Some(part) => name.contains(part) || shown(name).contains(part),
        None => true,
    };
    let kernels = kernels.iter().filter(|kernel| wanted(&kernel.name)).map(|kernel| of_kernel(args, module, kernel));
    kernels.chain(damaged.filter(|checked| checked.report.findings.iter().any(|one| wanted(&one.kernel)))).collect()
}

fn of_kernel(args: &CheckArgs, module: &Ptx, kernel: &Kernel) -> Checked {
    let readings = args.readings.readings();
    let mut report = ptx_hazards::check(kernel, readings);
    // An instruction that comes to several places of memory says the same of each.
    report.findings.dedup_by(|a, b| {
        (a.line, a.first, a.rule, a.verdict, &a.message) == (b.line, b.first, b.rule, b.verdict, &b.message)
    });
    let wanted = args.kernels.explain && args.kernels.format.is_none_or(|format| format == CheckFormat::Text);
    let explain = |finding: &Finding| {
        let test = ptx_hazards::litmus(kernel, finding, readings).filter(|_| finding.verdict != Verdict::NotChecked)?;
        ptx_atomics_litmus::of_finding(&test.to_string(), readings)
    };
    let explained = report.findings.iter().map(|finding| if wanted { explain(finding) } else { None }).collect();
    let witnesses = witnesses(&args.kernels, module, &report);
    let function = module.functions().find(|function| function.name == kernel.name);
    let head = function.map(|function| Head::read(&function.head)).unwrap_or_default();
    let in_ptx = head.required_threads.is_some() || head.most_threads.is_some();
    Checked { report, witnesses, has_block: in_ptx || args.kernels.block.is_some(), explained }
}

/// Looks for executions that show what is proposed, if anything is.
fn witnesses(args: &KernelArgs, module: &Ptx, report: &Report) -> Option<Witnesses> {
    let is_open = |finding: &&Finding| finding.verdict != Verdict::Note && finding.rule.is_some();
    let kernel = &report.findings.iter().find(is_open).filter(|_| args.time_limit > 0)?.kernel;
    let given =
        Given { grid: args.grid, block: args.block, cluster: args.cluster, shared: None, numbers: args.params.clone() };
    let all = Duration::from_secs(args.time_limit);
    let limits = Limits { launches: all / 2, all, ..Limits::default() };
    // What cannot be launched has no witness.
    ptx_hazards::witnesses(module, kernel, &report.findings, &given, limits).ok()
}

/// A kernel that is not read.
fn not_checked(kernel: &str) -> Checked {
    let finding = Finding {
        kernel: kernel.to_owned(),
        line: 0,
        first: None,
        rule: None,
        verdict: Verdict::NotChecked,
        message: format!("not checked: kernel '{kernel}', which has errors"),
        remedy: None,
        path: Vec::new(),
    };
    let report = Report { findings: vec![finding], ..Report::default() };
    Checked { report, witnesses: None, has_block: true, explained: vec![None] }
}
