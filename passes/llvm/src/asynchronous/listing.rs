//! The PTX of a module before optimization, with the instruction from which each line was generated.
//!
//! A copy of the module is compiled without LLVM's optimizer; the line numbers in its debug information are the numbers
//! of its instructions. Stack slots become registers, so that the check can read addresses; no other access is moved or
//! removed.

use std::{collections::HashSet, ops::Range};

use inkwell::{
    OptimizationLevel,
    debug_info::{AsDIScope, DWARFEmissionKind, DWARFSourceLanguage},
    llvm_sys::{core::LLVMCloneModule, debuginfo::LLVMInstructionSetDebugLoc},
    module::Module,
    values::AsValueRef,
};
use ptx_atomics_common::{Diagnostic, Errors, Input, Options};
use ptx_optimize::Rewrites;

use crate::{emit, lower::lower, machine, value::instructions};

/// PTX text, with the origin of each line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The text.
    pub ptx: String,
    /// For each line, the number of the instruction from which it was generated, in the order of the module.
    origins: Vec<Option<u32>>,
}

impl Listing {
    /// The listing of a module of LLVM IR.
    ///
    /// # Errors
    /// An error if this LLVM cannot compile for the target, and every operation in the module that has no lowering.
    pub fn compile(module: &Module<'_>, options: &Options) -> Result<Self, Errors> {
        // SAFETY: the module is live, and this function owns its copy.
        let copy = unsafe { Module::new(LLVMCloneModule(module.as_mut_ptr())) };
        let machine = machine::registered(&copy, &options.target, OptimizationLevel::None)?;
        emit::strip_debug_info(&copy);
        number(&copy);
        emit::prepare(&copy, &machine, None)?;
        let options = Options { remarks: false, optimize: Rewrites::NONE, ..options.clone() };
        // If the operation survives LLVM's optimizer, the pass reports it as an error.
        let error = "before LLVM's optimizer, the module has operations without a lowering for the target";
        lower(&copy, &Input::new("", ""), &options).map_err(|_| Diagnostic::new(error))?;
        let ptx = emit::text(&copy, &machine, &options.target)?;
        Ok(Self::read(&String::from_utf8_lossy(&ptx)))
    }

    /// Parses LLVM's PTX. Sections of debug information follow all code, and have no meaning here.
    fn read(ptx: &str) -> Self {
        let (mut text, mut origins, mut current) = (String::with_capacity(ptx.len()), Vec::new(), None);
        for line in ptx.lines().take_while(|line| !line.trim_start().starts_with(".section")) {
            let mut words = line.split_whitespace();
            match words.next() {
                Some(".loc") => current = words.nth(1).and_then(|number| number.parse::<u32>().ok()?.checked_sub(1)),
                Some("{") if !line.starts_with(char::is_whitespace) => current = None,
                _ => {}
            }
            origins.push(current);
            text.extend([line, "\n"]);
        }
        Self { ptx: text, origins }
    }

    /// The number of the instruction from which a line was generated. Lines are counted from 1.
    pub fn origin(&self, line: u32) -> Option<usize> {
        let index = (line as usize).checked_sub(1)?;
        self.origins.get(index).copied().flatten().map(|number| number as usize)
    }

    /// The kernel that contains an instruction; `None` if another function contains it.
    pub fn entry(&self, instruction: usize) -> Option<&str> {
        let line =
            self.origins.iter().position(|origin| origin.is_some_and(|number| number as usize == instruction))?;
        let heads = self.ptx.lines().take(line).filter(|line| line.contains(".entry ") || line.contains(".func "));
        let (_, name) = heads.last()?.split_once(".entry ")?;
        Some(name.split('(').next().unwrap_or(name).trim())
    }

    /// The text without some instructions. The numbers of its lines do not change.
    pub fn without(&self, instructions: &HashSet<usize>) -> Self {
        let keeps = |line: &str, origin: &Option<u32>| {
            origin.is_none_or(|number| !instructions.contains(&(number as usize))) || line.trim_start().starts_with('.')
        };
        let lines = self.ptx.lines().zip(&self.origins);
        let ptx = lines.flat_map(|(line, origin)| [if keeps(line, origin) { line } else { "" }, "\n"]).collect();
        Self { ptx, origins: self.origins.clone() }
    }

    /// The same listing, after the instructions have been renumbered.
    pub fn renumbered(self, numbers: &[Option<u32>]) -> Self {
        let renumber = |number: Option<u32>| numbers.get(number? as usize).copied().flatten();
        Self { origins: self.origins.into_iter().map(renumber).collect(), ..self }
    }

    /// The numbers of the lines of the text.
    pub fn lines(&self) -> Range<u32> {
        1..self.origins.len() as u32 + 1
    }
}

/// Sets the line in the debug information of every instruction to the number of the instruction, counted from 1.
fn number(module: &Module<'_>) {
    let context = module.get_context();
    let (language, kind) = (DWARFSourceLanguage::C, DWARFEmissionKind::LineTablesOnly);
    let (builder, unit) =
        module.create_debug_info_builder(true, language, "-", "", "", false, "", 0, "", kind, 0, false, false, "", "");
    let ty = builder.create_subroutine_type(unit.get_file(), None, &[], 0);
    let mut number = 0;
    for function in module.get_functions().filter(|function| function.count_basic_blocks() > 0) {
        let name = function.get_name().to_string_lossy();
        let scope = unit.as_debug_info_scope();
        let subprogram = builder.create_function(scope, &name, None, unit.get_file(), 0, ty, false, true, 0, 0, false);
        function.set_subprogram(subprogram);
        for instruction in instructions(function) {
            number += 1;
            let place = builder.create_debug_location(context, number, 0, subprogram.as_debug_info_scope(), None);
            // SAFETY: the instruction and the location belong to one function of a live module.
            unsafe { LLVMInstructionSetDebugLoc(instruction.as_value_ref(), place.as_mut_ptr()) };
        }
    }
    builder.finalize();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_know_their_instruction() {
        let listing =
            Listing::read("{\n\tret;\n\t.loc\t1 3 0\n\tadd;\n\tsub;\n\t.loc 1 0 0\n\tmul;\n\t.section .debug\n\tx\n");
        let origins: Vec<_> = listing.lines().map(|line| listing.origin(line)).collect();
        assert_eq!(origins, [None, None, Some(2), Some(2), Some(2), None, None]);
        assert_eq!(listing.without(&HashSet::from([2])).ptx, "{\n\tret;\n\t.loc\t1 3 0\n\n\n\t.loc 1 0 0\n\tmul;\n");
        assert_eq!(listing.origin(0), None);
        assert_eq!(listing.entry(2), None);
        let listing = Listing::read(
            ".visible .entry k(\n\t.param .b32 k_0\n)\n{\n\t.loc\t1 1 0\n\tret;\n}\n.func f()\n{\n\t.loc 1 2 0\n",
        );
        assert_eq!([0, 1, 2].map(|number| listing.entry(number)), [Some("k"), None, None]);
    }
}
