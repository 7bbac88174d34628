//! Outputs appear whole or not at all, for every kind of output file and every end of the command.

use super::*;

pub fn an_error_touches_no_output() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let (output, remarks) = (folder.path().join("out.ptx"), folder.path().join("out.yaml"));
    fs::write(&output, "before")?;
    let arguments = format!("tests/bad/constant_memory.ll -o {} --remarks {}", output.display(), remarks.display());
    check(&arguments, 1, &["constant memory"])?;
    assert_eq!(fs::read_to_string(&output)?, "before");
    assert_eq!(fs::read_dir(folder.path())?.count(), 1);
    Ok(())
}

pub fn outputs_appear_whole() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let expected = lowered("tests/inputs/fences.ll")?;
    let path = folder.path().join("out.ptx");
    lowered(&format!("tests/inputs/fences.ll -o {}", path.display()))?;
    assert_eq!(fs::read_to_string(&path)?, expected);

    fs::set_permissions(&path, fs::Permissions::from_mode(0o640))?;
    let link = folder.path().join("link.ptx");
    symlink("out.ptx", &link)?;
    fs::write(&path, "before")?;
    lowered(&format!("tests/inputs/fences.ll -o {}", link.display()))?;
    assert!(link.is_symlink(), "a link stays a link");
    assert_eq!(fs::read_to_string(&path)?, expected);
    assert_eq!(fs::metadata(&path)?.permissions().mode() & 0o777, 0o640);

    Ok(())
}

/// All files are in a folder of the test, because a failing case may have replaced the file that it should write to.
pub fn links_pipes_devices() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    let input = "tests/inputs/fences.ll";
    let expected = lowered(input)?;
    let left = |names: &[&str]| {
        let found = fs::read_dir(folder.path()).expect("a folder").map(|entry| entry.expect("an entry").file_name());
        let found = found.map(|name| name.into_string().expect("UTF-8")).sorted().collect_vec();
        assert_eq!(found, names.iter().copied().sorted().collect_vec());
        names.iter().for_each(|name| fs::remove_file(at(name)).expect("the link is removable"));
    };

    // A link to standard output, as `/dev/stdout` is: first a pipe, then a file that is not empty.
    symlink("/proc/self/fd/1", at("stdout"))?;
    assert_eq!(lowered(&format!("{input} -o {}", at("stdout").display()))?, expected);
    fs::write(at("file"), "before\n")?;
    let mut file = fs::OpenOptions::new().append(true).open(at("file"))?;
    let status = ptx_atomics().args(["lower", input, "-o"]).arg(at("stdout")).stdout(file.try_clone()?).status()?;
    writeln!(file, "after")?;
    assert!(status.success());
    assert_eq!(fs::read_to_string(at("file"))?, format!("before\n{expected}after\n"));
    assert!(at("stdout").is_symlink());
    left(&["stdout", "file"]);

    // A socket, which cannot be opened by its name.
    let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
    symlink("/proc/self/fd/1", at("stdout"))?;
    let spawned = ptx_atomics().args(["lower", input, "-o"]).arg(at("stdout")).stdout(OwnedFd::from(theirs)).spawn();
    let mut child = spawned?;
    assert_eq!(io::read_to_string(ours)?, expected);
    assert!(child.wait()?.success());
    left(&["stdout"]);

    // The shell's `>(...)`.
    let script = format!("$0 lower {input} -o >(cat > {}) && wait $!", at("out").display());
    success(Command::new("bash").arg("-c").arg(script).arg(testing::binary()).current_dir(root()))?;
    assert_eq!(fs::read_to_string(at("out"))?, expected);
    left(&["out"]);

    // The reader of a named pipe sees the end of the output, also after an error.
    success(Command::new("mkfifo").arg(at("pipe")))?;
    for (input, expected) in [(input, &*expected), ("tests/bad/constant_memory.ll", ""), ("tests/none.ll", "")] {
        let reader = std::thread::spawn({
            let path = at("pipe");
            move || fs::read_to_string(path)
        });
        let output = lower(&format!("{input} -o {}", at("pipe").display()));
        assert_eq!(output.status.success(), !expected.is_empty());
        assert_eq!(reader.join().map_err(|_| "the reader fails")??, expected);
    }
    assert!(fs::metadata(at("pipe"))?.file_type().is_fifo());
    left(&["pipe"]);

    // A link to a device, to a missing file, to a file through two links, and to itself.
    if Command::new("mknod").arg(at("null")).args(["c", "1", "3"]).output()?.status.success() {
        symlink("null", at("link"))?;
        lowered(&format!("{input} -o {}", at("link").display()))?;
        assert!(at("link").is_symlink() && fs::metadata(at("null"))?.file_type().is_char_device());
        left(&["null", "link"]);
    }
    symlink("target", at("first"))?;
    symlink("first", at("second"))?;
    for _ in 0..2 {
        lowered(&format!("{input} -o {}", at("second").display()))?;
        assert!(at("second").is_symlink() && at("first").is_symlink() && !at("target").is_symlink());
        assert_eq!(fs::read_to_string(at("target"))?, expected);
    }
    left(&["target", "first", "second"]);
    symlink("b", at("a"))?;
    symlink("a", at("b"))?;
    check(&format!("{input} -o {}", at("a").display()), 1, &["cannot write", "Too many levels of symbolic links"])?;
    assert!(at("a").is_symlink() && at("b").is_symlink());
    left(&["a", "b"]);
    Ok(())
}

