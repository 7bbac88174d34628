//! CUDA's own atomics. `atomicAdd()` and similar functions are relaxed and have device scope; `_block()` and
//! `_system()` variants have the scope in their name.
//!
//! clang's header defines them by functions such as `__iAtomicAdd`. In these functions, clang emits seq_cst with system
//! scope (LLVM 23: relaxed with system scope). In the functions with a scope, it emits an intrinsic that has no
//! ordering, whose address LLVM never resolves, and that is signed: `atomicMax_block` of an unsigned number becomes
//! `max.s32`. The functions are always inlined, so that an atomic is identified by the function that contains it, or by
//! the function that its debug information names.

use std::cell::LazyCell;

use inkwell::{
    attributes::{Attribute, AttributeLoc},
    context::{AsContextRef, ContextRef},
    llvm_sys::{
        LLVMOpcode,
        core::*,
        debuginfo::{LLVMDILocationGetScope, LLVMGetMetadataKind, LLVMInstructionGetDebugLoc, LLVMMetadataKind},
        prelude::*,
    },
    module::{Linkage, Module},
    values::{AsValueRef, FunctionValue, InstructionValue},
};
use ptx_atomics_common::{Errors, operation::Opcode};
use ptx_lowering::{Access, Ordering, RmwOp, Type, ptx::Space};

use crate::{
    instruction::{Instruction, llvm_ordering},
    scoped::Marker,
    value::{callee, instructions, name, sync_scope_id, text},
};

/// The kind of metadata that records the name of an atomic's CUDA function, for remarks.
pub const KIND: &str = "ptx-atomics.cuda";

/// The header that defines the functions.
const HEADER: &str = "__clang_cuda_device_functions.h";

/// The prefix of the names of the intrinsics.
const INTRINSIC: &str = "llvm.nvvm.atomic.";

/// The parts of the names of the functions: `__`, a type, `Atomic`, an operation, a scope.
const TYPES: [(&str, Class); 8] = {
    use Class::*;
    [
        ("i", Signed),
        ("u", Unsigned),
        ("ll", Signed),
        ("ill", Signed),
        ("ull", Unsigned),
        ("us", Unsigned),
        ("f", Float),
        ("d", Float),
    ]
};
/// The operations, each with its opcode for signed integers, unsigned integers and floats.
const OPERATIONS: [(&str, [Option<Opcode>; 3]); 10] = {
    use RmwOp::*;
    const fn rmw(signed: RmwOp, unsigned: RmwOp, float: Option<Opcode>) -> [Option<Opcode>; 3] {
        [Some(Opcode::Rmw(signed)), Some(Opcode::Rmw(unsigned)), float]
    }
    [
        ("Add", rmw(Add, Add, Some(Opcode::Rmw(FAdd)))),
        ("Exch", rmw(Xchg, Xchg, Some(Opcode::Rmw(Xchg)))),
        ("Min", rmw(Min, UMin, None)),
        ("Max", rmw(Max, UMax, None)),
        ("Inc", rmw(UIncWrap, UIncWrap, None)),
        ("Dec", rmw(UDecWrap, UDecWrap, None)),
        ("CAS", [Some(Opcode::CmpXchg), Some(Opcode::CmpXchg), None]),
        ("And", rmw(And, And, None)),
        ("Or", rmw(Or, Or, None)),
        ("Xor", rmw(Xor, Xor, None)),
    ]
};
/// The suffixes for scopes, each with LLVM's name of the scope.
const SCOPES: [(&str, &str); 3] = [("", "device"), ("_block", "block"), ("_system", "")];

#[derive(Clone, Copy)]
enum Class {
    Signed,
    Unsigned,
    Float,
}

/// A function of the header: CUDA's operation, LLVM's operation, and LLVM's name of its scope.
#[derive(Clone, Copy)]
struct Known {
    operation: &'static str,
    opcode: Opcode,
    scope: &'static str,
}

impl Known {
    fn from_name(name: &str) -> Option<Self> {
        let (ty, rest) = name.strip_prefix("__")?.split_once("Atomic")?;
        let (_, class) = TYPES.iter().find(|(known, _)| *known == ty)?;
        let (operation, opcodes) = OPERATIONS.iter().find(|(operation, _)| rest.starts_with(operation))?;
        let (_, scope) = SCOPES.iter().find(|(suffix, _)| *suffix == &rest[operation.len()..])?;
        Some(Self { operation, opcode: opcodes[*class as usize]?, scope })
    }
}

/// An atomic in a function of the header.
struct HeaderAtomic<'c> {
    instruction: InstructionValue<'c>,
    known: Known,
    /// The name of the function.
    name: String,
}

