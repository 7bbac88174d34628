//! The functions of the suite. Each has one atomic or fence.

use std::fmt::Write;

use itertools::{Itertools, iproduct};
use ptx_lowering::{
    Access, AtomicOp, FpAtomics, Operation, Ordering, Policy, RmwOp, SyncScope, Target, Type, lower,
    ptx::{Scope, Space, arithmetic::mask},
};
use strum::{EnumIter, IntoEnumIterator, IntoStaticStr};

use crate::llvm_ir;

/// A function with one atomic or fence: `T name(T *p, T b, T c)`, which returns the old value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The name, such as `rmw-add-i32-acq_rel-gpu-global`: kind, operation, type, ordering (of success, and of
    /// failure), scope, and memory. The name stays the same when the suite grows.
    pub name: String,
    /// The operation that the function asks for.
    pub op: AtomicOp,
    /// The type of the value.
    pub ty: ValueType,
    /// The way in which the function uses its operation.
    pub form: Form,
}

/// The way in which a function uses its operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumIter, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Form {
    /// Address and operands are parameters, and the function returns the old value.
    #[default]
    Plain,
    /// The function does not read the result.
    Unread,
    /// The function returns whether a compare and exchange has written, as 1 or 0.
    Success,
    /// The operands are constants: [`CONSTANTS`].
    Constant,
    /// The address is a parameter plus [`OFFSET`].
    Offset,
    /// The address names a variable.
    Variable,
}

/// The offset of an address, in bytes.
pub const OFFSET: i64 = 16;

/// Constant operands. The first operand, extended to a word, has its sign bit where an operand of 8 or 16 bits has
/// none.
pub const CONSTANTS: [i8; 2] = [-2, 1];

impl Form {
    /// Whether the form is possible for an operation.
    pub fn is_of(self, op: &AtomicOp) -> bool {
        let Some(access) = op.operation.access() else { return self == Self::Plain };
        match self {
            Self::Plain | Self::Offset => true,
            Self::Unread => op.operation.reads() && op.operation.writes(),
            Self::Success => matches!(op.operation, Operation::CmpXchg { .. }),
            Self::Constant => op.operation.writes(),
            // A variable of a thread that no other code reads becomes a register.
            Self::Variable => access.space != Space::Local,
        }
    }

    /// The period of a form in a group of functions that differ only in ordering and scope. Every fourth function has
    /// the form [`Self::Success`], because the code for each ordering computes its result. Of any other form, a group
    /// has one function.
    fn one_of(self) -> usize {
        if self == Self::Success { 4 } else { usize::MAX }
    }
}

/// A type in the syntax of LLVM, and the type by which the lowering computes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueType {
    /// The type in LLVM IR, such as `<2 x half>`.
    pub llvm: &'static str,
    /// The type in the name of a function, such as `2xhalf`.
    pub word: &'static str,
    /// The type of the arithmetic.
    pub ty: Type,
}

const fn ty(llvm: &'static str, word: &'static str, ty: Type) -> ValueType {
    ValueType { llvm, word, ty }
}

const INTEGERS: [ValueType; 5] = [
    ty("i8", "i8", Type::I8),
    ty("i16", "i16", Type::I16),
    ty("i32", "i32", Type::I32),
    ty("i64", "i64", Type::I64),
    ty("i128", "i128", Type::I128),
];

const FLOATS: [ValueType; 4] = [
    ty("half", "half", Type::F16),
    ty("bfloat", "bfloat", Type::Bf16),
    ty("float", "float", Type::F32),
    ty("double", "double", Type::F64),
];

const VECTORS: [ValueType; 3] = [
    ty("<2 x half>", "2xhalf", Type::F16x2),
    ty("<2 x bfloat>", "2xbfloat", Type::Bf16x2),
    ty("<4 x float>", "4xfloat", Type::F32x4),
];

const POINTER: ValueType = ty("ptr", "ptr", Type::I64);

/// The types of values that loads and stores move, without arithmetic.
const MOVED: [ValueType; 10] = {
    let [i8, i16, i32, i64, i128] = INTEGERS;
    let [half, bfloat, float, double] = FLOATS;
    [i8, i16, i32, i64, i128, half, bfloat, float, double, POINTER]
};

