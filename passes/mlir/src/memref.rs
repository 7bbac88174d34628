//! The atomics of the memref dialect, expanded to ops of the LLVM dialect with an ordering and a scope.
//!
//! `memref.atomic_rmw` and `memref.generic_atomic_rmw` have neither. The discardable attributes `ptx.ordering` and
//! `ptx.scope` supply them; the defaults are the same as in MLIR's own lowering: acq_rel, and the whole system. As in
//! that lowering, the result is the value before the update.

use std::str::FromStr;

use melior::ir::{
    BlockLike, Region, RegionLike, Type, TypeLike, Value, ValueLike,
    attribute::StringAttribute,
    operation::OperationLike,
    r#type::{IntegerType, MemRefType},
};
use mlir_sys::*;
use ptx_atomics_common::operation::{Opcode, Problem, SYNC_SCOPES};
use ptx_lowering::{Ordering, RmwOp, SyncScope, Type as Model, ptx::Scope};

use crate::{
    ir::{self, Builder, Op},
    memory,
    plan::Asked,
    vocabulary::{bin_op_number, ordering_number, size_and_model},
};

const ORDERING: &str = "ptx.ordering";
const SCOPE: &str = "ptx.scope";

/// The operations of `memref.atomic_rmw`, by the numbers of MLIR (`ArithBase.td`): an operation of LLVM, or an op of
/// `arith` that LLVM does not have as an atomic.
const KINDS: [Result<RmwOp, &str>; 16] = [
    Ok(RmwOp::FAdd),
    Ok(RmwOp::Add),
    Ok(RmwOp::And),
    Ok(RmwOp::Xchg),
    Ok(RmwOp::FMaximum),
    Ok(RmwOp::FMax),
    Ok(RmwOp::Max),
    Ok(RmwOp::UMax),
    Ok(RmwOp::FMinimum),
    Ok(RmwOp::FMin),
    Ok(RmwOp::Min),
    Ok(RmwOp::UMin),
    Err("arith.mulf"),
    Err("arith.muli"),
    Ok(RmwOp::Or),
    Ok(RmwOp::Xor),
];

/// The op of `arith` for each operation that must be computed in a loop.
const COMPUTED: [(RmwOp, &str); 13] = [
    (RmwOp::FAdd, "arith.addf"),
    (RmwOp::Add, "arith.addi"),
    (RmwOp::And, "arith.andi"),
    (RmwOp::FMaximum, "arith.maximumf"),
    (RmwOp::FMax, "arith.maxnumf"),
    (RmwOp::Max, "arith.maxsi"),
    (RmwOp::UMax, "arith.maxui"),
    (RmwOp::FMinimum, "arith.minimumf"),
    (RmwOp::FMin, "arith.minnumf"),
    (RmwOp::Min, "arith.minsi"),
    (RmwOp::UMin, "arith.minui"),
    (RmwOp::Or, "arith.ori"),
    (RmwOp::Xor, "arith.xori"),
];

