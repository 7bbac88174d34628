//! The conversion of ops of MLIR to operations, with the replacement of each. Every dialect handles its own ops.
//!
//! All device code is inspected before any change, and every operation without a lowering is reported.

use std::{collections::HashSet, rc::Rc};

use melior::ir::{
    Attribute, Value, ValueLike,
    attribute::{ArrayAttribute, FloatAttribute},
    operation::OperationLike,
};
use ptx_atomics_common::{
    Errors, Options,
    memory::Memory,
    operation::{
        Constants, DENORMAL_MODES, NO_NANS, Problem, Replacement, STRATEGY, checked_type, flushes, help, sync_scope,
        takes_constants,
    },
};
use ptx_lowering::{Access, AtomicOp, Policy, Type as Model};

use crate::{
    device::device_ops,
    diagnostic::diagnostic,
    ir::{self, Op},
    llvm_dialect,
    memory::memory_of,
    memref, native_ops,
    plan::{Asked, Planned},
    spirv,
    vocabulary::{MAY_SKIP_WRITE, is_atomic, size_and_model},
};

/// Finds every atomic and fence of the device code in `root`, and plans its replacement.
///
/// # Errors
/// Every operation that has no lowering, and every op that the target lacks.
pub fn plan<'c, 'a>(root: Op<'c, 'a>, options: &Options) -> Result<Vec<Planned<'c, 'a>>, Errors> {
    let (mut planned, mut errors) = (Vec::new(), Errors::new());
    for op in device_ops(root).into_iter().flat_map(ir::all) {
        match plan_op(op, options) {
            Ok(found) => planned.extend(found),
            Err(problems) => errors.extend(problems.into_iter().map(|problem| diagnostic(op, problem))),
        }
    }
    errors.or(planned)
}

/// The plan for an op; `None` if it is neither an atomic nor a fence.
pub fn plan_op<'c, 'a>(op: Op<'c, 'a>, options: &Options) -> Result<Option<Planned<'c, 'a>>, Vec<Problem>> {
    if let Some(problem) = native_ops::missing(op, options) {
        return Err(vec![problem]);
    }
    let asked = asked(op)?;
    // A barrier may need no fence.
    if asked.is_empty() && !spirv::is_one(op) {
        return Ok(None);
    }
    let policy = policy(op, options).map_err(|problem| vec![problem])?;
    let (mut replaced, mut problems) = (Vec::new(), Vec::from_iter(spirv::missing(op, options)));
    for asked in asked {
        let replacement = operation(&asked, op.has_attribute(MAY_SKIP_WRITE), options).and_then(|operation| {
            let constants = if takes_constants(&operation.operation) { constants(&asked) } else { [None; 2] };
            Replacement::new(operation, &policy, &options.target, constants)
                .map_err(|errors| errors.iter().map(|error| (error.to_string(), help(error))).collect())
        });
        match replacement {
            Ok(replacement) => replaced.push((asked, Rc::new(replacement))),
            Err(found) => problems.extend(found),
        }
    }
    // The operations of a loop may have the same problem.
    let mut said = HashSet::new();
    problems.retain(|problem| said.insert(problem.clone()));
    if problems.is_empty() { Ok(Some(Planned { op, asked: replaced })) } else { Err(problems) }
}

/// The operations of an op; empty if it is neither an atomic nor a fence.
fn asked<'c, 'a>(op: Op<'c, 'a>) -> Result<Vec<Asked<'c, 'a>>, Vec<Problem>> {
    let one = |asked: Result<Option<Asked<'c, 'a>>, Vec<Problem>>| asked.map(|asked| asked.into_iter().collect());
    match ir::name(op) {
        name if is_atomic(name) => one(llvm_dialect::asked(op)),
        "memref.atomic_rmw" | "memref.generic_atomic_rmw" => memref::asked(op),
        name if name.starts_with("spirv.") => spirv::asked(op),
        _ => Ok(Vec::new()),
    }
}

