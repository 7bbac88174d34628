//! What is known of a launch besides the PTX.

use std::collections::BTreeMap;

/// What a kernel is launched with, as far as it is known. What a kernel itself says of its block goes before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// How many threads a CTA has, in each dimension.
    pub block: Option<[u32; 3]>,
    /// How many CTAs the grid has, in each dimension.
    pub grid: Option<[u32; 3]>,
    /// Integers that parameters of the kernel have, by the parameters' names in the PTX, or by what follows the kernel's name in them; of a struct, `name+16` is the part at an offset.
    pub parameters: BTreeMap<String, i64>,
}
