//! Tests of the device: programs of the driver API in C, and of the runtime API in CUDA C++ from nvcc and from clang.
//! Each program prints its results; a table has the expected output. A program is skipped where its compiler is absent.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::LazyLock,
};

use libtest_mimic::{Arguments, Failed};
use ptx_atomics_device::{Entry, LIBRARY, OPTIONS, Operation, Options, Submitted, fill_folder};
use testing::{binary, exists, root, success, trial};

/// A compiler of programs.
#[derive(Clone, Copy)]
enum Compiler {
    /// `cc`, for the driver API.
    C,
    /// nvcc, with the shared runtime.
    Nvcc,
    /// clang's CUDA.
    Clang,
}

use Compiler::{C, Clang, Nvcc};

/// The programs in `tests/programs` with the compilers of each, and the expected output.
const PROGRAMS: [(&str, &[Compiler], &str); 10] = [
    ("driver.c", &[C], "12 4\nfound 1\nnewer attribute 1\nmissing 500\nunsupported 801\nattribute 9 0\n"),
    (
        "memory.c",
        &[C],
        "pitched 1\nmanaged 10\nregistered 12\nrange 1\nfreed 1\nmapped again 801\nreserved 8, released 400\n",
    ),
    ("graph.c", &[C], "captured 6\nbuilt 7\nhost 2\n"),
    ("faults.c", &[C], "launch 0\nsynchronize 700\nallocate 700\nreset 0\nassertion 710\n"),
    (
        "arrays.c",
        &[C],
        "formats 1\nlines 1\nvolume 1\noutside 1\ntexture 0.501961 0.0 1.0\ndescriptions 1\nsurface 7\nrefused 1 801 1 1\ndestroyed 700\n",
    ),
    (
        "textures.cu",
        &[Nvcc, Clang],
        "arrays 0\nlinear memory 0\nrows 0\nvolume 0\nlayers 0\ncube 0\nsurface 0\ndescriptions 1\nfreed 1\n",
    ),
    ("reduce.cu", &[Nvcc, Clang], "sum 29994\nreversed 1\n"),
    ("symbols.cu", &[Nvcc, Clang], "constant 1\nread printed 3 1.500000\n7\n"),
    ("streams.cu", &[Nvcc, Clang], "events 1\ngraph 288\ncallback 1\nallocated 7 cudaSuccess\noccupancy 1\n"),
    ("managed.cu", &[Nvcc], "managed 6\ncluster 1 2 0\n"),
];

fn main() {
    let programs = PROGRAMS.iter().flat_map(|(name, compilers, expected)| {
        compilers.iter().map(move |compiler| {
            let title = format!("{name} by {}", compiler.name());
            trial(title, compiler.missing(), move || check(name, *compiler, expected))
        })
    });
    let trials = vec![
        trial("a race is in the report".into(), C.missing(), race),
        trial("operations of streams without an order race".into(), C.missing(), order),
        trial(
            "a race of streams is an error of the command".into(),
            C.missing().or(command_missing()),
            order_in_command,
        ),
        trial("a process that forks has a report for each side".into(), C.missing(), fork),
        trial("the command".into(), C.missing().or(command_missing()), command),
        trial("recorded launches".into(), C.missing().or(command_missing()), record),
        trial("every function of the headers is exported".into(), C.missing(), exported),
    ];
    libtest_mimic::run(&Arguments::from_args(), programs.chain(trials).collect()).exit();
}

