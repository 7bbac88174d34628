//! Intrinsics that LLVM's backend cannot select. On every target, the lowering reports an error with the line of the
//! call, and all other intrinsics compile.
//!
//! The cases are all intrinsics of the installed LLVM for NVIDIA GPUs, with the values of their immediates. LLVM itself
//! is the oracle for both answers. `random_selection` also has other intrinsics, instructions and types.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::{CStr, c_char},
    fs,
    ops::Range,
    path::Path,
    process::{Command, Output, Stdio},
};

use itertools::Itertools;
use libtest_mimic::{Failed, Trial};
use ptx_atomics::llvm::{
    Input,
    inkwell::{
        AddressSpace,
        context::Context,
        llvm_sys::{core::*, prelude::LLVMValueRef},
        types::AsTypeRef,
    },
};
use ptx_atomics_common::{callee::OF_NVIDIA, intrinsics};
use testing::{exists, llvm_version, one_of, ptx_atomics, success, tool, trial};

/// Targets of several generations, including targets that lack some of the newest features.
const TARGETS: [(&str, &str); 10] = [
    ("sm_60", "ptx60"),
    ("sm_80", "ptx71"),
    ("sm_75", "ptx65"),
    ("sm_90", "ptx78"),
    ("sm_90a", "ptx90"),
    ("sm_100", "ptx90"),
    ("sm_100a", "ptx86"),
    ("sm_100f", "ptx90"),
    ("sm_103a", "ptx90"),
    ("sm_120a", "ptx90"),
];

/// LLVM selects these intrinsics on every GPU, and no ptxas accepts their instructions before sm_90.
pub const ASSEMBLER_ONLY: &str = "llvm.nvvm.cp.async.bulk.tensor.reduce.";

pub fn trials() -> Vec<Trial> {
    let llc = (!exists(tool("llc"))).then_some(tool("llc"));
    let targets = TARGETS.iter().map(|(sm, ptx)| trial(format!("{sm} with {ptx}"), llc, move || check(sm, ptx)));
    let measured = testing::shared_trial(
        "the lowering agrees with the measured table",
        "reference/async/llvm22-intrinsics.csv",
        as_measured,
    );
    let measured = if llvm_version() == 22 { measured } else { measured.with_ignored_flag(true) };
    let reached = Trial::test("an unreached call is not an error", never_reached);
    let ordered = ["sm_90a", "sm_100a"].map(|sm| {
        Trial::test(format!("{sm}: the optimizer knows intrinsics that order or access memory"), move || ordered(sm))
    });
    one_of(4, targets).into_iter().chain([measured, reached]).chain(ordered).collect()
}

/// Intrinsics that are not instructions: LLVM replaces their calls, or has handles in their place.
const LEFT_OUT: [&str; 3] = ["llvm.nvvm.compiler.", "llvm.nvvm.reflect", "llvm.nvvm.texsurf."];
/// The starts of the names of intrinsics with two overloaded types. Every other intrinsic has at most one.
const OF_TWO_TYPES: [&str; 4] = ["llvm.nvvm.atomic.", "llvm.nvvm.internal.", "llvm.nvvm.ldu.", "llvm.nvvm.move.ptr"];

/// An intrinsic. An overloaded one is declared for certain types.
pub struct Intrinsic {
    pub name: String,
    /// The name with the suffix for the overloaded types.
    pub declared_name: String,
    pub returned: String,
    pub parameters: Vec<Parameter>,
}

pub struct Parameter {
    pub ty: String,
    /// The values of an argument that must be a constant.
    pub immediate: Option<Range<i64>>,
}

/// Every intrinsic, declared for one choice of types.
fn all_intrinsics() -> Vec<Intrinsic> {
    declared_intrinsics().into_iter().unique_by(|intrinsic| intrinsic.name.clone()).collect()
}

/// Every asynchronous intrinsic.
fn asynchronous_intrinsics() -> Vec<Intrinsic> {
    all_intrinsics().into_iter().filter(|intrinsic| intrinsics::is_asynchronous(&intrinsic.name)).collect()
}

