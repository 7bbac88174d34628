//! The library in projects outside the repository. The trials build and run the projects of docs/library.md and
//! docs/embed.md without the repository's configuration, for the LLVM under test. They also package the crates, and build the documentation
//! without LLVM.

use std::{
    env,
    fmt::Write,
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, PoisonError},
};

use libtest_mimic::{Failed, Trial};
use serde_json::{Value, json};
use testing::{ASSEMBLERS, features, left_to_all, llvm_version, root, success};

type Test = fn() -> Result<(), Failed>;

pub fn trials() -> Vec<Trial> {
    let tests: &[(&str, Test)] = &[("without LLVM", without_llvm), ("cargo packages the crates", packages)];
    // These trials build LLVM's bindings again.
    let long: &[(&str, Test)] = &[
        ("the models need no features", no_features),
        ("the library lowers LLVM IR", llvm),
        ("remarks name the result of each operation", remarks),
        ("a compiler with inkwell embeds the pass", with_inkwell),
        ("a compiler with llvm-sys embeds the pass", with_llvm_sys),
        ("a compiler that prints LLVM IR embeds the lowering", with_text),
        ("MLIR", mlir),
        ("an input that ends LLVM is an error", ends_llvm),
        ("a golden suite marks weaker texts", golden),
        ("the packages build as published dependencies", published),
        ("the documentation builds without LLVM", documentation),
    ];
    // Cargo locks its target folder. A second trial at the same time would only occupy a thread.
    static ALONE: Mutex<()> = Mutex::new(());
    let trial = |(name, test): &(&'static str, Test)| {
        let test = *test;
        Trial::test(*name, move || {
            let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
            test()
        })
    };
    tests.iter().map(trial).chain(long.iter().map(trial).map(left_to_all)).collect()
}

/// Cargo outside the repository, without the variables that cargo sets for this test.
fn cargo(folder: &Path, arguments: &[&str]) -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(arguments).arg("--offline").current_dir(folder);
    for (name, _) in env::vars_os() {
        let is_ours = name.to_str().is_some_and(|name| {
            ["CARGO_", "MLIR_SYS_", "TABLEGEN_", "RUST"].iter().any(|prefix| name.starts_with(prefix))
        });
        if is_ours && !matches!(name.to_str(), Some("CARGO_HOME" | "RUSTUP_HOME" | "RUSTUP_TOOLCHAIN")) {
            cargo.env_remove(name);
        }
    }
    // All projects share the target folder, also between runs.
    cargo.env("CARGO_TARGET_DIR", target()).env("CARGO_PROFILE_DEV_DEBUG", "false").env("CARGO_INCREMENTAL", "0");
    cargo
}

fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("outside")
}

/// The changes for LLVM 23 according to docs/library.md: a text of a project for LLVM 22, and its replacement.
const FOR_23: [(&str, &str); 10] = [
    ("features = [\"llvm22\"]", "features = [\"llvm23\"]"),
    ("llvm22-1-", "llvm23-1-"),
    ("\"221\"", "\"231\""),
    ("/golden\" }", "/golden\", default-features = false, features = [\"llvm\", \"llvm23\"] }"),
    ("\"../ptx-atomics\", features = [", "\"../ptx-atomics\", default-features = false, features = [\"llvm23\", "),
    ("\"0.27\"", "\"0.28\""),
    ("_221_PREFIX", "_231_PREFIX"),
    ("_220_PREFIX", "_230_PREFIX"),
    ("/usr/lib/llvm-22", "/usr/lib/llvm-23"),
    (".cargo/melior/22", ".cargo/melior/23"),
];

