//! The instructions of a function other than its atomics, for a reader of its PTX: writes that may belong to the
//! function itself, and memory whose kind the function does not determine.

use std::collections::HashSet;

use inkwell::{
    attributes::{Attribute, AttributeLoc},
    llvm_sys::{LLVMCallConv, LLVMOpcode, core::*, prelude::LLVMValueRef},
    values::{AsValueRef, FunctionValue, InstructionValue, PointerValue},
};
use ptx_lowering::AtomicOp;

use crate::{
    call::{INACCESSIBLE, effects},
    instruction::Instruction,
    memory::pointers,
    value::{Value, callee, inline_assembly, instructions, is_call, name},
};

/// The instructions of a function other than its atomics, including the functions that it calls, which may be inlined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OtherInstructions {
    /// The texts of inline assembly, which may contain further atomics.
    pub assembly: Vec<String>,
    /// Whether there are plain stores to memory outside the function's stack.
    pub writes: bool,
    /// Whether there are plain volatile accesses.
    pub volatile: bool,
    /// Whether there are intrinsics that LLVM's backend turns into atomics.
    pub atomics: bool,
    /// Whether there are calls of functions, or of intrinsics of LLVM's backend, that may access memory.
    pub calls: bool,
    /// The atomics of the functions that the function calls.
    pub called: Vec<AtomicOp>,
}

/// The values from which a pointer may be computed; `None` if there are too many.
type Roots = Option<HashSet<LLVMValueRef>>;

/// The facts about one function, without the functions that it calls.
pub struct Summary<'c> {
    pub own: OtherInstructions,
    /// The defined functions that the function calls.
    pub callees: Vec<FunctionValue<'c>>,
    /// The targets of its plain stores.
    stores: Vec<Roots>,
    /// Whether the function tests the state space of a pointer.
    asks: bool,
    is_kernel: bool,
}

/// The maximal number of values that the search for the origin of a pointer visits.
const FARTHEST: usize = 64;

// SAFETY of all calls below: the values are live, and each accessor is called on the kind of value that LLVM's C API
// defines it for.

/// Whether only atomics and fences access memory in a function. A call counts as an access, unless the attributes of
/// the call or of its callee exclude it.
pub fn has_atomics_alone(function: FunctionValue<'_>) -> bool {
    let plain = |instruction: &InstructionValue<'_>| Instruction::atomic(*instruction).is_none();
    let touches =
        |instruction: InstructionValue<'_>| match unsafe { LLVMGetInstructionOpcode(instruction.as_value_ref()) } {
            LLVMOpcode::LLVMLoad | LLVMOpcode::LLVMStore | LLVMOpcode::LLVMVAArg => true,
            _ if is_call(instruction) => {
                effects(instruction, callee(instruction)).is_none_or(|effects| effects & !INACCESSIBLE != 0)
            }
            _ => false,
        };
    !instructions(function).filter(plain).any(touches)
}

impl<'c> Summary<'c> {
    pub fn new(function: FunctionValue<'c>) -> Self {
        let is_kernel = function.get_call_conventions() == LLVMCallConv::LLVMPTXKernelCallConv as u32;
        let (own, callees, stores) = (OtherInstructions::default(), Vec::new(), Vec::new());
        let mut summary = Self { own, callees, stores, asks: false, is_kernel };
        let plain = instructions(function).filter(|instruction| Instruction::atomic(*instruction).is_none());
        plain.for_each(|instruction| summary.add(instruction));
        summary
    }

    fn add(&mut self, instruction: InstructionValue<'c>) {
        let raw = instruction.as_value_ref();
        match unsafe { LLVMGetInstructionOpcode(raw) } {
            LLVMOpcode::LLVMLoad => self.own.volatile |= unsafe { LLVMGetVolatile(raw) != 0 },
            LLVMOpcode::LLVMStore => {
                self.own.volatile |= unsafe { LLVMGetVolatile(raw) != 0 };
                self.stores_to(unsafe { LLVMGetOperand(raw, 1) });
            }
            _ if is_call(instruction) => {
                if let Some(text) = inline_assembly(instruction) {
                    self.own.assembly.push(text);
                } else if let Some(callee) = callee(instruction) {
                    self.calls(instruction, callee);
                } else {
                    self.own.calls = true;
                }
            }
            _ => {}
        }
    }

    fn calls(&mut self, call: InstructionValue<'c>, callee: FunctionValue<'c>) {
        let name = name(&callee);
        let is_general = name.starts_with("llvm.") && !name.starts_with("llvm.nvvm.");
        self.own.calls |= !is_general && effects(call, Some(callee)) != Some(0);
        if callee.count_basic_blocks() > 0 {
            self.callees.push(callee);
        } else if ["llvm.memcpy.", "llvm.memmove.", "llvm.memset."].iter().any(|start| name.starts_with(start)) {
            self.stores_to(unsafe { LLVMGetOperand(call.as_value_ref(), 0) });
        } else if name.starts_with("llvm.masked.") {
            self.own.writes = true;
            self.stores.push(None);
        } else {
            self.asks |= name.starts_with("llvm.nvvm.isspacep.");
            self.own.atomics |= name.starts_with("llvm.nvvm.atomic.");
        }
    }

    fn stores_to(&mut self, pointer: LLVMValueRef) {
        let roots = roots(pointer);
        let is_own = |root: &LLVMValueRef| !unsafe { LLVMIsAAllocaInst(*root) }.is_null();
        if !roots.as_ref().is_some_and(|roots| roots.iter().all(is_own)) {
            self.own.writes = true;
            self.stores.push(roots);
        }
    }

    /// Whether a plain store of the function may write the object of a pointer.
    pub fn may_write(&self, pointer: PointerValue<'_>) -> bool {
        let of_pointer = roots(pointer.as_value_ref());
        let meets = |roots: &Roots| match (roots, &of_pointer) {
            (Some(roots), Some(own)) => !roots.is_disjoint(own),
            _ => true,
        };
        self.stores.iter().any(meets)
    }

    /// Whether callers may pass a pointer to any memory: the function does not determine the state space.
    pub fn is_of_any_memory(&self, pointer: PointerValue<'_>) -> bool {
        let byval = Attribute::get_named_enum_kind_id("byval");
        let is_given = |root: &LLVMValueRef| unsafe {
            let argument = LLVMIsAArgument(*root);
            if argument.is_null() {
                return false;
            }
            let function = LLVMGetParamParent(argument);
            let index = (0..LLVMCountParams(function)).find(|index| LLVMGetParam(function, *index) == argument);
            let by_value = index.is_some_and(|index| {
                FunctionValue::new(function)
                    .is_some_and(|function| function.get_enum_attribute(AttributeLoc::Param(index), byval).is_some())
            });
            LLVMGetPointerAddressSpace(LLVMTypeOf(argument)) == 0 && !by_value
        };
        !self.is_kernel && !self.asks && roots(pointer.as_value_ref()).is_some_and(|roots| roots.iter().any(is_given))
    }
}

fn roots(pointer: LLVMValueRef) -> Roots {
    let (mut seen, mut open, mut roots) = (HashSet::new(), vec![pointer], HashSet::new());
    while let Some(value) = open.pop() {
        if !seen.insert(value) {
            continue;
        }
        if seen.len() > FARTHEST {
            return None;
        }
        let from = pointers(unsafe { Value::new(value) });
        if from.is_empty() {
            roots.insert(value);
        }
        open.extend(from.into_iter().map(Value::raw));
    }
    Some(roots)
}
