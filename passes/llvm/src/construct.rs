//! The names of instructions and of calls in the table of target requirements.

use inkwell::{
    llvm_sys::{LLVMOpcode, LLVMRealPredicate, LLVMTypeKind, core::*, prelude::*},
    values::{AsValueRef, InstructionValue},
};
use ptx_atomics_common::callee::OF_NVIDIA;

use crate::value::{callee, is_call, name, text, users};

/// The widths of integers in names.
const WIDTHS: [u32; 5] = [1, 8, 16, 32, 64];
/// The address spaces that PTX has.
const SPACES: [u32; 7] = [0, 1, 3, 4, 5, 7, 101];

/// The flag by which a function may be approximated.
const APPROXIMATE: u32 = 1 << 6;

/// The names of an instruction in the table. The full name of an intrinsic for NVIDIA GPUs is its only name.
///
/// # Panics
/// Never: the table of opcodes has a name for each opcode.
pub fn names(instruction: InstructionValue<'_>) -> Vec<String> {
    // SAFETY: the instruction is live, and each accessor is called only for the opcodes that have it.
    unsafe {
        let raw = instruction.as_value_ref();
        let opcode = LLVMGetInstructionOpcode(raw);
        let mut names = Vec::new();
        if is_call(instruction) {
            if let Some(callee) = callee(instruction)
                && LLVMGetIntrinsicID(callee.as_value_ref()) != 0
            {
                let own = name(&callee);
                if own.starts_with(OF_NVIDIA) {
                    return vec![own];
                }
                if own.starts_with("llvm.memmove.p") {
                    let spaces = [0, 1].map(|index| space(LLVMTypeOf(LLVMGetOperand(raw, index))));
                    let is_open = LLVMIsAConstantInt(LLVMGetOperand(raw, 2)).is_null();
                    names.extend((is_open && spaces[0] != spaces[1]).then(|| "memmove between spaces".to_owned()));
                } else if !is_folded_call(raw, &own) {
                    let mut length = 0;
                    let base = LLVMIntrinsicGetName(LLVMGetIntrinsicID(callee.as_value_ref()), &mut length);
                    let base = text(base, length).unwrap_or_default();
                    names.extend(typed(raw, base.trim_end_matches('.')));
                    if base.starts_with("llvm.frexp") && users(raw).all(|user| takes_second(user)) {
                        names.extend(typed(raw, "llvm.frexp.exponent"));
                    }
                }
            } else {
                names.extend(wide_assembly(raw));
            }
        } else if let Some(operation) = operation(raw, opcode) {
            names.extend(operation);
        }
        names.extend(operands(raw).filter_map(address).map(str::to_owned));
        names
    }
}

/// The names of an instruction other than a call; `None` for instructions that every target has for all types.
unsafe fn operation(raw: LLVMValueRef, opcode: LLVMOpcode) -> Option<Vec<String>> {
    // SAFETY: as in [`names`].
    unsafe {
        let name = match opcode {
            LLVMOpcode::LLVMFAdd => "fadd",
            LLVMOpcode::LLVMFSub => "fsub",
            LLVMOpcode::LLVMFMul => "fmul",
            LLVMOpcode::LLVMFDiv => "fdiv",
            LLVMOpcode::LLVMFRem => "frem",
            LLVMOpcode::LLVMFPToSI => "fptosi",
            LLVMOpcode::LLVMFPToUI => "fptoui",
            LLVMOpcode::LLVMSIToFP => "sitofp",
            LLVMOpcode::LLVMUIToFP => "uitofp",
            LLVMOpcode::LLVMFPTrunc => "fptrunc",
            LLVMOpcode::LLVMFPExt => "fpext",
            LLVMOpcode::LLVMVAArg => "vaarg",
            LLVMOpcode::LLVMFCmp => {
                let decided = [LLVMRealPredicate::LLVMRealPredicateFalse, LLVMRealPredicate::LLVMRealPredicateTrue];
                if decided.contains(&LLVMGetFCmpPredicate(raw)) {
                    return None;
                }
                "fcmp"
            }
            LLVMOpcode::LLVMIndirectBr => return Some(vec!["indirectbr".into()]),
            LLVMOpcode::LLVMAlloca => {
                let is_fixed = !LLVMIsAConstantInt(LLVMGetOperand(raw, 0)).is_null();
                return (!is_fixed).then(|| vec!["alloca of variable size".into()]);
            }
            LLVMOpcode::LLVMAddrSpaceCast => {
                let spaces = [space(LLVMTypeOf(LLVMGetOperand(raw, 0))), space(LLVMTypeOf(raw))];
                let is_lacking = spaces.contains(&0) && spaces.iter().any(|space| !SPACES.contains(space));
                return is_lacking.then(|| vec!["addrspacecast of no space".into()]);
            }
            LLVMOpcode::LLVMLoad => return access(LLVMTypeOf(LLVMGetOperand(raw, 0)), LLVMTypeOf(raw)),
            LLVMOpcode::LLVMStore => {
                return access(LLVMTypeOf(LLVMGetOperand(raw, 1)), LLVMTypeOf(LLVMGetOperand(raw, 0)));
            }
            _ => return is_scalable(LLVMTypeOf(raw)).then(|| vec!["scalable vector".into()]),
        };
        let is_folded = operands(raw).all(is_number);
        (!is_folded || name == "vaarg").then(|| typed(raw, name))
    }
}

