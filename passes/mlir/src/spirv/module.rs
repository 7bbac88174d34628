//! The conversion of the SPIR-V dialect around its atomics: `convert-spirv-to-llvm`, completed for CUDA kernels.
//!
//! MLIR drops entry points, has no conversion of variables in shared or global memory, and turns built-in variables
//! into external ones. Therefore these are removed before the conversion, and their replacements are added after it.

use melior::ir::{
    Block, BlockLike, Operation, Region, RegionLike, Type, TypeLike, ValueLike,
    attribute::AttributeLike,
    operation::{OperationBuilder, OperationLike},
};
use mlir_sys::*;
use ptx_atomics_common::{Diagnostic, Errors, operation::Problem};

use super::words::{enumerator, short, storage_class};
use crate::{
    diagnostic::error_at,
    ir::{self, Builder, Op},
    run::{diagnosed, run_on},
};

/// The execution models that are kernels.
const KERNELS: [&str; 2] = ["GLCompute", "Kernel"];

/// The execution mode that sets the number of threads in a block.
const LOCAL_SIZE: &str = "LocalSize";

/// The execution modes that PTX satisfies: the size of a block, hints, and modes that describe PTX's usual behavior.
const MODES: [&str; 7] = [
    LOCAL_SIZE,
    "LocalSizeHint",
    "VecTypeHint",
    "ContractionOff",
    "DenormPreserve",
    "RoundingModeRTE",
    "SignedZeroInfNanPreserve",
];

/// The storage classes of variables that PTX can represent, with LLVM's address space for each class that MLIR does not
/// convert.
const VARIABLES: [(&str, Option<u32>); 3] =
    [("CrossWorkgroup", Some(1)), ("StorageBuffer", None), ("Workgroup", Some(3))];

/// The class of the variables that MLIR converts.
const CONVERTED: &str = "StorageBuffer";

/// The class of built-in variables.
const INPUT: &str = "Input";

/// The built-in variables as products of special registers, with an optional register that is added.
const BUILT_IN: [(&str, &[&str], Option<&str>); 8] = [
    ("GlobalInvocationId", &["ctaid", "ntid"], Some("tid")),
    ("GlobalSize", &["nctaid", "ntid"], None),
    ("LocalInvocationId", &["tid"], None),
    ("NumWorkgroups", &["nctaid"], None),
    ("SubgroupLocalInvocationId", &["laneid"], None),
    ("SubgroupSize", &["warpsize"], None),
    ("WorkgroupId", &["ctaid"], None),
    ("WorkgroupSize", &["ntid"], None),
];

/// A problem for an op that MLIR would convert with another meaning than in SPIR-V.
pub fn check(op: Op<'_, '_>) -> Result<(), Vec<Problem>> {
    let one_of = |what: &str, found: String, known: &[&str]| match known.contains(&found.as_str()) {
        true => Ok(()),
        false => Err((format!("the {what} {found} has no lowering"), format!("expected one of {}", known.join(", ")))),
    };
    let problem = match short(op).unwrap_or_default() {
        "EntryPoint" => one_of("execution model", enumerator(op, "execution_model"), &KERNELS),
        "ExecutionMode" => one_of("execution mode", enumerator(op, "execution_mode"), &MODES),
        "GlobalVariable" => match ir::inherent(op, "built_in").and_then(ir::string) {
            Some(name) => one_of("built-in variable", name, &BUILT_IN.map(|(name, ..)| name)),
            None => variable(op),
        },
        "mlir.addressof" => built_in_use(op),
        // MLIR has these ops since version 23.
        "MemoryNamedBarrier" | "NamedBarrierInitialize" => Err((
            "a named barrier has no lowering: the barriers of PTX have numbers".into(),
            "use spirv.ControlBarrier, or nvvm.barrier with a number and the threads that wait".into(),
        )),
        _ => Ok(()),
    };
    problem.map_err(|(message, help)| vec![(message, Some(help))])
}

