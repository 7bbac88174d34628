//! From the arguments of the command to what is run.

use std::{fs, path::Path};

use ptx_atomics::{
    pass::{Diagnostic, Errors, Input, Location},
    ptx::Module,
};

use super::{
    argument::Given,
    assumed,
    comment::{Comments, Said},
    expect::Expectation,
    place::Shown,
    plan::{Plan, Planned, Wish},
    sequence,
    sizes::Wanted,
};
use crate::{
    cli::{RunArgs, RunFormat},
    input::{self, Compile, Failure, Kind, cannot, read},
    progress,
};

/// What is run.
pub struct Prepared {
    pub ptx: Shown,
    pub module: Module,
    pub plans: Vec<Plan>,
}

/// Where files stand that the command line names.
const HERE: &str = "";

pub fn prepare(args: &RunArgs) -> Result<Prepared, Failure> {
    let alone = |errors: Errors| (errors, None);
    wrong_usage(args).map_err(alone)?;
    let flags = flags(args).map_err(alone)?;
    let program = input::program(&args.path, args.kernel.as_deref(), args.language, Kind::Ptx).map_err(alone)?;
    let input = program.input.clone();
    let of_input = |errors: Errors| (errors, Some(input.clone()));
    let comments = match args.like_check {
        true => Comments::default(),
        false => comments(&input, folder(&args.path)).map_err(of_input)?,
    };
    let how = Compile {
        module: args.module.clone(),
        is_unoptimized: args.like_check,
        ..Compile::new(args.options(), &args.target, &args.source)
    };
    let ptx = how.ptx(&program)?;
    if let Some(file) = &args.ptx {
        fs::write(file, &ptx.text).map_err(|error| alone(cannot("write", file, &error)))?;
    }
    let module: Module = ptx.read()?;
    let mut plans = match &args.launch {
        Some(path) => {
            let file = read(path).map_err(alone)?;
            let mut plan = sequence::read(&file, &module, folder(path)).map_err(|errors| (errors, Some(file)))?;
            plan.expect.extend(flags.expect.clone());
            vec![plan]
        }
        None => plans(&module, comments, &flags, &input, folder(&args.path)).map_err(of_input)?,
    };
    if args.dependent {
        plans.iter_mut().for_each(|plan| plan.launches.extend(second(plan)));
    }
    let bar = progress::spinner("arguments");
    plans.iter_mut().for_each(|plan| assumed::complete(&module, plan));
    bar.finish_and_clear();
    complete(args, &module, &mut plans).map_err(of_input)?;
    Ok(Prepared { ptx: Shown { input: ptx.input() }, module, plans })
}

/// What the comments of a file say; what is no text has none.
fn comments(input: &Input, folder: &Path) -> Result<Comments, Errors> {
    Comments::read(input.text().unwrap_or_default(), folder)
        .map_err(|wrong| wrong.into_iter().map(|(line, why)| at(input, line, why)).collect::<Vec<_>>().into())
}

fn folder(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(HERE))
}

fn wrong_usage(args: &RunArgs) -> Result<(), Errors> {
    let message = match () {
        () if !args.source.flags.is_empty() && !input::is_compiled(&args.path) => {
            format!("the flags behind -- are for a compiler, and '{}' is compiled by none", args.path.display())
        }
        () if !args.print.is_empty() && args.format != RunFormat::Text => "--print is for --format text".to_owned(),
        () => return Ok(()),
    };
    Err(Diagnostic::new(message).into())
}

/// What the command line says.
fn flags(args: &RunArgs) -> Result<Said, Errors> {
    let mut errors = Errors::new();
    let (mut arguments, mut expect) = (Vec::new(), Vec::new());
    for text in &args.args {
        arguments.extend(errors.keep(Given::read(text).map_err(|why| Diagnostic::new(format!("--arg {why}")))));
    }
    for text in &args.expect {
        expect.extend(errors.keep(Expectation::read(text, Path::new(HERE)).map_err(Diagnostic::new)));
    }
    let sizes = Wanted { grid: args.grid, block: args.block, cluster: args.cluster, shared: args.shared };
    errors.or(Said { kernel: args.kernel.clone(), sizes, arguments, expect, ..Said::default() })
}

