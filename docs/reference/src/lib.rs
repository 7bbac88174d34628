//! The reference of the book: every operation, type, ordering, scope, state space, strategy and family of GPUs, with the PTX
//! that it becomes, what that needs and costs, and what other compilers give. What agrees stands in one row.
//!
//! `docs/reference.md` says how the chapters are read; `scripts/book` has them made and puts them behind it.

mod code;
pub mod data;
pub mod generated;
mod operations;
pub mod others;
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

/// Writes the chapters into a folder, `NAME.md` and its tables in `NAME.js` each, and their names into `names` there, in order.
///
/// # Errors
///
/// What the system says of a file that cannot be written.
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

/// What is known of each type of an operation. What is asked for most stands first.
fn sections(chapter: &str) -> Vec<Section> {
    let place = |operation: &Operation| {
        let ty = operation.access().map(|access| access.ty);
        USUAL.iter().position(|usual| Some(*usual) == ty).unwrap_or(USUAL.len())
    };
    operations().filter(|operation| name(operation) == chapter).sorted_by_key(place).map(section).collect()
}

/// The chapter around the tables, as Markdown. The page makes them of its data, so that only those that are asked for are made.
fn chapter(chapter: &str, sections: &[Section]) -> String {
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
    let filter = filter(chapter, sections);
    let without = "The tables need scripts. `ptx-atomics table --mcpu sm_90` prints what they have of a GPU.";
    let scripts = format!("<script src=\"{chapter}.js\"></script>\n<script src=\"../page/reference.js\"></script>\n");
    format!(
        "# {chapter}\n\n{style}\n\n[How to read this](../reference.md).{operands}\n\n<noscript>\n\n{without}\n\n</noscript>\n\n\
         {filter}\n\n<div id=\"tables\"></div>\n\n{scripts}"
    )
}

/// The first GPU that is shown without a wish for older ones: that with the memory model.
const FIRST: &str = "sm_70";

/// The form that says which tables and rows are asked for.
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
    // The first of each is chosen where nothing is said: of the types one, since the tables of all are long.
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
