//! Reading a module, and where its instructions stand in its text.

use std::{cell::OnceCell, ffi::CStr};

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
    values::AsValueRef,
};

use crate::{
    emit::data_layout,
    instruction::{Instruction, instructions, message},
    message::{Diagnostic, Errors, Location},
};

/// The kind of metadata that numbers the atomics of a module that was read from text.
pub const NUMBER: &str = "ptx-atomics.number";

/// The bytes that a module was read from, and their name.
#[derive(Clone)]
pub struct Input {
    name: String,
    /// With a NUL behind them, up to which LLVM reads text.
    bytes: Vec<u8>,
    /// Whether atomics keep their lines in the text through optimization, for errors and remarks that come after it. It
    /// costs time and memory.
    pub keep_lines: bool,
    /// The line of each atomic, in the order of the text.
    lines: OnceCell<Vec<u32>>,
}

impl Input {
    /// `name` is that of a file, or another by which a user knows the input.
    pub fn new(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        let mut bytes: Vec<u8> = bytes.into();
        bytes.push(0);
        Self { name: name.into(), bytes, keep_lines: false, lines: OnceCell::new() }
    }

    /// The same input, with `keep_lines`.
    pub fn keeping_lines(self) -> Self {
        Self { keep_lines: true, ..self }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.bytes.len() - 1]
    }

    /// Whether the input begins as bitcode does, bare or in a wrapper.
    fn is_bitcode(&self) -> bool {
        [&b"BC\xC0\xDE"[..], b"\xDE\xC0\x17\x0B"].iter().any(|magic| self.bytes.starts_with(magic))
    }

    /// The text, unless the input is bitcode.
    pub fn text(&self) -> Option<&str> {
        if self.is_bitcode() { None } else { std::str::from_utf8(self.bytes()).ok() }
    }

    /// The line of the numbered atomic.
    pub(crate) fn location(&self, number: Option<u32>) -> Option<Location> {
        let line = *self.lines.get_or_init(|| atomic_lines(self.text().unwrap_or(""))).get(number? as usize)?;
        Some(Location { file: self.name.clone(), line, column: 0 })
    }
}

/// Reads LLVM IR, as text or as bitcode, and verifies it.
///
/// LLVM gives an access without an alignment that of its type while it parses. Text that names no layout of data is read with
/// that of NVIDIA GPUs; in bitcode every access has its alignment.
///
/// # Errors
/// If the input is neither, does not parse, or is not valid IR.
pub fn read<'c>(context: &'c Context, input: &Input) -> Result<Module<'c>, Errors> {
    if input.bytes().is_empty() {
        return Err(Diagnostic::new(format!("'{}' is empty", input.name))
            .help("give LLVM IR, as text or as bitcode")
            .into());
    }
    // The last layout counts. On the first line, it leaves the lines as they are.
    let head = match input.text() {
        Some(text) if !text.contains("target datalayout") => format!("target datalayout = \"{}\" ", data_layout()?),
        _ => String::new(),
    };
    let text = if head.is_empty() { Vec::new() } else { [head.as_bytes(), &input.bytes].concat() };
    let bytes = if head.is_empty() { input.bytes() } else { &text[..text.len() - 1] };
    let buffer = MemoryBuffer::create_from_memory_range(bytes, &input.name);
    let mut module = std::ptr::null_mut();
    let mut error = std::ptr::null_mut();
    // SAFETY: the buffer is live; on success the module belongs to the caller, on failure the message does.
    let failed =
        unsafe { LLVMParseIRInContext2(context.as_ctx_ref(), buffer.as_mut_ptr(), &mut module, &mut error) } != 0;
    if failed {
        return Err(parse_error(input, head.len() as u32, &unsafe { message(error) }).into());
    }
    let module = unsafe { Module::new(module) };
    verify(&module).map_err(|notes| Diagnostic {
        notes,
        ..Diagnostic::new(format!("'{}' is not valid LLVM IR", input.name)).help("the compiler that made it has a bug, or the file was edited by hand: `opt-22 -passes=verify` says the same")
    })?;
    if input.keep_lines && input.text().is_some() {
        number(context, &module);
    }
    Ok(module)
}

fn verify(module: &Module<'_>) -> Result<(), Vec<String>> {
    let mut error = std::ptr::null_mut();
    // SAFETY: the module is live, and the message is ours.
    let (broken, text) = unsafe {
        let broken =
            LLVMVerifyModule(module.as_mut_ptr(), LLVMVerifierFailureAction::LLVMReturnStatusAction, &mut error);
        (broken != 0, message(error))
    };
    if broken { Err(text.lines().map(str::to_owned).collect()) } else { Ok(()) }
}

/// LLVM says `name:line:column: error: text`, then the line and a caret. It has read `head` bytes in front of the first line.
fn parse_error(input: &Input, head: u32, text: &str) -> Diagnostic {
    let first = text.lines().next().unwrap_or(text);
    let rest = first.strip_prefix(&input.name).and_then(|rest| rest.strip_prefix(':')).unwrap_or(first);
    let (position, reason) = rest.split_once("error: ").unwrap_or(("", rest));
    let mut numbers = position.split(':').map(|number| number.trim().parse::<u32>().ok());
    let location = match (numbers.next().flatten(), numbers.next().flatten()) {
        (Some(line), Some(column)) => {
            let column = if line == 1 { column.saturating_sub(head) } else { column };
            Some(Location { file: input.name.clone(), line, column })
        }
        _ => None,
    };
    let message = match (input.is_bitcode(), input.text()) {
        (true, _) => format!("'{}' is damaged LLVM bitcode: {reason}", input.name),
        (false, Some(_)) => format!("'{}' is not LLVM IR: {reason}", input.name),
        (false, None) => return Diagnostic::new(format!("'{}' is neither text nor LLVM bitcode", input.name)),
    };
    Diagnostic { location, ..Diagnostic::new(message) }
}

