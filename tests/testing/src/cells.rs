//! The cells of the grid. Each is a function of LLVM IR.

use itertools::{Itertools, iproduct};
use ptx_atomics_conformance::llvm_ir;
use ptx_lowering::{
    Access, AtomicOp, Operation, Ordering, RmwOp, SyncScope, Type,
    ptx::{Scope, Space},
};
use strum::{EnumIter, IntoEnumIterator};

use crate::{llvm_version, word};

/// One function of the grid.
#[derive(Clone)]
pub struct Cell {
    pub name: String,
    pub op: AtomicOp,
    /// The type of the value.
    pub ty: LlvmType,
    pub pointer: Pointer,
    pub weak: bool,
    /// Whether the result is returned.
    pub read: bool,
}

/// A type in the syntax of LLVM IR, its alignment in bytes, which is at least its size, and the type of its arithmetic.
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

/// Vectors that functions only move.
#[rustfmt::skip]
const MOVED: [LlvmType; 4] = [
    ("<4 x i8>", 4, Type::I32), ("<1 x i16>", 2, Type::I16), ("<2 x ptr>", 16, Type::I128), ("<8 x i1>", 1, Type::I8),
];

/// The source of the address.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pointer {
    /// An argument in an address space.
    Argument(&'static str),
    /// A generic argument with a test for local memory.
    MaybeLocal,
    Alloca,
    /// The address of a variable, which LLVM writes into the instruction.
    Variable(Variable),
}

/// A variable: an array of elements of the value's type. `form` is the operand for its second element or its start.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Variable {
    /// Linkage, visibility and similar words of LLVM IR.
    linkage: &'static str,
    address_space: u32,
    form: Spelling,
}

/// The form in which an instruction names an address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, EnumIter)]
pub enum Spelling {
    Itself,
    /// A constant expression with an offset.
    Offset,
    /// An instruction that adds an offset.
    Computed,
    /// A constant expression that casts to a generic address.
    Cast,
    /// An instruction that casts to a generic address with an offset.
    CastComputed,
    /// A choice between two variables.
    Chosen,
}

/// Every linkage of LLVM for variables, except `appending`, which only LLVM itself reads. PTX has no aliases of
/// variables.
#[rustfmt::skip]
const LINKAGES: [&str; 19] = [
    "", "dso_local", "protected", "hidden", "private", "internal", "local_unnamed_addr", "dso_local unnamed_addr",
    "weak", "weak dso_local", "weak_odr dso_local", "linkonce", "linkonce_odr dso_local", "common", "common dso_local",
    "external", "external dso_local", "external hidden", "available_externally dso_local",
];

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

/// A multiplicative hash of the index. Neighbours differ in one word, so a sample with a stride would have few kinds.
pub fn scattered(index: usize) -> usize {
    index.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32
}

/// Cells whose address is a variable: linkage × state space × form × 8 and 32 bits, with the kinds of operation in turn.
pub fn addresses() -> impl Iterator<Item = Cell> {
    // LLVM infers that a variable of the generic address space is global, and the operand of a cast.
    let spaces = [(0, Space::Global), (1, Space::Global), (3, Space::Shared), (4, Space::Const)];
    let variables = iproduct!(LINKAGES, spaces, Spelling::iter(), INTEGERS.into_iter().take(3).step_by(2));
    // PTX has `.common` for global memory only.
    let variables = variables.filter(|(linkage, (number, _), form, _)| {
        let cast = matches!(form, Spelling::Cast | Spelling::CastComputed);
        (*number < 2 || !linkage.contains("common")) && (*number > 0 || !cast)
    });
    variables.enumerate().map(|(index, (linkage, (address_space, space), form, ty))| {
        let access = Access::new(space, ty.2);
        let kinds = [
            (Operation::Load(access), Ordering::Acquire),
            (Operation::Store(access), Ordering::Release),
            (Operation::Rmw(RmwOp::Add, access), Ordering::Relaxed),
            (Operation::Rmw(RmwOp::Nand, access), Ordering::AcqRel),
            (Operation::CmpXchg { access, failure: Ordering::Relaxed }, Ordering::SeqCst),
        ];
        let (operation, ordering) = if space == Space::Const { kinds[0] } else { kinds[index % kinds.len()] };
        Cell {
            name: format!("c{index}"),
            op: AtomicOp { operation, ordering, scope: SyncScope::Threads(Scope::Gpu) },
            ty,
            pointer: Pointer::Variable(Variable { linkage, address_space, form }),
            weak: false,
            read: !matches!(operation, Operation::Store(_)),
        }
    })
}

