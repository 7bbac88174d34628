//! Several inputs, and a module whose code several processes generate.

use super::*;

/// Each input becomes a file. An input with errors becomes none, and does not affect the other inputs.
pub fn several_inputs() -> Result<(), Failed> {
    let (good, bad) = ("tests/inputs/fences.ll tests/mlir/inputs/kernels.mlir", "tests/bad/too_wide.ll");
    check(good, 2, &["there are 2 inputs and one output: '-'", "give a folder by -o FOLDER/"])?;
    check(&format!("{good} -o none.ptx"), 2, &["there are 2 inputs and one output: 'none.ptx'"])?;
    let folder = tempfile::tempdir()?;
    let names = |folder: &Path| -> Result<Vec<String>, Failed> {
        let names = fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        Ok(names.collect::<io::Result<Vec<_>>>()?.into_iter().sorted().collect())
    };
    let folder = |name: &str| folder.path().join(name);
    lowered(&format!("{good} -o {}/", folder("good").display()))?;
    assert_eq!(names(&folder("good"))?, ["fences.ptx", "locks.ptx"]);
    let words = ["6 errors; nothing was written for 'tests/bad/too_wide.ll'"];
    check(&format!("{bad} {good} -o {}/", folder("mixed").display()), 1, &words)?;
    assert_eq!(names(&folder("mixed"))?, ["fences.ptx", "locks.ptx"]);
    let one = fs::read(folder("mixed").join("fences.ptx"))?;
    assert_eq!(one, lowered("tests/inputs/fences.ll")?.into_bytes(), "expected the output of the input alone");
    // The outputs and messages are the same with any number of concurrent jobs.
    let inputs = "tests/bad/too_wide.ll tests/inputs/fences.ll tests/bad/two_gpus.ll tests/inputs/scoped.ll none.ll";
    let with = |jobs: &str| -> Result<_, Failed> {
        let at = folder(&format!("jobs{jobs}"));
        let output = lower(&format!("{inputs} -v --mcpu sm_90 -j {jobs} -o {}/", at.display()));
        let files = names(&at)?.into_iter().map(|name| Ok((fs::read(at.join(&name))?, name)));
        Ok((output.status.code(), output.stderr, files.collect::<io::Result<Vec<_>>>()?))
    };
    let (status, said, files) = with("1")?;
    assert_eq!((status, files.len()), (Some(1), 2));
    for jobs in ["2", "9"] {
        assert!((status, said.clone(), files.clone()) == with(jobs)?, "-j {jobs}");
    }
    check("tests/inputs/fences.ll -j 0", 2, &["0"])?;
    // Two files with the same name.
    fs::create_dir(folder("other"))?;
    fs::copy(root().join("tests/inputs/fences.ll"), folder("other").join("fences.ll"))?;
    let twice = format!("{good} {}/fences.ll -o {}/", folder("other").display(), folder("clash").display());
    check(
        &twice,
        1,
        &["fences.ptx': another output has the same name", "the inputs are 'tests/inputs/fences.ll' and '"],
    )?;
    assert_eq!(names(&folder("clash"))?, ["locks.ptx"]);
    Ok(())
}

/// The bytes and the errors are the same with any number of code generation processes.
pub fn large_module() -> Result<(), Failed> {
    let head = "target triple = \"nvptx64-nvidia-cuda\"
        @one = internal addrspace(3) global [4 x i32] undef
        @two = internal addrspace(3) global [4 x i32] undef
        @table = addrspace(1) global [2 x i32] [i32 1, i32 2]\n";
    let wait = "br label %wait wait: %x = load atomic i32, ptr addrspace(1) %p acquire, align 4
        %c = icmp eq i32 %x, %n br i1 %c, label %wait, label %end end:";
    let jump = "switch i32 %n, label %a [i32 0, label %b i32 1, label %c i32 2, label %d i32 3, label %e i32 4, label %a i32 5, label %b]
        a: store i32 1, ptr addrspace(1) %p br label %f b: store i32 2, ptr addrspace(1) %p br label %f
        c: store i32 3, ptr addrspace(1) %p br label %f d: store i32 4, ptr addrspace(1) %p br label %f
        e: store i32 5, ptr addrspace(1) %p br label %f f:";
    let update = "%o = atomicrmw umax ptr addrspace(1) @table, i32 %n acq_rel";
    let shared = |name: &str| format!("%s = load i32, ptr addrspace(3) @{name} store i32 %s, ptr addrspace(1) %p");
    let function = |number: usize, body: &str| {
        let linkage = ["ptx_kernel", "weak ptx_kernel", "", "linkonce_odr"][number % 4];
        format!("define {linkage} void @f{number}(ptr addrspace(1) %p, i32 %n) {{ {body} ret void }}\n")
    };
    let module = |head: &str, body: &dyn Fn(usize) -> String| -> String {
        head.to_owned() + &(0..200).map(|number| function(number, &body(number))).collect::<String>()
    };
    let cut = head.lines().next().ok_or("a line")?.to_owned() + "\n@table = addrspace(1) global i32 0\n";
    let of = |number: usize| [wait.to_owned(), jump.to_owned(), update.to_owned()][number % 3].clone();
    let with_shared = |number: usize| match number {
        7 => shared("one"),
        9 | 150 => shared("two"),
        _ => of(number),
    };
    let called =
        |number: usize| if number == 9 { "call void @f150(ptr addrspace(1) %p, i32 %n)".into() } else { of(number) };
    let wrong = "%w = atomicrmw xchg ptr addrspace(1) %p, i256 0 acq_rel";
    let with_error = |number: usize| if number == 150 { wrong.to_owned() } else { of(number) };
    let folder = tempfile::tempdir()?;
    for (name, text) in [
        ("plain", module(&cut, &of)),
        ("shared", module(head, &with_shared)),
        ("called", module(&cut, &called)),
        ("wrong", module(&cut, &with_error)),
    ] {
        let path = folder.path().join(format!("{name}.ll"));
        fs::write(&path, text)?;
        let lower = |jobs: u32| lower(&format!("{} --mcpu sm_90 --mattr +ptx86 -v -j {jobs}", path.display()));
        let one = lower(1);
        assert_eq!(one.status.code(), Some(i32::from(name == "wrong")), "{}", String::from_utf8_lossy(&one.stderr));
        for jobs in [2, 3] {
            let several = lower(jobs);
            assert!(one == several, "{name}, -j {jobs}");
        }
    }
    Ok(())
}
