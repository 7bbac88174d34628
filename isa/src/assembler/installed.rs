//! An installed ptxas.

use std::{
    collections::BTreeSet,
    env,
    io::{self, Write},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::LazyLock,
};

use crate::{PtxVersion, Target};
use itertools::Itertools;

use crate::assembler::find::{VARIABLE, programs};

/// An installed ptxas, with the versions and GPUs that it reports to support.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assembler {
    program: PathBuf,
    release: (u32, u32),
    gpus: BTreeSet<String>,
    ptx: PtxVersion,
}

/// The reason why PTX was not assembled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The program did not run, or one of its input files could not be written.
    #[error("cannot run '{}': {reason}", .program.display())]
    Run {
        /// The program.
        program: PathBuf,
        /// The error of the operating system.
        reason: io::Error,
    },
    /// The program's output lacks a statement that every ptxas makes about itself.
    #[error("'{}' is not ptxas: its output does not name {what}", .0.display(), what = .1)]
    Unknown(PathBuf, &'static str),
    /// The program rejects the PTX. The line format is ptxas's own, `line 7; error : …`.
    #[error("{name} rejects it:\n{said}")]
    Rejected {
        /// The assembler's name.
        name: String,
        /// The output of the program, without the name of the file.
        said: String,
    },
}

impl Error {
    /// The lines of the PTX that the assembler rejects, each with its messages. The first line is 1.
    pub fn lines(&self) -> Vec<(u32, &str)> {
        let Self::Rejected { said, .. } = self else { return Vec::new() };
        let of_line = |line: &'_ str| -> Option<(u32, usize)> {
            let (number, rest) = line.split_once("line ")?.1.split_once(';')?;
            let text = rest.split_once(':')?.1.trim();
            Some((number.parse().ok()?, line.len() - text.len()))
        };
        said.lines().filter_map(|line| of_line(line).map(|(number, start)| (number, &line[start..]))).collect()
    }
}

impl Assembler {
    /// Asks a program for its versions and GPUs. The program may be a name to look up in `PATH`.
    ///
    /// # Errors
    /// If the program does not run, or is not a ptxas.
    pub fn from_program(program: impl Into<PathBuf>) -> Result<Self, Error> {
        let program = program.into();
        let release = read_output(&program, |command| command.arg("--version"))?;
        let release = release_of(&release).ok_or_else(|| Error::Unknown(program.clone(), "its release"))?;
        let gpus = gpus_of(&read_output(&program, |command| command.arg("--help"))?);
        if gpus.is_empty() {
            return Err(Error::Unknown(program, "its GPUs"));
        }
        // Rejecting a newer version of PTX, the program names the version that it supports.
        let folder = tempfile::tempdir().map_err(|reason| Error::Run { program: program.clone(), reason })?;
        let path = folder.path().join("version.ptx");
        std::fs::write(&path, ".version 99.9\n.target sm_90\n")
            .map_err(|reason| Error::Run { program: program.clone(), reason })?;
        let newest = gpus.last().cloned().unwrap_or_default();
        let asked = read_output(&program, |command| {
            command.args(["-arch", &newest, "-c", "-o"]).arg(folder.path().join("out.cubin")).arg(&path)
        })?;
        let ptx = ptx_of(&asked).ok_or_else(|| Error::Unknown(program.clone(), "its version of PTX"))?;
        Ok(Self { program, release, gpus, ptx })
    }

