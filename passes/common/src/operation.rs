//! What the passes over LLVM IR and over MLIR make of an atomic operation that they found: the operation in the model's
//! words, what replaces it, and what is said about it.

use std::cell::OnceCell;

use ptx_judge::Strength;
use ptx_lowering::{
    Access, AtomicOp, B, C, Change, InlineAsm, Lowering, Operation, Ordering, Policy, RmwOp, SyncScope, Target, Type,
    Unsupported, lower,
    ptx::{Scope, Space},
};

use crate::{address_space, memory::Memory};

/// The instructions of LLVM, and the ops of MLIR's LLVM dialect, that are atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opcode {
    /// `fence`
    Fence,
    /// An atomic `load`.
    Load,
    /// An atomic `store`.
    Store,
    /// `atomicrmw`, which computes this.
    Rmw(RmwOp),
    /// `cmpxchg`
    CmpXchg,
}

impl Opcode {
    /// Whether the value is only moved, so that any type is an integer of its width.
    pub fn moves_only(self) -> bool {
        matches!(self, Self::Load | Self::Store | Self::CmpXchg | Self::Rmw(RmwOp::Xchg))
    }

    /// The index of the operand that is the address; nothing for a fence.
    pub fn pointer(self) -> Option<usize> {
        (self != Self::Fence).then_some(usize::from(self == Self::Store))
    }

    /// The indices of the operands that go in: none for a load, expected and new for a `cmpxchg`.
    pub fn sources(self) -> std::ops::Range<usize> {
        match self {
            Self::Fence | Self::Load => 0..0,
            Self::Store => 0..1,
            Self::Rmw(_) => 1..2,
            Self::CmpXchg => 1..3,
        }
    }

    /// The operation of the model. `access` is of everything but a fence, `failure` of a `cmpxchg`.
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

/// LLVM's synchronization scopes for NVPTX. The empty one is LLVM's default, the system.
pub const SYNC_SCOPES: [(&str, SyncScope); 5] = [
    ("", SyncScope::Threads(Scope::Sys)),
    ("device", SyncScope::Threads(Scope::Gpu)),
    ("cluster", SyncScope::Threads(Scope::Cluster)),
    ("block", SyncScope::Threads(Scope::Cta)),
    ("singlethread", SyncScope::SingleThread),
];

/// The attribute of a function that overrides the strategy of the run.
pub const STRATEGY: &str = "ptx-atomics-strategy";

/// The modes of a function's arithmetic that say what becomes of subnormals, of which the first is that of f32 if it is there
/// ('Language Reference', function attributes).
pub const DENORMAL_MODES: [&str; 2] = ["denormal-fp-math-f32", "denormal-fp-math"];

/// The same as one number, from LLVM 23 on: four bits for all types, and above them four for f32, each of them two for results and two for
/// operands (`DenormalFPEnv`).
pub const DENORMAL_FPENV: &str = "denormal_fpenv";

/// The kinds of metadata that say of one operation that subnormals may be flushed or kept: the second is what LLVM called the first, and what
/// clang's `-fatomic-ignore-denormal-mode` gives.
pub const IGNORES_SUBNORMALS: [&str; 2] = ["atomic.ignore.denormal.mode", "amdgpu.ignore.denormal.mode"];

/// The attribute of a function that says, as `true`, that nothing it computes with is a NaN.
pub const NO_NANS: &str = "no-nans-fp-math";

/// Whether a mode, of results and of operands, lets arithmetic flush subnormals as the GPU does.
pub fn flushes(mode: &str) -> bool {
    mode.split(',').all(|part| part.trim() == "preserve-sign")
}

/// Whether the value of a [`DENORMAL_FPENV`] lets arithmetic on f32 do so.
pub fn env_flushes(env: u64) -> bool {
    const PRESERVE_SIGN: u64 = 0b0101;
    env >> 4 & 0b1111 == PRESERVE_SIGN
}

/// An addition of a negated operand is a subtraction, and the other way round: what `fneg` negates, the sequence negates
/// itself. In front of inline assembly, LLVM negates integers, in more instructions.
pub fn with_negated_operand(opcode: Opcode) -> Option<Opcode> {
    match opcode {
        Opcode::Rmw(RmwOp::FAdd) => Some(Opcode::Rmw(RmwOp::FSub)),
        Opcode::Rmw(RmwOp::FSub) => Some(Opcode::Rmw(RmwOp::FAdd)),
        _ => None,
    }
}

/// The operation as the program has it, of this opcode.
pub fn as_asked(opcode: Opcode, op: &AtomicOp) -> AtomicOp {
    let operation = match (opcode, op.operation) {
        (Opcode::Rmw(asked), Operation::Rmw(_, access)) => Operation::Rmw(asked, access),
        (_, operation) => operation,
    };
    AtomicOp { operation, ..*op }
}

/// What is wrong with one operation: message and help.
pub type Problem = (String, Option<String>);

/// The scope of this index in [`SYNC_SCOPES`], of which the first is what the options say.
pub fn sync_scope(index: usize, default_scope: Scope) -> (&'static str, SyncScope) {
    if index == 0 { ("", SyncScope::Threads(default_scope)) } else { SYNC_SCOPES[index] }
}

/// The name of a scope, as one of [`SYNC_SCOPES`]; the first is what the options say.
pub fn sync_scope_name(scope: SyncScope, default_scope: Scope) -> &'static str {
    let mut all = (0..SYNC_SCOPES.len()).map(|index| sync_scope(index, default_scope));
    all.find(|(_, known)| *known == scope).map_or("", |(name, _)| name)
}

