//! Markers: calls of undefined functions that represent atomics with a synchronization scope.
//!
//! Markers give scopes to languages that have none: their atomics are calls of external functions whose names contain
//! all properties. An optimizer assumes that such a call may have any effect, and a module whose markers were not
//! expanded does not link. The crate `ptx-atomics-scope` uses markers for Rust.
//!
//! | name | type |
//! | --- | --- |
//! | `ptx_atomics$fence$ORDERING$SCOPE` | `void ()` |
//! | `ptx_atomics$load$TYPE$ORDERING$SCOPE` | `TYPE (ptr)` |
//! | `ptx_atomics$store$TYPE$ORDERING$SCOPE` | `void (ptr, TYPE)` |
//! | `ptx_atomics$atomicrmw$OPERATION$TYPE$ORDERING$SCOPE` | `TYPE (ptr, TYPE)`, the old value |
//! | `ptx_atomics$cmpxchg$TYPE$SUCCESS$FAILURE$SCOPE` | `TYPE (ptr, TYPE, TYPE)`, the old value; never fails spuriously |
//!
//! The scope is LLVM's name of it; it is omitted (`ptx_atomics$fence$seq_cst`) for LLVM's default, the system. Types
//! are the integers and `ptr`, and addresses are aligned to the size of the type. `ptx_atomics$pass` represents no
//! operation; see `require.rs`.

use std::{collections::HashMap, str::Split};

use inkwell::{
    basic_block::BasicBlock,
    context::{AsContextRef, ContextRef},
    llvm_sys::{core::*, prelude::*},
    module::Module,
    values::{AsValueRef, FunctionValue, InstructionValue},
};
use ptx_atomics_common::{
    Diagnostic, Errors,
    marker::PREFIX,
    operation::{Problem, SYNC_SCOPES},
};
use ptx_atomics_version::MAJOR;
use ptx_lowering::{Access, Operation, Ordering, RmwOp, Type, ptx::Space};
use strum::{EnumIter, IntoEnumIterator, IntoStaticStr};

use crate::{
    instruction::{Instruction, llvm_ordering},
    require,
    source::set_unnumbered,
    value::{Value, ValueType, callee, debug_location, instructions, name, sync_scope_id, take_name},
    version::bin_op,
};

/// Replaces the calls of markers by the atomics that they represent. It must run before [`crate::check`], and before
/// any pass of LLVM that must recognize the atomics. The module no longer requires the pass.
///
/// # Errors
/// Every invalid marker and every invalid use of a marker. All markers then stay.
pub fn expand(module: &Module<'_>) -> Result<(), Errors> {
    require::satisfy(module);
    let functions: Vec<_> = module.get_functions().filter(|function| name(function).starts_with(PREFIX)).collect();
    if functions.is_empty() {
        return Ok(());
    }
    let markers: HashMap<_, _> = functions.iter().map(|function| (*function, Marker::parse(&name(function)))).collect();
    let context = module.get_context();
    let (mut calls, mut errors) = (Vec::new(), Errors::new());
    for call in module.get_functions().flat_map(instructions) {
        let Some((function, marker)) = callee(call).and_then(|callee| markers.get_key_value(&callee)) else {
            continue;
        };
        let right = marker.as_ref().map_err(Clone::clone).and_then(|marker| {
            marker.check_type(&name(function), call, &context)?;
            Ok(marker)
        });
        match right {
            Ok(marker) => calls.push((call, marker)),
            Err(problem) => errors.push(at(call, problem)),
        }
    }
    for function in &functions {
        if function.count_basic_blocks() > 0 {
            let message = format!("'{}' is defined, but the names of markers begin so", name(function));
            errors.push(Diagnostic::new(message).help("rename the function"));
        }
        errors.extend(other_uses(*function));
    }
    errors.or(())?;
    // SAFETY: the calls are live, and each is erased once; afterwards no marker has a use.
    unsafe {
        let builder = LLVMCreateBuilderInContext(context.as_ctx_ref());
        for (call, marker) in calls {
            marker.replace(call, builder, &context);
        }
        LLVMDisposeBuilder(builder);
        functions.iter().for_each(|function| LLVMDeleteFunction(function.as_value_ref()));
    }
    Ok(())
}

/// Whether the module has markers.
pub fn has_markers(module: &Module<'_>) -> bool {
    module.get_functions().any(|function| name(&function).starts_with(PREFIX))
}

fn at(instruction: InstructionValue<'_>, (message, help): Problem) -> Diagnostic {
    let function = instruction.get_parent().and_then(BasicBlock::get_parent);
    Diagnostic {
        message,
        function: function.as_ref().map(name),
        location: debug_location(instruction),
        operation: Some(Value::from(instruction).text()),
        notes: Vec::new(),
        help,
    }
}