/// The text of a cell's address.
struct Address {
    /// The definitions of variables before the function.
    variables: String,
    /// The parameter, with a comma after it.
    parameter: String,
    /// The instructions before the operation.
    instructions: String,
    /// The operand with its type.
    operand: String,
}

impl Variable {
    fn address(&self, cell: &str, (ty, align, _): LlvmType) -> Address {
        let Self { linkage, address_space, form } = *self;
        let pointer = if address_space == 0 { "ptr".into() } else { format!("ptr addrspace({address_space})") };
        let variable = |name: &str| {
            let space = pointer.strip_prefix("ptr").unwrap_or_default();
            let kind = if address_space == 4 { "constant" } else { "global" };
            let value = match address_space {
                _ if linkage.starts_with("external") => "",
                3 => " poison",
                _ => " zeroinitializer",
            };
            format!("@{cell}{name} = {linkage}{space} {kind} [4 x {ty}]{value}, align {align}\n")
        };
        let array = format!("[4 x {ty}]");
        let (instructions, operand) = match form {
            Spelling::Itself => (String::new(), format!("{pointer} @{cell}v")),
            Spelling::Offset => {
                (String::new(), format!("{pointer} getelementptr ({array}, {pointer} @{cell}v, i64 0, i64 1)"))
            }
            Spelling::Computed => {
                (format!("%p = getelementptr {array}, {pointer} @{cell}v, i64 0, i64 1\n  "), format!("{pointer} %p"))
            }
            Spelling::Cast => (String::new(), format!("ptr addrspacecast ({pointer} @{cell}v to ptr)")),
            Spelling::CastComputed => {
                let cast = format!("%q = addrspacecast {pointer} @{cell}v to ptr\n  ");
                (cast + &format!("%p = getelementptr {array}, ptr %q, i64 0, i64 1\n  "), "ptr %p".into())
            }
            Spelling::Chosen => {
                let select = format!("%p = select i1 %which, {pointer} @{cell}v, {pointer} @{cell}w\n  ");
                (format!("%which = icmp eq {ty} %b, %c\n  {select}"), format!("{pointer} %p"))
            }
        };
        let variables = if form == Spelling::Chosen { variable("v") + &variable("w") } else { variable("v") };
        Address { variables, parameter: String::new(), instructions, operand }
    }
}

impl Cell {
    /// The words of the cell for [`Pairs`](crate::Pairs).
    pub fn words(&self) -> [u64; 7] {
        let Self { op: AtomicOp { operation, ordering, scope }, ty, pointer, weak, read, .. } = self;
        let (kind, access) = match *operation {
            Operation::Fence => (word("fence"), None),
            Operation::Load(access) => (word("load"), Some(access)),
            Operation::Store(access) => (word("store"), Some(access)),
            Operation::Rmw(op, access) => (word(("rmw", op)), Some(access)),
            Operation::CmpXchg { access, failure } => (word(("cmpxchg", failure)), Some(access)),
        };
        let volatile = access.is_some_and(|access| access.volatile);
        [kind, word(ty), word(pointer), word(volatile), word(ordering), word(scope), word((weak, read))]
    }

    /// The words for cells of [`addresses`].
    pub fn words_of_address(&self) -> [u64; 5] {
        let [kind, ty, pointer, ..] = self.words();
        match self.pointer {
            Pointer::Variable(Variable { linkage, address_space, form }) => {
                [word(linkage), word(address_space), word(form), kind, ty]
            }
            _ => [pointer, kind, ty, 0, 0],
        }
    }

