//! What became of the operations of a source in PTX, of whatever compiler: what `ptx-atomics check` says.
//!
//! ```
//! use ptx_atomics::{check, isolated::Language, llvm::{Input, Settings, inkwell::context::Context}, ptx::Module};
//!
//! let ir = Input::new("next.ll", "define i32 @next(ptr addrspace(1) %counter) {
//!   %old = atomicrmw add ptr addrspace(1) %counter, i32 1 acq_rel
//!   ret i32 %old
//! }");
//! let text = ".version 8.6\n.target sm_90\n.visible .func (.param .b32 r) next(.param .b64 p)
//!   { ld.param.b64 %rd1, [p]; atom.global.add.u32 %r1, [%rd1], 1; st.param.b32 [r], %r1; ret; }";
//! let ptx: Module = text.parse()?;
//! let asked = check::operations(&Context::create(), &ir, Language::Llvm, &ptx, &Settings::default(), None)?;
//! let judged = check::judge(&asked, &ptx, text)?;
//! assert_eq!(judged.operations[0].judgement.as_ref().unwrap().violations[0].to_string(), "an access of scope gpu, not sys");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
};

use ptx_atomics_judge::{FunctionJudgement, Judgement, Loss, Note, TooLarge, Violation, judge_function};
use ptx_atomics_llvm::{
    self as llvm, Diagnostic, Errors, Input, Named, Options, Recognized, Settings,
    inkwell::{OptimizationLevel, context::Context},
};
use ptx_atomics_lowering::{
    Target,
    ptx::{Function, Module},
    sass::Family,
};
use ptx_atomics_optimize::Rewrites;

#[cfg(feature = "mlir")]
use crate::isolated;
use crate::isolated::Language;

/// The judgement of all operations of a source.
#[derive(Debug)]
pub struct Judged<'a> {
    /// Each operation, in the order of the source.
    pub operations: Vec<Found<'a>>,
    /// Functions of which the PTX has `atom` or `red` that neither the source nor its inline assembly has, with their lines.
    pub strange: Vec<(&'a str, Vec<u32>)>,
}

/// An operation of a source, and what became of it.
#[derive(Debug)]
pub struct Found<'a> {
    /// The name of its function in LLVM IR.
    pub function: &'a str,
    /// What a reader knows it by.
    pub named: &'a Named,
    /// `None` if the PTX has no such function, and need not: it may have become part of others.
    pub judgement: Option<Judgement>,
}

impl Judged<'_> {
    /// Takes back the losses in a function of which nothing is lost behind the optimizer. `source` is what [`optimized`] gives for
    /// the same input and PTX.
    ///
    /// # Errors
    /// Every function that is too large.
    pub fn accept(&mut self, source: &[Recognized], ptx: &Module) -> Result<(), Errors> {
        let mut errors = Errors::new();
        for Recognized { function: name, blocks, .. } in source {
            let of_function = |found: &&mut Found<'_>| found.function == *name;
            let lost = |found: &Found<'_>| found.judgement.as_ref().is_some_and(|found| found.loss().is_some());
            if !self.operations.iter().any(|found| found.function == *name && lost(found)) {
                continue;
            }
            let mut bodies = ptx.functions().filter(|function| function.body.is_some());
            let Some(function) = bodies.find(|function| *function.name == *llvm::ptx_name(name)) else { continue };
            match judge_function(blocks, function) {
                Ok(judged) if judged.operations.iter().all(|judgement| judgement.loss().is_none()) => {
                    let judgements = self.operations.iter_mut().filter(of_function);
                    for judgement in judgements.filter_map(|found| found.judgement.as_mut()) {
                        if !std::mem::take(&mut judgement.violations).is_empty() {
                            judgement.notes.push(Note::Optimized);
                        }
                    }
                }
                Ok(_) => {}
                Err(error) => errors.extend(too_large(name, &error)),
            }
        }
        errors.or(())
    }

    /// Whether nothing is lost of what could be judged.
    pub fn is_kept(&self) -> bool {
        self.operations.iter().all(|found| found.judgement.as_ref().is_none_or(|found| found.loss().is_none()))
    }
}

