//! SPIR-V: the same program in its dialect and in LLVM IR gives the same PTX. Further trials cover kernels, and ops
//! without a lowering.

use std::{collections::BTreeSet, fs, process::Command};

use itertools::{Itertools, iproduct};
use libtest_mimic::{Failed, Trial};

use testing::{ASSEMBLERS, exists, llvm_version, lower_to_assembly, ptx_atomics, success, target, tool};

use crate::mlir::equivalence::functions;

/// GPU and PTX version: a target with `membar`, a target with `fence`, and two targets with acquire and release.
const TARGETS: [(&str, &str); 4] = [("sm_35", "ptx60"), ("sm_70", "ptx60"), ("sm_90", "ptx78"), ("sm_90", "ptx86")];

pub fn trials() -> Vec<Trial> {
    let grid = TARGETS.into_iter().enumerate().map(|(index, (sm, ptx))| {
        let name = format!("spirv: every op, scope and semantics for {sm} with {ptx}");
        let trial = Trial::test(name, move || grid(sm, ptx));
        // The parser of the ops does not depend on the target.
        if index + 1 < TARGETS.len() { testing::left_to_all(trial) } else { trial }
    });
    let missing = |program: &'static str| (!exists(program)).then_some(program);
    let wrong = WRONG.iter().chain(WRONG_SINCE_23.iter().filter(|_| since_23()));
    let wrong = wrong.map(|wrong| Trial::test(format!("spirv: error: {}", wrong.message), move || wrong.check()));
    let more = [
        testing::trial("spirv: the lists have every op".into(), missing(tool("llvm-tblgen")), no_op_is_missing),
        testing::trial("spirv: MLIR converts the output of the pass".into(), missing(tool("mlir-opt")), goes_on),
        Trial::test("spirv: the pass lowers kernels of both forms", kernel),
        Trial::test("spirv: built-in variables are special registers", built_in),
    ];
    grid.chain(wrong).chain(more).collect()
}

