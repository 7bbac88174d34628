//! The numbers of the interface. A new one goes behind the others, so that programs that are compiled stay right.

use strum::FromRepr;

/// What came of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum Status {
    /// It was done. There may be diagnostics, of which none is an error.
    Ok = 0,
    /// There is an error, which a diagnostic says.
    Failed = 1,
    /// An argument is none that the function takes, which a diagnostic says.
    Misused = 2,
    /// The library has a bug, which a diagnostic says.
    Bug = 3,
}

/// How bad a diagnostic is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum Standing {
    /// It is wrong; of a kernel, in an execution that was seen.
    Error = 0,
    /// It cannot be excluded that it is wrong.
    Possible = 1,
    /// The manual asks for it, or LLVM warns.
    Warning = 2,
    /// It is right, and more than is needed.
    Note = 3,
    /// It was not checked, and the message says why.
    NotChecked = 4,
}

/// A part of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromRepr)]
#[repr(C)]
pub enum Part {
    /// What is wrong and why, in one sentence without a period. Each diagnostic has it.
    Message = 0,
    /// What to do.
    Help = 1,
    /// The file, as the input's name or debug information calls it.
    File = 2,
    /// The function or kernel.
    Function = 3,
    /// The operation, in LLVM's words.
    Operation = 4,
    /// What else is known, a sentence a line.
    Notes = 5,
    /// The rule of docs/async.md, as R4.
    Rule = 6,
}

/// What a module is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromRepr)]
#[repr(C)]
pub enum Language {
    /// MLIR if its name ends with .mlir or .mlirbc, or if it is bytecode of MLIR; or else LLVM IR.
    Auto = 0,
    /// LLVM IR, as text or bitcode.
    Llvm = 1,
    /// MLIR, as text or bytecode.
    Mlir = 2,
}

/// What is made of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromRepr)]
#[repr(C)]
pub enum Emit {
    /// PTX.
    Ptx = 0,
    /// LLVM IR with the PTX of atomics and fences in it, as text.
    LlvmIr = 1,
    /// The same as bitcode.
    LlvmBc = 2,
}

/// How a table is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromRepr)]
#[repr(C)]
pub enum Format {
    /// For a terminal.
    Text = 0,
    /// Markdown.
    Markdown = 1,
    /// JSON.
    Json = 2,
}