/// The name of a load or store through a pointer.
unsafe fn access(pointer: LLVMTypeRef, value: LLVMTypeRef) -> Option<Vec<String>> {
    // SAFETY: the types are live.
    let (space, is_scalable) = unsafe { (space(pointer), is_scalable(value)) };
    let is_lacking = !SPACES.contains(&space);
    (is_lacking || is_scalable)
        .then(|| vec![if is_scalable { "scalable vector" } else { "access of no space" }.to_owned()])
}

/// The name of a call of inline assembly with an operand of 128 bits.
unsafe fn wide_assembly(raw: LLVMValueRef) -> Option<String> {
    // SAFETY: the instruction is a call.
    unsafe {
        let assembly = LLVMIsAInlineAsm(LLVMGetCalledValue(raw));
        if assembly.is_null() {
            return None;
        }
        let mut length = 0;
        let constraints = LLVMGetInlineAsmConstraintString(assembly, &mut length);
        let constraints = text(constraints, length).unwrap_or_default();
        let is_wide = |constraint: &str| !constraint.starts_with('~') && constraint.contains('q');
        constraints.split(',').any(is_wide).then(|| "inline assembly of 128 bits".to_owned())
    }
}

/// Whether an instruction takes the second part of a pair.
unsafe fn takes_second(instruction: LLVMValueRef) -> bool {
    // SAFETY: the instruction is live, and has indices if it takes a part.
    unsafe { !LLVMIsAExtractValueInst(instruction).is_null() && *LLVMGetIndices(instruction) == 1 }
}

/// Whether LLVM replaces a call by other instructions because of its constant arguments.
unsafe fn is_folded_call(raw: LLVMValueRef, name: &str) -> bool {
    // SAFETY: the instruction is a call, and `llvm.powi` and `llvm.pow` have two arguments.
    unsafe {
        let constant = |index: u32| is_number(LLVMGetOperand(raw, index));
        let count = LLVMGetNumArgOperands(raw);
        let is_root = || {
            let mut loses = 0;
            let exponent = LLVMIsAConstantFP(LLVMGetOperand(raw, 1));
            !exponent.is_null() && [0.25, 0.75].contains(&LLVMConstRealGetDouble(exponent, &mut loses))
        };
        count > 0 && (0..count).all(constant)
            || name.starts_with("llvm.powi.") && constant(1)
            || name.starts_with("llvm.pow.") && is_root()
    }
}

/// The names with the types of the first operand and of the result.
unsafe fn typed(raw: LLVMValueRef, name: &str) -> Vec<String> {
    // SAFETY: the instruction is live, and only floating-point instructions are asked for flags.
    unsafe {
        let result = LLVMTypeOf(raw);
        let (to, _) = element(result);
        let is_call = LLVMGetInstructionOpcode(raw) == LLVMOpcode::LLVMCall;
        let has_operand = if is_call { LLVMGetNumArgOperands(raw) > 0 } else { LLVMGetNumOperands(raw) > 0 };
        let (from, is_vector) = element(if has_operand { LLVMTypeOf(LLVMGetOperand(raw, 0)) } else { result });
        let is_approximate = LLVMCanValueUseFastMathFlags(raw) != 0 && LLVMGetFastMathFlags(raw) & APPROXIMATE != 0;
        let flag = if is_approximate { " afn" } else { "" };
        let vector = if is_vector { " vector" } else { "" };
        vec![format!("{name} {from}{flag}{vector}"), format!("{name} to {to}")]
    }
}