/// Every intrinsic, with each choice of types that LLVM accepts.
pub fn declared_intrinsics() -> Vec<Intrinsic> {
    const KNOWN: &str = "llvm.nvvm.mbarrier.init";
    let context = Context::create();
    // SAFETY: the numbers of a target's intrinsics are consecutive, and the numbers of other targets precede and follow
    // them. Types and attributes are read from live declarations.
    unsafe {
        let name = |id: &u32| CStr::from_ptr(LLVMIntrinsicGetName(*id, &mut 0)).to_string_lossy().into_owned();
        let of_nvidia = |id: &u32| name(id).starts_with(OF_NVIDIA);
        let known = LLVMLookupIntrinsicID(KNOWN.as_ptr().cast(), KNOWN.len());
        let ids = (0..known).rev().take_while(of_nvidia).chain((known..).take_while(of_nvidia));
        let ids = ids.filter(|id| !LEFT_OUT.iter().any(|start| name(id).starts_with(start))).sorted();
        let pointers = [3, 1, 0, 5].map(|space| context.ptr_type(AddressSpace::from(space)).as_type_ref());
        let (half, float) = (context.f16_type().vec_type(2).as_type_ref(), context.f32_type().as_type_ref());
        let others = [context.i32_type().as_type_ref(), context.i64_type().as_type_ref(), float, half];
        let types = || pointers.into_iter().chain(others);
        let declared = |id: u32| {
            let choices: Vec<_> = match name(&id) {
                _ if LLVMIntrinsicIsOverloaded(id) == 0 => vec![Vec::new()],
                name if OF_TWO_TYPES.iter().any(|start| name.starts_with(start)) => {
                    types().cartesian_product(pointers).map(|(first, second)| vec![first, second]).collect()
                }
                _ => types().map(|ty| vec![ty]).collect(),
            };
            let described = choices.into_iter().filter_map(|mut types| {
                let module = context.create_module("intrinsics");
                let declaration = LLVMGetIntrinsicDeclaration(module.as_mut_ptr(), id, types.as_mut_ptr(), types.len());
                let intrinsic = described(name(&id), declaration);
                let is_valid = module.verify().is_ok() && intrinsic.is_valid();
                is_valid.then_some(intrinsic)
            });
            described.collect::<Vec<_>>()
        };
        ids.flat_map(declared).collect()
    }
}

/// # Safety
/// The declaration is live.
unsafe fn described(name: String, declaration: LLVMValueRef) -> Intrinsic {
    // LLVM allocates these texts, and nothing frees them. The test ends before they use much memory.
    let text = |raw: *mut c_char| unsafe { CStr::from_ptr(raw) }.to_string_lossy().trim().to_owned();
    // SAFETY: as above.
    unsafe {
        let printed = text(LLVMPrintValueToString(declaration));
        let signature =
            printed.lines().last().and_then(|line| line.split_once('@')).map_or("", |(_, signature)| signature);
        // If the range of an argument is known, it follows `immarg`.
        let mut ranges = signature.split("immarg").skip(1).map(range);
        let ty = LLVMGlobalGetValueType(declaration);
        let mut types = vec![std::ptr::null_mut(); LLVMCountParamTypes(ty) as usize];
        LLVMGetParamTypes(ty, types.as_mut_ptr());
        let immarg = LLVMGetEnumAttributeKindForName(c"immarg".as_ptr(), "immarg".len());
        let parameters = types.into_iter().zip(1..).map(|(ty, index)| {
            let ty = text(LLVMPrintTypeToString(ty));
            let must_be_constant = !LLVMGetEnumAttributeAtIndex(declaration, index, immarg).is_null();
            let any = if ty == "i1" { 0..2 } else { 0..1 };
            let immediate = must_be_constant.then(|| ranges.next().flatten().unwrap_or(any));
            Parameter { ty, immediate }
        });
        Intrinsic {
            name,
            parameters: parameters.collect(),
            declared_name: signature.split('(').next().unwrap_or_default().to_owned(),
            returned: text(LLVMPrintTypeToString(LLVMGetReturnType(ty))),
        }
    }
}

/// The values of ` range(i32 0, 4), …`.
fn range(text: &str) -> Option<Range<i64>> {
    let (range, _) = text.strip_prefix(" range(")?.split_once(')')?;
    let (low, high) = range.split_once(' ')?.1.split_once(", ")?;
    Some(low.parse().ok()?..high.parse().ok()?)
}

/// A call of an intrinsic.
struct Call<'i> {
    intrinsic: &'i Intrinsic,
    immediates: Vec<i64>,
}

