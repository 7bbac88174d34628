//! What is known of the kernels of a file.

use std::path::{Path, PathBuf};

use itertools::Itertools;

use ptx_atomics::races::check::{Budget, Options, Report, check_kernel};
use ptx_atomics::{
    pass::{Diagnostic, Errors, Input, Location},
    ptx::{Function, Module, ModuleError, Places, flat::Library, legality},
};

use crate::{
    cli::CheckArgs,
    input::{self, Compile, Kind, Program},
    parallel,
    run::{Shown, quoted},
    values::is_asked,
};

/// A file, or the part of one that is a module.
pub struct File {
    pub path: PathBuf,
    /// The file that was given, or the part of it.
    pub name: String,
    pub ptx: Shown,
    /// The source lines, where the PTX has them.
    pub places: Places,
    /// Whether PTX was given, and not a source.
    pub is_ptx: bool,
    pub reports: Vec<Report>,
}

/// The kernels of a program, and what of it is wrong.
pub fn of_program(args: &CheckArgs, program: Program) -> (Option<File>, Vec<Diagnostic>) {
    let name = program.input.name().to_owned();
    let failed = |errors: Errors| (None, errors.into_iter().collect());
    let is_ptx = matches!(program.kind, Kind::Ptx | Kind::Binary);
    let input = match program.kind {
        Kind::Ptx | Kind::Binary => program.input,
        // Lines of the source are not those of the PTX.
        Kind::Source => match Compile::of_check(args).ptx(&program) {
            Ok(ptx) => ptx.input(),
            Err((errors, _)) => return failed(errors),
        },
        Kind::Ir(_) | Kind::Litmus => {
            let error = Diagnostic::new(format!("'{name}' is no PTX, and races are looked for in PTX alone"));
            return (None, vec![error.help("`ptx-atomics lower` makes PTX of IR")]);
        }
    };
    let Some(text) = input.text() else {
        return (None, vec![Diagnostic::new(format!("'{name}' is no text")).help(input::KNOWN_HELP)]);
    };
    let (module, unread) = legality::read(text);
    let error = |error: ModuleError| Diagnostic {
        location: Some(Location { file: name.clone(), line: error.line, column: 0 }),
        ..Diagnostic::new(error.reason)
    };
    let unread = unread.into_iter().map(error).chain(unknown_parameters(args, &module)).collect();
    let reports = reports(args, &module, &|_, _| true);
    let places = Places::of(text);
    (Some(File { path: program.path, name, ptx: Shown::new(input), places, is_ptx, reports }), unread)
}

/// The numbers that a user gives for parameters that no kernel has.
pub fn unknown_parameters(args: &CheckArgs, module: &Module) -> Vec<Diagnostic> {
    let kernels = module.functions().map(|function| &function.head).filter(|head| head.is_entry);
    let known: Vec<String> =
        kernels.flat_map(|head| &head.parameters).map(|parameter| parameter.name.clone()).unique().collect();
    let is_known = |name: &str| {
        let name = name.split_once('+').map_or(name, |(name, _)| name);
        known.iter().any(|own| own == name)
    };
    let wrong = args.kernels.params.iter().filter(|(name, _)| !known.is_empty() && !is_known(name));
    let error = |(name, _): &(String, u64)| {
        let help = format!("the parameters are {}", known.iter().map(|own| format!("'{own}'")).join(", "));
        Diagnostic::new(format!("expected a parameter of a kernel for --param, found '{name}'")).help(help)
    };
    wrong.map(error).collect()
}

/// How many kernels were not looked at for races, since it is not known how many threads their CTAs have.
pub fn without_block(args: &CheckArgs, input: &Input) -> usize {
    let Some(text) = input.text().filter(|_| args.kernels.block.is_none()) else { return 0 };
    let (module, _) = Module::read_partly(text);
    let library = ptx_atomics::races::library(&module);
    let is_open = |kernel: &&Function| {
        kernel.head.required_threads.is_none() && !ptx_atomics::races::is_asynchronous(&library, kernel)
    };
    module.kernels().filter(is_open).count()
}

/// What is known of kernels of a program that is checked for all else, too. Those are left out whose number of threads nobody says: an
/// execution with another one is none of them. So are those with asynchronous operations, of which nothing would be known.
pub fn beside(args: &CheckArgs, path: &Path, name: &str, input: &Input, is_ptx: bool) -> Option<File> {
    let text = input.text()?;
    let (module, _) = Module::read_partly(text);
    let is_known = |library: &Library<'_>, kernel: &Function| {
        let has_block = args.kernels.block.is_some() || kernel.head.required_threads.is_some();
        has_block && !ptx_atomics::races::is_asynchronous(library, kernel)
    };
    let reports = reports(args, &module, &is_known);
    if reports.is_empty() {
        return None;
    }
    let (path, name, ptx) = (path.to_owned(), name.to_owned(), Shown::new(input.clone()));
    Some(File { path, name, ptx, places: Places::of(text), is_ptx, reports })
}

fn reports(args: &CheckArgs, module: &Module, is_known: &dyn Fn(&Library<'_>, &Function) -> bool) -> Vec<Report> {
    let kernels = &args.kernels;
    let budget = if kernels.time_limit.is_zero() { Budget::quick() } else { Budget::default() };
    let options = || Options {
        size: kernels.size(),
        may_alias: kernels.may_alias,
        numbers: kernels.params.clone(),
        budget,
        stop: kernels.stop(),
    };
    let library = ptx_atomics::races::library(module);
    let wanted = |kernel: &&Function| is_asked(kernels.kernel.as_deref(), &kernel.name) && is_known(&library, kernel);
    let own = module.kernels().filter(wanted);
    let own: Vec<_> = own.collect();
    parallel::map(&own, |kernel| check_kernel(module, &library, kernel, &options()))
}

/// The command that repeats an execution.
pub fn command(args: &CheckArgs, path: &Path, witness: &ptx_atomics::races::witness::Witness) -> String {
    let flags: String = args.source.flags.iter().map(|flag| format!(" {}", quoted(flag))).collect();
    let behind = if flags.is_empty() { "" } else { " --" };
    let (kernel, launch) = (quoted(&witness.launch.kernel), &witness.launch);
    let path = quoted(&path.to_string_lossy());
    format!("ptx-atomics run {path} --kernel {kernel} --seed {} {launch}{behind}{flags}", witness.seed)
}
