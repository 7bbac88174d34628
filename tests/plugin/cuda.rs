//! CUDA's own atomics, as clang's header and the headers of the SDK define them. On every path to PTX, each has the
//! ordering and the scope that nvcc gives it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use itertools::{Itertools, iproduct};
use libtest_mimic::{Failed, Trial};

use testing::{ASSEMBLERS, llvm_version, plugin::plugin, ptx_atomics, root, success, target, tool};

use crate::plugin::{
    hosts::{Host, filter},
    languages::judge,
};

/// A function of a header.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Function {
    result: String,
    name: String,
    /// The type in memory.
    ty: String,
    /// The number of parameters, including the address.
    parameters: usize,
}

impl Function {
    /// Parses `RESULT NAME(TYPE *address, …)`, if it declares an atomic.
    fn parse(text: &str) -> Option<Self> {
        let (head, rest) = text.split_once('(')?;
        let parameters: Vec<_> = rest.split_once(')')?.0.split(',').collect();
        let (result, name) = head.trim().rsplit_once(char::is_whitespace)?;
        let (ty, _) = parameters[0].split_once('*')?;
        let words = |text: &str| text.split_whitespace().join(" ");
        let is_atomic = name.starts_with("atomic") || name.contains("Atomic");
        let parameters = parameters.len();
        is_atomic.then(|| Self { result: words(result), name: name.into(), ty: words(ty), parameters })
    }

    /// The meaning of its name in PTX: ordering, scope, operation.
    fn meaning(&self) -> [String; 3] {
        let (_, name) = self.name.split_once("tomic").expect("an atomic");
        let (operation, scope) = name.split_once('_').unwrap_or((name, ""));
        let scope = match scope {
            "" => "gpu",
            "block" => "cta",
            "system" => "sys",
            other => panic!("{other}"),
        };
        let bits = match &*self.ty {
            "unsigned short" | "unsigned short int" => "16",
            "int" | "unsigned int" | "float" => "32",
            _ => "64",
        };
        let sign = if self.ty.starts_with("unsigned") { "u" } else { "s" };
        let float = matches!(&*self.ty, "float" | "double");
        let operation = match (&*operation.to_lowercase(), sign) {
            ("add" | "sub", _) if float => format!("add.f{bits}"),
            ("add" | "sub", _) => format!("add.{bits}"),
            (order @ ("min" | "max"), sign) => format!("{order}.{sign}{bits}"),
            (other, _) => format!("{other}.{bits}"),
        };
        ["relaxed".into(), scope.into(), operation]
    }
}

/// The atomic functions of clang's header.
fn of_clang() -> Result<Vec<Function>, Failed> {
    let folder = success(Command::new(tool("clang")).arg("-print-resource-dir"))?;
    let text = fs::read_to_string(Path::new(folder.trim()).join("include/__clang_cuda_device_functions.h"))?;
    let functions = text.split("__DEVICE__").filter_map(|text| text.split_once('{'));
    let functions: Vec<_> = functions
        .filter(|(_, body)| body.split('}').next().is_some_and(|body| body.contains("__nvvm_atom_")))
        .map(|(head, _)| Function::parse(head).ok_or_else(|| head.into()))
        .collect::<Result<_, Failed>>()?;
    assert_eq!(functions.len(), text.matches("__nvvm_atom_").count(), "functions of the header");
    assert!(functions.len() > 90, "{}", functions.len());
    Ok(functions)
}

/// The overloads of `atomicAdd` and similar functions that the SDK's headers define with the functions of clang's
/// header.
fn of_sdk() -> Result<Vec<Function>, Failed> {
    let mut functions = BTreeSet::new();
    for header in
        ["device_atomic_functions", "sm_20_atomic_functions", "sm_32_atomic_functions", "sm_60_atomic_functions"]
    {
        let text = fs::read_to_string(sdk().join(format!("include/{header}.hpp")))?;
        functions.extend(text.split("_FUNCTIONS_DECL__").skip(1).filter_map(Function::parse));
    }
    assert!(functions.len() > 90, "{}", functions.len());
    Ok(functions.into_iter().collect())
}

/// A program with a kernel for each function.
fn program(functions: &[Function]) -> String {
    let kernel = |(index, Function { result, name, ty, parameters }): (usize, &Function)| {
        let last = if *parameters == 3 { "v, w" } else { "v" };
        format!(
            "extern \"C\" __global__ void k{index}({ty} *p, {ty} v, {ty} w, {result} *out) {{ *out = {name}(p, {last}); }}\n"
        )
    };
    functions.iter().enumerate().map(kernel).join("")
}

