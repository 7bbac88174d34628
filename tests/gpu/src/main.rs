//! Runs the kernels of a folder on the GPU. Exit status 1 means that a kernel failed whose compiler is not a peer.

use std::{
    env,
    error::Error,
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    time::Duration,
};

use clap::Parser;
use ptx_atomics_gpu::{
    device,
    kernel::{KERNELS, Kernel},
    limit,
    report::{self, Outcome},
};

#[derive(Parser)]
#[command(about = "Runs the example kernels on a GPU, checks their results, and times them.")]
struct CommandArguments {
    /// A folder for each compiler, with modules of PTX; a kernel may be in any of them
    folder: PathBuf,
    /// How often each kernel runs
    #[arg(long, default_value_t = 100)]
    runs: u32,
    /// Seconds after which a kernel of a compiler counts as hung
    #[arg(long, default_value_t = 60)]
    limit: u64,
    /// A compiler whose failures are only reported
    #[arg(long = "peer", value_name = "COMPILER")]
    peers: Vec<String>,
    /// Measures this kernel, of the module that FOLDER then is, in this process
    #[arg(long, hide = true, value_parser = |name: &str| Kernel::named(name).ok_or("no such kernel"))]
    kernel: Option<&'static Kernel>,
}

fn main() -> ExitCode {
    let options = CommandArguments::parse();
    let done = match options.kernel {
        Some(kernel) => {
            let each = |microseconds, wrong| println!("{}", report::line(microseconds, wrong));
            device::measure(kernel, &options.folder, options.runs, each).map(|()| true)
        }
        None => all(&options),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Whether all required kernels are correct.
fn all(options: &CommandArguments) -> Result<bool, Box<dyn Error>> {
    let compilers = compilers(&options.folder)?;
    let context = match device::open() {
        Ok(context) => context,
        Err(why) => {
            println!("skipped: {why}");
            return Ok(true);
        }
    };
    let multiprocessors = device::multiprocessors(&context)?;
    println!("{}, {multiprocessors} multiprocessors", context.name()?);
    drop(context);

    let mut right = true;
    for kernel in &KERNELS {
        let launch = kernel.on_gpu(multiprocessors);
        println!(
            "{}: {} blocks of {} threads, {} {}",
            kernel.name, launch.blocks, launch.threads, launch.work, kernel.unit
        );
        let mut outcomes = Vec::new();
        for compiler in &compilers {
            let Some(module) = compiler.module_with(kernel) else { continue };
            let outcome = measure(options, kernel, &module.path)?;
            right &= outcome.is_right() || options.peers.contains(&compiler.name);
            outcomes.push((compiler.name.clone(), outcome));
        }
        report::lines(kernel.unit, launch.work, &outcomes).iter().for_each(|line| println!("{line}"));
    }
    Ok(right)
}

struct Compiler {
    name: String,
    modules: Vec<Module>,
}

struct Module {
    path: PathBuf,
    text: String,
}

impl Compiler {
    fn module_with(&self, kernel: &Kernel) -> Option<&Module> {
        let entry = format!(".entry {}(", kernel.name);
        self.modules.iter().find(|module| module.text.contains(&entry))
    }
}

/// The compilers of a folder. Each kernel must exist from at least one compiler.
fn compilers(folder: &Path) -> Result<Vec<Compiler>, Box<dyn Error>> {
    let mut compilers = Vec::new();
    for path in entries(folder)?.into_iter().filter(|path| path.is_dir()) {
        let files = entries(&path)?.into_iter().filter(|file| file.extension() == Some(OsStr::new("ptx")));
        let modules = files.map(|path| fs::read_to_string(&path).map(|text| Module { path, text }));
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        compilers.push(Compiler { name, modules: modules.collect::<Result<_, _>>()? });
    }
    match KERNELS.iter().find(|kernel| compilers.iter().all(|compiler| compiler.module_with(kernel).is_none())) {
        Some(kernel) => {
            Err(format!("no folder in {} has PTX with the kernel '{}'", folder.display(), kernel.name).into())
        }
        None => Ok(compilers),
    }
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = || fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>();
    let mut entries = entries().map_err(|error| format!("{}: {error}", folder.display()))?;
    entries.sort();
    Ok(entries)
}

/// Measures in a separate process, which can be killed.
fn measure(options: &CommandArguments, kernel: &Kernel, module: &Path) -> io::Result<Outcome> {
    let mut command = Command::new(env::current_exe()?);
    command.arg(module).args(["--kernel", kernel.name, "--runs", &options.runs.to_string()]).stdin(Stdio::null());
    Ok(Outcome::from_output(limit::output(&mut command, Duration::from_secs(options.limit))?.as_ref()))
}
