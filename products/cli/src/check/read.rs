//! The inputs of a check: PTX, or a program that is compiled to PTX, and the report of each module.

use std::path::{Path, PathBuf};

use itertools::Itertools;
use ptx_atomics::{
    check::{
        Budget, Check, Document, Finding, KernelReport, Launch, Lines, Question, Report, in_assembly, order::Judged,
    },
    execute::described::{assumed, plan::Planned},
    isolated::{self, Job, Language, Unoptimized},
    pass::{Diagnostic, Errors, Input, Location},
    ptx::{Module as Ptx, ModuleError, Places, legality},
};

use super::{cache, judged};
use crate::{
    cli::{CheckArgs, CheckFormat},
    input::{self, Compile, Kind, Made},
    render,
    run::sequence,
};

/// A program with the reports of its modules.
#[derive(Default)]
pub struct Program {
    /// The file.
    pub path: PathBuf,
    /// The text in which findings are shown: PTX or IR. `None` if the file cannot be read.
    pub input: Option<Input>,
    /// The parts that are not checked because they have errors.
    pub errors: Vec<Diagnostic>,
    /// Comments that allow findings, but are malformed or match no finding.
    pub warnings: Vec<Diagnostic>,
    pub modules: Vec<Module>,
}

/// A module with its report.
pub struct Module {
    origin: Origin,
    pub report: Report,
}

/// The origin of the lines of the PTX.
enum Origin {
    /// The lines are lines of the input, which names its source; the flag is whether the input was given as PTX.
    Ptx(Places, bool),
    /// IR, whose PTX the user does not see: its name, and the function and the place of each line.
    Ir(Option<String>, Vec<Option<(String, Option<Location>)>>),
}

impl Module {
    /// The document in which the findings are shown.
    pub fn document<'m>(&'m self, input: &'m Input) -> Document<'m> {
        let lines = match &self.origin {
            Origin::Ptx(places, is_given) => Lines::Ptx { places, is_given: *is_given },
            Origin::Ir(_, lines) => Lines::Ir(lines),
        };
        Document { program: input.name(), text: input.text().unwrap_or_default(), lines }
    }

    /// Marks the findings that comments in the sources allow. Returns the comments that are malformed or match no
    /// finding.
    fn allow(&mut self, input: &Input) -> Vec<Diagnostic> {
        let mut report = std::mem::take(&mut self.report);
        let faults = self.document(input).allow(&mut report);
        self.report = report;
        faults
    }

    /// The name of a module of MLIR.
    pub fn name(&self) -> Option<&str> {
        match &self.origin {
            Origin::Ir(name, _) => name.as_deref(),
            Origin::Ptx(..) => None,
        }
    }
}

/// Reads and checks the programs of a path.
pub fn programs(args: &CheckArgs, path: &Path) -> Vec<Program> {
    let failed = |errors: Errors| Program { errors: errors.into_iter().collect(), ..Program::default() };
    match input::programs(path, args.language, Kind::Ptx) {
        Ok(programs) => {
            let of_program = |program| of_program(args, program).unwrap_or_else(failed);
            programs.into_iter().map(of_program).collect()
        }
        Err(errors) => vec![failed(errors)],
    }
}

/// Reads and checks the PTX that a compiler made from an IR.
pub fn pair(args: &CheckArgs, ptx: &Path) -> Program {
    let failed = |errors: Errors| Program { errors: errors.into_iter().collect(), ..Program::default() };
    let program =
        input::read(ptx).map(|input| input::Program { kind: Kind::Ptx, input, ir: None, path: ptx.to_owned(), gpu: 0 });
    program.and_then(|program| of_program(args, program)).unwrap_or_else(failed)
}

