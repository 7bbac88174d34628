//! Reproducers of failures: the smallest function of each kind of failure.

use std::{fmt::Write, fs, io, path::Path};

use itertools::Itertools;
use ptx_lowering::{Policy, lower};

use crate::{
    report::{Class, Results},
    suite::Suite,
};

/// Writes a folder for each kind of failure: the function, the output of the compiler for the function alone, and a
/// text. Returns the number of folders.
///
/// # Errors
/// If a file cannot be written.
pub fn reproduce(folder: &Path, suite: &Suite, results: &Results) -> io::Result<usize> {
    let classes = results.failures();
    for class in &classes {
        let name = format!("{} {} {}", results.name(), class.verdict, class.kind).replace(' ', "-");
        write_one(&folder.join(name), suite, results, class)?;
    }
    Ok(classes.len())
}

fn write_one(folder: &Path, suite: &Suite, results: &Results, class: &Class<'_>) -> io::Result<()> {
    let Results { target, .. } = results;
    let (compiler, outcome) = (&suite.compiler, class.smallest());
    fs::create_dir_all(folder)?;
    let input = Path::new("input").with_extension(compiler.language.extension());
    fs::write(folder.join(&input), compiler.language.source([&outcome.cell]))?;
    let alone = compiler.alone(target, [&outcome.cell], tempfile::tempdir()?.path());
    if let Ok(ptx) = &alone {
        fs::write(folder.join("output.ptx"), ptx)?;
    }

    let words = compiler.command.words(target, &input, Path::new("output.ptx"));
    let said = outcome.said.iter().map(|said| format!("- {}\n", said.replace('\n', "\n  "))).collect::<String>();
    let gave = match &alone {
        Ok(_) => outcome.ptx.clone().unwrap_or_default(),
        Err(failure) => format!("{}: {}", failure.verdict.message(), failure.said),
    };
    let abi = match lower(&outcome.cell.op, &Policy::default(), target) {
        Ok(lowering) => lowering.sequence.to_string(),
        Err(errors) => errors.iter().join("\n"),
    };
    let same = class.outcomes.iter().map(|outcome| format!("- `{}`\n", outcome.cell.name)).collect::<String>();
    let (title, name, count) = (class.verdict.message(), &outcome.cell.name, class.outcomes.len());
    let command = words.iter().map(|word| quoted(word)).join(" ");
    let mut text = String::new();
    let mut add = |part: &str| write!(text, "{part}").expect("a string takes all");
    add(&format!("# {title}: `{name}`\n\nFor {} and PTX {}.\n\n{said}\n", target.sm.name(), target.ptx));
    add(&format!("The command, in this folder:\n\n{}\nIts output:\n\n{}\n", block(&command), block(&gave)));
    add(&format!(
        "The PTX of NVIDIA's Atomics ABI, with the address in `%a`, the operands in `%b` and `%c`, and the result in `%d`:\n\n{}\n",
        block(&abi)
    ));
    add(&format!("{count} functions fail like this:\n\n{same}"));
    fs::write(folder.join("README.md"), text)
}

fn block(text: &str) -> String {
    text.trim_end().lines().map(|line| format!("    {line}").trim_end().to_owned() + "\n").collect()
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=+./:,@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
