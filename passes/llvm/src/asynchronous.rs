//! The check of asynchronous operations for missing waits, proxy fences and barriers.
//!
//! `ptx-hazards` finds them in PTX. This module generates the PTX of the unchanged module ([`listing`]), reports each
//! finding at the instruction from which its line was generated, and inserts the missing instructions before or after
//! it ([`insert`]). The check runs before LLVM's optimizer, which would delete stores that an asynchronous operation
//! reads.

mod insert;
mod listing;
mod place;
mod repair;
#[cfg(test)]
mod tests;

use inkwell::{
    llvm_sys::{LLVMAttributeFunctionIndex, core::*},
    module::Module,
    values::{AsValueRef, BasicValue, FunctionValue, InstructionValue},
};
use ptx_atomics_common::{
    AsyncMode, Errors, Input, Location, Options,
    assembly::{self, Declared, Effects},
    callee::is_asynchronous,
};
use ptx_hazards::Position;

pub use self::{
    listing::Listing,
    repair::{Checked, Subject, check as check_subject, find_hazards},
};
use self::{place::Places, repair::Find};
use crate::value::{Value, called, debug_location, inline_assembly, instructions, name};

/// The PTX of a module before LLVM's optimizer, with the origin of each line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// The PTX.
    pub ptx: String,
    /// For each line, the function, and the location in the source program or in the input.
    pub places: Vec<Option<(String, Option<Location>)>>,
    /// The inline assembly with effects that it does not declare.
    pub hidden: Vec<Hidden>,
}

/// Inline assembly with an effect that it does not declare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hidden {
    /// The function that contains the assembly, after inlining.
    pub function: String,
    /// The location in the source program or in the input.
    pub location: Option<Location>,
    /// The effect, as a sentence without a period.
    pub message: String,
}

/// Checks asynchronous operations, and reports or inserts missing instructions as the options request. The module must
/// not have passed LLVM's optimizer yet, and LLVM's code generator must be registered, as [`crate::machine`] does.
///
/// # Errors
/// The findings, if the options deny them.
pub fn asynchronous(module: &Module<'_>, input: &Input, options: &Options) -> Result<Checked, Errors> {
    with(module, input, options, &repair::find_hazards)
}

/// Whether a module has asynchronous operations.
pub fn has_asynchronous(module: &Module<'_>) -> bool {
    let is_called =
        |function: &FunctionValue<'_>| function.as_global_value().as_pointer_value().get_first_use().is_some();
    module.get_functions().any(|function| is_asynchronous(&name(&function)) && is_called(&function))
        || module
            .get_functions()
            .flat_map(instructions)
            .any(|call| inline_assembly(call).is_some_and(|text| assembly::is_asynchronous(&text)))
}

/// The named metadata, without a node, that marks a module whose asynchronous operations were checked.
const CHECKED: &str = "ptx-atomics.asynchronous";

/// Marks the module as checked, so that it is not checked again after LLVM's optimizer.
pub fn set_checked(module: &Module<'_>) {
    // SAFETY: the module is live, and the name is given with its length.
    unsafe { LLVMGetOrInsertNamedMetadata(module.as_mut_ptr(), CHECKED.as_ptr().cast(), CHECKED.len()) };
}

/// Whether the module is marked as checked.
pub fn is_checked(module: &Module<'_>) -> bool {
    // SAFETY: the module is live, and the name is given with its length.
    unsafe { !LLVMGetNamedMetadata(module.as_mut_ptr(), CHECKED.as_ptr().cast(), CHECKED.len()).is_null() }
}

