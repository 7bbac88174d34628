//! Parsing of a module, and the numbers that map its instructions to lines of its text.

use std::collections::HashMap;

use inkwell::{
    context::{AsContextRef, Context, ContextRef},
    llvm_sys::{
        analysis::{LLVMVerifierFailureAction, LLVMVerifyModule},
        core::*,
        ir_reader::LLVMParseIRInContext2,
        prelude::*,
    },
    memory_buffer::MemoryBuffer,
    module::Module,
    values::{AsValueRef, InstructionValue},
};

use ptx_atomics_common::{Diagnostic, Errors, Input, Location, callee::OF_NVIDIA};
use ptx_atomics_version::MAJOR;

use crate::{
    instruction::Instruction,
    machine::data_layout,
    value::{callee, instructions, message, name},
};

/// The kind of metadata that numbers the atomics of a module that was parsed from text, and the calls of each
/// intrinsic.
pub const NUMBER: &str = "ptx-atomics.number";

/// Parses LLVM IR, as text or as bitcode, and verifies it.
///
/// LLVM's parser gives an access without an alignment the alignment of its type. Text without a data layout is parsed
/// with the layout of NVIDIA GPUs; in bitcode every access has its alignment.
///
/// # Errors
/// An error if the input is neither text nor bitcode, does not parse, or is not valid IR.
pub fn read<'c>(context: &'c Context, input: &Input) -> Result<Module<'c>, Errors> {
    if input.bytes().is_empty() {
        return Err(Diagnostic::new(format!("'{}' is empty", input.name()))
            .help("give LLVM IR, as text or as bitcode")
            .into());
    }
    // The last layout counts. The added layout is on the first line, so that the numbers of lines do not change.
    let head = match input.text() {
        Some(text) if !text.contains("target datalayout") => format!("target datalayout = \"{}\" ", data_layout()?),
        _ => String::new(),
    };
    let text = if head.is_empty() { Vec::new() } else { [head.as_bytes(), input.bytes_with_nul()].concat() };
    let bytes = if head.is_empty() { input.bytes() } else { &text[..text.len() - 1] };
    let buffer = MemoryBuffer::create_from_memory_range(bytes, input.name());
    let mut module = std::ptr::null_mut();
    let mut error = std::ptr::null_mut();
    // LLVM cannot parse text in a context that discards names, as a context does after PTX has been generated in it.
    // SAFETY: the context is live.
    unsafe { LLVMContextSetDiscardValueNames(context.as_ctx_ref(), 0) };
    // SAFETY: the buffer is live; the caller owns the module on success, and the message on failure.
    let failed =
        unsafe { LLVMParseIRInContext2(context.as_ctx_ref(), buffer.as_mut_ptr(), &mut module, &mut error) } != 0;
    if failed {
        return Err(parse_error(input, head.len() as u32, &unsafe { message(error) }).into());
    }
    let module = unsafe { Module::new(module) };
    verify(&module).map_err(|notes| Diagnostic {
        notes,
        ..Diagnostic::new(format!("'{}' is not valid LLVM IR", input.name())).help(format!("the compiler that made it has a bug, or the file was edited by hand: `opt-{MAJOR} -passes=verify` says the same"))
    })?;
    if input.keep_lines && input.text().is_some() {
        number(context, &module);
        number_calls(&module, input);
    }
    Ok(module)
}

fn verify(module: &Module<'_>) -> Result<(), Vec<String>> {
    let mut error = std::ptr::null_mut();
    // SAFETY: the module is live, and the caller owns the message.
    let (broken, text) = unsafe {
        let broken =
            LLVMVerifyModule(module.as_mut_ptr(), LLVMVerifierFailureAction::LLVMReturnStatusAction, &mut error);
        (broken != 0, message(error))
    };
    if broken { Err(text.lines().map(str::to_owned).collect()) } else { Ok(()) }
}

