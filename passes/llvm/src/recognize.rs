//! From instructions of LLVM IR to operations, and what becomes of each.
//!
//! The whole module is looked at before anything is changed, and everything that has no lowering is reported.

use std::{collections::HashMap, rc::Rc};

use inkwell::{
    context::ContextRef,
    llvm_sys::{LLVMTypeKind, core::*, prelude::*, target::LLVMStoreSizeOfType},
    module::{Linkage, Module},
    targets::TargetData,
    values::{AsValueRef, FunctionValue},
};
use ptx_atomics_judge::BasicBlock;
use ptx_atomics_lowering::{Access, AtomicOp, Change, Ordering, Policy, SyncScope, Type};
use strum::IntoEnumIterator;

use crate::{
    Options, cuda,
    instruction::{Instruction, constant, control_flow, instructions, instructions_of, name},
    memory::Memory,
    message::{Diagnostic, Location, Remark},
    operation::{
        self, Constants, DENORMAL_MODES, Kind, Problem, Replacement, STRATEGY, SYNC_SCOPES, as_asked, checked_type,
        describe, flushes, help, integer, takes_constants,
    },
    source::{Input, Numbering},
};

/// An instruction and what replaces it.
pub struct Planned {
    pub instruction: Instruction,
    pub kind: Kind,
    pub replacement: Rc<Replacement>,
    /// The operand of the replacement, where it is not that of the instruction: what that is the negation of.
    pub negated: Option<LLVMValueRef>,
    sync_scope: &'static str,
    function: LLVMValueRef,
    number: Option<u32>,
    /// The kind of metadata that names CUDA's function.
    cuda: u32,
}

impl Planned {
    pub fn remark(&self, input: &Input) -> Remark {
        let Replacement { op, lowering, .. } = &*self.replacement;
        Remark {
            function: name_of(self.function),
            location: self.instruction.debug_location().or_else(|| input.location(self.number)),
            operation: describe(&as_asked(self.kind, op), self.sync_scope, &self.value_type()) + &self.cuda_function(),
            sequence: lowering.sequence.clone(),
            changes: lowering.changes.iter().copied().chain(self.unknown_memory()).collect(),
        }
    }

    /// Where an `atom` may meet the stack, and nothing tests for it.
    fn unknown_memory(&self) -> Option<Change> {
        let access = self.replacement.op.operation.access()?;
        let untested = matches!(self.kind, Kind::Rmw(_) | Kind::CmpXchg) && !access.may_be_local;
        let unknown = untested && Memory::of(self.instruction.pointer(self.kind)).is_ok_and(|memory| memory.unresolved);
        unknown.then_some(Change::UnknownMemory)
    }

    fn cuda_function(&self) -> String {
        cuda::function(self.instruction, self.cuda).map_or(String::new(), |name| format!(" (CUDA's {name})"))
    }

    /// The type of the value in memory, as LLVM prints it; nothing for a fence.
    fn value_type(&self) -> String {
        if self.kind == Kind::Fence { String::new() } else { printed(self.instruction.value_type(self.kind)) }
    }
}

/// Finds every atomic and fence, and lowers it. `pristine` says that the module is as it was read, but for
/// markers, so that the order of its other atomics is that of its text.
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
        let policy = recognizer.policy(function).unwrap_or_else(|mut found| {
            errors.append(&mut found);
            options.policy
        });
        for instruction in instructions(function) {
            let Some((instruction, kind)) = Instruction::atomic(instruction) else {
                errors.extend(recognizer.element_wise_intrinsic(function, instruction));
                continue;
            };
            let number = match pristine {
                true if recognizer.numbering.is_in_text(instruction) => count.next(),
                _ => recognizer.numbering.get(instruction),
            };
            match recognizer.plan(function, instruction, kind, number, &policy) {
                Ok(planned) => keep(planned),
                Err(mut found) => errors.append(&mut found),
            }
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// A function that has atomics or fences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recognized {
    pub function: String,
    /// Whether other modules see the function, so that a compiler must keep it.
    pub visible: bool,
    /// In the order of the text.
    pub blocks: Vec<BasicBlock>,
    /// What a reader knows the operations of the blocks by, in the same order.
    pub named: Vec<Named>,
}

/// What a reader knows an operation by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// In LLVM's words.
    pub operation: String,
    pub location: Option<Location>,
}

