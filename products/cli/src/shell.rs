//! Support for shells and `man`: `ptx-atomics completions` and `ptx-atomics man`.

use std::{fs, io, path::Path, process::ExitCode};

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::{
    cli::{Cli, CompletionsArgs, ManArgs},
    input::cannot,
    output::{self, Content, Output},
    render::{self, Lost},
};

/// The name of the product in the pages.
const SOURCE: &str = concat!("ptx-atomics ", env!("CARGO_PKG_VERSION"));

pub fn completions(args: &CompletionsArgs) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "ptx-atomics", &mut script);
    ExitCode::from(u8::from(!output::print(&String::from_utf8_lossy(&script))))
}

pub fn man(args: &ManArgs) -> ExitCode {
    let written = fs::create_dir_all(&args.folder)
        .map_err(|error| (args.folder.clone(), error))
        .and_then(|()| output::publish(pages(&args.folder)?));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err((path, error)) => {
            render::errors(&cannot("write", &path, &error), None, Lost::All);
            ExitCode::FAILURE
        }
    }
}

/// A page for the command, and one for each of its commands.
fn pages(folder: &Path) -> Result<Vec<Content>, output::Unwritable> {
    let mut all = Cli::command();
    // A page shows only the short version, without the lines about the build.
    all = all.long_version(None).disable_help_subcommand(true);
    all.build();
    let commands = [&all].into_iter().chain(all.get_subcommands()).cloned();
    commands.map(|command| page(folder, command)).collect()
}

fn page(folder: &Path, command: Command) -> Result<Content, output::Unwritable> {
    let title = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let name = folder.join(format!("{title}.1"));
    let mut bytes = Vec::new();
    let rendered = Man::new(command).title(title).source(SOURCE).render(&mut bytes);
    let output = rendered.and_then(|()| Output::open(&name)).map_err(|error: io::Error| (name.clone(), error))?;
    Ok(Content { name, output, bytes })
}
