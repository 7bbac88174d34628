//! The check of asynchronous operations in the PTX of an MLIR module, and the insertion of missing instructions as ops.
//!
//! A copy of the module, whose locations are the numbers of its ops, is translated to LLVM IR. Each finding in its PTX
//! is reported at the corresponding op. A missing instruction is inserted before or after that op, as an op of the NVVM
//! dialect if the dialect has one.

use melior::ir::{Module, OperationRef, attribute::AttributeLike, operation::OperationLike};
use mlir_sys::*;
use ptx_atomics_common::{Diagnostic, Errors, Input, Location, Options, assembly, callee};
use ptx_atomics_llvm::{
    Checked, Listing, Subject, check_subject, debug_locations, find_hazards,
    inkwell::{context::Context as LlvmContext, module::Module as LlvmModule},
};
use ptx_hazards::Position;

use crate::{
    device::{DeviceModule, device_modules},
    diagnostic::{function_of, location_of},
    emit,
    ir::{self, Builder, Op},
    lower,
};

/// The file name in locations whose lines are the numbers of ops.
const NUMBERS: &str = "ptx-atomics.numbers";

/// Checks the asynchronous operations of the device code, and reports or inserts missing instructions as the options of
/// each device module request. If `wanted` names a device module, only that one is checked.
///
/// # Errors
/// The findings, if the options deny them.
pub fn asynchronous(
    module: &mut Module<'_>,
    wanted: Option<&str>,
    llvm: &LlvmContext,
    options: impl Fn(OperationRef<'_, '_>) -> Result<Options, Errors>,
) -> Result<Checked, Errors> {
    let root = module.as_operation();
    let mut all = Checked::default();
    if !has_asynchronous(root) {
        return Ok(all);
    }
    let mut errors = Errors::new();
    let mut index = 0;
    // An insertion does not change the number of device modules.
    while let Some((asynchronous, remarks)) = nth(root, wanted, index, |device| {
        let options = options(device.op())?;
        Ok((options.asynchronous, options.remarks))
    })
    .transpose()?
    {
        let subject = Mlir { root, wanted, index, llvm, options: &options };
        if let Some(checked) = errors.keep(check_subject(&subject, asynchronous, remarks, &find_hazards)) {
            all.warnings.extend(checked.warnings);
            all.remarks.extend(checked.remarks);
        }
        index += 1;
    }
    errors.or(all)
}

/// Whether an op contains asynchronous operations, or is one.
pub fn has_asynchronous(root: Op<'_, '_>) -> bool {
    ir::all(root).into_iter().any(|op| {
        let text = |name| ir::inherent(op, name).and_then(ir::string).unwrap_or_default();
        match ir::name(op) {
            "llvm.inline_asm" => assembly::is_asynchronous(&text("asm_string")),
            "nvvm.inline_ptx" => assembly::is_asynchronous(&text("ptxCode")),
            "llvm.call_intrinsic" => callee::is_asynchronous(&text("intrin")),
            name => match name.split_once('.') {
                Some(("nvvm", rest)) => callee::is_asynchronous(&format!("{}{rest}", callee::OF_NVIDIA)),
                Some(("nvgpu", rest)) => {
                    ["device_async", "tma.async", "warpgroup"].iter().any(|of| rest.starts_with(of))
                }
                _ => false,
            },
        }
    })
}

/// The result of `work` on the device module with this index, in a copy whose locations are the numbers of its ops;
/// `None` if there are fewer device modules.
fn nth<T>(
    root: Op<'_, '_>,
    wanted: Option<&str>,
    index: usize,
    work: impl FnOnce(&mut DeviceModule<'_, '_>) -> Result<T, Errors>,
) -> Option<Result<T, Errors>> {
    // SAFETY: the root is a live `builtin.module`, and this function owns its copy.
    let mut copy = unsafe { Module::from_raw(mlirModuleFromOperation(mlirOperationClone(root.to_raw()))) };
    for (number, op) in (1..).zip(ir::all(copy.as_operation())) {
        // SAFETY: the op is live, and the text lives during the call.
        unsafe {
            let context = mlirOperationGetContext(op.to_raw());
            mlirOperationSetLocation(
                op.to_raw(),
                mlirLocationFileLineColGet(context, ir::string_ref(NUMBERS), number, 0),
            );
        }
    }
    let device = match device_modules(&mut copy) {
        Ok(device) => device,
        Err(errors) => return (index == 0).then_some(Err(errors)),
    };
    let is_wanted = |device: &DeviceModule<'_, '_>| wanted.is_none_or(|name| device.name.as_deref() == Some(name));
    device.into_iter().filter(is_wanted).nth(index).map(|mut device| work(&mut device))
}