/// Numbers the atomics, so that passes in between do not lose their lines.
fn number(context: &Context, module: &Module<'_>) {
    let kind = context.get_kind_id(NUMBER);
    let i32_type = context.i32_type();
    let atomics = module.get_functions().flat_map(instructions).filter_map(Instruction::atomic);
    for (number, (instruction, _)) in atomics.enumerate() {
        let node = context.metadata_node(&[i32_type.const_int(number as u64, false).into()]);
        // SAFETY: instruction and node belong to the context.
        unsafe { LLVMSetMetadata(instruction.0, kind, node.as_value_ref()) };
    }
}

/// Reads the numbers.
pub(crate) struct Numbering {
    kind: u32,
}

/// Says of an atomic that it has no number, since it does not stand in the text as one.
pub(crate) fn set_unnumbered(context: &ContextRef<'_>, atomic: LLVMValueRef) {
    let node = context.metadata_node(&[]);
    // SAFETY: instruction and node belong to the context.
    unsafe { LLVMSetMetadata(atomic, context.get_kind_id(NUMBER), node.as_value_ref()) };
}

impl Numbering {
    pub fn of(context: &ContextRef<'_>) -> Self {
        Self { kind: context.get_kind_id(NUMBER) }
    }

    /// Whether the atomic stands in the text that was read.
    pub fn is_in_text(&self, instruction: Instruction) -> bool {
        // SAFETY: the instruction is live, and so is its node.
        unsafe {
            let node = LLVMGetMetadata(instruction.0, self.kind);
            node.is_null() || LLVMGetMDNodeNumOperands(node) > 0
        }
    }

    pub fn get(&self, instruction: Instruction) -> Option<u32> {
        // SAFETY: the instruction is live; the node is ours and holds one constant.
        unsafe {
            let node: LLVMValueRef = LLVMGetMetadata(instruction.0, self.kind);
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

/// The lines of a module's text on which the atomics' opcodes stand, in the order of the text.
///
/// Outside strings and comments the words `fence`, `atomicrmw`, `cmpxchg` and `load atomic` or `store atomic` are nothing
/// else, unless a sigil makes them a name or a colon a label.
fn atomic_lines(text: &str) -> Vec<u32> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "_.-$%@!#".contains(c);
    let behind = |text: &str, end: &str| text.find(end).map(|start| start + end.len());
    let mut words: Vec<(&str, u32)> = Vec::new();
    let (mut rest, mut line) = (text, 1);
    while let Some(first) = rest.chars().next() {
        // Strings and one kind of comment may span lines.
        let length = match first {
            '"' => behind(&rest[1..], "\"").map(|length| 1 + length),
            ';' => rest.find('\n'),
            '/' if rest.starts_with("/*") => behind(&rest[2..], "*/").map(|length| 2 + length),
            first if is_word(first) => rest.find(|c| !is_word(c)),
            first => Some(first.len_utf8()),
        };
        let (piece, after) = rest.split_at(length.unwrap_or(rest.len()));
        if is_word(first) && !after.starts_with(':') {
            words.push((piece, line));
        }
        line += piece.matches('\n').count() as u32;
        rest = after;
    }
    let mut lines = Vec::new();
    for (index, (word, number)) in words.iter().enumerate() {
        let atomic = words.get(index + 1).is_some_and(|(next, _)| *next == "atomic");
        if matches!(*word, "fence" | "atomicrmw" | "cmpxchg") || (matches!(*word, "load" | "store") && atomic) {
            lines.push(*number);
        }
    }
    lines
}

/// LLVM's name of a module's triple.
pub(crate) fn triple(module: &Module<'_>) -> String {
    // SAFETY: the module is live, and so is its string.
    unsafe { CStr::from_ptr(LLVMGetTarget(module.as_mut_ptr())).to_string_lossy().into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, lines: &[u32]) {
        assert_eq!(atomic_lines(text), lines, "{text}");
    }

    #[test]
    fn lines_of_atomics() {
        check("  fence release\n  %a = atomicrmw add ptr %p, i32 1 seq_cst\n", &[1, 2]);
        check("define void @f() { fence release ret void }\n  fence acquire", &[1, 2]);
        check("  %a =\n    load atomic i32,\n      ptr %p monotonic, align 4", &[2]);
        check("  load\n  atomic", &[1]);
        check("  %a = load i32, ptr %p\n  store i32 %a, ptr %atomic", &[]);
    }

    #[test]
    fn names_labels_strings_and_comments_are_none() {
        check("fence:\n  br label %fence\n  call void @fence()\n  ret void, !fence !0\n", &[]);
        check("  call void asm \"fence ; load atomic\", \"\"() ; fence release\n  fence release", &[2]);
        check("source_filename = \"a\nfence\n;\"\n  fence release", &[4]);
        check("  call void @\"f\n; fence\"() fence release\n!0 = !{!\"a;\nfence\"}\n  fence acquire", &[2, 5]);
        check("/* fence release\n ; \" */ fence acquire ; /* \"\n  fence release /*/ fence */", &[2, 3]);
        check("@x.fence = global i32 0 ; \"\n  cmpxchg ptr %p, i32 0, i32 1 acq_rel acquire", &[2]);
    }
}
