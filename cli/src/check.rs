//! `ptx-atomics check`.

use std::{
    collections::{HashMap, HashSet},
    io::{self, Write},
    process::ExitCode,
};

use ptx_atomics::{
    isolated::{self, Language, Stage, named, translated},
    judge::{FunctionJudgement, Judgement, Loss, Violation, judge_function},
    llvm::{
        self, Diagnostic, Errors, Handlers, Input, Location, Named, Options, Recognized, Settings,
        inkwell::context::Context,
    },
    lowering::ptx::{Function, Module, ModuleError, ModuleErrors},
    mlir,
};
use serde::Serialize;
use strum::EnumMessage;

use crate::{
    cli::{CheckArgs, TargetArgs},
    input::read,
    render,
};

/// What became of one operation, for a machine.
#[derive(Serialize)]
struct JsonLine<'a> {
    function: &'a str,
    operation: &'a str,
    /// `right`, `not-judged`, or the worst loss.
    verdict: &'a str,
    missing: Vec<&'a str>,
    notes: Vec<&'static str>,
    /// Lines of the PTX.
    lines: &'a [u32],
}

/// An operation of a function, and what became of it; `None` if its function is another's now.
struct Found<'a> {
    function: &'a str,
    named: &'a Named,
    judgement: Option<Judgement>,
}