fn of_program(args: &CheckArgs, program: input::Program) -> Result<Program, Errors> {
    let input::Program { kind, input, mut ir, path, gpu } = program;
    let (ptx, is_source) = match kind {
        Kind::Ir(language) => return Ok(Program { path, ..of_ir(args, input, language)? }),
        Kind::Litmus => {
            let message = format!("'{}' is a litmus test", input.name());
            return Err(Diagnostic::new(message).help("give it to `ptx-atomics litmus`").into());
        }
        Kind::Source => {
            let how = Compile::of_check(args);
            let program = input::Program { kind, input, ir, path: path.clone(), gpu };
            let ptx = how.ptx(&program).map_err(|(errors, _)| errors)?.input();
            let is_wanted = how.has_llvm_ir(&path) && args.kernels.questions().has(Question::Order);
            ir = is_wanted.then(|| how.made(&path, Made::LlvmIr)).transpose()?;
            (ptx, true)
        }
        Kind::Ptx | Kind::Binary => (input, false),
    };
    if let Some(path) = &args.ir {
        ir = Some(input::read(path)?);
    } else if !judged::READS_IR {
        // The IR next to the PTX is optional: an error in it is ignored.
        ir = None;
    }
    let mut program = Program::default();
    let mut judged = None;
    let mut hidden = Vec::new();
    if let Some(ir) = ir {
        let language = args.language.unwrap_or(Language::from_input(&ir));
        if args.kernels.questions().has(Question::Order) {
            match judged::judge_pair(args, &ir, language, &ptx) {
                Ok(order) => judged = Some(order),
                Err(errors) => program.errors.extend(errors),
            }
        }
        if is_source && args.kernels.questions().has(Question::Async) {
            hidden = assembly(isolated::unoptimized(&job(args, ir, language)).unwrap_or_default().iter());
        }
    }
    let (errors, mut module) = of_ptx(args, &ptx, judged.as_ref(), !is_source);
    program.warnings.extend(module.iter_mut().flat_map(|module| module.allow(&ptx)));
    if program.errors.is_empty() {
        // The judge parses the same PTX: an error of the text is reported once.
        program.errors = errors;
    }
    if let Some(module) = &mut module {
        add(&mut module.report, hidden);
    }
    Ok(Program { input: Some(ptx), path, modules: module.into_iter().collect(), ..program })
}

fn job(args: &CheckArgs, input: Input, language: Language) -> Job {
    let mut job = Job::new(input);
    job.language = language;
    job.module.clone_from(&args.module);
    job.options = args.options();
    job
}

/// The findings about inline assembly with undeclared effects, each location once.
fn assembly<'u>(modules: impl Iterator<Item = &'u Unoptimized>) -> Vec<(String, Finding)> {
    let hidden = modules.flat_map(|module| &module.hidden).map(|(site, message)| {
        let place = site.location.as_ref().map(|at| (at.file.clone(), at.line, at.column));
        (site.function.clone(), place, message)
    });
    // A function that was inlined several times has a single location.
    let hidden = hidden.unique_by(|(_, place, message)| place.clone().ok_or_else(|| (*message).clone()));
    hidden.map(|(function, place, message)| (function, in_assembly(place, message))).collect()
}

/// Adds findings to the reports of their functions.
fn add(report: &mut Report, findings: Vec<(String, Finding)>) {
    for (kernel, finding) in findings {
        match report.kernels.iter_mut().find(|own| own.kernel == kernel) {
            Some(own) => own.add(finding),
            None => {
                let (answers, findings) = (Vec::new(), vec![finding]);
                report.kernels.push(KernelReport { kernel, is_kernel: false, has_block: true, answers, findings });
            }
        }
    }
}

/// The errors of PTX, and the report of its module.
fn of_ptx(
    args: &CheckArgs,
    input: &Input,
    judged: Option<&Judged>,
    is_given: bool,
) -> (Vec<Diagnostic>, Option<Module>) {
    let Some(text) = input.text() else {
        let error = Diagnostic::new(format!("'{}' is not text", input.name())).help(input::KNOWN_HELP);
        return (vec![error], None);
    };
    let (module, errors) = legality::read(text);
    let error = |ModuleError { line, reason, .. }| Diagnostic {
        location: Some(Location { file: input.name().to_owned(), line, column: 0 }),
        ..Diagnostic::new(reason)
    };
    let (launches, wrong) = launches(args, &module, input);
    let errors = errors.into_iter().map(error).chain(unknown_parameters(args, &module)).chain(wrong).collect();
    let report = report(args, &Check { ir: judged, launches, ..check(args, &module) }, text);
    (errors, Some(Module { origin: Origin::Ptx(Places::read_text(text), is_given), report }))
}

