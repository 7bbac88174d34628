//! What stayed LLVM's own instruction, and whether LLVM printed it as it was chosen.

use std::collections::HashMap;

use inkwell::values::AsValueRef;
use ptx_atomics_judge::{BasicBlock, Judgement, judge_function};
use ptx_atomics_lowering::{
    AtomicOp,
    ptx::{Code, Function, Instruction, Module},
};
use ptx_atomics_pass::{Diagnostic, Errors, backend::Plain};

use crate::{
    instruction::{Instruction as Atomic, control_flow},
    recognize::{Planned, ptx_name},
    value::name,
    version,
};

/// The functions in which operations stayed.
#[derive(Debug, Default)]
pub struct Kept(Vec<KeptFunction>);

#[derive(Debug)]
struct KeptFunction {
    name: String,
    blocks: Vec<BasicBlock>,
    /// Of each operation how it is described and what it is to be printed as, if it stays.
    printed: Vec<Option<(String, Plain)>>,
}

impl Kept {
    /// All operations of each function where one of them stays. They come as the module has them.
    pub(crate) fn of(planned: &[Planned<'_>]) -> Self {
        let mut kept = Vec::new();
        let functions = planned.chunk_by(|one, other| one.function == other.function);
        for all in functions.filter(|all| all.iter().any(|planned| planned.native.is_some())) {
            let operations: HashMap<_, AtomicOp> =
                all.iter().map(|planned| (planned.instruction.raw(), planned.replacement.op)).collect();
            let blocks = control_flow(all[0].function).map(|(block, next)| {
                let atomics = block.get_instructions().filter_map(Atomic::atomic);
                BasicBlock {
                    operations: atomics.map(|atomic| operations[&atomic.value().as_value_ref()]).collect(),
                    next,
                }
            });
            let printed = |planned: &Planned<'_>| {
                planned.native?;
                let plain = Plain::of(&planned.replacement.lowering.sequence, &planned.replacement.op)?;
                Some((planned.operation(), plain))
            };
            kept.push(KeptFunction {
                name: name(&all[0].function),
                blocks: blocks.collect(),
                printed: all.iter().map(printed).collect(),
            });
        }
        Self(kept)
    }

    /// Compares what stayed with the PTX of the module. A function that is too large to be judged is left out.
    ///
    /// # Errors
    /// Each operation that LLVM printed as something else.
    pub fn verify(&self, ptx: &[u8]) -> Result<(), Errors> {
        if self.0.is_empty() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(ptx);
        let module: Module =
            text.parse().map_err(|error| Diagnostic::new(format!("LLVM's PTX cannot be read: {error}")))?;
        let functions: HashMap<&str, &Function> = module
            .functions()
            .filter(|function| function.body.is_some())
            .map(|function| (function.name.as_str(), function))
            .collect();
        let mut errors = Errors::new();
        for kept in &self.0 {
            match functions.get(ptx_name(&kept.name).as_str()) {
                Some(function) => errors.extend(kept.verify(function)),
                None => errors.push(wrong(&kept.name, None, "the PTX has no such function")),
            }
        }
        errors.or(())
    }
}

impl KeptFunction {
    fn verify(&self, function: &Function) -> Vec<Diagnostic> {
        let Ok(judged) = judge_function(&self.blocks, function) else { return Vec::new() };
        let operations = self.blocks.iter().flat_map(|block| &block.operations);
        let mut errors = Vec::new();
        for ((op, judgement), printed) in operations.zip(&judged.operations).zip(&self.printed) {
            let Some((operation, plain)) = printed else { continue };
            if let Some(reason) = differs(op, judgement, plain, function) {
                errors.push(wrong(&self.name, Some(operation), &reason));
            }
        }
        errors
    }
}

/// In what the PTX of an operation differs from a sequence. Which fence stands for which operation is the judge's to say.
fn differs(op: &AtomicOp, judgement: &Judgement, plain: &Plain, function: &Function) -> Option<String> {
    if let Some(violation) = judgement.violations.first() {
        return Some(violation.to_string());
    }
    let is_own = |number: &u32| judgement.lines.contains(number);
    let found =
        function.body.iter().flatten().filter(|line| is_own(&line.number)).filter_map(|line| match &line.code {
            Code::Instruction { guard: None, instruction } => Some(instruction),
            _ => None,
        });
    let is_fence = plain.access.is_none();
    let mut instructions = found.filter(|found| matches!(found, Instruction::Fence(_)) == is_fence);
    // Control does not reach it.
    let first = instructions.next()?;
    let word = |plain: &Plain| {
        let words = plain.order.split(' ');
        let own = words.clone().find(|word| word.starts_with('*')).unwrap_or(&plain.order).to_owned();
        (own, plain.access.clone())
    };
    let printed = Plain::of_instructions([Some(first)], op);
    let same = instructions.next().is_none() && printed.as_ref().map(word) == Some(word(plain));
    (!same).then(|| format!("it is '{first}'"))
}

/// An error of our table.
fn wrong(function: &str, operation: Option<&str>, reason: &str) -> Diagnostic {
    let [major, minor, patch] = version::exact();
    let message =
        format!("ptx-atomics has a bug: LLVM {major}.{minor}.{patch} does not print what its table says: {reason}");
    Diagnostic {
        function: Some(function.to_owned()),
        operation: operation.map(str::to_owned),
        ..Diagnostic::new(message).help("give --embed assembly, and report this")
    }
}