pub fn run(args: &CheckArgs) -> ExitCode {
    let result = read(&args.ir).and_then(|ir| Ok((ir, read(&args.ptx)?))).and_then(|(ir, ptx)| {
        let work = || {
            let kept = check(args, &ir, &ptx).unwrap_or_else(|errors| fail(&errors, &ir));
            render::omitted();
            kept
        };
        isolated::run(work)
    });
    let kept = result.unwrap_or_else(|errors| {
        errors.iter().for_each(|error| render::error(error, None));
        false
    });
    if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn fail(errors: &[Diagnostic], ir: &Input) -> bool {
    errors.iter().for_each(|error| render::error(error, Some(ir)));
    false
}

/// The whole job, in the child: whether all operations are kept.
fn check(args: &CheckArgs, ir: &Input, ptx: &Input) -> Result<bool, Errors> {
    let (text, module) = parse(ptx)?;
    isolated::stage(Stage::Read);
    let context = Context::create();
    llvm::install_handlers(
        &context,
        Handlers { error: isolated::fatal, warning: |text| render::say(&format!("warning: {text}")) },
    );
    let operations = match args.language.unwrap_or(Language::of(ir)) {
        Language::Llvm => of_llvm_ir(args, ir, &context),
        Language::Mlir => of_mlir(args, ir, &module, &context),
    }?;
    std::mem::forget(context);

    let judged = judge_all(&operations, &module, text)?;
    if args.json {
        print(&judged).map_err(|error| Diagnostic::new(format!("cannot write: {error}")))?;
    } else {
        report(&judged, ir, ptx.name(), text);
    }
    let kept = judged.iter().all(|found| found.judgement.as_ref().is_none_or(|judgement| judgement.loss().is_none()));
    if kept && !args.allow_empty && judged.iter().all(|found| found.judgement.is_none()) {
        return Err(nothing_checked(&judged, ir, ptx).into());
    }
    Ok(kept)
}

fn nothing_checked(judged: &[Found<'_>], ir: &Input, ptx: &Input) -> Diagnostic {
    let (why, help) = if judged.is_empty() {
        let help = "give the IR from before its atomics were lowered: then they are inline assembly";
        (format!("'{}' has no atomics and fences", ir.name()), help)
    } else {
        let help = "give the IR from which the PTX was generated, after inlining";
        (format!("'{}' has none of the functions with atomics", ptx.name()), help)
    };
    Diagnostic::new(format!("nothing was checked: {why}")).help(format!("{help}; --allow-empty lets it pass"))
}

/// The operations of LLVM IR, by function.
fn of_llvm_ir(args: &CheckArgs, ir: &Input, context: &Context) -> Result<Vec<Recognized>, Errors> {
    if args.module.is_some() {
        return Err(Diagnostic::new("--module is for MLIR, and the input is LLVM IR").into());
    }
    let module = llvm::read(context, ir)?;
    llvm::expand(&module)?;
    llvm::relax_cuda(&module, || Ok(args.cuda_atomics))?;
    // What an operation asks for is the same for every target.
    let target = TargetArgs::default().target(None, None).map_err(|error| Diagnostic::new(error.to_string()))?;
    let options = Options { default_scope: args.default_scope, ..Options::new(target) };
    let operations = llvm::operations(&module, ir, &options);
    std::mem::forget(module);
    operations
}

/// The operations of a device module of MLIR, by function: those of the LLVM IR that it becomes for the target of the PTX.
fn of_mlir(args: &CheckArgs, ir: &Input, ptx: &Module, llvm: &Context) -> Result<Vec<Recognized>, Errors> {
    let context = mlir::context();
    let input = ir.clone().keeping_lines();
    let settings = Settings {
        mcpu: ptx.target.split(',').next().and_then(|gpu| gpu.trim().parse().ok()),
        mattr: format!("ptx{}", ptx.version.replace('.', "")).parse().ok(),
        default_scope: Some(args.default_scope),
        ..Settings::default()
    };
    let operations = || {
        let mut module = mlir::read(&context, &input)?;
        let wanted = args.module.as_deref();
        let device = translated(&input, &mut module, wanted, llvm, |op| mlir::options(&settings, op))?;
        let [device] = &device[..] else {
            let names: Vec<_> = device.iter().filter_map(|device| device.name.as_deref()).collect();
            let message = format!("the input has several modules, and there is one PTX: {}", names.join(", "));
            return Err(Diagnostic::new(message).help("give one of them by --module NAME").into());
        };
        // The lines of atomics are those of MLIR.
        let no_text = Input::new(ir.name(), []);
        llvm::operations(&device.translated.module, &no_text, &device.options)
    };
    let mut operations = operations();
    match &mut operations {
        Ok(functions) => {
            let found = functions.iter_mut().flat_map(|function| &mut function.named);
            found.for_each(|operation| named(&mut operation.location, ir));
        }
        Err(errors) => errors.iter_mut().for_each(|error| named(&mut error.location, ir)),
    }
    operations
}

/// The text of the PTX, and what it says.
fn parse(ptx: &Input) -> Result<(&str, Module), Errors> {
    let no_text = || Diagnostic::new(format!("'{}' is no text", ptx.name()));
    let text = ptx.text().ok_or_else(no_text)?;
    let diagnostic = |ModuleError { line, reason, .. }| Diagnostic {
        location: Some(Location { file: ptx.name().to_owned(), line, column: 0 }),
        ..Diagnostic::new(format!("'{}' is no PTX: {reason}", ptx.name()))
    };
    let module = text.parse().map_err(|ModuleErrors(errors)| errors.into_iter().map(diagnostic).collect::<Vec<_>>())?;
    Ok((text, module))
}

/// Judges the operations, function by function.
fn judge_all<'a>(recognized: &'a [Recognized], module: &Module, text: &str) -> Result<Vec<Found<'a>>, Errors> {
    let bodies = module.functions().filter(|function| function.body.is_some());
    let functions: HashMap<&str, &Function> = bodies.map(|function| (&*function.name, function)).collect();
    let (mut found, mut errors) = (Vec::new(), Errors::new());
    let lines: Vec<&str> = text.lines().collect();
    for Recognized { function: name, visible, blocks, named, assembly } in recognized {
        let judgements = match functions.get(&*llvm::ptx_name(name)) {
            Some(function) => match judge_function(blocks, function) {
                Ok(FunctionJudgement { operations, unclaimed }) => {
                    let own: HashSet<&str> = assembly.iter().flat_map(|text| atomics(text)).collect();
                    let strange = |line: &&u32| {
                        let line = (**line as usize).checked_sub(1).and_then(|index| lines.get(index));
                        !line.is_some_and(|line| atomics(line).all(|atomic| own.contains(atomic)))
                    };
                    let strange: Vec<_> = unclaimed.iter().filter(strange).map(u32::to_string).collect();
                    if !strange.is_empty() {
                        render::say(&format!(
                            "warning: in '{name}', the PTX has atomics that the IR has not, on line {}",
                            strange.join(", ")
                        ));
                    }
                    operations.into_iter().map(Some).collect()
                }
                Err(error) => {
                    errors.push(Diagnostic {
                        function: Some(name.clone()),
                        ..Diagnostic::new(format!("the function is too large: {error}"))
                    });
                    continue;
                }
            },
            None => vec![without_function(*visible); named.len()],
        };
        found.extend(named.iter().zip(judgements).map(|(named, judgement)| Found { function: name, named, judgement }));
    }
    errors.or(found)
}