/// The ops with their values besides the address, and the names of the operations in LLVM IR.
#[rustfmt::skip]
const UPDATES: [(&str, &str, Values); 13] = [
    ("AtomicAnd",        "and",  Values::One), ("AtomicExchange",   "xchg", Values::One),
    ("AtomicIAdd",       "add",  Values::One), ("AtomicIDecrement", "sub",  Values::None),
    ("AtomicIIncrement", "add",  Values::None), ("AtomicISub",      "sub",  Values::One),
    ("AtomicOr",         "or",   Values::One), ("AtomicSMax",       "max",  Values::One),
    ("AtomicSMin",       "min",  Values::One), ("AtomicUMax",       "umax", Values::One),
    ("AtomicUMin",       "umin", Values::One), ("AtomicXor",        "xor",  Values::One),
    ("EXT.AtomicFAdd",   "fadd", Values::Float),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Values {
    None,
    One,
    Float,
}

/// The ops that MLIR has since version 23: accesses with the names of the operations in LLVM IR, and the barrier of
/// some threads, which has no lowering.
const ACCESSES: [(&str, &str); 2] = [("AtomicLoad", "load"), ("AtomicStore", "store")];
const NAMED_BARRIERS: [&str; 2] = ["MemoryNamedBarrier", "NamedBarrierInitialize"];

/// Whether the MLIR under test is version 23 or later.
fn since_23() -> bool {
    llvm_version() >= 23
}

const EXCHANGES: [&str; 2] = ["AtomicCompareExchange", "AtomicCompareExchangeWeak"];
const BARRIERS: [&str; 2] = ["ControlBarrier", "MemoryBarrier"];

/// These ops have no lowering.
const SPLIT_BARRIERS: [&str; 2] = ["INTEL.ControlBarrierArrive", "INTEL.ControlBarrierWait"];

/// The scopes from the narrowest to the widest, with the syncscopes of LLVM IR.
const SCOPES: [(&str, &str); 6] = [
    ("Invocation", " syncscope(\"singlethread\")"),
    ("Subgroup", " syncscope(\"block\")"),
    ("Workgroup", " syncscope(\"block\")"),
    ("QueueFamily", " syncscope(\"device\")"),
    ("Device", " syncscope(\"device\")"),
    ("CrossDevice", ""),
];

/// Semantics, with the orderings of LLVM IR and whether the access is volatile.
const SEMANTICS: [(&str, &str, bool); 12] = [
    ("None", "monotonic", false),
    ("UniformMemory", "monotonic", false),
    ("Volatile", "monotonic", true),
    ("Acquire", "acquire", false),
    ("Acquire|CrossWorkgroupMemory|MakeVisible", "acquire", false),
    ("Acquire|Volatile", "acquire", true),
    ("Release", "release", false),
    ("Release|WorkgroupMemory|MakeAvailable", "release", false),
    ("AcquireRelease", "acq_rel", false),
    ("AcquireRelease|SubgroupMemory|AtomicCounterMemory|MakeAvailable|MakeVisible", "acq_rel", false),
    ("SequentiallyConsistent", "seq_cst", false),
    ("SequentiallyConsistent|ImageMemory|OutputMemory|Volatile", "seq_cst", true),
];

/// Storage classes, with LLVM's address spaces and the attributes that a parameter of the class needs.
const CLASSES: [(&str, u32, &str); 7] = [
    ("CrossWorkgroup", 1, ""),
    ("Function", 5, ""),
    ("Generic", 0, ""),
    ("PhysicalStorageBuffer", 1, " {spirv.decoration = #spirv.decoration<Aliased>}"),
    ("StorageBuffer", 1, ""),
    ("Uniform", 1, ""),
    ("Workgroup", 3, ""),
];

/// A function in both languages. `NAME` is a placeholder for its name.
struct Program {
    spirv: String,
    llvm_ir: String,
}

impl Program {
    /// An atomic on a value of the type `ty` or, in LLVM IR, `llvm_type`.
    fn atomic(
        spirv: &str,
        llvm_ir: &str,
        (ty, llvm_type): (&str, &str),
        (class, space, attribute): (&str, u32, &str),
    ) -> Self {
        let pointer = format!("!spirv.ptr<{ty}, {class}>");
        let address = match space {
            0 => "getelementptr i8, ptr %q, i64 0".to_owned(),
            space => format!("addrspacecast ptr %q to ptr addrspace({space})"),
        };
        // A store has no result, so the function returns the stored value.
        let (result, value) = if spirv.contains("Store") { ("", "%v") } else { ("%r = ", "%r") };
        let llvm_pointer = if space == 0 { "ptr".to_owned() } else { format!("ptr addrspace({space})") };
        Self {
            spirv: format!(
                "spirv.func @NAME(%p: {pointer}{attribute}, %v: {ty}, %c: {ty}) -> {ty} \"None\" {{\n  \
                 {result}{spirv} : {pointer}\n  spirv.ReturnValue {value} : {ty}\n}}\n"
            ),
            llvm_ir: format!(
                "define {llvm_type} @NAME(ptr %q, {llvm_type} %v, {llvm_type} %c) {{\n  %p = {address}\n  {}\n  \
                 ret {llvm_type} {value}\n}}\n",
                llvm_ir.replace("POINTER", &llvm_pointer).replace("TYPE", llvm_type)
            ),
        }
    }

    fn barrier(spirv: String, llvm_ir: &[String]) -> Self {
        Self {
            spirv: format!("spirv.func @NAME() \"None\" {{\n  {spirv}\n  spirv.Return\n}}\n"),
            llvm_ir: format!("define void @NAME() {{\n  {}\n  ret void\n}}\n", llvm_ir.join("\n  ")),
        }
    }
}

fn updates() -> impl Iterator<Item = Program> {
    const INTEGERS: [(&str, &str); 3] = [("i32", "i32"), ("i64", "i64"), ("si32", "i32")];
    const FLOATS: [(&str, &str); 2] = [("f32", "float"), ("f64", "double")];
    let program = |op, ty, class, scope: (&str, &str), semantics: (&str, &str, bool)| {
        let (spirv, llvm_ir, values): (&str, &str, Values) = op;
        let value = if values == Values::None { "" } else { ", %v" };
        let volatile = if semantics.2 { "volatile " } else { "" };
        let operand = if values == Values::None { "1" } else { "%v" };
        Program::atomic(
            &format!("spirv.{spirv} <{}> <{}> %p{value}", scope.0, semantics.0),
            &format!("%r = atomicrmw {volatile}{llvm_ir} POINTER %p, TYPE {operand}{} {}", scope.1, semantics.1),
            ty,
            class,
        )
    };
    let types = |values| if values == Values::Float { &FLOATS[..] } else { &INTEGERS[..] };
    let all = iproduct!(UPDATES, SCOPES, SEMANTICS);
    let all = all.flat_map(move |(op, scope, semantics)| {
        types(op.2).iter().map(move |ty| program(op, *ty, CLASSES[0], scope, semantics))
    });
    let classes = iproduct!(CLASSES, UPDATES);
    let classes = classes.map(move |(class, op)| program(op, types(op.2)[0], class, SCOPES[4], SEMANTICS[8]));
    let floats = FLOATS.map(|ty| program(UPDATES[1], ty, CLASSES[6], SCOPES[2], SEMANTICS[3]));
    all.chain(classes).chain(floats)
}

/// The accesses that SPIR-V allows: no load releases, and no store acquires.
fn accesses() -> impl Iterator<Item = Program> {
    const TYPES: [(&str, &str); 7] = [
        ("i32", "i32"),
        ("si8", "i8"),
        ("i16", "i16"),
        ("i64", "i64"),
        ("f16", "half"),
        ("f32", "float"),
        ("f64", "double"),
    ];
    let possible = |op: &str, ordering: &str| match ordering {
        "acquire" => op == "load",
        "release" => op == "store",
        "acq_rel" => false,
        _ => true,
    };
    let all = iproduct!(ACCESSES, SCOPES, SEMANTICS, TYPES, CLASSES).filter(|_| since_23());
    // The programs combine every class with one type, and every type with one class.
    let all = all.filter(|(.., ty, class)| *ty == TYPES[0] || *class == CLASSES[0]);
    let all = all.filter(move |((_, op), _, semantics, ..)| possible(op, semantics.1));
    all.map(|((spirv, llvm_ir), scope, semantics, ty, class)| {
        let volatile = if semantics.2 { " volatile" } else { "" };
        let bits: u32 = ty.0.trim_start_matches(|c: char| c.is_alphabetic()).parse().expect("a number of bits");
        let (value, access) = match llvm_ir {
            "load" => ("", "%r = load atomic VOLATILE TYPE, POINTER %p"),
            _ => (", %v", "store atomic VOLATILE TYPE %v, POINTER %p"),
        };
        Program::atomic(
            &format!("spirv.{spirv} <{}> <{}> %p{value}", scope.0, semantics.0),
            &format!("{}{} {}, align {}", access.replace(" VOLATILE", volatile), scope.1, semantics.1, bits / 8),
            ty,
            class,
        )
    })
}

/// The exchanges that SPIR-V allows. The semantics for unequal values neither release nor exceed the semantics for
/// equal values.
fn exchanges() -> impl Iterator<Item = Program> {
    let allowed = |equal: &str, unequal: &str| match unequal {
        "monotonic" => true,
        "acquire" => equal != "monotonic",
        "seq_cst" => equal == "seq_cst",
        _ => false,
    };
    const TYPES: [(&str, &str); 3] = [("i32", "i32"), ("i64", "i64"), ("i16", "i16")];
    let all = iproduct!(EXCHANGES, SCOPES, SEMANTICS, SEMANTICS, TYPES);
    let all = all.filter(|(_, scope, .., ty)| *ty == TYPES[0] || *scope == SCOPES[4]);
    let all = all.filter(|(.., unequal, _)| !unequal.0.contains("Memory"));
    all.filter(move |(_, _, equal, unequal, _)| equal.2 == unequal.2 && allowed(equal.1, unequal.1)).map(
        |(op, scope, equal, unequal, ty)| {
            let volatile = if equal.2 { "volatile " } else { "" };
            Program::atomic(
                &format!("spirv.{op} <{}> <{}> <{}> %p, %v, %c", scope.0, equal.0, unequal.0),
                &format!(
                    "%pair = cmpxchg {volatile}POINTER %p, TYPE %c, TYPE %v{} {} {}\n  \
                     %r = extractvalue {{ TYPE, i1 }} %pair, 0",
                    scope.1, equal.1, unequal.1
                ),
                ty,
                CLASSES[0],
            )
        },
    )
}

/// If the scope that a barrier orders is wider than the scope of its threads, a fence precedes the barrier and another
/// follows it.
fn barriers() -> impl Iterator<Item = Program> {
    let fence = |scope: (&str, &str), semantics: (&str, &str, bool)| {
        let orders = semantics.1 != "monotonic";
        orders.then(|| format!("fence{} {}", scope.1, semantics.1))
    };
    let not_volatile = || SEMANTICS.into_iter().filter(|semantics| !semantics.2);
    let memory = iproduct!(SCOPES, not_volatile()).map(move |(scope, semantics)| {
        let spirv = format!("spirv.MemoryBarrier <{}>, <{}>", scope.0, semantics.0);
        Program::barrier(spirv, fence(scope, semantics).as_slice())
    });
    let waits = [
        (1, "call void @llvm.nvvm.bar.warp.sync(i32 -1)"),
        (2, "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"),
    ];
    let control = iproduct!(waits, SCOPES.into_iter().enumerate(), not_volatile());
    let control = control.map(move |((execution, wait), (number, scope), semantics)| {
        let spirv = format!("spirv.ControlBarrier <{}>, <{}>, <{}>", SCOPES[execution].0, scope.0, semantics.0);
        let fence = fence(scope, semantics).filter(|_| number > execution);
        let lines = fence.clone().into_iter().chain([wait.to_owned()]).chain(fence).collect_vec();
        Program::barrier(spirv, &lines)
    });
    memory.chain(control)
}

fn lower(sm: &str, ptx: &str, suffix: &str, text: &str, more: &[&str]) -> Result<String, Failed> {
    let file = tempfile::Builder::new().suffix(suffix).tempfile()?;
    fs::write(file.path(), text)?;
    let mut command = lower_to_assembly();
    command.arg(file.path()).args(["--mcpu", sm, "--mattr", &format!("+{ptx}")]);
    success(command.args(more))
}

/// Every program gives the same PTX as LLVM IR, both directly and through `--emit mlir`.
fn grid(sm: &'static str, ptx: &'static str) -> Result<(), Failed> {
    let mut programs = updates().chain(accesses()).chain(exchanges()).chain(barriers()).collect_vec();
    // sm_35 does not have the system scope.
    programs.retain(|program| sm != "sm_35" || !program.spirv.contains("<CrossDevice>"));
    let text = |part: &dyn Fn(&Program) -> &str| {
        let named = programs.iter().enumerate();
        named.map(|(number, program)| part(program).replace("NAME", &format!("f{number}"))).collect::<String>()
    };
    let declared = "target triple = \"nvptx64-nvidia-cuda\"\ndeclare void @llvm.nvvm.bar.warp.sync(i32)\n\
                    declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)\n";
    let expected = lower(sm, ptx, ".ll", &(declared.to_owned() + &text(&|program| &program.llvm_ir)), &[])?;
    let bare = text(&|program| &program.spirv);
    let direct = lower(sm, ptx, ".mlir", &format!("spirv.module Logical GLSL450 {{\n{bare}}}\n"), &[])?;
    let passed = lower(sm, ptx, ".mlir", &bare, &["--emit", "mlir"])?;
    if let Some(left) = passed.lines().find(|line| line.contains("spirv.") && is_synchronizing(line)) {
        return Err(format!("after the pass: {left}").into());
    }
    let passed = lower(sm, ptx, ".mlir", &passed, &[])?;
    let mut differences = Vec::new();
    let expected = functions(&expected);
    for found in [&direct, &passed].map(|text| functions(text)) {
        assert_eq!(expected.len(), found.len());
        let different = expected.iter().zip(&found).filter(|(expected, found)| expected != found);
        differences.extend(different.map(|((name, expected), (_, found))| {
            let program = name.strip_prefix('f').and_then(|number| programs.get(number.parse::<usize>().ok()?));
            let spirv = program.map_or("", |program| &program.spirv);
            format!("{spirv}expected:\n{expected}\nfound:\n{found}")
        }));
    }
    println!("spirv: {sm} with {ptx}: {} programs, {} differences", programs.len(), differences.len());
    if !differences.is_empty() {
        return Err(differences.into_iter().take(3).join("\n").into());
    }
    assemble(sm, ptx, &direct)
}

fn is_synchronizing(line: &str) -> bool {
    line.contains("Atomic") || line.contains("Barrier")
}

fn assemble(sm: &str, ptx: &str, text: &str) -> Result<(), Failed> {
    let target = target(sm, Some(ptx));
    let mut known = ASSEMBLERS.iter().filter(|assembler| assembler.knows(&target) && assembler.missing().is_none());
    known.try_for_each(|assembler| assembler.assemble(&target, text.as_bytes()))
}

/// The installed dialect has no atomic or waiting op that is missing in the lists above.
fn no_op_is_missing() -> Result<(), Failed> {
    let include = success(Command::new(tool("llvm-config")).arg("--includedir"))?;
    let include = include.trim();
    let ops = format!("{include}/mlir/Dialect/SPIRV/IR/SPIRVOps.td");
    let records = success(Command::new(tool("llvm-tblgen")).args(["--print-records", &ops, "-I", include]))?;
    let names = records.lines().filter_map(|line| line.trim().strip_prefix("string opName = \"")?.strip_suffix("\";"));
    let installed: BTreeSet<_> = names.filter(|name| is_synchronizing(name)).collect();
    let since_23 = ACCESSES.map(|(name, _)| name).into_iter().chain(NAMED_BARRIERS).filter(|_| since_23());
    let known = UPDATES.iter().map(|(name, ..)| *name).chain(EXCHANGES).chain(BARRIERS).chain(SPLIT_BARRIERS);
    let known = known.chain(since_23);
    assert_eq!(known.collect::<BTreeSet<_>>(), installed);
    Ok(())
}

/// MLIR's own conversions accept the `spirv.func` that the pass leaves.
fn goes_on() -> Result<(), Failed> {
    let text = updates().chain(accesses()).chain(exchanges()).chain(barriers()).enumerate();
    let text = text.map(|(number, program)| program.spirv.replace("NAME", &format!("f{number}"))).collect::<String>();
    let passed = lower("sm_90", "ptx78", ".mlir", &text, &["--emit", "mlir"])?;
    let file = tempfile::Builder::new().suffix(".mlir").tempfile()?;
    fs::write(file.path(), passed)?;
    let pipeline = "--pass-pipeline=builtin.module(convert-spirv-to-llvm,reconcile-unrealized-casts)";
    let converted = success(Command::new(tool("mlir-opt")).arg(pipeline).arg(file.path()))?;
    assert!(!converted.contains("spirv.") && !converted.contains("unrealized"), "{converted}");
    Ok(())
}

/// A module in the form in which `convert-gpu-to-spirv` writes kernels, and one in SPIR-V's own form.
fn kernel() -> Result<(), Failed> {
    let body = |signature: &str, attributes: &str, more: &str| {
        format!(
            "spirv.module Logical GLSL450 {{\n\
             spirv.GlobalVariable @shared : !spirv.ptr<!spirv.struct<(!spirv.array<64 x i32>)>, Workgroup>\n\
             spirv.GlobalVariable @total : !spirv.ptr<i64, CrossWorkgroup>\n\
             spirv.GlobalVariable @id built_in(\"LocalInvocationId\") : !spirv.ptr<vector<3xi32>, Input>\n\
             spirv.func @kernel({signature}) \"None\"{attributes} {{\n\
             %zero = spirv.Constant 0 : i32\n\
             %id = spirv.mlir.addressof @id : !spirv.ptr<vector<3xi32>, Input>\n\
             %all = spirv.Load \"Input\" %id : vector<3xi32>\n\
             %x = spirv.CompositeExtract %all[0 : i32] : vector<3xi32>\n\
             %array = spirv.mlir.addressof @shared : !spirv.ptr<!spirv.struct<(!spirv.array<64 x i32>)>, Workgroup>\n\
             %slot = spirv.AccessChain %array[%zero, %x] : \
             !spirv.ptr<!spirv.struct<(!spirv.array<64 x i32>)>, Workgroup>, i32, i32 -> !spirv.ptr<i32, Workgroup>\n\
             spirv.Store \"Workgroup\" %slot, %zero : i32\n\
             spirv.ControlBarrier <Workgroup>, <Workgroup>, <AcquireRelease|WorkgroupMemory>\n\
             %old = spirv.AtomicIIncrement <Workgroup> <None> %slot : !spirv.ptr<i32, Workgroup>\n\
             %wide = spirv.UConvert %old : i32 to i64\n\
             %total = spirv.mlir.addressof @total : !spirv.ptr<i64, CrossWorkgroup>\n\
             %sum = spirv.AtomicIAdd <Device> <Release> %total, %wide : !spirv.ptr<i64, CrossWorkgroup>\n\
             spirv.Return\n}}\nspirv.func @not_a_kernel() \"None\" {{\nspirv.Return\n}}\n{more}}}\n"
        )
    };
    let pointer = "%p: !spirv.ptr<i32, CrossWorkgroup>";
    let abi = " attributes {spirv.entry_point_abi = #spirv.entry_point_abi<workgroup_size = [64, 2, 1]>}";
    let entry = "spirv.EntryPoint \"Kernel\" @kernel, @shared, @id\n\
                 spirv.ExecutionMode @kernel \"ContractionOff\"\n\
                 spirv.ExecutionMode @kernel \"LocalSize\", 64, 2, 1\n";
    let [first, second] =
        [body(pointer, abi, ""), body(pointer, "", entry)].map(|text| lower("sm_90", "ptx78", ".mlir", &text, &[]));
    let (first, second) = (first?, second?);
    assert_eq!(first, second);
    let expected = [
        ".visible .entry kernel(",
        ".reqntid 64, 2, 1",
        ".shared .align 16 .b8 shared[256];",
        ".global .align 16 .u64 total;",
        "%tid.x;",
        "\tst.shared.b32 \t",
        "\tbar.sync \t0;\n\tatom.relaxed.cta.shared.add.u32 %",
        "\tatom.release.gpu.global.add.u64 %",
        ".visible .func not_a_kernel",
    ];
    for expected in expected {
        assert!(first.contains(expected), "no {expected:?} in\n{first}");
    }
    assert!(!first.contains("execution_mode_info"), "{first}");
    assemble("sm_90", "ptx78", &first)
}

/// A component of each built-in variable, of 32 and of 64 bits, gives the same PTX as LLVM IR that computes it from the
/// special registers.
fn built_in() -> Result<(), Failed> {
    const VARIABLES: [(&str, &[&str], Option<&str>); 8] = [
        ("GlobalInvocationId", &["ctaid.y", "ntid.y"], Some("tid.y")),
        ("GlobalSize", &["nctaid.y", "ntid.y"], None),
        ("LocalInvocationId", &["tid.y"], None),
        ("NumWorkgroups", &["nctaid.y"], None),
        ("SubgroupLocalInvocationId", &["laneid"], None),
        ("SubgroupSize", &["warpsize"], None),
        ("WorkgroupId", &["ctaid.y"], None),
        ("WorkgroupSize", &["ntid.y"], None),
    ];
    for ((name, factors, plus), bits) in iproduct!(VARIABLES, [32, 64]) {
        let vector = factors[0].contains('.');
        let ty = if vector { format!("vector<3xi{bits}>") } else { format!("i{bits}") };
        let value = if vector {
            format!("spirv.CompositeExtract %all[1 : i32] : {ty}")
        } else {
            "spirv.IAdd %all, %zero : ".to_owned() + &ty
        };
        let spirv = format!(
            "spirv.module Logical GLSL450 {{\nspirv.GlobalVariable @v built_in(\"{name}\") : !spirv.ptr<{ty}, Input>\n\
             spirv.func @f() -> i{bits} \"None\" {{\n%zero = spirv.Constant 0 : i{bits}\n\
             %a = spirv.mlir.addressof @v : !spirv.ptr<{ty}, Input>\n%all = spirv.Load \"Input\" %a : {ty}\n\
             %r = {value}\nspirv.ReturnValue %r : i{bits}\n}}\n}}\n"
        );
        let read = |number: usize, register: &str| {
            let convert =
                if bits == 64 { format!("zext i32 %s{number} to i64") } else { format!("add i32 %s{number}, 0") };
            format!("%s{number} = call i32 @llvm.nvvm.read.ptx.sreg.{register}()\n%v{number} = {convert}\n")
        };
        let values: String = factors.iter().enumerate().map(|(number, register)| read(number, register)).collect();
        let product = if factors.len() == 2 { "mul TYPE %v0, %v1" } else { "add TYPE %v0, 0" };
        let (plus, sum) = match plus {
            Some(register) => (read(2, register), "add TYPE %product, %v2"),
            None => (String::new(), "add TYPE %product, 0"),
        };
        let body = format!("{values}%product = {product}\n{plus}%sum = {sum}\nret TYPE %sum\n");
        let llvm_ir = format!("target triple = \"nvptx64-nvidia-cuda\"\ndefine TYPE @f() {{\n{body}}}\n");
        let llvm_ir = llvm_ir.replace("TYPE", &format!("i{bits}"));
        assert_eq!(
            lower("sm_90", "ptx78", ".mlir", &spirv, &[])?,
            lower("sm_90", "ptx78", ".ll", &llvm_ir, &[])?,
            "{spirv}"
        );
    }
    Ok(())
}

/// An input without a lowering, and its error message.
struct Wrong {
    message: &'static str,
    /// The body of a function with `%p` and `%v`, where `%p` has the type `!spirv.ptr<i32, CLASS>`; or the text in the
    /// module around it.
    body: Result<&'static str, &'static str>,
    class: &'static str,
    flags: &'static [&'static str],
}