/// The operation in the types of the lowering. `may_skip_write` comes from the optimizer.
fn operation(asked: &Asked<'_, '_>, may_skip_write: bool, options: &Options) -> Result<AtomicOp, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut keep = |problem| problems.push(problem);
    let access = asked.address.zip(asked.ty).and_then(|((pointer, space), ty)| {
        let memory = memory_of(pointer, space).map_err(&mut keep).ok();
        let (model, size) = size_and_model(ty);
        let alignment = asked.alignment.unwrap_or(size);
        let ty = checked_type(asked.opcode, model, size, alignment, || ty.to_string()).map_err(&mut keep).ok();
        let Memory { space, partly_local, unresolved } = memory?;
        let may_be_local = partly_local || unresolved && options.generic_may_be_local;
        let access = Access::new(space, ty?).aligned(alignment);
        Some(Access { volatile: asked.volatile, may_be_local, may_skip_write, ..access })
    });
    let (_, scope) = sync_scope(asked.sync_scope, options.default_scope);
    let done = asked.negated().map_or(asked.opcode, |(done, _)| done);
    match done.operation(access, asked.failure) {
        Some(operation) if problems.is_empty() => Ok(AtomicOp { operation, ordering: asked.ordering, scope }),
        _ => Err(problems),
    }
}

/// The policy of the options, combined with the attributes of the function.
pub fn policy(op: Op<'_, '_>, options: &Options) -> Result<Policy, Problem> {
    let mut policy = options.policy;
    let attribute = |name: &str| ir::parents(op).find_map(|parent| passed_through(parent, name));
    // If the dialect defines such an attribute, it has LLVM's name with `_` instead of `-`.
    let own = |name: &str| ir::parents(op).find_map(|parent| ir::inherent(parent, &name.replace('-', "_")));
    let mode = |name: &&str| attribute(name).or_else(|| own(name).and_then(ir::string));
    policy.flush_f32 |= DENORMAL_MODES.iter().find_map(mode).is_some_and(|mode| flushes(&mode));
    let no_nans = attribute(NO_NANS).or_else(|| own(NO_NANS).map(|value| value.to_string()));
    policy.no_nans |= no_nans.is_some_and(|value| value == "true");
    if let Some(list) = attribute(STRATEGY) {
        policy
            .strategies
            .override_with(&list)
            .map_err(|error| (format!("in the attribute \"{STRATEGY}\": {error}"), None))?;
    }
    Ok(policy)
}

/// The value of an attribute that a function passes through to LLVM.
pub fn passed_through(function: Op<'_, '_>, name: &str) -> Option<String> {
    let list = ArrayAttribute::try_from(function.attribute("passthrough").ok()?).ok()?;
    let pairs = (0..list.len()).filter_map(|index| ArrayAttribute::try_from(list.element(index).ok()?).ok());
    pairs.into_iter().find_map(|pair| {
        let text = |index| pair.element(index).ok().and_then(ir::string);
        (text(0).as_deref() == Some(name)).then(|| text(1).unwrap_or_default())
    })
}

/// The bits of the sources that are constants.
fn constants(asked: &Asked<'_, '_>) -> Constants {
    let negated = asked.negated().map(|(_, value)| value);
    let mut sources = asked.sources.iter().map(|source| negated.unwrap_or(*source));
    let mut bits = || sources.next().and_then(constant);
    [bits(), bits()]
}

/// The bits of a constant integer, null pointer, or float.
fn constant(value: Value<'_, '_>) -> Option<u64> {
    let (op, _) = ir::defining(value)?;
    match ir::name(op) {
        "llvm.mlir.zero" => return Some(0),
        "llvm.mlir.constant" | "arith.constant" => {}
        _ => return None,
    }
    let attribute: Attribute<'_> = ir::inherent(op, "value")?;
    if let Some(number) = ir::integer(attribute) {
        let (_, size) = size_and_model(value.r#type());
        return Some(number as u64 & (u64::MAX >> 64u64.saturating_sub(8 * size).min(63)));
    }
    let number = FloatAttribute::try_from(attribute).ok()?.value();
    let bits = match size_and_model(value.r#type()).0? {
        Model::F16 => half::f16::from_f64(number).to_bits().into(),
        Model::Bf16 => half::bf16::from_f64(number).to_bits().into(),
        Model::F32 => (number as f32).to_bits().into(),
        Model::F64 => number.to_bits(),
        _ => return None,
    };
    (!number.is_nan()).then_some(bits)
}