/// The ordering, scope and operation of each atomic or ordering instruction in each kernel of a program. Calls are
/// followed.
fn meanings(ptx: &str) -> Vec<Vec<[String; 3]>> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    let functions = ptx.split("\n}").filter_map(|text| {
        let (head, body) = text.split_once("\n{")?;
        let heads = head.match_indices('(').map(|(index, _)| head[..index].rsplit(|c| !is_name(c)).next());
        Some((heads.flatten().rfind(|name| !name.is_empty())?, body))
    });
    let functions: BTreeMap<_, _> = functions.collect();
    let kernels = (0..).map_while(|number| functions.get(&*format!("k{number}")));
    kernels.map(|body| followed(body, &functions)).collect()
}

fn followed(body: &str, functions: &BTreeMap<&str, &str>) -> Vec<[String; 3]> {
    let called = |text: &&str| {
        let call = text.trim().strip_prefix("call")?;
        functions.iter().find(|(name, _)| call.contains(&format!(" {name}, "))).map(|(_, body)| *body)
    };
    let statements = body.split([';', '\n', '{']);
    let each = |text| called(&text).map_or(meaning(text).into_iter().collect(), |body| followed(body, functions));
    statements.flat_map(each).collect()
}

/// The ordering, scope and operation of an instruction.
fn meaning(text: &str) -> Option<[String; 3]> {
    let mut words = text.split_whitespace().find(|word| !word.starts_with('@'))?.split('.').collect_vec();
    let opcode = words.remove(0);
    let mut take = |known: &[&str], default: &str| {
        let found = words.iter().position(|word| known.contains(word));
        found.map_or(default.to_owned(), |index| words.remove(index).to_owned())
    };
    let default = if matches!(opcode, "atom" | "red") { "relaxed" } else { "" };
    let order = take(&["relaxed", "acquire", "release", "acq_rel", "sc", "volatile"], default);
    let scope = take(&["cta", "cluster", "gpu", "sys", "gl"], "gpu");
    let _space = take(&["global", "shared"], "");
    let operation = match opcode {
        "atom" | "red" => {
            let signless = |ty: &str| match words[0] {
                "min" | "max" => ty.to_owned(),
                _ => ty.trim_start_matches(['u', 's', 'b']).to_owned(),
            };
            format!("{}.{}", words[0], words[1..].iter().map(|ty| signless(ty)).join("."))
        }
        "fence" | "membar" => opcode.to_owned(),
        _ if !order.is_empty() => opcode.to_owned(),
        _ => return None,
    };
    Some([order, scope, operation])
}

/// Compares PTX with the meanings of the functions. Only 16-bit operations may be a loop, over the enclosing word.
fn compare(functions: &[Function], ptx: &str) -> Result<(), Failed> {
    let found = meanings(ptx);
    assert_eq!(found.len(), functions.len(), "kernels in\n{ptx}");
    for (function, found) in functions.iter().zip(found) {
        let [order, scope, operation] = function.meaning();
        let right = match operation.strip_suffix(".16") {
            Some(operation) => {
                let same = |[its_order, its_scope, its]: &[String; 3]| {
                    (its_order, its_scope) == (&order, &scope) && (its.starts_with(operation) || its == "ld")
                };
                !found.is_empty() && found.iter().all(same)
            }
            None => found == [[order.clone(), scope.clone(), operation.clone()]],
        };
        if !right {
            let Function { name, ty, .. } = function;
            return Err(format!("{name}({ty} *) is {order} {scope} {operation}, not {found:?}").into());
        }
    }
    Ok(())
}

/// The paths from clang to PTX on which the plugin recognizes the functions.
#[derive(Clone, Copy)]
enum Route {
    Clang(&'static str),
    /// The command, on IR of clang with these flags.
    Command(&'static [&'static str]),
    /// opt with its pipeline, on unoptimized IR.
    Opt,
    /// llc, on inlined IR with line information, because llc does not inline.
    Llc,
}

const UNOPTIMIZED: &[&str] = &["-O2", "-Xclang", "-disable-llvm-passes"];

const INLINED_WITH_LINES: &[&str] = &["-O2", "-gline-tables-only"];