/// Each `atom` and `red` of a text of PTX, with its modifiers.
fn atomics(ptx: &str) -> impl Iterator<Item = &str> {
    let words = ptx.split(|c: char| c.is_whitespace() || ";{}".contains(c));
    words.filter(|word| word.starts_with("atom.") || word.starts_with("red."))
}

/// A function that only its module sees may have become part of others.
fn without_function(visible: bool) -> Option<Judgement> {
    let reason = "the PTX has no function of this name".to_owned();
    visible.then(|| Judgement { violations: vec![Violation { loss: Loss::Missing, reason }], ..Judgement::default() })
}

fn print(judged: &[Found<'_>]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for Found { function, named, judgement } in judged {
        let nothing = Judgement::default();
        let found = judgement.as_ref().unwrap_or(&nothing);
        let line = JsonLine {
            function,
            operation: &named.operation,
            verdict: match judgement {
                None => "not-judged",
                Some(judgement) => judgement.loss().map_or("right", Into::into),
            },
            missing: found.violations.iter().map(|violation| &*violation.reason).collect(),
            notes: found.notes.iter().map(Into::into).collect(),
            lines: &found.lines,
        };
        serde_json::to_writer(&mut out, &line)?;
        writeln!(out)?;
    }
    out.flush()
}

/// Prints an error for each operation that is not kept, and how many there are.
fn report(judged: &[Found<'_>], ir: &Input, ptx_name: &str, ptx: &str) {
    let lines: Vec<&str> = ptx.lines().collect();
    let mut lost = 0;
    for Found { function, named, judgement } in judged {
        let Some((judgement, loss)) = judgement.as_ref().and_then(|found| Some((found, found.loss()?))) else {
            continue;
        };
        lost += 1;
        let found = judgement.lines.iter().filter_map(|number| {
            let line = lines.get((*number as usize).checked_sub(1)?)?;
            Some(format!("{ptx_name}:{number}: {}", line.split_whitespace().collect::<Vec<_>>().join(" ")))
        });
        let reasons: Vec<_> = judgement.violations.iter().map(|violation| &*violation.reason).collect();
        let diagnostic = Diagnostic {
            function: Some((*function).to_owned()),
            location: named.location.clone(),
            operation: Some(named.operation.clone()),
            notes: found.collect(),
            ..Diagnostic::new(format!("{}: {}", loss.get_message().unwrap_or_default(), reasons.join(", ")))
        };
        render::error(&diagnostic, Some(ir));
    }
    let not_judged: Vec<_> = judged.iter().filter(|found| found.judgement.is_none()).collect();
    for of_function in not_judged.chunk_by(|a, b| a.function == b.function) {
        let (function, count) = (of_function[0].function, of_function.len());
        render::say(&format!(
            "warning: '{ptx_name}' has no function '{function}', of which {count} operations are not checked"
        ));
    }
    let kept = judged.len() - lost - not_judged.len();
    render::say(&format!(
        "{} atomics and fences: {kept} kept, {lost} not, {} not checked",
        judged.len(),
        not_judged.len()
    ));
}