/// Converts LLVM's message, `name:line:column: error: text`, the line and a caret. LLVM has read `head` additional
/// bytes before the first line.
fn parse_error(input: &Input, head: u32, text: &str) -> Diagnostic {
    let first = text.lines().next().unwrap_or(text);
    let rest = first.strip_prefix(input.name()).and_then(|rest| rest.strip_prefix(':')).unwrap_or(first);
    let (position, reason) = rest.split_once("error: ").unwrap_or(("", rest));
    let mut numbers = position.split(':').map(|number| number.trim().parse::<u32>().ok());
    let location = match (numbers.next().flatten(), numbers.next().flatten()) {
        (Some(line), Some(column)) => {
            let column = if line == 1 { column.saturating_sub(head) } else { column };
            Some(Location { file: input.name().to_owned(), line, column })
        }
        _ => None,
    };
    let message = match (input.is_bitcode(), input.text()) {
        (true, _) => format!("'{}' is damaged LLVM bitcode: {reason}", input.name()),
        (false, Some(_)) => format!("'{}' is not LLVM IR: {reason}", input.name()),
        (false, None) => return Diagnostic::new(format!("'{}' is neither text nor LLVM bitcode", input.name())),
    };
    let help = input.text().map(|_| explain_version(input, location.as_ref()));
    Diagnostic { location, help, ..Diagnostic::new(message) }
}

/// The beginnings of constants that only this version of LLVM and later ones write.
const LATER: [(u32, &[&str]); 1] = [(23, &["f0x", "+inf", "-inf", "+nan", "-nan", "+qnan", "-qnan", "+snan", "-snan"])];

/// The help for text that LLVM's parser rejects: it names a constant of a later LLVM at the location, if there is one.
fn explain_version(input: &Input, at: Option<&Location>) -> String {
    let constant = at.and_then(|at| {
        let line = input.text()?.lines().nth((at.line as usize).checked_sub(1)?)?;
        let rest = line.get((at.column as usize).checked_sub(1)?..)?;
        let mut later = LATER.into_iter().filter(|(major, _)| *major > MAJOR);
        later.find_map(|(major, forms)| Some((forms.iter().find(|form| rest.starts_with(**form))?, major)))
    });
    match constant {
        Some((form, major)) => format!(
            "expected the constants of LLVM {MAJOR}, found `{form}…` of LLVM {major}: use a build for LLVM {major}"
        ),
        None => format!("this build reads the text of LLVM {MAJOR} and older: a later LLVM needs a later build"),
    }
}

/// Numbers the atomics, so that later passes do not lose their lines.
fn number(context: &Context, module: &Module<'_>) {
    let kind = context.get_kind_id(NUMBER);
    let i32_type = context.i32_type();
    let atomics = module.get_functions().flat_map(instructions).filter_map(Instruction::atomic);
    for (number, instruction) in atomics.enumerate() {
        let node = context.metadata_node(&[i32_type.const_int(number as u64, false).into()]);
        // SAFETY: instruction and node belong to the context.
        unsafe { LLVMSetMetadata(instruction.raw(), kind, node.as_value_ref()) };
    }
}

/// Numbers the calls of each intrinsic for NVIDIA's GPUs, if the text has the same number of calls: LLVM renames old
/// intrinsics in its parser.
pub fn number_calls(module: &Module<'_>, input: &Input) {
    let context = module.get_context();
    let (kind, i32_type) = (context.get_kind_id(NUMBER), context.i32_type());
    let mut calls: HashMap<_, Vec<_>> = HashMap::new();
    for call in module.get_functions().flat_map(instructions) {
        if let Some(intrinsic) =
            callee(call).filter(|callee| callee.get_name().to_bytes().starts_with(OF_NVIDIA.as_bytes()))
        {
            calls.entry(intrinsic).or_default().push(call);
        }
    }
    for (_, calls) in calls.iter().filter(|(intrinsic, calls)| input.calls(&name(*intrinsic)) == calls.len()) {
        for (number, call) in calls.iter().enumerate() {
            let node = context.metadata_node(&[i32_type.const_int(number as u64, false).into()]);
            // SAFETY: call and node belong to the context.
            unsafe { LLVMSetMetadata(call.as_value_ref(), kind, node.as_value_ref()) };
        }
    }
}