const ROUTES: [(&str, Route); 8] = [
    ("clang -O0", Route::Clang("-O0")),
    ("clang -O2", Route::Clang("-O2")),
    ("the command on unoptimized IR", Route::Command(UNOPTIMIZED)),
    ("the command on unoptimized IR of -O0", Route::Command(&["-O0", "-Xclang", "-disable-llvm-passes"])),
    ("the command on IR of -O0 -g", Route::Command(&["-O0", "-g"])),
    ("the command on inlined IR with lines", Route::Command(INLINED_WITH_LINES)),
    ("opt", Route::Opt),
    ("llc", Route::Llc),
];

impl Route {
    fn compile(self, source: &Path, gpu: &str) -> Result<String, Failed> {
        match self {
            Self::Clang(level) => clang(source, gpu, &["-S", level, &format!("-fpass-plugin={}", plugin().display())]),
            Self::Command(flags) => {
                let ir = clang(source, gpu, &[&["-S", "-emit-llvm"], flags].concat())?;
                let file = tempfile::Builder::new().suffix(".ll").tempfile()?;
                fs::write(file.path(), &ir)?;
                let ptx = success(ptx_atomics().args(["lower", "-O2"]).arg(file.path()))?;
                // On the other paths, the functions of the IR are inlined only in the PTX.
                if flags == INLINED_WITH_LINES {
                    judge(&ir, &ptx)?;
                }
                Ok(ptx)
            }
            Self::Opt | Self::Llc => {
                let flags = if matches!(self, Self::Llc) { INLINED_WITH_LINES } else { UNOPTIMIZED };
                let ir = clang(source, gpu, &[&["-S", "-emit-llvm"], flags].concat())?;
                let load = format!("-load-pass-plugin={}", plugin().display());
                let mcpu = format!("-mcpu={gpu}");
                if matches!(self, Self::Llc) {
                    return Ok(filter(Command::new(tool("llc")).args([&load, &mcpu]), &ir)?.0);
                }
                let lowered = filter(Command::new(tool("opt")).args([&load, "-passes=default<O2>", "-S"]), &ir)?.0;
                Ok(filter(Command::new(tool("llc")).arg(&mcpu), &lowered)?.0)
            }
        }
    }
}

fn sdk() -> PathBuf {
    root().join(".tools/cuda-12.9/sdk")
}

fn nvcc() -> PathBuf {
    root().join(".tools/cuda-13.5/nvidia/cu13/bin/nvcc")
}

/// Compiles a CUDA program to PTX or IR.
fn clang(source: &Path, gpu: &str, flags: &[&str]) -> Result<String, Failed> {
    let mut clang = Command::new(tool("clang"));
    clang.args(["-Wno-unknown-cuda-version", "-x", "cuda", "--cuda-device-only", "-o", "-"]);
    clang.arg(format!("--cuda-gpu-arch={gpu}")).arg(format!("--cuda-path={}", sdk().display())).args(flags).arg(source);
    success(&mut clang)
}

fn source(text: &str) -> Result<tempfile::NamedTempFile, Failed> {
    let file = tempfile::Builder::new().suffix(".cu").tempfile()?;
    fs::write(file.path(), text)?;
    Ok(file)
}

pub fn trials() -> Vec<Trial> {
    let missing = Host::Clang.missing().or((!sdk().exists()).then_some("CUDA's headers"));
    let missing = missing.or(ASSEMBLERS[1].missing());
    let mut trials = Vec::new();
    for (of, functions) in [("clang's", of_clang as fn() -> _), ("CUDA's", of_sdk)] {
        for (turn, ((name, route), gpu)) in iproduct!(ROUTES, ["sm_70", "sm_90"]).enumerate() {
            let trial = testing::trial(format!("{of} atomics by {name} for {gpu}"), missing, move || {
                let functions: Vec<Function> = functions()?;
                let ptx = route.compile(source(&program(&functions))?.path(), gpu)?;
                compare(&functions, &ptx)?;
                ASSEMBLERS[1].assemble(&target(gpu, Some("ptx88")), ptx.as_bytes())
            });
            // A route runs for one of the two GPUs, in turn.
            trials.push(if turn % 4 == 0 || turn % 4 == 3 { trial } else { testing::left_to_all(trial) });
        }
        let no_nvcc = missing.or((!nvcc().exists()).then_some("nvcc (scripts/install peers)"));
        trials.push(testing::trial(format!("{of} atomics by nvcc"), no_nvcc, move || {
            // nvcc has no 16-bit functions with a scope by this name.
            let functions: Vec<Function> = functions()?;
            let functions = functions.into_iter().filter(|function| !function.name.starts_with("__usAtomicCAS_"));
            let functions = functions.collect_vec();
            for gpu in ["sm_75", "sm_90"] {
                let (source, output) = (source(&program(&functions))?, tempfile::NamedTempFile::new()?);
                let mut nvcc = Command::new(nvcc());
                success(nvcc.args(["-ptx", &format!("-arch={gpu}"), "-o"]).arg(output.path()).arg(source.path()))?;
                compare(&functions, &fs::read_to_string(output.path())?)?;
            }
            Ok(())
        }));
    }
    trials.push(testing::trial("the plugin keeps fences and builtins".into(), missing, otherwise));
    trials.push(testing::trial("cuda-atomics=off keeps CUDA's atomics".into(), missing, off));
    trials.push(Trial::test("the plugin keeps functions that look like CUDA's", look_alikes));
    trials
}

