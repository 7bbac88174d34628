//! Tests of the library from C: the header is up to date with the sources, and programs in C and in Python call the
//! library. Under the address sanitizer, no program leaks memory.

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

use libtest_mimic::{Arguments, Failed, Trial};
use testing::{binary, exists, root, success, trial};

fn main() {
    let missing = |programs: &[&'static str]| programs.iter().copied().find(|program| !exists(program));
    let command =
        env::current_exe().is_ok_and(|test| test.parent().is_some_and(|to| to.with_file_name("ptx-atomics").is_file()));
    let helper = if command { missing(&["cc"]) } else { Some("program ptx-atomics in the target folder") };
    let tests = vec![
        Trial::test("the header is up to date with the sources", header),
        trial("the versions of symbols".into(), missing(&["cc", "readelf"]), symbols),
        trial("C, shared".into(), helper, || program(&["lib"])),
        trial("C, static".into(), helper, || program(&[])),
        trial("the example of the book".into(), helper.or(missing(&["pkg-config"])), example),
        trial("Python".into(), helper.or(missing(&["python3"])), python),
    ];
    libtest_mimic::run(&Arguments::from_args(), tests).exit();
}

/// A file of this crate.
fn own(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// The archive that cargo made for this test.
fn archive() -> PathBuf {
    let test = env::current_exe().expect("the path of the test");
    let files = fs::read_dir(test.parent().expect("a folder")).expect("a folder").flatten().map(|entry| entry.path());
    let is_own = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        name.starts_with("libptx_atomics_c") && name.ends_with(".a") && !name.starts_with("libptx_atomics_co")
    };
    let made = |path: &PathBuf| fs::metadata(path).and_then(|known| known.modified()).ok();
    files.filter(is_own).max_by_key(made).expect("cargo makes an archive")
}

/// An installation by scripts/c-library, with an additional folder that has the archive alone.
static INSTALLED: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let (lib, include) = (folder.path().join("lib"), folder.path().join("include"));
    for folder in [&include, &lib.join("pkgconfig"), &folder.path().join("archive")] {
        fs::create_dir_all(folder).expect("a folder");
    }
    fs::copy(own("include/ptx_atomics.h"), include.join("ptx_atomics.h")).expect("the header");
    fs::copy(own("ptx_atomics_c.pc"), lib.join("pkgconfig/ptx_atomics_c.pc")).expect("the file for pkg-config");
    std::os::unix::fs::symlink(archive(), folder.path().join("archive/libptx_atomics_c.a")).expect("a link");
    let shared = lib.join("libptx_atomics_c.so.0");
    success(Command::new(own("link")).arg(archive()).arg(&shared)).expect("it links");
    std::os::unix::fs::symlink("libptx_atomics_c.so.0", lib.join("libptx_atomics_c.so")).expect("a link");
    folder
});

fn header() -> Result<(), Failed> {
    let config = cbindgen::Config::from_file(own("cbindgen.toml"))?;
    let files = ["lib.rs", "answer.rs", "constants.rs", "session.rs"].map(|name| own("src").join(name));
    let builder =
        files.into_iter().fold(cbindgen::Builder::new().with_config(config), |builder, file| builder.with_src(file));
    let mut made = Vec::new();
    builder.generate().map_err(|error| error.to_string())?.write(&mut made);
    let (made, path) = (String::from_utf8(made)?, own("include/ptx_atomics.h"));
    if env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        fs::write(&path, &made)?;
    }
    let known = fs::read_to_string(&path).unwrap_or_default();
    if known == made { Ok(()) } else { Err(format!("INSTA_UPDATE=always writes {} anew", path.display()).into()) }
}

fn symbols() -> Result<(), Failed> {
    let library = INSTALLED.path().join("lib/libptx_atomics_c.so.0");
    let said = success(Command::new("readelf").args(["--wide", "--dyn-syms", "--dynamic"]).arg(library))?;
    let given = said.lines().filter(|line| line.contains(" DEFAULT ") && !line.contains(" UND "));
    // The version itself is also a symbol, an absolute one.
    let given = given.filter(|line| !line.contains(" ABS ")).filter_map(|line| line.split_whitespace().last());
    let header = fs::read_to_string(own("include/ptx_atomics.h"))?;
    let declared = header.split(|c: char| !c.is_ascii_alphanumeric() && !"_(".contains(c));
    let declared = declared.filter(|word| word.starts_with("ptx_atomics_")).filter_map(|word| word.split_once('('));
    let declared: BTreeSet<_> = declared.map(|(name, _)| format!("{name}@@PTX_ATOMICS_0.1")).collect();
    assert_eq!(given.map(str::to_owned).collect::<BTreeSet<_>>(), declared);
    assert!(said.contains("[libptx_atomics_c.so.0]") && !said.contains("LLVM"), "{said}");
    Ok(())
}

/// Compiles a program in C and runs it.
fn run(program: &Path, flags: &[String], arguments: &[&Path]) -> Result<String, Failed> {
    let folder = tempfile::tempdir()?;
    let made = folder.path().join("program");
    let warnings = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-g"];
    success(Command::new("cc").args(warnings).arg(program).arg("-o").arg(&made).args(flags))?;
    success(Command::new(made).args(arguments).env("LD_LIBRARY_PATH", INSTALLED.path().join("lib")))
}

/// Runs the test of all functions, with the shared library or with the archive.
fn program(shared: &[&str]) -> Result<(), Failed> {
    let folder = INSTALLED.path();
    let search = shared.iter().copied().chain(["archive"]).next().unwrap_or_default();
    let flags = [
        "-fsanitize=address".to_owned(),
        format!("-I{}/include", folder.display()),
        format!("-L{}/{search}", folder.display()),
    ];
    let libraries = ["-lptx_atomics_c", "-lpthread", "-ldl", "-lm", "-lgcc_s"].map(str::to_owned);
    let flags = [&flags[..], &libraries].concat();
    let said = run(&own("tests/all.c"), &flags, &[binary(), &root().join("tests/async/r4.ptx")])?;
    if said == "all is right\n" { Ok(()) } else { Err(said.into()) }
}

/// Runs the example of docs/library.md, by pkg-config.
fn example() -> Result<(), Failed> {
    let book = fs::read_to_string(root().join("docs/library.md"))?;
    let text = book.split("```c\n").nth(1).and_then(|rest| rest.split("```").next()).ok_or("no example")?;
    let folder = tempfile::tempdir()?;
    let source = folder.path().join("example.c");
    fs::write(&source, text)?;
    let mut config = Command::new("pkg-config");
    config.args(["--cflags", "--libs", "ptx_atomics_c"]).env("PKG_CONFIG_PATH", INSTALLED.path().join("lib/pkgconfig"));
    let flags: Vec<_> = success(&mut config)?.split_whitespace().map(str::to_owned).collect();
    let version = success(config.args(["--modversion"]))?;
    assert!(version.contains(env!("CARGO_PKG_VERSION")), "{version}");
    let said = run(&source, &flags, &[binary()])?;
    if said.contains("atom.acq_rel.sys.global.add.u32") { Ok(()) } else { Err(said.into()) }
}

fn python() -> Result<(), Failed> {
    let library = INSTALLED.path().join("lib/libptx_atomics_c.so.0");
    let said = success(Command::new("python3").arg(own("tests/foreign.py")).arg(library).arg(binary()))?;
    if said == "all is right\n" { Ok(()) } else { Err(said.into()) }
}
