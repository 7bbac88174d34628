//! Atomic operations as the passes over LLVM IR and over MLIR handle them: the operation in the types of the lowering,
//! its replacement, and the texts of messages about it.

use std::cell::OnceCell;

use ptx_judge::Strength;
use ptx_lowering::{
    Access, AddressOperand, AtomicOp, B, C, Change, InlineAsm, Lowering, Operation, Ordering, Policy, RmwOp, SyncScope,
    Target, Type, Unsupported, lower,
    ptx::{Scope, Space},
};

use crate::{address_space, memory::Memory};

/// The atomic instructions of LLVM, which are also the atomic ops of MLIR's LLVM dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opcode {
    /// `fence`
    Fence,
    /// An atomic `load`.
    Load,
    /// An atomic `store`.
    Store,
    /// `atomicrmw` with this operation.
    Rmw(RmwOp),
    /// `cmpxchg`
    CmpXchg,
}

impl Opcode {
    /// Whether the operation only moves the value, so that an integer of the same width can represent any type.
    pub fn moves_only(self) -> bool {
        matches!(self, Self::Load | Self::Store | Self::CmpXchg | Self::Rmw(RmwOp::Xchg))
    }

    /// The index of the address operand; `None` for a fence.
    pub fn pointer(self) -> Option<usize> {
        (self != Self::Fence).then_some(usize::from(self == Self::Store))
    }

    /// The indices of the input operands: none for a load, expected and new for a `cmpxchg`.
    pub fn sources(self) -> std::ops::Range<usize> {
        match self {
            Self::Fence | Self::Load => 0..0,
            Self::Store => 0..1,
            Self::Rmw(_) => 1..2,
            Self::CmpXchg => 1..3,
        }
    }

    /// The operation in the types of the lowering. Every operation except a fence requires `access`; only a `cmpxchg`
    /// uses `failure`.
    pub fn operation(self, access: Option<Access>, failure: Ordering) -> Option<Operation> {
        Some(match (self, access) {
            (Self::Fence, _) => Operation::Fence,
            (_, None) => return None,
            (Self::Load, Some(access)) => Operation::Load(access),
            (Self::Store, Some(access)) => Operation::Store(access),
            (Self::Rmw(op), Some(access)) => Operation::Rmw(op, access),
            (Self::CmpXchg, Some(access)) => Operation::CmpXchg { access, failure },
        })
    }
}

/// LLVM's synchronization scopes for NVPTX. The empty name is LLVM's default, the system.
pub const SYNC_SCOPES: [(&str, SyncScope); 5] = [
    ("", SyncScope::Threads(Scope::Sys)),
    ("device", SyncScope::Threads(Scope::Gpu)),
    ("cluster", SyncScope::Threads(Scope::Cluster)),
    ("block", SyncScope::Threads(Scope::Cta)),
    ("singlethread", SyncScope::SingleThread),
];

/// The attribute of a function that overrides the strategy of the options.
pub const STRATEGY: &str = "ptx-atomics-strategy";

/// The attributes of a function that set the handling of subnormals. The first applies to f32 and, if present,
/// overrides the second for it ('Language Reference', function attributes).
pub const DENORMAL_MODES: [&str; 2] = ["denormal-fp-math-f32", "denormal-fp-math"];

/// The attribute that replaces the modes from LLVM 23 on, as one number: four bits for all types, and above them four
/// bits for f32. Two of the four bits are for results and two for operands (`DenormalFPEnv`).
pub const DENORMAL_FPENV: &str = "denormal_fpenv";

/// The kinds of metadata on an operation that allow it to flush or keep subnormals. The second is LLVM's former name of
/// the first, and clang's `-fatomic-ignore-denormal-mode` emits it.
pub const IGNORES_SUBNORMALS: [&str; 2] = ["atomic.ignore.denormal.mode", "amdgpu.ignore.denormal.mode"];

/// The attribute of a function whose value `true` states that no operand or result in it is a NaN.
pub const NO_NANS: &str = "no-nans-fp-math";

/// Whether a mode, for results and for operands, allows arithmetic to flush subnormals as the GPU does.
pub fn flushes(mode: &str) -> bool {
    mode.split(',').all(|part| part.trim() == "preserve-sign")
}

/// Whether the value of a [`DENORMAL_FPENV`] allows arithmetic on f32 to flush subnormals.
pub fn env_flushes(env: u64) -> bool {
    const PRESERVE_SIGN: u64 = 0b0101;
    env >> 4 & 0b1111 == PRESERVE_SIGN
}