/// The implementation of an update.
enum ElementUpdate<'c, 'a> {
    /// One operation of LLVM.
    Rmw(RmwOp, Value<'c, 'a>),
    /// A loop that computes the value by this op of `arith`; `None` for an exchange.
    Compute(Option<&'static str>, Value<'c, 'a>),
    /// A loop that computes the value by the region of the op.
    Region,
}

/// An access to an element of a memref, with the properties from its op and its type.
struct ElementAccess<'c, 'a> {
    update: ElementUpdate<'c, 'a>,
    memref: Value<'c, 'a>,
    indices: Vec<Value<'c, 'a>>,
    ty: MemRefType<'c>,
    element: Type<'c>,
    /// The type of the value in memory: the type on which the operation computes if one operation implements the
    /// update, or an integer.
    stored: Type<'c>,
    address_space: u32,
    ordering: Ordering,
    sync_scope: usize,
}

/// The operations of the op: one operation, or the load and the compare-and-exchange of a loop.
pub fn asked<'c, 'a>(op: Op<'c, 'a>) -> Result<Vec<Asked<'c, 'a>>, Vec<Problem>> {
    let access = access(op)?;
    let asked = |opcode, ordering, sources| Asked {
        opcode,
        ordering,
        failure: Ordering::Relaxed,
        sync_scope: access.sync_scope,
        address: Some((access.memref, access.address_space)),
        ty: Some(access.stored),
        volatile: false,
        alignment: None,
        sources,
    };
    Ok(match access.update {
        ElementUpdate::Rmw(rmw, value) => vec![asked(Opcode::Rmw(rmw), access.ordering, vec![value])],
        _ => vec![
            asked(Opcode::Load, Ordering::Relaxed, Vec::new()),
            asked(Opcode::CmpXchg, access.ordering, Vec::new()),
        ],
    })
}

/// Replaces the op by ops of the LLVM dialect.
pub fn expand(op: Op<'_, '_>) {
    let access = access(op).unwrap_or_else(|_| unreachable!("only recognized ops are expanded"));
    let at = Builder::before(op);
    let pointer = access.pointer(at);
    let scope = SYNC_SCOPES[access.sync_scope].0;
    let scope = (!scope.is_empty()).then(|| ("syncscope", at.string(scope)));
    let old = match access.update {
        ElementUpdate::Rmw(rmw, value) => {
            let value = convert(at, value, access.stored);
            let mut attributes =
                vec![("bin_op", at.i64(bin_op_number(rmw))), ("ordering", at.i64(ordering_number(access.ordering)))];
            attributes.extend(scope);
            at.value("llvm.atomicrmw", &[pointer, value], &attributes, access.stored)
        }
        _ => access.compare_and_swap(at, op, pointer, scope),
    };
    ir::replace(op, &[convert(at, old, access.element)]);
}

/// A problem for each attribute that only the atomics of the memref dialect accept, on another op.
pub fn misplaced_attributes(op: Op<'_, '_>) -> Vec<Problem> {
    let misplaced = [ORDERING, SCOPE].into_iter().filter(|name| op.has_attribute(name));
    let problem = |name| {
        let message = format!("the attribute {name} has no meaning on {}, which has its own", ir::name(op));
        (message, Some(format!("{name} is for memref.atomic_rmw and memref.generic_atomic_rmw")))
    };
    misplaced.map(problem).collect()
}

/// Reads a discardable attribute.
fn read<T>(op: Op<'_, '_>, name: &str, known: &str, parse: impl Fn(&str) -> Option<T>) -> Result<Option<T>, Problem> {
    let Ok(attribute) = op.attribute(name) else { return Ok(None) };
    let value = StringAttribute::try_from(attribute).ok().and_then(|_| parse(&ir::string(attribute)?));
    let wrong = || (format!("{name} is {attribute}"), Some(format!("write one of {known}, in quotes")));
    value.map(Some).ok_or_else(wrong)
}

fn access<'c, 'a>(op: Op<'c, 'a>) -> Result<ElementAccess<'c, 'a>, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut keep = |problem| problems.push(problem);
    let ordering = read(op, ORDERING, "relaxed, acquire, release, acq_rel and seq_cst", |name| match name {
        "monotonic" => Some(Ordering::Relaxed),
        name => Ordering::from_str(name).ok().filter(|ordering| *ordering != Ordering::Unordered),
    });
    let scope = read(op, SCOPE, "sys, cluster, gpu and cta", |name| {
        let scope = SyncScope::Threads(Scope::from_str(name).ok()?);
        SYNC_SCOPES.iter().position(|(_, known)| *known == scope)
    });
    let (ordering, scope) = (ordering.map_err(&mut keep), scope.map_err(&mut keep));

