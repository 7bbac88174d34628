//! The atomics and barriers of the SPIR-V dialect, expanded to ops of the LLVM and NVVM dialects.
//!
//! An op names its ordering by memory semantics, and its scope by name. Semantics also name kinds of memory; PTX orders
//! all of them, so these have no effect. Pointers become generic, as `convert-spirv-to-llvm` generates them, and an
//! atomic accesses the memory of its storage class.

use melior::ir::{Type, Value, ValueLike, operation::OperationLike, r#type::IntegerType};
use ptx_atomics_common::{
    Errors, Options,
    operation::{Opcode, Problem, SYNC_SCOPES},
};
use ptx_lowering::{Ordering, RmwOp};

use super::{
    module,
    words::{enumerator, short, storage_class},
};
use crate::{
    diagnostic::error_at,
    ir::{self, Builder, Op},
    native_ops, nvvm,
    plan::{Asked, Planned},
    vocabulary::{bin_op_number, ordering_number, size_and_model},
};

/// The scopes, from the narrowest to the widest, and LLVM's names for them. PTX has no scope between a thread and a
/// block.
const SCOPES: [(&str, &str); 6] = [
    ("Invocation", "singlethread"),
    ("Subgroup", "block"),
    ("Workgroup", "block"),
    ("QueueFamily", "device"),
    ("Device", "device"),
    ("CrossDevice", ""),
];

/// The memory semantics that name an ordering. Without one of these, an op orders nothing.
const ORDERINGS: [(&str, Ordering); 4] = [
    ("Acquire", Ordering::Acquire),
    ("Release", Ordering::Release),
    ("AcquireRelease", Ordering::AcqRel),
    ("SequentiallyConsistent", Ordering::SeqCst),
];

/// The memory semantics that make caches coherent for the ordered writes and reads, and the orderings that allow them.
/// PTX always makes such accesses coherent.
const COHERENCE: [(&str, [Ordering; 2]); 2] =
    [("MakeAvailable", [Ordering::Release, Ordering::AcqRel]), ("MakeVisible", [Ordering::Acquire, Ordering::AcqRel])];

/// The atomics, and the equivalent instructions of LLVM. MLIR has loads and stores among them since version 23.
#[rustfmt::skip]
const ATOMICS: [(&str, Opcode); 17] = [
    ("AtomicAnd",                 Opcode::Rmw(RmwOp::And)),
    ("AtomicCompareExchange",     Opcode::CmpXchg),
    ("AtomicCompareExchangeWeak", Opcode::CmpXchg),
    ("AtomicExchange",            Opcode::Rmw(RmwOp::Xchg)),
    ("AtomicIAdd",                Opcode::Rmw(RmwOp::Add)),
    ("AtomicIDecrement",          Opcode::Rmw(RmwOp::Sub)),
    ("AtomicIIncrement",          Opcode::Rmw(RmwOp::Add)),
    ("AtomicISub",                Opcode::Rmw(RmwOp::Sub)),
    ("AtomicLoad",                Opcode::Load),
    ("AtomicOr",                  Opcode::Rmw(RmwOp::Or)),
    ("AtomicSMax",                Opcode::Rmw(RmwOp::Max)),
    ("AtomicSMin",                Opcode::Rmw(RmwOp::Min)),
    ("AtomicStore",               Opcode::Store),
    ("AtomicUMax",                Opcode::Rmw(RmwOp::UMax)),
    ("AtomicUMin",                Opcode::Rmw(RmwOp::UMin)),
    ("AtomicXor",                 Opcode::Rmw(RmwOp::Xor)),
    ("EXT.AtomicFAdd",            Opcode::Rmw(RmwOp::FAdd)),
];

/// The orderings that an access cannot have, and the reasons.
const IMPOSSIBLE: [(Opcode, [Ordering; 2], &str); 2] = [
    (Opcode::Load, [Ordering::Release, Ordering::AcqRel], "release, and a load writes nothing"),
    (Opcode::Store, [Ordering::Acquire, Ordering::AcqRel], "acquire, and a store reads nothing"),
];

/// The storage classes that atomics can access, and LLVM's address spaces of their memory.
const STORAGE_CLASSES: [(&str, u32); 7] = [
    ("CrossWorkgroup", 1),
    ("Function", 5),
    ("Generic", 0),
    ("PhysicalStorageBuffer", 1),
    ("StorageBuffer", 1),
    ("Uniform", 1),
    ("Workgroup", 3),
];

/// The barriers of PTX, by the execution scope of `spirv.ControlBarrier`. This scope is also the widest at which the
/// barrier itself orders memory.
const CONTROL_BARRIERS: [(&str, Barrier); 2] = [("Subgroup", Barrier::Warp), ("Workgroup", Barrier::Block)];

#[derive(Clone, Copy)]
enum Barrier {
    Warp,
    Block,
}

impl Barrier {
    /// The op of the NVVM dialect.
    fn op(self) -> &'static str {
        match self {
            Self::Warp => "nvvm.bar.warp.sync",
            Self::Block => "nvvm.barrier",
        }
    }
}