/// The name of the element type, and whether the type is a vector of several elements.
unsafe fn element(ty: LLVMTypeRef) -> (String, bool) {
    // SAFETY: the type is live, and each accessor is called only for the types that have it.
    unsafe {
        let name = match LLVMGetTypeKind(ty) {
            LLVMTypeKind::LLVMHalfTypeKind => "f16",
            LLVMTypeKind::LLVMBFloatTypeKind => "bf16",
            LLVMTypeKind::LLVMFloatTypeKind => "f32",
            LLVMTypeKind::LLVMDoubleTypeKind => "f64",
            LLVMTypeKind::LLVMFP128TypeKind => "wide f128",
            LLVMTypeKind::LLVMX86_FP80TypeKind => "wide f80",
            LLVMTypeKind::LLVMPPC_FP128TypeKind => "wide ppcf128",
            LLVMTypeKind::LLVMIntegerTypeKind => {
                let width = LLVMGetIntTypeWidth(ty);
                let odd = u64::from(width >> width.trailing_zeros());
                // LLVM computes the remainder by such a width without a call.
                let is_even = width.is_power_of_two() || width < 128 && u64::MAX.is_multiple_of(odd);
                let wide = if is_even { "wide i128" } else { "wide uneven" };
                let narrow = WIDTHS.iter().find(|known| width <= **known).map(|width| format!("i{width}"));
                return (narrow.unwrap_or_else(|| wide.to_owned()), false);
            }
            LLVMTypeKind::LLVMVectorTypeKind => {
                return (element(LLVMGetElementType(ty)).0, LLVMGetVectorSize(ty) > 1);
            }
            LLVMTypeKind::LLVMPointerTypeKind => "pointer",
            LLVMTypeKind::LLVMArrayTypeKind | LLVMTypeKind::LLVMStructTypeKind => "aggregate",
            _ => "other",
        };
        (name.to_owned(), false)
    }
}

unsafe fn is_scalable(ty: LLVMTypeRef) -> bool {
    // SAFETY: the type is live.
    unsafe { LLVMGetTypeKind(ty) == LLVMTypeKind::LLVMScalableVectorTypeKind }
}

/// The address space of a pointer, or of a vector of pointers.
unsafe fn space(ty: LLVMTypeRef) -> u32 {
    // SAFETY: the type is one of the two.
    unsafe {
        match LLVMGetTypeKind(ty) {
            LLVMTypeKind::LLVMPointerTypeKind => LLVMGetPointerAddressSpace(ty),
            _ => space(LLVMGetElementType(ty)),
        }
    }
}

/// The operands of an instruction.
unsafe fn operands(raw: LLVMValueRef) -> impl Iterator<Item = LLVMValueRef> {
    // SAFETY: the instruction is live, and the index is below the number of its operands.
    unsafe { (0..LLVMGetNumOperands(raw) as u32).map(move |index| LLVMGetOperand(raw, index)) }
}

/// Whether LLVM knows each bit of a value when it compiles: the value is a constant without an address.
fn is_number(value: LLVMValueRef) -> bool {
    // SAFETY: the value is live, and only constants are asked for operands.
    unsafe {
        LLVMIsConstant(value) != 0
            && LLVMIsAConstantExpr(value).is_null()
            && LLVMIsAGlobalValue(value).is_null()
            && LLVMIsABlockAddress(value).is_null()
            && operands(value).all(is_number)
    }
}

/// The kind of the first address in a constant that the backend cannot compute.
fn address(value: LLVMValueRef) -> Option<&'static str> {
    // SAFETY: the value is live, and only constant expressions are asked for operands.
    unsafe {
        if !LLVMIsABlockAddress(value).is_null() {
            return Some("blockaddress");
        }
        if !LLVMIsAGlobalVariable(value).is_null() {
            return (LLVMIsThreadLocal(value) != 0).then_some("thread_local");
        }
        if LLVMIsAConstantExpr(value).is_null() { None } else { operands(value).find_map(address) }
    }
}