const RMW_ORDERS: [Ordering; 5] =
    [Ordering::Relaxed, Ordering::Acquire, Ordering::Release, Ordering::AcqRel, Ordering::SeqCst];

/// The orderings of a failing compare and exchange.
const FAILURES: [Ordering; 3] = [Ordering::Relaxed, Ordering::Acquire, Ordering::SeqCst];

/// The scopes, in the order of the suite.
const SCOPES: [SyncScope; 5] = [
    SyncScope::Threads(Scope::Sys),
    SyncScope::Threads(Scope::Gpu),
    SyncScope::Threads(Scope::Cta),
    SyncScope::Threads(Scope::Cluster),
    SyncScope::SingleThread,
];

const SPACES: [Space; 4] = [Space::Global, Space::Generic, Space::Shared, Space::Local];

/// An operation without its memory, ordering and scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CellKind {
    Fence,
    Load,
    Store,
    Rmw(RmwOp),
    CmpXchg,
}

impl CellKind {
    /// The operations of LLVM, each with a type of its value.
    fn all(llvm: u32) -> impl Iterator<Item = (Self, ValueType)> {
        let moved = [Self::Load, Self::Store].into_iter().cartesian_product(MOVED);
        let (float, integer): (Vec<_>, Vec<_>) =
            RmwOp::of_llvm(llvm).partition(|op| op.takes(Type::F32) && !op.takes(Type::I32));
        let integers = integer.into_iter().map(Self::Rmw).cartesian_product(INTEGERS);
        let exchanges = [Self::Rmw(RmwOp::Xchg)].into_iter().cartesian_product(FLOATS.into_iter().chain([POINTER]));
        let floats = float.into_iter().map(Self::Rmw).cartesian_product(FLOATS.into_iter().chain(VECTORS));
        let compared = [Self::CmpXchg].into_iter().cartesian_product(INTEGERS.into_iter().chain([POINTER]));
        [(Self::Fence, INTEGERS[2])]
            .into_iter()
            .chain(moved)
            .chain(integers)
            .chain(exchanges)
            .chain(floats)
            .chain(compared)
    }

    /// The ordering, and the ordering of failure.
    fn orderings(self) -> Vec<(Ordering, Ordering)> {
        use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst, Unordered};
        let orderings = match self {
            Self::Fence => vec![Acquire, Release, AcqRel, SeqCst],
            Self::Load => vec![Unordered, Relaxed, Acquire, SeqCst],
            Self::Store => vec![Unordered, Relaxed, Release, SeqCst],
            Self::Rmw(_) => RMW_ORDERS.to_vec(),
            Self::CmpXchg => return iproduct!(RMW_ORDERS, FAILURES).collect(),
        };
        orderings.into_iter().map(|ordering| (ordering, ordering)).collect()
    }

    fn operation(self, access: Access, failure: Ordering) -> Operation {
        match self {
            Self::Fence => Operation::Fence,
            Self::Load => Operation::Load(access),
            Self::Store => Operation::Store(access),
            Self::Rmw(op) => Operation::Rmw(op, access),
            Self::CmpXchg => Operation::CmpXchg { access, failure },
        }
    }

    /// The type of the value. A value that is only moved has the integer type of its width; float and double have
    /// registers of their own.
    fn value(self, ty: ValueType) -> Type {
        if matches!(self, Self::Rmw(op) if op != RmwOp::Xchg) || matches!(ty.ty, Type::F32 | Type::F64) {
            return ty.ty;
        }
        INTEGERS.iter().find(|integer| integer.ty.bits() == ty.ty.bits()).map_or(ty.ty, |integer| integer.ty)
    }

    /// Whether the suite has a volatile access of this kind: a sample of the accesses is volatile.
    fn has_volatile(self, ty: ValueType, space: Space, scope: SyncScope) -> bool {
        let kinds = [Self::Load, Self::Store, Self::Rmw(RmwOp::Add), Self::Rmw(RmwOp::Nand), Self::CmpXchg];
        kinds.contains(&self)
            && ["i32", "i64"].contains(&ty.llvm)
            && space == Space::Global
            && matches!(scope, SyncScope::Threads(Scope::Sys | Scope::Gpu))
    }
}

