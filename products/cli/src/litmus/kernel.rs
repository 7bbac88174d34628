//! Kernels as litmus tests: sources in any language that compiles to PTX, with a test in their comments or in flags.

use std::{
    fs,
    path::{Path, PathBuf},
};

use itertools::Itertools;
use ptx_atomics::{
    memory_model::{
        kernel::{self, Compiled, Kernels, Test},
        litmus,
        outcome::Limits,
        ptx::Conventions,
    },
    pass::{Diagnostic, Errors, Input},
};

use super::failure::diagnostic;
use crate::{
    cli::LitmusArgs,
    input::{self, Compile, Failure, Kind, cannot, read},
};

/// Tests of a kernel, and the file that has them.
struct Words {
    tests: Vec<Test>,
    input: Input,
}

impl Words {
    fn read(input: Input) -> Result<Self, Errors> {
        let text = String::from_utf8_lossy(input.bytes()).into_owned();
        match Test::read(&text) {
            Ok(tests) => Ok(Self { tests, input }),
            Err(errors) => Err(diagnostics(errors, &input)),
        }
    }
}

/// The tests in the file of a kernel, and in the other source files of the kernel.
pub fn tests(
    args: &LitmusArgs,
    path: &Path,
    conventions: Conventions,
    limits: Limits,
) -> Result<Vec<Compiled>, Failure> {
    let program = input::program(path, None, None, Kind::Ptx).map_err(|errors| (errors, None))?;
    let input = program.input.clone();
    let whole = |errors: Errors| (errors, Some(input.clone()));
    let mut words = vec![Words::read(input.clone()).map_err(whole)?];
    let flags = flags(args)?;
    let how = Compile::new(args.options(), &args.target, &args.source);
    let ptx = how.ptx(&program)?;
    if let Some(file) = &args.ptx {
        fs::write(file, &ptx.text).map_err(|error| (cannot("write", file, &error), None))?;
    }
    let kernels: Kernels = ptx.read()?;
    let mut errors = Errors::new();
    for file in find_other_sources(&kernels, path) {
        match read(&file).and_then(Words::read) {
            Ok(of) => words.push(of),
            Err(of) => errors.extend(of),
        }
    }
    if words.iter().all(|of| of.tests.is_empty()) {
        words[0].tests.push(Test::default());
    }
    words.iter_mut().flat_map(|of| &mut of.tests).for_each(|test| test.extend(flags.clone()));
    if errors.is_empty() && words.iter().flat_map(|of| &of.tests).all(|test| !test.has_threads()) {
        let help = "name them in a comment, such as `// litmus: thread P0 = producer(data) @ cta 0`, or by --thread";
        let message = format!("'{}' does not name the functions that run", input.name());
        return Err((Diagnostic::new(message).help(help).into(), None));
    }
    let several = words.iter().map(|of| of.tests.len()).sum::<usize>() > 1;
    let mut found = Vec::new();
    for Words { tests, input } in &words {
        let stem = Path::new(input.name()).file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
        for test in tests {
            match kernel::compile(&kernels, test, conventions, limits.rounds) {
                Ok(compiled) => found.extend(compiled.into_iter().map(|mut compiled| {
                    let name = &mut compiled.litmus.name;
                    if name.is_empty() || name.starts_with('#') {
                        name.insert_str(0, &stem);
                    }
                    compiled
                })),
                Err(litmus::Errors(mut of)) => {
                    for error in of.iter_mut().filter(|error| error.line == 0 && several) {
                        error.message = format!("{}: {}", test.name, error.message);
                    }
                    errors.extend(diagnostics(litmus::Errors(of), input));
                }
            }
        }
    }
    if errors.is_empty() { Ok(found) } else { Err(whole(errors)) }
}

/// The other source files of a module, such as the modules of a Rust crate or the headers of a program in C: the files
/// in the folder of the module's file, or below it.
fn find_other_sources(kernels: &Kernels, path: &Path) -> Vec<PathBuf> {
    let Ok(path) = fs::canonicalize(path) else { return Vec::new() };
    let folder = path.parent().unwrap_or(&path);
    let files = kernels.files().into_iter().filter_map(|file| fs::canonicalize(file).ok());
    files.filter(|file| file.starts_with(folder) && *file != path).unique().collect()
}

/// The test that the flags describe.
fn flags(args: &LitmusArgs) -> Result<Test, Failure> {
    let threads = args.threads.iter().map(|words| format!("thread {words}"));
    let binds = args.binds.iter().map(|words| format!("bind {words}"));
    let conditions = [("forall", &args.forall), ("exists", &args.exists)]
        .into_iter()
        .flat_map(|(quantifier, all)| all.iter().map(move |formula| format!("{quantifier} {formula}")));
    let never = args.never.iter().map(|formula| format!("~exists {formula}"));
    let lines: Vec<String> =
        args.declare.iter().cloned().chain(threads).chain(binds).chain(conditions).chain(never).collect();
    let mut all = Test::default();
    let mut errors = Vec::new();
    // Threads are numbered over all lines.
    match Test::of_words(&lines.join("\n")) {
        Ok(tests) => tests.into_iter().for_each(|test| all.extend(test)),
        Err(litmus::Errors(found)) => errors.extend(found.into_iter().map(|error| {
            let line = lines.get(error.line.saturating_sub(1)).map_or("", String::as_str);
            Diagnostic::new(format!("{}: in `{line}`", error.message))
        })),
    }
    if errors.is_empty() { Ok(all) } else { Err((errors.into(), None)) }
}

/// Diagnostics for errors in a test; an error in a flag has no location.
fn diagnostics(litmus::Errors(errors): litmus::Errors, input: &Input) -> Errors {
    let text = String::from_utf8_lossy(input.bytes()).into_owned();
    let one = |error: litmus::Error| match error.line {
        0 => Diagnostic::new(format!("{}: {}", input.name(), error.message)),
        _ => diagnostic(error, &text, input),
    };
    errors.into_iter().map(one).collect::<Vec<_>>().into()
}
