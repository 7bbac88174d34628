//! The conversion of instructions of LLVM IR to operations, with the replacement of each.
//!
//! The whole module is inspected before any change, and every operation without a lowering is reported.

use std::{
    borrow::Cow,
    cell::{LazyCell, OnceCell},
    collections::hash_map::Entry,
    rc::Rc,
};

use inkwell::{
    attributes::{Attribute, AttributeLoc},
    llvm_sys::{LLVMTypeKind, core::*, target::LLVMStoreSizeOfType},
    module::{Linkage, Module},
    targets::TargetData,
    values::{FunctionValue, InstructionValue},
};
use ptx_atomics_common::{
    Diagnostic, Embed, Errors, Input, Location, Options, Outcome, Remark,
    backend::Backend,
    memory::Memory,
    operation::{
        self, Constants, DENORMAL_FPENV, DENORMAL_MODES, IGNORES_SUBNORMALS, NO_NANS, Opcode, Problem, Replacement,
        STRATEGY, SYNC_SCOPES, as_asked, checked_type, describe, env_flushes, flushes, help, integer, takes_constants,
    },
};
use ptx_judge::BasicBlock;
use ptx_lowering::{Access, AtomicOp, Policy, SyncScope, Type};
use rustc_hash::{FxHashMap, FxHashSet};
use strum::IntoEnumIterator;

use crate::{
    cuda,
    instruction::{Instruction, MAY_SKIP_WRITE, control_flow},
    memory::memory_of,
    other_instructions::{OtherInstructions, Summary, has_atomics_alone},
    source::Numbering,
    value::{Value, ValueType, callee, debug_location, instructions, name, sync_scope_id},
    version,
};

/// An instruction and its replacement.
pub struct Planned<'c> {
    pub instruction: Instruction<'c>,
    pub replacement: Rc<Replacement>,
    /// LLVM's number of its scope if the instruction stays because LLVM prints it as the sequence.
    pub native: Option<u32>,
    /// If the instruction's operand is a negation that the replacement contains: the operand of that negation.
    pub negated: Option<Value<'c>>,
    pub function: FunctionValue<'c>,
    /// The policy of the options, combined with the attributes of the function.
    pub policy: Policy,
    sync_scope: &'static str,
    number: Option<u32>,
    /// The kind of metadata that names the CUDA function of an atomic.
    cuda: u32,
}

impl Planned<'_> {
    /// The remark about the lowering of the instruction.
    pub fn remark(&self, input: &Input) -> Remark {
        let memory = self.instruction.pointer().map(memory_of);
        let sequence = self.replacement.lowering.sequence.clone();
        let changes = self.replacement.changes(memory.and_then(Result::ok));
        self.says(input, Outcome::Lowered { sequence, changes, native: self.native.is_some() })
    }

    /// A remark about the instruction, with the given outcome.
    pub fn says(&self, input: &Input, outcome: Outcome) -> Remark {
        Remark {
            function: name(&self.function),
            location: debug_location(self.instruction.value()).or_else(|| input.location(self.number)),
            operation: self.operation() + &self.cuda_function(),
            outcome,
        }
    }

    /// The operation in the syntax of LLVM.
    pub fn operation(&self) -> String {
        let op = as_asked(self.instruction.opcode(), &self.replacement.op);
        describe(&op, self.sync_scope, &value_type(self.instruction))
    }

    fn cuda_function(&self) -> String {
        cuda::function(self.instruction, self.cuda).map_or(String::new(), |name| format!(" (CUDA's {name})"))
    }
}

/// The type of the value in memory, as LLVM prints it; empty for a fence.
fn value_type(instruction: Instruction<'_>) -> String {
    instruction.value_type().map(ValueType::text).unwrap_or_default()
}

/// The method to find the line of an atomic in the text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// By order. The module is unchanged after parsing, except for expanded markers: its other atomics are in the order
    /// of the text.
    InOrder,
    /// By number. Passes have changed the module; the metadata of an atomic holds its number in the text.
    ByNumber,
}