/// The plugin does not change fences, or builtins without a function in the header.
fn otherwise() -> Result<(), Failed> {
    let source = source(
        "extern \"C\" __global__ void k0() { __threadfence(); __threadfence_block(); __threadfence_system(); }
         extern \"C\" __global__ void k1(int *p, int *out) { *out = __nvvm_atom_add_gen_i(p, 1); }
         extern \"C\" __global__ void k2(int *p, int *out) { *out = __atomic_fetch_add(p, 1, __ATOMIC_SEQ_CST); }",
    )?;
    let words = |list: &[[&str; 3]]| list.iter().map(|words| words.map(str::to_owned)).collect_vec();
    let fences = words(&[["", "gl", "membar"], ["", "cta", "membar"], ["", "sys", "membar"]]);
    let seq_cst = words(&[["sc", "sys", "fence"], ["acquire", "sys", "add.32"]]);
    // From clang 23 on, the builtins are relaxed even without the plugin.
    let builtin = if llvm_version() < 23 { seq_cst.clone() } else { words(&[["relaxed", "sys", "add.32"]]) };
    for (name, route) in ROUTES {
        let ptx = route.compile(source.path(), "sm_90")?;
        assert_eq!(meanings(&ptx), [fences.clone(), builtin.clone(), seq_cst.clone()], "{name}:\n{ptx}");
    }
    Ok(())
}

const ONE: &str = "extern \"C\" __global__ void k0(int *p, int *out) { *out = atomicAdd(p, 1); }";

/// Each way to set the option, and the remark that names the function.
fn off() -> Result<(), Failed> {
    let source = source(ONE)?;
    let ir = clang(source.path(), "sm_90", &[&["-S", "-emit-llvm"], UNOPTIMIZED].concat())?;
    let (on, off) = ("atom.relaxed.gpu.", if llvm_version() < 23 { "fence.sc.sys" } else { "atom.relaxed.sys." });
    let remark = "syncscope(\"device\") monotonic (CUDA's atomicAdd) became";
    let load = format!("-load-pass-plugin={}", plugin().display());
    let opt = |variable: &str, passes: &str, ir: &str| -> Result<(String, String), Failed> {
        let mut opt = Command::new(tool("opt"));
        opt.args([&load, "-S", "-pass-remarks=ptx-atomics", &format!("-passes={passes}")]);
        filter(opt.env("PTX_ATOMICS", variable), ir)
    };
    let named = "always-inline,ptx-atomics<cuda-atomics=off>";
    let started = "ptx-atomics-start<cuda-atomics=off>,always-inline,ptx-atomics<cuda-atomics=off>";
    for (variable, passes, wanted) in [
        ("", "default<O0>", on),
        ("cuda-atomics=on", "default<O2>", on),
        ("", "ptx-atomics", on),
        ("cuda-atomics=off", "default<O0>", off),
        ("cuda-atomics=off", "default<O2>", off),
        ("", named, off),
        ("", started, off),
    ] {
        let (text, said) = opt(variable, passes, &ir)?;
        assert_eq!(
            (text.contains(on), text.contains(off)),
            (wanted == on, wanted == off),
            "{variable} {passes}: {text}"
        );
        assert_eq!(said.contains(remark), wanted == on, "{variable} {passes}: {said}");
        assert!(!text.contains("ptx-atomics.cuda"), "{text}");
    }
    let flag = ir.replace("!llvm.module.flags = !{", "!llvm.module.flags = !{!9999, ")
        + "!9999 = !{i32 1, !\"ptx-atomics\", !\"cuda-atomics=off\"}\n";
    assert!(opt("", "default<O2>", &flag)?.0.contains(off));
    assert!(opt("cuda-atomics=on", "default<O2>", &flag)?.0.contains(on));
    let file = tempfile::Builder::new().suffix(".ll").tempfile()?;
    let ptx = tempfile::NamedTempFile::new()?;
    for (text, flags, wanted) in [
        (&ir, &["-O2"][..], on),
        (&ir, &["-O2", "--cuda-atomics", "off"], off),
        (&flag, &["-O2"], off),
        (&flag, &["-O2", "--cuda-atomics=on"], on),
    ] {
        fs::write(file.path(), text)?;
        success(ptx_atomics().arg("lower").args(flags).arg(file.path()).arg("-o").arg(ptx.path()))?;
        let text = fs::read_to_string(ptx.path())?;
        assert_eq!((text.contains(on), text.contains(off)), (wanted == on, wanted == off), "{flags:?}: {text}");
    }
    // The PTX of llc 22 has CUDA's meaning, which is weaker than clang's IR.
    let ir = clang(source.path(), "sm_90", &[&["-S", "-emit-llvm"], INLINED_WITH_LINES].concat())?;
    fs::write(file.path(), &ir)?;
    fs::write(ptx.path(), filter(Command::new(tool("llc")).arg("-mcpu=sm_90"), &ir)?.0)?;
    for (flags, kept) in
        [(&[][..], true), (&["--cuda-atomics", "on"], true), (&["--cuda-atomics=off"], llvm_version() > 22)]
    {
        let mut check = ptx_atomics();
        check.arg("check").args(flags).arg("--ir").arg(file.path()).arg("--ptx").arg(ptx.path());
        assert_eq!(check.output()?.status.success(), kept, "check {flags:?}");
    }
    Ok(())
}

