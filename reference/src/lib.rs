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
use ptx_atomics_lowering::{
    Operation, Strategy, Type,
    ptx::{Scope, Space},
};
use rayon::prelude::*;
use strum::IntoEnumIterator;

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
    // What is asked for most stands first.
    let place = |operation: &Operation| {
        let ty = operation.access().map(|access| access.ty);
        USUAL.iter().position(|usual| Some(*usual) == ty).unwrap_or(USUAL.len())
    };
    let own = || operations().filter(|operation| name(operation) == chapter).sorted_by_key(place);
    let types = own().filter_map(|operation| Some(operation.access()?.ty.to_string())).collect_vec();
    let filter = filter(&types);
    let mut text = format!("# {chapter}\n\n{style}\n\n[How to read this](../reference.md).{operands}\n\n{filter}\n");
    for operation in own() {
        write!(text, "\n{}", section(operation).text).expect("a text grows");
    }
    text + "\n<script src=\"../page/filter.js\"></script>\n"
}

/// The first GPU that is shown without a wish for older ones: that with the memory model.
const FIRST: &str = "sm_70";

/// A form that hides rows and types, where scripts run.
fn filter(types: &[String]) -> String {
    let gpus = target_names();
    let option = |value: &str, text: &str| format!("<option value=\"{value}\">{text}</option>");
    let select = |name: &str, first: &[(&str, &str)], values: &mut dyn Iterator<Item = String>| {
        let first: String = first.iter().map(|(value, text)| option(value, text)).collect();
        let rest: String = values.map(|value| option(&value, &value)).collect();
        format!("<label>{name} <select name=\"{name}\">{first}{rest}</select></label>\n")
    };
    let fields = [
        select("GPU", &[("old", &format!("{FIRST} and later")), ("", "every one")], &mut gpus.iter().cloned()),
        select("type", &[("", "every one")], &mut types.iter().cloned()),
        select("scope", &[("", "every one")], &mut Scope::iter().map(|scope| scope.to_string())),
        select("space", &[("", "every one")], &mut Space::iter().map(|space| space.to_string())),
        select("strategy", &[("", "every one")], &mut Strategy::iter().map(|strategy| strategy.to_string())),
    ];
    let first = gpus.iter().position(|gpu| gpu == FIRST).unwrap_or_default();
    let gpus = gpus.join(",");
    let fields: String = fields.into_iter().collect();
    format!(
        "<form class=\"filter\" hidden data-gpus=\"{gpus}\" data-first=\"{first}\">\n{fields}<output role=\"status\"></output>\n</form>"
    )
}