/// Finds every atomic and fence, and lowers it.
pub fn plan<'c>(
    module: &Module<'c>,
    input: &Input,
    options: &Options,
    lines: Lines,
    mut keep: impl FnMut(Planned<'c>),
) -> Result<(), Errors> {
    let recognizer = Recognizer::new(module, input, options, lines);
    let mut known = FxHashMap::<Policy, Known>::default();
    let mut errors = Errors::new();
    let mut count = 0..;
    for function in module.get_functions() {
        let policy = errors.keep(recognizer.policy(function)).unwrap_or(options.policy);
        let known = known.entry(policy).or_default();
        let is_alone = LazyCell::new(|| has_atomics_alone(function));
        for instruction in instructions(function) {
            let Some(instruction) = Instruction::atomic(instruction) else {
                errors.extend(recognizer.element_wise_intrinsic(function, instruction));
                continue;
            };
            let number = match lines {
                Lines::InOrder if recognizer.numbering.is_in_text(instruction) => count.next(),
                _ => recognizer.numbering.get(instruction),
            };
            let planned = recognizer.plan(function, instruction, number, policy, known, &is_alone);
            errors.keep(planned).into_iter().for_each(&mut keep);
        }
    }
    errors.or(())
}

/// A function with a body, and its atomics and fences.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recognized {
    /// The name of the function in LLVM IR.
    pub function: String,
    /// Whether other modules can call the function, so that a compiler must keep it.
    pub visible: bool,
    /// The basic blocks, in the order of the text.
    pub blocks: Vec<BasicBlock>,
    /// The descriptions of the operations in the blocks, in the same order.
    pub named: Vec<Named>,
    /// The instructions of the function other than its atomics.
    pub other_instructions: OtherInstructions,
}

/// The description of an operation for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The operation in the syntax of LLVM.
    pub operation: String,
    /// The location in the source program, or in the input.
    pub location: Option<Location>,
    /// Whether plain stores may write the same object.
    pub is_written: bool,
    /// Whether its address is generic, and callers may pass a pointer to any memory.
    pub is_of_any_memory: bool,
}

/// The functions that a module defines, with every atomic and fence. The module is the result of [`crate::read`] and
/// [`crate::expand`].
///
/// # Errors
/// Every operation that the lowering cannot represent: an unknown scope, type or address space, or insufficient
/// alignment.
pub fn operations(module: &Module<'_>, input: &Input, options: &Options) -> Result<Vec<Recognized>, Errors> {
    let recognizer = Recognizer::new(module, input, options, Lines::InOrder);
    let summaries: FxHashMap<FunctionValue<'_>, Summary<'_>> =
        module.get_functions().map(|function| (function, Summary::new(function))).collect();
    let (mut functions, mut errors) = (Vec::new(), Errors::new());
    let mut count = 0..;
    for function in module.get_functions().filter(|function| function.count_basic_blocks() > 0) {
        let summary = &summaries[&function];
        let called = called(function, &summaries);
        let may_be_written = called.iter().any(|callee| summaries[callee].own.writes);
        let visible = may_be_called(function);
        let (mut blocks, mut named) = (Vec::new(), Vec::new());
        for (block, next) in control_flow(function) {
            let mut operations = Vec::new();
            for instruction in block.get_instructions().filter_map(Instruction::atomic) {
                let number = recognizer.numbering.is_in_text(instruction).then(|| count.next()).flatten();
                let location = debug_location(instruction.value()).or_else(|| input.location(number));
                match recognizer.operation(instruction, instruction.opcode()) {
                    Ok((op, sync_scope)) => {
                        operations.push(op);
                        let operation = describe(&op, sync_scope, &value_type(instruction));
                        let pointer = instruction.pointer();
                        let is_written = may_be_written || pointer.is_some_and(|pointer| summary.may_write(pointer));
                        let is_of_any_memory = visible && pointer.is_some_and(|p| summary.is_of_any_memory(p));
                        named.push(Named { operation, location, is_written, is_of_any_memory });
                    }
                    Err(problems) => {
                        let message = problems.iter().map(|(message, _)| &**message).collect::<Vec<_>>().join("; ");
                        errors.push(Diagnostic {
                            function: Some(name(&function)),
                            location,
                            operation: Some(Value::from(instruction.value()).text()),
                            help: problems.into_iter().find_map(|(_, help)| help),
                            ..Diagnostic::new(message)
                        });
                    }
                }
            }
            blocks.push(BasicBlock { operations, next });
        }
        let beside = summary.own.clone();
        functions.push((
            called,
            Recognized { function: name(&function), visible, blocks, named, other_instructions: beside },
        ));
    }
    let operations: FxHashMap<String, Vec<AtomicOp>> = functions
        .iter()
        .map(|(_, found)| {
            let operations = found.blocks.iter().flat_map(|block| &block.operations);
            (found.function.clone(), operations.copied().collect())
        })
        .collect();
    let with_called = |(called, mut found): (Vec<FunctionValue<'_>>, Recognized)| {
        for callee in called {
            let OtherInstructions { assembly, writes, volatile, atomics, calls, .. } = &summaries[&callee].own;
            let beside = &mut found.other_instructions;
            beside.assembly.extend_from_slice(assembly);
            beside.writes |= writes;
            beside.volatile |= volatile;
            beside.atomics |= atomics;
            beside.calls |= calls;
            beside.called.extend(operations.get(&name(&callee)).into_iter().flatten());
        }
        found
    };
    errors.or(()).map(|()| functions.into_iter().map(with_called).collect())
}

