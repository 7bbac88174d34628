//! The command line on MLIR: inputs, outputs and targets; and the examples, compiled end to end.

use std::{
    fs,
    io::Write,
    path::Path,
    process::{Command, Output, Stdio},
};

use itertools::Itertools;
use libtest_mimic::{Failed, Trial};

use testing::{ASSEMBLERS, exists, ptx_atomics, root, success, target, tool};

use crate::mlir::equivalence::is_atomic;

type Test = fn() -> Result<(), Failed>;

pub fn trials() -> Vec<Trial> {
    let tests: [(&str, Test); 8] = [
        ("accesses without an alignment have LLVM IR's alignment", no_alignment),
        ("the command reads standard input, text and bytecode", standard_input),
        ("each module gets a file", folder),
        ("the target comes from flags, module, default", targets),
        ("remarks and -v name each operation", remarks),
        ("the pass ignores code of the host", host),
        ("the pipeline converts the ops of other conversions", vectors),
        ("no_nans_fp_math has an effect in both spellings", no_nans),
    ];
    let tests = tests.map(|(name, test)| Trial::test(format!("command: {name}"), test));
    let llc = (!exists(tool("llc"))).then_some(tool("llc"));
    let llvm_ir = testing::trial("command: LLVM IR goes through llc".into(), llc, llvm_ir);
    let missing = ASSEMBLERS.iter().find_map(|assembler| assembler.missing());
    let examples = EXAMPLES.iter().map(|example| {
        testing::trial(format!("command: examples/mlir/{} for every GPU", example.name), missing, || example.check())
    });
    tests.into_iter().chain([llvm_ir]).chain(examples).collect()
}

/// Runs `ptx-atomics lower` with arguments between spaces.
fn lower(arguments: &str) -> Command {
    let mut command = ptx_atomics();
    command.arg("lower").args(arguments.split_whitespace());
    command
}

fn with_input(arguments: &str, input: &[u8]) -> Result<Output, Failed> {
    let mut command = lower(arguments);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    child.stdin.take().ok_or("no input")?.write_all(input)?;
    Ok(child.wait_with_output()?)
}

/// MLIR's conversion of vectors makes ops of the arith dialect. The pipeline must convert them afterwards.
fn vectors() -> Result<(), Failed> {
    let text = "gpu.module @kernels {
      gpu.func @f(%m: memref<4xf32>, %i: index) kernel {
        %none = ub.poison : f32
        %read = vector.transfer_read %m[%i], %none : memref<4xf32>, vector<4xf32>
        %square = vector.shape_cast %read : vector<4xf32> to vector<2x2xf32>
        %row = vector.extract %square[1] : vector<2xf32> from vector<2x2xf32>
        vector.store %row, %m[%i] : memref<4xf32>, vector<2xf32>
        gpu.return
      }
    }";
    let output = with_input("--input mlir", text.as_bytes())?;
    let (ptx, stderr) = (String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?);
    assert!(ptx.contains("ld.global.b32"), "{ptx}{stderr}");
    Ok(())
}

/// The attribute `no_nans_fp_math` has an effect in the dialect's spelling and in LLVM's, on both paths to PTX.
fn no_nans() -> Result<(), Failed> {
    for (attributes, by_integers) in [
        ("{passthrough = [[\"no-nans-fp-math\", \"true\"]]}", true),
        ("{passthrough = [[\"no-nans-fp-math\", \"false\"]]}", false),
        ("{no_nans_fp_math = true}", true),
        ("{no_nans_fp_math = false}", false),
        ("{}", false),
    ] {
        let text = format!(
            "llvm.func @f(%p: !llvm.ptr<1>, %v: f32) attributes {attributes} {{\n\
             %r = llvm.atomicrmw fmax %p, %v monotonic : !llvm.ptr<1>, f32\nllvm.return\n}}"
        );
        for emit in ["ptx", "mlir"] {
            let output = with_input(&format!("--input mlir --mcpu sm_90 --emit {emit}"), text.as_bytes())?;
            let lowered = String::from_utf8(output.stdout)?;
            let [integers, swap] = ["global.max.s32", "global.cas.b32"].map(|atom| lowered.contains(atom));
            assert_eq!((integers, swap), (by_integers, !by_integers), "{attributes} {emit}\n{lowered}");
        }
    }
    Ok(())
}

const HISTOGRAM: &str = "examples/mlir/histogram.mlir";

