//! The reference of the book: every operation, type, ordering, scope, state space, strategy and family of GPUs, with
//! its PTX, the requirements and the cost of that PTX, and the results of other compilers. Equal results share a row.
//!
//! `docs/reference.md` explains the chapters; `scripts/book` generates them and inserts them after it.

mod code;
pub mod data;
pub mod generated;
mod operations;
pub mod other_compilers;
mod overview;
mod rows;
mod section;
mod targets;

use std::{fs, io, path::Path};

use itertools::Itertools;
use ptx_lowering::{
    Operation, Strategy, Type,
    ptx::{Scope, Space},
};
use rayon::prelude::*;
use strum::IntoEnumIterator;

pub use self::{
    code::{LEVEL, SCOPE, SPACE},
    operations::{name, operations},
    rows::Grid,
    section::{Section, Table, section},
    targets::{TARGETS, target_names, targets},
};

/// The rules that apply to all operations, and are not in a row.
pub const RULES: [&str; 5] = [
    "An operation of scope `singlethread` becomes a relaxed operation of scope `cta`; a fence becomes nothing.",
    "Scope `cluster` is `gpu` before sm_90 and PTX 7.8.",
    "Space `shared::cluster` needs sm_90 and PTX 7.8.",
    "Space `const` has only loads: it cannot be written while a kernel runs.",
    "A `cmpxchg` whose failure ordering is stronger than its success ordering has both: PTX has one ordering for both.",
];

/// The names of the chapters: the names of the operations.
pub fn names() -> Vec<String> {
    operations().map(|operation| name(&operation)).unique().collect()
}

/// The most common types, which come first in a chapter.
const USUAL: [Type; 4] = [Type::I32, Type::I64, Type::F32, Type::F64];

/// Writes the chapters into a folder: `NAME.md` and its tables in `NAME.js` for each chapter, and the names of all
/// chapters into `names`, in order.
///
/// # Errors
///
/// The error of the system if a file cannot be written.
pub fn write(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let names = names();
    names.par_iter().try_for_each(|name| {
        let sections = sections(name);
        fs::write(folder.join(name).with_extension("md"), chapter(name, &sections))?;
        fs::write(folder.join(name).with_extension("js"), data::script(&sections))
    })?;
    fs::write(folder.join("names"), names.join("\n") + "\n")
}

/// The sections of an operation, one for each type. The most common types come first.
fn sections(chapter: &str) -> Vec<Section> {
    let place = |operation: &Operation| {
        let ty = operation.access().map(|access| access.ty);
        USUAL.iter().position(|usual| Some(*usual) == ty).unwrap_or(USUAL.len())
    };
    operations().filter(|operation| name(operation) == chapter).sorted_by_key(place).map(section).collect()
}

/// The chapter around the tables, as Markdown. The page builds the tables from its data, and only the requested ones.
fn chapter(chapter: &str, sections: &[Section]) -> String {
    let operands = match chapter {
        "fence" => "",
        "load" => " The address is in `%a`, the result in `%d`.",
        "store" => " The address is in `%a`, the value in `%b`.",
        "cmpxchg" => {
            " The address is in `%a`, the expected value in `%b`, the new value in `%c`, and the result in `%d`."
        }
        _ => " The address is in `%a`, the value in `%b`, and the result in `%d`.",
    };
    let style = "<link rel=\"stylesheet\" href=\"../page/reference.css\">";
    let filter = filter(chapter, sections);
    let without = "The tables need scripts. `ptx-atomics table --mcpu sm_90` prints their rows for a GPU.";
    let scripts = format!("<script src=\"{chapter}.js\"></script>\n<script src=\"../page/reference.js\"></script>\n");
    format!(
        "# {chapter}\n\n{style}\n\n[How to read this](../reference.md).{operands}\n\n<noscript>\n\n{without}\n\n</noscript>\n\n\
         {filter}\n\n<div id=\"tables\"></div>\n\n{scripts}"
    )
}

/// The first GPU that is shown by default: the first one with the memory model.
const FIRST: &str = "sm_70";

/// The form that selects tables and rows.
fn filter(chapter: &str, sections: &[Section]) -> String {
    let gpus = target_names();
    let mut types = sections.iter().map(|section| section.title.clone()).filter(|title| title != chapter);
    let option = |value: &str, text: &str| format!("<option value=\"{value}\">{text}</option>");
    let select = |name: &str, options: Vec<String>| {
        format!("<label>{name} <select name=\"{name}\">{}</select></label>\n", options.concat())
    };
    let every = option("", "every one");
    let all = |names: &mut dyn Iterator<Item = String>| names.map(|name| option(&name, &name)).collect_vec();
    let any = |names: &mut dyn Iterator<Item = String>| [vec![every.clone()], all(names)].concat();
    // The first option of each field is the default. For types it is a single one, since the tables of all types are
    // long.
    let fields = [
        select("GPU", [vec![option("old", &format!("{FIRST} and later"))], any(&mut gpus.iter().cloned())].concat()),
        select("type", [all(&mut types), vec![every.clone()]].concat()),
        select("scope", any(&mut Scope::iter().map(|scope| scope.to_string()))),
        select("space", any(&mut Space::iter().map(|space| space.to_string()))),
        select("strategy", any(&mut Strategy::iter().map(|strategy| strategy.to_string()))),
    ];
    let first = gpus.iter().position(|gpu| gpu == FIRST).unwrap_or_default();
    let gpus = gpus.join(",");
    let fields: String = fields.into_iter().collect();
    format!(
        "<form class=\"filter\" hidden data-gpus=\"{gpus}\" data-first=\"{first}\">\n{fields}<output role=\"status\"></output>\n</form>"
    )
}