fn variable(op: Op<'_, '_>) -> Result<(), (String, String)> {
    let class = class(op);
    let Some((_, space)) = VARIABLES.iter().find(|(known, _)| *known == class) else {
        let known = VARIABLES.map(|(name, _)| name).join(", ");
        return Err((
            format!("a variable of the storage class {class} has no lowering"),
            format!("expected one of {known}"),
        ));
    };
    let attributes = ["initializer", "binding", "descriptor_set", "linkage_attributes"].into_iter();
    let unknown = attributes.filter(|name| space.is_some() && ir::inherent(op, name).is_some()).collect::<Vec<_>>();
    if unknown.is_empty() {
        return Ok(());
    }
    let message = format!("a variable of the storage class {class} with {} has no lowering", unknown.join(" and "));
    Err((message, "remove it".to_owned()))
}

/// The problem of an address of a built-in variable that is not only loaded: a special register has no address.
fn built_in_use(op: Op<'_, '_>) -> Result<(), (String, String)> {
    let Some(pointer) = ir::result(op) else { return Ok(()) };
    let is_load = |op: Op<'_, '_>| ir::name(op) == "spirv.Load";
    if storage_class(&pointer.r#type().to_string()) != INPUT || ir::users(pointer).into_iter().all(is_load) {
        return Ok(());
    }
    Err(("the address of a built-in variable is used other than by spirv.Load".into(), "load it as a whole".into()))
}

/// The storage class of a variable.
fn class(variable: Op<'_, '_>) -> String {
    ir::inherent(variable, "type").map(|ty| storage_class(&ty.to_string())).unwrap_or_default()
}

/// The `spirv.module` that contains an op.
pub fn around<'c, 'a>(op: Op<'c, 'a>) -> Option<Op<'c, 'a>> {
    ir::parents(op).find(|parent| ir::name(*parent) == "spirv.module")
}

/// Converts all SPIR-V in a device module whose atomics and barriers have been expanded. Returns false if there is
/// none.
///
/// # Errors
/// MLIR's errors, and an error for each call of a function that MLIR expects from an implementation of OpenCL.
pub fn convert(device: Op<'_, '_>) -> Result<bool, Errors> {
    if !ir::all(device).into_iter().any(|op| short(op).is_some()) {
        return Ok(false);
    }
    let kernels = kernels(device);
    let variables = take_variables(device);
    let inner = wrap(device);
    run_on(inner, "builtin.module(convert-spirv-to-llvm)")?;
    unwrap(inner, inner);
    for op in ir::all(device).into_iter().filter(|op| ir::name(*op) == "llvm.func") {
        let name = ir::symbol(op);
        for kernel in kernels.iter().filter(|kernel| Some(&kernel.name) == name.as_ref()) {
            set(op, "nvvm.kernel", "unit");
            kernel.block.iter().for_each(|size| set(op, "nvvm.reqntid", &format!("array<i32: {size}>")));
        }
    }
    place(device, &variables);
    let verified = diagnosed(device.context(), || device.verify().then_some(()));
    verified?;
    ir::all(device).into_iter().filter_map(call_of_opencl).collect::<Errors>().or(true)
}

/// An error for a call of a function that belongs to an implementation of OpenCL.
fn call_of_opencl(op: Op<'_, '_>) -> Option<Diagnostic> {
    let callee = ir::inherent(op, "callee").filter(|_| ir::name(op) == "llvm.call")?.to_string();
    callee.contains("__spirv_").then(|| {
        let help = "no library for NVIDIA GPUs has it: use another op";
        error_at(op, format!("MLIR makes a call of {callee} of an op of SPIR-V"), help)
    })
}

struct Kernel {
    name: String,
    /// The number of threads in a block, for each dimension.
    block: Option<String>,
}