    /// Every installed assembler: the programs listed in the environment variable [`VARIABLE`], or else one program of
    /// each release in [`PLACES`](crate::assembler::PLACES). Older releases come first. A file that is not a ptxas is
    /// left out.
    pub fn find_installed() -> &'static [Self] {
        static FOUND: LazyLock<Vec<Assembler>> = LazyLock::new(|| {
            let programs = match env::var_os(VARIABLE) {
                Some(named) => env::split_paths(&named).filter(|path| !path.as_os_str().is_empty()).collect(),
                None => programs("ptxas"),
            };
            let found = programs.into_iter().filter_map(|program| Assembler::from_program(program).ok());
            found.unique_by(|assembler| assembler.release).sorted_by_key(|assembler| assembler.release).collect()
        });
        &FOUND
    }

    /// `ptxas 13.5`.
    pub fn name(&self) -> String {
        format!("ptxas {}.{}", self.release.0, self.release.1)
    }

    /// The program's file.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The newest version of PTX that the assembler supports.
    pub fn ptx(&self) -> PtxVersion {
        self.ptx
    }

    /// Whether the assembler supports the GPU and the PTX version of a target.
    pub fn knows(&self, target: &Target) -> bool {
        self.arch(target).is_some() && target.ptx <= self.ptx
    }

    /// The GPU for which the assembler assembles PTX of a target. Releases before 12 check PTX for GPUs before sm_35 by
    /// those GPUs' rules, and assemble it for sm_35.
    fn arch(&self, target: &Target) -> Option<&str> {
        let own = self.gpus.get(target.sm.name()).map(String::as_str);
        own.or_else(|| self.gpus.get("sm_35").filter(|_| target.sm.number() < 35).map(String::as_str))
    }

    /// Assembles PTX text as part of a larger program, and discards the result.
    ///
    /// # Errors
    /// If the assembler rejects the text, or does not run.
    pub fn assemble(&self, target: &Target, ptx: impl AsRef<[u8]>) -> Result<(), Error> {
        self.run(target, ptx.as_ref(), None, &["-c"]).map(drop)
    }

    /// Assembles PTX text as a whole program into a file. The code may differ slightly from the code of a part. Returns
    /// ptxas's report for the option `-v`.
    ///
    /// # Errors
    /// If the assembler rejects the text, or does not run.
    pub fn assemble_to(&self, output: &Path, target: &Target, ptx: impl AsRef<[u8]>) -> Result<String, Error> {
        self.run(target, ptx.as_ref(), Some(output), &["-v"])
    }

    fn run(&self, target: &Target, ptx: &[u8], output: Option<&Path>, options: &[&str]) -> Result<String, Error> {
        let failed = |reason| Error::Run { program: self.program.clone(), reason };
        let folder = tempfile::tempdir().map_err(failed)?;
        let input = folder.path().join("input.ptx");
        std::fs::File::create(&input).and_then(|mut file| file.write_all(ptx)).map_err(failed)?;
        let discarded = folder.path().join("output.cubin");
        let mut command = Command::new(&self.program);
        command.args(options).args(["-arch", self.arch(target).unwrap_or(target.sm.name()), "-o"]);
        command.arg(output.unwrap_or(&discarded)).arg(&input).stdin(Stdio::null());
        let done = command.output().map_err(failed)?;
        let said = text(&done).replace(&format!("{}, ", input.display()), "");
        if done.status.success() {
            return Ok(said);
        }
        let said = if said.trim().is_empty() { format!("it ends with {}", done.status) } else { said };
        Err(Error::Rejected { name: self.name(), said: said.trim_end().to_owned() })
    }
}

/// The output of a program, whether it fails or not.
fn read_output(program: &Path, arguments: impl Fn(&mut Command) -> &mut Command) -> Result<String, Error> {
    let mut command = Command::new(program);
    let done = arguments(&mut command).stdin(Stdio::null()).output();
    Ok(text(&done.map_err(|reason| Error::Run { program: program.to_owned(), reason })?))
}

fn text(done: &Output) -> String {
    String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr)
}

fn release_of(said: &str) -> Option<(u32, u32)> {
    let (_, rest) = said.split_once("release ")?;
    let (major, minor) = rest.split([',', ' ', '\n']).next()?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn gpus_of(help: &str) -> BTreeSet<String> {
    help.split('\'').filter(|word| word.starts_with("sm_")).map(str::to_owned).collect()
}

fn ptx_of(said: &str) -> Option<PtxVersion> {
    let (_, rest) = said.split_once("current version is '")?;
    let (major, minor) = rest.split_once('\'')?.0.split_once('.')?;
    Some(PtxVersion(major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_ptxas() {
        let version =
            "ptxas: NVIDIA (R) Ptx optimizing assembler\nCuda compilation tools, release 12.9, V12.9.86\nBuild\n";
        assert_eq!(release_of(version), Some((12, 9)));
        assert_eq!(release_of("Python 3.11"), None);
        let help =
            "Allowed values for this option:  'compute_100','lto_90','sm_100a',\n  'sm_90'.\n Default value: 'sm_52'.";
        assert_eq!(gpus_of(help).into_iter().join(" "), "sm_100a sm_52 sm_90");
        let rejected = "ptxas v.ptx, line 1; fatal   : Unsupported .version 99.9; current version is '8.8'";
        assert_eq!(ptx_of(rejected), Some(PtxVersion(8, 8)));
    }

    #[test]
    fn rejected_lines() {
        let said = "ptxas line 7; error   : Unknown symbol 'x'\nptxas fatal   : Ptx assembly aborted due to errors";
        let error = Error::Rejected { name: "ptxas 1.0".into(), said: said.into() };
        assert_eq!(error.lines(), [(7, "Unknown symbol 'x'")]);
    }

    #[test]
    fn a_program_that_is_not_ptxas_is_an_error() {
        let check = |program: &str, words: &str| {
            let error = Assembler::from_program(program).expect_err(program).to_string();
            assert!(error.contains(words), "{error}");
        };
        check("/nowhere/ptxas", "cannot run '/nowhere/ptxas': No such file");
        check("true", "'true' is not ptxas: its output does not name its release");
    }
}