/// The instruction of LLVM that is equivalent to an atomic of this name.
fn opcode(name: &str) -> Option<Opcode> {
    ATOMICS.iter().find(|(known, _)| *known == name).map(|(_, opcode)| *opcode)
}

/// Whether the op is an atomic or a barrier of the SPIR-V dialect.
pub fn is_one(op: Op<'_, '_>) -> bool {
    short(op).is_some_and(|name| opcode(name).is_some() || matches!(name, "MemoryBarrier" | "ControlBarrier"))
}

/// The operations of the op: one operation, or the fences of a barrier. A control barrier has no fence or two.
pub fn asked<'c, 'a>(op: Op<'c, 'a>) -> Result<Vec<Asked<'c, 'a>>, Vec<Problem>> {
    let Some(name) = short(op) else { return Ok(Vec::new()) };
    match (opcode(name), name) {
        (Some(Opcode::CmpXchg), _) => compare_exchange(op),
        (Some(opcode), _) => one_access(op, opcode),
        (None, "MemoryBarrier") => Ok(fence(op, None)?.into_iter().collect()),
        (None, "ControlBarrier") => control_barrier(op),
        (None, _) => module::check(op).map(|()| Vec::new()),
    }
}

fn one_access<'c, 'a>(op: Op<'c, 'a>, opcode: Opcode) -> Result<Vec<Asked<'c, 'a>>, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut keep = |problem| problems.push(problem);
    let semantics = semantics(op, "semantics").and_then(|semantics| semantics.check_opcode(opcode)).map_err(&mut keep);
    let access = access(op, opcode).map_err(|found| problems.extend(found));
    let (Ok(semantics), Ok(access)) = (semantics, access) else { return Err(problems) };
    Ok(vec![Asked { ordering: semantics.ordering(), volatile: semantics.volatile, ..access }])
}

/// The properties that all atomics have.
fn access<'c, 'a>(op: Op<'c, 'a>, opcode: Opcode) -> Result<Asked<'c, 'a>, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut keep = |problem| problems.push(problem);
    let (scope, address) = (scope(op, "memory_scope").map_err(&mut keep), address(op).map_err(&mut keep));
    let (Ok(scope), Ok(address)) = (scope, address) else { return Err(problems) };
    let values = op.operands().skip(1);
    Ok(Asked {
        opcode,
        ordering: Ordering::Relaxed,
        failure: Ordering::Relaxed,
        sync_scope: scope.sync_scope(),
        address: Some(address),
        ty: Some(signless(Builder::before(op), accessed(op).r#type())),
        volatile: false,
        alignment: None,
        // LLVM has the expected value of an exchange first, SPIR-V has it last.
        sources: if opcode == Opcode::CmpXchg {
            values.collect::<Vec<_>>().into_iter().rev().collect()
        } else {
            values.collect()
        },
    })
}

fn compare_exchange<'c, 'a>(op: Op<'c, 'a>) -> Result<Vec<Asked<'c, 'a>>, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut keep = |problem| problems.push(problem);
    let equal = semantics(op, "equal_semantics").map_err(&mut keep);
    let unequal = semantics(op, "unequal_semantics").map_err(&mut keep);
    let access = access(op, Opcode::CmpXchg).map_err(|found| problems.extend(found));
    let (Ok(equal), Ok(unequal), Ok(access)) = (equal, unequal, access) else { return Err(problems) };
    let (success, failure) = (equal.ordering(), unequal.ordering());
    let mut forbidden = |message: &str| problems.push((message.to_owned(), Some("SPIR-V forbids it".to_owned())));
    if matches!(failure, Ordering::Release | Ordering::AcqRel) {
        forbidden("the semantics for unequal values release, and nothing is written then");
    } else if strength(failure) > strength(success) {
        forbidden("the semantics for unequal values are stronger than for equal values");
    }
    if equal.volatile != unequal.volatile {
        forbidden("the semantics for equal and for unequal values are not both Volatile");
    }
    let volatile = equal.volatile;
    if problems.is_empty() { Ok(vec![Asked { ordering: success, failure, volatile, ..access }]) } else { Err(problems) }
}

