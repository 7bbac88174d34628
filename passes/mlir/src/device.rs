//! The device code of a module: the code that is compiled for the GPU.

use melior::ir::{
    Block, BlockLike, Module, Operation, OperationRef, RegionLike, attribute::StringAttribute, operation::OperationLike,
};
use mlir_sys::*;
use ptx_atomics_common::Errors;

use crate::{
    ir::{self, Op},
    run::run_on_module,
};

/// A part of a module that is compiled for the GPU, with exclusive access.
pub struct DeviceModule<'c, 'a> {
    /// The name of the `gpu.module`; `None` if the input had no `gpu.module`.
    pub name: Option<String>,
    op: Op<'c, 'a>,
}

impl<'c, 'a> DeviceModule<'c, 'a> {
    /// The op that holds the code: a `gpu.module`, a `gpu.launch`, or the whole module.
    pub fn op(&self) -> OperationRef<'c, '_> {
        self.op
    }

    /// The op with mutable access. It has the lifetime of the module, which is mutably borrowed.
    pub(crate) fn op_mut(&mut self) -> Op<'c, 'a> {
        self.op
    }
}

/// The device code of the unchanged module: each `gpu.module` and the body of each `gpu.launch`, or the whole module if
/// there is neither.
pub fn device_code<'c, 'a>(module: &'a mut Module<'c>) -> Vec<DeviceModule<'c, 'a>> {
    let module: &'a Module<'c> = module;
    let device = device_ops(module.as_operation()).into_iter();
    device.map(|op| DeviceModule { name: ir::symbol(op), op }).collect()
}

/// The device code of a module, as `gpu.module`s. Each `gpu.launch` is outlined first. A module with neither a
/// `gpu.launch` nor a `gpu.module` is wrapped as a whole.
///
/// # Errors
/// MLIR's errors.
pub fn device_modules<'c, 'a>(module: &'a mut Module<'c>) -> Result<Vec<DeviceModule<'c, 'a>>, Errors> {
    let found = |name: &str| ir::all(module.as_operation()).into_iter().any(|op| ir::name(op) == name);
    // Only functions of the host can take some of nvgpu's types. A kernel takes their address instead.
    let captured =
        found("gpu.launch") && ir::all(module.as_operation()).into_iter().any(|op| ir::dialect(op) == "nvgpu");
    let outline = [
        (captured, "convert-nvgpu-to-nvvm"),
        (found("scf.parallel") && !found("gpu.module"), "convert-parallel-loops-to-gpu"),
        (found("gpu.launch") || found("scf.parallel"), "gpu-kernel-outlining"),
    ];
    for (_, pass) in outline.into_iter().filter(|(needed, _)| *needed) {
        run_on_module(module, &format!("builtin.module({pass})"))?;
    }
    if !ir::all(module.as_operation()).into_iter().any(|op| ir::name(op) == "gpu.module") {
        wrap(module);
        let op = module.body().first_operation().expect("the module was wrapped");
        return Ok(vec![DeviceModule { name: None, op }]);
    }
    Ok(device_code(module))
}

/// Moves the contents of a module into a `gpu.module`, the only kind of module that MLIR converts to NVVM.
fn wrap(module: &Module<'_>) {
    let context = module.context();
    // SAFETY: the context is used only here, while the reference lives.
    let context = unsafe { context.to_ref() };
    let body = module.body();
    let region = melior::ir::Region::new();
    let inner = region.append_block(Block::new(&[]));
    let name = StringAttribute::new(context, "device").into();
    let mut attributes = vec![(melior::ir::Identifier::new(context, "sym_name"), name)];
    // The attributes are moved, not copied: for two nested modules with equal data layouts, MLIR combines the layouts
    // and follows a null pointer.
    let moved: Vec<_> = module.as_operation().attributes().collect();
    for (name, _) in &moved {
        // SAFETY: module and name are live.
        unsafe {
            mlirOperationRemoveDiscardableAttributeByName(module.as_operation().to_raw(), name.as_string_ref().to_raw())
        };
    }
    attributes.extend(moved.into_iter().filter(|(name, _)| name.as_string_ref().as_str() != Ok("sym_name")));
    while let Some(op) = body.first_operation() {
        // SAFETY: the op is in the body, and is inserted into another block immediately.
        inner.append_operation(unsafe {
            mlirOperationRemoveFromParent(op.to_raw());
            Operation::from_raw(op.to_raw())
        });
    }
    let builder = melior::ir::operation::OperationBuilder::new("gpu.module", module.as_operation().location());
    let wrapped = builder.add_attributes(&attributes).add_regions([region]).build();
    body.append_operation(wrapped.expect("the dialect gpu is loaded"));
}

/// The ops that are compiled for the GPU: each `gpu.module` and the body of each `gpu.launch`, or the root if there is
/// neither.
pub fn device_ops<'c, 'a>(root: Op<'c, 'a>) -> Vec<Op<'c, 'a>> {
    let is_device = |op: Op<'c, 'a>| matches!(ir::name(op), "gpu.module" | "gpu.launch");
    if ir::parents(root).any(is_device) {
        return vec![root];
    }
    let mut found = Vec::new();
    ir::walk(root, &mut |op| {
        let device = is_device(op);
        if device {
            found.push(op);
        }
        !device
    });
    if found.is_empty() { vec![root] } else { found }
}
