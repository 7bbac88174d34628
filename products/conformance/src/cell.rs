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
    /// What it says of itself, as `rmw-add-i32-acq_rel-gpu-global`: kind, operation, type, ordering (of success, and of
    /// failure), scope, and memory. It stays the same when others join the suite.
    pub name: String,
    /// What it asks for.
    pub op: AtomicOp,
    /// The type of the value.
    pub ty: ValueType,
    /// How the function uses it.
    pub form: Form,
}

/// How a function uses its operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumIter, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Form {
    /// Address and operands are parameters, and the old value is returned.
    #[default]
    Plain,
    /// Nothing reads the result.
    Unread,
    /// Whether a compare and exchange has written is returned, as 1 or 0.
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

/// Constant operands. The sign bit of the first one stands in a word where an operand of 8 or 16 bits has none.
pub const CONSTANTS: [i8; 2] = [-2, 1];

impl Form {
    /// Whether a function of an operation can use it so.
    pub fn is_of(self, op: &AtomicOp) -> bool {
        let Some(access) = op.operation.access() else { return self == Self::Plain };
        match self {
            Self::Plain | Self::Offset => true,
            Self::Unread => op.operation.reads() && op.operation.writes(),
            Self::Success => matches!(op.operation, Operation::CmpXchg { .. }),
            Self::Constant => op.operation.writes(),
            // A variable of a thread that nothing else reads is a register.
            Self::Variable => access.space != Space::Local,
        }
    }

    /// Of how many functions, which differ in nothing except ordering and scope, one has the form besides. What is returned is made by
    /// the code for each ordering.
    fn one_of(self) -> usize {
        if self == Self::Success { 4 } else { usize::MAX }
    }
}

/// A type in LLVM's words, and as the lowering sees it when it computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueType {
    /// As `<2 x half>`.
    pub llvm: &'static str,
    /// As `2xhalf`.
    pub word: &'static str,
    /// Of arithmetic.
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

/// The types of values that are moved, but not computed with.
const MOVED: [ValueType; 10] = {
    let [i8, i16, i32, i64, i128] = INTEGERS;
    let [half, bfloat, float, double] = FLOATS;
    [i8, i16, i32, i64, i128, half, bfloat, float, double, POINTER]
};

const RMW_ORDERS: [Ordering; 5] =
    [Ordering::Relaxed, Ordering::Acquire, Ordering::Release, Ordering::AcqRel, Ordering::SeqCst];

/// The orderings of a failing compare and exchange.
const FAILURES: [Ordering; 3] = [Ordering::Relaxed, Ordering::Acquire, Ordering::SeqCst];

/// In the order of the suite.
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
    /// What LLVM has, with the type of the value.
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

    /// What is only moved is an integer of its width, but for float and double, which have registers of their own.
    fn value(self, ty: ValueType) -> Type {
        if matches!(self, Self::Rmw(op) if op != RmwOp::Xchg) || matches!(ty.ty, Type::F32 | Type::F64) {
            return ty.ty;
        }
        INTEGERS.iter().find(|integer| integer.ty.bits() == ty.ty.bits()).map_or(ty.ty, |integer| integer.ty)
    }

    /// Whether a volatile one is asked for: a sample.
    fn has_volatile(self, ty: ValueType, space: Space, scope: SyncScope) -> bool {
        let kinds = [Self::Load, Self::Store, Self::Rmw(RmwOp::Add), Self::Rmw(RmwOp::Nand), Self::CmpXchg];
        kinds.contains(&self)
            && ["i32", "i64"].contains(&ty.llvm)
            && space == Space::Global
            && matches!(scope, SyncScope::Threads(Scope::Sys | Scope::Gpu))
    }
}

/// Every function for an LLVM and a target. In global memory there is every scope; in generic and shared memory the widest
/// and a narrow one; in local memory, which belongs to a thread, the weakest ordering and the strongest. What the target
/// has no instructions for is left out.
pub fn of_llvm(target: &Target, llvm: u32) -> Vec<Cell> {
    let wanted = |op: &AtomicOp| match op.operation.access().map(|access| access.space) {
        Some(Space::Generic | Space::Shared) => matches!(op.scope, SyncScope::Threads(Scope::Sys | Scope::Cta)),
        Some(Space::Local) => op.scope == SCOPES[0] && matches!(op.ordering, Ordering::Relaxed | Ordering::SeqCst),
        _ => true,
    };
    let mut cells = with_forms(cells(target, llvm, &SPACES, wanted));
    // What is new stands last.
    cells.sort_by_key(|cell| match cell.op.operation {
        Operation::Rmw(op, _) => op.since_llvm(),
        _ => 22,
    });
    cells
}

/// Every function for a target in some memory, if it is wanted and the target has instructions for it.
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
            // An operation that the target has in global memory as one atomic operation: elsewhere plain accesses may do.
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

/// The functions, and after them the functions of other forms. Every operation has each form with every type and memory; ordering and scope take
/// turns.
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
            // As many functions lie between the turns of two forms as between the turns of two groups, and no scope is passed over.
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

    /// The name of the function in its plain form.
    pub fn plain_name(&self) -> Option<&str> {
        (self.form != Form::Plain).then(|| self.name.rsplit_once('-').map(|(plain, _)| plain)).flatten()
    }

    /// The bits of the operands, where these are constants.
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

    /// The width of the result in bits; nothing, if the function returns nothing.
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

    /// The function's name.
    pub fn symbol(&self) -> String {
        self.name.replace('-', "_")
    }

    /// The operation in LLVM's words: `fence`, `load`, `store`, `atomicrmw`, `cmpxchg`.
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

    /// The ordering in LLVM's words; of a `cmpxchg` that of success and that of failure.
    pub fn ordering(&self) -> String {
        let success = llvm_ir::ordering(self.op.ordering);
        match self.op.operation {
            Operation::CmpXchg { failure, .. } => format!("{success} {}", llvm_ir::ordering(failure)),
            _ => success.to_owned(),
        }
    }

    /// The type in LLVM's words; a fence has none.
    pub fn llvm_type(&self) -> &'static str {
        if self.op.operation == Operation::Fence { "" } else { self.ty.llvm }
    }

    /// The memory; a fence has none of its own.
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