/// The operations of an input, by function. Those of MLIR are those of the LLVM IR that it becomes for the target of the PTX:
/// of one `gpu.module`, which is the `wanted` one if there are several.
///
/// Of the settings, those count that say what an operation asks for. LLVM and MLIR end the process on some damaged inputs.
///
/// # Errors
/// What is no IR, and what is no operation of the model.
pub fn operations(
    context: &Context,
    input: &Input,
    language: Language,
    ptx: &Module,
    settings: &Settings,
    wanted: Option<&str>,
) -> Result<Vec<Recognized>, Errors> {
    of_input(context, input, language, ptx, settings, wanted, &|_, _, _| Ok(()))
}

/// The same behind the optimizer: what is left of the operations where all is done for the PTX's target that may be, after LLVM's
/// pipeline of this level. A function of which nothing is left is there, too.
///
/// # Errors
/// As of [`operations`], and everything that the target has no lowering for.
pub fn optimized(
    context: &Context,
    input: &Input,
    language: Language,
    ptx: &Module,
    settings: &Settings,
    wanted: Option<&str>,
    level: Option<u8>,
) -> Result<Vec<Recognized>, Errors> {
    let defined = RefCell::new(Vec::new());
    let mut left = of_input(context, input, language, ptx, settings, wanted, &|module, input, options| {
        let mut options = options.clone();
        options.target = target(ptx)?;
        options.optimize = Rewrites::all();
        let machine = llvm::machine(module, &options.target, OptimizationLevel::Default)?;
        llvm::prepare(module, &machine, level)?;
        llvm::optimize(module, input, &options)?;
        let functions = module.get_functions().filter(|function| function.count_basic_blocks() > 0);
        defined.borrow_mut().extend(functions.map(|function| function.get_name().to_string_lossy().into_owned()));
        Ok(())
    })?;
    let mut names = defined.into_inner();
    names.retain(|name| left.iter().all(|function| function.function != *name));
    left.extend(names.into_iter().map(|function| Recognized { function, ..Recognized::default() }));
    Ok(left)
}

/// The target of a PTX.
fn target(ptx: &Module) -> Result<Target, Errors> {
    let gpu = ptx.target.split(',').next().unwrap_or_default().trim();
    let version = format!("ptx{}", ptx.version.replace('.', ""));
    Ok(Target::new(gpu.parse().map_err(unknown)?, Some(version.parse().map_err(unknown)?)).map_err(unknown)?)
}