/// The defined functions that a function calls directly or indirectly.
fn called<'c>(
    function: FunctionValue<'c>,
    summaries: &FxHashMap<FunctionValue<'c>, Summary<'c>>,
) -> Vec<FunctionValue<'c>> {
    let (mut seen, mut found) = (FxHashSet::default(), Vec::new());
    let mut open = summaries[&function].callees.clone();
    while let Some(callee) = open.pop() {
        if seen.insert(callee) {
            found.push(callee);
            open.extend(&summaries[&callee].callees);
        }
    }
    found
}

/// Whether other modules may call a function, so that LLVM must print it.
pub fn may_be_called(function: FunctionValue<'_>) -> bool {
    use Linkage::{AvailableExternally, Internal, LinkOnceAny, LinkOnceODR, Private};
    !matches!(function.get_linkage(), Internal | Private | AvailableExternally | LinkOnceAny | LinkOnceODR)
}

/// The name of a function in PTX: LLVM replaces the characters that PTX does not allow (`NVPTXAssignValidGlobalNames`).
pub fn ptx_name(name: &str) -> String {
    name.replace(['.', '@'], "_$_")
}

/// The replacements by one policy so far, each with the fact whether LLVM prints exactly its sequence. The key is the
/// operation, the constant sources, and whether f32 subnormals may be flushed.
type Known = FxHashMap<(AtomicOp, Constants, bool), (Rc<Replacement>, bool)>;

struct Recognizer<'a> {
    input: &'a Input,
    options: &'a Options,
    lines: Lines,
    numbering: Numbering,
    layout: TargetData,
    /// LLVM's numbers of [`SYNC_SCOPES`] in this context.
    sync_scope_ids: [u32; SYNC_SCOPES.len()],
    cuda: u32,
    may_skip_write: u32,
    ignores_subnormals: [u32; IGNORES_SUBNORMALS.len()],
    denormal_fpenv: u32,
    /// The table of LLVM's backend if its own instructions may stay. It is loaded at the first atomic.
    backend: OnceCell<Option<Cow<'static, Backend>>>,
}

impl<'a> Recognizer<'a> {
    fn new(module: &Module<'_>, input: &'a Input, options: &'a Options, lines: Lines) -> Self {
        let context = module.get_context();
        let layout = TargetData::create(module.get_data_layout().as_str().to_str().unwrap_or_default());
        let sync_scope_ids = SYNC_SCOPES.map(|(name, _)| sync_scope_id(&context, name));
        let numbering = Numbering::new(&context);
        let cuda = context.get_kind_id(cuda::KIND);
        let may_skip_write = context.get_kind_id(MAY_SKIP_WRITE);
        let ignores_subnormals = IGNORES_SUBNORMALS.map(|name| context.get_kind_id(name));
        let denormal_fpenv = Attribute::get_named_enum_kind_id(DENORMAL_FPENV);
        Self {
            input,
            options,
            lines,
            numbering,
            layout,
            sync_scope_ids,
            cuda,
            may_skip_write,
            ignores_subnormals,
            denormal_fpenv,
            backend: OnceCell::new(),
        }
    }

