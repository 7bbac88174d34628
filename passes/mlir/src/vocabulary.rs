//! The encodings of MLIR's LLVM dialect: the names of its atomics, its numbers for LLVM's orderings and operations, and
//! the conversion of its types to the types of the lowering.

use melior::ir::{Type, TypeLike, r#type::IntegerType};
use mlir_sys::*;
use ptx_atomics_common::operation::integer;
use ptx_lowering::{Ordering, RmwOp, Type as Model};
use strum::IntoEnumIterator;

use crate::ir;

/// The attribute of a read-modify-write that may skip its write if the value in memory would not change.
pub const MAY_SKIP_WRITE: &str = "ptx_atomics.may_skip_write";

/// Whether an op of this name belongs to the dialect and may be an atomic or a fence.
pub fn is_atomic(name: &str) -> bool {
    matches!(name, "llvm.fence" | "llvm.load" | "llvm.store" | "llvm.atomicrmw" | "llvm.cmpxchg")
}

/// The operations of LLVM's `atomicrmw`, by the numbers of MLIR (`LLVMEnums.td`). Operations that a version of MLIR
/// lacks are at the end.
const BIN_OPS: [RmwOp; 23] = {
    use RmwOp::*;
    [
        Xchg,
        Add,
        Sub,
        And,
        Nand,
        Or,
        Xor,
        Max,
        Min,
        UMax,
        UMin,
        FAdd,
        FSub,
        FMax,
        FMin,
        UIncWrap,
        UDecWrap,
        USubCond,
        USubSat,
        FMaximum,
        FMinimum,
        FMaximumNum,
        FMinimumNum,
    ]
};

/// LLVM's orderings of atomics, each with its number in MLIR.
const ORDERINGS: [(Ordering, i64); 6] = [
    (Ordering::Unordered, 1),
    (Ordering::Relaxed, 2),
    (Ordering::Acquire, 4),
    (Ordering::Release, 5),
    (Ordering::AcqRel, 6),
    (Ordering::SeqCst, 7),
];

/// The operation with a number in MLIR.
pub fn bin_op(number: i64) -> Option<RmwOp> {
    BIN_OPS.get(usize::try_from(number).ok()?).copied()
}

/// The number of an operation in MLIR.
pub fn bin_op_number(op: RmwOp) -> i64 {
    BIN_OPS.iter().position(|known| *known == op).unwrap_or_default() as i64
}

/// The ordering with a number in MLIR; `None` for the number that marks an access as not atomic.
pub fn ordering(number: i64) -> Option<Ordering> {
    ORDERINGS.iter().find(|(_, known)| *known == number).map(|(ordering, _)| *ordering)
}

/// The number of an ordering in MLIR.
pub fn ordering_number(ordering: Ordering) -> i64 {
    ORDERINGS.iter().find(|(known, _)| *known == ordering).map_or(0, |(_, number)| *number)
}

/// The type in the lowering on which the GPU computes, and the size in bytes. A type without a size gets one that is
/// greater than any atomic access.
pub fn size_and_model(ty: Type<'_>) -> (Option<Model>, u64) {
    const NONE: (Option<Model>, u64) = (None, u64::MAX);
    // SAFETY: the type is live, and each accessor is called on the kind of type for which it is defined.
    let (element, lanes) = unsafe {
        let raw = ty.to_raw();
        if mlirTypeIsAVector(raw) && mlirShapedTypeGetRank(raw) == 1 && !mlirVectorTypeIsScalable(raw) {
            (Type::from_raw(mlirShapedTypeGetElementType(raw)), mlirShapedTypeGetDimSize(raw, 0) as u64)
        } else {
            (ty, 1)
        }
    };
    let floats: [(unsafe extern "C" fn(MlirType) -> bool, Model); 4] = [
        (mlirTypeIsAF16, Model::F16),
        (mlirTypeIsABF16, Model::Bf16),
        (mlirTypeIsAF32, Model::F32),
        (mlirTypeIsAF64, Model::F64),
    ];
    // SAFETY: the type is live.
    let float = floats.into_iter().find_map(|(is, model)| unsafe { is(element.to_raw()) }.then_some(model));
    let bits = match IntegerType::try_from(element) {
        Ok(integer) => u64::from(integer.width()),
        Err(_) if ir::address_space(element).is_some() || element.is_index() => 64,
        Err(_) => match float {
            Some(model) => u64::from(model.bits()),
            None => return NONE,
        },
    };
    let size = (bits * lanes).div_ceil(8);
    let model = match float {
        Some(scalar) => Model::iter().find(|ty| ty.scalar() == scalar && u64::from(ty.bits()) == 8 * size),
        None if bits * lanes == 8 * size => integer(size),
        None => None,
    };
    (model, size)
}