impl Compiler {
    fn name(self) -> &'static str {
        match self {
            C => "cc",
            Nvcc => "nvcc",
            Clang => "clang",
        }
    }

    fn missing(self) -> Option<&'static str> {
        let needed = match self {
            C => (exists("cc") && sdk().join("include/cuda.h").is_file()).then_some(()),
            Nvcc => nvcc().join("bin/nvcc").is_file().then_some(()),
            Clang => (exists(clang()) && fatbinary().is_file() && sdk().join("include").is_dir()).then_some(()),
        };
        if needed.is_some() { None } else { Some(self.name()) }
    }

    /// The command that compiles a program.
    fn command(self, program: &Path, to: &Path, libraries: &Path) -> Command {
        let (sdk, nvcc) = (sdk(), nvcc());
        let mut command = match self {
            C => Command::new("cc"),
            Nvcc => Command::new(nvcc.join("bin/nvcc")),
            Clang => Command::new(clang()),
        };
        let path = env::var_os("PATH").unwrap_or_default();
        let folders = [fatbinary().with_file_name("")].into_iter().chain(env::split_paths(&path));
        command.env("PATH", env::join_paths(folders).expect("folders"));
        match self {
            C => command.arg("-I").arg(sdk.join("include")).arg("-L").arg(libraries),
            Nvcc => {
                command.args(["-O1", "-cudart", "none", "-gencode", "arch=compute_90,code=compute_90", "-lineinfo"])
            }
            Clang => command
                .args([
                    "-x",
                    "cuda",
                    "-O1",
                    "--no-offload-new-driver",
                    "--cuda-gpu-arch=sm_90",
                    "--cuda-include-ptx=all",
                ])
                .args(["-Wno-unknown-cuda-version", "-x", "cuda"])
                .arg(format!("--cuda-path={}", sdk.display())),
        };
        command.arg(program).arg("-o").arg(to);
        // Programs are linked with NVIDIA's runtime, and find ours when they run.
        match self {
            C => command.args(["-lcuda", "-lpthread"]),
            Nvcc => command.arg("-Xlinker").arg(nvcc.join("lib/libcudart.so.13")),
            Clang => command.args(["-x", "none"]).arg(sdk.join("lib/libcudart.so.12")).args(["-lstdc++", "-lm"]),
        };
        command
    }
}

fn sdk() -> PathBuf {
    root().join(".tools/cuda-12.9/sdk")
}

fn nvcc() -> PathBuf {
    root().join(".tools/cuda-13.5/nvidia/cu13")
}

fn clang() -> &'static str {
    ["clang-22", "clang-23"].into_iter().find(|name| exists(name)).unwrap_or("clang")
}

fn fatbinary() -> PathBuf {
    root().join(".tools/ptxas-13.5/nvidia/cu13/bin/fatbinary")
}

/// The folder with the libraries.
static LIBRARIES: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let test = env::current_exe().expect("the path of the test");
    let places = test.ancestors().skip(1).take(2).map(|folder| folder.join(LIBRARY));
    let library = places.into_iter().find(|path| path.is_file()).expect("cargo makes the library");
    fill_folder(folder.path(), &library).expect("links");
    folder
});

/// Compiles a program of this crate.
fn compiled(name: &str, compiler: Compiler, folder: &Path) -> Result<PathBuf, Failed> {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name);
    let to = folder.join("program");
    success(&mut compiler.command(&program, &to, LIBRARIES.path()))?;
    Ok(to)
}

/// Runs a program on the device.
fn run(command: &mut Command, options: &Options) -> Result<Output, Failed> {
    let options = serde_json::to_string(options)?;
    Ok(command.env("LD_LIBRARY_PATH", LIBRARIES.path()).env(OPTIONS, options).output()?)
}

fn check(name: &str, compiler: Compiler, expected: &str) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let output = run(&mut Command::new(compiled(name, compiler, folder.path())?), &Options::default())?;
    let said = String::from_utf8(output.stdout)?;
    if said == expected { Ok(()) } else { Err(format!("{said}\n{}", String::from_utf8_lossy(&output.stderr)).into()) }
}

/// The reports of the processes of a program.
fn reports(name: &str) -> Result<Vec<Vec<Entry>>, Failed> {
    let folder = tempfile::tempdir()?;
    reports_of(&mut Command::new(compiled(name, C, folder.path())?))
}