/// The functions of a module as [`crate::read`] and [`crate::expand`] left it, with every atomic and fence.
///
/// # Errors
/// Everything that is no operation of the model: an unknown scope, type or address space, or too little alignment.
pub fn operations(module: &Module<'_>, input: &Input, options: &Options) -> Result<Vec<Recognized>, Vec<Diagnostic>> {
    let recognizer = Recognizer::new(module, input, options);
    let (mut functions, mut errors) = (Vec::new(), Vec::new());
    let mut count = 0..;
    for function in module.get_functions() {
        let visible = !matches!(function.get_linkage(), Linkage::Internal | Linkage::Private);
        let (mut blocks, mut named) = (Vec::new(), Vec::new());
        for (block, next) in control_flow(function) {
            let mut operations = Vec::new();
            for (instruction, kind) in instructions_of(block).filter_map(Instruction::atomic) {
                let number = recognizer.numbering.is_in_text(instruction).then(|| count.next()).flatten();
                let location = instruction.debug_location().or_else(|| input.location(number));
                match recognizer.operation(instruction, kind) {
                    Ok((op, sync_scope)) => {
                        let ty =
                            if kind == Kind::Fence { String::new() } else { printed(instruction.value_type(kind)) };
                        operations.push(op);
                        named.push(Named { operation: describe(&op, sync_scope, &ty), location });
                    }
                    Err(problems) => {
                        let message = problems.iter().map(|(message, _)| &**message).collect::<Vec<_>>().join("; ");
                        errors.push(Diagnostic {
                            function: Some(name(&function)),
                            location,
                            operation: Some(instruction.text()),
                            help: problems.into_iter().find_map(|(_, help)| help),
                            ..Diagnostic::new(message)
                        });
                    }
                }
            }
            blocks.push(BasicBlock { operations, next });
        }
        if !named.is_empty() {
            functions.push(Recognized { function: name(&function), visible, blocks, named });
        }
    }
    if errors.is_empty() { Ok(functions) } else { Err(errors) }
}

/// The name of a function in PTX: LLVM replaces what PTX has not (`NVPTXAssignValidGlobalNames`).
pub fn ptx_name(name: &str) -> String {
    name.replace(['.', '@'], "_$_")
}

struct Recognizer<'a> {
    input: &'a Input,
    options: &'a Options,
    numbering: Numbering,
    layout: TargetData,
    /// LLVM's numbers of [`SYNC_SCOPES`] in this context.
    sync_scope_ids: [u32; SYNC_SCOPES.len()],
    /// What was lowered already: by operation, policy, and constant sources.
    known: HashMap<(AtomicOp, Policy, Constants), Rc<Replacement>>,
    cuda: u32,
}

impl<'a> Recognizer<'a> {
    fn new(module: &Module<'_>, input: &'a Input, options: &'a Options) -> Self {
        let context = module.get_context();
        let layout = TargetData::create(module.get_data_layout().as_str().to_str().unwrap_or_default());
        let sync_scope_ids = SYNC_SCOPES.map(|(name, _)| sync_scope_id(&context, name));
        let numbering = Numbering::of(&context);
        let cuda = context.get_kind_id(cuda::KIND);
        Self { input, options, numbering, layout, sync_scope_ids, known: HashMap::new(), cuda }
    }

    /// The policy of the run, with what the function's attributes say.
    fn policy(&self, function: FunctionValue<'_>) -> Result<Policy, Vec<Diagnostic>> {
        let mut policy = self.options.policy;
        let attribute = |name: &str| {
            let attribute = function.get_string_attribute(inkwell::attributes::AttributeLoc::Function, name)?;
            Some(attribute.get_string_value().to_string_lossy().into_owned())
        };
        policy.flush_f32 |= DENORMAL_MODES.iter().find_map(|name| attribute(name)).is_some_and(|mode| flushes(&mode));
        if let Some(list) = attribute(STRATEGY) {
            policy.strategies.override_with(&list).map_err(|error| Diagnostic {
                function: Some(name(&function)),
                ..Diagnostic::new(format!("in the attribute \"{STRATEGY}\": {error}"))
            })?;
        }
        Ok(policy)
    }