impl Intrinsic {
    /// Calls with each value of the immediates that have 3 to 16 values, while the other immediates have their lowest
    /// value.
    fn calls(&self) -> impl Iterator<Item = Call<'_>> {
        let ranges = || self.parameters.iter().filter_map(|parameter| parameter.immediate.clone());
        let lowest: Vec<_> = ranges().map(|range| range.start).collect();
        let few = ranges().enumerate().filter(|(_, range)| (3..=16).contains(&(range.end - range.start)));
        let others = few.flat_map(|(index, range)| range.skip(1).map(move |value| (index, value)));
        let changes: Vec<_> = std::iter::once(None).chain(others.map(Some)).collect();
        changes.into_iter().map(move |change| {
            let mut immediates = lowest.clone();
            change.into_iter().for_each(|(index, value)| immediates[index] = value);
            Call { intrinsic: self, immediates }
        })
    }

    /// Whether LLVM accepts the types: its verifier asks for them at a call.
    fn is_valid(&self) -> bool {
        let calls: Vec<_> = self.calls().take(1).collect();
        ptx_atomics::llvm::read(&Context::create(), &Input::new("call.ll", module(&calls).0)).is_ok()
    }

    pub fn declaration(&self) -> String {
        let types = self.parameters.iter().map(|parameter| &parameter.ty).join(", ");
        format!("declare {} @{}({types})\n", self.returned, self.declared_name)
    }
}

impl Call<'_> {
    /// A function whose second line is the call.
    fn function(&self, name: &str) -> String {
        let Intrinsic { declared_name, returned, parameters, .. } = self.intrinsic;
        let mut immediates = self.immediates.iter();
        let (mut taken, mut given) = (vec!["ptr %result".to_owned()], Vec::new());
        for (index, Parameter { ty, immediate }) in parameters.iter().enumerate() {
            let value = immediate.as_ref().and_then(|_| immediates.next());
            let argument = match value {
                Some(value) if ty == "i1" => format!("i1 {}", *value != 0),
                Some(value) => format!("{ty} {value}"),
                None => format!("{ty} %argument{index}"),
            };
            taken.extend(value.is_none().then(|| argument.clone()));
            given.push(argument);
        }
        let (taken, given) = (taken.join(", "), given.join(", "));
        let (result, used) = match &**returned {
            "void" => ("", String::new()),
            ty => ("%value = ", format!("  store {ty} %value, ptr %result\n")),
        };
        let call = format!("{result}call {returned} @{declared_name}({given})");
        format!("define void @{name}({taken}) {{\n  {call}\n{used}  ret void\n}}\n")
    }
}

/// A module of calls, and the line number of each call.
fn module<'i>(calls: impl IntoIterator<Item = &'i Call<'i>>) -> (String, Vec<usize>) {
    let calls: Vec<_> = calls.into_iter().collect();
    let mut text = String::from("target triple = \"nvptx64-nvidia-cuda\"\n");
    let intrinsics = calls.iter().map(|call| call.intrinsic).unique_by(|intrinsic| &intrinsic.name);
    text.extend(intrinsics.map(Intrinsic::declaration));
    let mut lines = Vec::new();
    for (index, call) in calls.iter().enumerate() {
        lines.push(text.lines().count() + 2);
        text += &call.function(&format!("f{index}"));
    }
    (text, lines)
}

fn lower(path: &Path, sm: &str, ptx: &str) -> Command {
    let mut command = ptx_atomics();
    command.args(["lower", "--mcpu", sm, "--mattr", &format!("+{ptx}"), "-o", "-"]).arg(path);
    command
}

