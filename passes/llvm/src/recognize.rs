//! From instructions of LLVM IR to operations, and what becomes of each.
//!
//! The whole module is looked at before anything is changed, and everything that has no lowering is reported.

use std::{collections::HashMap, rc::Rc};

use inkwell::{
    llvm_sys::{LLVMTypeKind, core::*, prelude::*, target::LLVMStoreSizeOfType},
    module::Module,
    targets::TargetData,
    values::{AsValueRef, FunctionValue},
};
use ptx_atomics_lowering::{
    Access, AtomicOp, B, C, InlineAsm, Lowering, Operation, Ordering, Strategies, SyncScope, Target, Type, Unsupported,
    lower,
    ptx::{Scope, Space},
    strength::Strength,
};

use crate::{
    Options,
    instruction::{Instruction, Kind, constant, instructions, name},
    message::{Diagnostic, Remark},
    source::{Input, Numbering},
};

/// LLVM's synchronization scopes for NVPTX. The empty one is LLVM's default, the system.
const SYNC_SCOPES: [(&str, SyncScope); 5] = [
    ("", SyncScope::Threads(Scope::Sys)),
    ("device", SyncScope::Threads(Scope::Gpu)),
    ("cluster", SyncScope::Threads(Scope::Cluster)),
    ("block", SyncScope::Threads(Scope::Cta)),
    ("singlethread", SyncScope::SingleThread),
];

/// NVPTX address spaces that atomics may access (LLVM, 'User Guide for NVPTX Back-end').
const ADDRESS_SPACES: [(u32, Space); 4] =
    [(0, Space::Generic), (1, Space::Global), (3, Space::Shared), (7, Space::SharedCluster)];

/// The attribute of a function that overrides the strategy of the run.
const STRATEGY: &str = "ptx-atomics-strategy";

/// An instruction and what replaces it.
pub struct Planned {
    pub instruction: Instruction,
    pub kind: Kind,
    pub replacement: Rc<Replacement>,
    sync_scope: &'static str,
    function: LLVMValueRef,
    number: Option<u32>,
}

/// What replaces every instruction that asks for the same with the same constants.
pub struct Replacement {
    op: AtomicOp,
    lowering: Lowering,
    pub asm: InlineAsm,
    /// Whether it orders other accesses.
    pub orders: bool,
}

impl Planned {
    pub fn remark(&self, input: &Input) -> Remark {
        let Replacement { op, lowering, .. } = &*self.replacement;
        Remark {
            function: name_of(self.function),
            location: self.instruction.debug_location().or_else(|| input.location(self.number)),
            operation: describe(op, self.sync_scope),
            sequence: lowering.sequence.clone(),
            changes: lowering.changes.clone(),
        }
    }
}

