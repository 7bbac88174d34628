//! What memory a pointer points to, as far as the module shows.

use std::collections::HashSet;

use inkwell::llvm_sys::{LLVMOpcode, core::*, prelude::*};
use ptx_atomics_lowering::ptx::Space;
use ptx_atomics_pass::address_space;

/// The numbers of LLVM's address spaces for local and for constant memory.
const LOCAL: u32 = 5;
const CONST: u32 = 4;

/// The greatest number of values that are looked at behind a pointer. In code that is never reached a pointer may be
/// computed from itself, and chains may be long.
const FARTHEST: usize = 64;

/// The memory of a pointer.
pub struct Memory {
    pub space: Space,
    /// A generic address that is local on some ways through the function and not on others.
    pub partly_local: bool,
    /// A generic address whose object is not known.
    pub unresolved: bool,
}

impl Memory {
    /// # Errors
    /// With the number of the address space, if atomics cannot access it.
    pub fn of(pointer: LLVMValueRef) -> Result<Self, u32> {
        let number = number_of(pointer);
        let space = address_space::space(number).ok_or(number)?;
        let known = Self { space, partly_local: false, unresolved: false };
        if space != Space::Generic {
            return Ok(known);
        }
        let Some(objects) = objects(pointer) else { return Ok(Self { unresolved: true, ..known }) };
        let kinds: HashSet<_> = objects.into_iter().map(object).collect();
        Ok(match kinds.len() {
            1 if kinds.contains(&Object::Local) => Self { space: Space::Local, ..known },
            1 if kinds.contains(&Object::Const) => Self { space: Space::Const, ..known },
            _ => Self {
                partly_local: kinds.contains(&Object::Local),
                unresolved: kinds.contains(&Object::Unknown),
                ..known
            },
        })
    }
}

// SAFETY of all calls below: the values are live, and each accessor is called on the kind of value that LLVM's C API
// defines it for.

pub fn number_of(pointer: LLVMValueRef) -> u32 {
    unsafe { LLVMGetPointerAddressSpace(LLVMTypeOf(pointer)) }
}

#[derive(PartialEq, Eq, Hash)]
enum Object {
    Local,
    Const,
    /// In memory that other threads see.
    Other,
    Unknown,
}

fn object(value: LLVMValueRef) -> Object {
    let (alloca, global) = unsafe { (LLVMIsAAllocaInst(value), LLVMIsAGlobalValue(value)) };
    match number_of(value) {
        _ if !alloca.is_null() => Object::Local,
        LOCAL => Object::Local,
        CONST => Object::Const,
        0 if global.is_null() => Object::Unknown,
        _ => Object::Other,
    }
}

/// The objects that a pointer is computed from, through casts, offsets, choices and joins. `None` if there are too many.
fn objects(pointer: LLVMValueRef) -> Option<Vec<LLVMValueRef>> {
    let (mut seen, mut open, mut found) = (HashSet::new(), vec![pointer], Vec::new());
    while let Some(value) = open.pop() {
        if !seen.insert(value) {
            continue;
        }
        if seen.len() > FARTHEST {
            return None;
        }
        let sources = sources(value);
        if sources.is_empty() {
            found.push(value);
        }
        open.extend(sources);
    }
    Some(found)
}

/// The pointers that a pointer is computed from; none if it stands for itself.
fn sources(value: LLVMValueRef) -> Vec<LLVMValueRef> {
    use LLVMOpcode::{LLVMAddrSpaceCast, LLVMBitCast, LLVMFreeze, LLVMGetElementPtr, LLVMPHI, LLVMSelect};
    unsafe {
        let opcode = if !LLVMIsAInstruction(value).is_null() {
            LLVMGetInstructionOpcode(value)
        } else if !LLVMIsAConstantExpr(value).is_null() {
            LLVMGetConstOpcode(value)
        } else {
            return Vec::new();
        };
        match opcode {
            LLVMAddrSpaceCast | LLVMBitCast | LLVMGetElementPtr | LLVMFreeze => vec![LLVMGetOperand(value, 0)],
            LLVMSelect => vec![LLVMGetOperand(value, 1), LLVMGetOperand(value, 2)],
            LLVMPHI => (0..LLVMCountIncoming(value)).map(|index| LLVMGetIncomingValue(value, index)).collect(),
            _ => Vec::new(),
        }
    }
}
