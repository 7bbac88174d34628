//! The locations of instructions, in the source program or in the input text.

use std::rc::Rc;

use inkwell::{
    llvm_sys::{LLVMOpcode, core::LLVMGetInstructionOpcode, prelude::LLVMValueRef},
    module::Module,
    values::{AsValueRef, InstructionValue},
};
use ptx_atomics_common::{Input, Location};
use rustc_hash::FxHashMap;

use crate::value::{callee, debug_location, inline_assembly, instructions, name};

/// The locations of a module's instructions. They are valid as long as the module is unchanged after parsing.
pub struct Places<'a> {
    input: &'a Input,
    /// For each instruction, its word in the text, and its index among the instructions with that word.
    numbers: FxHashMap<LLVMValueRef, (Rc<str>, usize)>,
    /// The number of instructions with each word.
    counts: FxHashMap<Rc<str>, usize>,
}

impl<'a> Places<'a> {
    pub fn new(module: &Module<'_>, input: &'a Input) -> Self {
        let mut places = Self { input, numbers: FxHashMap::default(), counts: FxHashMap::default() };
        if input.text().is_some_and(|text| !text.is_empty()) {
            for instruction in module.get_functions().flat_map(instructions) {
                if let Some(word) = word(instruction) {
                    let count = places.counts.entry(word.clone()).or_default();
                    places.numbers.insert(instruction.as_value_ref(), (word, *count));
                    *count += 1;
                }
            }
        }
        places
    }

    /// The location of an instruction, from its debug information, or else from the index of its word in the text.
    pub fn location(&self, instruction: InstructionValue<'_>) -> Option<Location> {
        debug_location(instruction).or_else(|| {
            let (word, number) = self.numbers.get(&instruction.as_value_ref())?;
            let count = *self.counts.get(word)?;
            match word.strip_prefix('@') {
                Some(callee) if self.input.calls(callee) == count => {
                    self.input.call_location(callee, Some(*number as u32))
                }
                Some(_) => None,
                None => self.input.opcode_location(word, count, *number),
            }
        })
    }
}

/// A word that identifies instructions of this kind in the text; for a call, the name of the callee.
fn word(instruction: InstructionValue<'_>) -> Option<Rc<str>> {
    if let Some(callee) = callee(instruction) {
        return Some(format!("@{}", name(&callee)).into());
    }
    // SAFETY: the instruction is live.
    let word = match unsafe { LLVMGetInstructionOpcode(instruction.as_value_ref()) } {
        LLVMOpcode::LLVMLoad => "load",
        LLVMOpcode::LLVMStore => "store",
        LLVMOpcode::LLVMRet => "ret",
        LLVMOpcode::LLVMCall if inline_assembly(instruction).is_some() => "asm",
        _ => return None,
    };
    Some(word.into())
}

/// The name of the function that contains an instruction.
pub fn function(instruction: InstructionValue<'_>) -> String {
    let block = instruction.get_parent();
    block.and_then(|block| block.get_parent()).map(|function| name(&function)).unwrap_or_default()
}
