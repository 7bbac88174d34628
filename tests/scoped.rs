//! Kernels that use `ptx-atomics-scope`: every operation × type × ordering × scope becomes the PTX of the same operation
//! in LLVM IR.

use std::{collections::BTreeMap, fmt::Write, fs, path::Path};

use itertools::{Itertools, iproduct};
use libtest_mimic::{Failed, Trial};
use ptx_atomics::{
    llvm::{Embed, Input, Options},
    ptx_from_llvm_ir,
};
use testing::{
    ASSEMBLERS,
    examples::{rustc_missing, to_llvm_ir},
    ptx_atomics, root, success, target,
};

/// A word in Rust and in LLVM IR.
type Word = (&'static str, &'static str);

const SCOPES: [Word; 4] = [
    ("Block", r#"syncscope("block")"#),
    ("Cluster", r#"syncscope("cluster")"#),
    ("Device", r#"syncscope("device")"#),
    ("System", ""),
];
const RELAXED: Word = ("Ordering::Relaxed", "monotonic");
const ACQUIRE: Word = ("Ordering::Acquire", "acquire");
const RELEASE: Word = ("Ordering::Release", "release");
const ACQ_REL: Word = ("Ordering::AcqRel", "acq_rel");
const SEQ_CST: Word = ("Ordering::SeqCst", "seq_cst");

/// A type of `core`, its value in Rust and in LLVM IR, the attribute of a parameter that is narrower than a register,
/// and the type in memory.
struct Type {
    atomic: &'static str,
    rust: &'static str,
    llvm: &'static str,
    extension: &'static str,
    memory: &'static str,
}

#[rustfmt::skip]
const TYPES: [Type; 12] = [
    Type { atomic: "AtomicBool",        rust: "bool",    llvm: "i1",  extension: "zeroext", memory: "i8" },
    Type { atomic: "AtomicI8",          rust: "i8",      llvm: "i8",  extension: "signext", memory: "i8" },
    Type { atomic: "AtomicU8",          rust: "u8",      llvm: "i8",  extension: "zeroext", memory: "i8" },
    Type { atomic: "AtomicI16",         rust: "i16",     llvm: "i16", extension: "signext", memory: "i16" },
    Type { atomic: "AtomicU16",         rust: "u16",     llvm: "i16", extension: "zeroext", memory: "i16" },
    Type { atomic: "AtomicI32",         rust: "i32",     llvm: "i32", extension: "",        memory: "i32" },
    Type { atomic: "AtomicU32",         rust: "u32",     llvm: "i32", extension: "",        memory: "i32" },
    Type { atomic: "AtomicI64",         rust: "i64",     llvm: "i64", extension: "",        memory: "i64" },
    Type { atomic: "AtomicU64",         rust: "u64",     llvm: "i64", extension: "",        memory: "i64" },
    Type { atomic: "AtomicIsize",       rust: "isize",   llvm: "i64", extension: "",        memory: "i64" },
    Type { atomic: "AtomicUsize",       rust: "usize",   llvm: "i64", extension: "",        memory: "i64" },
    Type { atomic: "AtomicPtr<[u16;3]>", rust: "*mut [u16;3]", llvm: "ptr", extension: "",  memory: "ptr" },
];

/// A function in Rust and in LLVM IR: parameters, result and body of each.
struct Function {
    rust: String,
    llvm: String,
}

pub fn trials() -> Vec<Trial> {
    let missing = rustc_missing("").or_else(|| ASSEMBLERS.iter().find_map(|assembler| assembler.missing()));
    let trial = |name: &str, test: Box<dyn FnOnce() -> Result<(), Failed> + Send>| {
        testing::trial(name.to_owned(), missing, test)
    };
    let mut trials: Vec<Trial> = Vec::new();
    let of_types = TYPES.map(|ty| {
        trial(
            &format!("every operation of {} equals LLVM IR's", ty.atomic),
            Box::new(move || compare(&operations(&ty))),
        )
    });
    trials.extend(testing::one_of(5, of_types));
    trials.push(trial("every fence equals LLVM IR's", Box::new(|| compare(&fences()))));
    trials.push(trial("an ordering at run time selects its case", Box::new(ordering_at_run_time)));
    for (sm, ptx) in [("sm_70", "ptx60"), ("sm_90", "ptx86")] {
        trials.push(trial(&format!("examples/scoped.rs for {sm}"), Box::new(move || example(sm, ptx))));
    }
    trials.push(trial("a program without the pass does not link", Box::new(forgotten)));
    trials.push(trial("check judges a source after the pass", Box::new(checked_source)));
    trials.push(Trial::test("check reads markers", checked));
    trials.push(Trial::test("LLVM IR has no marker", none_left));
    trials.push(Trial::test("the library reads markers", library));
    trials
}

fn fences() -> Vec<Function> {
    let function = |((scope, syncscope), (rust, llvm)): (Word, Word)| Function {
        rust: format!("() {{ fence::<{scope}>({rust}) }}"),
        llvm: format!("void () {{ fence {syncscope} {llvm} ret void }}"),
    };
    iproduct!(SCOPES, [ACQUIRE, RELEASE, ACQ_REL, SEQ_CST]).map(function).collect()
}

/// Every operation of a type.
fn operations(ty: &Type) -> Vec<Function> {
    let Type { atomic, rust, llvm, extension, memory } = ty;
    let bool = *rust == "bool";
    let align = match *memory {
        "i8" => 1,
        "i16" => 2,
        "i32" => 4,
        _ => 8,
    };
    // A boolean is a byte in memory.
    let into = |value: &str| if bool { format!("%{value}.m = zext i1 %{value} to i8 ") } else { String::new() };
    let m = if bool { ".m" } else { "" };
    let back = if bool { "%r = icmp ne i8 %old, 0 ret i1 %r" } else { &format!("ret {llvm} %old") };
    let mut functions = Vec::new();
    for (scope, syncscope) in SCOPES {
        let this = format!("this: &Scoped<{atomic}, {scope}>");
        let mut add = |rust: String, llvm: String| functions.push(Function { rust, llvm });
        for (order, ordering) in [RELAXED, ACQUIRE, SEQ_CST] {
            add(
                format!("({this}) -> {rust} {{ this.load({order}) }}"),
                format!(
                    "{extension} {llvm} (ptr %p) {{ %old = load atomic {memory}, ptr %p {syncscope} {ordering}, align {align} {back} }}"
                ),
            );
        }
        for (order, ordering) in [RELAXED, RELEASE, SEQ_CST] {
            add(
                format!("({this}, v: {rust}) {{ this.store(v, {order}) }}"),
                format!(
                    "void (ptr %p, {llvm} {extension} %v) {{ {}store atomic {memory} %v{m}, ptr %p {syncscope} {ordering}, align {align} ret void }}",
                    into("v")
                ),
            );
        }
        for (order, ordering) in [RELAXED, ACQUIRE, RELEASE, ACQ_REL, SEQ_CST] {
            for (method, op) in [("swap", "xchg")].into_iter().chain(value_methods(ty)) {
                add(
                    format!("({this}, v: {rust}) -> {rust} {{ this.{method}(v, {order}) }}"),
                    format!(
                        "{extension} {llvm} (ptr %p, {llvm} {extension} %v) {{ {}%old = atomicrmw {op} ptr %p, {memory} %v{m} {syncscope} {ordering} {back} }}",
                        into("v")
                    ),
                );
            }
            for (call, op, constant) in boolean_methods(ty) {
                add(
                    format!("({this}) -> bool {{ this.{call}{order}) }}"),
                    format!(
                        "zeroext i1 (ptr %p) {{ %old = atomicrmw {op} ptr %p, i8 {constant} {syncscope} {ordering} {back} }}"
                    ),
                );
            }
            for (method, op, scaled) in address_methods(ty) {
                let scale = if scaled { "%n = mul i64 %v, 6" } else { "%n = add i64 %v, 0" };
                add(
                    format!("({this}, v: usize) -> {rust} {{ this.{method}(v, {order}) }}"),
                    format!(
                        "ptr (ptr %p, i64 %v) {{ {scale} %old = atomicrmw {op} ptr %p, i64 %n {syncscope} {ordering} %r = inttoptr i64 %old to ptr ret ptr %r }}"
                    ),
                );
            }
            for (failure, on_failure) in [RELAXED, ACQUIRE, SEQ_CST] {
                let parameters = format!("({this}, a: {rust}, b: {rust})");
                let exchange = format!(
                    "(ptr %p, {llvm} {extension} %a, {llvm} {extension} %b) {{ {}{}%x = cmpxchg ptr %p, {memory} %a{m}, {memory} %b{m} {syncscope} {ordering} {on_failure}",
                    into("a"),
                    into("b"),
                );
                add(
                    format!(
                        "{parameters} -> {rust} {{ match this.compare_exchange(a, b, {order}, {failure}) {{ Ok(v) | Err(v) => v }} }}"
                    ),
                    format!("{extension} {llvm} {exchange} %old = extractvalue {{ {memory}, i1 }} %x, 0 {back} }}"),
                );
                add(
                    format!("{parameters} -> bool {{ this.compare_exchange_weak(a, b, {order}, {failure}).is_ok() }}"),
                    format!("zeroext i1 {exchange} %ok = extractvalue {{ {memory}, i1 }} %x, 1 ret i1 %ok }}"),
                );
            }
        }
    }
    functions
}

/// The methods of a value that correspond to one `atomicrmw`.
fn value_methods(ty: &Type) -> Vec<Word> {
    let bits = [("fetch_and", "and"), ("fetch_or", "or"), ("fetch_xor", "xor")];
    let integers = [("fetch_add", "add"), ("fetch_sub", "sub"), ("fetch_nand", "nand")];
    let order = if ty.rust.starts_with('i') {
        [("fetch_max", "max"), ("fetch_min", "min")]
    } else {
        [("fetch_max", "umax"), ("fetch_min", "umin")]
    };
    match ty.llvm {
        "ptr" => vec![],
        "i1" => bits.to_vec(),
        _ => [&bits[..], &integers, &order].concat(),
    }
}

/// The call prefixes of a boolean's other methods, and their effects on the byte.
fn boolean_methods(ty: &Type) -> Vec<(&'static str, &'static str, u8)> {
    let all = [("fetch_not(", "xor", 1), ("fetch_nand(true, ", "xor", 1), ("fetch_nand(false, ", "xchg", 1)];
    if ty.rust == "bool" { all.to_vec() } else { vec![] }
}

/// The methods of an address, and whether they count elements.
fn address_methods(ty: &Type) -> Vec<(&'static str, &'static str, bool)> {
    let all = [
        ("fetch_ptr_add", "add", true),
        ("fetch_ptr_sub", "sub", true),
        ("fetch_byte_add", "add", false),
        ("fetch_byte_sub", "sub", false),
        ("fetch_or", "or", false),
        ("fetch_and", "and", false),
        ("fetch_xor", "xor", false),
    ];
    if ty.llvm == "ptr" { all.to_vec() } else { vec![] }
}

const HEAD: &str = "#![no_std]
use core::sync::atomic::*;
use ptx_atomics_scope::{Block, Cluster, Device, Scoped, System, fence};
#[panic_handler] fn panic(_: &core::panic::PanicInfo) -> ! { loop {} }
";

/// Lowers the functions in both languages, and compares the PTX of each function.
fn compare(functions: &[Function]) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let (kernel, direct) = (folder.path().join("kernel.rs"), folder.path().join("direct.ll"));
    let mut rust = HEAD.to_owned();
    let mut llvm = "target triple = \"nvptx64-nvidia-cuda\"\n".to_owned();
    for (number, function) in functions.iter().enumerate() {
        writeln!(rust, "#[unsafe(no_mangle)] pub extern \"C\" fn f{number}{}", function.rust)?;
        let (result, rest) = function.llvm.split_once('(').ok_or("parameters")?;
        writeln!(llvm, "define {result}@f{number}({rest}")?;
    }
    fs::write(&kernel, rust)?;
    fs::write(&direct, llvm)?;
    let expected = bodies(&lower(&direct, "-O2")?);
    assert_eq!(expected.len(), functions.len());
    for level in ["0", "3"] {
        let ir = to_llvm_ir(&kernel, &[("OPT", level)])?;
        let ptx = lower(ir.path(), "-O2")?;
        let found = bodies(&ptx);
        for (number, function) in functions.iter().enumerate() {
            let name = format!("f{number}");
            let (expected, found) = (&expected[&name], found.get(&name).ok_or(format!("no function {name}"))?);
            if expected != found {
                let text = |lines: &[String]| lines.join("\n");
                return Err(format!(
                    "at opt-level {level}, {}\ngives\n{}\nand\n{}\ngives\n{}",
                    function.rust,
                    text(found),
                    function.llvm,
                    text(expected)
                )
                .into());
            }
        }
        for ptx in [ptx, lower(ir.path(), "-O0")?] {
            assert!(!ptx.contains("ptx_atomics$"), "expected no marker");
            ASSEMBLERS[2].assemble(&target("sm_90", Some("ptx78")), ptx.as_bytes())?;
        }
    }
    Ok(())
}

fn lower(ir: &Path, level: &str) -> Result<String, Failed> {
    success(ptx_atomics().args(["lower", level, "--mcpu", "sm_90", "--mattr", "+ptx78"]).arg(ir))
}

/// The instructions of each function of a PTX module.
fn bodies(ptx: &str) -> BTreeMap<String, Vec<String>> {
    let debug = |line: &&str| ![".loc", "$L__tmp", "$L__func_", "//"].iter().any(|start| line.starts_with(start));
    let functions = ptx.split(".visible .func").skip(1).filter_map(|text| {
        let (head, body) = text.split_once("\n{")?;
        let name = head.lines().next()?.rsplit_once('(')?.0.split_whitespace().last()?;
        let body = body.split("\n}").next()?.lines().map(str::trim).filter(|line| !line.is_empty());
        Some((name.to_owned(), body.filter(debug).map(str::to_owned).collect_vec()))
    });
    functions.collect()
}

/// An ordering that is a parameter selects among all orderings. LLVM must not merge the cases.
fn ordering_at_run_time() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let kernel = folder.path().join("kernel.rs");
    let function = "#[unsafe(no_mangle)] pub fn f(this: &Scoped<AtomicU32, Device>, order: Ordering) -> u32 \
                    { this.fetch_add(1, order) }";
    fs::write(&kernel, format!("{HEAD}{function}"))?;
    for level in ["0", "3"] {
        let ptx = lower(to_llvm_ir(&kernel, &[("OPT", level)])?.path(), "-O2")?;
        for semantics in ["relaxed", "acquire", "release", "acq_rel"] {
            assert!(ptx.contains(&format!("atom.{semantics}.gpu.add.u32")), "{level} {semantics}:\n{ptx}");
        }
        assert_eq!(ptx.matches("fence.sc.gpu").count(), 1, "{level}:\n{ptx}");
    }
    Ok(())
}

fn example(sm: &'static str, ptx: &'static str) -> Result<(), Failed> {
    for level in ["0", "3"] {
        let variables = [("CPU", sm), ("PTX", ptx), ("OPT", level)];
        let ir = to_llvm_ir(&root().join("examples/scoped.rs"), &variables)?;
        let lowered = tempfile::NamedTempFile::new()?;
        let output = ptx_atomics().args(["lower", "-O2", "-v", "-o"]).arg(lowered.path()).arg(ir.path()).output()?;
        let said = String::from_utf8(output.stderr)?;
        let place =
            "examples/scoped.rs:53: in 'sum_of_parts': atomicrmw add i32 addrspace(1) syncscope(\"device\") acq_rel";
        assert!(said.contains(place), "at opt-level {level}:\n{said}");
        let text = fs::read_to_string(lowered.path())?;
        for (instruction, count) in [
            ("atom.relaxed.cta.global.add.u32", 1),
            ("atom.relaxed.gpu.global.add.u32", 2),
            ("atom.acq_rel.gpu.global.add.u32", 1),
            ("st.release.cta.global.b8", 1),
            // Without acquire-only fences, the load in the loop acquires. Within a CTA that costs nothing, in contrast
            // to a fence.
            (if ptx == "ptx86" { "fence.acquire.cta" } else { "ld.acquire.cta.global.b8" }, 1),
            ("fence.acq_rel", 0),
            (".sys", 0),
        ] {
            assert_eq!(text.matches(instruction).count(), count, "{instruction}:\n{text}");
        }
        let target = target(sm, Some(ptx));
        let mut known = ASSEMBLERS.iter().filter(|assembler| assembler.knows(&target));
        known.try_for_each(|assembler| assembler.assemble(&target, text.as_bytes()))?;
    }
    Ok(())
}

/// `check` judges the PTX after the pass. The markers in the source's own PTX are not a program.
fn checked_source() -> Result<(), Failed> {
    let checked = ptx_atomics().arg("check").arg(root().join("examples/scoped.rs")).output()?;
    let said = String::from_utf8_lossy(&[checked.stdout, checked.stderr].concat()).into_owned();
    assert!(said.contains("order (2 free; 10 operations)") && !said.contains("error"), "{said}");
    Ok(())
}

/// `ptx-atomics check` reads the operations in markers, and the atomics between them.
fn checked() -> Result<(), Failed> {
    let (ir, ptx) = ("tests/inputs/scoped.ll", tempfile::NamedTempFile::new()?);
    success(ptx_atomics().args(["lower", ir, "-o"]).arg(ptx.path()))?;
    let check = || -> Result<String, Failed> {
        Ok(String::from_utf8(ptx_atomics().args(["check", "--ir", ir, "--ptx"]).arg(ptx.path()).output()?.stderr)?)
    };
    assert_eq!(check()?, "13 atomics and fences: 13 kept, 0 not, 0 not checked\n");
    let text = fs::read_to_string(ptx.path())?;
    fs::write(ptx.path(), text.replace(".gpu", ".cta"))?;
    let said = check()?;
    assert!(said.contains("13 atomics and fences: 9 kept, 4 not"), "{said}");
    assert!(said.contains("27 |   %b = load atomic i32, ptr addrspace(1) %p syncscope(\"device\") acquire"), "{said}");
    assert_eq!(said.matches(" --> ").count(), 1, "markers have no lines:\n{said}");
    Ok(())
}

/// The library's function gives the command's output.
fn library() -> Result<(), Failed> {
    let path = "tests/inputs/scoped.ll";
    let input = Input::new(path, fs::read(root().join(path))?);
    // The library leaves operations to LLVM, as the command does, only if it is asked to.
    let options = Options { embed: Embed::Native, ..Options::new(target("sm_90", None)) };
    let ptx = ptx_from_llvm_ir(&input, &options).map_err(|errors| format!("{errors:#?}"))?;
    assert_eq!(String::from_utf8(ptx)?, success(ptx_atomics().args(["lower", path]))?);
    Ok(())
}

/// The output has no declarations of markers either.
fn none_left() -> Result<(), Failed> {
    let ir = success(ptx_atomics().args(["lower", "--emit", "llvm-ir", "tests/inputs/scoped.ll"]))?;
    assert!(!ir.contains("ptx_atomics$"), "{ir}");
    Ok(())
}

/// rustc alone emits calls of undefined functions.
fn forgotten() -> Result<(), Failed> {
    let plain = to_llvm_ir(&root().join("examples/scoped.rs"), &[("PLAIN", "1")])?;
    let ptx = fs::read(plain.path())?;
    let (target, output) = (target("sm_90", Some("ptx78")), tempfile::NamedTempFile::new()?);
    let error = ASSEMBLERS[2].assemble_to(output.path(), &target, &ptx).expect_err("a symbol is undefined");
    let said = error.message().unwrap_or_default().to_owned();
    assert!(said.contains("Unresolved extern function 'ptx_atomics$"), "{said}");
    Ok(())
}
