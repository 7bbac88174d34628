//! The comparison of a source's operations with the PTX of any compiler, for `ptx-atomics check`.
//!
//! ```
//! use ptx_atomics::{order, isolated::Language, llvm::{Input, Settings, inkwell::context::Context}, ptx::Module};
//!
//! let ir = Input::new("next.ll", "define i32 @next(ptr addrspace(1) %counter) {
//!   %old = atomicrmw add ptr addrspace(1) %counter, i32 1 acq_rel
//!   ret i32 %old
//! }");
//! let text = ".version 8.6\n.target sm_90\n.visible .func (.param .b32 r) next(.param .b64 p)
//!   { ld.param.b64 %rd1, [p]; atom.global.add.u32 %r1, [%rd1], 1; st.param.b32 [r], %r1; ret; }";
//! let ptx: Module = text.parse()?;
//! let asked = order::operations(&Context::create(), &ir, Language::Llvm, &ptx, &Settings::default(), None)?;
//! let judged = order::judge(&asked, &ptx, text)?;
//! assert_eq!(judged.operations[0].judgement.as_ref().unwrap().violations[0].to_string(), "an access of scope gpu, not sys");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::{HashMap, HashSet};

use ptx_atomics_common::helper::Language;
use ptx_atomics_llvm::{
    self as llvm, Diagnostic, Errors, Input, Named, Options, Recognized, Settings,
    inkwell::{OptimizationLevel, context::Context},
};
use ptx_judge::{Extra, ExtraKind, FunctionJudgement, Judgement, Loss, Note, TooLarge, Violation, judge_function};
use ptx_lowering::{
    Operation, Target,
    ptx::{Function, Module},
    sass::Family,
};
use ptx_optimize::Rewrites;

#[cfg(feature = "mlir")]
use crate::device;

/// The judgement of all operations of a source.
#[derive(Debug)]
pub struct Judged<'a> {
    /// Each operation, in the order of the source.
    pub operations: Vec<JudgedOperation<'a>>,
    /// Functions whose PTX accesses memory in a way that neither the source nor its inline assembly does, with the
    /// lines of these accesses. Accesses that are the fault of an operation are not listed.
    pub effects: Vec<(&'a str, Vec<u32>)>,
    /// Functions whose PTX has atomics that may be further iterations of a loop, or parts of inlined functions, with
    /// the lines of these atomics.
    pub strange: Vec<(&'a str, Vec<u32>)>,
}

/// An operation of a source, with its judgement.
#[derive(Debug)]
pub struct JudgedOperation<'a> {
    /// The name of its function in LLVM IR.
    pub function: &'a str,
    /// The description of the operation for a reader.
    pub named: &'a Named,
    /// `None` if the PTX has no such function and need not have it: it may have been inlined into its callers.
    pub judgement: Option<Judgement>,
}