fn reports_of(command: &mut Command) -> Result<Vec<Vec<Entry>>, Failed> {
    let reports = tempfile::tempdir()?;
    let options = Options { folder: Some(reports.path().to_owned()), races: true, ..Options::default() };
    run(command, &options)?;
    let files = fs::read_dir(reports.path())?.flatten().map(|file| file.path());
    let reports = files.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    let read = |path: PathBuf| -> Result<Vec<Entry>, Failed> {
        Ok(fs::read_to_string(path)?.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
    };
    reports.map(read).collect()
}

/// The launches of a report: the kernel, whether it was checked, whether it is determinate, and its findings.
fn launches(report: &[Entry]) -> Vec<(String, bool, bool, usize)> {
    let launches = report.iter().filter_map(|entry| match entry {
        Entry::Launch(of) => Some((of.kernel.clone(), of.is_checked, of.is_determinate, of.findings.len())),
        Entry::Module { .. } | Entry::Contents { .. } | Entry::Unordered(_) => None,
    });
    launches.collect()
}

fn race() -> Result<(), Failed> {
    let found = reports("races.c")?;
    let [report] = &found[..] else { return Err(format!("{} reports", found.len()).into()) };
    let launch =
        |kernel: &str, is_checked, is_determinate, findings| (kernel.to_owned(), is_checked, is_determinate, findings);
    // The second launch of a kernel with the same sizes and scalars computes values alone.
    assert_eq!(
        launches(report),
        [launch("racy", true, false, 1), launch("free", true, true, 0), launch("free", false, false, 0)]
    );
    Ok(())
}

/// Operations of streams as `order.c` reads them, and the races of each list: the operation of the first call and of the
/// second.
const ORDERS: [(&str, &[[&str; 2]]); 46] = [
    ("w1 w1", &[]),
    ("w1 w2", &[["write", "write"]]),
    ("w1 w2 w1 w2", &[["write", "write"], ["write", "write"]]),
    ("w1 o2", &[]),
    ("w1 r2", &[["write", "read"]]),
    ("r1 r2", &[]),
    ("a1 a2", &[]),
    ("a1 r2", &[["add", "read"]]),
    ("w1 a2", &[["write", "add"]]),
    // The default stream and blocking streams wait for each other.
    ("w0 w1", &[]),
    ("w1 w0", &[]),
    ("w1 w0 w2", &[]),
    ("w0 w3", &[["write", "write"]]),
    ("w3 w0", &[["write", "write"]]),
    // Events, and the program, bring order.
    ("w1 e1 v2 w2", &[]),
    ("e1 w1 v2 w2", &[["write", "write"]]),
    ("w1 e1 v2 e2 v3 w3", &[]),
    ("w1 e1 w1 v2 w2", &[["write", "write"]]),
    ("w1 s1 w2", &[]),
    ("w1 s2 w2", &[["write", "write"]]),
    ("w1 e1 y0 w2", &[]),
    ("w1 q1 w2", &[]),
    ("w1 l1 w2", &[]),
    ("w3 x0 w4", &[]),
    // Copies, fills, and freed memory.
    ("w1 c2", &[["write", "copy"]]),
    ("p1 w2 h1 m2", &[["copy", "write"], ["write", "copy"]]),
    ("h1 w2", &[]),
    ("w3 d0", &[["write", "copy"]]),
    ("i0 w3", &[["copy", "write"]]),
    // A fill that fails accesses nothing.
    ("z1 w2", &[]),
    ("w1 m2 f2", &[["write", "fill"], ["write", "free"]]),
    // A capture of streams 1 and 2 (`b` to `t`) is a graph, which `g` launches.
    ("b1 w1 w1 t1 g1", &[]),
    ("b1 e1 v2 w1 w2 e2 v1 t1 g1", &[["write", "write"]]),
    ("b1 w1 e1 v2 w2 e2 v1 r1 t1 g1", &[]),
    ("b1 e1 v2 w1 o2 e2 v1 t1 g1", &[]),
    ("b1 e1 v2 w1 a2 e2 v1 r1 t1 g0", &[["write", "add"]]),
    ("w1 b1 r1 t1 g1 w1", &[]),
    ("b1 r1 t1 g1 w3", &[["read", "write"]]),
    ("b1 w1 t1 g1 e1 v3 w3", &[]),
    ("b1 w1 t1 e1 g1 v3 w3", &[["write", "write"]]),
    ("b1 w1 t1 g1 g1", &[]),
    ("b1 w1 t1 g1 g2", &[["write", "write"]]),
    ("b1 w1 t1 g1 s1 g2", &[]),
    // A graph that contains a graph twice, without an order.
    ("b1 w1 t1 k1 k1 u1", &[["write", "write"]]),
    ("b1 w1 t1 k1 u1 w1", &[]),
    ("b1 e1 v2 w1 w2 e2 v1 t1 k1 u1 w3", &[["write", "write"], ["write", "write"]]),
];

fn order() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let program = compiled("order.c", C, folder.path())?;
    let mut wrong = Vec::new();
    for (words, expected) in ORDERS {
        let report = reports_of(Command::new(&program).args(words.split(' ')))?.concat();
        let name = |of: &Submitted| match &of.operation {
            Operation::Kernel { name, .. } => name.clone(),
            Operation::Copy => "copy".to_owned(),
            Operation::Fill => "fill".to_owned(),
            Operation::Free => "free".to_owned(),
        };
        let races = report.iter().filter_map(|entry| match entry {
            Entry::Unordered(race) => Some(race.operations.each_ref().map(name)),
            Entry::Module { .. } | Entry::Contents { .. } | Entry::Launch(_) => None,
        });
        let races: Vec<_> = races.collect();
        if races != *expected {
            wrong.push(format!("{words}: expected {expected:?}, found {races:?}"));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

fn order_in_command() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let program = compiled("order.c", C, folder.path())?;
    let words = |options: &[&str], words: &[&str]| -> Result<(i32, String), Failed> {
        let command: Vec<&Path> = [program.as_path()].into_iter().chain(words.iter().map(Path::new)).collect();
        exec_with(&[&["--exit-code"], options].concat(), &command)
    };
    let (status, messages) = words(&[], &["w1", "w2"])?;
    let expected = [
        "error[stream-race]: two operations of streams have no order, and access 256 bytes at `buffer1`",
        "the first call: kernel 'write', launch 1, in stream 1: writes the bytes",
        "the second call: kernel 'write', launch 2, in stream 2: writes the bytes",
    ];
    assert!(status == 1 && expected.iter().all(|line| messages.contains(line)), "{messages}");
    let (status, messages) = words(&[], &["w1", "e1", "v2", "w2"])?;
    assert!(status == 0 && messages.ends_with("no race in any schedule of the 1 that were checked\n"), "{messages}");
    let (status, messages) = words(&[], &["b1", "e1", "v2", "w1", "w2", "e2", "v1", "t1", "g1"])?;
    assert!(status == 1 && messages.contains("error[stream-race]: two nodes of a graph have no order"), "{messages}");
    let (status, messages) = words(&["--no-races"], &["w1", "c1", "m2"])?;
    assert!(status == 0 && !messages.contains("stream-race"), "{messages}");
    Ok(())
}

fn fork() -> Result<(), Failed> {
    let found = reports("fork.c")?;
    assert_eq!(found.iter().map(|report| launches(report).len()).collect::<Vec<_>>(), [1, 1]);
    Ok(())
}

fn command_missing() -> Option<&'static str> {
    let test = env::current_exe().ok();
    let beside = test.as_deref().and_then(Path::parent).map(|folder| folder.with_file_name("ptx-atomics"));
    if beside.is_some_and(|path| path.is_file()) { None } else { Some("program ptx-atomics in the target folder") }
}

/// Runs `ptx-atomics exec` with a program. The result is its exit status and its messages.
fn exec(options: &[&str], program: &Path) -> Result<(i32, String), Failed> {
    exec_with(options, &[program])
}

fn exec_with(options: &[&str], command: &[&Path]) -> Result<(i32, String), Failed> {
    let library = LIBRARIES.path().join(LIBRARY);
    let mut exec = Command::new(binary());
    ended(exec.arg("exec").args(options).arg("--library").arg(library).arg("--").args(command))
}

/// The exit status and the messages of a command.
fn ended(command: &mut Command) -> Result<(i32, String), Failed> {
    let output = command.output()?;
    Ok((output.status.code().unwrap_or(-1), String::from_utf8(output.stderr)?))
}

/// `count` races if a CTA has more threads than its second parameter says; `fields` is free.
const RECORDED: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry count(.param .u64 p, .param .u32 n) {
    .reg .b64 %p, %at; .reg .b32 %n, %t;
    ld.param.u64 %p, [p]; ld.param.u32 %n, [n]; mov.u32 %t, %tid.x;
    rem.u32 %n, %t, %n; mad.wide.u32 %at, %n, 4, %p; st.global.u32 [%at], %t; ret;
}
.visible .entry fields(.param .align 8 .b8 s[16]) {
    .reg .b64 %p, %at; .reg .b32 %n, %t; .reg .pred %is;
    ld.param.u64 %p, [s]; ld.param.u32 %n, [s+8]; mov.u32 %t, %tid.x;
    setp.ge.u32 %is, %t, %n; @%is ret;
    mad.wide.u32 %at, %t, 4, %p; st.global.u32 [%at], %t; ret;
}
";

/// The recorded launches of a program are launches of `run` and of `check`.
fn record() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let program = compiled("record.c", C, folder.path())?;
    let [ptx, file] = ["kernels.ptx", "launches.toml"].map(|name| folder.path().join(name));
    fs::write(&ptx, RECORDED)?;
    let (status, messages) = exec_with(&["--record", file.to_str().ok_or("a path")?], &[&program, &ptx])?;
    assert_eq!((status, messages.matches("error[race]").count()), (0, 1), "{messages}");
    let text = fs::read_to_string(&file)?;
    let arguments: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("args = ")).collect();
    let count = r#"["buffer1", "u32:32"]"#;
    assert_eq!(arguments, [count, count, r#"["s+0=buffer1+256", "s+8=u64:64"]"#], "{text}");
    let check = |command: &str, option: &str, more: &[&str]| {
        ended(Command::new(binary()).arg(command).arg(&ptx).arg(option).arg(&file).args(more))
    };
    // Without the launches, the numbers of threads and elements are guessed.
    let (status, messages) = check("check", "--launches", &["--kernel", "count"])?;
    assert!(status == 1 && messages.contains("error[R17]"), "{messages}");
    let (status, messages) = check("check", "--launches", &["--kernel", "fields", "--strict"])?;
    assert_eq!(status, 0, "{messages}");
    let (status, messages) = check("run", "--launch", &[])?;
    assert_eq!((status, messages.matches("error[race]").count()), (1, 1), "{messages}");
    // The contents are those before the first launch.
    let contents = ["--record", file.to_str().ok_or("a path")?, "--contents"];
    let (status, messages) = exec_with(&contents, &[&program, &ptx])?;
    assert_eq!(status, 0, "{messages}");
    let bytes = fs::read(folder.path().join("launches-buffer1.bin"))?;
    assert_eq!(bytes, [7, 0, 0, 0].repeat(128));
    let with_contents = fs::read_to_string(&file)?;
    assert!(with_contents.contains("init = \"@launches-buffer1.bin\""), "{with_contents}");
    fs::write(&file, format!("expect = [\"buffer1[508] == 63\", \"buffer1[252] == 7\"]\n{with_contents}"))?;
    let (_, messages) = check("run", "--launch", &[])?;
    assert!(messages.contains("1 race") && !messages.contains("does not hold"), "{messages}");
    // A launch of a kernel of another module is left out; any other error is reported.
    fs::write(&file, text.replace("\"count\"", "\"other\""))?;
    let (status, messages) = check("check", "--launches", &["--kernel", "fields", "--strict"])?;
    assert_eq!(status, 0, "{messages}");
    fs::write(&file, text.replace("u32:32", "u32:x"))?;
    let (status, messages) = check("check", "--launches", &[])?;
    assert!(status == 1 && messages.contains("launches.toml:"), "{messages}");
    Ok(())
}

fn command() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let program = compiled("races.c", C, folder.path())?;
    let file = folder.path().join("launches.toml");
    let record = file.to_str().ok_or("a path")?;
    let last = |messages: &str| messages.lines().last().unwrap_or_default().to_owned();
    let (status, messages) = exec(&["--exit-code", "--record", record], &program)?;
    assert_eq!((status, messages.matches("error[race]").count()), (1, 1), "{messages}");
    assert!(last(&messages).starts_with("3 launches of 2 kernels: "), "{messages}");
    let recorded = fs::read_to_string(&file)?;
    assert_eq!(["\"racy\"", "\"free\""].map(|kernel| recorded.matches(kernel).count()), [1, 1], "{recorded}");
    // Without the option, the status is the program's.
    assert_eq!(exec(&[], &program)?.0, 0);
    let (status, messages) = exec(&["--exit-code", "--skip", "racy"], &program)?;
    assert!(status == 0 && last(&messages).contains("no race in any schedule"), "{messages}");
    let (status, messages) = exec(&["--exit-code", "--no-races"], &program)?;
    assert!(status == 0 && last(&messages).contains("not checked for races"), "{messages}");
    // A kernel beyond the budget, and programs that are none.
    let (status, messages) = exec(&["--budget", "1"], &program)?;
    assert!(status != 0 && messages.contains("stopped after"), "{messages}");
    assert_eq!(
        exec(&[], Path::new("false"))?,
        (1, "the program launched no kernel on the device of ptx-atomics\n".into())
    );
    assert_eq!(exec(&[], Path::new("./none"))?.0, 2);
    Ok(())
}

/// The functions that the headers declare and the library does not export.
fn exported() -> Result<(), Failed> {
    let symbols = success(Command::new("nm").args(["-D", "--defined-only"]).arg(LIBRARIES.path().join(LIBRARY)))?;
    let exported: Vec<&str> = symbols.lines().filter_map(|line| line.split_whitespace().last()).collect();
    let mut missing = Vec::new();
    for (header, mark) in [("cuda.h", "CUDAAPI "), ("cuda_runtime_api.h", "CUDARTAPI ")] {
        let text = fs::read_to_string(sdk().join("include").join(header))?;
        for declared in text.split(mark).skip(1) {
            let name = declared.split('(').next().unwrap_or_default().trim();
            let is_name =
                name.starts_with("cu") && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
            if is_name && !exported.contains(&name) && !missing.contains(&name.to_owned()) {
                missing.push(name.to_owned());
            }
        }
    }
    if missing.is_empty() { Ok(()) } else { Err(missing.join(" ").into()) }
}
