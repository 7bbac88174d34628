//! `ptx-atomics optimize`: the PTX of any compiler, with cheaper atomics and fences.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use itertools::Itertools;
use ptx_atomics::check::rewritten::{self, Worse};
use ptx_atomics::optimize::Least;
use ptx_atomics::optimize::text::{Error, Launch, Rewritten, TextOptions, Weight, rewrite};
use ptx_atomics::{
    pass::{Diagnostic, Errors, Input, Location},
    ptx::{LaunchSize, Module, Stop},
};

use crate::{
    cli::OptimizeArgs,
    input::{self, Kind, Program, cannot},
    output::{self, Content, Output},
    render::{self, Lost},
};

/// A file that is rewritten.
struct Done {
    name: PathBuf,
    bytes: Vec<u8>,
}

pub fn run(args: &OptimizeArgs) -> ExitCode {
    let output = match Output::open(&args.output) {
        Ok(output) => output,
        Err(error) => return failed(&cannot("write", &args.output, &error), 1),
    };
    let (mut done, mut weights, mut all_done) = (Vec::new(), Vec::new(), true);
    let mut fail = |errors: &[Diagnostic], input: Option<&Input>, path: &Path| {
        let lost = if args.report || args.paths.len() > 1 { Lost::Of(path) } else { Lost::All };
        render::errors(errors, input, lost);
        all_done = false;
    };
    for path in &args.paths {
        match input::programs(path, None, Kind::Ptx) {
            Err(errors) => fail(&errors, None, path),
            Ok(programs) => {
                for program in programs {
                    match optimize_program(args, &program) {
                        Ok(rewritten) => {
                            weights.extend(rewritten.functions);
                            done.push(Done { name: name(path, &program), bytes: rewritten.text.into_bytes() });
                        }
                        Err(errors) => fail(&errors, Some(&program.input), path),
                    }
                }
            }
        }
    }
    if done.is_empty() {
        return ExitCode::FAILURE;
    }
    render::say(&summary(&weights));
    if args.report {
        let printed = output::print(&table(&weights));
        return if printed && all_done { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    if done.len() > 1 && !matches!(output, Output::Folder(_)) {
        let message = format!("there are {} files of PTX and one output: '{}'", done.len(), args.output.display());
        return failed(&[Diagnostic::new(message).help("give a folder by -o FOLDER/")], 2);
    }
    match write(args, output, done) {
        Ok(()) if all_done => ExitCode::SUCCESS,
        Ok(()) => ExitCode::FAILURE,
        Err(errors) => failed(&errors, 1),
    }
}

fn failed(errors: &[Diagnostic], status: u8) -> ExitCode {
    render::errors(errors, None, Lost::All);
    ExitCode::from(status)
}

/// The name of the file in a folder.
fn name(path: &Path, program: &Program) -> PathBuf {
    let of = if path.is_dir() { &program.path } else { path };
    let stem = of.file_stem().map(|stem| stem.to_string_lossy().into_owned()).filter(|stem| stem != "-");
    let gpu = if program.gpu > 0 { format!(".sm_{}", program.gpu) } else { String::new() };
    format!("{}{gpu}.ptx", stem.unwrap_or_else(|| "kernel".to_owned())).into()
}

fn optimize_program(args: &OptimizeArgs, program: &Program) -> Result<Rewritten, Errors> {
    let input = &program.input;
    if !matches!(program.kind, Kind::Ptx | Kind::Binary) {
        let help = "compile it, and give the PTX, or lower and optimize it by `ptx-atomics lower -O2`";
        return Err(Diagnostic::new(format!("'{}' is not PTX", input.name())).help(help).into());
    }
    let text = input.text().ok_or_else(|| Diagnostic::new(format!("'{}' is not text", input.name())))?;
    let size = LaunchSize { grid: args.grid, ..LaunchSize::default() };
    let options = TextOptions {
        rewrites: args.rewrites,
        polls: args.polls,
        launch: Launch { alone: args.alone, size },
        least: args.report.then(ptx_atomics::optimize::Budget::default),
        ..TextOptions::default()
    };
    let rewritten = rewrite(text, &options).map_err(|error| errors(input, error))?;
    if args.verbose {
        for said in &rewritten.said {
            let what = if said.applied { "done" } else { "missed" };
            let place = format!("{}:{}", input.name(), said.line);
            render::say(&format!("{place}: {what} [{}]: {}: {}", said.rewrite, said.instruction, said.message));
        }
    }
    if rewritten.text != text {
        let time = Duration::from_secs(args.time_limit);
        for kernel in
            verify(size, time, input, text, &rewritten.text)?.iter().filter(|_| args.verbose && args.time_limit > 0)
        {
            render::say(&format!(
                "{}: '{kernel}' is changed, and its executions were cut before their end",
                input.name()
            ));
        }
    }
    Ok(rewritten)
}

fn errors(input: &Input, error: Error) -> Errors {
    match error {
        Error::Unread(errors) => {
            let located = |error: ptx_atomics::ptx::ModuleError| Diagnostic {
                location: Some(Location { file: input.name().to_owned(), line: error.line, column: 0 }),
                ..Diagnostic::new(error.reason)
            };
            errors.0.into_iter().map(located).collect()
        }
        Error::Target(reason) => Diagnostic::new(format!("'{}': {reason}", input.name())).into(),
    }
}

/// Checks the rewritten PTX like any other PTX. Returns the kernels whose executions were cut: for these, only the
/// rules and the judge show that the rewrite is right.
fn verify(size: LaunchSize, time: Duration, input: &Input, before: &str, after: &str) -> Result<Vec<String>, Errors> {
    let bug = |text: String| Errors::from(Diagnostic::new(format!("ptx-atomics has a bug: '{}' {text}", input.name())));
    let read =
        |text: &str| text.parse::<Module>().map_err(|errors| bug(format!("becomes PTX that cannot be read: {errors}")));
    rewritten::compare(&read(before)?, &read(after)?, size, &Stop::after(time)).map_err(|worse| {
        bug(match worse {
            Worse::Lacks(kernel) => format!("loses a wait or fence in '{kernel}'"),
            Worse::Race(kernel) => format!("gains a data race in '{kernel}'"),
        })
    })
}

fn summary(weights: &[Weight]) -> String {
    let [before, after] =
        [weights.iter().map(|one| one.before).sum::<u64>(), weights.iter().map(|one| one.after).sum()];
    let s = if weights.len() == 1 { " orders" } else { "s order" };
    format!("{} function{s} memory: weight {before} before, {after} after", weights.len())
}

/// A line for each function.
fn table(weights: &[Weight]) -> String {
    let line = |Weight { function, before, after, least }: &Weight| {
        let bound = |Least { weight, reached }: Least| format!("{}{weight}", if reached { "" } else { ">=" });
        let [any, no_dearer] = least.map_or_else(|| ["?".into(), "?".into()], |least| least.map(bound));
        format!("{before}\t{after}\t{no_dearer}\t{any}\t{function}\n")
    };
    weights.iter().map(line).collect()
}

fn write(args: &OptimizeArgs, output: Output, done: Vec<Done>) -> Result<(), Errors> {
    let mut contents = Vec::new();
    if let Output::Folder(folder) = &output {
        fs::create_dir_all(folder).map_err(|error| cannot("write", folder, &error))?;
        let twice = done.iter().map(|one| &one.name).duplicates().map(|name| {
            Diagnostic::new(format!("two inputs have the output '{}'", folder.join(name).display()))
                .help("optimize them one by one")
        });
        let twice: Errors = twice.collect();
        if !twice.is_empty() {
            return Err(twice);
        }
        for Done { name, bytes } in done {
            let name = folder.join(name);
            let output = Output::open(&name).map_err(|error| cannot("write", &name, &error))?;
            contents.push(Content { name, output, bytes });
        }
    } else if let Some(Done { bytes, .. }) = done.into_iter().next() {
        contents.push(Content { name: args.output.clone(), output, bytes });
    }
    output::publish(contents).map_err(|(name, error)| cannot("write", &name, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = ".version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 .ptr .global out) .reqntid 64 {
.reg .pred %p;
.reg .b32 %r<4>;
.reg .b64 %rd<4>;
.shared .align 16 .b8 tile[256];
ld.param.u64 %rd1, [out];
mov.u32 %r1, %tid.x;
setp.eq.u32 %p, %r1, 0;
@%p st.shared.b32 [tile], %r1;
fence.proxy.async.shared::cta;
bar.sync 0;
ld.shared.b32 %r2, [tile];
@%p cp.async.bulk.global.shared::cta.bulk_group [%rd1], [tile], 16;
@%p cp.async.bulk.commit_group;
@%p cp.async.bulk.wait_group 0;
ret;
}
";

    /// The message of the error for a kernel that loses an instruction; empty without an error.
    fn check(before: &str, lost: &str) -> String {
        let after = before.replace(lost, "");
        let verified = verify(LaunchSize::default(), Duration::from_secs(60), &Input::new("k.ptx", ""), before, &after);
        verified.err().map(|errors| errors.to_string()).unwrap_or_default()
    }

    #[test]
    fn a_lost_ordering_is_an_error() {
        // No instruction is asynchronous: an execution shows the race.
        let plain: String =
            BEFORE.lines().filter(|line| !line.contains("async")).map(|line| line.to_owned() + "\n").collect();
        for (before, lost, words) in [
            (BEFORE, "fence.proxy.async.shared::cta;", "loses a wait or fence in 'k'"),
            (BEFORE, "bar.sync 0;", "gains a data race in 'k'"),
            (&plain, "bar.sync 0;", "gains a data race in 'k'"),
            (&plain, "ret;\n}", "becomes PTX that cannot be read"),
        ] {
            let said = check(before, lost);
            assert!(said.contains(words), "{lost}: {said}");
        }
        assert_eq!(check(BEFORE, "none of it") + &check(&plain, "none of it"), "");
    }

    /// Kernels with endless loops use up the steps long before the time limit.
    #[test]
    fn steps_end_executions() {
        let kernel = |name: &str, order: &str| {
            format!(
                ".visible .entry {name}(.param .u64 out) {{
.reg .pred %p<2>;
.reg .b32 %r<3>;
.reg .b64 %rd<2>;
.shared .align 8 .b8 s[8];
ld.param.u64 %rd1, [out];
mov.u32 %r1, 0;
again:
fence.acquire.sys;
atom.{order}.cta.shared.add.u32 %r2, [s], 1;
setp.eq.u32 %p1, %r1, 0;
@%p1 bra again;
ret;
}}
"
            )
        };
        let module = |order: &str| {
            let kernels: String = ["a", "b", "c"].iter().map(|name| kernel(name, order)).collect();
            format!(".version 8.7\n.target sm_90\n.address_size 64\n{kernels}")
        };
        let (before, after) = (module("release"), module("relaxed"));
        let day = Duration::from_secs(86_400);
        let verified = verify(LaunchSize::default(), day, &Input::new("k.ptx", ""), &before, &after);
        assert_eq!(verified.map_err(|errors| errors.to_string()), Ok(["a", "b", "c"].map(str::to_owned).to_vec()));
    }
}