/// A device module of MLIR.
struct Mlir<'m, 'c, 'a, F> {
    root: Op<'c, 'a>,
    wanted: Option<&'m str>,
    index: usize,
    llvm: &'m LlvmContext,
    options: &'m F,
}

impl<'c, 'a, F: Fn(OperationRef<'_, '_>) -> Result<Options, Errors>> Subject for Mlir<'_, 'c, 'a, F> {
    type Instruction = Op<'c, 'a>;

    fn listing(&self) -> Result<(Listing, Vec<Op<'c, 'a>>), Errors> {
        let listing = nth(self.root, self.wanted, self.index, |device| {
            let options = (self.options)(device.op())?;
            lower::check(device.op(), &options)?;
            lower::expand(device, &options)?;
            let translated = emit::llvm_ir(device, self.llvm, &Input::new("", "").keeping_lines())?.module;
            ptx_atomics_llvm::expand(&translated)?;
            Ok(Listing::compile(&translated, &options)?.renumbered(&numbers(&translated)))
        });
        let gone = || Err(Diagnostic::new("a module for the GPU is gone").into());
        Ok((listing.unwrap_or_else(gone)?, ir::all(self.root)))
    }

    fn insert(&self, beside: Op<'c, 'a>, position: Position, ptx: &str) -> Option<Op<'c, 'a>> {
        let before = match position {
            Position::Before => beside,
            Position::After => beside.next_in_block()?,
        };
        // An op outside functions is not code.
        function_of(before)?;
        Some(build(Builder::before(before).at(beside.location()), ptx))
    }

    fn erase(&self, op: Op<'c, 'a>) {
        ir::erase(op);
    }

    fn function(&self, op: Op<'c, 'a>) -> String {
        function_of(op).unwrap_or_default()
    }

    fn location(&self, op: Op<'c, 'a>) -> Option<Location> {
        location_of(op)
    }

    fn text(&self, op: Op<'c, 'a>) -> String {
        ir::line(op).unwrap_or_else(|| ir::name(op).to_owned())
    }
}

/// For each instruction, the number of the op from which it was generated.
fn numbers(module: &LlvmModule<'_>) -> Vec<Option<u32>> {
    let number = |at: Option<Location>| at.filter(|at| at.file.ends_with(NUMBERS))?.line.checked_sub(1);
    debug_locations(module).map(number).collect()
}

/// Builds the op that is equivalent to a PTX instruction, or inline assembly.
fn build<'c, 'a>(at: Builder<'c, 'a>, ptx: &str) -> Op<'c, 'a> {
    let (words, number) = ptx.split_once(char::is_whitespace).unwrap_or((ptx, ""));
    // Another version of MLIR may have another syntax.
    let attribute = |text: &str| Some(at.attribute(text)).filter(|attribute| !attribute.to_raw().ptr.is_null());
    if let Some((_, name, attributes)) = OPS.into_iter().find(|(ptx, ..)| *ptx == words) {
        let value = |text: &str| attribute(&text.replace("{}", number.trim()));
        let attributes = attributes.iter().map(|(name, text)| Some((*name, value(text)?))).collect::<Option<Vec<_>>>();
        if let Some(attributes) = attributes {
            return at.op(name, &[], &attributes, &[]);
        }
    }
    let text = format!("{ptx};");
    let attributes = [
        ("asm_string", at.string(&text)),
        ("constraints", at.string("~{memory}")),
        ("has_side_effects", at.unit()),
        ("convergent", at.unit()),
    ];
    at.op("llvm.inline_asm", &[], &attributes, &[])
}

/// A PTX instruction with no operand except a number, and the equivalent op with the text of its attributes.
type OpRow = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