impl Judged<'_> {
    /// Withdraws the losses of a function if its PTX loses nothing of the optimized source. `source` is the result of
    /// [`optimized`] for the same input and PTX, and `text` is the text of `ptx`.
    ///
    /// A missing fence of a sequentially consistent operation is never withdrawn: that loss does not depend on the
    /// optimizer's knowledge.
    ///
    /// # Errors
    /// Every function that is too large.
    pub fn accept(&mut self, source: &[Recognized], ptx: &Module, text: &str) -> Result<(), Errors> {
        let lines: Vec<&str> = text.lines().collect();
        let mut errors = Errors::new();
        for recognized in source {
            let name = &recognized.function;
            let of_function = |found: &&mut JudgedOperation<'_>| found.function == *name;
            let own = self.operations.iter().filter(|found| found.function == *name);
            let lost: Vec<_> =
                own.filter_map(|found| found.judgement.as_ref()).filter(|found| found.loss().is_some()).collect();
            if lost.is_empty() || lost.iter().any(|judgement| judgement.lacks_seq_cst) {
                continue;
            }
            let mut bodies = ptx.functions().filter(|function| function.body.is_some());
            let Some(function) = bodies.find(|function| *function.name == *llvm::ptx_name(name)) else { continue };
            match FunctionEffects::judge(recognized, function, &lines) {
                Ok(FunctionEffects { operations, effects, .. })
                    if effects.is_empty() && operations.iter().all(|judgement| judgement.loss().is_none()) =>
                {
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

    /// Whether no judged operation has a loss, and the PTX has no other effects.
    pub fn is_kept(&self) -> bool {
        self.effects.is_empty()
            && self.operations.iter().all(|found| found.judgement.as_ref().is_none_or(|found| found.loss().is_none()))
    }
}

/// The operations of an input, grouped by function; functions without operations are left out. For MLIR, these are the
/// operations of the LLVM IR that it becomes for the target of the PTX: the LLVM IR of its only `gpu.module`, or of the
/// `wanted` one of several.
///
/// The function uses only those settings that define the meaning of an operation. LLVM and MLIR end the process on some
/// damaged inputs.
///
/// # Errors
/// Text that is not valid IR, and operations outside the model.
pub fn operations(
    context: &Context,
    input: &Input,
    language: Language,
    ptx: &Module,
    settings: &Settings,
    wanted: Option<&str>,
) -> Result<Vec<Recognized>, Errors> {
    let mut functions = of_input(context, input, language, ptx, settings, wanted, &|_, _, _| Ok(()))?;
    functions.retain(|function| !function.named.is_empty());
    Ok(functions)
}

/// Like [`operations`], but after optimization: the operations that remain after LLVM's pipeline of this level and all
/// rewrites that are allowed for the PTX's target. A function without remaining operations is listed, too.
///
/// # Errors
/// The errors of [`operations`], and every operation that has no lowering for the target.
pub fn optimized(
    context: &Context,
    input: &Input,
    language: Language,
    ptx: &Module,
    settings: &Settings,
    wanted: Option<&str>,
    level: Option<u8>,
) -> Result<Vec<Recognized>, Errors> {
    of_input(context, input, language, ptx, settings, wanted, &|module, input, options| {
        let mut options = options.clone();
        options.target = target(ptx)?;
        options.optimize = Rewrites::all();
        let machine = llvm::machine(module, &options.target, OptimizationLevel::Default)?;
        llvm::prepare(module, &machine, level)?;
        llvm::optimize(module, input, &options).map(drop)
    })
}

/// The target of a PTX module.
fn target(ptx: &Module) -> Result<Target, Errors> {
    let gpu = ptx.target.split(',').next().unwrap_or_default().trim();
    let version = format!("ptx{}", ptx.version.replace('.', ""));
    Ok(Target::new(gpu.parse().map_err(unknown)?, Some(version.parse().map_err(unknown)?)).map_err(unknown)?)
}

/// A transformation of a module before its operations are collected.
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
            Err(Diagnostic::new("--module is for MLIR, and the input is LLVM IR").into())
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
    // The meaning of an operation is the same for every target.
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
        let device = device::translated(&lines, &mut module, wanted, llvm, |op| mlir::options(&settings, op))?;
        let [device] = &device[..] else {
            let names: Vec<_> = device.iter().filter_map(|device| device.name.as_deref()).collect();
            let message = format!("expected one module for the PTX, found several: {}", names.join(", "));
            return Err(Diagnostic::new(message).help("give the module by --module NAME").into());
        };
        // The line numbers of the atomics refer to the MLIR.
        let (module, input) = (&device.translated.module, Input::new(input.name(), []));
        prepare(module, &input, &device.options)?;
        llvm::operations(module, &input, &device.options)
    };
    let mut operations = operations();
    match &mut operations {
        Ok(functions) => {
            let found = functions.iter_mut().flat_map(|function| &mut function.named);
            found.for_each(|operation| device::named(&mut operation.location, input));
        }
        Err(errors) => errors.iter_mut().for_each(|error| device::named(&mut error.location, input)),
    }
    operations
}

/// Judges the operations of a source, function by function. `text` is the text of `ptx`.
///
/// # Errors
/// Every function that is too large.
pub fn judge<'a>(source: &'a [Recognized], ptx: &Module, text: &str) -> Result<Judged<'a>, Errors> {
    let bodies = ptx.functions().filter(|function| function.body.is_some());
    let functions: HashMap<&str, &Function> = bodies.map(|function| (&*function.name, function)).collect();
    let lines: Vec<&str> = text.lines().collect();
    let family = ptx.target.split(',').next().and_then(|gpu| Family::from_sm(gpu.trim().parse().ok()?));
    let mut found = Judged { operations: Vec::new(), effects: Vec::new(), strange: Vec::new() };
    let mut errors = Errors::new();
    for recognized in source {
        let Recognized { function: name, visible, blocks, named, .. } = recognized;
        let judged = functions.get(&*llvm::ptx_name(name)).map(|function| {
            let mut judged = FunctionEffects::judge(recognized, function, &lines)?;
            if let Some(family) = family {
                let mut of_function =
                    FunctionJudgement { operations: judged.operations, ..FunctionJudgement::default() };
                of_function.note_assembler(blocks, function, family);
                judged.operations = of_function.operations;
            }
            Ok::<_, TooLarge>(judged)
        });
        let judgements = match judged {
            Some(Ok(FunctionEffects { operations, effects, strange })) => {
                let lists = [(effects, &mut found.effects), (strange, &mut found.strange)];
                for (lines, all) in lists.into_iter().filter(|(lines, _)| !lines.is_empty()) {
                    all.push((&**name, lines));
                }
                operations.into_iter().map(Some).collect()
            }
            Some(Err(error)) => {
                errors.extend(too_large(name, &error));
                continue;
            }
            None => vec![without_function(*visible); named.len()],
        };
        let of_operation = |(named, judgement)| JudgedOperation { function: name, named, judgement };
        found.operations.extend(named.iter().zip(judgements).map(of_operation));
    }
    errors.or(found)
}