const fn wrong(message: &'static str, body: &'static str) -> Wrong {
    Wrong { message, body: Ok(body), class: "CrossWorkgroup", flags: &[] }
}

const fn outside(message: &'static str, text: &'static str) -> Wrong {
    Wrong { body: Err(text), ..wrong(message, "") }
}

const SWAP: &str = "%r = spirv.AtomicCompareExchange <Device> EQUAL %p, %v, %v : !spirv.ptr<i32, CrossWorkgroup>";

static WRONG: &[Wrong] = &[
    wrong(
        "have more than one ordering",
        "%r = spirv.AtomicExchange <Device> <Acquire|Release> %p, %v : !spirv.ptr<i32, CrossWorkgroup>",
    ),
    wrong("have MakeVisible without Acquire or AcquireRelease", "spirv.MemoryBarrier <Device>, <Release|MakeVisible>"),
    wrong("have MakeAvailable without Release or AcquireRelease", "spirv.MemoryBarrier <Device>, <MakeAvailable>"),
    wrong("spirv.MemoryBarrier is Volatile, and accesses nothing", "spirv.MemoryBarrier <Device>, <Acquire|Volatile>"),
    wrong("the scope ShaderCallKHR has no meaning in PTX", "spirv.MemoryBarrier <ShaderCallKHR>, <Acquire>"),
    wrong(
        "PTX has no barrier for the invocations of the scope Device",
        "spirv.ControlBarrier <Device>, <Device>, <AcquireRelease>",
    ),
    wrong(
        "PTX has no barrier for the invocations of the scope Invocation",
        "spirv.ControlBarrier <Invocation>, <Device>, <None>",
    ),
    wrong("the semantics for unequal values release", "<AcquireRelease> <Release>"),
    wrong("the semantics for unequal values are stronger", "<None> <Acquire>"),
    wrong("are not both Volatile", "<Acquire|Volatile> <Acquire>"),
    Wrong {
        class: "AtomicCounter",
        ..wrong(
            "atomic operation in the storage class AtomicCounter",
            "%r = spirv.AtomicIAdd <Device> <None> %p, %v : !spirv.ptr<i32, AtomicCounter>",
        )
    },
    Wrong {
        flags: &["--mcpu", "sm_20", "--mattr", "+ptx32"],
        ..wrong("`bar.warp.sync` requires sm_30 and PTX 6.0", "spirv.ControlBarrier <Subgroup>, <Subgroup>, <None>")
    },
    Wrong {
        flags: &["--emit", "mlir"],
        ..wrong("a spirv.module cannot contain PTX", "spirv.MemoryBarrier <Device>, <Acquire>")
    },
    wrong(
        "MLIR makes a call of @_Z33__spirv_ControlBarrierArriveINTELiii",
        "spirv.INTEL.ControlBarrierArrive <Workgroup> <Device> <Acquire>",
    ),
    wrong(
        "MLIR makes a call of @_Z31__spirv_ControlBarrierWaitINTELiii",
        "spirv.INTEL.ControlBarrierWait <Workgroup> <Device> <Acquire>",
    ),
    outside(
        "a variable of the storage class Private has no lowering",
        "spirv.GlobalVariable @g : !spirv.ptr<i32, Private>",
    ),
    outside(
        "a variable of the storage class Workgroup with binding and descriptor_set has no lowering",
        "spirv.GlobalVariable @g bind(0, 0) : !spirv.ptr<i32, Workgroup>",
    ),
    outside(
        "the built-in variable SubgroupId has no lowering",
        "spirv.GlobalVariable @g built_in(\"SubgroupId\") : !spirv.ptr<i32, Input>",
    ),
    outside("the execution model Fragment has no lowering", "spirv.EntryPoint \"Fragment\" @f"),
    outside("the execution mode DenormFlushToZero has no lowering", "spirv.ExecutionMode @f \"DenormFlushToZero\", 32"),
    outside(
        "the address of a built-in variable is used other than by spirv.Load",
        "spirv.GlobalVariable @g built_in(\"WorkgroupId\") : !spirv.ptr<vector<3xi32>, Input>\n\
         spirv.func @other() -> !spirv.ptr<vector<3xi32>, Input> \"None\" {\n\
         %a = spirv.mlir.addressof @g : !spirv.ptr<vector<3xi32>, Input>\n\
         spirv.ReturnValue %a : !spirv.ptr<vector<3xi32>, Input>\n}",
    ),
];