/// SPIR-V's partial order of memory semantics, restricted to semantics that can occur in one op.
fn strength(ordering: Ordering) -> u8 {
    match ordering {
        Ordering::Unordered | Ordering::Relaxed => 0,
        Ordering::Acquire | Ordering::Release => 1,
        Ordering::AcqRel => 2,
        Ordering::SeqCst => 3,
    }
}

/// The fence of a barrier, if its memory scope is wider than the scope at which the barrier itself orders memory.
fn fence<'c, 'a>(op: Op<'c, 'a>, ordered: Option<ScopeIndex>) -> Result<Option<Asked<'c, 'a>>, Vec<Problem>> {
    let semantics = semantics(op, "memory_semantics").map_err(|problem| vec![problem])?;
    if semantics.volatile {
        let help = "Volatile is for atomics: remove it";
        return Err(vec![(format!("{} is Volatile, and accesses nothing", ir::name(op)), Some(help.into()))]);
    }
    // Without an ordering the scope has no meaning.
    let Some(ordering) = semantics.ordering else { return Ok(None) };
    let scope = scope(op, "memory_scope").map_err(|problem| vec![problem])?;
    Ok(ordered.is_none_or(|ordered| scope > ordered).then(|| Asked {
        opcode: Opcode::Fence,
        ordering,
        failure: Ordering::Relaxed,
        sync_scope: scope.sync_scope(),
        address: None,
        ty: None,
        volatile: false,
        alignment: None,
        sources: Vec::new(),
    }))
}

/// The fences before and after the barrier of PTX, which orders memory only for the threads that wait in it. If the
/// memory scope is wider, there is a fence on each side: the fence before passes the writes that its thread has
/// acquired on to all of these threads, and the fence after lets each of these threads release the earlier writes of
/// all of them.
fn control_barrier<'c, 'a>(op: Op<'c, 'a>) -> Result<Vec<Asked<'c, 'a>>, Vec<Problem>> {
    let (_, scope) = barrier(op).map_err(|problem| vec![problem])?;
    let (before, after) = (fence(op, Some(scope))?, fence(op, Some(scope))?);
    Ok(before.into_iter().chain(after).collect())
}

/// The barrier of PTX, and the scope of the threads that wait.
fn barrier(op: Op<'_, '_>) -> Result<(Barrier, ScopeIndex), Problem> {
    let scope = scope(op, "execution_scope")?;
    let (name, _) = SCOPES[scope.0];
    let found = CONTROL_BARRIERS.iter().find(|(known, _)| *known == name).map(|(_, barrier)| (*barrier, scope));
    found.ok_or_else(|| {
        let known = CONTROL_BARRIERS.map(|(name, _)| name).join(" and ");
        (
            format!("PTX has no barrier for the invocations of the scope {name}"),
            Some(format!("PTX has barriers for {known}")),
        )
    })
}

/// Checks that no op is in a `spirv.module`. Such a module may contain only ops of SPIR-V, so it cannot contain PTX.
///
/// # Errors
/// An error for each `spirv.module` with an atomic or a barrier.
pub fn check_embeddable(planned: &[Planned<'_, '_>]) -> Result<(), Errors> {
    let mut closed: Vec<_> = planned.iter().filter_map(|plan| module::around(plan.op)).collect();
    closed.dedup();
    let problem = |op| {
        let help = "ask for ptx or LLVM IR, to which the module is converted as a whole";
        error_at(op, "a spirv.module cannot contain PTX", help)
    };
    closed.into_iter().map(problem).collect::<Errors>().or(())
}

