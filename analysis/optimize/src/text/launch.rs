//! What a user says of the launches of a file.

/// What a PTX file does not say of its launches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// While a grid runs, nobody else accesses its memory: no other grid, no host, no other GPU. Orders of streams and events, and waits
    /// for the grid's end, are no such accesses.
    pub alone: bool,
    /// How many CTAs the grid has.
    pub grid: Option<[u32; 3]>,
}
