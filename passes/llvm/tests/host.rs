//! A compiler that holds a module in memory: the call around its passes, its errors, and its use from several threads.

use std::{mem::ManuallyDrop, thread};

use ptx_atomics_link as _;
use ptx_atomics_llvm::{
    Errors, Input, Options, Target,
    host::{self, Lowered},
    inkwell::{
        OptimizationLevel,
        context::Context,
        llvm_sys::target_machine::LLVMTargetMachineRef,
        module::Module,
        passes::PassBuilderOptions,
        targets::{
            CodeModel, FileType, InitializationConfig, RelocMode, Target as LlvmTarget, TargetMachine, TargetTriple,
        },
    },
};

/// A load of a flag, a counter, a fence, and a call.
const KERNEL: &str = r#"target triple = "nvptx64-nvidia-cuda"
define i32 @ready(ptr addrspace(1) %flag) {
  %ready = load atomic i32, ptr addrspace(1) %flag acquire, align 4
  ret i32 %ready
}
define ptx_kernel void @step(ptr addrspace(1) %flag, ptr addrspace(1) %counter) {
  %ready = call i32 @ready(ptr addrspace(1) %flag)
  %old = atomicrmw add ptr addrspace(1) %counter, i32 %ready syncscope("device") acq_rel
  fence syncscope("block") release
  store atomic i32 %old, ptr addrspace(1) %flag seq_cst, align 4
  ret void
}"#;
/// An operation that PTX lacks.
const LACKING: &str = "target triple = \"nvptx64-nvidia-cuda\"
define void @f(ptr %p) {
  store atomic i256 0, ptr %p release, align 32
  ret void
}";

fn code_generator(triple: &str, cpu: &str, features: &str) -> TargetMachine {
    LlvmTarget::initialize_all(&InitializationConfig::default());
    let triple = TargetTriple::create(triple);
    let target = LlvmTarget::from_triple(&triple).expect("LLVM has the target");
    let level = OptimizationLevel::Aggressive;
    target
        .create_target_machine(&triple, cpu, features, level, RelocMode::Default, CodeModel::Default)
        .expect("LLVM has a code generator")
}

fn nvptx(cpu: &str, features: &str) -> TargetMachine {
    code_generator("nvptx64-nvidia-cuda", cpu, features)
}

fn parse<'c>(context: &'c Context, ir: &str) -> Module<'c> {
    ptx_atomics_llvm::read(context, &Input::new("host.ll", ir)).expect("the IR is valid")
}

/// Whether the module has the line of assembly that every assembler rejects.
fn is_marked(module: &Module<'_>) -> bool {
    module.print_to_string().to_string().contains("ptx-atomics: atomics are not lowered")
}

fn emit(module: &Module<'_>, machine: &TargetMachine) -> String {
    let buffer = machine.write_to_memory_buffer(module, FileType::Assembly).expect("LLVM has code for it");
    String::from_utf8_lossy(buffer.as_slice()).into_owned()
}

/// The PTX of a compiler that optimizes with LLVM's pipeline, or with no pass.
fn compile(ir: &str, cpu: &str, pipeline: Option<&str>) -> Result<String, Errors> {
    let context = Context::create();
    let (module, machine) = (parse(&context, ir), nvptx(cpu, "+ptx90"));
    let options = host::options(&machine)?;
    match pipeline {
        Some(pipeline) => host::lower_around(&module, &machine, &options, || {
            module.run_passes(pipeline, &machine, PassBuilderOptions::create()).expect("LLVM has the passes");
            Ok::<(), Errors>(())
        }),
        None => host::lower_module(&module, &machine, &options),
    }?;
    assert!(!is_marked(&module));
    Ok(emit(&module, &machine))
}

#[track_caller]
fn check_lines(ptx: &str, expected: &[&str]) {
    let atomics = ptx.lines().map(str::trim).filter(|line| {
        ["atom", "red", "fence", "ld.acquire", "st.release", "st.relaxed", "membar"]
            .iter()
            .any(|start| line.starts_with(start))
    });
    let mnemonics: Vec<_> = atomics.map(|line| line.split([' ', ';']).next().unwrap_or_default()).collect();
    assert_eq!(mnemonics, expected, "{ptx}");
}

