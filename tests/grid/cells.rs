//! The cells of the grid, each a function of LLVM IR.

use itertools::{Itertools, iproduct};
use ptx_atomics::lowering::{
    Access, AtomicOp, Operation, Ordering, RmwOp, SyncScope, Type,
    ptx::{Scope, Space},
};
use strum::IntoEnumIterator;

/// One function of the grid.
#[derive(Clone)]
pub struct Cell {
    pub name: String,
    pub op: AtomicOp,
    /// The type in LLVM's words.
    pub ty: LlvmType,
    pub pointer: Pointer,
    pub weak: bool,
    /// Whether the result is returned.
    pub read: bool,
}

/// A type in LLVM's words, its size in bytes, and the type of its arithmetic.
pub type LlvmType = (&'static str, u32, Type);

#[rustfmt::skip]
const INTEGERS: [LlvmType; 5] = [
    ("i8", 1, Type::I8), ("i16", 2, Type::I16), ("i32", 4, Type::I32), ("i64", 8, Type::I64), ("i128", 16, Type::I128),
];

const POINTER: LlvmType = ("ptr", 8, Type::I64);

#[rustfmt::skip]
const FLOATS: [LlvmType; 13] = [
    ("half", 2, Type::F16), ("<2 x half>", 4, Type::F16x2), ("<4 x half>", 8, Type::F16x4), ("<8 x half>", 16, Type::F16x8),
    ("bfloat", 2, Type::Bf16), ("<2 x bfloat>", 4, Type::Bf16x2), ("<4 x bfloat>", 8, Type::Bf16x4),
    ("<8 x bfloat>", 16, Type::Bf16x8),
    ("float", 4, Type::F32), ("<2 x float>", 8, Type::F32x2), ("<4 x float>", 16, Type::F32x4),
    ("double", 8, Type::F64), ("<2 x double>", 16, Type::F64x2),
];

/// Vectors that are only moved.
#[rustfmt::skip]
const MOVED: [LlvmType; 4] = [
    ("<4 x i8>", 4, Type::I32), ("<1 x i16>", 2, Type::I16), ("<2 x ptr>", 16, Type::I128), ("<8 x i1>", 1, Type::I8),
];

/// Where the address comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Pointer {
    /// An argument in an address space.
    Argument(&'static str),
    /// A generic argument that is tested for being local.
    MaybeLocal,
    Alloca,
}

/// State spaces, and the pointers into them.
const POINTERS: [(Space, Pointer); 8] = [
    (Space::Generic, Pointer::Argument("ptr")),
    (Space::Generic, Pointer::MaybeLocal),
    (Space::Global, Pointer::Argument("ptr addrspace(1)")),
    (Space::Shared, Pointer::Argument("ptr addrspace(3)")),
    (Space::Const, Pointer::Argument("ptr addrspace(4)")),
    (Space::Local, Pointer::Argument("ptr addrspace(5)")),
    (Space::SharedCluster, Pointer::Argument("ptr addrspace(7)")),
    (Space::Local, Pointer::Alloca),
];

/// Every cell: operation × type × ordering × scope × address space × volatile × weak × read or unread.
pub fn cells() -> impl Iterator<Item = Cell> {
    let scopes = [SyncScope::SingleThread].into_iter().chain(Scope::iter().map(SyncScope::Threads)).collect_vec();
    let accesses = iproduct!(POINTERS, [false, true]).collect_vec();
    let on_memory = accesses.into_iter().flat_map(|((space, pointer), volatile)| {
        operations(space).map(move |(operation, ty)| {
            let operation = if volatile { operation.volatile() } else { operation };
            let operation = if pointer == Pointer::MaybeLocal { operation.maybe_local() } else { operation };
            (operation, ty, pointer)
        })
    });
    let fence = (Operation::Fence, POINTER, Pointer::Argument("ptr"));
    let operations = [fence].into_iter().chain(on_memory).collect_vec();
    let ops = iproduct!(operations, Ordering::iter(), scopes);
    let ops = ops.filter(|((operation, ..), ordering, _)| operation.takes(*ordering));
    let variants = ops.flat_map(|((operation, ty, pointer), ordering, scope)| {
        let weak = if matches!(operation, Operation::CmpXchg { .. }) { vec![false, true] } else { vec![false] };
        let read =
            if matches!(operation, Operation::Fence | Operation::Store(_)) { vec![false] } else { vec![true, false] };
        let op = AtomicOp { operation, ordering, scope };
        iproduct!(weak, read).map(move |(weak, read)| (op, ty, pointer, weak, read)).collect_vec()
    });
    variants.enumerate().map(|(index, (op, ty, pointer, weak, read))| Cell {
        name: format!("c{index}"),
        op,
        ty,
        pointer,
        weak,
        read,
    })
}

impl Cell {
    /// Whether generic addresses are to be tested for being local.
    pub fn may_be_local(&self) -> bool {
        self.pointer == Pointer::MaybeLocal
    }
}

/// Every operation on memory of a state space, on each type that LLVM allows.
fn operations(space: Space) -> impl Iterator<Item = (Operation, LlvmType)> {
    // What is only moved is an integer of its width, but for float and double, which have registers of their own.
    let moved = move |(name, size, ty): LlvmType| {
        let integer = INTEGERS.into_iter().find(|(_, known, _)| *known == size).map_or(ty, |(.., ty)| ty);
        let ty = if matches!(ty, Type::F32 | Type::F64) { ty } else { integer };
        (Access::new(space, ty), (name, size, ty))
    };
    let all = INTEGERS.into_iter().chain([POINTER]).chain(FLOATS).chain(MOVED);
    let plain = all.map(moved).flat_map(|(access, ty)| [(Operation::Load(access), ty), (Operation::Store(access), ty)]);
    let scalars = INTEGERS.into_iter().chain([POINTER]).chain(FLOATS).filter(|(name, ..)| !name.starts_with('<'));
    let exchanges = scalars.map(moved).map(|(access, ty)| (Operation::Rmw(RmwOp::Xchg, access), ty));
    let rmw = iproduct!(RmwOp::iter(), INTEGERS.into_iter().chain(FLOATS))
        .filter(|(op, (.., ty))| *op != RmwOp::Xchg && op.takes(*ty))
        .map(move |(op, ty)| (Operation::Rmw(op, Access::new(space, ty.2)), ty));
    let failures = [Ordering::Relaxed, Ordering::Acquire, Ordering::SeqCst];
    let cmpxchg = iproduct!(INTEGERS.into_iter().chain([POINTER]), failures)
        .map(move |(ty, failure)| (Operation::CmpXchg { access: Access::new(space, ty.2), failure }, ty));
    plain.chain(exchanges).chain(rmw).chain(cmpxchg)
}

#[allow(dead_code, reason = "a test uses the grid in another language")]
pub fn module<'c>(cells: impl IntoIterator<Item = &'c Cell>) -> String {
    let functions = cells.into_iter().map(llvm_ir).collect::<String>();
    "target triple = \"nvptx64-nvidia-cuda\"\n".to_owned() + &functions
}