/// The text of a file with the changes for the LLVM under test.
fn for_llvm(text: &str) -> String {
    let changes: &[_] = if llvm_version() == 22 { &[] } else { &FOR_23 };
    changes.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// The code blocks of a language below a heading of docs/library.md.
fn blocks(heading: &str, language: &str) -> Result<Vec<String>, Failed> {
    blocks_of("docs/library.md", heading, language)
}

fn blocks_of(page: &str, heading: &str, language: &str) -> Result<Vec<String>, Failed> {
    let book = fs::read_to_string(root().join(page))?;
    let (_, section) = book.split_once(&format!("\n## {heading}\n")).ok_or(format!("no heading '{heading}'"))?;
    let section = section.split_once("\n## ").map_or(section, |(section, _)| section);
    let fence = format!("```{language}\n");
    let blocks = section.split(&fence).skip(1);
    Ok(blocks.map(|block| block.split("```").next().unwrap_or_default().to_owned()).collect())
}

/// A project in a temporary folder that depends on the crates of this repository.
struct Project {
    name: &'static str,
    folder: tempfile::TempDir,
}

impl Project {
    /// Creates a project. All projects share a target folder, so each needs a different name.
    fn new(name: &'static str, dependencies: &str, main: &str) -> Result<Self, Failed> {
        let folder = tempfile::tempdir()?;
        let package = format!("[package]\nname = \"{name}\"\nedition = \"2024\"\n\n");
        let dependencies =
            for_llvm(dependencies).replace("../ptx-atomics", root().to_str().ok_or("the path is not text")?);
        fs::create_dir(folder.path().join("src"))?;
        fs::write(folder.path().join("Cargo.toml"), format!("{package}{dependencies}"))?;
        fs::write(folder.path().join("src/main.rs"), main)?;
        let lock = env::var_os("CARGO_RESOLVER_LOCKFILE_PATH").map_or_else(|| root().join("Cargo.lock"), PathBuf::from);
        fs::copy(lock, folder.path().join("Cargo.lock"))?;
        Ok(Self { name, folder })
    }

    /// A project from a section of docs/library.md. The last `toml` block has the dependencies, and the last `rust`
    /// block the program.
    fn of_docs(name: &'static str, heading: &str) -> Result<Self, Failed> {
        Self::of_page(name, "docs/library.md", heading)
    }

    fn of_page(name: &'static str, page: &str, heading: &str) -> Result<Self, Failed> {
        let last = |language| Ok::<_, Failed>(blocks_of(page, heading, language)?.pop());
        let (dependencies, main) = (last("toml")?, last("rust")?);
        Self::new(name, &dependencies.ok_or("no dependencies")?, &main.ok_or("no program")?)
    }

    /// Builds the program with additional environment variables, and returns its output.
    fn run(&self, variables: &[(&str, &str)]) -> Result<String, Failed> {
        success(cargo(self.folder.path(), &["build", "--quiet"]).envs(variables.iter().copied()))?;
        let output = success(&mut Command::new(target().join("debug").join(self.name)))?;
        // The next run has another folder, so cargo would not reuse or remove this program.
        success(&mut cargo(self.folder.path(), &["clean", "--quiet", "--package", self.name]))?;
        Ok(output)
    }
}

const NO_LLVM: &[(&str, &str)] = &[("LLVM_SYS_221_PREFIX", "/nowhere"), ("LLVM_SYS_231_PREFIX", "/nowhere")];

fn check(project: &Project, variables: &[(&str, &str)], expected: &str) -> Result<(), Failed> {
    let output = project.run(variables)?;
    if !output.contains(expected) {
        return Err(format!("expected '{expected}', found:\n{output}").into());
    }
    Ok(())
}

fn remarks() -> Result<(), Failed> {
    let dependencies = blocks("LLVM IR", "toml")?.pop().ok_or("no dependencies")?;
    let main = blocks("A remark for each operation", "rust")?.pop().ok_or("no program")?;
    let output = Project::new("outside-remarks", &dependencies, &main)?.run(&[])?;
    let expected = [
        "wait.ll:6: wait: load atomic i32 addrspace(3) acquire optimized by scope: scope became cta: no other thread can access the location\n",
        "wait.ll:6: wait: load atomic i32 addrspace(3) syncscope(\"block\") acquire became ld.acquire.cta.shared.b32 %d, [%a];\n",
        "  1 instructions\n",
    ];
    match expected.iter().find(|line| !output.contains(**line)) {
        Some(line) => Err(format!("expected '{line}', found:\n{output}").into()),
        None => Ok(()),
    }
}

fn without_llvm() -> Result<(), Failed> {
    check(
        &Project::of_docs("outside-lowering", "Without LLVM")?,
        NO_LLVM,
        "atom.acquire.sys.global.add.u32 %d, [%a], %b;",
    )
}

fn no_features() -> Result<(), Failed> {
    let dependencies = "[dependencies]\nptx-atomics = { path = \"../ptx-atomics\", features = [\"model\"] }";
    let main = "use ptx_atomics::{judge as _, lowering::Target, mapping as _, memory_model as _, ptx as _};
        fn main() { println!(\"{}\", Target::new(\"sm_90\".parse().unwrap(), None).unwrap()); }";
    check(&Project::new("outside-model", dependencies, main)?, NO_LLVM, "sm_90")
}

fn llvm() -> Result<(), Failed> {
    check(&Project::of_docs("outside-llvm", "LLVM IR")?, &[], "atom.acq_rel.sys.global.add.u32")
}

fn with_inkwell() -> Result<(), Failed> {
    let project = Project::of_page("outside-inkwell", "docs/embed.md", "With inkwell")?;
    check(&project, &[], "atom.acq_rel.sys.global.add.u32")
}

fn with_llvm_sys() -> Result<(), Failed> {
    let project = Project::of_page("outside-llvm-sys", "docs/embed.md", "With llvm-sys")?;
    check(&project, &[], "st.release.gpu.global.b32")
}

fn with_text() -> Result<(), Failed> {
    let project = Project::of_page("outside-text", "docs/embed.md", "Without LLVM")?;
    let printed = blocks_of("docs/embed.md", "Without LLVM", "llvm")?.pop().ok_or("the page shows the text")?;
    check(&project, NO_LLVM, &printed)
}

fn mlir() -> Result<(), Failed> {
    let project = Project::of_docs("outside-mlir", "MLIR")?;
    let [config, script] = [blocks("MLIR", "toml")?.remove(0), blocks("MLIR", "sh")?.remove(0)];
    let own = fs::read_to_string(root().join("passes/link/config/22/bin/llvm-config"))?;
    assert_eq!(own, script, "docs/library.md has the llvm-config of this repository");
    let folder = project.folder.path().join(".cargo");
    let bin = folder.join(format!("melior/{}/bin", llvm_version()));
    fs::create_dir_all(&bin)?;
    fs::write(folder.join("config.toml"), for_llvm(&config))?;
    let path = bin.join("llvm-config");
    fs::write(&path, script)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    check(&project, &[], "atom.acq_rel.sys.global.add.u32")
}

/// The input ends LLVM in one of several threads.
fn ends_llvm() -> Result<(), Failed> {
    let project = Project::of_docs("outside-helper", "Inputs that end LLVM")?;
    let input = fs::read_to_string(root().join("tests/bad/backend_fails.ll"))?;
    fs::write(project.folder.path().join("src/input.ll"), input)?;
    check(
        &project,
        &[],
        "in function needs_bf16: LLVM has no instruction for sm_70 with PTX 6.0 that does llvm.nvvm.neg.bf16; help: it compiles with --mcpu sm_80 --mattr +ptx70",
    )
}

/// The walk through docs/golden.md: accepted texts pass, and a text with weaker guarantees is marked and needs its own
/// acceptance.
fn golden() -> Result<(), Failed> {
    let of_page = |language| blocks_of("docs/golden.md", "From nothing to a pinned suite", language);
    let project = Project::new("outside-golden", &of_page("toml")?.concat(), "fn main() {}")?;
    let kernels = project.folder.path().join("kernels");
    fs::create_dir_all(&kernels)?;
    fs::create_dir(project.folder.path().join("tests"))?;
    let [program] = &of_page("rust")?[..] else { return Err("the page has one program".into()) };
    assert_eq!(program.trim().lines().count() - 2, 4, "five lines of Rust, except main's");
    fs::write(project.folder.path().join("tests/golden.rs"), program)?;
    let names = ["count.ll", "message.ll", "maximum.ll"];
    for (name, text) in names.iter().zip(of_page("llvm")?) {
        fs::write(kernels.join(name), text)?;
    }
    let stated = ".version 8.6\n.target sm_90\n.address_size 64\n.visible .func f(.param .b64 p)\n{\n.reg .b64 %rd<2>;\n\
                  .reg .b32 %r<2>;\nld.param.b64 %rd1, [p];\natom.acq_rel.gpu.global.add.u32 %r1, [%rd1], 1;\nret;\n}\n";
    fs::write(kernels.join("other.ptx"), stated)?;
    let report = project.folder.path().join("report.xml");
    let test = |variables: &[(&str, &str)]| -> Result<(bool, String), Failed> {
        let mut command = cargo(project.folder.path(), &["test", "--quiet", "--test", "golden"]);
        command.env("PTX_ATOMICS_PTXAS", std::env::join_paths(ASSEMBLERS.iter().map(|assembler| assembler.program()))?);
        let done = command.env("GOLDEN_JUNIT", &report).envs(variables.iter().copied()).output()?;
        Ok((
            done.status.success(),
            String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr),
        ))
    };
    let expect = |found: (bool, String), success: bool, words: &[&str]| match words
        .iter()
        .find(|word| !found.1.contains(**word))
    {
        Some(word) => Err(Failed::from(format!("no '{word}' in\n{}", found.1))),
        None if found.0 != success => Err(found.1.into()),
        None => Ok(()),
    };
    let all = [("INSTA_UPDATE", "always")];

    expect(test(&[])?, false, &["count.ll.snap differs", "cargo test -p outside-golden --test golden"])?;
    expect(test(&all)?, true, &["30 passed"])?;
    let skipped =
        if ASSEMBLERS.iter().any(|assembler| assembler.missing().is_none()) { "0 ignored" } else { "1 ignored" };
    expect(test(&[])?, true, &["30 passed", skipped])?;
    let snapshot = fs::read_to_string(kernels.join("snapshots/count.ll.snap"))?;
    let [shown, ..] = &of_page("text")?[..] else { return Err("the page shows a snapshot".into()) };
    assert!(snapshot.contains(shown.trim_end()), "docs/golden.md shows another text than\n{snapshot}");
    let xml = fs::read_to_string(&report)?;
    let xml = roxmltree::Document::parse(&xml)?;
    let cases = xml.descendants().filter(|node| node.has_tag_name("testcase"));
    assert_eq!(cases.count(), 30);

    // A source with a weaker ordering, and a compiler's output with a weaker ordering.
    let count = fs::read_to_string(kernels.join("count.ll"))?;
    fs::write(kernels.join("count.ll"), count.replace("acq_rel", "monotonic"))?;
    fs::write(kernels.join("other.ptx"), stated.replace("acq_rel", "relaxed"))?;
    let weaker = [
        "WEAKER: the new text guarantees less",
        "no acquire, which had scope gpu, no release, which had scope gpu; the source does not ask for it",
        "`atom.acq_rel.gpu.global.add.u32 %r1, [%rd1], 1`: no acquire, which had scope gpu",
        "GOLDEN_WEAKER=accept INSTA_UPDATE=always cargo test",
        "28 passed; 2 failed",
    ];
    expect(test(&[])?, false, &weaker)?;
    expect(test(&all)?, false, &weaker)?;
    assert_eq!(fs::read_to_string(kernels.join("snapshots/count.ll.snap"))?, snapshot, "the suite accepted the text");
    expect(test(&[all[0], ("GOLDEN_WEAKER", "accept")])?, true, &["30 passed"])?;

    // Commands that make IR and PTX of other files: their output on standard output, in a file, and their failures.
    let commands = ".compile_to_ptx(\"asm\", [\"cat\", \"{input}\"]).compile_to_ir(\"ir\", [\"cp\", \"{input}\", \"{output}\"])
        .compile_to_ptx(\"none\", [\"/nowhere\"]).compile_to_ir(\"bad\", [\"sh\", \"-c\", \"echo {sm} {ptx} >&2; exit 3\"]).run()";
    fs::write(project.folder.path().join("tests/golden.rs"), program.replace(".run()", commands))?;
    fs::copy(kernels.join("other.ptx"), kernels.join("other.asm"))?;
    fs::copy(kernels.join("message.ll"), kernels.join("message.ir"))?;
    let _ = test(&all)?;
    let shown = |name: &str| fs::read_to_string(kernels.join(format!("snapshots/{name}.snap")));
    assert_eq!(shown("message.ir")?, shown("message.ll")?);
    assert!(shown("other.asm")?.contains("atom.relaxed.gpu"));
    fs::write(kernels.join("a.bad"), "")?;
    fs::write(kernels.join("a.none"), "")?;
    let said = [
        "exit status: 3",
        "sm_60 ptx50",
        "cannot run '/nowhere': No such file",
        "a.bad: sm_80, fence",
        "a.none: sm_80",
    ];
    expect(test(&[])?, false, &said)?;
    for name in ["a.bad", "a.none", "other.asm", "message.ir"] {
        fs::remove_file(kernels.join(name))?;
        let _ = fs::remove_file(kernels.join(format!("snapshots/{name}.snap")));
    }
    fs::write(project.folder.path().join("tests/golden.rs"), program)?;

    // A removed kernel, a rejected kernel, and a kernel that ends LLVM.
    fs::remove_file(kernels.join("count.ll"))?;
    fs::write(
        kernels.join("wide.ll"),
        "; REJECTED: sm_60\n; GPUS: sm_90+ptx86\ndefine i128 @f(ptr %p) {\n  %r = atomicrmw xchg ptr %p, i128 0 seq_cst\n  ret i128 %r\n}\n",
    )?;
    fs::copy(root().join("tests/bad/backend_fails.ll"), kernels.join("ends.ll"))?;
    let said = [
        "count.ll.snap",
        "ends.ll: sm_90, fence",
        "LLVM has no instruction for sm_60",
        "wide.ll.snap differs",
        "rejected",
    ];
    expect(test(&[])?, false, &said)?;
    success(&mut cargo(project.folder.path(), &["clean", "--quiet", "--package", project.name]))?;
    Ok(())
}

/// Each crate can be packaged, and its package has only its sources.
/// The packages of all crates that are published.
fn package_all() -> Result<Vec<PathBuf>, Failed> {
    let metadata = success(&mut cargo(root(), &["metadata", "--no-deps", "--format-version", "1"]))?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let unpublished = metadata["packages"].as_array().into_iter().flatten().filter(|one| one["publish"] == json!([]));
    let unpublished = unpublished.filter_map(|one| one["name"].as_str()).flat_map(|name| ["--exclude", name]);
    let all: Vec<_> = ["--workspace", "--no-verify", "--allow-dirty"].into_iter().chain(unpublished).collect();
    // Packages of an earlier run are not counted.
    let _ = fs::remove_dir_all(target().join("package"));
    success(cargo(root(), &["package", "--quiet"]).args(all))?;
    let crates =
        fs::read_dir(target().join("package"))?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    Ok(crates.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "crate")).collect())
}

/// The packages, unpacked into one folder where each depends on versions instead of folders, compile.
fn published() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let (mut members, mut patches) = (Vec::new(), String::new());
    for path in package_all()? {
        // Cargo compares times, and packages have no times of their own: each run compiles its own files.
        success(Command::new("tar").arg("-xzmf").arg(&path).arg("-C").arg(folder.path()))?;
        let member = path.file_stem().ok_or("a package has a name")?.to_string_lossy().into_owned();
        let name = member.rsplit_once('-').ok_or("a package has a version")?.0.to_owned();
        writeln!(patches, "{name} = {{ path = \"{member}\" }}")?;
        let manifest = fs::read_to_string(folder.path().join(&member).join("Cargo.toml"))?;
        assert!(!manifest.contains("path = \"../"), "{member} depends on a folder\n{manifest}");
        members.push(member);
    }
    assert!(members.len() > 10, "{members:?}");
    let manifest = format!("[workspace]\nresolver = \"3\"\nmembers = {members:?}\n\n[patch.crates-io]\n{patches}");
    fs::write(folder.path().join("Cargo.toml"), manifest)?;
    let lock = env::var_os("CARGO_RESOLVER_LOCKFILE_PATH").map_or_else(|| root().join("Cargo.lock"), PathBuf::from);
    fs::copy(lock, folder.path().join("Cargo.lock"))?;
    let mut check = cargo(folder.path(), &["check", "--quiet", "--workspace"]);
    check.args(features());
    let config = root().join(format!("passes/link/config/{}", llvm_version()));
    for library in ["MLIR_SYS", "TABLEGEN"] {
        check.env(format!("{library}_{}0_PREFIX", llvm_version()), &config);
    }
    let prefix = format!("LLVM_SYS_{}1_PREFIX", llvm_version());
    let installed = env::var_os(&prefix).unwrap_or_else(|| format!("/usr/lib/llvm-{}", llvm_version()).into());
    success(check.env(&prefix, installed))?;
    Ok(())
}

