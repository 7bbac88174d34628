//! The differences between the versions of LLVM: in its instructions, its C API and its backend.

use inkwell::llvm_sys::{LLVMAtomicRMWBinOp as BinOp, LLVMOpcode, core::*, prelude::*};
use ptx_lowering::{PtxVersion, RmwOp, Sm};

/// The newest PTX version that this LLVM can write. Newer versions differ from it only in instructions that the
/// sequences use, so that it suffices to raise the version in the text.
pub const NEWEST: PtxVersion = if cfg!(feature = "llvm23") { PtxVersion(9, 3) } else { PtxVersion(9, 0) };

/// The major, minor and patch version of the linked LLVM.
pub fn exact() -> [u32; 3] {
    let mut version = [0; 3];
    let [major, minor, patch] = &mut version;
    // SAFETY: LLVM writes three numbers.
    unsafe { LLVMGetVersion(major, minor, patch) };
    version
}

/// Whether a terminator is a conditional branch.
///
/// # Safety
/// `end` is an instruction of a live module.
pub unsafe fn is_conditional_branch(end: LLVMValueRef) -> bool {
    // SAFETY: the instruction is live, and properties of branches are read only from branches.
    unsafe {
        #[cfg(feature = "llvm22")]
        return LLVMGetInstructionOpcode(end) == LLVMOpcode::LLVMBr && LLVMIsConditional(end) != 0;
        #[cfg(feature = "llvm23")]
        return LLVMGetInstructionOpcode(end) == LLVMOpcode::LLVMCondBr;
    }
}

/// Conversions between the operations of `atomicrmw` in LLVM and in the lowering.
macro_rules! rmw_ops {
    ($($(#[$version:meta])? $theirs:ident $our:ident),+) => {
        pub fn rmw_op(llvm: BinOp) -> RmwOp {
            match llvm {
                $($(#[$version])? BinOp::$theirs => RmwOp::$our,)*
            }
        }

        /// `None` for an operation that this LLVM does not have.
        pub fn bin_op(ours: RmwOp) -> Option<BinOp> {
            Some(match ours {
                $($(#[$version])? RmwOp::$our => BinOp::$theirs,)*
                #[cfg(feature = "llvm22")]
                RmwOp::FMaximumNum | RmwOp::FMinimumNum => return None,
            })
        }
    };
}

rmw_ops! {
    LLVMAtomicRMWBinOpXchg Xchg,
    LLVMAtomicRMWBinOpAdd Add,
    LLVMAtomicRMWBinOpSub Sub,
    LLVMAtomicRMWBinOpAnd And,
    LLVMAtomicRMWBinOpNand Nand,
    LLVMAtomicRMWBinOpOr Or,
    LLVMAtomicRMWBinOpXor Xor,
    LLVMAtomicRMWBinOpMax Max,
    LLVMAtomicRMWBinOpMin Min,
    LLVMAtomicRMWBinOpUMax UMax,
    LLVMAtomicRMWBinOpUMin UMin,
    LLVMAtomicRMWBinOpFAdd FAdd,
    LLVMAtomicRMWBinOpFSub FSub,
    LLVMAtomicRMWBinOpFMax FMax,
    LLVMAtomicRMWBinOpFMin FMin,
    LLVMAtomicRMWBinOpUIncWrap UIncWrap,
    LLVMAtomicRMWBinOpUDecWrap UDecWrap,
    LLVMAtomicRMWBinOpUSubCond USubCond,
    LLVMAtomicRMWBinOpUSubSat USubSat,
    LLVMAtomicRMWBinOpFMaximum FMaximum,
    LLVMAtomicRMWBinOpFMinimum FMinimum,
    #[cfg(feature = "llvm23")]
    LLVMAtomicRMWBinOpFMaximumNum FMaximumNum,
    #[cfg(feature = "llvm23")]
    LLVMAtomicRMWBinOpFMinimumNum FMinimumNum
}

/// The GPU name that LLVM compiles for. A GPU that LLVM does not know is replaced by an older GPU of its family.
pub fn stand_in(sm: Sm) -> &'static str {
    match sm.name() {
        "sm_107" => "sm_103",
        "sm_107a" => "sm_103a",
        "sm_107f" => "sm_103f",
        known => known,
    }
}

#[cfg(test)]
mod tests {
    use ptx_atomics_version::MAJOR;

    use super::*;

    #[test]
    fn this_llvm_has_the_operations_of_its_version() {
        let known: Vec<_> = RmwOp::of_llvm(MAJOR).collect();
        assert!(known.iter().all(|op| bin_op(*op).is_some_and(|llvm| rmw_op(llvm) == *op)));
        assert_eq!(RmwOp::of_llvm(u32::MAX).filter(|op| bin_op(*op).is_some()).count(), known.len());
    }
}