/// The operation in LLVM's words.
fn describe(op: &AtomicOp, sync_scope: &str) -> String {
    let access = |Access { space, ty, .. }: Access| {
        let number = ADDRESS_SPACES.iter().find(|(_, known)| *known == space).map_or(0, |(number, _)| *number);
        let ty = match ty {
            Type::I32 => "i32",
            Type::I64 => "i64",
            Type::F32 => "float",
            Type::F64 => "double",
        };
        if number == 0 { ty.to_owned() } else { format!("{ty} addrspace({number})") }
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

/// Finds every atomic and fence, and lowers it. `pristine` says that the module is as it was read, so that the order of
/// its atomics is that of its text.
pub fn plan(
    module: &Module<'_>,
    input: &Input,
    options: &Options,
    pristine: bool,
    mut keep: impl FnMut(Planned),
) -> Result<(), Vec<Diagnostic>> {
    let mut recognizer = Recognizer::new(module, input, options);
    let mut errors = Vec::new();
    let mut count = 0..;
    for function in module.get_functions() {
        let strategies = recognizer.strategies(function).unwrap_or_else(|mut found| {
            errors.append(&mut found);
            options.strategies
        });
        for instruction in instructions(function) {
            let Some((instruction, kind)) = Instruction::atomic(instruction) else {
                errors.extend(recognizer.element_wise_intrinsic(function, instruction));
                continue;
            };
            let number = if pristine { count.next() } else { recognizer.numbering.get(instruction) };
            match recognizer.plan(function, instruction, kind, number, &strategies) {
                Ok(planned) => keep(planned),
                Err(mut found) => errors.append(&mut found),
            }
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

struct Recognizer<'a> {
    input: &'a Input,
    options: &'a Options,
    numbering: Numbering,
    layout: TargetData,
    /// LLVM's numbers of [`SYNC_SCOPES`] in this context.
    sync_scope_ids: [u32; SYNC_SCOPES.len()],
    /// What was lowered already: by operation, strategies, and constant sources.
    known: HashMap<(AtomicOp, Strategies, Constants), Rc<Replacement>>,
}

/// The bits of the sources that are constants.
type Constants = [Option<u64>; 2];

/// What is wrong with one instruction: message and help.
type Problem = (String, Option<String>);

impl<'a> Recognizer<'a> {
    fn new(module: &Module<'_>, input: &'a Input, options: &'a Options) -> Self {
        let context = module.get_context();
        let layout = TargetData::create(module.get_data_layout().as_str().to_str().unwrap_or_default());
        // SAFETY: the context is live, and the names are given with their lengths.
        let id = |name: &str| unsafe { LLVMGetSyncScopeID(context.raw(), name.as_ptr().cast(), name.len()) };
        let sync_scope_ids = SYNC_SCOPES.map(|(name, _)| id(name));
        let numbering = Numbering::of(&context);
        Self { input, options, numbering, layout, sync_scope_ids, known: HashMap::new() }
    }

    /// The strategies of the run, overridden by the function's attribute.
    fn strategies(&self, function: FunctionValue<'_>) -> Result<Strategies, Vec<Diagnostic>> {
        let mut strategies = self.options.strategies;
        let attribute = function.get_string_attribute(inkwell::attributes::AttributeLoc::Function, STRATEGY);
        if let Some(attribute) = attribute {
            let list = attribute.get_string_value().to_string_lossy();
            strategies.override_with(&list).map_err(|error| Diagnostic {
                function: Some(name(&function)),
                ..Diagnostic::new(format!("in the attribute \"{STRATEGY}\": {error}"))
            })?;
        }
        Ok(strategies)
    }

    fn plan(
        &mut self,
        function: FunctionValue<'_>,
        instruction: Instruction,
        kind: Kind,
        number: Option<u32>,
        strategies: &Strategies,
    ) -> Result<Planned, Vec<Diagnostic>> {
        let input = self.input;
        let diagnostic = |(message, help): Problem| Diagnostic {
            message,
            function: Some(name(&function)),
            location: instruction.debug_location().or_else(|| input.location(number)),
            operation: Some(instruction.text()),
            notes: Vec::new(),
            help,
        };
        let (op, sync_scope) = self
            .operation(instruction, kind)
            .map_err(|problems| problems.into_iter().map(diagnostic).collect::<Vec<_>>())?;
        let mut sources = instruction.sources(kind);
        let constants = [sources.next().and_then(constant), sources.next().and_then(constant)];
        let key = (op, *strategies, constants);
        let replacement = match self.known.get(&key) {
            Some(known) => known.clone(),
            None => {
                let replacement =
                    Replacement::new(op, strategies, &self.options.target, constants).map_err(|errors| {
                        errors.iter().map(|error| diagnostic((error.to_string(), None))).collect::<Vec<_>>()
                    })?;
                self.known.entry(key).or_insert(Rc::new(replacement)).clone()
            }
        };
        Ok(Planned { instruction, kind, replacement, sync_scope, function: function.as_value_ref(), number })
    }

    fn operation(&self, instruction: Instruction, kind: Kind) -> Result<(AtomicOp, &'static str), Vec<Problem>> {
        let mut problems = Vec::new();
        let mut keep = |problem| problems.push(problem);
        let scope = self.sync_scope(instruction).map_err(&mut keep).ok();
        let access = if kind == Kind::Fence {
            None
        } else {
            let space = self.space(instruction.pointer(kind)).map_err(&mut keep).ok();
            let ty = self.ty(instruction, kind).map_err(&mut keep).ok();
            let volatile = instruction.is_volatile();
            space.zip(ty).map(|(space, ty)| Access { space, ty, volatile })
        };
        let operation = match (kind, access) {
            (Kind::Fence, _) => Some(Operation::Fence),
            (_, None) => None,
            (Kind::Load, Some(access)) => Some(Operation::Load(access)),
            (Kind::Store, Some(access)) => Some(Operation::Store(access)),
            (Kind::Rmw(op), Some(access)) => Some(Operation::Rmw(op, access)),
            (Kind::CmpXchg, Some(access)) => {
                Some(Operation::CmpXchg { access, failure: instruction.failure_ordering() })
            }
        };
        match (operation, scope) {
            (Some(operation), Some((sync_scope, scope))) if problems.is_empty() => {
                let op = AtomicOp { operation, ordering: instruction.ordering(kind), scope };
                Ok((op, sync_scope))
            }
            _ => Err(problems),
        }
    }

    fn sync_scope(&self, instruction: Instruction) -> Result<(&'static str, SyncScope), Problem> {
        let id = instruction.sync_scope_id();
        match self.sync_scope_ids.iter().position(|known| *known == id) {
            Some(0) => Ok(("", SyncScope::Threads(self.options.default_scope))),
            Some(index) => Ok(SYNC_SCOPES[index]),
            None => {
                let text = instruction.text();
                let unknown = text
                    .split_once("syncscope(")
                    .and_then(|(_, rest)| rest.split_once(')'))
                    .map_or("?", |(name, _)| name);
                let known = SYNC_SCOPES.map(|(name, _)| format!("\"{name}\"")).join(", ");
                Err((format!("unknown synchronization scope {unknown}"), Some(format!("the known ones are {known}"))))
            }
        }
    }

    fn space(&self, pointer: LLVMValueRef) -> Result<Space, Problem> {
        // SAFETY: `pointer` is a value of pointer type, and so is the origin.
        let number = |pointer| unsafe { LLVMGetPointerAddressSpace(LLVMTypeOf(pointer)) };
        let origin = origin(pointer);
        let problem = |message: String, help: &str| Err((message, Some(help.to_owned())));
        match (number(pointer), number(origin), is_alloca(origin)) {
            (4, ..) | (0, 4, _) => problem(
                "atomic operation on constant memory".into(),
                "constant memory cannot be written while a kernel runs: use a plain load, or global memory",
            ),
            (5, ..) | (0, 5, _) | (_, _, true) => problem(
                "atomic operation on local (stack) memory is not supported yet".into(),
                "no other thread sees local memory: a plain load, store or operation does the same",
            ),
            (number, ..) => match ADDRESS_SPACES.iter().find(|(known, _)| *known == number) {
                Some((_, space)) => Ok(*space),
                None => problem(
                    format!("atomic operation in address space {number}"),
                    "atomics are supported in the address spaces 0 (generic), 1 (global), 3 (shared) and 7 (shared::cluster)",
                ),
            },
        }
    }

    fn ty(&self, instruction: Instruction, kind: Kind) -> Result<Type, Problem> {
        let llvm = instruction.value_type(kind);
        // SAFETY: the type and the layout are live; the size of a type of atomics is defined.
        let (ty, size) = unsafe {
            let size = LLVMStoreSizeOfType(self.layout.as_mut_ptr(), llvm);
            let ty = match (LLVMGetTypeKind(llvm), size) {
                (LLVMTypeKind::LLVMIntegerTypeKind, 4) if LLVMGetIntTypeWidth(llvm) == 32 => Some(Type::I32),
                (LLVMTypeKind::LLVMIntegerTypeKind, 8) if LLVMGetIntTypeWidth(llvm) == 64 => Some(Type::I64),
                (LLVMTypeKind::LLVMPointerTypeKind, 4) => Some(Type::I32),
                (LLVMTypeKind::LLVMPointerTypeKind, 8) => Some(Type::I64),
                (LLVMTypeKind::LLVMFloatTypeKind, _) => Some(Type::F32),
                (LLVMTypeKind::LLVMDoubleTypeKind, _) => Some(Type::F64),
                _ => None,
            };
            (ty, size)
        };
        let printed = || unsafe { crate::instruction::message(LLVMPrintTypeToString(llvm)) };
        let Some(ty) = ty else {
            let help = "the supported types are i32, i64, float, double and ptr".into();
            return Err((format!("atomic operation on type {} is not supported yet", printed()), Some(help)));
        };
        let alignment = instruction.alignment();
        if u64::from(alignment) < size {
            let message = format!("atomic operation on {} aligned to {alignment} bytes, less than its size", printed());
            return Err((
                message,
                Some(format!(
                    "PTX needs an alignment of {size} bytes: align the object, or do not access it atomically"
                )),
            ));
        }
        Ok(ty)
    }

    /// LLVM's backend turns these into calls to functions that do not exist.
    fn element_wise_intrinsic(&self, function: FunctionValue<'_>, instruction: LLVMValueRef) -> Option<Diagnostic> {
        // SAFETY: the instruction is live; the called value of a call is.
        let callee = unsafe {
            let call = LLVMIsACallInst(instruction);
            if call.is_null() {
                return None;
            }
            LLVMIsAFunction(LLVMGetCalledValue(call))
        };
        if callee.is_null() || !name_of(callee).contains(".element.unordered.atomic.") {
            return None;
        }
        Some(Diagnostic {
            function: Some(name(&function)),
            location: Instruction(instruction).debug_location(),
            operation: Some(Instruction(instruction).text()),
            help: Some("use a loop of atomic accesses".into()),
            ..Diagnostic::new("element-wise atomic memory intrinsics have no lowering")
        })
    }
}

impl Replacement {
    fn new(
        op: AtomicOp,
        strategies: &Strategies,
        target: &Target,
        constants: Constants,
    ) -> Result<Self, Vec<Unsupported>> {
        let mut lowering = lower(&op, strategies, target)?;
        for (register, bits) in [B, C].into_iter().zip(constants) {
            bits.into_iter().for_each(|bits| lowering.sequence.bind(&register, bits));
        }
        // A fence has no operand whose type would matter.
        let ty = op.operation.access().map_or(Type::I32, |access| access.ty);
        let asm = InlineAsm::new(&lowering.sequence, ty);
        let strength = Strength::of(&lowering.sequence);
        let orders = strength.acquire.or(strength.release).is_some();
        Ok(Self { op, lowering, asm, orders })
    }
}

/// The object that a pointer is computed from, as far as casts and offsets show. In code that is never reached a pointer
/// may be computed from itself, so that the way is bounded.
fn origin(mut pointer: LLVMValueRef) -> LLVMValueRef {
    use inkwell::llvm_sys::LLVMOpcode::{LLVMAddrSpaceCast, LLVMBitCast, LLVMGetElementPtr};
    for _ in 0..LONGEST_WAY {
        // SAFETY: the opcode is asked only of instructions and constant expressions, whose first operand is the pointer.
        let opcode = unsafe {
            if !LLVMIsAInstruction(pointer).is_null() {
                LLVMGetInstructionOpcode(pointer)
            } else if !LLVMIsAConstantExpr(pointer).is_null() {
                LLVMGetConstOpcode(pointer)
            } else {
                break;
            }
        };
        match opcode {
            LLVMAddrSpaceCast | LLVMBitCast | LLVMGetElementPtr => pointer = unsafe { LLVMGetOperand(pointer, 0) },
            _ => break,
        }
    }
    pointer
}

/// The longest chain of casts and offsets that is followed to the object behind a pointer.
const LONGEST_WAY: usize = 64;

fn is_alloca(value: LLVMValueRef) -> bool {
    // SAFETY: the value is live.
    unsafe { !LLVMIsAAllocaInst(value).is_null() }
}

fn name_of(function: LLVMValueRef) -> String {
    // SAFETY: the function is live.
    name(&unsafe { inkwell::values::AnyValueEnum::new(function) })
}