fn standard_input() -> Result<(), Failed> {
    let text = fs::read(root().join(HISTOGRAM))?;
    let expected = success(&mut lower(HISTOGRAM))?;
    let read = with_input("--input mlir", &text)?;
    assert_eq!((read.status.code(), String::from_utf8(read.stdout)?), (Some(0), expected.clone()));
    let bytecode = with_input("--input mlir --emit mlir-bc", &text)?.stdout;
    assert!(bytecode.starts_with(b"ML\xefR"));
    // The command recognizes bytecode by its first bytes.
    let lowered = String::from_utf8(with_input("", &bytecode)?.stdout)?;
    assert_eq!(lowered.matches("atom.relaxed.").count(), 2, "{lowered}");
    let passed = String::from_utf8(with_input("--input mlir --emit mlir", &text)?.stdout)?;
    let again = with_input("--input mlir --emit mlir", &bytecode)?;
    assert_eq!(String::from_utf8(again.stdout)?, passed);
    // Errors name the stream and the line.
    let wrong =
        with_input("--input mlir", b"llvm.func @f() {\n  llvm.fence syncscope(\"warp\") acquire\n  llvm.return\n}")?;
    let stderr = String::from_utf8(wrong.stderr)?;
    assert!(wrong.status.code() == Some(1) && stderr.contains("--> <stdin>:2:3"), "{stderr}");
    Ok(())
}

/// Accesses without an alignment have the same alignment as in LLVM IR, with and without a data layout.
fn no_alignment() -> Result<(), Failed> {
    let layout = "llvm.data_layout = \"e-i64:64-i128:128\"";
    for (ty, attributes) in itertools::iproduct!(["i16", "i32", "i64", "i128", "f64"], ["", layout]) {
        let mlir = format!(
            "module attributes {{{attributes}}} {{ llvm.func @f(%p: !llvm.ptr<1>) {{\n\
             %v = llvm.load volatile %p : !llvm.ptr<1> -> {ty}\nllvm.store volatile %v, %p : {ty}, !llvm.ptr<1>\n\
             llvm.return }} }}"
        );
        let llvm = if ty == "f64" { "double" } else { ty };
        let llvm_ir = format!(
            "define void @f(ptr addrspace(1) %p) {{\n%v = load volatile {llvm}, ptr addrspace(1) %p\n\
             store volatile {llvm} %v, ptr addrspace(1) %p\nret void\n}}"
        );
        let [mlir, llvm_ir] = [("--input mlir", mlir), ("", llvm_ir)].map(|(arguments, text)| {
            let output = with_input(&format!("{arguments} --mcpu sm_90"), text.as_bytes())?;
            Ok::<_, Failed>(String::from_utf8(output.stdout)?)
        });
        assert_eq!(mlir?, llvm_ir?);
    }
    Ok(())
}

/// Two modules for two GPUs.
const MODULES: &str = "module attributes {gpu.container_module} {
  gpu.module @old [#nvvm.target<chip = \"sm_70\">] {
    llvm.func @f() { llvm.fence acquire
      llvm.return }
  }
  gpu.module @new [#nvvm.target<chip = \"sm_90\", features = \"+ptx86\">] {
    llvm.func @f() { llvm.fence acquire
      llvm.return }
  }
}
";

fn folder() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let input = folder.path().join("two.mlir");
    fs::write(&input, MODULES)?;
    // The first run creates the output folder; the second run overwrites its files.
    let out = folder.path().join("out");
    for _ in 0..2 {
        success(&mut lower(&format!("{} -o {}/", input.display(), out.display())))?;
        let names = fs::read_dir(&out)?.map(|entry| entry.map(|entry| entry.file_name().into_string()));
        let names: Vec<_> = names.try_collect()?;
        assert_eq!(names.into_iter().sorted().collect_vec(), [Ok("new.ptx".to_owned()), Ok("old.ptx".to_owned())]);
    }
    let read = |name: &str| fs::read_to_string(out.join(name));
    let one = success(&mut lower(&format!("{} --module new", input.display())))?;
    assert_eq!(one, read("new.ptx")?);
    assert!(one.contains("fence.acquire.sys;") && read("old.ptx")?.contains("fence.acq_rel.sys;"));
    // The output of a module without a name has the name of the file.
    let fences = root().join("tests/mlir/inputs/llvm_orderings.mlir");
    success(&mut lower(&format!("{} -o {}", fences.display(), out.display())))?;
    assert!(out.join("llvm_orderings.ptx").exists());
    // If one module has an error, the command writes no file for the other modules either.
    let wrong = folder.path().join("wrong");
    let status = lower(&format!("tests/mlir/bad/errors_in_modules.mlir -o {}/", wrong.display())).output()?.status;
    assert!(status.code() == Some(1) && !wrong.exists());
    Ok(())
}

