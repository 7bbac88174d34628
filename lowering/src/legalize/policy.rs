//! The user's choices for all operations.

use strum::{Display, EnumIter, EnumString, IntoStaticStr};

use crate::abi::{Strategies, Strategy};

/// The choices of a user, for all operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Policy {
    /// The strategy for each row of the ABI.
    pub strategies: Strategies,
    /// The treatment of subnormals and vectors by floating-point additions.
    pub fp_atomics: FpAtomics,
    /// Whether no operand of a floating-point minimum or maximum, and no value in memory, is a NaN.
    pub no_nans: bool,
    /// Whether arithmetic on f32 may flush subnormal operands and results to zeros of their sign.
    pub flush_f32: bool,
    /// Whether volatile accesses to global memory are `.mmio`, for registers of a device.
    pub volatile_as_mmio: bool,
}

impl From<Strategies> for Policy {
    fn from(strategies: Strategies) -> Self {
        Self { strategies, ..Self::default() }
    }
}

impl From<Strategy> for Policy {
    fn from(strategy: Strategy) -> Self {
        Strategies::from(strategy).into()
    }
}

/// The conformance of floating-point additions with IEEE 754 and with LLVM's Language Reference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Display, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum FpAtomics {
    /// A single instruction of the GPU: the f32 addition in global memory flushes subnormals, and the addition of a
    /// vector is atomic only for each element.
    #[default]
    Native,
    /// Subnormals are kept, and a vector is a single atomic value. If no instruction has this behavior, a
    /// compare-and-swap loop does.
    Ieee,
}