/// Makes every atomic of clang's functions for CUDA relaxed, with the scope that CUDA gives it. It must run before any
/// pass of LLVM. `wanted` is called only if the module has such atomics.
///
/// # Errors
/// The errors of `wanted`.
pub fn relax_cuda(module: &Module<'_>, wanted: impl FnOnce() -> Result<bool, Errors>) -> Result<(), Errors> {
    let found = find(module);
    if found.is_empty() || !wanted()? {
        return Ok(());
    }
    let context = module.get_context();
    unsafe {
        let builder = LLVMCreateBuilderInContext(context.as_ctx_ref());
        for HeaderAtomic { instruction, known: Known { opcode, scope, .. }, name } in found {
            let atomic = match Instruction::atomic(instruction) {
                Some(atomic) => {
                    relax(atomic, sync_scope_id(&context, scope));
                    atomic
                }
                None => {
                    let access = Access::new(Space::Generic, Type::I32);
                    let operation = opcode.operation(Some(access), Ordering::Relaxed).expect("it has an access");
                    let marker = Marker { operation, pointer: false, ordering: Ordering::Relaxed, scope };
                    marker.replace(instruction, builder, &context)
                }
            };
            remember(atomic, &name, &context);
        }
        LLVMDisposeBuilder(builder);
    }
    Ok(())
}

/// Whether [`relax_cuda`] would change the module.
pub fn is_pending(module: &Module<'_>) -> bool {
    !find(module).is_empty()
}

/// The atomics in functions of the header that do not yet have CUDA's ordering and scope.
fn find<'c>(module: &Module<'c>) -> Vec<HeaderAtomic<'c>> {
    let default = sync_scope_id(&module.get_context(), "");
    let mut found = Vec::new();
    for function in module.get_functions() {
        let own = LazyCell::new(|| own_name(function));
        for instruction in instructions(function) {
            let atomic = Instruction::atomic(instruction);
            if atomic.is_none() && !called(instruction).is_some_and(|name| name.starts_with(INTRINSIC)) {
                continue;
            }
            // Debug information takes precedence over the containing function, because the atomic may have been
            // inlined.
            let name = unsafe { name_in_debug_information(instruction.as_value_ref()) }.unwrap_or_else(|| own.clone());
            let Some((name, known)) = name.and_then(|name| Known::from_name(&name).map(|known| (name, known))) else {
                continue;
            };
            let is_wrong = match atomic {
                None => is_intrinsic(instruction, known),
                Some(atomic) if atomic.opcode() == Opcode::Fence => false,
                Some(atomic) => {
                    let relaxed_of_system = atomic.ordering() == Ordering::Relaxed && !known.scope.is_empty();
                    let written = atomic.ordering() == Ordering::SeqCst || relaxed_of_system;
                    written && atomic.sync_scope_id() == default
                }
            };
            if is_wrong {
                found.push(HeaderAtomic { instruction, known, name });
            }
        }
    }
    found
}

/// CUDA's name of the function of an atomic, as [`relax_cuda`] recorded it. `kind` is the number of [`KIND`].
pub fn function(atomic: Instruction<'_>, kind: u32) -> Option<String> {
    let name = unsafe { string(operand(non_null(LLVMGetMetadata(atomic.raw(), kind))?, 0)?) }?;
    Some(format!("atomic{}", name.split_once("Atomic")?.1))
}

// SAFETY of all calls above and below: instructions and functions belong to a live module, and new values belong to its
// context. Each accessor is called on the kind of instruction or metadata for which it is defined. The intrinsics have
// the parameters of the function that contains them.

unsafe fn relax(atomic: Instruction<'_>, scope: u32) {
    let relaxed = llvm_ordering(Ordering::Relaxed);
    unsafe {
        if atomic.opcode() == Opcode::CmpXchg {
            LLVMSetCmpXchgSuccessOrdering(atomic.raw(), relaxed);
            LLVMSetCmpXchgFailureOrdering(atomic.raw(), relaxed);
        } else {
            LLVMSetOrdering(atomic.raw(), relaxed);
        }
        LLVMSetAtomicSyncScopeID(atomic.raw(), scope);
    }
}

/// Records the name of its function at an atomic.
unsafe fn remember(atomic: Instruction<'_>, name: &str, context: &ContextRef<'_>) {
    let (kind, raw) = (context.get_kind_id(KIND), context.as_ctx_ref());
    unsafe {
        let mut name = LLVMMDStringInContext2(raw, name.as_ptr().cast(), name.len());
        let node = LLVMMDNodeInContext2(raw, &mut name, 1);
        LLVMSetMetadata(atomic.raw(), kind, LLVMMetadataAsValue(raw, node));
    }
}