fn targets() -> Result<(), Failed> {
    let head = |flags: &str, input: &str| -> Result<String, Failed> {
        let output = with_input(&format!("--input mlir {flags}"), input.as_bytes())?;
        let text = String::from_utf8(output.stdout)?;
        let mut lines = text.lines().filter(|line| line.starts_with(".version") || line.starts_with(".target"));
        Ok(lines.join(" "))
    };
    assert_eq!(head("--module old", MODULES)?, ".version 6.0 .target sm_70");
    assert_eq!(head("--module new", MODULES)?, ".version 8.6 .target sm_90");
    assert_eq!(head("--module old --mcpu sm_80", MODULES)?, ".version 7.0 .target sm_80");
    assert_eq!(head("--module new --mattr +ptx78", MODULES)?, ".version 7.8 .target sm_90");
    assert_eq!(head("", "llvm.func @f() { llvm.return }")?, ".version 7.8 .target sm_90");
    Ok(())
}

fn remarks() -> Result<(), Failed> {
    let file = tempfile::NamedTempFile::new()?;
    for emit in ["ptx", "mlir"] {
        let arguments = format!("{HISTOGRAM} -v --emit {emit} -o /dev/null --remarks {}", file.path().display());
        let output = lower(&arguments).output()?;
        let said = String::from_utf8(output.stderr)?;
        assert!(said.contains("examples/mlir/histogram.mlir:34: in 'histogram"), "{said}");
        assert!(said.contains("2 atomics and fences lowered for sm_90"), "{said}");
        let remarks = fs::read_to_string(file.path())?;
        assert!(remarks.contains("Line: 34") || remarks.contains("Line:            34"), "{remarks}");
    }
    Ok(())
}

/// The pass ignores atomics of the host and ops that only host code can have.
fn host() -> Result<(), Failed> {
    let passed = success(&mut lower("tests/mlir/inputs/launch.mlir --emit mlir"))?;
    assert_eq!(passed.lines().filter(|line| is_atomic(line)).count(), 1);
    let text = "gpu.module @m { llvm.func @f() { llvm.fence acquire
                  llvm.return } }
                func.func private @cpu(%t: tensor<4xi32>) -> tensor<4xi32> { return %t : tensor<4xi32> }";
    let output = with_input("--input mlir", text.as_bytes())?;
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

fn llvm_ir() -> Result<(), Failed> {
    let file = tempfile::Builder::new().suffix(".ll").tempfile()?;
    success(&mut lower(&format!("{HISTOGRAM} --emit llvm-ir -o {}", file.path().display())))?;
    let mut llc = Command::new(tool("llc"));
    let ptx = success(llc.args(["-mcpu=sm_90", "-mattr=+ptx78", "-o", "-"]).arg(file.path()))?;
    assert!(ptx.contains("atom.relaxed.cta.shared.add.u32") && ptx.contains("atom.relaxed.gpu.global.add.u32"));
    Ok(())
}

/// An example, and the text that its PTX for sm_90 must contain.
struct Example {
    name: &'static str,
    expected: &'static [&'static str],
}

static EXAMPLES: [Example; 2] = [
    Example {
        name: "histogram.mlir",
        expected: &["atom.relaxed.cta.shared.add.u32", "atom.relaxed.gpu.global.add.u32", "bar.sync", "st.shared.b32"],
    },
    Example { name: "reduce.mlir", expected: &["atom.acq_rel.gpu.global.add.u32", "bar.sync", "shfl.sync"] },
];

impl Example {
    fn check(&self) -> Result<(), Failed> {
        let path = Path::new("examples/mlir").join(self.name);
        for (sm, ptx) in
            [("sm_60", "ptx63"), ("sm_75", "ptx63"), ("sm_86", "ptx78"), ("sm_90", "ptx78"), ("sm_120", "ptx88")]
        {
            let target = target(sm, Some(ptx));
            let text = success(&mut lower(&format!("{} --mcpu {sm} --mattr +{ptx}", path.display())))?;
            assert!(text.contains(".visible .entry "));
            let mut known = ASSEMBLERS.iter().filter(|assembler| assembler.knows(&target));
            known.try_for_each(|assembler| assembler.assemble(&target, text.as_bytes()))?;
            if sm == "sm_90" {
                let missing = self.expected.iter().filter(|expected| !text.contains(**expected)).join(", ");
                assert!(missing.is_empty(), "no {missing} in\n{text}");
            }
        }
        Ok(())
    }
}