/// A function in the form that clang writes.
const WRAPPER: &str = "target triple = \"nvptx64-nvidia-cuda\"
define internal i32 @_ZL12__iAtomicAddPii(ptr %0, i32 %1) #0 {
  %3 = alloca ptr
  store ptr %0, ptr %3
  %5 = load ptr, ptr %3
  %6 = atomicrmw add ptr %5, i32 %1 seq_cst, align 4
  ret i32 %6
}
define i32 @f(ptr %p) {
  %old = call i32 @_ZL12__iAtomicAddPii(ptr %p, i32 1)
  ret i32 %old
}
attributes #0 = { alwaysinline convergent nounwind }
";

/// The same function, inlined, with debug information.
const INLINED: &str = "target triple = \"nvptx64-nvidia-cuda\"
define i32 @f(ptr %p) !dbg !3 {
  %old = atomicrmw add ptr %p, i32 1 seq_cst, align 4, !dbg !6
  ret i32 %old, !dbg !7
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!8}
!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !1, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: \"f.cu\", directory: \"/home\")
!2 = !DIFile(filename: \"/usr/include/__clang_cuda_device_functions.h\", directory: \"\")
!3 = distinct !DISubprogram(name: \"f\", file: !1, line: 1, type: !4, unit: !0, spFlags: DISPFlagDefinition)
!4 = !DISubroutineType(types: !{})
!5 = distinct !DISubprogram(name: \"__iAtomicAdd\", file: !2, line: 9, type: !4, unit: !0, spFlags: DISPFlagDefinition)
!6 = !DILocation(line: 9, column: 1, scope: !5, inlinedAt: !7)
!7 = !DILocation(line: 2, column: 1, scope: !3)
!8 = !{i32 2, !\"Debug Info Version\", i32 3}
";

/// A function with a scope.
const SCOPED: &str = "target triple = \"nvptx64-nvidia-cuda\"
define internal i32 @_ZL18__uAtomicMax_blockPjj(ptr %0, i32 %1) #0 {
  %3 = call i32 @llvm.nvvm.atomic.max.gen.i.cta.i32.p0(ptr %0, i32 %1)
  ret i32 %3
}
declare i32 @llvm.nvvm.atomic.max.gen.i.cta.i32.p0(ptr, i32)
define i32 @f(ptr %p) {
  %old = call i32 @_ZL18__uAtomicMax_blockPjj(ptr %p, i32 1)
  ret i32 %old
}
attributes #0 = { alwaysinline convergent nounwind }
";

/// A module, the instruction for CUDA's meaning, the number of changes that keep the function recognizable as clang's,
/// and the changes (as replacements of text). The later changes make a different function.
const CHANGES: [(&str, &str, usize, &[[&str; 2]]); 3] = [
    (
        SCOPED,
        "atom.relaxed.cta.max.u32",
        2,
        &[
            ["_ZL18__uAtomicMax_blockPjj", "_ZL18__uAtomicMax_blockPjj.7"],
            ["_ZL18__uAtomicMax_blockPjj", "__uAtomicMax_block"],
            ["atomic.max", "atomic.min"],
            ["gen.i.cta", "gen.i.sys"],
            ["_ZL18__uAtomicMax_blockPjj", "_ZL18__uAtomicMin_blockPjj"],
            ["_ZL18__uAtomicMax_blockPjj", "_ZL12__uAtomicMaxPjj"],
            ["_ZL18__uAtomicMax_blockPjj", "_ZL18__uAtomicCAS_blockPjjj"],
            ["internal", ""],
            ["alwaysinline", ""],
        ],
    ),
    (
        WRAPPER,
        "atom.relaxed.gpu.add.u32",
        3,
        &[
            ["_ZL12__iAtomicAddPii", "_ZL12__iAtomicAddPii.5"],
            ["_ZL12__iAtomicAddPii", "__iAtomicAdd"],
            ["seq_cst", "monotonic"],
            ["internal", ""],
            ["internal", "linkonce_odr"],
            ["alwaysinline", ""],
            ["atomicrmw add", "atomicrmw sub"],
            ["seq_cst", "acq_rel"],
            ["  ret i32 %6", "  fence seq_cst\n  ret i32 %6"],
            ["  ret i32 %6", "  store i32 1, ptr %0\n  ret i32 %6"],
            ["  ret i32 %6", "  call void @g()\n  ret i32 %6\n}\ndefine void @g() {\n  ret void"],
            ["  ret i32 %6", "  br label %7\n7:\n  ret i32 %6"],
            ["_ZL12__iAtomicAddPii", "_ZL11my_atomicAddPii"],
            ["_ZL12__iAtomicAddPii", "_ZL9atomicAddPii"],
            ["_ZL12__iAtomicAddPii", "_ZL14__iAtomicAdd_xPii"],
            ["_ZL12__iAtomicAddPii", "_ZL99__iAtomicAddPii"],
            ["_ZL12__iAtomicAddPii", "_Z12__iAtomicAddPii"],
        ],
    ),
    (
        INLINED,
        "atom.relaxed.gpu.add.u32",
        3,
        &[
            ["/usr/include/__clang", "include/__clang"],
            ["seq_cst", "monotonic"],
            ["__iAtomicAdd", "__ullAtomicXor"],
            ["__clang_cuda_device_functions.h", "my.h"],
            ["__clang_cuda_device_functions.h", "my__clang_cuda_device_functions.h"],
            ["__iAtomicAdd", "__iAtomicAddd"],
            ["__iAtomicAdd", "iAtomicAdd"],
            ["seq_cst", "acquire"],
            ["scope: !5, inlinedAt: !7", "scope: !3"],
            [", !dbg !6", ", !dbg !7"],
            ["scope: !5, inlinedAt", "scope: !9, inlinedAt"],
        ],
    ),
];

/// The plugin recognizes functions of clang's header and leaves every other function unchanged.
fn look_alikes() -> Result<(), Failed> {
    let has = |text: &str, wanted: &str| -> Result<bool, Failed> {
        let file = tempfile::Builder::new().suffix(".ll").tempfile()?;
        fs::write(file.path(), text)?;
        let ptx = success(ptx_atomics().args(["lower", "-O2", "--mcpu", "sm_90"]).arg(file.path()))?;
        assert!(ptx.contains("atom."), "{ptx}");
        Ok(ptx.contains(wanted))
    };
    // LLVM 23 turns the intrinsic of the first module into an atomic before the pass can see the function.
    for (text, wanted, same, changes) in CHANGES.into_iter().skip(usize::from(llvm_version() > 22)) {
        assert!(has(text, wanted)?, "{text}");
        for (index, [old, new]) in changes.iter().enumerate() {
            // A lexical block within a function's file is not the function.
            let block = "!9 = distinct !DILexicalBlock(scope: !5, file: !1, line: 9)\n";
            let changed = text.replace(old, new) + if new.contains("!9") { block } else { "" };
            assert!(text.contains(old), "{old}");
            assert_eq!(has(&changed, wanted)?, index < same, "{new}:\n{changed}");
        }
    }
    Ok(())
}
