//! The assumptions of proofs.

/// An assumption of a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::Display, strum::EnumIter)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Assumption {
    /// Different pointers point to disjoint memory.
    #[strum(serialize = "pointers of different parameters and variables do not overlap")]
    Apart,
    /// Accesses stay within their variable or buffer and are aligned: a GPU traps on other accesses.
    #[strum(serialize = "accesses are aligned to their size, and stay within their variables and buffers")]
    Within,
    /// Loop counters do not wrap around.
    #[strum(serialize = "counters of loops do not wrap around, and loops have fewer than 2^31 iterations")]
    Counters,
    /// Textures are not written.
    #[strum(serialize = "nothing writes the memory of a texture while the kernel runs")]
    Textures,
    /// Products of an index and a size do not wrap around.
    #[strum(
        serialize = "products of indices and sizes do not wrap around, and neither do the next multiples of the sizes"
    )]
    Products,
    /// Polled memory is zero when the kernel begins.
    #[strum(
        serialize = "memory that acquires read is zero when the kernel begins, and only the kernel writes it while it runs"
    )]
    Zeros,
    /// Counters that atomics increment do not wrap around.
    #[strum(serialize = "counters to which atomics add do not wrap around")]
    Tickets,
    /// The launch is cooperative, and its barrier counter is as the launch sets it.
    #[strum(
        serialize = "the launch is cooperative: all CTAs run at the same time, and the launch alone initializes the counters of its barriers"
    )]
    Cooperative,
    /// All lanes of the mask take part in a warp-wide instruction.
    #[strum(serialize = "all lanes of the mask reach each barrier, vote and shuffle of a warp")]
    Lanes,
    /// Warps continue from one row of a CTA to the next.
    #[strum(serialize = "threads of a CTA are numbered row by row, and a warp has 32 consecutive numbers")]
    Rows,
    /// The CTAs of a cluster still run while other CTAs access their shared memory.
    #[strum(
        serialize = "CTAs of a cluster have begun, and have not ended, while other CTAs access their shared memory"
    )]
    There,
    /// The grid is small enough for its threads to be numbered.
    #[strum(serialize = "the grid has fewer than 2^31 threads in the direction x")]
    Grid,
    /// A launch has one thread and one CTA in each direction in which the kernel reads no index.
    #[strum(
        serialize = "CTAs in the directions y and z, and the grid in each direction, have a size of 1 where the kernel reads no index"
    )]
    Directions,
}
