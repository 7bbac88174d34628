//! What a user says of the launches of a file.

use ptx_isa::LaunchSize;

/// What a PTX file does not say of its launches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// While a grid runs, nobody else accesses its memory: no other grid, no host, no other GPU. Orders of streams and events, and waits
    /// for the grid's end, are no such accesses.
    pub alone: bool,
    /// The sizes, as far as they are known.
    pub size: LaunchSize,
}
