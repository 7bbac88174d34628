//! The preparation of a run from the arguments of the command.

use std::{fs, path::Path};

use ptx_atomics::{
    pass::{Diagnostic, Errors, Input, Location},
    ptx::Module,
};

use super::{
    argument::Given,
    assumed,
    comment::{Comments, Description, Wrong},
    expect::Expectation,
    place::RunPtx,
    plan::{Plan, Planned},
    runs, sequence,
};
use crate::{
    cli::{RunArgs, RunFormat},
    input::{self, Compile, Failure, Kind, cannot, read},
    progress,
};

/// The module and the plans of a run.
pub struct Prepared {
    pub ptx: RunPtx,
    pub module: Module,
    pub plans: Vec<Plan>,
}

/// The folder of files that the command line names.
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
        None => runs::plans(&module, comments, &flags, folder(&args.path))
            .map_err(|wrong| of_input(at_lines(&input, wrong)))?,
    };
    if args.dependent {
        plans.iter_mut().for_each(|plan| plan.launches.extend(second(plan)));
    }
    let bar = progress::spinner("arguments");
    plans.iter_mut().for_each(|plan| assumed::complete(&module, plan));
    bar.finish_and_clear();
    complete(args, &module, &mut plans).map_err(of_input)?;
    Ok(Prepared { ptx: RunPtx::new(ptx.input()), module, plans })
}

/// The comments of a file; a binary file has none.
fn comments(input: &Input, folder: &Path) -> Result<Comments, Errors> {
    Comments::read(input.text().unwrap_or_default(), folder).map_err(|wrong| at_lines(input, wrong))
}

fn folder(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(HERE))
}

fn wrong_usage(args: &RunArgs) -> Result<(), Errors> {
    let message = match () {
        () if !args.source.flags.is_empty() && !input::is_compiled(&args.path) => {
            format!("the flags after -- are for a compiler, and '{}' is not a source", args.path.display())
        }
        () if !args.print.is_empty() && args.format != RunFormat::Text => "--print is for --format text".to_owned(),
        () => return Ok(()),
    };
    Err(Diagnostic::new(message).into())
}

/// The launch that the command line describes.
fn flags(args: &RunArgs) -> Result<Description, Errors> {
    let mut errors = Errors::new();
    let (mut arguments, mut expect) = (Vec::new(), Vec::new());
    for text in &args.args {
        arguments.extend(errors.keep(Given::read(text).map_err(|why| Diagnostic::new(format!("--arg {why}")))));
    }
    for text in &args.expect {
        expect.extend(errors.keep(Expectation::read(text, Path::new(HERE)).map_err(Diagnostic::new)));
    }
    errors.or(Description {
        kernel: args.kernel.clone(),
        size: args.size(),
        arguments,
        expect,
        ..Description::default()
    })
}

/// The last launch of a plan again, as a dependent launch.
fn second(plan: &Plan) -> Option<Planned> {
    plan.launches.last().map(|last| Planned { dependent: true, ..last.clone() })
}

fn at_lines(input: &Input, wrong: Vec<Wrong>) -> Errors {
    let at = |(line, why): Wrong| {
        let location = (line > 0).then(|| Location { file: input.name().to_owned(), line, column: 0 });
        Diagnostic { location, ..Diagnostic::new(why) }
    };
    wrong.into_iter().map(at).collect::<Vec<_>>().into()
}

/// Adds the outputs, and checks that all named objects exist and fit.
fn complete(args: &RunArgs, module: &Module, plans: &mut [Plan]) -> Result<(), Errors> {
    let mut errors = Errors::new();
    let is_known = |plan: &Plan, name: &str| plan.named(module, name).is_some();
    let unknown = |plan: &Plan, name: &str, what: &str| {
        let names: Vec<_> = plan.buffers.iter().map(|buffer| &*buffer.name).collect();
        let help = match names.is_empty() {
            true => "name a buffer by --arg, such as 'out:f32[1024]'".to_owned(),
            false => format!("the buffers are {}", names.join(", ")),
        };
        Diagnostic::new(format!("{what}: expected a buffer or a variable, found '{name}'")).help(help)
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
            let message = format!("--out needs a single run, and the comments of the file describe {} runs", all.len());
            errors.push(Diagnostic::new(message).help("choose a run by --kernel"));
        }
        _ => {}
    }
    errors.or(())
}
