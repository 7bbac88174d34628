//! The operations that stay LLVM's own instructions, and the check that LLVM printed them as chosen.

use std::collections::HashMap;

use inkwell::values::AsValueRef;
use itertools::Itertools;
use ptx_atomics_common::{Diagnostic, Errors};
use ptx_judge::{BasicBlock, judge_function};
use ptx_lowering::{
    AtomicOp,
    ptx::{Code, Function, Instruction, Module},
};

use crate::{
    instruction::{Instruction as Atomic, control_flow},
    recognize::{Planned, may_be_called, ptx_name},
    value::name,
    version,
};

/// The functions that contain such operations.
#[derive(Debug, Default)]
pub struct NativeOperations(Vec<NativeFunction>);

#[derive(Debug)]
struct NativeFunction {
    name: String,
    /// Whether LLVM must print the function.
    is_needed: bool,
    blocks: Vec<BasicBlock>,
    /// For each operation that stays: its description, and the mnemonics with modifiers of the instructions in its
    /// sequence that order or access memory.
    chosen: Vec<Option<(String, Vec<String>)>>,
}

impl NativeOperations {
    /// Collects all operations of each function in which an operation stays. The operations are in the order of the
    /// module.
    pub(crate) fn new(planned: &[Planned<'_>]) -> Self {
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
            let chosen = |planned: &Planned<'_>| {
                planned.native?;
                let instructions = planned.replacement.lowering.sequence.instructions();
                Some((planned.operation(), instructions.filter_map(of_memory).collect()))
            };
            kept.push(NativeFunction {
                name: name(&all[0].function),
                is_needed: may_be_called(all[0].function),
                blocks: blocks.collect(),
                chosen: all.iter().map(chosen).collect(),
            });
        }
        Self(kept)
    }

    /// Compares the operations that stayed with the PTX of the module. A function that is too large for the judge is
    /// skipped.
    ///
    /// # Errors
    /// Each operation that LLVM printed differently.
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
                None if !kept.is_needed => {}
                None => errors.push(wrong(&kept.name, None, "the PTX has no such function")),
            }
        }
        errors.or(())
    }
}

impl NativeFunction {
    /// Compares one function. The judge assigns instructions to operations. In a function with further inline assembly
    /// the assignment may be wrong, so an error requires additional evidence: the whole function has fewer of the
    /// chosen instructions than must be printed.
    fn verify(&self, function: &Function) -> Vec<Diagnostic> {
        let Ok(judged) = judge_function(&self.blocks, function) else { return Vec::new() };
        let there = function.body.iter().flatten().filter_map(|line| Some((line.number, code(&line.code)?)));
        let there: Vec<_> = there.collect();
        let found = there.iter().map(|(_, mnemonic)| mnemonic).counts();
        let chosen = self.chosen.iter().flatten().flat_map(|(_, chosen)| chosen).counts();
        let lacks = |mnemonic: &String| found.get(mnemonic) < chosen.get(mnemonic);
        let mut errors = Vec::new();
        for (judgement, chosen) in judged.operations.iter().zip(&self.chosen) {
            let Some((operation, chosen)) = chosen else { continue };
            let own = || there.iter().filter(|(line, _)| judgement.lines.contains(line)).map(|(_, mnemonic)| mnemonic);
            let is_kept = judgement.violations.is_empty() && own().all(|mnemonic| chosen.contains(mnemonic));
            if !is_kept && chosen.iter().any(lacks) {
                let reason = format!("found '{}', expected '{}'", own().join("; "), chosen.join("; "));
                errors.push(wrong(&self.name, Some(operation), &reason));
            }
        }
        errors
    }
}

/// The mnemonic and modifiers of an instruction that orders or accesses memory; `None` for another instruction.
fn of_memory(instruction: &Instruction) -> Option<String> {
    use Instruction::{Atom, Fence, Ld, Membar, Red, St};
    let is_own = matches!(instruction, Fence(_) | Membar(_) | Ld(_) | St(_) | Atom(_) | Red(_));
    is_own.then(|| instruction.to_string().split([' ', ';']).next().unwrap_or_default().to_owned())
}

fn code(code: &Code) -> Option<String> {
    match code {
        Code::Instruction { guard: None, instruction } => of_memory(instruction),
        _ => None,
    }
}

/// An error in the table of LLVM's backend.
fn wrong(function: &str, operation: Option<&str>, reason: &str) -> Diagnostic {
    let [major, minor, patch] = version::exact();
    let message =
        format!("ptx-atomics has a bug: LLVM {major}.{minor}.{patch} does not print the PTX of its table: {reason}");
    Diagnostic {
        function: Some(function.to_owned()),
        operation: operation.map(str::to_owned),
        ..Diagnostic::new(message).help("give --embed assembly, and report this")
    }
}