/// Every function for an LLVM and a target. Global memory has every scope; generic and shared memory have the widest
/// and a narrow scope; local memory, which belongs to a thread, has the weakest and the strongest ordering. Operations
/// without instructions on the target are left out.
pub fn of_llvm(target: &Target, llvm: u32) -> Vec<Cell> {
    let wanted = |op: &AtomicOp| match op.operation.access().map(|access| access.space) {
        Some(Space::Generic | Space::Shared) => matches!(op.scope, SyncScope::Threads(Scope::Sys | Scope::Cta)),
        Some(Space::Local) => op.scope == SCOPES[0] && matches!(op.ordering, Ordering::Relaxed | Ordering::SeqCst),
        _ => true,
    };
    let mut cells = with_forms(cells(target, llvm, &SPACES, wanted));
    // The operations of newer versions come last.
    cells.sort_by_key(|cell| match cell.op.operation {
        Operation::Rmw(op, _) => op.since_llvm(),
        _ => 22,
    });
    cells
}

/// Every function for a target in some state spaces, if `wanted` selects it and the target has instructions for it.
pub fn cells(target: &Target, llvm: u32, spaces: &[Space], wanted: impl Fn(&AtomicOp) -> bool) -> Vec<Cell> {
    let mut cells = Vec::new();
    for (kind, ty) in CellKind::all(llvm) {
        let spaces = if kind == CellKind::Fence { &[Space::Generic] } else { spaces };
        for ((ordering, failure), scope, space) in iproduct!(kind.orderings(), SCOPES, spaces.iter().copied()) {
            if scope == SyncScope::Threads(Scope::Cluster) && target.sm.number() < 90 {
                continue;
            }
            let operation = kind.operation(Access::new(space, kind.value(ty)), failure);
            let op = AtomicOp { operation, ordering, scope };
            // The operation is in the suite if the target has it as one atomic operation in global memory. In other
            // memory, plain accesses may suffice.
            let in_global =
                AtomicOp { operation: kind.operation(Access::new(Space::Global, kind.value(ty)), failure), ..op };
            let whole = Policy { fp_atomics: FpAtomics::Ieee, ..Policy::default() };
            if !wanted(&op) || lower(&in_global, &whole, target).is_err() {
                continue;
            }
            cells.push(Cell::new(op, ty));
            if kind.has_volatile(ty, space, scope) {
                cells.push(Cell::new(AtomicOp { operation: operation.volatile(), ..op }, ty));
            }
        }
    }
    cells
}

/// The functions, followed by functions of other forms. Every operation has each form with each type and memory;
/// ordering and scope alternate.
pub fn with_forms(mut cells: Vec<Cell>) -> Vec<Cell> {
    let kind = |cell: &Cell| (cell.kind(), cell.rmw(), cell.ty, cell.space());
    let mut groups: Vec<Vec<Cell>> = Vec::new();
    for cell in cells.iter().filter(|cell| !cell.is_volatile()) {
        match groups.iter_mut().rev().find(|group| kind(&group[0]) == kind(cell)) {
            Some(group) => group.push(cell.clone()),
            None => groups.push(vec![cell.clone()]),
        }
    }
    for (number, group) in groups.iter().enumerate() {
        for (turn, form) in Form::iter().filter(|form| *form != Form::Plain && form.is_of(&group[0].op)).enumerate() {
            // The first function differs between forms and between groups, so that every scope occurs.
            let first = (number * 7 + turn * 3) % group.len().min(form.one_of());
            let of_form = group.iter().skip(first).step_by(form.one_of());
            cells.extend(of_form.map(|cell| Cell {
                name: format!("{}-{}", cell.name, <&str>::from(form)),
                form,
                ..cell.clone()
            }));
        }
    }
    cells
}

impl Cell {
    fn new(op: AtomicOp, ty: ValueType) -> Self {
        Self { name: name(&op, ty), op, ty, form: Form::Plain }
    }