#[test]
fn passes_of_the_compiler_run_between_the_steps() {
    let plain = [
        "ld.acquire.sys.global.b32",
        "atom.acq_rel.gpu.global.add.u32",
        "fence.release.cta",
        "fence.sc.sys",
        "st.relaxed.sys.global.b32",
    ];
    check_lines(&compile(KERNEL, "sm_90", None).expect("it has a lowering"), &plain);
    // After inlining, both functions have the load.
    let optimized = compile(KERNEL, "sm_90", Some("default<O3>")).expect("it has a lowering");
    check_lines(&optimized, &[&plain[..1], &plain].concat());
    assert!(!optimized.contains("call"), "{optimized}");
}

/// LLVM would infer that `ready` only reads the flag, and read the data once.
#[test]
fn passes_keep_the_order_of_the_operations() {
    let twice = "target triple = \"nvptx64-nvidia-cuda\"
define i32 @ready(ptr addrspace(1) %flag) noinline {
  %ready = load atomic i32, ptr addrspace(1) %flag acquire, align 4
  ret i32 %ready
}
define i32 @twice(ptr addrspace(1) %flag, ptr addrspace(1) %data) {
  %before = load i32, ptr addrspace(1) %data
  %ready = call i32 @ready(ptr addrspace(1) %flag)
  %after = load i32, ptr addrspace(1) %data
  %both = mul i32 %before, %after
  %sum = add i32 %both, %ready
  ret i32 %sum
}";
    let ptx = compile(twice, "sm_90", Some("default<O3>")).expect("it has a lowering");
    assert_eq!(ptx.matches("ld.global.b32").count(), 2, "{ptx}");
}

#[test]
fn addresses_are_resolved_before_the_lowering() {
    let generic = "target triple = \"nvptx64-nvidia-cuda\"
define void @add(ptr addrspace(3) %p) {
  %q = addrspacecast ptr addrspace(3) %p to ptr
  %old = atomicrmw add ptr %q, i32 1 syncscope(\"block\") monotonic
  ret void
}";
    let ptx = compile(generic, "sm_90", None).expect("it has a lowering");
    assert!(ptx.contains(".relaxed.cta.shared.add.u32"), "{ptx}");
}

#[test]
fn options_have_the_target_of_the_code_generator() {
    let target = |cpu: &str, features: &str| host::options(&nvptx(cpu, features)).map(|options| options.target);
    let expected = |sm: &str, ptx: &str| Target::new(sm.parse().expect("a GPU"), Some(ptx.parse().expect("a version")));
    assert_eq!(target("sm_90a", "+ptx83").expect("both are known"), expected("sm_90a", "ptx83").expect("a target"));
    // LLVM chooses a version for the GPU.
    assert_eq!(target("sm_100", "").expect("the GPU is known"), expected("sm_100", "ptx86").expect("a target"));
    let error = host::options(&code_generator("x86_64-unknown-linux-gnu", "x86-64", "")).expect_err("it is not a GPU");
    assert!(error.to_string().starts_with("the target of the host compiler: "), "{error}");
    let error = host::options(&code_generator("x86_64-unknown-linux-gnu", "", "")).expect_err("it has no CPU");
    assert!(error.to_string().contains("found one without a CPU"), "{error}");
}

#[test]
fn a_failed_module_is_rejected_by_every_assembler() {
    let context = Context::create();
    let machine = nvptx("sm_70", "+ptx60");
    let options = host::options(&machine).expect("the GPU is known");
    let check = |ir: &str, passes: &dyn Fn() -> Result<(), Errors>, expected: &str| {
        let module = parse(&context, ir);
        let error = host::lower_around(&module, &machine, &options, passes).expect_err(expected);
        assert!(error.to_string().contains(expected), "{error}");
        assert!(is_marked(&module), "{expected}");
    };
    check(LACKING, &|| Ok(()), "in function f: ");
    check(KERNEL, &|| Err(ptx_atomics_llvm::Diagnostic::new("a pass failed").into()), "a pass failed");
    let other = parse(&context, "target triple = \"x86_64-unknown-linux-gnu\"\ndefine void @f() { ret void }");
    let error = host::lower_module(&other, &machine, &options).expect_err("it is for another target");
    assert!(error.to_string().contains("not for an NVIDIA GPU"), "{error}");
}

#[test]
fn code_that_the_passes_link_is_lowered() {
    let context = Context::create();
    let (module, machine) = (parse(&context, KERNEL), nvptx("sm_90", "+ptx80"));
    let options = Options { remarks: true, ..host::options(&machine).expect("the GPU is known") };
    let library = "define void @late(ptr addrspace(3) %p) { fence acquire ret void }";
    let Lowered { remarks, warnings, .. } = host::lower_around(&module, &machine, &options, || {
        module.link_in_module(parse(&context, library)).expect("the module has no such function");
        Ok::<(), Errors>(())
    })
    .expect("all have a lowering");
    assert_eq!(remarks.iter().filter(|remark| remark.function == "late").count(), 1);
    assert_eq!((remarks.len(), warnings), (5, Vec::new()));
}

#[test]
fn pointers_stay_the_compilers() {
    let context = Context::create();
    let (module, machine) = (parse(&context, KERNEL), nvptx("sm_80", "+ptx75"));
    // SAFETY: both are live.
    unsafe {
        let options = host::options_raw(machine.as_mut_ptr()).expect("the GPU is known");
        let passes = || Err::<(), _>("no passes".to_owned());
        let failed = host::lower_around_raw(module.as_mut_ptr(), machine.as_mut_ptr(), &options, passes);
        assert_eq!(failed.expect_err("the passes fail"), "no passes");
        host::lower_module_raw(module.as_mut_ptr(), machine.as_mut_ptr(), &options).expect("all have a lowering");
    }
    assert!(emit(&module, &machine).contains("atom.acq_rel.gpu.global.add.u32"));
}

#[test]
fn threads_write_the_same_bytes() {
    let expected = compile(KERNEL, "sm_90", Some("default<O2>")).expect("it has a lowering");
    let compile_often = || {
        (0..40).for_each(|_| assert_eq!(compile(KERNEL, "sm_90", Some("default<O2>")).as_ref(), Ok(&expected)));
    };
    thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(compile_often))));
}

