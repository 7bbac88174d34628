//! The choices of a user.

use strum::{Display, EnumIter, EnumString, IntoStaticStr};

use crate::abi::{Strategies, Strategy};

/// The choices of a user, for all operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Policy {
    /// Which sequence of each row of the ABI is used.
    pub strategies: Strategies,
    /// How floating-point additions treat subnormals and vectors.
    pub fp_atomics: FpAtomics,
    /// No operand of a floating-point minimum or maximum is a NaN, nor is what it finds in memory.
    pub no_nans: bool,
    /// The program lets arithmetic on f32 flush subnormals, operands and results, to zeros of their sign.
    pub flush_f32: bool,
    /// Volatile accesses to global memory are `.mmio`, for registers of a device.
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

/// How close floating-point additions are to IEEE 754 and to LLVM's Language Reference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Display, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum FpAtomics {
    /// One instruction of the GPU: the f32 addition in global memory flushes subnormals, and the addition of a
    /// vector is atomic for each element only.
    #[default]
    Native,
    /// Subnormals are kept, and a vector is one atomic value: a compare-and-swap loop does that where no instruction
    /// does.
    Ieee,
}
