//! What is checked: PTX, or what becomes PTX.

use std::path::{Path, PathBuf};

use ptx_atomics::execute::Given;
use ptx_atomics::hazards::{Budget, Finding, Kernel, Options, Report, Verdict, Witnesses};
use ptx_atomics::{
    isolated::{self, Job, Language, Site, Unoptimized},
    pass::{Diagnostic, Errors, Input, Location},
    ptx::{Module as Ptx, ModuleError, Places, legality},
};

use crate::{
    cli::{Check, CheckArgs, CheckFormat, KernelArgs},
    input::{self, Compile, Kind, Made, Program},
    order::{self, Order},
    parallel,
    races::file::{self, File},
    render,
    values::is_asked,
};

/// What a program has.
#[derive(Default)]
pub struct Read {
    /// The file.
    pub path: PathBuf,
    /// What findings are shown in: PTX or IR. Nothing if it cannot be read.
    pub input: Option<Input>,
    /// What of it is not checked, but for what is only not known.
    pub errors: Vec<Diagnostic>,
    pub modules: Vec<Module>,
    /// What became of its atomics and fences, if both IR and PTX are there.
    pub order: Option<Order>,
    /// Inline assembly that does what it does not declare, each with a sentence about it without a period.
    pub hidden: Vec<(Site, String)>,
    /// Which kernels have data races.
    pub races: Option<File>,
    /// How many kernels were not looked at for data races, since the number of threads of a CTA is not known.
    pub without_block: usize,
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
    pub name: String,
    pub report: Report,
    /// Executions in which something goes wrong; nothing if none were looked for.
    pub witnesses: Option<Witnesses>,
    /// Whether it is known how many threads a CTA has in each direction: an execution with another number is none of the kernel.
    pub has_block: bool,
    /// For each finding a litmus test with an execution, where these are asked for and there are any.
    pub explained: Vec<Option<String>>,
}

/// Reads and checks the programs of a path.
pub fn read(args: &CheckArgs, path: &Path) -> Vec<Read> {
    let failed = |errors: Errors| Read { errors: errors.into_iter().collect(), ..Read::default() };
    match input::programs(path, args.language, Kind::Ptx) {
        Ok(programs) => {
            let of_program = |program| of_program(args, program).unwrap_or_else(failed);
            programs.into_iter().map(of_program).collect()
        }
        Err(errors) => vec![failed(errors)],
    }
}

fn of_program(args: &CheckArgs, program: Program) -> Result<Read, Errors> {
    let Program { kind, input, mut ir, path, gpu } = program;
    let (ptx, is_source) = match kind {
        Kind::Ir(language) => return Ok(Read { path, ..of_ir(args, input, language)? }),
        Kind::Litmus => {
            let message = format!("'{}' is a litmus test", input.name());
            return Err(Diagnostic::new(message).help("`ptx-atomics litmus` answers it").into());
        }
        Kind::Source => {
            let how = Compile::of_check(args);
            let program = Program { kind, input, ir, path: path.clone(), gpu };
            let ptx = how.ptx(&program).map_err(|(errors, _)| errors)?.input();
            ir = how.has_llvm_ir(&path).then(|| how.made(&path, Made::LlvmIr)).transpose()?;
            (ptx, true)
        }
        Kind::Ptx | Kind::Binary => (input, false),
    };
    if let Some(path) = &args.ir {
        ir = Some(input::read(path)?);
    } else if !order::READS_IR {
        // Nobody asked for what stands beside it.
        ir = None;
    }
    let mut read = Read::default();
    if let Some(ir) = ir.filter(|_| args.kernels.wants(Check::Order)) {
        let language = args.language.unwrap_or(Language::of(&ir));
        match Order::of(args, &ir, language, &ptx) {
            Ok(order) => read.order = Some(order),
            Err(errors) => read.errors.extend(errors),
        }
        if is_source && args.kernels.wants(Check::Async) {
            read.hidden = hidden(args, ir, language);
        }
    }
    if args.kernels.wants(Check::Async) {
        let (errors, modules) = of_ptx(args, &ptx);
        // What is no PTX is said once.
        if read.errors.is_empty() {
            read.errors = errors;
        }
        read.modules = modules;
    }
    if args.kernels.wants(Check::Races) {
        read.races = file::beside(args, &path, ptx.name(), &ptx, !is_source);
        read.without_block = file::without_block(args, &ptx);
    }
    Ok(Read { input: Some(ptx), path, ..read })
}

/// What inline assembly of IR does not declare; of what cannot be compiled, nothing.
fn hidden(args: &CheckArgs, ir: Input, language: Language) -> Vec<(Site, String)> {
    let modules = isolated::unoptimized(&job(args, ir, language)).unwrap_or_default();
    modules.into_iter().flat_map(|module| module.hidden).collect()
}

fn job(args: &CheckArgs, input: Input, language: Language) -> Job {
    let mut job = Job::new(input);
    job.language = language;
    job.module.clone_from(&args.module);
    job.options = args.options();
    job
}

