//! The reference of the book: every operation, type, ordering, scope, state space, strategy and family of GPUs, with the PTX
//! that it becomes, what that needs and costs, and what other compilers give. What agrees stands in one row.
//!
//! `docs/reference.md` says how the chapters are read; `scripts/book` has them made and puts them behind it.

mod code;
pub mod introduction;
pub mod others;
mod rows;
mod section;

use std::fmt::Write;

use itertools::Itertools;
use ptx_atomics_lowering::{Operation, Ordering, Target, ptx::Space};

pub use self::{
    code::{LEVEL, SCOPE, SPACE},
    section::{Section, Table, section},
};

/// The families of GPUs, each by its first one, with PTX 9.0; sm_90 also as it is before the one-sided fences of PTX 8.6. With older
/// PTX, forms that it lacks are replaced: what each type needs says which.
pub const TARGETS: [(&str, &str); 9] = [
    ("sm_20", "ptx90"),
    ("sm_32", "ptx90"),
    ("sm_50", "ptx90"),
    ("sm_60", "ptx90"),
    ("sm_70", "ptx90"),
    ("sm_80", "ptx90"),
    ("sm_90", "ptx85"),
    ("sm_90", "ptx90"),
    ("sm_100", "ptx90"),
];

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
    for operation in operations().filter(|operation| name(operation) == chapter) {
        write!(text, "\n{}", section(operation).text).expect("a text grows");
    }
    text
}

/// Every operation on every type in global memory; of fences and of failure orderings, one stands for all.
pub fn operations() -> impl Iterator<Item = Operation> {
    let is_shown = |operation: &Operation| !matches!(operation, Operation::CmpXchg { failure, .. } if *failure != Ordering::Relaxed);
    Operation::all(Space::Global).filter(is_shown)
}

/// The name of an operation, without its type.
pub fn name(operation: &Operation) -> String {
    match operation {
        Operation::Fence => "fence".to_owned(),
        Operation::Load(_) => "load".to_owned(),
        Operation::Store(_) => "store".to_owned(),
        Operation::CmpXchg { .. } => "cmpxchg".to_owned(),
        Operation::Rmw(op, _) => op.to_string(),
    }
}

/// The targets of [`TARGETS`].
pub fn targets() -> Vec<Target> {
    let target = |(sm, ptx): (&str, &str)| Target::new(sm.parse().ok()?, Some(ptx.parse().ok()?)).ok();
    TARGETS.into_iter().filter_map(target).collect()
}

/// The names of the targets, with the PTX version where one GPU is two of them.
pub fn target_names() -> Vec<String> {
    let name = |(sm, ptx): &(&str, &str)| match TARGETS.iter().filter(|(other, _)| other == sm).count() {
        1 => (*sm).to_owned(),
        _ => format!("{sm} with {ptx}"),
    };
    TARGETS.iter().map(name).collect()
}
