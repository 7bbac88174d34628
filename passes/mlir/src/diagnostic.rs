//! Diagnostics about ops.

use melior::ir::operation::OperationLike;
use ptx_atomics_common::{Diagnostic, Location, operation::Problem};

use crate::ir::{self, Op};

/// An error at an op.
pub fn diagnostic(op: Op<'_, '_>, (message, help): Problem) -> Diagnostic {
    Diagnostic {
        message,
        function: function_of(op),
        location: location_of(op),
        operation: ir::line(op),
        notes: Vec::new(),
        help,
    }
}

pub fn location_of(op: Op<'_, '_>) -> Option<Location> {
    ir::file_location(op.location())
}

/// The ops that are functions.
pub const FUNCTIONS: [&str; 4] = ["llvm.func", "func.func", "gpu.func", "spirv.func"];

/// The name of the function that contains an op.
pub fn function_of(op: Op<'_, '_>) -> Option<String> {
    // A function contains no module, and thousands of modules may be nested, so the search ends at a module.
    let mut around = ir::parents(op).take_while(|parent| !ir::name(*parent).ends_with(".module"));
    let function = around.find(|parent| FUNCTIONS.contains(&ir::name(*parent)))?;
    ir::symbol(function)
}

/// An error at an op, with help.
pub fn error_at(op: Op<'_, '_>, message: impl Into<String>, help: &str) -> Diagnostic {
    diagnostic(op, (message.into(), Some(help.to_owned())))
}