    let generic = ir::name(op) == "memref.generic_atomic_rmw";
    let operands: Vec<_> = op.operands().collect();
    let (memref, indices) = if generic { (operands[0], &operands[1..]) } else { (operands[1], &operands[2..]) };
    let ty = MemRefType::try_from(memref.r#type()).expect("the op was verified");
    // SAFETY: the type is a live memref.
    let (element, strided) = unsafe {
        let raw = ty.to_raw();
        let (mut offset, mut strides) = (0, vec![0; mlirShapedTypeGetRank(raw) as usize]);
        let strided = mlirMemRefTypeGetStridesAndOffset(raw, strides.as_mut_ptr(), &mut offset).value != 0;
        (Type::from_raw(mlirShapedTypeGetElementType(raw)), strided)
    };
    if !strided {
        keep((format!("the layout of {ty} has no strides"), Some("normalize the memref's layout first".into())));
    }
    let address_space = memory::of_memref(ty).map_err(&mut keep);
    let integer = storage(element).map_err(&mut keep);
    if generic {
        problems.extend(side_effects(op));
    }
    let (Ok(ordering), Ok(scope), Ok(address_space), Ok(integer), []) =
        (ordering, scope, address_space, integer, &problems[..])
    else {
        return Err(problems);
    };
    let (model, _) = size_and_model(element);
    let update = match op.attribute("kind").ok().and_then(ir::integer).and_then(|number| KINDS.get(number as usize)) {
        None => ElementUpdate::Region,
        Some(Err(arith)) => ElementUpdate::Compute(Some(arith), operands[0]),
        Some(Ok(rmw)) if model.is_some_and(|model| rmw.takes(model)) => ElementUpdate::Rmw(*rmw, operands[0]),
        Some(Ok(rmw)) => ElementUpdate::Compute(
            COMPUTED.iter().find(|(known, _)| known == rmw).map(|(_, arith)| *arith),
            operands[0],
        ),
    };
    let computes = matches!(update, ElementUpdate::Rmw(..)) && model.is_some_and(Model::is_float);
    Ok(ElementAccess {
        stored: if computes { element } else { integer },
        update,
        memref,
        indices: indices.to_vec(),
        ty,
        element,
        address_space,
        ordering: ordering.unwrap_or(Ordering::AcqRel),
        sync_scope: scope.unwrap_or(0),
    })
}

/// The integer type that represents a value of the element type in memory.
fn storage(element: Type<'_>) -> Result<Type<'_>, Problem> {
    // SAFETY: the element is live, and so is its context.
    let integer = |bits| Ok(unsafe { Type::from_raw(mlirIntegerTypeGet(mlirTypeGetContext(element.to_raw()), bits)) });
    // SAFETY: the type is live, and the width is read only from a float.
    let width = unsafe { mlirTypeIsAFloat(element.to_raw()).then(|| mlirFloatTypeGetWidth(element.to_raw())) };
    match IntegerType::try_from(element).map(|ty| ty.width()).ok().or(width) {
        None if element.is_index() => integer(64),
        Some(1) => integer(8),
        Some(bits @ (8 | 16 | 32 | 64 | 128)) => integer(bits),
        _ => {
            let help = "PTX accesses 8, 16, 32, 64 and 128 bits atomically";
            Err((format!("atomic operation on type {element} has no lowering"), Some(help.into())))
        }
    }
}

/// A problem for each op in the region that may have side effects, as far as the dialects show.
fn side_effects(op: Op<'_, '_>) -> Vec<Problem> {
    const PURE: [&str; 10] = [
        "arith.",
        "math.",
        "complex.",
        "index.",
        "vector.",
        "builtin.",
        "ub.",
        "scf.if",
        "scf.yield",
        "memref.atomic_yield",
    ];
    // Divisions and similar ops are pure, or have undefined behavior. These ops, including some of LLVM's, are not
    // pure.
    const IMPURE: [&str; 15] = [
        "vector.load",
        "vector.store",
        "vector.print",
        "vector.gather",
        "vector.scatter",
        "vector.transfer_read",
        "vector.transfer_write",
        "vector.maskedload",
        "vector.maskedstore",
        "vector.expandload",
        "vector.compressstore",
        "llvm.load",
        "llvm.store",
        "llvm.call",
        "llvm.inline_asm",
    ];
    let inner = ir::all(op).into_iter().skip(1);
    let impure = inner.filter(|op| {
        let name = ir::name(*op);
        let pure = PURE.iter().any(|known| name.starts_with(known)) || name.starts_with("llvm.");
        !pure || IMPURE.contains(&name) || name.starts_with("llvm.atomic") || name == "llvm.cmpxchg"
    });
    let problem = |op| {
        let help = "the body runs again whenever another thread was faster: compute only, and load before it";
        (format!("{} in the body of memref.generic_atomic_rmw", ir::name(op)), Some(help.into()))
    };
    impure.map(problem).collect()
}

/// Converts a value to another type of the same width, or an integer of one bit or an index to the integer that
/// represents it in memory.
fn convert<'c, 'a>(at: Builder<'c, 'a>, value: Value<'c, 'a>, wanted: Type<'c>) -> Value<'c, 'a> {
    let found = value.r#type();
    if found == wanted {
        return value;
    }
    let op = match () {
        () if found.is_index() || wanted.is_index() => "arith.index_cast",
        () if found == at.int(1) => "arith.extui",
        () if wanted == at.int(1) => "arith.trunci",
        () => "arith.bitcast",
    };
    at.value(op, &[value], &[], wanted)
}

impl<'c, 'a> ElementAccess<'c, 'a> {
    /// The address of the element, from the descriptor that MLIR builds for the memref.
    fn pointer(&self, at: Builder<'c, 'a>) -> Value<'c, 'a> {
        let (strides, offset) = self.ty.strides_and_offset();
        let pointer = at.pointer(self.address_space);
        let rank = strides.len();
        let arrays = if rank == 0 { String::new() } else { format!(", array<{rank} x i64>, array<{rank} x i64>") };
        let descriptor = at.ty(&format!("!llvm.struct<({pointer}, {pointer}, i64{arrays})>"));
        let descriptor = at.value("builtin.unrealized_conversion_cast", &[self.memref], &[], descriptor);
        let i64 = at.int(64);
        let field = |position: &str, ty| {
            at.value(
                "llvm.extractvalue",
                &[descriptor],
                &[("position", at.attribute(&format!("array<i64: {position}>")))],
                ty,
            )
        };
        let constant = |number: i64| at.value("llvm.mlir.constant", &[], &[("value", at.i64(number))], i64);
        // SAFETY: the function only returns the constant that marks a dynamic stride or offset.
        let dynamic = unsafe { mlirShapedTypeGetDynamicStrideOrOffset() };
        let attributes = [
            ("elem_type", at.attribute(&self.stored.to_string())),
            ("rawConstantIndices", at.attribute("array<i32: -2147483648>")),
        ];
        let element = |base, index| at.value("llvm.getelementptr", &[base, index], &attributes, pointer);
        // The ops are in the order of MLIR's own conversion, so that LLVM generates the same code.
        let base = field("1", pointer);
        let base = match offset {
            0 => base,
            offset if offset == dynamic => element(base, field("2", i64)),
            offset => element(base, constant(offset)),
        };
        let mut sum = None;
        for (number, (index, stride)) in self.indices.iter().zip(strides).enumerate() {
            let index = at.value("arith.index_cast", &[*index], &[], i64);
            let term = match stride {
                1 => index,
                stride => {
                    let stride = if stride == dynamic { field(&format!("4, {number}"), i64) } else { constant(stride) };
                    at.value("llvm.mul", &[index, stride], &[], i64)
                }
            };
            sum = Some(sum.map_or(term, |sum| at.value("llvm.add", &[sum, term], &[], i64)));
        }
        sum.map_or(base, |sum| element(base, sum))
    }

    /// Builds a loop that computes the new value and stores it by compare-and-exchange, until no other thread
    /// interferes. Returns the value before the update.
    fn compare_and_swap(
        &self,
        at: Builder<'c, 'a>,
        op: Op<'c, 'a>,
        pointer: Value<'c, 'a>,
        scope: Option<(&str, melior::ir::Attribute<'c>)>,
    ) -> Value<'c, 'a> {
        let monotonic = at.i64(ordering_number(Ordering::Relaxed));
        let (_, bytes) = size_and_model(self.stored);
        let mut attributes = vec![("ordering", monotonic), ("alignment", at.i64(bytes as i64))];
        attributes.extend(scope);
        let first = at.value("llvm.load", &[pointer], &attributes, self.stored);

        let (before, after) = (Region::new(), Region::new());
        let body = before.append_block(ir::block(&[self.stored], at.location));
        let inner = at.in_block(body);
        let current: Value<'c, 'a> = body.argument(0).expect("the block has one").into();
        let new = convert(inner, self.computed(inner, op, convert(inner, current, self.element)), self.stored);
        let mut attributes =
            vec![("success_ordering", at.i64(ordering_number(self.ordering))), ("failure_ordering", monotonic)];
        attributes.extend(scope);
        let pair = at.ty(&format!("!llvm.struct<({}, i1)>", self.stored));
        let pair = inner.value("llvm.cmpxchg", &[pointer, current, new], &attributes, pair);
        let field = |index: i64, ty| {
            let position = at.attribute(&format!("array<i64: {index}>"));
            inner.value("llvm.extractvalue", &[pair], &[("position", position)], ty)
        };
        let (old, swapped) = (field(0, self.stored), field(1, at.int(1)));
        let one = inner.value("llvm.mlir.constant", &[], &[("value", at.attribute("true"))], at.int(1));
        let again = inner.value("llvm.xor", &[swapped, one], &[], at.int(1));
        inner.op("scf.condition", &[again, old], &[], &[]);
        let last = after.append_block(ir::block(&[self.stored], at.location));
        at.in_block(last).op("scf.yield", &[last.argument(0).expect("the block has one").into()], &[], &[]);
        let looped = at.start("scf.while", &[first], &[]).add_results(&[self.stored]).add_regions([before, after]);
        let looped = at.insert(looped.build().expect("the dialect scf is loaded"));
        looped.result(0).expect("the loop has one").into()
    }

    /// The new value, of the element's type.
    fn computed(&self, at: Builder<'c, 'a>, op: Op<'c, 'a>, current: Value<'c, 'a>) -> Value<'c, 'a> {
        match self.update {
            ElementUpdate::Rmw(_, value) | ElementUpdate::Compute(None, value) => value,
            ElementUpdate::Compute(Some(arith), value) => at.value(arith, &[current, value], &[], self.element),
            ElementUpdate::Region => at.inline(op, current),
        }
    }
}

/// Whether the op is an atomic of the memref dialect.
pub fn is_one(op: Op<'_, '_>) -> bool {
    matches!(ir::name(op), "memref.atomic_rmw" | "memref.generic_atomic_rmw")
}