/// A synchronization scope that is none of [`SYNC_SCOPES`].
pub fn unknown_sync_scope(name: &str) -> Problem {
    let known = SYNC_SCOPES.map(|(name, _)| format!("\"{name}\"")).join(", ");
    (format!("unknown synchronization scope {name}"), Some(format!("the known ones are {known}")))
}

/// An address space that atomics cannot access.
pub fn wrong_address_space(number: u32) -> Problem {
    let help = format!("atomics are supported in the address spaces {}", address_space::KNOWN);
    (format!("atomic operation in address space {number}"), Some(help))
}

/// The type of the model for a value of `size` bytes: `arithmetic`, if the GPU computes with it, or an integer where the
/// value is only moved. `printed` gives the type as its IR prints it, which takes time and only errors need; `alignment` is
/// that of the memory, in bytes.
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

/// The type of integer of so many bytes.
pub fn integer(size: u64) -> Option<Type> {
    [Type::I8, Type::I16, Type::I32, Type::I64, Type::I128].into_iter().find(|ty| u64::from(ty.bits()) == 8 * size)
}

/// Whether PTX can hold a value of the operation as a constant: it has none of 128 bits, half floats and vectors.
pub fn takes_constants(operation: &Operation) -> bool {
    operation
        .access()
        .is_none_or(|Access { ty, .. }| ty.bits() <= 64 && ty.lanes() == 1 && !matches!(ty, Type::F16 | Type::Bf16))
}

/// The bits of the sources that are constants.
pub type Constants = [Option<u64>; 2];

/// What replaces every operation that asks for the same with the same constants.
pub struct Replacement {
    /// The operation.
    pub op: AtomicOp,
    /// Its sequence of PTX, and how that came about.
    pub lowering: Lowering,
    asm: OnceCell<InlineAsm>,
    orders: OnceCell<bool>,
}

impl Replacement {
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
        // A fence has no operand whose type would matter.
        let ty = self.op.operation.access().map_or(Type::I32, |access| access.ty);
        self.asm.get_or_init(|| InlineAsm::new(&self.lowering.sequence, ty))
    }

    /// Whether it orders other accesses.
    pub fn orders(&self) -> bool {
        *self.orders.get_or_init(|| {
            let strength = Strength::of(&self.lowering.sequence);
            strength.acquire.or(strength.release).is_some()
        })
    }

    /// What was done that the operation does not ask for. `memory` is that of its address.
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

/// The operation in LLVM's words. `ty` is the type of the value in memory, nothing for a fence.
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

/// Where people say for which version of PTX they compile.
const PTX_FLAGS: &str = "--mattr; -Ctarget-feature of rustc; --cuda-feature of clang";

/// The GPU that LLVM compiles for where none is set.
const DEFAULT_GPU: &str = "sm_30";

/// What the user can do about an operation that the target lacks.
pub fn help(error: &Unsupported) -> Option<String> {
    if let Unsupported::Target { target, .. } | Unsupported::SystemScope { target, .. } = error
        && target.sm.name() == DEFAULT_GPU
    {
        let flags = "--mcpu; -Ctarget-cpu of rustc; --cuda-gpu-arch or -march of clang; -mcpu of llc";
        return Some(format!(
            "LLVM takes {DEFAULT_GPU} where nobody sets the GPU: compile for the right one ({flags})"
        ));
    }
    match error {
        Unsupported::Target { requirement, target, .. } if requirement.gpus.has(target.sm) => {
            Some(format!("compile for +{} or a later version ({})", requirement.ptx.feature(), PTX_FLAGS))
        }
        Unsupported::SystemScope { .. } => {
            let how = "--default-scope gpu, or PTX_ATOMICS=default-scope=gpu for the plugin";
            Some(format!("where neither the host nor another device takes part, give {how}"))
        }
        Unsupported::ConstantWrite => Some("use global memory".into()),
        _ => None,
    }
}