    /// The policy of the options, combined with the function's attributes.
    fn policy(&self, function: FunctionValue<'_>) -> Result<Policy, Errors> {
        let mut policy = self.options.policy;
        let attribute = |name: &str| {
            let attribute = function.get_string_attribute(AttributeLoc::Function, name)?;
            Some(attribute.get_string_value().to_string_lossy().into_owned())
        };
        // The number of an attribute that this LLVM does not know is 0.
        let env = (self.denormal_fpenv != 0)
            .then(|| function.get_enum_attribute(AttributeLoc::Function, self.denormal_fpenv))
            .flatten();
        policy.flush_f32 |= env.is_some_and(|env| env_flushes(env.get_enum_value()));
        policy.flush_f32 |= DENORMAL_MODES.iter().find_map(|name| attribute(name)).is_some_and(|mode| flushes(&mode));
        policy.no_nans |= attribute(NO_NANS).is_some_and(|value| value == "true");
        if let Some(list) = attribute(STRATEGY) {
            policy.strategies.override_with(&list).map_err(|error| Diagnostic {
                function: Some(name(&function)),
                ..Diagnostic::new(format!("in the attribute \"{STRATEGY}\": {error}"))
            })?;
        }
        Ok(policy)
    }

    fn plan<'c>(
        &self,
        function: FunctionValue<'c>,
        instruction: Instruction<'c>,
        number: Option<u32>,
        mut policy: Policy,
        known: &mut Known,
        is_alone: &LazyCell<bool, impl FnOnce() -> bool>,
    ) -> Result<Planned<'c>, Errors> {
        let input = self.input;
        let diagnostic = |(message, help): Problem| Diagnostic {
            message,
            function: Some(name(&function)),
            location: debug_location(instruction.value()).or_else(|| input.location(number)),
            operation: Some(Value::from(instruction.value()).text()),
            notes: Vec::new(),
            help,
        };
        let (done, negated) = match instruction.negated() {
            Some((opcode, value)) => (opcode, Some(value)),
            None => (instruction.opcode(), None),
        };
        let (op, sync_scope) = self
            .operation(instruction, done)
            .map_err(|problems| problems.into_iter().map(diagnostic).collect::<Vec<_>>())?;
        let mut sources = instruction.sources().map(|source| negated.unwrap_or(source));
        let scalar = takes_constants(&op.operation);
        let mut bits = || sources.next().filter(|_| scalar).and_then(Value::constant);
        let constants = [bits(), bits()];
        policy.flush_f32 |= self.ignores_subnormals.iter().any(|kind| instruction.has_metadata(*kind));
        let target = &self.options.target;
        let (replacement, is_printed) = match known.entry((op, constants, policy.flush_f32)) {
            Entry::Occupied(known) => known.get().clone(),
            Entry::Vacant(unknown) => {
                let replacement = Replacement::new(op, &policy, target, constants).map_err(|errors| {
                    errors.iter().map(|error| diagnostic((error.to_string(), help(error)))).collect::<Vec<_>>()
                })?;
                let is_printed =
                    self.backend().is_some_and(|backend| backend.prints(&op, &replacement.lowering.sequence, target));
                unknown.insert((Rc::new(replacement), is_printed)).clone()
            }
        };
        // The tables contain scalars, and vectors in additions.
        let is_packed = op.operation.access().is_some_and(|access| access.ty.lanes() > 1);
        let is_measured = negated.is_none() && (is_packed || instruction.is_scalar());
        let is_named = !function.get_name().is_empty();
        // LLVM's code generator also moves plain accesses across its own atomics: its vectorizer moves a load across
        // any other load, even one that acquires. It does not move a load across assembly.
        let may_stay = is_printed && is_measured && is_named && **is_alone;
        let native = may_stay.then(|| self.sync_scope_id(op.scope)).flatten();
        let cuda = self.cuda;
        Ok(Planned { instruction, replacement, native, negated, function, policy, sync_scope, number, cuda })
    }

    fn backend(&self) -> Option<&Backend> {
        let of_version = || Backend::from_version(version::exact()).map(Cow::Owned);
        let known = || self.options.backend.map_or_else(of_version, |backend| Some(Cow::Borrowed(backend)));
        let may_stay = self.options.embed == Embed::Native && self.lines == Lines::ByNumber;
        self.backend.get_or_init(|| may_stay.then(known).flatten()).as_deref()
    }

    /// LLVM's number of a scope.
    fn sync_scope_id(&self, scope: SyncScope) -> Option<u32> {
        SYNC_SCOPES.iter().position(|(_, known)| *known == scope).map(|index| self.sync_scope_ids[index])
    }

    /// The operation in the types of the lowering, with the given opcode: the opcode of the instruction, or the one
    /// that `Instruction::negated` returns.
    fn operation(
        &self,
        instruction: Instruction<'_>,
        opcode: Opcode,
    ) -> Result<(AtomicOp, &'static str), Vec<Problem>> {
        let mut problems = Vec::new();
        let mut keep = |problem| problems.push(problem);
        let scope = self.sync_scope(instruction).map_err(&mut keep).ok();
        let address = instruction.pointer().zip(instruction.value_type()).zip(instruction.alignment());
        let access = address.and_then(|((pointer, ty), alignment)| {
            let alignment = alignment.into();
            let memory = memory_of(pointer).map_err(operation::wrong_address_space).map_err(&mut keep).ok();
            let ty = self.ty(ty, opcode, alignment).map_err(&mut keep).ok();
            let Memory { space, partly_local, unresolved } = memory?;
            Some(Access {
                volatile: instruction.is_volatile(),
                may_be_local: partly_local || unresolved && self.options.generic_may_be_local,
                may_skip_write: instruction.has_metadata(self.may_skip_write),
                ..Access::new(space, ty?).aligned(alignment)
            })
        });
        let operation = opcode.operation(access, instruction.failure_ordering());
        match (operation, scope) {
            (Some(operation), Some((sync_scope, scope))) if problems.is_empty() => {
                let op = AtomicOp { operation, ordering: instruction.ordering(), scope };
                Ok((op, sync_scope))
            }
            _ => Err(problems),
        }
    }

    fn sync_scope(&self, instruction: Instruction<'_>) -> Result<(&'static str, SyncScope), Problem> {
        let id = instruction.sync_scope_id();
        match self.sync_scope_ids.iter().position(|known| *known == id) {
            Some(index) => Ok(operation::sync_scope(index, self.options.default_scope)),
            None => {
                let text = Value::from(instruction.value()).text();
                let unknown = text.split_once("syncscope(").and_then(|(_, rest)| rest.split_once(')'));
                Err(operation::unknown_sync_scope(unknown.map_or("?", |(name, _)| name)))
            }
        }
    }

    /// The type in the lowering of a value in memory with this alignment, in bytes.
    fn ty(&self, llvm: ValueType<'_>, opcode: Opcode, alignment: u64) -> Result<Type, Problem> {
        // SAFETY: the type and the layout are live; the size of a type of atomics is defined.
        let size = unsafe { LLVMStoreSizeOfType(self.layout.as_mut_ptr(), llvm.raw()) };
        checked_type(opcode, arithmetic_type(llvm, size), size, alignment, || llvm.text())
    }

    /// The error for an intrinsic that LLVM's backend turns into a call to a function that does not exist.
    fn element_wise_intrinsic(
        &self,
        function: FunctionValue<'_>,
        instruction: InstructionValue<'_>,
    ) -> Option<Diagnostic> {
        callee(instruction).filter(|callee| name(callee).contains(".element.unordered.atomic."))?;
        Some(Diagnostic {
            function: Some(name(&function)),
            location: debug_location(instruction),
            operation: Some(Value::from(instruction).text()),
            help: Some("use a loop of atomic accesses".into()),
            ..Diagnostic::new("element-wise atomic memory intrinsics have no lowering")
        })
    }
}

/// The type of a value on which the GPU computes.
fn arithmetic_type(llvm: ValueType<'_>, size: u64) -> Option<Type> {
    use LLVMTypeKind::*;
    let llvm = llvm.raw();
    // SAFETY: the type is live, and the element is read only from a vector.
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
