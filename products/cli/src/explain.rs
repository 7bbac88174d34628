//! `ptx-atomics explain`: the pages of the rules of `check`.

use std::process::ExitCode;

use itertools::Itertools;
use ptx_atomics::check::Rule;

use crate::{cli::ExplainArgs, output};

pub fn run(args: &ExplainArgs) -> ExitCode {
    let list =
        || Rule::all().map(|rule| format!("{:4} {:9} {}\n", rule.name(), rule.question(), rule.sentence())).join("");
    let text = if args.rules.is_empty() { list() } else { args.rules.iter().map(|rule| rule.page()).join("\n") };
    if output::print(&text) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