/// The kernels that a device module declares, by SPIR-V's ops or by the attribute from which MLIR generates these ops.
/// The ops are erased.
fn kernels(device: Op<'_, '_>) -> Vec<Kernel> {
    let function = |op| ir::inherent(op, "fn").map(|name| name.to_string().trim_start_matches('@').to_owned());
    let mut found: Vec<Kernel> = Vec::new();
    let mut sizes = Vec::new();
    for op in ir::all(device) {
        match short(op).unwrap_or_default() {
            "func" => {
                let abi = op.attribute("spirv.entry_point_abi").map(|abi| abi.to_string());
                let kernel = |abi: String| Some(Kernel { name: ir::symbol(op)?, block: numbers(&abi) });
                found.extend(abi.ok().and_then(kernel));
            }
            "EntryPoint" => {
                found.extend(function(op).map(|name| Kernel { name, block: None }));
                ir::erase(op);
            }
            "ExecutionMode" => {
                let size = ir::inherent(op, "values").filter(|_| enumerator(op, "execution_mode") == LOCAL_SIZE);
                sizes.extend(function(op).zip(size.and_then(|size| numbers(&size.to_string()))));
                ir::erase(op);
            }
            _ => {}
        }
    }
    for kernel in &mut found {
        let size = sizes.iter().find(|(name, _)| *name == kernel.name);
        kernel.block = kernel.block.take().or_else(|| size.map(|(_, size)| size.clone()));
    }
    found
}

/// The numbers of a list in an attribute, such as `[32 : i32, 1 : i32]`.
fn numbers(attribute: &str) -> Option<String> {
    let (list, _) = attribute.split_once('[')?.1.split_once(']')?;
    Some(list.replace(" : i32", ""))
}

/// Replaces the built-in variables, and changes the storage class of variables that MLIR does not convert to one that
/// it converts. Returns the names of these variables, and their address spaces.
fn take_variables(device: Op<'_, '_>) -> Vec<(String, u32)> {
    let (variables, others): (Vec<_>, Vec<_>) =
        ir::all(device).into_iter().partition(|op| ir::name(*op) == "spirv.GlobalVariable");
    let mut addresses: Vec<_> = others.into_iter().filter(|op| ir::name(*op) == "spirv.mlir.addressof").collect();
    let mut taken = Vec::new();
    for variable in variables {
        let symbol = ir::symbol(variable).unwrap_or_default();
        let refers = |op: &Op<'_, '_>| {
            ir::inherent(*op, "variable").is_some_and(|name| name.to_string() == format!("@{symbol}"))
                && ir::parents(*op).any(|parent| Some(parent) == variable.parent_operation())
        };
        if let Some(name) = ir::inherent(variable, "built_in").and_then(ir::string) {
            addresses.extract_if(.., |op| refers(op)).for_each(|address| read_registers(address, &name));
            ir::erase(variable);
            continue;
        }
        let class = class(variable);
        if let Some((_, Some(space))) = VARIABLES.iter().find(|(known, _)| *known == class) {
            let ty = ir::inherent(variable, "type").map(|ty| ty.to_string()).unwrap_or_default();
            set(variable, "type", &ty.replace(&format!(", {class}>"), &format!(", {CONVERTED}>")));
            taken.push((symbol, *space));
        }
    }
    taken
}