    fn plan(
        &mut self,
        function: FunctionValue<'_>,
        instruction: Instruction,
        kind: Kind,
        number: Option<u32>,
        policy: &Policy,
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
        let (done, negated) = instruction.negated(kind).map_or((kind, None), |(kind, value)| (kind, Some(value)));
        let (op, sync_scope) = self
            .operation(instruction, done)
            .map_err(|problems| problems.into_iter().map(diagnostic).collect::<Vec<_>>())?;
        let mut sources = instruction.sources(kind).map(|source| negated.unwrap_or(source));
        let scalar = takes_constants(&op.operation);
        let mut bits = || sources.next().filter(|_| scalar).and_then(constant);
        let constants = [bits(), bits()];
        let key = (op, *policy, constants);
        let replacement = match self.known.get(&key) {
            Some(known) => known.clone(),
            None => {
                let replacement = Replacement::new(op, policy, &self.options.target, constants).map_err(|errors| {
                    errors.iter().map(|error| diagnostic((error.to_string(), help(error)))).collect::<Vec<_>>()
                })?;
                self.known.entry(key).or_insert(Rc::new(replacement)).clone()
            }
        };
        let (function, cuda) = (function.as_value_ref(), self.cuda);
        Ok(Planned { instruction, kind, replacement, negated, sync_scope, function, number, cuda })
    }

    fn operation(&self, instruction: Instruction, kind: Kind) -> Result<(AtomicOp, &'static str), Vec<Problem>> {
        let mut problems = Vec::new();
        let mut keep = |problem| problems.push(problem);
        let scope = self.sync_scope(instruction).map_err(&mut keep).ok();
        let access = if kind == Kind::Fence {
            None
        } else {
            let memory = self.memory(instruction.pointer(kind)).map_err(&mut keep).ok();
            let ty = self.ty(instruction, kind).map_err(&mut keep).ok();
            memory.zip(ty).map(|(Memory { space, partly_local, unresolved }, ty)| Access {
                volatile: instruction.is_volatile(),
                may_be_local: partly_local || unresolved && self.options.generic_may_be_local,
                ..Access::new(space, ty).aligned(instruction.alignment().into())
            })
        };
        let failure = if kind == Kind::CmpXchg { instruction.failure_ordering() } else { Ordering::Relaxed };
        let operation = kind.operation(access, failure);
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
            Some(index) => Ok(operation::sync_scope(index, self.options.default_scope)),
            None => {
                let text = instruction.text();
                let unknown = text.split_once("syncscope(").and_then(|(_, rest)| rest.split_once(')'));
                Err(operation::unknown_sync_scope(unknown.map_or("?", |(name, _)| name)))
            }
        }
    }

    fn memory(&self, pointer: LLVMValueRef) -> Result<Memory, Problem> {
        Memory::of(pointer).map_err(operation::wrong_address_space)
    }

    fn ty(&self, instruction: Instruction, kind: Kind) -> Result<Type, Problem> {
        let llvm = instruction.value_type(kind);
        // SAFETY: the type and the layout are live; the size of a type of atomics is defined.
        let size = unsafe { LLVMStoreSizeOfType(self.layout.as_mut_ptr(), llvm) };
        checked_type(kind, arithmetic_type(llvm, size), size, instruction.alignment().into(), &printed(llvm))
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

/// LLVM's number of a synchronization scope in this context.
pub fn sync_scope_id(context: &ContextRef<'_>, name: &str) -> u32 {
    // SAFETY: the context is live, and the name is given with its length.
    unsafe { LLVMGetSyncScopeID(context.raw(), name.as_ptr().cast(), name.len()) }
}

/// The type of a value that is computed with.
fn arithmetic_type(llvm: LLVMTypeRef, size: u64) -> Option<Type> {
    use LLVMTypeKind::*;
    // SAFETY: the type is live, and the element is asked of a vector.
    unsafe {
        let vector = LLVMGetTypeKind(llvm) == LLVMVectorTypeKind;
        let scalar = if vector { LLVMGetElementType(llvm) } else { llvm };
        let scalar = match LLVMGetTypeKind(scalar) {
            LLVMIntegerTypeKind | LLVMPointerTypeKind => return integer(size),
            LLVMHalfTypeKind => Type::F16,
            LLVMBFloatTypeKind => Type::Bf16,
            LLVMFloatTypeKind => Type::F32,
            LLVMDoubleTypeKind => Type::F64,
            _ => return None,
        };
        Type::iter().find(|ty| ty.scalar() == scalar && u64::from(ty.bits()) == 8 * size)
    }
}

pub fn printed(llvm: LLVMTypeRef) -> String {
    // SAFETY: the type is live, and LLVM allocates the text.
    unsafe { crate::instruction::message(LLVMPrintTypeToString(llvm)) }
}

pub fn name_of(function: LLVMValueRef) -> String {
    // SAFETY: the function is live.
    name(&unsafe { inkwell::values::AnyValueEnum::new(function) })
}
