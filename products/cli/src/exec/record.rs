//! The launches of a program as a file for `run --launch`.

use std::{
    collections::BTreeMap,
    fmt::Write,
    path::{Path, PathBuf},
};

use itertools::Itertools;
use ptx_atomics::ptx::{Module, short_name};
use ptx_atomics_device::{Given, Launched};

use super::report::Launches;

/// The contents of a buffer: their file in the folder of the reports, and the name of their file beside the record.
pub struct Contents {
    pub file: PathBuf,
    pub name: String,
}

/// The text of the file: each distinct launch once, with the buffers of its arguments, whose contents are in files if
/// they are known.
pub fn text(kernels: &[Launches], contents: &BTreeMap<u64, PathBuf>, record: &Path) -> (String, Vec<Contents>) {
    let distinct = kernels.iter().flat_map(|launches| {
        let names = parameters(launches);
        let all = launches.all.iter().unique_by(|launched| (sizes(launched), launched.arguments.clone()));
        all.map(move |launched| (launched, names.clone()))
    });
    let distinct: Vec<(&Launched, Vec<String>)> = distinct.sorted_by_key(|(launched, _)| launched.number).collect();
    let buffers: BTreeMap<u64, u64> = distinct
        .iter()
        .flat_map(|(launched, _)| launched.arguments.iter().flat_map(parts))
        .filter_map(|given| match given {
            Given::Buffer { number, bytes, .. } => Some((*number, *bytes)),
            Given::Bytes(_) | Given::Struct(_) => None,
        })
        .collect();
    let have = if contents.is_empty() { "are zero" } else { "the contents before their first launch" };
    let mut text = format!("# The launches of a program. Buffers have the sizes of the program's, and {have}.\n");
    let mut files = Vec::new();
    let stem = record.file_stem().unwrap_or_default().to_string_lossy();
    for (number, bytes) in buffers {
        let _ = write!(text, "\n[buffers.buffer{number}]\ntype = \"u8\"\ncount = {bytes}\n");
        if let Some(file) = contents.get(&number) {
            let name = format!("{stem}-buffer{number}.bin");
            let _ = writeln!(text, "init = {:?}", format!("@{name}"));
            files.push(Contents { file: file.clone(), name });
        }
    }
    for (launched, names) in distinct {
        let _ = write!(text, "\n[[launch]]\nkernel = {:?}\n{}", launched.kernel, sizes(launched));
        let arguments = (0..).zip(&launched.arguments).flat_map(|(index, given)| arguments(index, given, &names));
        let _ = writeln!(text, "args = [{}]", arguments.map(|argument| format!("{argument:?}")).join(", "));
    }
    (text, files)
}

/// The sizes of a launch, each on a line.
fn sizes(launched: &Launched) -> String {
    let size = launched.size;
    let list = |sizes: [u32; 3]| format!("[{}]", sizes.iter().join(", "));
    let mut text = format!("grid = {}\nblock = {}\n", list(size.grid), list(size.block));
    if size.cluster != [1; 3] {
        let _ = writeln!(text, "cluster = {}", list(size.cluster));
    }
    if size.shared > 0 {
        let _ = writeln!(text, "shared = {}", size.shared);
    }
    text
}

/// The names of the parameters of a kernel, as `run` accepts them.
fn parameters(launches: &Launches) -> Vec<String> {
    let (module, _) = Module::read_partly(&launches.ptx);
    let kernel = module.functions().find(|function| function.name == launches.kernel);
    let parameters = kernel.into_iter().flat_map(|kernel| &kernel.head.parameters);
    parameters.map(|parameter| short_name(&launches.kernel, &parameter.name).to_owned()).collect()
}

/// The parts of an argument.
fn parts(given: &Given) -> &[Given] {
    match given {
        Given::Struct(parts) => parts,
        Given::Bytes(_) | Given::Buffer { .. } => std::slice::from_ref(given),
    }
}

/// The arguments for a parameter: one, or one for each part of a struct that is not zero.
fn arguments(index: usize, given: &Given, names: &[String]) -> Vec<String> {
    let (Given::Struct(parts), Some(name)) = (given, names.get(index)) else { return vec![value(given)] };
    let is_zero = |part: &Given| matches!(part, Given::Bytes(bytes) if bytes.iter().all(|byte| *byte == 0));
    let named = (0..).zip(parts).map(|(number, part)| (number, part, format!("{name}+{}={}", 8 * number, value(part))));
    // A parameter without an argument would be guessed.
    named.filter(|(number, part, _)| *number == 0 || !is_zero(part)).map(|(.., text)| text).collect()
}

/// A buffer, or a number with its type.
fn value(given: &Given) -> String {
    match given {
        Given::Buffer { number, offset: 0, .. } => format!("buffer{number}"),
        Given::Buffer { number, offset, .. } => format!("buffer{number}+{offset}"),
        Given::Bytes(bytes) => {
            let value = bytes.iter().rev().fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
            let bits = 8 * bytes.len().next_power_of_two().clamp(1, 8);
            format!("u{bits}:{value}")
        }
        Given::Struct(parts) => parts.first().map(value).unwrap_or_default(),
    }
}