pub const TWO_MODULES: &str =
    "gpu.module @a { llvm.func @f() { llvm.return } }\ngpu.module @b { llvm.func @g() { llvm.return } }\n";

/// A link in the output folder remains a link, and two modules do not share a file.
pub fn outputs_in_a_folder() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    fs::write(at("in.mlir"), TWO_MODULES)?;
    fs::create_dir(at("out"))?;
    symlink("../elsewhere.ptx", at("out/a.ptx"))?;
    lowered(&format!("{} -o {}", at("in.mlir").display(), at("out").display()))?;
    assert!(at("out/a.ptx").is_symlink());
    assert!(fs::read_to_string(at("elsewhere.ptx"))?.contains(".func f"));
    assert!(fs::read_to_string(at("out/b.ptx"))?.contains(".func g"));
    fs::write(at("in.mlir"), TWO_MODULES.replace("@a", "@\"x/y\"").replace("@b", "@x_y"))?;
    let arguments = format!("{} -o {}/new/", at("in.mlir").display(), folder.path().display());
    check(&arguments, 1, &["new/x_y.ptx': another output has the same name"])?;
    assert!(!at("new").exists());
    Ok(())
}

pub fn two_outputs() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let (file, link) = (folder.path().join("out"), folder.path().join("link"));
    symlink("out", &link)?;
    let input = "tests/inputs/fences.ll";
    check(&format!("{input} --remarks -"), 2, &["expected a file, found standard output"])?;
    for (output, remarks) in iproduct!([&file, &link], [&file, &link]) {
        let arguments = format!("{input} -o {} --remarks {}", output.display(), remarks.display());
        check(&arguments, 2, &["-o and --remarks name the same file"])?;
    }
    assert!(!file.exists());
    symlink("/proc/self/fd/1", &file)?;
    check(&format!("{input} --remarks {}", link.display()), 2, &["-o and --remarks name the same file"])
}

/// Starts the command on a program that takes a while. Returns the command, and the process id of its working child.
pub fn at_work(folder: &Path, arguments: &[&str]) -> Result<(std::process::Child, i32), Failed> {
    let function = |number| {
        format!(
            "define void @f{number}(ptr addrspace(1) %p) {{\n{}ret void\n}}\n",
            "store atomic i32 1, ptr addrspace(1) %p release, align 4\n".repeat(20)
        )
    };
    fs::write(folder.join("long.ll"), (0..2000).map(function).collect::<String>())?;
    let mut command = ptx_atomics();
    let command = command.arg("lower").arg(folder.join("long.ll")).args(arguments);
    let parent = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let children = format!("/proc/{0}/task/{0}/children", parent.id());
    for _ in 0..1000 {
        if let Ok(child) = fs::read_to_string(&children)?.trim().parse() {
            return Ok((parent, child));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Err("the command has no child".into())
}

pub fn kill(process: impl std::fmt::Display, signal: &str) -> Result<(), Failed> {
    success(Command::new("kill").arg(format!("-{signal}")).arg(process.to_string())).map(drop)
}

/// The signals that this process ignores. The lowest bit is the first signal.
pub fn ignored() -> Result<u64, Failed> {
    let status = fs::read_to_string("/proc/self/status")?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).ok_or("no SigIgn")?;
    Ok(u64::from_str_radix(mask.trim(), 16)?)
}

/// If a signal ends the command, its child also ends, and no file remains.
pub fn no_end_leaves_anything() -> Result<(), Failed> {
    for (signal, number) in [("TERM", 15), ("KILL", 9), ("INT", 2), ("HUP", 1)] {
        // A process in the background or under nohup inherits an ignored signal.
        if ignored()? >> (number - 1) & 1 == 1 {
            continue;
        }
        let folder = tempfile::tempdir()?;
        let out = folder.path().join("out.ptx").display().to_string();
        let remarks = folder.path().join("out.yaml").display().to_string();
        let (mut parent, child) = at_work(folder.path(), &["-o", &out, "--remarks", &remarks])?;
        kill(parent.id(), signal)?;
        assert!(!parent.wait()?.success());
        // A child that has ended but was not yet waited for has no memory.
        let alive =
            || fs::read_to_string(format!("/proc/{child}/status")).is_ok_and(|status| status.contains("VmSize"));
        let ended = (0..1000).any(|_| {
            std::thread::sleep(Duration::from_millis(5));
            !alive()
        });
        assert!(ended, "{signal}: the child lives on");
        let left = fs::read_dir(folder.path())?.map_ok(|entry| entry.file_name()).collect::<Result<Vec<_>, _>>()?;
        assert_eq!(left, ["long.ll"], "{signal}");
    }
    // The command needs no folder for temporary files.
    success(ptx_atomics().args(["lower", "tests/inputs/fences.ll"]).env("TMPDIR", "/none")).map(drop)
}
