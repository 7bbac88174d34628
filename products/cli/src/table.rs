//! `ptx-atomics table`.

use std::process::ExitCode;

use ptx_atomics::lowering::table::Table;
use ptx_atomics::{lowering::UnknownTarget, pass::Diagnostic};

use crate::{
    cli::{Format, TableArgs},
    output,
    render::{self, Lost},
    sass_table,
};

pub fn run(args: &TableArgs) -> ExitCode {
    let text = match if args.sass { sass_table::print(args) } else { print(args) } {
        Ok(text) => text,
        Err(error) => {
            render::errors(&[Diagnostic::new(error.to_string())], None, Lost::All);
            return ExitCode::from(2);
        }
    };
    if output::print(&text) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn print(args: &TableArgs) -> Result<String, UnknownTarget> {
    let policy = args.fp_atomics.apply(args.strategy.strategies().into());
    let table = Table::new(&policy, &args.target.target(None, None)?);
    Ok(match args.format {
        Format::Text => table.text(),
        Format::Markdown => table.markdown(),
        Format::Json => table.json(),
    })
}
