//! The inputs of a command: a file of any kind, a folder, or standard input.

mod kind;
mod source;

use std::{
    collections::BTreeSet,
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use ptx_atomics::{
    isolated::Language,
    pass::{Diagnostic, Errors, Input},
    ptx::Module,
};
use ptx_isa::fatbinary;
use walkdir::WalkDir;

pub use self::{
    kind::{KNOWN_HELP, Kind},
    source::{Compile, Made},
};
use crate::values::is_asked;

/// The errors in a file, and the text of the file if the errors refer to it.
pub type Failure = (Errors, Option<Input>);

/// A program in a path: the file itself, or a part of the file.
pub struct Program {
    pub kind: Kind,
    /// The text, with the name of the file and of the part.
    pub input: Input,
    /// The LLVM IR from which a compiler made the PTX, if it is in the same folder.
    pub ir: Option<Input>,
    /// The file.
    pub path: PathBuf,
    /// The GPU for which a binary has the program, such as 90 for sm_90; otherwise 0.
    pub gpu: u32,
}

/// Reads a file; `-` is standard input.
pub fn read(path: &Path) -> Result<Input, Errors> {
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        io::stdin().read_to_end(&mut bytes).map_err(|error| cannot("read", path, &error))?;
        return Ok(Input::new("<stdin>", bytes));
    }
    let bytes = fs::read(path).map_err(|error| cannot("read", path, &error))?;
    Ok(Input::new(path.display().to_string(), bytes))
}

/// The error of a file that cannot be read or written.
pub fn cannot(what: &str, path: &Path, error: &io::Error) -> Errors {
    Diagnostic::new(format!("cannot {what} '{}': {error}", path.display())).into()
}

/// Reads the programs of a path: each PTX of a folder, or each PTX that is embedded in a binary. A file without a
/// recognizable kind has the kind `usual`. With a `language`, the file is IR.
pub fn programs(path: &Path, language: Option<Language>, usual: Kind) -> Result<Vec<Program>, Errors> {
    if path.is_dir() {
        return of_folder(path);
    }
    let input = read(path)?;
    let is_named = path != Path::new("-");
    let program = |kind, input| Program { kind, input, ir: None, path: path.to_owned(), gpu: 0 };
    match language.map(Kind::Ir).or_else(|| Kind::from_input(&input)) {
        Some(Kind::Binary) => of_binary(path, &input),
        Some(kind) => Ok(vec![program(kind, input)]),
        None if is_named && input.bytes().is_empty() => {
            Err(Diagnostic::new(format!("'{}' is empty", path.display())).into())
        }
        None if is_named => {
            let message = format!("cannot determine the kind of '{}' by its content or its name", path.display());
            Err(Diagnostic::new(message).help(KNOWN_HELP).into())
        }
        None => Ok(vec![program(usual, input)]),
    }
}

/// The extension of LLVM IR in the cache of Triton.
pub const IR_OF_TRITON: &str = "llir";

/// The file with the same name and the first existing extension of a list.
pub fn find_sibling(path: &Path, endings: &[&str]) -> Option<PathBuf> {
    endings.iter().map(|ending| path.with_extension(ending)).find(|path| path.is_file())
}

/// The PTX in a folder, with its LLVM IR in the same folder, as in the cache of Triton.
fn of_folder(folder: &Path) -> Result<Vec<Program>, Errors> {
    let (mut programs, mut errors) = (Vec::new(), Errors::new());
    for entry in WalkDir::new(folder).sort_by_file_name() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                errors.push(Diagnostic::new(format!("cannot search '{}': {error}", folder.display())));
                continue;
            }
        };
        let path = entry.path();
        if Kind::of_name(path) != Some(Kind::Ptx) || !path.is_file() {
            continue;
        }
        let ir = find_sibling(path, &[IR_OF_TRITON]).map(|ir| read(&ir)).transpose();
        let program = |(input, ir)| Program { kind: Kind::Ptx, input, ir, path: path.to_owned(), gpu: 0 };
        match read(path).and_then(|input| Ok((input, ir?))) {
            Ok(read) => programs.push(program(read)),
            Err(all) => errors.extend(all),
        }
    }
    if programs.is_empty() && errors.is_empty() {
        let message = format!("'{}' has no PTX", folder.display());
        errors
            .push(Diagnostic::new(message).help("give a folder with files that end with .ptx, also in its subfolders"));
    }
    errors.or(programs)
}

fn of_binary(path: &Path, input: &Input) -> Result<Vec<Program>, Errors> {
    let images = fatbinary::images(input.bytes());
    if images.is_empty() {
        let message = format!("'{}' has no embedded PTX", path.display());
        let help = "give the source, or keep the PTX by nvcc's -gencode arch=compute_90,code=compute_90, since machine code is not read";
        return Err(Diagnostic::new(message).help(help).into());
    }
    let (mut programs, mut errors) = (Vec::new(), Errors::new());
    for (index, image) in images.into_iter().enumerate() {
        let source = image.source.map(|source| format!(" of {source}")).unwrap_or_default();
        let name = format!("{}: PTX {}{source} for sm_{}", path.display(), index + 1, image.sm);
        match image.text {
            Some(text) => programs.push(Program {
                kind: Kind::Ptx,
                input: Input::new(name, text),
                ir: None,
                path: path.to_owned(),
                gpu: image.sm,
            }),
            None => errors.push(Diagnostic::new(format!("{name} is damaged, and cannot be uncompressed"))),
        }
    }
    errors.or(programs)
}

/// Whether a file is a kernel of any kind, and not a litmus test.
pub fn is_kernel(path: &Path) -> bool {
    let of_content = || if path.is_file() { Kind::from_input(&read(path).ok()?) } else { None };
    let kind = Kind::of_name(path).or_else(of_content);
    kind.is_some_and(|kind| kind != Kind::Litmus)
}

/// Whether the file is a source that must be compiled.
pub fn is_compiled(path: &Path) -> bool {
    Kind::of_name(path) == Some(Kind::Source)
}

/// The only program of a path that has a kernel with `kernel` in its name. Of several programs for different GPUs, the
/// program for the newest GPU.
pub fn program(path: &Path, kernel: Option<&str>, language: Option<Language>, usual: Kind) -> Result<Program, Errors> {
    let all = programs(path, language, usual)?;
    let is_alone = all.len() == 1;
    let kernels = |program: &Program| {
        let (module, _) = Module::read_partly(program.input.text().unwrap_or_default());
        let entries = module.functions().filter(|function| function.head.is_entry);
        let names = entries.map(|function| function.name.to_string());
        names.filter(|name| is_asked(kernel, name)).collect::<BTreeSet<_>>()
    };
    let mut found =
        all.into_iter().map(|program| (if is_alone { BTreeSet::new() } else { kernels(&program) }, program));
    let mut found: Vec<_> = found.by_ref().filter(|(names, _)| is_alone || !names.is_empty()).collect();
    found.sort_by_key(|(_, program)| program.gpu);
    let names: BTreeSet<_> = found.iter().flat_map(|(names, _)| names).cloned().collect();
    match found.pop() {
        Some((last, program)) if last == names => Ok(program),
        Some(_) => {
            let names: Vec<_> = names.iter().map(|name| format!("'{name}'")).collect();
            let message = format!("'{}' has several programs, with the kernels {}", path.display(), names.join(", "));
            Err(Diagnostic::new(message).help("choose a kernel by --kernel").into())
        }
        None => {
            let of = kernel.map(|kernel| format!(" with '{kernel}' in its name")).unwrap_or_default();
            Err(Diagnostic::new(format!("'{}' has no kernel{of}", path.display())).into())
        }
    }
}