/// The opcode that replaces an operation on the result of an `fneg`: an addition of a negated operand is a subtraction,
/// and vice versa. The sequence then contains the negation. LLVM would negate integers before inline assembly, in more
/// instructions.
pub fn with_negated_operand(opcode: Opcode) -> Option<Opcode> {
    match opcode {
        Opcode::Rmw(RmwOp::FAdd) => Some(Opcode::Rmw(RmwOp::FSub)),
        Opcode::Rmw(RmwOp::FSub) => Some(Opcode::Rmw(RmwOp::FAdd)),
        _ => None,
    }
}

/// The operation as it is in the program, with this opcode.
pub fn as_asked(opcode: Opcode, op: &AtomicOp) -> AtomicOp {
    let operation = match (opcode, op.operation) {
        (Opcode::Rmw(asked), Operation::Rmw(_, access)) => Operation::Rmw(asked, access),
        (_, operation) => operation,
    };
    AtomicOp { operation, ..*op }
}

/// A problem of one operation: message and help.
pub type Problem = (String, Option<String>);

/// The scope with this index in [`SYNC_SCOPES`]. The options determine the first.
pub fn sync_scope(index: usize, default_scope: Scope) -> (&'static str, SyncScope) {
    if index == 0 { ("", SyncScope::Threads(default_scope)) } else { SYNC_SCOPES[index] }
}

/// The name of a scope in [`SYNC_SCOPES`]. The options determine the first scope.
pub fn sync_scope_name(scope: SyncScope, default_scope: Scope) -> &'static str {
    let mut all = (0..SYNC_SCOPES.len()).map(|index| sync_scope(index, default_scope));
    all.find(|(_, known)| *known == scope).map_or("", |(name, _)| name)
}

/// The problem of a synchronization scope that [`SYNC_SCOPES`] does not contain.
pub fn unknown_sync_scope(name: &str) -> Problem {
    let known = SYNC_SCOPES.map(|(name, _)| format!("\"{name}\"")).join(", ");
    (format!("unknown synchronization scope {name}"), Some(format!("the known scopes are {known}")))
}

/// The problem of an address space that atomics cannot access.
pub fn wrong_address_space(number: u32) -> Problem {
    let help = format!("atomics are supported in the address spaces {}", address_space::KNOWN);
    (format!("atomic operation in address space {number}"), Some(help))
}

/// The type in the lowering of a value of `size` bytes: `arithmetic` if the GPU computes with the value, or an integer
/// if the operation only moves it. `printed` returns the type as its IR prints it; printing takes time, and only errors
/// need it. `alignment` is the alignment of the memory, in bytes.
pub fn checked_type(
    opcode: Opcode,
    arithmetic: Option<Type>,
    size: u64,
    alignment: u64,
    printed: impl Fn() -> String,
) -> Result<Type, Problem> {
    let ty = arithmetic.filter(|ty| !opcode.moves_only() || matches!(ty, Type::F32 | Type::F64));
    let ty = ty.or_else(|| integer(size).filter(|_| opcode.moves_only()));
    let Some(ty) = ty else {
        let help = if size > 16 {
            "PTX accesses at most 128 bits atomically: use a lock"
        } else {
            "the GPU has no arithmetic on this type: use a loop of cmpxchg on an integer of its size"
        };
        return Err((format!("atomic operation on type {} has no lowering", printed()), Some(help.into())));
    };
    if alignment < size {
        let message = format!("atomic operation on {} aligned to {alignment} bytes, less than its size", printed());
        let help = format!("PTX needs an alignment of {size} bytes: align the object, or do not access it atomically");
        return Err((message, Some(help)));
    }
    Ok(ty)
}

/// The integer type of `size` bytes.
pub fn integer(size: u64) -> Option<Type> {
    [Type::I8, Type::I16, Type::I32, Type::I64, Type::I128].into_iter().find(|ty| u64::from(ty.bits()) == 8 * size)
}

/// Whether PTX has constants of the operation's type. It has none of 128 bits, half floats and vectors.
pub fn takes_constants(operation: &Operation) -> bool {
    operation
        .access()
        .is_none_or(|Access { ty, .. }| ty.bits() <= 64 && ty.lanes() == 1 && !matches!(ty, Type::F16 | Type::Bf16))
}

/// The bits of each source that is a constant.
pub type Constants = [Option<u64>; 2];

/// The replacement of all operations with the same properties and the same constants.
pub struct Replacement {
    /// The operation.
    pub op: AtomicOp,
    /// The PTX sequence, and the reasons for it.
    pub lowering: Lowering,
    asm: OnceCell<InlineAsm>,
    orders: OnceCell<bool>,
}