    /// Whether the lowering must test generic addresses for local memory.
    pub fn may_be_local(&self) -> bool {
        self.pointer == Pointer::MaybeLocal
    }
}

/// Every operation on memory of a state space, on each type that LLVM allows.
fn operations(space: Space) -> impl Iterator<Item = (Operation, LlvmType)> {
    // A value that is only moved is an integer of its width, except float and double, which have separate registers.
    let moved = move |(name, size, ty): LlvmType| {
        let integer = INTEGERS.into_iter().find(|(_, known, _)| *known == size).map_or(ty, |(.., ty)| ty);
        let ty = if matches!(ty, Type::F32 | Type::F64) { ty } else { integer };
        (Access::new(space, ty), (name, size, ty))
    };
    let all = INTEGERS.into_iter().chain([POINTER]).chain(FLOATS).chain(MOVED);
    let plain = all.map(moved).flat_map(|(access, ty)| [(Operation::Load(access), ty), (Operation::Store(access), ty)]);
    let scalars = INTEGERS.into_iter().chain([POINTER]).chain(FLOATS).filter(|(name, ..)| !name.starts_with('<'));
    let exchanges = scalars.map(moved).map(|(access, ty)| (Operation::Rmw(RmwOp::Xchg, access), ty));
    let rmw = iproduct!(RmwOp::of_llvm(llvm_version()), INTEGERS.into_iter().chain(FLOATS))
        .filter(|(op, (.., ty))| *op != RmwOp::Xchg && op.takes(*ty))
        .map(move |(op, ty)| (Operation::Rmw(op, Access::new(space, ty.2)), ty));
    let failures = [Ordering::Relaxed, Ordering::Acquire, Ordering::SeqCst];
    let cmpxchg = iproduct!(INTEGERS.into_iter().chain([POINTER]), failures)
        .map(move |(ty, failure)| (Operation::CmpXchg { access: Access::new(space, ty.2), failure }, ty));
    // A value at the start of a word has a separate lowering.
    let aligned = |(operation, (name, size, ty)): (Operation, LlvmType)| {
        let words = Some((operation.aligned(4), (name, 4, ty))).filter(|(aligned, _)| *aligned != operation);
        [Some((operation, (name, size, ty))), words].into_iter().flatten()
    };
    plain.chain(exchanges.chain(rmw).chain(cmpxchg).flat_map(aligned))
}

/// A module of cells.
pub fn module<'c>(cells: impl IntoIterator<Item = &'c Cell>) -> String {
    let functions = cells.into_iter().map(llvm_ir).collect::<String>();
    "target triple = \"nvptx64-nvidia-cuda\"\n".to_owned() + &functions
}

/// The cell as a function of LLVM IR.
pub fn llvm_ir(cell: &Cell) -> String {
    let Cell { name, op, ty: (ty, align, _), pointer, weak, read } = cell;
    let argument = |pointer: &str| Address {
        variables: String::new(),
        parameter: format!("{pointer} %p, "),
        instructions: String::new(),
        operand: format!("{pointer} %p"),
    };
    let Address { variables, parameter, instructions, operand: pointer } = match pointer {
        Pointer::Argument(pointer) => argument(pointer),
        Pointer::MaybeLocal => argument("ptr"),
        Pointer::Alloca => Address {
            parameter: String::new(),
            instructions: format!("%p = alloca {ty}, align {align}\n  "),
            ..argument("ptr")
        },
        Pointer::Variable(variable) => variable.address(name, cell.ty),
    };
    let spelling = llvm_ir::Spelling { ty, align: *align, aligned_rmw: true, pointer: &pointer, weak: *weak };
    let body = llvm_ir::instructions(op, &spelling);
    let (result, ret) = if *read { (*ty, format!("ret {ty} %r")) } else { ("void", "ret void".to_owned()) };
    let head = format!("define {result} @{name}({parameter}{ty} %b, {ty} %c)");
    format!("{variables}{head} {{\n  {instructions}{body}\n  {ret}\n}}\n")
}