/// rustc has an LLVM of its own, which this process then contains as a second copy.
#[cfg(target_os = "linux")]
#[test]
fn a_second_copy_of_llvm_is_reported() {
    use std::{
        ffi::{CString, c_char, c_int, c_void},
        os::unix::ffi::OsStrExt,
        path::PathBuf,
        process::Command,
        ptr::null_mut,
    };

    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output().expect("rustc runs").stdout;
    let folder = PathBuf::from(String::from_utf8_lossy(&sysroot).trim()).join("lib");
    let files = folder.read_dir().expect("the toolchain has libraries").filter_map(Result::ok).map(|file| file.path());
    let is_llvm = |path: &PathBuf| path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"libLLVM"));
    let Some(library) = files.filter(is_llvm).max_by_key(|path| path.metadata().map_or(0, |file| file.len())) else {
        eprintln!("skipped: this rustc contains LLVM in another library");
        return;
    };
    let path = CString::new(library.as_os_str().as_bytes()).expect("a path has no NUL");
    let name = |name: &str| CString::new(format!("LLVM{name}")).expect("a name has no NUL");
    type Create = unsafe extern "C" fn(
        *mut c_void,
        *const c_char,
        *const c_char,
        *const c_char,
        c_int,
        c_int,
        c_int,
    ) -> LLVMTargetMachineRef;
    // SAFETY: the functions have these types in the C API of LLVM. Neither the library nor its code generator is freed.
    let machine = unsafe {
        let copy = libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
        assert!(!copy.is_null(), "{}", library.display());
        let function = |part: &str| libc::dlsym(copy, name(part).as_ptr());
        for part in ["TargetInfo", "Target", "TargetMC"] {
            let initialize = function(&format!("InitializeNVPTX{part}"));
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn()>(initialize)();
        }
        let find: unsafe extern "C" fn(*const c_char, *mut *mut c_void, *mut *mut c_char) -> c_int =
            std::mem::transmute(function("GetTargetFromTriple"));
        let create: Create = std::mem::transmute(function("CreateTargetMachine"));
        let (triple, mut target) = (c"nvptx64-nvidia-cuda", null_mut());
        assert_eq!(find(triple.as_ptr(), &mut target, &mut null_mut()), 0);
        TargetMachine::new(create(target, triple.as_ptr(), c"sm_90".as_ptr(), c"+ptx80".as_ptr(), 2, 0, 0))
    };
    let machine = ManuallyDrop::new(machine);
    let context = Context::create();
    let module = parse(&context, KERNEL);
    let options = Options::new(Target::new("sm_90".parse().expect("a GPU"), None).expect("a target"));
    let error = host::lower_module(&module, &machine, &options).expect_err("the copies differ");
    let expected = format!("found one of the LLVM in '{}'", library.display());
    assert!(error.to_string().contains(&expected), "{error}");
    assert!(error[0].help.as_ref().is_some_and(|help| help.starts_with("link one copy of LLVM")), "{error:?}");
}