/// The rejected calls for a target, by their index, with the message. Every error must be an error of the lowering,
/// with the line of a call.
fn rejected(calls: &[Call<'_>], path: &Path, sm: &str, ptx: &str) -> Result<BTreeMap<usize, String>, Failed> {
    let (text, lines) = module(calls);
    fs::write(path, text)?;
    let Output { status, stdout, stderr } = lower(path, sm, ptx).output()?;
    if status.success() {
        return Ok(BTreeMap::new());
    }
    assert!(stdout.is_empty() && status.code() == Some(1), "{status}");
    let stderr = String::from_utf8(stderr)?;
    let place = format!("--> {}:", path.display());
    let mut found = BTreeMap::new();
    let errors = stderr.split("error: ").skip(1).filter(|error| !error.contains("nothing was written"));
    for error in errors {
        let message = error.lines().next().unwrap_or_default();
        let line = error.split_once(&place).and_then(|(_, rest)| rest.split(':').next()?.trim().parse::<usize>().ok());
        let call = line.and_then(|line| lines.iter().position(|known| *known == line));
        match call {
            Some(call) if message.contains("` requires ") => found.insert(call, message.to_owned()),
            _ => return Err(format!("no error of ours: {error}").into()),
        };
    }
    Ok(found)
}

/// The lowering compiles every call that it does not reject. LLVM compiles none of the rejected calls; the test asks
/// llc once for each message.
fn check(sm: &str, ptx: &str) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("calls.ll");
    let intrinsics = all_intrinsics();
    let calls: Vec<_> = intrinsics.iter().flat_map(Intrinsic::calls).collect();
    let rejected = rejected(&calls, &path, sm, ptx)?;
    let accepted: Vec<_> = (0..calls.len()).filter(|index| !rejected.contains_key(index)).collect();
    assert!(accepted.len() > 20 && rejected.len() > 20, "{} of {} are accepted", accepted.len(), calls.len());
    fs::write(&path, module(accepted.iter().map(|index| &calls[*index])).0)?;
    success(&mut lower(&path, sm, ptx))?;

    let asked = rejected.iter().filter(|(index, _)| !calls[**index].intrinsic.name.starts_with(ASSEMBLER_ONLY));
    for (index, message) in asked.unique_by(|(_, message)| message.to_owned()) {
        fs::write(&path, module([&calls[*index]]).0)?;
        let mut llc = Command::new(tool("llc"));
        llc.arg(format!("-mcpu={sm}")).arg(format!("-mattr=+{ptx}")).arg(&path).args(["-o", "/dev/null"]);
        // After a crash, llc spends noticeable time on the names of functions in its stack.
        llc.env("LLVM_DISABLE_SYMBOLIZATION", "1");
        if llc.stderr(Stdio::null()).status()?.success() {
            return Err(format!("llc compiles {}, but: {message}", calls[*index].intrinsic.name).into());
        }
    }
    Ok(())
}

/// Intrinsics that neither access memory nor order accesses, by the start of their names after `llvm.nvvm.`.
const QUIET: [&str; 7] = [
    "clusterlaunchcontrol.query_cancel.",
    "elect.",
    "getctarank",
    "mapa",
    "mbarrier.pending.count",
    "redux.",
    "setmaxnreg.",
];

/// A kernel has only stores, a release fence before a call, and an acquire fence after it. The optimizer keeps both
/// fences unless the intrinsic is in `QUIET`. The check of asynchronous operations runs before the optimizer, so the
/// optimizer must assume that every other intrinsic may access or order memory.
fn ordered(sm: &str) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("calls.ll");
    let intrinsics = asynchronous_intrinsics();
    let calls: Vec<_> = intrinsics.iter().filter_map(|intrinsic| intrinsic.calls().next()).collect();
    let rejected = rejected(&calls, &path, sm, "ptx90")?;
    let calls: Vec<_> = calls.into_iter().enumerate().filter(|(index, _)| !rejected.contains_key(index)).collect();
    let calls: Vec<_> = calls.into_iter().map(|(_, call)| call).collect();
    let (text, lines) = module(&calls);
    let mut lines_of_text: Vec<_> = text.lines().map(str::to_owned).collect();
    for line in lines {
        let (head, call) = (&lines_of_text[line - 2], &lines_of_text[line - 1]);
        let head = head.replace("define void", "define ptx_kernel void");
        let call = format!(
            "  store i32 1, ptr %result\n  fence syncscope(\"device\") release\n{call}\n  fence syncscope(\"device\") acquire\n  store i32 2, ptr %result"
        );
        (lines_of_text[line - 2], lines_of_text[line - 1]) = (head, call);
    }
    fs::write(&path, lines_of_text.join("\n"))?;
    let mut command = lower(&path, sm, "ptx90");
    let lowered = success(command.args(["--emit", "llvm-ir", "--optimize-atomics", "all", "--async", "off"]))?;
    let bodies: Vec<_> = lowered.split("define ").skip(1).collect();
    assert_eq!(bodies.len(), calls.len());
    let mut wrong = Vec::new();
    for (call, body) in calls.iter().zip(bodies) {
        let name = &call.intrinsic.name;
        let fences = ["fence.release.gpu", "fence.acquire.gpu"].map(|fence| body.contains(fence));
        let quiet = QUIET.iter().any(|known| name[OF_NVIDIA.len()..].starts_with(known));
        if fences != [!quiet; 2] {
            wrong.push(format!("{name}: {fences:?}"));
        }
    }
    if calls.len() < 100 || !wrong.is_empty() {
        return Err(format!("of {} intrinsics, these are not as expected: {wrong:#?}", calls.len()).into());
    }
    Ok(())
}

