//! What proofs take for granted.

/// What a proof takes for granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::Display, strum::EnumIter)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Assumption {
    /// Memory of different pointers is apart.
    #[strum(serialize = "pointers of different parameters and variables do not overlap")]
    Apart,
    /// Accesses stay in their variable or buffer, and are aligned: a GPU stops at an access that is not.
    #[strum(serialize = "accesses are aligned to their size, and stay within their variables and buffers")]
    Within,
    /// Counters of loops do not wrap around.
    #[strum(serialize = "counters of loops do not wrap around, and loops have fewer than 2^31 rounds")]
    Counters,
    /// Textures are not written.
    #[strum(serialize = "nothing writes the memory of a texture while the kernel runs")]
    Textures,
    /// Products of an index and a size do not wrap around.
    #[strum(
        serialize = "products of indices and sizes do not wrap around, and neither do the next multiples of the sizes"
    )]
    Products,
    /// What is polled is zero at the beginning.
    #[strum(
        serialize = "what acquires read is zero when the kernel begins, and nothing but the kernel writes it while it runs"
    )]
    Zeros,
    /// Counters of atomics do not wrap around.
    #[strum(serialize = "counters to which atomics add do not wrap around")]
    Tickets,
    /// The counter of a cooperative launch.
    #[strum(
        serialize = "the launch is a cooperative one: all CTAs run at the same time, and what its barriers count in is as the launch leaves it"
    )]
    Cooperative,
    /// What a warp does together, it does with all lanes of the mask.
    #[strum(serialize = "all lanes of the mask come to each barrier, vote and shuffle of a warp")]
    Lanes,
    /// CTAs of a cluster are there while others access their shared memory.
    #[strum(serialize = "CTAs of a cluster have begun, and have not ended, while others access their shared memory")]
    There,
    /// The grid is not so large that its threads cannot be numbered.
    #[strum(serialize = "the grid has fewer than 2^31 threads in the direction x")]
    Grid,
    /// A launch has one thread and one CTA where the kernel does not ask for an index.
    #[strum(
        serialize = "CTAs in the directions y and z, and the grid in each direction, have a size of 1 where the kernel reads no index"
    )]
    Directions,
}
