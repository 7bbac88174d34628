//! The numbers of the interface. A new number follows the existing numbers, so that compiled programs stay correct.

use strum::FromRepr;

/// The status of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum Status {
    /// The call succeeded. The result may have diagnostics, but no errors.
    Ok = 0,
    /// The input has an error; a diagnostic describes it.
    Failed = 1,
    /// The function does not accept an argument; a diagnostic names it.
    Misused = 2,
    /// The library has a bug; a diagnostic describes it.
    Bug = 3,
}

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum DiagnosticSeverity {
    /// An error. For a kernel, an execution shows it.
    Error = 0,
    /// A possible error, neither shown nor excluded.
    Possible = 1,
    /// A missing instruction that the manual requires, or a warning of LLVM.
    Warning = 2,
    /// Correct code that does more than is needed.
    Note = 3,
    /// Code that was not checked; the message has the reason.
    NotChecked = 4,
}

/// A part of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromRepr)]
#[repr(C)]
pub enum Part {
    /// The error and its reason, in one sentence without a period. Each diagnostic has a message.
    Message = 0,
    /// The remedy.
    Help = 1,
    /// The file, by the name of the input or by its name in the debug information.
    File = 2,
    /// The function or kernel.
    Function = 3,
    /// The operation, in the syntax of LLVM.
    Operation = 4,
    /// Further facts, one sentence on each line.
    Notes = 5,
    /// The rule, such as R4: docs/rules.md.
    Rule = 6,
}

/// The language of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromRepr)]
#[repr(C)]
pub enum Language {
    /// MLIR if the name of the input ends with .mlir or .mlirbc, or if the input is bytecode of MLIR; otherwise LLVM
    /// IR.
    Auto = 0,
    /// LLVM IR, as text or bitcode.
    Llvm = 1,
    /// MLIR, as text or bytecode.
    Mlir = 2,
}

/// The output for a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromRepr)]
#[repr(C)]
pub enum Emit {
    /// PTX.
    Ptx = 0,
    /// LLVM IR with the PTX of atomics and fences in it, as text.
    LlvmIr = 1,
    /// LLVM IR with the PTX of atomics and fences in it, as bitcode.
    LlvmBc = 2,
}

/// The format of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromRepr)]
#[repr(C)]
pub enum Format {
    /// Text for a terminal.
    Text = 0,
    /// Markdown.
    Markdown = 1,
    /// JSON.
    Json = 2,
}
