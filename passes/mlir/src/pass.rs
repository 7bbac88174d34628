//! The pass as MLIR's pass managers run it, on any op.

use std::{
    ffi::CString,
    panic::{AssertUnwindSafe, catch_unwind},
};

use melior::{
    ir::{OperationRef, operation::OperationLike, r#type::TypeId},
    pass::{ExternalPass, Pass, create_external},
};
use mlir_sys::*;
use ptx_atomics_common::{AsyncMode, Diagnostic, Errors, Settings, each, remarks};

use crate::{
    asynchronous::has_asynchronous,
    device::device_ops,
    ir::{self, Op},
    lower::{check_lower, lower_op},
    options::{self, module_of},
    source::BUILT,
};

/// The name of the pass in pipelines.
pub const ARGUMENT: &str = "ptx-atomics";

/// The description of the pass in lists of passes.
pub const DESCRIPTION: &str = "Lowers every atomic and fence for NVIDIA GPUs to PTX, as NVIDIA's Atomics ABI says";

/// The pass, for a pass manager of melior. [`Settings`] has the options, which commas or semicolons separate; the
/// module flag `ptx-atomics` supplies options that they do not set, and a `#nvvm.target` the GPU.
///
/// It runs on any op: on a `builtin.module` it lowers every `gpu.module` and `gpu.launch` in it, or the whole module if
/// there is neither. Its errors are diagnostics of MLIR, at the ops; the IR is then unchanged, and the pass has failed.
///
/// # Examples
/// ```
/// # use ptx_atomics_link as _;
/// use ptx_atomics_mlir::melior::{ir::Module, pass::{PassManager, conversion}};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let context = ptx_atomics_mlir::context();
/// # let text = r#"
/// # gpu.module @kernels {
/// #   gpu.func @histogram(%bins: memref<256xi32, 1>, %bin: index) kernel {
/// #     %one = arith.constant 1 : i32
/// #     %old = memref.atomic_rmw addi %one, %bins[%bin] {ptx.ordering = "relaxed", ptx.scope = "gpu"}
/// #       : (i32, memref<256xi32, 1>) -> i32
/// #     gpu.return
/// #   }
/// # }"#;
/// # let mut module = Module::parse(&context, text).ok_or("it does not parse")?;
/// let manager = PassManager::new(&context);
/// let kernels = manager.nested_under("gpu.module");
/// kernels.add_pass(ptx_atomics_mlir::pass("strategy=fence,chip=sm_90").map_err(|errors| errors[0].text())?);
/// kernels.add_pass(conversion::create_gpu_ops_to_nvvm_ops());
/// kernels.add_pass(conversion::create_reconcile_unrealized_casts());
/// manager.run(&mut module)?;
/// # assert!(module.as_operation().to_string().contains("atom.relaxed.gpu.global.add.u32"));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// All invalid options.
pub fn pass(options: &str) -> Result<Pass, Errors> {
    /// MLIR identifies passes by addresses of this alignment.
    #[repr(align(8))]
    struct Id(#[expect(dead_code, reason = "a value without a size has no address of its own")] u8);
    static ID: Id = Id(0);
    validate(options)?;
    let options = options.to_owned();
    let work = move |op: OperationRef<'_, '_>, pass: ExternalPass<'_>| {
        // SAFETY: MLIR runs the pass.
        if !unsafe { run(op, &options) } {
            pass.signal_failure();
        }
    };
    let dialects = BUILT.map(|dialect| dialect());
    Ok(create_external(work, TypeId::create(&ID), "PtxAtomics", ARGUMENT, DESCRIPTION, "", &dialects))
}

/// Checks the options of the pass.
///
/// # Errors
/// All invalid options.
pub fn validate(options: &str) -> Result<(), Errors> {
    let mut settings = Settings::default();
    settings.override_with(options, PLACE)?;
    let of_llvm_ir = [
        ("cuda-atomics", settings.cuda_atomics.is_some()),
        ("embed", settings.embed.is_some()),
        ("verify-native", settings.verify_native.is_some()),
    ];
    let wrong = |(name, _): (&str, bool)| {
        let message = format!("in {PLACE}: {name} is for LLVM IR");
        Diagnostic::new(message).help("give it to the pass over LLVM IR")
    };
    let errors: Errors = of_llvm_ir.into_iter().filter(|(_, is_set)| *is_set).map(wrong).collect();
    errors.or(())
}

const PLACE: &str = "the options of the pass";

/// Runs the pass on an op, and reports its errors to the op's context. Returns whether it succeeded.
///
/// # Safety
/// During the call, no other code uses the contents of the op. After the call, no code uses an op that was in it
/// before, as MLIR guarantees to a pass.
pub unsafe fn run(op: OperationRef<'_, '_>, options: &str) -> bool {
    let done = catch_unwind(AssertUnwindSafe(|| lower(op, options)));
    let errors = done.unwrap_or_else(|panic| Err(Diagnostic::of_panic(&*panic).into())).err().unwrap_or_default();
    errors.iter().for_each(|error| report(op, error));
    errors.is_empty()
}

/// The reason why asynchronous operations of the device code in an op are not checked, although the options request the
/// check.
///
/// The check reads PTX, and hosts such as mlir-opt do not contain the function of MLIR's C API that translates to LLVM
/// IR.
pub fn unchecked(op: OperationRef<'_, '_>, options: &str) -> Option<&'static str> {
    let is_asked = |op: Op<'_, '_>| {
        let mut settings = options::settings_of(op).ok()?;
        settings.override_with(options, PLACE).ok()?;
        (settings.asynchronous != Some(AsyncMode::Off)).then_some(())
    };
    let mut device = device_ops(op).into_iter().filter(|op| !is_of_host(*op));
    device.any(|op| has_asynchronous(op) && is_asked(op).is_some()).then_some(
        "ptx-atomics: asynchronous operations are not checked in MLIR's own passes; `ptx-atomics lower` checks them, \
         and so does the plugin in LLVM's passes (async=off disables the check)",
    )
}