/// What is wrong with PTX, and what is known of its kernels.
pub fn of_ptx(args: &CheckArgs, input: &Input) -> (Vec<Diagnostic>, Vec<Module>) {
    let Some(text) = input.text() else {
        return (vec![Diagnostic::new(format!("'{}' is no text", input.name())).help(input::KNOWN_HELP)], Vec::new());
    };
    let (module, errors) = legality::read(text);
    let error = |ModuleError { line, reason, .. }| Diagnostic {
        location: Some(Location { file: input.name().to_owned(), line, column: 0 }),
        ..Diagnostic::new(reason)
    };
    let errors = errors.into_iter().map(error).chain(file::unknown_parameters(args, &module)).collect();
    (errors, vec![Module { origin: Origin::Ptx(Places::of(text)), kernels: checked(args, &module) }])
}

fn of_ir(args: &CheckArgs, input: Input, language: Language) -> Result<Read, Errors> {
    let mut read = Read::default();
    if !args.kernels.wants(Check::Async) {
        let message = format!("'{}' is IR alone, and order is checked in PTX that was made of it", input.name());
        let help = "give the PTX, and the IR by --ir";
        read.errors.push(Diagnostic::new(message).help(help));
        return Ok(Read { input: Some(input), ..read });
    }
    for mut lines in isolated::unoptimized(&job(args, input.clone(), language))? {
        if let Some(reason) = &lines.failure {
            let message = format!("the check reads '{}' after LLVM's optimizer at -O1: {reason}", input.name());
            render::warning(&Diagnostic::new(message), Some(&input));
        }
        let (module, unread) = Ptx::read_partly(&lines.ptx);
        let error = |ModuleError { reason, .. }| {
            Diagnostic::new(format!("the PTX of '{}' cannot be read: {reason}", input.name()))
        };
        read.errors.extend(unread.into_iter().map(error));
        let kernels = checked(args, &module);
        read.hidden.append(&mut lines.hidden);
        read.modules.push(Module { origin: Origin::Ir(lines), kernels });
    }
    Ok(Read { input: Some(input), ..read })
}

fn checked(args: &CheckArgs, module: &Ptx) -> Vec<Checked> {
    let damaged = module.functions().filter(|function| function.body.is_none() && function.head.is_entry);
    let damaged = damaged.map(|function| not_checked(&function.name));
    let params = args.kernels.params.iter();
    let parameters = params.map(|(name, number)| (name.clone(), number.cast_signed())).collect();
    let kernels = ptx_atomics::hazards::read_with(module, &Options { size: args.kernels.size(), parameters });
    let wanted = |name: &str| is_asked(args.kernels.kernel.as_deref(), name);
    let kernels: Vec<_> = kernels.iter().filter(|kernel| wanted(&kernel.name)).collect();
    let checked = parallel::map(&kernels, |kernel| of_kernel(args, module, kernel));
    checked
        .into_iter()
        .chain(damaged.filter(|checked| checked.report.findings.iter().any(|one| wanted(&one.kernel))))
        .collect()
}

fn of_kernel(args: &CheckArgs, module: &Ptx, kernel: &Kernel) -> Checked {
    let readings = args.readings.readings();
    let stop = args.kernels.stop();
    let report = ptx_atomics::hazards::check_within(kernel, readings, Budget::default(), &stop).distinct();
    let wanted = args.kernels.explain && args.kernels.format.is_none_or(|format| format == CheckFormat::Text);
    let explain = |finding: &Finding| {
        let test = ptx_atomics::hazards::litmus(kernel, finding, readings)
            .filter(|_| finding.verdict != Verdict::NotChecked)?;
        ptx_atomics::memory_model::report::of_finding(&test.to_string(), readings)
    };
    let explained = report.findings.iter().map(|finding| if wanted { explain(finding) } else { None }).collect();
    let witnesses = witnesses(&args.kernels, module, kernel, &report);
    Checked { name: kernel.name.clone(), report, witnesses, has_block: kernel.has_block, explained }
}

/// Looks for executions that show what is proposed, or what nothing proposes, if the kernel has asynchronous operations.
fn witnesses(args: &KernelArgs, module: &Ptx, kernel: &Kernel, report: &Report) -> Option<Witnesses> {
    let is_run = report.is_shown_by_executions(kernel);
    if args.time_limit.is_zero() || !is_run {
        return None;
    }
    let given = Given { size: args.size(), most: kernel.most, numbers: args.params.clone() };
    // What cannot be launched has no witness.
    ptx_atomics::hazards::witnesses(module, &kernel.name, &report.findings, &given, &Budget::default(), &args.stop())
        .ok()
}

/// A kernel that is not read.
fn not_checked(kernel: &str) -> Checked {
    let message = format!("not checked: kernel '{kernel}', which has errors");
    let finding = Finding::new(kernel, Default::default(), Verdict::NotChecked, message);
    let report = Report { findings: vec![finding], ..Report::default() };
    Checked { name: kernel.to_owned(), report, witnesses: None, has_block: true, explained: vec![None] }
}