impl Replacement {
    /// Creates the replacement of an operation.
    ///
    /// # Errors
    /// All reasons why the target has no lowering of the operation.
    pub fn new(op: AtomicOp, policy: &Policy, target: &Target, constants: Constants) -> Result<Self, Vec<Unsupported>> {
        let mut lowering = lower(&op, policy, target)?;
        for (register, bits) in [B, C].into_iter().zip(constants) {
            bits.into_iter().for_each(|bits| lowering.sequence.bind(&register, bits));
        }
        Ok(Self { op, lowering, asm: OnceCell::new(), orders: OnceCell::new() })
    }

    /// The sequence as inline assembly.
    pub fn asm(&self) -> &InlineAsm {
        // A fence has no operand, so its type does not matter.
        let ty = self.op.operation.access().map_or(Type::I32, |access| access.ty);
        self.asm.get_or_init(|| InlineAsm::new(&self.lowering.sequence, ty, AddressOperand::Memory))
    }

    /// Whether the sequence orders other accesses.
    pub fn orders(&self) -> bool {
        *self.orders.get_or_init(|| {
            let strength = Strength::from_sequence(&self.lowering.sequence);
            strength.acquire.or(strength.release).is_some()
        })
    }

    /// The differences between the sequence and the requested operation. `memory` is the memory at the operation's
    /// address.
    pub fn changes(&self, memory: Option<Memory>) -> Vec<Change> {
        let may_meet_stack = match self.op.operation {
            Operation::Rmw(_, access) | Operation::CmpXchg { access, .. } => !access.may_be_local,
            _ => false,
        };
        let unknown = may_meet_stack && memory.is_some_and(|memory| memory.unresolved);
        self.lowering.changes.iter().copied().chain(unknown.then_some(Change::UnknownMemory)).collect()
    }

    /// The state space that the sequence accesses; generic for a fence.
    pub fn space(&self) -> Space {
        self.op.operation.access().map_or(Space::Generic, |access| access.space)
    }
}

/// The operation in the syntax of LLVM. `ty` is the type of the value in memory, and is empty for a fence.
pub fn describe(op: &AtomicOp, sync_scope: &str, ty: &str) -> String {
    let access = |Access { space, .. }: Access| match address_space::number(space) {
        0 => ty.to_owned(),
        number => format!("{ty} addrspace({number})"),
    };
    let volatile = if op.operation.access().is_some_and(|access| access.volatile) { "volatile " } else { "" };
    let (mut text, failure) = match op.operation {
        Operation::Fence => ("fence".to_owned(), None),
        Operation::Load(a) => (format!("load atomic {volatile}{}", access(a)), None),
        Operation::Store(a) => (format!("store atomic {volatile}{}", access(a)), None),
        Operation::Rmw(rmw, a) => (format!("atomicrmw {volatile}{rmw} {}", access(a)), None),
        Operation::CmpXchg { access: a, failure } => (format!("cmpxchg {volatile}{}", access(a)), Some(failure)),
    };
    if !sync_scope.is_empty() {
        text.push_str(&format!(" syncscope(\"{sync_scope}\")"));
    }
    for ordering in [Some(op.ordering), failure].into_iter().flatten() {
        text.push(' ');
        text.push_str(if ordering == Ordering::Relaxed { "monotonic" } else { ordering.into() });
    }
    text
}

/// The options of front ends that set the version of PTX.
const PTX_FLAGS: &str = "--mattr; -Ctarget-feature of rustc; --cuda-feature of clang";

/// The GPU for which LLVM compiles by default.
const DEFAULT_GPU: &str = "sm_30";

/// The action that the user can take about an operation that the target lacks.
pub fn help(error: &Unsupported) -> Option<String> {
    if let Unsupported::Target { target, .. } | Unsupported::SystemScope { target, .. } = error
        && target.sm.name() == DEFAULT_GPU
    {
        let flags = "--mcpu; -Ctarget-cpu of rustc; --cuda-gpu-arch or -march of clang; -mcpu of llc";
        return Some(format!("LLVM uses {DEFAULT_GPU} if no GPU is given: compile for the right GPU ({flags})"));
    }
    match error {
        Unsupported::Target { requirement, target, .. } if requirement.gpus.has(target.sm) => {
            Some(format!("compile for +{} or a later version ({})", requirement.ptx.feature(), PTX_FLAGS))
        }
        Unsupported::SystemScope { .. } => {
            let how = "--default-scope gpu, or PTX_ATOMICS=default-scope=gpu for the plugin";
            Some(format!("if neither the host nor another device takes part, give {how}"))
        }
        Unsupported::ConstantWrite => Some("use global memory".into()),
        _ => None,
    }
}
