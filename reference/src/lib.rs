//! The reference of the book: every operation, type, ordering, scope, state space, strategy and family of GPUs, with the PTX
//! that it becomes, what that needs and costs, and what other compilers give. What agrees stands in one row.
//!
//! `docs/reference.md` says how the chapters are read; `scripts/book` has them made and puts them behind it.

mod code;
pub mod generated;
mod operations;
pub mod others;
mod overview;
mod rows;
mod section;
mod targets;

use std::{fmt::Write, fs, io, path::Path};

use itertools::Itertools;
use ptx_atomics_lowering::{Operation, Type};
use rayon::prelude::*;

pub use self::{
    code::{LEVEL, SCOPE, SPACE},
    operations::{name, operations},
    section::{Section, Table, section},
    targets::{TARGETS, target_names, targets},
};

/// What holds of all operations, and is in no row.
pub const RULES: [&str; 5] = [
    "An operation of scope `singlethread` is a relaxed one of scope `cta`; such a fence is nothing.",
    "Scope `cluster` is `gpu` before sm_90 and PTX 7.8.",
    "Space `shared::cluster` needs sm_90 and PTX 7.8.",
    "Space `const` has loads alone: it cannot be written while a kernel runs.",
    "A `cmpxchg` that fails with a stronger ordering than it succeeds has both: PTX has one ordering for both.",
];

/// The names of the chapters, which are those of the operations.
pub fn names() -> Vec<String> {
    operations().map(|operation| name(&operation)).unique().collect()
}

/// The types of most programs, in whose order chapters begin.
const USUAL: [Type; 4] = [Type::I32, Type::I64, Type::F32, Type::F64];

/// Writes the chapters into a folder, `NAME.md` each, and their names into `names` there, in order.
///
/// # Errors
///
/// What the system says of a file that cannot be written.
pub fn write(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let names = names();
    names.par_iter().try_for_each(|name| fs::write(folder.join(name).with_extension("md"), chapter(name)))?;
    fs::write(folder.join("names"), names.join("\n") + "\n")
}

/// A chapter by its name, as Markdown.
pub fn chapter(chapter: &str) -> String {
    let operands = match chapter {
        "fence" => "",
        "load" => " The address is in `%a`, the result in `%d`.",
        "store" => " The address is in `%a`, the value in `%b`.",
        "cmpxchg" => {
            " The address is in `%a`, what is compared in `%b`, the new value in `%c`, and the result in `%d`."
        }
        _ => " The address is in `%a`, the value in `%b`, and the result in `%d`.",
    };
    let style = "<link rel=\"stylesheet\" href=\"../page/reference.css\">";
    let mut text = format!("# {chapter}\n\n{style}\n\n[How to read this](../reference.md).{operands}\n");
    // What is asked for most stands first.
    let place = |operation: &Operation| {
        let ty = operation.access().map(|access| access.ty);
        USUAL.iter().position(|usual| Some(*usual) == ty).unwrap_or(USUAL.len())
    };
    for operation in operations().filter(|operation| name(operation) == chapter).sorted_by_key(place) {
        write!(text, "\n{}", section(operation).text).expect("a text grows");
    }
    text
}