/// The cell as a function of LLVM IR.
pub fn llvm_ir(cell: &Cell) -> String {
    let Cell { name, op, ty: (ty, align, _), pointer, weak, read } = cell;
    let order = |ordering: Ordering| if ordering == Ordering::Relaxed { "monotonic" } else { ordering.into() };
    let scope = match op.scope {
        SyncScope::SingleThread => r#"syncscope("singlethread") "#,
        SyncScope::Threads(Scope::Cta) => r#"syncscope("block") "#,
        SyncScope::Threads(Scope::Cluster) => r#"syncscope("cluster") "#,
        SyncScope::Threads(Scope::Gpu) => r#"syncscope("device") "#,
        SyncScope::Threads(Scope::Sys) => "",
    };
    let (argument, pointer, alloca) = match pointer {
        Pointer::Argument(pointer) => (format!("{pointer} %p, "), *pointer, String::new()),
        Pointer::MaybeLocal => ("ptr %p, ".into(), "ptr", String::new()),
        Pointer::Alloca => (String::new(), "ptr", format!("%p = alloca {ty}, align {align}\n  ")),
    };
    let volatile = if op.operation.access().is_some_and(|access| access.volatile) { "volatile " } else { "" };
    let ordering = order(op.ordering);
    let body = match op.operation {
        Operation::Fence => format!("fence {scope}{ordering}"),
        Operation::Load(_) => format!("%r = load atomic {volatile}{ty}, {pointer} %p {scope}{ordering}, align {align}"),
        Operation::Store(_) => format!("store atomic {volatile}{ty} %b, {pointer} %p {scope}{ordering}, align {align}"),
        Operation::Rmw(rmw, _) => {
            format!("%r = atomicrmw {volatile}{rmw} {pointer} %p, {ty} %b {scope}{ordering}, align {align}")
        }
        Operation::CmpXchg { failure, .. } => {
            let weak = if *weak { "weak " } else { "" };
            let failure = order(failure);
            let operands = format!("{pointer} %p, {ty} %b, {ty} %c {scope}{ordering} {failure}, align {align}");
            format!("%pair = cmpxchg {weak}{volatile}{operands}\n  %r = extractvalue {{ {ty}, i1 }} %pair, 0")
        }
    };
    let (result, ret) = if *read { (*ty, format!("ret {ty} %r")) } else { ("void", "ret void".to_owned()) };
    format!("define {result} @{name}({argument}{ty} %b, {ty} %c) {{\n  {alloca}{body}\n  {ret}\n}}\n")
}