/// An error for each use of a marker that is not a call of it.
fn other_uses(marker: FunctionValue<'_>) -> Errors {
    let non_null = |value: LLVMUseRef| (!value.is_null()).then_some(value);
    let help = "call it directly: it has no address, since the pass replaces its calls";
    let problem = || (format!("the marker '{}' is used other than by a call of it", name(&marker)), Some(help.into()));
    let mut users = Vec::new();
    let raw = marker.as_value_ref();
    // SAFETY: the marker is live, and so are its uses and their users.
    unsafe {
        let uses = std::iter::successors(non_null(LLVMGetFirstUse(raw)), |this| non_null(LLVMGetNextUse(*this)));
        for user in uses.map(|this| LLVMGetUser(this)) {
            let operands = (0..LLVMGetNumOperands(user) as u32).map(|index| LLVMGetOperand(user, index));
            let is_callee = !LLVMIsACallInst(user).is_null() && LLVMGetCalledValue(user) == raw;
            let is_call = is_callee && operands.filter(|operand| *operand == raw).count() == 1;
            if !is_call && !users.contains(&user) {
                users.push(user);
            }
        }
        let diagnostic = |user| match LLVMIsAInstruction(user).is_null() {
            true => Diagnostic {
                notes: vec![format!("it is in `{}`", Value::new(user).text())],
                ..Diagnostic::new(problem().0).help(help)
            },
            false => at(InstructionValue::new(user), problem()),
        };
        users.into_iter().map(diagnostic).collect()
    }
}

/// The atomic that a marker represents.
pub struct Marker {
    /// The operation. It accesses generic memory, and a pointer is represented by an integer of its width.
    pub operation: Operation,
    pub pointer: bool,
    pub ordering: Ordering,
    pub scope: &'static str,
}

/// LLVM's words for operations, in the names of markers.
#[derive(Clone, Copy, PartialEq, Eq, EnumIter, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
enum Word {
    Fence,
    Load,
    Store,
    AtomicRmw,
    CmpXchg,
}

/// The words of a marker's name that have not been parsed yet.
struct Words<'a> {
    marker: &'a str,
    rest: Split<'a, char>,
}

impl Words<'_> {
    /// The next word, if it is in `known`.
    fn next<T>(&mut self, what: &str, known: impl IntoIterator<Item = (&'static str, T)>) -> Result<T, Problem> {
        let word = self.rest.next().unwrap_or("");
        let mut names = Vec::new();
        for (name, value) in known {
            if name == word {
                return Ok(value);
            }
            names.push(format!("'{name}'"));
        }
        Err((
            format!("unknown {what} '{word}' in the marker '{}'", self.marker),
            Some(format!("expected one of {}", names.join(", "))),
        ))
    }

    fn any<T: IntoEnumIterator + Copy + Into<&'static str>>(&mut self, what: &str) -> Result<T, Problem> {
        self.next(what, T::iter().map(|value| (value.into(), value)))
    }
}

impl Marker {
    fn parse(name: &str) -> Result<Self, Problem> {
        let mut words = Words { marker: name, rest: name[PREFIX.len()..].split('$') };
        let word: Word = words.any("operation")?;
        let rmw_ops = || RmwOp::of_llvm(MAJOR).map(|op| (op.into(), op));
        let rmw = (word == Word::AtomicRmw).then(|| words.next("operation of atomicrmw", rmw_ops())).transpose()?;
        let integers = Type::iter().filter(|ty| !ty.is_float()).map(|ty| (ty.into(), (ty, false)));
        let types = integers.chain([("ptr", (Type::I64, true))]);
        let ty = (word != Word::Fence).then(|| words.next("type", types)).transpose()?;
        let ordering = words.any::<Ordering>("ordering")?;
        let failure = (word == Word::CmpXchg).then(|| words.any::<Ordering>("ordering of failure")).transpose()?;
        let scope = words.next("scope", SYNC_SCOPES.map(|(name, _)| (name, name)))?;
        if let Some(word) = words.rest.next() {
            return Err((format!("unexpected word '{word}' in the marker '{name}'"), None));
        }
        let wrong = |what: String| Err((format!("{what}, as the marker '{name}' requests"), None));
        let (ty, pointer) = ty.unwrap_or((Type::I32, false));
        let access = Access::new(Space::Generic, ty);
        let operation = match word {
            Word::Fence => Operation::Fence,
            Word::Load => Operation::Load(access),
            Word::Store => Operation::Store(access),
            Word::AtomicRmw => Operation::Rmw(rmw.expect("it was read"), access),
            Word::CmpXchg => Operation::CmpXchg { access, failure: failure.expect("it was read") },
        };
        let opcode: &str = word.into();
        if !operation.takes(ordering) {
            return wrong(format!("a {opcode} cannot have the ordering {ordering}"));
        }
        if let Some(failure) = failure.filter(|o| *o == Ordering::Unordered || !Operation::Load(access).takes(*o)) {
            return wrong(format!("the failure of a {opcode} cannot have the ordering {failure}"));
        }
        if let Some(rmw) = rmw.filter(|rmw| !rmw.takes(ty) || pointer && *rmw != RmwOp::Xchg) {
            let ty = if pointer { "ptr".to_owned() } else { ty.to_string() };
            return wrong(format!("{opcode} {rmw} is not defined on {ty}"));
        }
        Ok(Self { operation, pointer, ordering, scope })
    }