/// Replaces the loads of a built-in variable.
fn read_registers(address: Op<'_, '_>, name: &str) {
    let Some((_, factors, plus)) = BUILT_IN.iter().find(|(known, ..)| *known == name) else { return };
    for load in ir::result(address).into_iter().flat_map(ir::users) {
        let at = Builder::before(load);
        let ty = ir::result(load).expect("a load has a result").r#type();
        // SAFETY: the type is live, and the properties of vectors are read only if it is a vector.
        let (element, vector) = unsafe {
            match mlirTypeIsAVector(ty.to_raw()) {
                true => (Type::from_raw(mlirShapedTypeGetElementType(ty.to_raw())), true),
                false => (ty, false),
            }
        };
        let register = |register: &str, dimension: &str| {
            let value = at.value(&format!("nvvm.read.ptx.sreg.{register}{dimension}"), &[], &[], at.int(32));
            if element == at.int(32) { value } else { at.value("llvm.zext", &[value], &[], element) }
        };
        let computed = |dimension: &str| {
            let values = factors.iter().map(|factor| register(factor, dimension));
            let product = values.reduce(|a, b| at.value("llvm.mul", &[a, b], &[], element)).expect("one at least");
            match plus {
                Some(plus) => at.value("llvm.add", &[product, register(plus, dimension)], &[], element),
                None => product,
            }
        };
        let value = if vector {
            let empty = at.value("llvm.mlir.poison", &[], &[], ty);
            [".x", ".y", ".z"].into_iter().zip(0i64..).fold(empty, |vector, (dimension, index)| {
                let index = at.value("llvm.mlir.constant", &[], &[("value", at.i64(index))], at.int(64));
                at.value("llvm.insertelement", &[vector, computed(dimension), index], &[], ty)
            })
        } else {
            computed("")
        };
        ir::replace(load, &[value]);
    }
    ir::erase(address);
}

/// Sets the linkage and the address space of the variables in PTX, and the alignment that MLIR's accesses need but its
/// packed structures do not have.
fn place(device: Op<'_, '_>, variables: &[(String, u32)]) {
    let space = |name: &str| variables.iter().find(|(known, _)| known == name).map(|(_, space)| *space);
    for op in ir::all(device) {
        match ir::name(op) {
            "llvm.mlir.global" => {
                if let Some(space) = ir::symbol(op).and_then(|name| space(&name)) {
                    set(op, "addr_space", &format!("{space} : i32"));
                    set(op, "alignment", "16 : i64");
                    set(op, "linkage", "#llvm.linkage<internal>");
                }
            }
            "llvm.mlir.addressof" => {
                let Some(global) = ir::inherent(op, "global_name") else { continue };
                let Some(space) = space(global.to_string().trim_start_matches('@')) else { continue };
                let at = Builder::before(op);
                let address = at.value("llvm.mlir.addressof", &[], &[("global_name", global)], at.pointer(space));
                ir::replace(op, &[at.value("llvm.addrspacecast", &[address], &[], at.pointer(0))]);
            }
            _ => {}
        }
    }
}

/// Moves the contents of a device module into a `builtin.module`, the only kind of module that MLIR converts from
/// SPIR-V.
fn wrap<'c, 'a>(device: Op<'c, 'a>) -> Op<'c, 'a> {
    let block = device.region(0).ok().and_then(|region| region.first_block()).expect("a module has a block");
    let region = Region::new();
    let inner = region.append_block(Block::new(&[]));
    let held = ir::all(device).into_iter().skip(1).filter(|op| op.parent_operation() == Some(device));
    for op in held {
        // SAFETY: the op is in the module's block, and is inserted into another block immediately.
        inner.append_operation(unsafe {
            mlirOperationRemoveFromParent(op.to_raw());
            Operation::from_raw(op.to_raw())
        });
    }
    let builder = OperationBuilder::new("builtin.module", device.location());
    block.append_operation(builder.add_regions([region]).build().expect("the dialect builtin is always loaded"))
}

/// Moves the contents of `module` and of nested modules before another op, and erases `module`.
fn unwrap(module: Op<'_, '_>, before: Op<'_, '_>) {
    for op in ir::all(module).into_iter().skip(1).filter(|op| op.parent_operation() == Some(module)) {
        match ir::name(op) {
            "builtin.module" => unwrap(op, before),
            // SAFETY: both ops are live, and neither contains the other's destination.
            _ => unsafe { mlirOperationMoveBefore(op.to_raw(), before.to_raw()) },
        }
    }
    ir::erase(module);
}

/// Sets an attribute to the value of a text.
fn set(op: Op<'_, '_>, name: &str, text: &str) {
    let value = Builder::before(op).attribute(text);
    // SAFETY: the op and the attribute are live.
    unsafe { mlirOperationSetAttributeByName(op.to_raw(), ir::string_ref(name), value.to_raw()) };
}