/// The problem of a barrier of PTX that the target lacks.
pub fn missing(op: Op<'_, '_>, options: &Options) -> Option<Problem> {
    let (barrier, _) = barrier(op).ok().filter(|_| ir::name(op) == "spirv.ControlBarrier")?;
    native_ops::problem(nvvm::variant_of(barrier.op().strip_prefix("nvvm.")?, |_| None, &[])?, options)
}

/// Replaces the op by ops of the LLVM and NVVM dialects.
pub fn expand(op: Op<'_, '_>) {
    let asked = asked(op).unwrap_or_else(|_| unreachable!("only recognized ops are expanded"));
    let at = Builder::before(op);
    if short(op) == Some("ControlBarrier") {
        let (before, after) = asked.split_at(asked.len() / 2);
        before.iter().for_each(|fence| _ = build(at, fence));
        let all_lanes = || at.value("llvm.mlir.constant", &[], &[("value", at.attribute("-1 : i32"))], at.int(32));
        let (barrier, _) = barrier(op).unwrap_or_else(|_| unreachable!("only recognized ops are expanded"));
        match barrier {
            Barrier::Warp => at.op(barrier.op(), &[all_lanes()], &[], &[]),
            Barrier::Block => at.op(barrier.op(), &[], &[], &[]),
        };
        after.iter().for_each(|fence| _ = build(at, fence));
        return ir::erase(op);
    }
    match asked.first().and_then(|asked| build(at, asked)) {
        Some(value) => ir::replace(op, &[cast(at, value, accessed(op).r#type())]),
        None => ir::erase(op),
    }
}

/// Builds the atomic of the LLVM dialect, and returns the value that it read.
fn build<'c, 'a>(at: Builder<'c, 'a>, asked: &Asked<'c, 'a>) -> Option<Value<'c, 'a>> {
    let mut attributes = Vec::new();
    match SYNC_SCOPES[asked.sync_scope].0 {
        "" => {}
        scope => attributes.push(("syncscope", at.string(scope))),
    }
    if asked.volatile {
        attributes.push(("volatile_", at.unit()));
    }
    let ordering = at.i64(ordering_number(asked.ordering));
    let (Some((pointer, space)), Some(ty)) = (asked.address, asked.ty) else {
        attributes.push(("ordering", ordering));
        at.op("llvm.fence", &[], &attributes, &[]);
        return None;
    };
    let mut operands = vec![cast(at, pointer, at.pointer(0))];
    if space != 0 {
        operands[0] = at.value("llvm.addrspacecast", &operands, &[], at.pointer(space));
    }
    operands.extend(asked.sources.iter().map(|value| cast(at, *value, ty)));
    match asked.opcode {
        Opcode::Load | Opcode::Store => {
            let (_, size) = size_and_model(ty);
            attributes.extend([("alignment", at.i64(size as i64)), ("ordering", ordering)]);
            if asked.opcode == Opcode::Load {
                return Some(at.value("llvm.load", &operands, &attributes, ty));
            }
            operands.reverse();
            at.op("llvm.store", &operands, &attributes, &[]);
            None
        }
        Opcode::Rmw(rmw) => {
            if asked.sources.is_empty() {
                let one = at.attribute(&format!("1 : {ty}"));
                operands.push(at.value("llvm.mlir.constant", &[], &[("value", one)], ty));
            }
            attributes.extend([("bin_op", at.i64(bin_op_number(rmw))), ("ordering", ordering)]);
            Some(at.value("llvm.atomicrmw", &operands, &attributes, ty))
        }
        _ => {
            let failure = at.i64(ordering_number(asked.failure));
            attributes.extend([("success_ordering", ordering), ("failure_ordering", failure)]);
            let pair = at.ty(&format!("!llvm.struct<({ty}, i1)>"));
            let pair = at.value("llvm.cmpxchg", &operands, &attributes, pair);
            Some(at.value("llvm.extractvalue", &[pair], &[("position", at.attribute("array<i64: 0>"))], ty))
        }
    }
}

fn cast<'c, 'a>(at: Builder<'c, 'a>, value: Value<'c, 'a>, ty: Type<'c>) -> Value<'c, 'a> {
    if value.r#type() == ty { value } else { at.value("builtin.unrealized_conversion_cast", &[value], &[], ty) }
}

/// The value that the atomic reads or writes.
fn accessed<'c, 'a>(op: Op<'c, 'a>) -> Value<'c, 'a> {
    ir::result(op).or_else(|| op.operands().nth(1)).expect("an atomic reads a value, or has one to write")
}

/// The type without signedness, because LLVM's integer types have none.
fn signless<'c>(at: Builder<'c, '_>, ty: Type<'c>) -> Type<'c> {
    IntegerType::try_from(ty).map_or(ty, |integer| at.int(integer.width()))
}

/// The address, and the address space of its memory.
fn address<'c, 'a>(op: Op<'c, 'a>) -> Result<(Value<'c, 'a>, u32), Problem> {
    let pointer = op.operand(0).expect("an atomic has an address");
    let class = storage_class(&pointer.r#type().to_string());
    let found = STORAGE_CLASSES.iter().find(|(known, _)| *known == class);
    found.map(|(_, space)| (pointer, *space)).ok_or_else(|| {
        let known = STORAGE_CLASSES.map(|(name, _)| name).join(", ");
        (format!("atomic operation in the storage class {class}"), Some(format!("expected one of {known}")))
    })
}

/// An index in [`SCOPES`]: a wider scope has a greater index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct ScopeIndex(usize);

impl ScopeIndex {
    /// The index in [`SYNC_SCOPES`].
    fn sync_scope(self) -> usize {
        let (_, name) = SCOPES[self.0];
        SYNC_SCOPES.iter().position(|(known, _)| *known == name).expect("the names are LLVM's")
    }
}

fn scope(op: Op<'_, '_>, attribute: &str) -> Result<ScopeIndex, Problem> {
    let name = enumerator(op, attribute);
    SCOPES.iter().position(|(known, _)| *known == name).map(ScopeIndex).ok_or_else(|| {
        let known = SCOPES.map(|(name, _)| name).join(", ");
        (format!("the scope {name} has no meaning in PTX"), Some(format!("expected one of {known}")))
    })
}

struct Semantics {
    /// The text in MLIR's syntax.
    text: String,
    /// The ordering; `None` if the semantics name none.
    ordering: Option<Ordering>,
    volatile: bool,
}

impl Semantics {
    /// The ordering for an atomic.
    fn ordering(&self) -> Ordering {
        self.ordering.unwrap_or(Ordering::Relaxed)
    }

    /// These semantics, if an atomic of this kind can have them.
    fn check_opcode(self, opcode: Opcode) -> Result<Self, Problem> {
        let impossible = |(known, orderings, _): &&(Opcode, [Ordering; 2], &str)| {
            *known == opcode && self.ordering.is_some_and(|ordering| orderings.contains(&ordering))
        };
        match IMPOSSIBLE.iter().find(impossible) {
            Some((.., why)) => Err(forbidden(&self.text, why)),
            None => Ok(self),
        }
    }
}

/// The problem of memory semantics that SPIR-V forbids.
fn forbidden(semantics: &str, what: &str) -> Problem {
    (format!("the memory semantics {semantics} {what}"), Some("SPIR-V forbids it".to_owned()))
}

fn semantics(op: Op<'_, '_>, attribute: &str) -> Result<Semantics, Problem> {
    let text = enumerator(op, attribute);
    let bits: Vec<_> = text.split('|').collect();
    let mut orderings = ORDERINGS.iter().filter(|(name, _)| bits.contains(name)).map(|(_, ordering)| *ordering);
    let ordering = orderings.next();
    if orderings.next().is_some() {
        return Err(forbidden(&text, "have more than one ordering"));
    }
    for (name, allowed) in COHERENCE {
        if bits.contains(&name) && !ordering.is_some_and(|ordering| allowed.contains(&ordering)) {
            let allowed = ORDERINGS.iter().filter(|(_, ordering)| allowed.contains(ordering)).map(|(name, _)| *name);
            let allowed = allowed.collect::<Vec<_>>().join(" or ");
            return Err(forbidden(&text, &format!("have {name} without {allowed}")));
        }
    }
    let volatile = bits.contains(&"Volatile");
    Ok(Semantics { text, ordering, volatile })
}
