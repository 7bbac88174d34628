//! The differences between the versions of MLIR.

#[cfg(feature = "llvm22")]
use crate::variant::Conversion;
use crate::variant::{Condition, Variant, since, variant};

/// The ops whose inline assembly is not convergent: LLVM copies it into both sides of a branch, although all threads of
/// a warp must execute it together. Each has an intrinsic that is convergent and becomes the same instruction.
pub const DIVERGENT: &[(&str, &str)] = if cfg!(feature = "llvm23") {
    &[]
} else {
    &[("nvvm.barrier.arrive", "llvm.nvvm.barrier.cta.arrive.aligned.count")]
};

const fn reduction(value: &'static str) -> Condition {
    Condition::Attribute("reductionOp", value)
}

const POPC: Condition = reduction("#nvvm.reduction<popc>");
const AND: Condition = reduction("#nvvm.reduction<and>");
const OR: Condition = reduction("#nvvm.reduction<or>");

/// The barriers of a CTA, as rows of the table in `nvvm.rs`.
#[cfg(feature = "llvm22")]
#[rustfmt::skip]
pub const BARRIERS: &[Variant] = {
    use Condition::Always;
    &[
        variant("barrier0",          Always,    since(20, 3, 2), "bar.sync"),
        variant("barrier",           POPC,      since(20, 3, 2), "bar.red.popc"),
        variant("barrier",           AND,       since(20, 3, 2), "bar.red.and"),
        variant("barrier",           OR,        since(20, 3, 2), "bar.red.or"),
        variant("barrier",           Always,    since(20, 3, 2), "bar.sync"),
        variant("barrier.arrive",    Always,    since(20, 3, 2), "bar.arrive").by(Conversion::Asm),
    ]
};

/// The barriers of a CTA, as rows of the table in `nvvm.rs`. MLIR 23 also has them without `.aligned`, for threads that
/// do not arrive together.
#[cfg(feature = "llvm23")]
#[rustfmt::skip]
pub const BARRIERS: &[Variant] = {
    use Condition::Always;
    const UNALIGNED: Condition = Condition::Attribute("aligned", "false");
    &[
        variant("barrier",           UNALIGNED, since(30, 6, 0), "barrier.sync"),
        variant("barrier",           Always,    since(20, 3, 2), "bar.sync"),
        variant("barrier.reduction", UNALIGNED, since(30, 6, 0), "barrier.red"),
        variant("barrier.reduction", POPC,      since(20, 3, 2), "bar.red.popc"),
        variant("barrier.reduction", AND,       since(20, 3, 2), "bar.red.and"),
        variant("barrier.reduction", OR,        since(20, 3, 2), "bar.red.or"),
        variant("barrier.arrive",    UNALIGNED, since(30, 6, 0), "barrier.arrive"),
        variant("barrier.arrive",    Always,    since(20, 3, 2), "bar.arrive"),
    ]
};