fn of_ir(args: &CheckArgs, input: Input, language: Language) -> Result<Program, Errors> {
    let mut program = Program::default();
    let questions = args.kernels.questions();
    if questions.iter().all(|question| question == Question::Order) {
        let message = format!("the check of order needs PTX, and '{}' is IR", input.name());
        program.errors.push(Diagnostic::new(message).help("give the IR by --ir, and its PTX by --ptx"));
        return Ok(Program { input: Some(input), ..program });
    }
    for lines in isolated::unoptimized(&job(args, input.clone(), language))? {
        if let Some(reason) = &lines.failure {
            let message = format!("the check reads '{}' after LLVM's optimizer at -O1: {reason}", input.name());
            render::warning(&Diagnostic::new(message), Some(&input));
        }
        let (module, unread) = Ptx::read_partly(&lines.ptx);
        let error = |ModuleError { reason, .. }| {
            Diagnostic::new(format!("the PTX of '{}' cannot be read: {reason}", input.name()))
        };
        program.errors.extend(unread.into_iter().map(error));
        let (launches, wrong) = launches(args, &module, &input);
        program.errors.extend(wrong);
        let mut report = report(args, &Check { launches, ..check(args, &module) }, &lines.ptx);
        if questions.has(Question::Async) {
            add(&mut report, assembly(std::iter::once(&lines)));
        }
        let place = |site: isolated::Site| (site.function, site.location);
        let places = lines.places.into_iter().map(|site| site.map(place)).collect();
        let mut module = Module { origin: Origin::Ir(lines.name, places), report };
        module.allow(&input);
        program.modules.push(module);
    }
    Ok(Program { input: Some(input), ..program })
}

/// The report of a check of a text.
fn report(args: &CheckArgs, check: &Check<'_>, text: &str) -> Report {
    match &args.kernels.cache {
        Some(folder) => cache::report(folder, check, text),
        None => check.run(),
    }
}

/// The check of a module with the options of the arguments.
fn check<'c>(args: &'c CheckArgs, module: &'c Ptx) -> Check<'c> {
    let kernels = &args.kernels;
    let is_text = kernels.format.is_none_or(|format| format == CheckFormat::Text);
    Check {
        launch: Launch { size: kernels.size(), numbers: kernels.params.clone(), may_alias: kernels.may_alias },
        kernel: kernels.kernel.as_deref(),
        questions: kernels.questions(),
        readings: args.readings.readings(),
        budget: if kernels.is_quick() { Budget::quick() } else { Budget::default() },
        stop: kernels.stop.clone(),
        time: kernels.time(),
        jobs: kernels.jobs.unwrap_or(0),
        explains: kernels.explain && is_text,
        ..Check::new(module)
    }
}

/// The launches of the kernels of a module that the file of `--launches` has, and the errors of the file. If it has none, a
/// warning says so.
fn launches(args: &CheckArgs, module: &Ptx, input: &Input) -> (Vec<(String, Launch)>, Vec<Diagnostic>) {
    let Some(path) = &args.kernels.launches else { return Default::default() };
    let folder = path.parent().unwrap_or(Path::new(""));
    let plan = input::read(path).and_then(|file| sequence::read_own(&file, module, folder));
    let may_alias = args.kernels.may_alias;
    match plan {
        Ok(plan) => {
            let launch = |planned: &Planned| {
                let (size, numbers) = assumed::known(module, planned);
                (planned.kernel.clone(), Launch { size, numbers, may_alias })
            };
            if plan.launches.is_empty() {
                let message = format!("'{}' has no launch of a kernel of '{}'", path.display(), input.name());
                render::warning(&Diagnostic::new(message), None);
            }
            (plan.launches.iter().map(launch).collect(), Vec::new())
        }
        Err(errors) => (Vec::new(), errors.into_iter().collect()),
    }
}

/// The report of a PTX text, with all its lines.
pub fn in_text(args: &CheckArgs, input: &Input, judged: Option<&Judged>) -> Option<Module> {
    let (_, module) = of_ptx(args, input, judged, true);
    let mut module = module.map(|module| Module { origin: Origin::Ptx(Places::read_text(""), true), ..module });
    module.iter_mut().for_each(|module| drop(module.allow(input)));
    module
}

/// The errors about parameters of the command line that no kernel has.
fn unknown_parameters(args: &CheckArgs, module: &Ptx) -> Vec<Diagnostic> {
    let kernels = module.functions().map(|function| &function.head).filter(|head| head.is_entry);
    let known: Vec<String> =
        kernels.flat_map(|head| &head.parameters).map(|parameter| parameter.name.clone()).unique().collect();
    let is_known = |name: &str| {
        let name = name.split_once('+').map_or(name, |(name, _)| name);
        known.iter().any(|own| own == name)
    };
    let wrong = args.kernels.params.iter().filter(|(name, _)| !known.is_empty() && !is_known(name));
    let error = |(name, _): &(String, u64)| {
        let help = format!("choose a parameter: {}", known.iter().map(|own| format!("'{own}'")).join(", "));
        Diagnostic::new(format!("expected a parameter of a kernel for --param, found '{name}'")).help(help)
    };
    wrong.map(error).collect()
}