/// The judgement of a function that has a body.
struct FunctionEffects {
    operations: Vec<Judgement>,
    /// The lines of accesses that the source does not make.
    effects: Vec<u32>,
    /// The lines of atomics that may belong to the source.
    strange: Vec<u32>,
}

impl FunctionEffects {
    /// Judges a function. `lines` are the lines of the PTX.
    fn judge(source: &Recognized, function: &Function, lines: &[&str]) -> Result<Self, TooLarge> {
        let Recognized { blocks, named, other_instructions, .. } = source;
        let mut judged = judge_function(blocks, function)?;
        let own: HashSet<&str> = other_instructions.assembly.iter().flat_map(|text| accesses(text)).collect();
        let is_own = |extra: &Extra| {
            let line = (extra.line as usize).checked_sub(1).and_then(|index| lines.get(index));
            extra.kind != ExtraKind::Other && line.is_some_and(|line| accesses(line).all(|access| own.contains(access)))
        };
        judged.extras.retain(|extra| !is_own(extra));
        let called = |is: fn(&Operation) -> bool| other_instructions.called.iter().any(|op| is(&op.operation));
        let (updates, stores) = (
            called(|op| op.reads() && op.writes()) || other_instructions.atomics,
            called(|op| matches!(op, Operation::Store(_))),
        );
        // Whether an extra access may come from the source.
        let may_be_own = |extra: &Extra| match extra.kind {
            ExtraKind::Update => extra.in_loop || updates,
            ExtraKind::AtomicStore => extra.in_loop || stores,
            ExtraKind::Other => other_instructions.calls || !other_instructions.assembly.is_empty(),
            ExtraKind::Store => {
                other_instructions.writes && extra.of.is_none_or(|op| extra.in_loop || named[op].is_written)
            }
            _ => {
                let asked = |op: usize| blocks.iter().flat_map(|block| &block.operations).nth(op);
                let access = extra.of.and_then(asked).and_then(|op| op.operation.access());
                extra.in_loop || other_instructions.volatile || access.is_none_or(|access| !access.volatile)
            }
        };
        judged.blame(|extra, _| !may_be_own(extra));
        for (judgement, _) in judged.operations.iter_mut().zip(named).filter(|(_, named)| named.is_of_any_memory) {
            judgement.blame_space();
        }
        let (strange, effects): (Vec<_>, Vec<_>) = judged.extras.iter().partition(|extra| may_be_own(extra));
        let is_atomic = |extra: &&&Extra| matches!(extra.kind, ExtraKind::Update | ExtraKind::AtomicStore);
        Ok(Self {
            effects: effects.iter().map(|extra| extra.line).collect(),
            strange: strange.iter().filter(is_atomic).map(|extra| extra.line).collect(),
            operations: judged.operations,
        })
    }
}

fn too_large(function: &str, error: &TooLarge) -> Option<Diagnostic> {
    let message = format!("the function is too large: {error}");
    Some(Diagnostic { function: Some(function.to_owned()), ..Diagnostic::new(message) })
}

/// Each memory access in a PTX text: its mnemonic with modifiers.
fn accesses(ptx: &str) -> impl Iterator<Item = &str> {
    let words = ptx.split(|c: char| c.is_whitespace() || ";{}".contains(c));
    words.filter(|word| ["atom.", "red.", "st.", "ld."].iter().any(|start| word.starts_with(start)))
}

/// The judgement if the PTX lacks the function. A function that only its module sees may have been inlined into its
/// callers.
fn without_function(visible: bool) -> Option<Judgement> {
    let reason = "the PTX has no function of this name".to_owned();
    visible.then(|| Judgement { violations: vec![Violation { loss: Loss::Missing, reason }], ..Judgement::default() })
}