/// Inputs with the ops that MLIR has since version 23.
static WRONG_SINCE_23: &[Wrong] = &[
    wrong(
        "the memory semantics Release release, and a load writes nothing",
        "%r = spirv.AtomicLoad <Device> <Release> %p : !spirv.ptr<i32, CrossWorkgroup>",
    ),
    wrong(
        "the memory semantics AcquireRelease release, and a load writes nothing",
        "%r = spirv.AtomicLoad <Device> <AcquireRelease> %p : !spirv.ptr<i32, CrossWorkgroup>",
    ),
    wrong(
        "the memory semantics Acquire acquire, and a store reads nothing",
        "spirv.AtomicStore <Device> <Acquire> %p, %v : !spirv.ptr<i32, CrossWorkgroup>",
    ),
    wrong(
        "the memory semantics AcquireRelease acquire, and a store reads nothing",
        "spirv.AtomicStore <Device> <AcquireRelease> %p, %v : !spirv.ptr<i32, CrossWorkgroup>",
    ),
    wrong(
        "a named barrier has no lowering: the barriers of PTX have numbers",
        "%r = spirv.NamedBarrierInitialize %v : i32 -> !spirv.named_barrier",
    ),
];

impl Wrong {
    fn check(&self) -> Result<(), Failed> {
        let body = self.body.unwrap_or_default();
        let body = if body.starts_with('<') { SWAP.replace("EQUAL", body) } else { body.to_owned() };
        let outside = self.body.err().unwrap_or_default();
        let class = self.class;
        let text = format!(
            "spirv.module Logical GLSL450 {{\nspirv.func @f(%p: !spirv.ptr<i32, {class}>, %v: i32) \"None\" {{\n{body}\n\
             spirv.Return\n}}\n{outside}\n}}\n"
        );
        let file = tempfile::Builder::new().suffix(".mlir").tempfile()?;
        fs::write(file.path(), &text)?;
        let output = ptx_atomics().arg("lower").arg(file.path()).args(self.flags).output()?;
        let stderr = String::from_utf8(output.stderr)?;
        assert!(output.status.code() == Some(1) && output.stdout.is_empty(), "{text}{stderr}");
        let error = format!("error: {stderr}");
        assert!(error.contains(self.message) && error.contains("error: 1 error;"), "{text}{stderr}");
        Ok(())
    }
}
