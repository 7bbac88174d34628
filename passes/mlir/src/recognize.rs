//! From ops of MLIR to operations, and what becomes of each.
//!
//! All device code is looked at before anything is changed, and everything that has no lowering is reported.

use std::{collections::HashSet, rc::Rc};

use melior::ir::{
    Attribute, Type, TypeLike, Value, ValueLike,
    attribute::{ArrayAttribute, FloatAttribute},
    operation::OperationLike,
    r#type::IntegerType,
};
use mlir_sys::*;
use ptx_atomics_llvm::{
    Diagnostic, Errors, Location, Options, Remark,
    operation::{
        Constants, DENORMAL_MODES, Kind, Problem, Replacement, STRATEGY, SYNC_SCOPES, as_asked, checked_type, describe,
        flushes, help, integer, sync_scope, takes_constants, unknown_sync_scope, with_negated_operand,
    },
};
use ptx_atomics_lowering::{Access, AtomicOp, Ordering, Policy, RmwOp, Type as Model};
use strum::IntoEnumIterator;

use crate::{
    ir::{self, Op},
    kept,
    memory::Memory,
    memref, spirv,
};

/// What an op asks for, in the words of LLVM's instructions.
pub struct Asked<'c, 'a> {
    pub kind: Kind,
    pub ordering: Ordering,
    /// Of a `cmpxchg`.
    pub failure: Ordering,
    /// The index in [`SYNC_SCOPES`].
    pub sync_scope: usize,
    /// Where: a pointer, or a memref whose elements are accessed, and LLVM's address space. Nothing for a fence.
    pub address: Option<(Value<'c, 'a>, u32)>,
    /// The type of the value in memory. Nothing for a fence.
    pub ty: Option<Type<'c>>,
    pub volatile: bool,
    /// In bytes; that of the type without one.
    pub alignment: Option<u64>,
    /// The values that go in.
    pub sources: Vec<Value<'c, 'a>>,
}

/// An op, and the operations that it stands for.
pub struct Planned<'c, 'a> {
    pub op: Op<'c, 'a>,
    pub asked: Vec<(Asked<'c, 'a>, Rc<Replacement>)>,
}

impl Planned<'_, '_> {
    pub fn remarks(&self) -> impl Iterator<Item = Remark> {
        self.asked.iter().map(|(asked, replacement)| Remark {
            function: function_of(self.op).unwrap_or_default(),
            location: location_of(self.op),
            operation: describe(
                &as_asked(asked.kind, &replacement.op),
                SYNC_SCOPES[asked.sync_scope].0,
                &asked.type_text(),
            ),
            sequence: replacement.lowering.sequence.clone(),
            changes: replacement.lowering.changes.clone(),
        })
    }
}