/// The name, from debug information, of the function in which an instruction was written, if the header defines it. The
/// outer `None` means that debug information is missing.
unsafe fn name_in_debug_information(instruction: LLVMValueRef) -> Option<Option<String>> {
    unsafe {
        let location = non_null(LLVMInstructionGetDebugLoc(instruction))?;
        let scope = LLVMDILocationGetScope(location);
        if !matches!(LLVMGetMetadataKind(scope), LLVMMetadataKind::LLVMDISubprogramMetadataKind) {
            return Some(None);
        }
        let subprogram = LLVMMetadataAsValue(LLVMGetTypeContext(LLVMTypeOf(instruction)), scope);
        // The operands of a `DISubprogram` are file, scope, name; of a `DIFile` name, directory.
        let file = operand(subprogram, 0).and_then(|file| string(operand(file, 0)?));
        let in_header = file.is_some_and(|file| file.rsplit('/').next() == Some(HEADER));
        Some(operand(subprogram, 2).filter(|_| in_header).and_then(|name| string(name)))
    }
}

unsafe fn operand(node: LLVMValueRef, index: usize) -> Option<LLVMValueRef> {
    unsafe {
        let mut operands = vec![std::ptr::null_mut(); LLVMGetMDNodeNumOperands(node) as usize];
        LLVMGetMDNodeOperands(node, operands.as_mut_ptr());
        operands.get(index).copied().and_then(non_null)
    }
}

unsafe fn string(metadata: LLVMValueRef) -> Option<String> {
    let mut length = 0;
    unsafe {
        let start = LLVMGetMDString(metadata, &mut length);
        text(start, length as usize)
    }
}

fn non_null<T>(pointer: *mut T) -> Option<*mut T> {
    (!pointer.is_null()).then_some(pointer)
}

/// The C++ name of a function if it belongs to the header, as far as this is visible without debug information: the
/// function is internal, always inlined, and contains only one atomic, of the operation in its name.
fn own_name(function: FunctionValue<'_>) -> Option<String> {
    let mangled = name(&function);
    let name = unmangled(&mangled);
    let known = Known::from_name(name)?;
    let always = Attribute::get_named_enum_kind_id("alwaysinline");
    let right = function.get_linkage() == Linkage::Internal
        && function.get_enum_attribute(AttributeLoc::Function, always).is_some()
        && function.count_basic_blocks() == 1
        && instructions(function).all(|instruction| is_plain(instruction) || is_of(instruction, known))
        && instructions(function).filter(|instruction| is_of(*instruction, known)).count() == 1;
    right.then(|| name.to_owned())
}

/// The source name of a function with internal linkage, such as `_ZL12__iAtomicAddPii` or `__iAtomicAdd`, without the
/// suffix that LLVM adds to make names unique.
fn unmangled(name: &str) -> &str {
    let Some(rest) = name.strip_prefix("_ZL") else { return name.split('.').next().unwrap_or(name) };
    let start = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let length = rest[..rest.len() - start.len()].parse().unwrap_or(0);
    start.get(..length).unwrap_or("")
}

fn is_of(instruction: InstructionValue<'_>, known: Known) -> bool {
    match Instruction::atomic(instruction) {
        Some(atomic) => atomic.opcode() == known.opcode,
        None => is_intrinsic(instruction, known),
    }
}

/// The name of the callee of an instruction.
fn called(instruction: InstructionValue<'_>) -> Option<String> {
    callee(instruction).as_ref().map(name)
}

/// Whether an instruction calls the intrinsic of a function: `llvm.nvvm.atomic.add.gen.i.cta` and types.
fn is_intrinsic(instruction: InstructionValue<'_>, known: Known) -> bool {
    let Some(name) = called(instruction) else { return false };
    let words: Vec<_> = name.strip_prefix(INTRINSIC).into_iter().flat_map(|rest| rest.split('.')).collect();
    let class = if known.opcode == Opcode::Rmw(RmwOp::FAdd) { "f" } else { "i" };
    let scope = if known.scope.is_empty() { "sys" } else { "cta" };
    let operation = known.operation.to_ascii_lowercase();
    words.starts_with(&[&operation, "gen", class, scope])
}

/// Whether an instruction only passes on parameters and results.
fn is_plain(instruction: InstructionValue<'_>) -> bool {
    use LLVMOpcode::*;
    let raw = instruction.as_value_ref();
    let own = |pointer| unsafe { !LLVMIsAAllocaInst(LLVMGetOperand(raw, pointer)).is_null() };
    match unsafe { LLVMGetInstructionOpcode(raw) } {
        LLVMAlloca | LLVMBitCast | LLVMAddrSpaceCast | LLVMExtractValue | LLVMRet => true,
        LLVMLoad => own(0),
        LLVMStore => own(1),
        // `__nv_float_as_int` and similar functions.
        LLVMCall => called(instruction).is_some_and(|name| name.starts_with("__nv_")),
        _ => false,
    }
}