    /// The name of the function with the same operation in the plain form; `None` for a plain form.
    pub fn plain_name(&self) -> Option<&str> {
        (self.form != Form::Plain).then(|| self.name.rsplit_once('-').map(|(plain, _)| plain)).flatten()
    }

    /// The bits of the operands, if the operands are constants.
    pub fn constants(&self) -> Option<[u128; 2]> {
        let element = self.ty.ty.scalar();
        let bits = |value: i8| {
            let element_bits = match element {
                Type::F16 => half::f16::from(value).to_bits().into(),
                Type::Bf16 => half::bf16::from(value).to_bits().into(),
                Type::F32 => f32::from(value).to_bits().into(),
                Type::F64 => f64::from(value).to_bits().into(),
                _ => value as u128 & mask(element.bits()),
            };
            (0..self.ty.ty.lanes()).fold(0, |all, lane| all | element_bits << (element.bits() * lane as u32))
        };
        (self.form == Form::Constant).then(|| CONSTANTS.map(bits))
    }

    /// The width of the result in bits; `None` if the function returns no value.
    pub fn returns(&self) -> Option<u32> {
        match self.form {
            Form::Unread => None,
            Form::Success => Some(32),
            _ => self.op.operation.reads().then_some(self.ty.ty.bits()),
        }
    }

    /// The name of the variable, if the address names one.
    pub fn variable(&self) -> Option<String> {
        (self.form == Form::Variable).then(|| format!("{}_variable", self.symbol()))
    }

    /// The symbol of the function.
    pub fn symbol(&self) -> String {
        self.name.replace('-', "_")
    }

    /// The kind of the operation, in the syntax of LLVM IR: `fence`, `load`, `store`, `atomicrmw`, `cmpxchg`.
    pub fn kind(&self) -> &'static str {
        kind(&self.op.operation)
    }

    /// The operation of an `atomicrmw`.
    pub fn rmw(&self) -> Option<RmwOp> {
        match self.op.operation {
            Operation::Rmw(op, _) => Some(op),
            _ => None,
        }
    }

    /// The ordering in the syntax of LLVM IR; for a `cmpxchg`, the orderings of success and of failure.
    pub fn ordering(&self) -> String {
        let success = llvm_ir::ordering(self.op.ordering);
        match self.op.operation {
            Operation::CmpXchg { failure, .. } => format!("{success} {}", llvm_ir::ordering(failure)),
            _ => success.to_owned(),
        }
    }

    /// The type in the syntax of LLVM IR; empty for a fence.
    pub fn llvm_type(&self) -> &'static str {
        if self.op.operation == Operation::Fence { "" } else { self.ty.llvm }
    }

    /// The state space; `None` for a fence.
    pub fn space(&self) -> Option<Space> {
        self.op.operation.access().map(|access| access.space)
    }

    /// Whether the access is volatile.
    pub fn is_volatile(&self) -> bool {
        self.op.operation.access().is_some_and(|access| access.volatile)
    }
}

fn kind(operation: &Operation) -> &'static str {
    match operation {
        Operation::Fence => "fence",
        Operation::Load(_) => "load",
        Operation::Store(_) => "store",
        Operation::Rmw(..) => "atomicrmw",
        Operation::CmpXchg { .. } => "cmpxchg",
    }
}

fn name(op: &AtomicOp, ty: ValueType) -> String {
    let mut name = kind(&op.operation).trim_start_matches("atomic").to_owned();
    let mut add = |word: &str| write!(name, "-{word}").expect("a string takes all");
    if let Operation::Rmw(rmw, _) = op.operation {
        add(rmw.into());
    }
    let access = op.operation.access();
    if access.is_some() {
        add(ty.word);
    }
    add(op.ordering.into());
    if let Operation::CmpXchg { failure, .. } = op.operation {
        add(failure.into());
    }
    add(match op.scope {
        SyncScope::SingleThread => "thread",
        SyncScope::Threads(scope) => scope.into(),
    });
    if let Some(access) = access {
        add(access.space.into());
        if access.volatile {
            add("volatile");
        }
    }
    name
}