#[rustfmt::skip]
const OPS: [OpRow; 17] = [
    ("cp.async.bulk.commit_group",          "nvvm.cp.async.bulk.commit.group", &[]),
    ("cp.async.bulk.wait_group",            "nvvm.cp.async.bulk.wait_group", &[("group", "{} : i32")]),
    ("cp.async.bulk.wait_group.read",       "nvvm.cp.async.bulk.wait_group", &[("group", "{} : i32"), ("read", "unit")]),
    ("cp.async.commit_group",               "nvvm.cp.async.commit.group", &[]),
    ("cp.async.wait_group",                 "nvvm.cp.async.wait.group", &[("n", "{} : i32")]),
    ("fence.mbarrier_init.release.cluster", "nvvm.fence.mbarrier.init", &[]),
    ("fence.proxy.async",                   "nvvm.fence.proxy", &[("kind", "#nvvm.proxy_kind<async>")]),
    ("fence.proxy.async.global",            "nvvm.fence.proxy", &[("kind", "#nvvm.proxy_kind<async.global>")]),
    ("fence.proxy.async.shared::cluster",   "nvvm.fence.proxy", &[("kind", "#nvvm.proxy_kind<async.shared>"), ("space", "#nvvm.shared_space<cluster>")]),
    ("fence.proxy.async.shared::cta",       "nvvm.fence.proxy", &[("kind", "#nvvm.proxy_kind<async.shared>"), ("space", "#nvvm.shared_space<cta>")]),
    ("tcgen05.fence::after_thread_sync",    "nvvm.tcgen05.fence", &[("kind", "#nvvm.tcgen05_fence<after>")]),
    ("tcgen05.fence::before_thread_sync",   "nvvm.tcgen05.fence", &[("kind", "#nvvm.tcgen05_fence<before>")]),
    ("tcgen05.wait::ld.sync.aligned",       "nvvm.tcgen05.wait", &[("kind", "#nvvm.tcgen05_wait<load>")]),
    ("tcgen05.wait::st.sync.aligned",       "nvvm.tcgen05.wait", &[("kind", "#nvvm.tcgen05_wait<store>")]),
    ("wgmma.commit_group.sync.aligned",     "nvvm.wgmma.commit.group.sync.aligned", &[]),
    ("wgmma.fence.sync.aligned",            "nvvm.wgmma.fence.aligned", &[]),
    ("wgmma.wait_group.sync.aligned",       "nvvm.wgmma.wait.group.sync.aligned", &[("group", "{} : i64")]),
];

#[cfg(test)]
mod tests {
    use ptx_atomics_common::Settings;
    use ptx_lowering::Target;

    use super::*;
    use crate::{context, read};

    /// Every op becomes its instruction, and an instruction without an op is emitted as it is.
    #[test]
    fn ops_are_the_instructions() {
        let llvm = LlvmContext::create();
        let others = [("fence.proxy.async.shared::cta.new", "", &[][..])];
        for (words, _, attributes) in OPS.into_iter().chain(others) {
            let takes_number = attributes.iter().any(|(_, text)| text.contains("{}"));
            let ptx = format!("{words}{}", if takes_number { " 3" } else { "" });
            let gpu = if words.starts_with("wgmma") { "sm_90a" } else { "sm_100a" };
            let target: Target = Settings::default().target(gpu.parse().ok(), None).expect("a target");
            let context = context();
            let text = "gpu.module @m { llvm.func @f() { llvm.return } }";
            let mut module = read(&context, &Input::new("f.mlir", text)).expect("MLIR");
            let device = device_modules(&mut module).expect("a module").remove(0);
            let ret = ir::all(device.op()).into_iter().find(|op| ir::name(*op) == "llvm.return").expect("an op");
            let built = build(Builder::before(ret), &ptx);
            assert_eq!(ir::name(built) == "llvm.inline_asm", words.ends_with(".new"), "{ptx}");
            let mut device = device_modules(&mut module).expect("a module").remove(0);
            let translated = emit::llvm_ir(&mut device, &llvm, &Input::new("", "")).expect("it is translated").module;
            let listing = Listing::compile(&translated, &Options::new(target)).expect("it is compiled");
            let written = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ") == format!("{ptx};");
            assert!(listing.ptx.lines().any(written), "{ptx}:\n{}", listing.ptx);
        }
    }
}