/// Lowers all device code in an op, or none of it if there is an error.
fn lower(op: Op<'_, '_>, options: &str) -> Result<(), Errors> {
    let device = each(device_ops(op).into_iter().filter(|op| !is_of_host(*op)), |op| {
        let mut settings = options::settings_of(op)?;
        settings.override_with(options, PLACE)?;
        let mut options = options::options(&settings, op)?;
        options.remarks = settings.remarks.is_some();
        Ok((op, options, settings.remarks))
    })?;
    each(&device, |(op, options, _)| check_lower(*op, options))?;
    each(&device, |(op, options, file)| {
        let made = lower_op(*op, options)?;
        file.as_ref().map_or(Ok(()), |file| remarks::append(file, &made))
    })?;
    Ok(())
}

/// Whether an op, such as a function on which the pass runs, is outside the device code of its module.
fn is_of_host(op: Op<'_, '_>) -> bool {
    let is_module = |op: Op<'_, '_>| ir::name(op) == "gpu.module";
    let in_device = ir::parents(op).any(|op| is_module(op) || ir::name(op) == "gpu.launch");
    !in_device && ir::children(module_of(op)).any(is_module)
}

/// Reports an error as a diagnostic of MLIR.
fn report(op: Op<'_, '_>, error: &Diagnostic) {
    let text = CString::new(error.text().replace('\0', "\u{fffd}")).expect("it has no NUL");
    // SAFETY: the op is live, and so are the texts during the calls.
    unsafe {
        let location = match &error.location {
            Some(at) => {
                let context = mlirOperationGetContext(op.to_raw());
                mlirLocationFileLineColGet(context, ir::string_ref(&at.file), at.line, at.column)
            }
            None => op.location().to_raw(),
        };
        mlirEmitError(location, text.as_ptr());
    }
}

#[cfg(test)]
mod tests {
    use ptx_atomics_common::settings::SETTINGS;

    #[test]
    fn options_of_llvm_ir_are_none_of_the_pass() {
        for setting in SETTINGS.iter().filter(|setting| !setting.in_mlir) {
            let value = if setting.name == "embed" { "native" } else { "on" };
            let errors = super::validate(&format!("{}={value}", setting.name)).expect_err(setting.name);
            assert!(errors.to_string().contains("is for LLVM IR"), "{errors}");
        }
        assert_eq!(super::validate("chip=sm_90,remarks=a"), Ok(()));
    }

    /// The example in `docs/mlir.md` is the same as the example of [`super::pass`], which is compiled and run.
    #[test]
    fn the_document_has_the_example() {
        let block = |text: &str, start: &str| {
            let lines = text.lines().skip_while(|line| *line != start).skip(1);
            let lines = lines.map(|line| line.trim_start_matches("///").trim()).take_while(|line| *line != "```");
            let shown = lines.filter(|line| !line.starts_with("# ") && !line.is_empty());
            shown.map(str::to_owned).collect::<Vec<_>>()
        };
        let example = block(include_str!("pass.rs"), "/// ```");
        assert!(example.iter().any(|line| line.contains("pass(\"strategy=fence")), "{example:?}");
        assert_eq!(block(include_str!("../../../docs/mlir.md"), "```rust"), example);
    }
}