fn packages() -> Result<(), Failed> {
    let crates = package_all()?;
    for path in &crates {
        let files = success(Command::new("tar").arg("-tzf").arg(path))?;
        let known = |file: &&str| {
            let name = file.split_once('/').map_or(*file, |(_, name)| name);
            let of_cargo = ["Cargo.toml", "Cargo.toml.orig", "Cargo.lock", ".cargo_vcs_info.json"];
            // The pages of the rules are part of the program.
            let is_source = name.starts_with("src/") || name.starts_with("rules/");
            is_source || name == "build.rs" || name == "README.md" || of_cargo.contains(&name)
        };
        let others: Vec<_> = files.lines().filter(|file| !known(file)).collect();
        assert!(others.is_empty(), "{} has {others:?}", path.display());
    }
    assert!(crates.len() > 10, "{} crates", crates.len());
    Ok(())
}

/// The documentation builds as on docs.rs, without warnings.
fn documentation() -> Result<(), Failed> {
    let manifest = fs::read_to_string(root().join("Cargo.toml"))?;
    let (_, docs_rs) = manifest.split_once("\n[package.metadata.docs.rs]\n").ok_or("no metadata for docs.rs")?;
    let features = docs_rs.lines().next().and_then(|line| line.strip_prefix("features = ")).ok_or("no features")?;
    let features = features.replace(['[', ']', '"', ' '], "");
    let mut doc = cargo(root(), &["doc", "--quiet", "--no-deps", "--package", "ptx-atomics", "--features", &features]);
    success(doc.envs(NO_LLVM.iter().copied()).envs([("DOCS_RS", "1"), ("RUSTDOCFLAGS", "-Dwarnings")]))?;
    assert!(target().join("doc/ptx_atomics/isolated/index.html").exists());
    Ok(())
}