/// Each line of the file has an intrinsic, and for each GPU whether LLVM 22 compiles it for the newest PTX version.
fn as_measured(path: &Path) -> Result<(), Failed> {
    let text = fs::read_to_string(path)?;
    let mut rows = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = rows.next().unwrap_or_default();
    let rows: Vec<_> = rows.collect();
    let intrinsics = asynchronous_intrinsics();
    let plain: Vec<_> = intrinsics.iter().filter_map(|intrinsic| intrinsic.calls().next()).collect();
    let folder = tempfile::tempdir()?;
    let mut compared = 0;
    for (column, sm) in head.iter().enumerate().filter(|(_, name)| name.starts_with("sm_")) {
        let rejected = rejected(&plain, &folder.path().join("plain.ll"), sm, "ptx90")?;
        let ours: BTreeSet<_> = rejected.keys().map(|index| &*plain[*index].intrinsic.name).collect();
        for row in rows.iter().filter(|row| !row[column].is_empty()) {
            let rejected = ours.contains(row[0]);
            assert_eq!(if rejected { "abort" } else { "ok" }, row[column], "{} on {sm}", row[0]);
            compared += 1;
        }
    }
    assert!(compared > 2000, "{compared}");
    Ok(())
}

/// Calls that never reach the backend, and calls that LLVM removes later.
fn never_reached() -> Result<(), Failed> {
    const CALL: &str = "call void @llvm.nvvm.tcgen05.wait.ld()";
    let check = |define: &str, before: &str, call: &str, flags: &[&str], errors: usize| -> Result<(), Failed> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("reached.ll");
        let text = format!(
            "target triple = \"nvptx64-nvidia-cuda\"\ndeclare void @llvm.nvvm.tcgen05.wait.ld()\n\
             declare i1 @llvm.nvvm.clusterlaunchcontrol.query_cancel.is_canceled(i128) declare i32 @__nvvm_reflect(ptr)\n@arch = constant [12 x i8] c\"__CUDA_ARCH\\00\"\n\
             {define} void @f(i1 %c) {{\n  {before}\nhere:\n  {call}\n  ret void\nend:\n  ret void\n}}\n"
        );
        fs::write(&path, text)?;
        let output = lower(&path, "sm_90", "ptx90").args(flags).output()?;
        let stderr = String::from_utf8(output.stderr)?;
        assert_eq!(stderr.matches("` requires ").count(), errors, "{before}: {stderr}");
        assert_eq!(stderr.matches(&format!("{}:8:", path.display())).count(), errors, "{before}: {stderr}");
        assert_eq!(output.status.code(), Some(i32::from(errors > 0)), "{before}: {stderr}");
        Ok(())
    };
    let branch = "br i1 %c, label %here, label %end";
    check("define", branch, CALL, &[], 1)?;
    check("define", branch, "ret void", &[], 0)?;
    check("define available_externally", branch, CALL, &[], 0)?;
    check("define", "br label %end", CALL, &[], 0)?;
    check("define", "br i1 false, label %here, label %end", CALL, &[], 0)?;
    let reflected = "%arch = call i32 @__nvvm_reflect(ptr @arch)\n  %new = icmp sgt i32 %arch, 1000\n";
    check("define", &format!("{reflected}  br i1 %new, label %here, label %end"), CALL, &[], 0)?;
    // An unused value, and a used value.
    let unused = "%u = call i1 @llvm.nvvm.clusterlaunchcontrol.query_cancel.is_canceled(i128 0)";
    check("define", branch, unused, &[], 0)?;
    check("define", branch, &format!("{unused}\n  store volatile i1 %u, ptr null"), &[], 1)?;
    // A call that only the optimizer knows to be unreachable.
    let decided = "%never = icmp ult i32 1, 0\n  br i1 %never, label %here, label %end";
    check("define", decided, CALL, &["-O2"], 0)?;
    check("define", branch, CALL, &["-O2"], 1)
}
