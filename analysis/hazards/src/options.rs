//! What is known of a launch besides the PTX.

use std::collections::BTreeMap;

use ptx_isa::LaunchSize;

/// What a kernel is launched with, as far as it is known. What a kernel itself says of its block goes before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The sizes.
    pub size: LaunchSize,
    /// Integers that parameters of the kernel have, by the parameters' names in the PTX, or by what follows the kernel's name in them; of a struct, `name+16` is the part at an offset.
    pub parameters: BTreeMap<String, i64>,
}