/// The PTX to check, for callers that run the check themselves.
///
/// # Errors
/// An error if this LLVM cannot compile for the target, and every operation in the module that has no lowering.
pub fn lines(module: &Module<'_>, input: &Input, options: &Options) -> Result<Lines, Errors> {
    let (places, all) = (Places::new(module, input), all(module));
    let hidden = all.iter().filter_map(|of| {
        let message = assembly::hidden(&inline_assembly(*of)?, declared(*of)?)?;
        Some(Hidden { function: place::function(*of), location: places.location(*of), message })
    });
    let hidden = hidden.collect();
    let listing = Listing::compile(module, options)?;
    let place = |line| all.get(listing.origin(line)?).map(|of| (place::function(*of), places.location(*of)));
    let places = listing.lines().map(place).collect();
    Ok(Lines { ptx: listing.ptx, places, hidden })
}

/// The declared effects of the inline assembly that an instruction calls, if it calls inline assembly.
fn declared(instruction: InstructionValue<'_>) -> Option<Declared> {
    let value = instruction.as_value_ref();
    // SAFETY: the called value is live and owns its constraints. The constraints are read only from inline assembly,
    // and the attribute only from a call.
    unsafe {
        let assembly = LLVMIsAInlineAsm(called(instruction)?);
        if assembly.is_null() {
            return None;
        }
        let mut length = 0;
        let constraints = LLVMGetInlineAsmConstraintString(assembly, &mut length);
        let constraints = std::slice::from_raw_parts(constraints.cast::<u8>(), length);
        let memory = LLVMGetEnumAttributeKindForName("memory".as_ptr().cast(), "memory".len());
        let effects = LLVMGetCallSiteEnumAttribute(value, LLVMAttributeFunctionIndex, memory);
        // Two bits for each kind of memory: whether it is read, and whether it is written.
        let effects = (!effects.is_null()).then(|| LLVMGetEnumAttributeValue(effects));
        Some(Declared {
            has_side_effects: LLVMGetInlineAsmHasSideEffects(assembly) != 0,
            clobbers_memory: constraints.windows(9).any(|word| word == b"~{memory}"),
            memory: match effects {
                Some(0) => Effects::Nothing,
                Some(effects) if effects & 0xaaaa_aaaa_aaaa_aaaa == 0 => Effects::Reads,
                _ => Effects::All,
            },
        })
    }
}

fn with(module: &Module<'_>, input: &Input, options: &Options, find: Find<'_>) -> Result<Checked, Errors> {
    if options.asynchronous == AsyncMode::Off || !has_asynchronous(module) {
        return Ok(Checked::default());
    }
    let subject = LlvmIr { module, options, places: Places::new(module, input) };
    repair::check(&subject, options.asynchronous, options.remarks, find)
}

/// The location in the source program of each instruction of a module, in order.
pub fn debug_locations(module: &Module<'_>) -> impl Iterator<Item = Option<Location>> {
    all(module).into_iter().map(debug_location)
}

/// A module of LLVM IR whose asynchronous operations are checked.
struct LlvmIr<'a, 'c> {
    module: &'a Module<'c>,
    options: &'a Options,
    places: Places<'a>,
}

impl<'c> Subject for LlvmIr<'_, 'c> {
    type Instruction = InstructionValue<'c>;

    fn listing(&self) -> Result<(Listing, Vec<InstructionValue<'c>>), Errors> {
        Ok((Listing::compile(self.module, self.options)?, all(self.module)))
    }

    fn insert(&self, beside: InstructionValue<'c>, position: Position, ptx: &str) -> Option<InstructionValue<'c>> {
        insert::insert(self.module, beside, position, ptx)
    }

    fn erase(&self, instruction: InstructionValue<'c>) {
        instruction.erase_from_basic_block();
    }

    fn function(&self, instruction: InstructionValue<'c>) -> String {
        place::function(instruction)
    }

    fn location(&self, instruction: InstructionValue<'c>) -> Option<Location> {
        self.places.location(instruction)
    }

    fn text(&self, instruction: InstructionValue<'c>) -> String {
        Value::from(instruction).text()
    }
}

/// All instructions of a module; the index is the number of the instruction.
fn all<'c>(module: &Module<'c>) -> Vec<InstructionValue<'c>> {
    module.get_functions().flat_map(instructions).collect()
}