    /// Checks that a call has the type that the marker's name requires.
    fn check_type(&self, name: &str, call: InstructionValue<'_>, context: &ContextRef<'_>) -> Result<(), Problem> {
        // SAFETY: the call is live, and the types belong to its context.
        unsafe {
            let raw = context.as_ctx_ref();
            let (void, ptr) = (LLVMVoidTypeInContext(raw), LLVMPointerTypeInContext(raw, 0));
            let bits = self.operation.access().map_or(0, |access| access.ty.bits());
            let value = if self.pointer { ptr } else { LLVMIntTypeInContext(raw, bits.max(1)) };
            let (result, mut parameters) = match self.operation {
                Operation::Fence => (void, vec![]),
                Operation::Load(_) => (value, vec![ptr]),
                Operation::Store(_) => (void, vec![ptr, value]),
                Operation::Rmw(..) => (value, vec![ptr, value]),
                Operation::CmpXchg { .. } => (value, vec![ptr, value, value]),
            };
            let right = LLVMFunctionType(result, parameters.as_mut_ptr(), parameters.len() as u32, 0);
            let found = LLVMGetCalledFunctionType(call.as_value_ref());
            if found == right {
                return Ok(());
            }
            Err((
                format!("the marker '{name}' is called as `{}`", ValueType::new(found).text()),
                Some(format!("its type is `{}`", ValueType::new(right).text())),
            ))
        }
    }

    /// Replaces a call by the atomic, at the same location of the source program, and returns the atomic.
    ///
    /// # Safety
    /// The call is live and has the marker's type; the builder belongs to the context.
    pub unsafe fn replace<'c>(
        &self,
        call: InstructionValue<'c>,
        builder: LLVMBuilderRef,
        context: &ContextRef<'c>,
    ) -> Instruction<'c> {
        let call = call.as_value_ref();
        let ordering = llvm_ordering(self.ordering);
        let scope = sync_scope_id(context, self.scope);
        unsafe {
            LLVMPositionBuilderBefore(builder, call);
            let argument = |index| LLVMGetOperand(call, index);
            let simple = |access: Access, instruction| {
                LLVMSetOrdering(instruction, ordering);
                LLVMSetAtomicSyncScopeID(instruction, scope);
                LLVMSetAlignment(instruction, access.ty.bits() / 8);
                (instruction, instruction)
            };
            let (atomic, result) = match self.operation {
                Operation::Fence => {
                    let fence = LLVMBuildFenceSyncScope(builder, ordering, scope, c"".as_ptr());
                    (fence, fence)
                }
                Operation::Load(access) => {
                    simple(access, LLVMBuildLoad2(builder, LLVMTypeOf(call), argument(0), c"".as_ptr()))
                }
                Operation::Store(access) => simple(access, LLVMBuildStore(builder, argument(1), argument(0))),
                Operation::Rmw(op, _) => {
                    let (op, pointer, value) = (bin_op(op).expect("it was read as one"), argument(0), argument(1));
                    let rmw = LLVMBuildAtomicRMWSyncScope(builder, op, pointer, value, ordering, scope);
                    (rmw, rmw)
                }
                Operation::CmpXchg { failure, .. } => {
                    let (pointer, expected, new) = (argument(0), argument(1), argument(2));
                    let failure = llvm_ordering(failure);
                    let pair =
                        LLVMBuildAtomicCmpXchgSyncScope(builder, pointer, expected, new, ordering, failure, scope);
                    (pair, LLVMBuildExtractValue(builder, pair, 0, c"".as_ptr()))
                }
            };
            let atomic = Instruction::atomic(InstructionValue::new(atomic)).expect("it was built as one");
            set_unnumbered(context, atomic);
            take_name(call, result);
            LLVMReplaceAllUsesWith(call, result);
            LLVMInstructionEraseFromParent(call);
            atomic
        }
    }
}