impl<'c: 'a, 'a> Asked<'c, 'a> {
    /// What the operand of an addition or subtraction of float or double is the negation of, and the operation on it.
    pub fn negated(&self) -> Option<(Kind, Value<'c, 'a>)> {
        let source = *self.sources.first()?;
        let scalar = matches!(size_and_model(source.r#type()), (Some(Model::F32 | Model::F64), _));
        let (negation, _) = ir::defining(source).filter(|(op, _)| scalar && ir::name(*op) == "llvm.fneg")?;
        Some((with_negated_operand(self.kind)?, negation.operands().next()?))
    }

    fn type_text(&self) -> String {
        self.ty.map(|ty| ty.to_string()).unwrap_or_default()
    }
}

/// The ops that are compiled for the GPU: each `gpu.module` and the body of each `gpu.launch`, or all, if there is neither.
pub fn device_code<'c, 'a>(root: Op<'c, 'a>) -> Vec<Op<'c, 'a>> {
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

/// Finds every atomic and fence of the device code in `root`, and lowers it.
///
/// # Errors
/// Everything that has no lowering, and every op that the target lacks.
pub fn plan<'c, 'a>(root: Op<'c, 'a>, options: &Options) -> Result<Vec<Planned<'c, 'a>>, Errors> {
    let (mut planned, mut errors) = (Vec::new(), Errors::new());
    for op in device_code(root).into_iter().flat_map(ir::all) {
        match plan_op(op, options) {
            Ok(found) => planned.extend(found),
            Err(problems) => errors.extend(problems.into_iter().map(|problem| diagnostic(op, problem))),
        }
    }
    errors.or(planned)
}

/// What becomes of an op; nothing if it is neither atomic nor a fence.
pub fn plan_op<'c, 'a>(op: Op<'c, 'a>, options: &Options) -> Result<Option<Planned<'c, 'a>>, Vec<Problem>> {
    if let Some(problem) = kept::missing(op, options) {
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
        let replacement = operation(&asked, options).and_then(|operation| {
            let constants = if takes_constants(&operation.operation) { constants(&asked) } else { [None; 2] };
            Replacement::new(operation, &policy, &options.target, constants)
                .map_err(|errors| errors.iter().map(|error| (error.to_string(), help(error))).collect())
        });
        match replacement {
            Ok(replacement) => replaced.push((asked, Rc::new(replacement))),
            Err(found) => problems.extend(found),
        }
    }
    // The operations of a loop may lack the same.
    let mut said = HashSet::new();
    problems.retain(|problem| said.insert(problem.clone()));
    if problems.is_empty() { Ok(Some(Planned { op, asked: replaced })) } else { Err(problems) }
}

/// What an op asks for; nothing, if it is neither atomic nor a fence.
fn asked<'c, 'a>(op: Op<'c, 'a>) -> Result<Vec<Asked<'c, 'a>>, Vec<Problem>> {
    let one = |asked: Result<Option<Asked<'c, 'a>>, Vec<Problem>>| asked.map(|asked| asked.into_iter().collect());
    match ir::name(op) {
        name if is_of_llvm(name) => one(llvm_op(op)),
        "memref.atomic_rmw" | "memref.generic_atomic_rmw" => memref::asked(op),
        name if name.starts_with("spirv.") => spirv::asked(op),
        _ => Ok(Vec::new()),
    }
}

/// Whether an op of this name is one of the LLVM dialect that may be atomic, or a fence.
pub fn is_of_llvm(name: &str) -> bool {
    matches!(name, "llvm.fence" | "llvm.load" | "llvm.store" | "llvm.atomicrmw" | "llvm.cmpxchg")
}

/// The operations of LLVM's `atomicrmw`, by the numbers of MLIR (`LLVMEnums.td`).
const BIN_OPS: [RmwOp; 21] = {
    use RmwOp::*;
    [
        Xchg, Add, Sub, And, Nand, Or, Xor, Max, Min, UMax, UMin, FAdd, FSub, FMax, FMin, UIncWrap, UDecWrap, USubCond,
        USubSat, FMaximum, FMinimum,
    ]
};

/// LLVM's orderings of atomics, and the numbers that MLIR has for them.
const ORDERINGS: [(Ordering, i64); 6] = [
    (Ordering::Unordered, 1),
    (Ordering::Relaxed, 2),
    (Ordering::Acquire, 4),
    (Ordering::Release, 5),
    (Ordering::AcqRel, 6),
    (Ordering::SeqCst, 7),
];

/// The number of an operation in MLIR.
pub fn bin_op_number(op: RmwOp) -> i64 {
    BIN_OPS.iter().position(|known| *known == op).unwrap_or_default() as i64
}

/// The number of an ordering in MLIR.
pub fn ordering_number(ordering: Ordering) -> i64 {
    ORDERINGS.iter().find(|(known, _)| *known == ordering).map_or(0, |(_, number)| *number)
}

/// An op of the LLVM dialect; nothing, if it is a load or store that is not atomic.
fn llvm_op<'c, 'a>(op: Op<'c, 'a>) -> Result<Option<Asked<'c, 'a>>, Vec<Problem>> {
    let attribute = |name| ir::inherent(op, name);
    let number = |name| attribute(name).and_then(ir::integer);
    let ordering =
        |name| ORDERINGS.iter().find(|(_, known)| Some(*known) == number(name)).map(|(ordering, _)| *ordering);
    let (kind, ordering_name) = match ir::name(op) {
        "llvm.fence" => (Kind::Fence, "ordering"),
        "llvm.load" => (Kind::Load, "ordering"),
        "llvm.store" => (Kind::Store, "ordering"),
        "llvm.cmpxchg" => (Kind::CmpXchg, "success_ordering"),
        _ => {
            let bin_op = number("bin_op").and_then(|number| BIN_OPS.get(usize::try_from(number).ok()?));
            let Some(bin_op) = bin_op else { return Err(vec![("unknown operation of llvm.atomicrmw".into(), None)]) };
            (Kind::Rmw(*bin_op), "ordering")
        }
    };
    let Some(ordering_found) = ordering(ordering_name) else { return Ok(None) };
    let mut problems = memref::misplaced_attributes(op);
    let name = attribute("syncscope").and_then(ir::string).unwrap_or_default();
    let sync_scope = SYNC_SCOPES.iter().position(|(known, _)| *known == name);
    if sync_scope.is_none() {
        problems.push(unknown_sync_scope(&format!("\"{name}\"")));
    }
    let operand = |index: usize| op.operands().nth(index);
    let address = if kind == Kind::Fence { None } else { operand(kind.pointer()) };
    let sources: Vec<_> = kind.sources().filter_map(operand).collect();
    let value = sources.first().copied().or_else(|| ir::result(op));
    match sync_scope {
        Some(sync_scope) if problems.is_empty() => Ok(Some(Asked {
            kind,
            ordering: ordering_found,
            failure: ordering("failure_ordering").unwrap_or(Ordering::Relaxed),
            sync_scope,
            address: address.map(|pointer| (pointer, ir::address_space(pointer.r#type()).unwrap_or(0))),
            ty: address.and(value).map(|value| value.r#type()),
            volatile: attribute("volatile_").is_some(),
            alignment: number("alignment").and_then(|bytes| u64::try_from(bytes).ok()),
            sources,
        })),
        _ => Err(problems),
    }
}

/// The operation of the model.
fn operation(asked: &Asked<'_, '_>, options: &Options) -> Result<AtomicOp, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut keep = |problem| problems.push(problem);
    let access = asked.address.zip(asked.ty).and_then(|((pointer, space), ty)| {
        let memory = Memory::of(pointer, space).map_err(&mut keep).ok();
        let (model, size) = size_and_model(ty);
        let alignment = asked.alignment.unwrap_or(size);
        let ty = checked_type(asked.kind, model, size, alignment, &ty.to_string()).map_err(&mut keep).ok();
        let Memory { space, partly_local, unresolved } = memory?;
        let may_be_local = partly_local || unresolved && options.generic_may_be_local;
        Some(Access { volatile: asked.volatile, may_be_local, ..Access::new(space, ty?).aligned(alignment) })
    });
    let (_, scope) = sync_scope(asked.sync_scope, options.default_scope);
    let done = asked.negated().map_or(asked.kind, |(done, _)| done);
    match done.operation(access, asked.failure) {
        Some(operation) if problems.is_empty() => Ok(AtomicOp { operation, ordering: asked.ordering, scope }),
        _ => Err(problems),
    }
}

/// The type of the model that is computed with, and the size in bytes. The size of what has none is greater than any that
/// is accessed atomically.
pub fn size_and_model(ty: Type<'_>) -> (Option<Model>, u64) {
    const NONE: (Option<Model>, u64) = (None, u64::MAX);
    // SAFETY: the type is live, and each accessor is called on the kind of type that it is defined for.
    let (element, lanes) = unsafe {
        let raw = ty.to_raw();
        if mlirTypeIsAVector(raw) && mlirShapedTypeGetRank(raw) == 1 && !mlirVectorTypeIsScalable(raw) {
            (Type::from_raw(mlirShapedTypeGetElementType(raw)), mlirShapedTypeGetDimSize(raw, 0) as u64)
        } else {
            (ty, 1)
        }
    };
    let floats: [(unsafe extern "C" fn(MlirType) -> bool, Model); 4] = [
        (mlirTypeIsAF16, Model::F16),
        (mlirTypeIsABF16, Model::Bf16),
        (mlirTypeIsAF32, Model::F32),
        (mlirTypeIsAF64, Model::F64),
    ];
    // SAFETY: the type is live.
    let float = floats.into_iter().find_map(|(is, model)| unsafe { is(element.to_raw()) }.then_some(model));
    let bits = match IntegerType::try_from(element) {
        Ok(integer) => u64::from(integer.width()),
        Err(_) if ir::address_space(element).is_some() || element.is_index() => 64,
        Err(_) => match float {
            Some(model) => u64::from(model.bits()),
            None => return NONE,
        },
    };
    let size = (bits * lanes).div_ceil(8);
    let model = match float {
        Some(scalar) => Model::iter().find(|ty| ty.scalar() == scalar && u64::from(ty.bits()) == 8 * size),
        None if bits * lanes == 8 * size => integer(size),
        None => None,
    };
    (model, size)
}

/// The policy of the run, with what the attributes of the function say.
fn policy(op: Op<'_, '_>, options: &Options) -> Result<Policy, Problem> {
    let mut policy = options.policy;
    let attribute = |name: &str| ir::parents(op).find_map(|parent| passed_through(parent, name));
    // Those that the dialect has words for are called as in LLVM, with other hyphens.
    let mode = |name: &&str| {
        let own = |parent| ir::inherent(parent, &name.replace('-', "_")).and_then(ir::string);
        attribute(name).or_else(|| ir::parents(op).find_map(own))
    };
    policy.flush_f32 |= DENORMAL_MODES.iter().find_map(mode).is_some_and(|mode| flushes(&mode));
    if let Some(list) = attribute(STRATEGY) {
        policy
            .strategies
            .override_with(&list)
            .map_err(|error| (format!("in the attribute \"{STRATEGY}\": {error}"), None))?;
    }
    Ok(policy)
}

/// The value of an attribute that a function passes through to LLVM.
fn passed_through(function: Op<'_, '_>, name: &str) -> Option<String> {
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

/// The bits of a constant integer, null pointer, float or double.
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
    let bits = if size_and_model(value.r#type()).0 == Some(Model::F32) {
        (number as f32).to_bits().into()
    } else {
        number.to_bits()
    };
    (!number.is_nan()).then_some(bits)
}

/// An error at an op.
pub fn diagnostic(op: Op<'_, '_>, (message, help): Problem) -> Diagnostic {
    Diagnostic {
        message,
        function: function_of(op),
        location: location_of(op),
        operation: ir::line(op),
        notes: Vec::new(),
        help,
    }
}

pub fn location_of(op: Op<'_, '_>) -> Option<Location> {
    ir::file_location(op.location())
}

/// The name of the function around an op.
fn function_of(op: Op<'_, '_>) -> Option<String> {
    let functions = ["llvm.func", "func.func", "gpu.func", "spirv.func"];
    // No module stands in a function, and thousands may stand in each other.
    let mut around = ir::parents(op).take_while(|parent| !ir::name(*parent).ends_with(".module"));
    let function = around.find(|parent| functions.contains(&ir::name(*parent)))?;
    function.attribute("sym_name").ok().and_then(ir::string)
}