/// Removes the numbers of calls. No output contains them.
pub fn forget_calls(module: &Module<'_>) {
    let kind = module.get_context().get_kind_id(NUMBER);
    for call in module.get_functions().flat_map(instructions).filter(|instruction| callee(*instruction).is_some()) {
        // SAFETY: the call is live.
        unsafe { LLVMSetMetadata(call.as_value_ref(), kind, std::ptr::null_mut()) };
    }
}

/// A reader of the numbers.
pub struct Numbering {
    kind: u32,
}

/// Marks an atomic as unnumbered, because it is not an atomic in the text.
pub fn set_unnumbered(context: &ContextRef<'_>, atomic: Instruction<'_>) {
    let node = context.metadata_node(&[]);
    // SAFETY: instruction and node belong to the context.
    unsafe { LLVMSetMetadata(atomic.raw(), context.get_kind_id(NUMBER), node.as_value_ref()) };
}

/// Copies the number of an instruction to another instruction.
///
/// # Safety
/// Both instructions are live, and belong to the context.
pub unsafe fn copy_number(context: &ContextRef<'_>, from: LLVMValueRef, to: LLVMValueRef) {
    let kind = context.get_kind_id(NUMBER);
    // SAFETY: the instructions are live, and the node belongs to the context.
    unsafe {
        let node = LLVMGetMetadata(from, kind);
        if !node.is_null() {
            LLVMSetMetadata(to, kind, node);
        }
    }
}

impl Numbering {
    pub fn new(context: &ContextRef<'_>) -> Self {
        Self { kind: context.get_kind_id(NUMBER) }
    }

    /// Whether the atomic is an atomic in the input text.
    pub fn is_in_text(&self, instruction: Instruction<'_>) -> bool {
        // SAFETY: the instruction is live, and so is its node.
        unsafe {
            let node = LLVMGetMetadata(instruction.raw(), self.kind);
            node.is_null() || LLVMGetMDNodeNumOperands(node) > 0
        }
    }

    pub fn get(&self, instruction: Instruction<'_>) -> Option<u32> {
        self.get_of(instruction.value())
    }

    /// The number of a call.
    pub fn get_of(&self, instruction: InstructionValue<'_>) -> Option<u32> {
        // SAFETY: the instruction is live; the pass created the node, which holds one constant.
        unsafe {
            let node: LLVMValueRef = LLVMGetMetadata(instruction.as_value_ref(), self.kind);
            if node.is_null() || LLVMGetMDNodeNumOperands(node) != 1 {
                return None;
            }
            let mut number = std::ptr::null_mut();
            LLVMGetMDNodeOperands(node, &mut number);
            let constant = LLVMIsAConstantInt(number);
            (!constant.is_null()).then(|| LLVMConstIntGetZExtValue(constant) as u32)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_later_llvm_has_a_help() {
        let help = |constant: &str| {
            let input = Input::new("a.ll", format!("store float {constant}, ptr %p"));
            parse_error(&input, 0, "a.ll:1:13: error: expected value token").help.expect("a help")
        };
        let text = format!("this build reads the text of LLVM {MAJOR} and older: a later LLVM needs a later build");
        let of_23 = |form: &str| {
            format!("expected the constants of LLVM 22, found `{form}…` of LLVM 23: use a build for LLVM 23")
        };
        for (constant, form) in [("f0xFF7FFFFF", "f0x"), ("+inf", "+inf"), ("-nan(0x1)", "-nan"), ("+qnan", "+qnan")] {
            assert_eq!(help(constant), if MAJOR < 23 { of_23(form) } else { text.clone() });
        }
        assert_eq!(help("0y1"), text);
    }
}