/// What is done to a module before its operations are looked at.
type Prepare<'p> = &'p dyn Fn(&llvm::inkwell::module::Module<'_>, &Input, &Options) -> Result<(), Errors>;

fn of_input(
    context: &Context,
    input: &Input,
    language: Language,
    ptx: &Module,
    settings: &Settings,
    wanted: Option<&str>,
    prepare: Prepare<'_>,
) -> Result<Vec<Recognized>, Errors> {
    match language {
        Language::Llvm if wanted.is_some() => {
            Err(Diagnostic::new("a module was named, which MLIR has, and the input is LLVM IR").into())
        }
        Language::Llvm => of_llvm_ir(input, context, settings, prepare),
        #[cfg(feature = "mlir")]
        Language::Mlir => of_mlir(input, context, ptx, settings, wanted, prepare),
        #[cfg(not(feature = "mlir"))]
        Language::Mlir => {
            let _ = ptx;
            Err(Diagnostic::new(format!("'{}' is MLIR, which this build does not read", input.name())).into())
        }
    }
}

fn of_llvm_ir(
    input: &Input,
    context: &Context,
    settings: &Settings,
    prepare: Prepare<'_>,
) -> Result<Vec<Recognized>, Errors> {
    let module = llvm::read(context, input)?;
    llvm::expand(&module)?;
    llvm::relax_cuda(&module, || Ok(settings.cuda_atomics.unwrap_or(true)))?;
    // What an operation asks for is the same for every target.
    let target = Target::new("sm_90".parse().map_err(unknown)?, None).map_err(unknown)?;
    let mut options = Options::new(target);
    options.default_scope = settings.default_scope.unwrap_or(options.default_scope);
    prepare(&module, input, &options)?;
    llvm::operations(&module, input, &options)
}

fn unknown(error: impl ToString) -> Diagnostic {
    Diagnostic::new(error.to_string())
}

#[cfg(feature = "mlir")]
fn of_mlir(
    input: &Input,
    llvm: &Context,
    ptx: &Module,
    settings: &Settings,
    wanted: Option<&str>,
    prepare: Prepare<'_>,
) -> Result<Vec<Recognized>, Errors> {
    use ptx_atomics_mlir as mlir;

    let context = mlir::context();
    let lines = input.clone().keeping_lines();
    let settings = Settings {
        mcpu: ptx.target.split(',').next().and_then(|gpu| gpu.trim().parse().ok()),
        mattr: format!("ptx{}", ptx.version.replace('.', "")).parse().ok(),
        ..settings.clone()
    };
    let operations = || {
        let mut module = mlir::read(&context, &lines)?;
        let device = isolated::translated(&lines, &mut module, wanted, llvm, |op| mlir::options(&settings, op))?;
        let [device] = &device[..] else {
            let names: Vec<_> = device.iter().filter_map(|device| device.name.as_deref()).collect();
            let message = format!("the input has several modules, and there is one PTX: {}", names.join(", "));
            return Err(Diagnostic::new(message).help("give one of them by --module NAME").into());
        };
        // The lines of atomics are those of MLIR.
        let (module, input) = (&device.translated.module, Input::new(input.name(), []));
        prepare(module, &input, &device.options)?;
        llvm::operations(module, &input, &device.options)
    };
    let mut operations = operations();
    match &mut operations {
        Ok(functions) => {
            let found = functions.iter_mut().flat_map(|function| &mut function.named);
            found.for_each(|operation| isolated::named(&mut operation.location, input));
        }
        Err(errors) => errors.iter_mut().for_each(|error| isolated::named(&mut error.location, input)),
    }
    operations
}

/// Judges the operations of a source, function by function. `text` is what the module was read from.
///
/// # Errors
/// Every function that is too large.
pub fn judge<'a>(source: &'a [Recognized], ptx: &Module, text: &str) -> Result<Judged<'a>, Errors> {
    let bodies = ptx.functions().filter(|function| function.body.is_some());
    let functions: HashMap<&str, &Function> = bodies.map(|function| (&*function.name, function)).collect();
    let lines: Vec<&str> = text.lines().collect();
    let family = ptx.target.split(',').next().and_then(|gpu| Family::of(gpu.trim().parse().ok()?));
    let (mut operations, mut strange, mut errors) = (Vec::new(), Vec::new(), Errors::new());
    for Recognized { function: name, visible, blocks, named, assembly } in source {
        let judged = functions.get(&*llvm::ptx_name(name)).map(|function| {
            let mut judged = judge_function(blocks, function)?;
            family.into_iter().for_each(|family| judged.note_assembler(blocks, function, family));
            Ok::<_, TooLarge>(judged)
        });
        let judgements = match judged {
            Some(Ok(FunctionJudgement { operations, unclaimed })) => {
                let own: HashSet<&str> = assembly.iter().flat_map(|text| atomics(text)).collect();
                let is_strange = |number: &u32| {
                    let line = (*number as usize).checked_sub(1).and_then(|index| lines.get(index));
                    !line.is_some_and(|line| atomics(line).all(|atomic| own.contains(atomic)))
                };
                let found: Vec<_> = unclaimed.into_iter().filter(is_strange).collect();
                if !found.is_empty() {
                    strange.push((&**name, found));
                }
                operations.into_iter().map(Some).collect()
            }
            Some(Err(error)) => {
                errors.extend(too_large(name, &error));
                continue;
            }
            None => vec![without_function(*visible); named.len()],
        };
        let found = |(named, judgement)| Found { function: name, named, judgement };
        operations.extend(named.iter().zip(judgements).map(found));
    }
    errors.or(Judged { operations, strange })
}

fn too_large(function: &str, error: &TooLarge) -> Option<Diagnostic> {
    let message = format!("the function is too large: {error}");
    Some(Diagnostic { function: Some(function.to_owned()), ..Diagnostic::new(message) })
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