/// A plan for each run that the comments say; one, if they say none.
fn plans(module: &Module, comments: Comments, flags: &Said, input: &Input, folder: &Path) -> Result<Vec<Plan>, Errors> {
    let is_wanted = |said: &Said| match (&said.kernel, &flags.kernel) {
        (Some(kernel), Some(wanted)) => kernel.contains(wanted.as_str()),
        _ => true,
    };
    let mut runs: Vec<Vec<Said>> = comments.runs.into_iter().filter(|run| run.iter().any(is_wanted)).collect();
    if runs.is_empty() {
        runs.push(vec![Said::default()]);
    }
    let (mut plans, mut errors) = (Vec::new(), Errors::new());
    for run in runs {
        let mut plan = Plan { line: run.first().map_or(0, |said| said.line), ..Plan::default() };
        let has = |said: &Said, given: &Given| {
            given.name.is_some() && said.arguments.iter().any(|one| one.name == given.name)
        };
        let is_stray = |given: &&Given| run.len() > 1 && !run.iter().any(|said| has(said, given));
        let stray = |given: &Given| {
            at(input, 0, format!("--arg {}: none of these launches has an argument of that name", given.text))
        };
        errors.extend(flags.arguments.iter().filter(is_stray).map(stray).collect::<Vec<_>>());
        for said in &run {
            let own = flags.arguments.iter().filter(|given| run.len() == 1 || has(said, given));
            let (arguments, folder) = match merged(&said.arguments, &own.cloned().collect::<Vec<_>>()) {
                Some(arguments) => (arguments, folder),
                None => (flags.arguments.clone(), Path::new(HERE)),
            };
            let wish = Wish {
                kernel: said.kernel.as_deref().or(flags.kernel.as_deref()),
                sizes: flags.sizes.or(said.sizes).or(comments.launch),
                arguments: &arguments,
                dependent: said.dependent,
            };
            // What the command line says stands in no line of the file.
            let line = if flags.sizes == Wanted::default() && flags.arguments.is_empty() { said.line } else { 0 };
            if let Err(all) = plan.launch(module, &wish, folder) {
                errors.extend(all.into_iter().map(|why| at(input, line, why)).collect::<Vec<_>>());
            }
            plan.expect.extend(said.expect.iter().cloned());
        }
        if !flags.expect.is_empty() {
            plan.expect.clone_from(&flags.expect);
        }
        plans.push(plan);
    }
    errors.or(plans)
}

/// The last launch of a plan once more, as a dependent one.
fn second(plan: &Plan) -> Option<Planned> {
    plan.launches.last().map(|last| Planned { dependent: true, ..last.clone() })
}

/// The arguments of a comment with those of the command line in place of what has their names. None, if one of these has no such
/// name: then all count alone.
fn merged(said: &[Given], flags: &[Given]) -> Option<Vec<Given>> {
    let mut all = said.to_vec();
    for given in flags {
        let same = all.iter_mut().find(|one| one.name.is_some() && one.name == given.name);
        *same? = given.clone();
    }
    Some(all)
}

fn at(input: &Input, line: u32, why: String) -> Diagnostic {
    let location = (line > 0).then(|| Location { file: input.name().to_owned(), line, column: 0 });
    Diagnostic { location, ..Diagnostic::new(why) }
}

/// Adds what is written, and looks whether all that is named exists and fits.
fn complete(args: &RunArgs, module: &Module, plans: &mut [Plan]) -> Result<(), Errors> {
    let mut errors = Errors::new();
    let is_known = |plan: &Plan, name: &str| plan.named(module, name).is_some();
    let unknown = |plan: &Plan, name: &str, what: &str| {
        let names: Vec<_> = plan.buffers.iter().map(|buffer| &*buffer.name).collect();
        let help = match names.is_empty() {
            true => "name a buffer by --arg, as 'out:f32[1024]'".to_owned(),
            false => format!("the buffers are {}", names.join(", ")),
        };
        Diagnostic::new(format!("{what}: there is no buffer and no variable '{name}'")).help(help)
    };
    for plan in plans.iter() {
        for expectation in &plan.expect {
            let missing = expectation.names().find(|name| !is_known(plan, name));
            let what = format!("the condition '{}'", expectation.text);
            errors.extend(missing.map(|name| unknown(plan, name, &what)).into_iter().collect::<Vec<_>>());
        }
        let bytes = plan.bytes();
        if bytes > args.memory_limit {
            let message = format!("the buffers have {bytes} bytes, and the limit is {}", args.memory_limit);
            errors.push(Diagnostic::new(message).help("make them smaller, or raise --memory-limit"));
        }
    }
    let printed = args.print.iter().map(|(name, _)| (name, "--print"));
    for (name, what) in printed.chain(args.out.iter().map(|(name, _)| (name, "--out"))) {
        if let Some(plan) = plans.first().filter(|_| !plans.iter().any(|plan| is_known(plan, name))) {
            errors.push(unknown(plan, name, what));
        }
    }
    match plans {
        [plan] => plan.out.extend(args.out.iter().cloned()),
        all if !args.out.is_empty() => {
            let message = format!("--out is for one run, and the comments of the file say {}", all.len());
            errors.push(Diagnostic::new(message).help("choose one by --kernel"));
        }
        _ => {}
    }
    errors.or(())
}
