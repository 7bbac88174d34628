//! The PTX of a module as it is, with the instruction that each line comes from.
//!
//! A copy of the module is compiled without LLVM's optimizer, and the lines of its debug information are the numbers of its
//! instructions. Stack slots become registers, so that addresses can be read; no other access is moved or removed.

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

/// PTX text, and where it comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The text.
    pub ptx: String,
    /// The number of the instruction that each line comes from, in the order of the module.
    origins: Vec<Option<u32>>,
}

impl Listing {
    /// That of a module of LLVM IR.
    ///
    /// # Errors
    /// If this LLVM cannot compile for the target, and everything in the module that has no lowering.
    pub fn of(module: &Module<'_>, options: &Options) -> Result<Self, Errors> {
        // SAFETY: the module is live, and its copy is ours.
        let copy = unsafe { Module::new(LLVMCloneModule(module.as_mut_ptr())) };
        let machine = machine::registered(&copy, &options.target, OptimizationLevel::None)?;
        emit::strip_debug_info(&copy);
        number(&copy);
        emit::prepare(&copy, &machine, None)?;
        let options = Options { remarks: false, optimize: Rewrites::NONE, ..options.clone() };
        // If LLVM's optimizer leaves it, it is an error of the pass.
        let error = "before LLVM's optimizer, the module has what has no lowering for the target";
        lower(&copy, &Input::new("", ""), &options).map_err(|_| Diagnostic::new(error))?;
        let ptx = emit::text(&copy, &machine, &options.target)?;
        Ok(Self::read(&String::from_utf8_lossy(&ptx)))
    }

    /// Sections of debug information stand behind all code, and have no meaning here.
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

    /// The number of the instruction that a line comes from, counted from 1.
    pub fn origin(&self, line: u32) -> Option<usize> {
        let index = (line as usize).checked_sub(1)?;
        self.origins.get(index).copied().flatten().map(|number| number as usize)
    }

    /// The kernel in which an instruction is; nothing if it is in another function.
    pub fn entry(&self, instruction: usize) -> Option<&str> {
        let line =
            self.origins.iter().position(|origin| origin.is_some_and(|number| number as usize == instruction))?;
        let heads = self.ptx.lines().take(line).filter(|line| line.contains(".entry ") || line.contains(".func "));
        let (_, name) = heads.last()?.split_once(".entry ")?;
        Some(name.split('(').next().unwrap_or(name).trim())
    }

    /// The text without some instructions. Its lines have the same numbers.
    pub fn without(&self, instructions: &HashSet<usize>) -> Self {
        let keeps = |line: &str, origin: &Option<u32>| {
            origin.is_none_or(|number| !instructions.contains(&(number as usize))) || line.trim_start().starts_with('.')
        };
        let lines = self.ptx.lines().zip(&self.origins);
        let ptx = lines.flat_map(|(line, origin)| [if keeps(line, origin) { line } else { "" }, "\n"]).collect();
        Self { ptx, origins: self.origins.clone() }
    }

    /// The same, where the instructions have other numbers.
    pub fn renumbered(self, numbers: &[Option<u32>]) -> Self {
        let renumber = |number: Option<u32>| numbers.get(number? as usize).copied().flatten();
        Self { origins: self.origins.into_iter().map(renumber).collect(), ..self }
    }

    /// The numbers of the lines of the text.
    pub fn lines(&self) -> Range<u32> {
        1..self.origins.len() as u32 + 1
    }
}

/// Gives every instruction its number as the line of its debug information, counted from 1.
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
            // SAFETY: instruction and location are of one function of a live module.
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
