//! The user's statements about the launches of a file.

use ptx_isa::LaunchSize;

/// Facts about launches that a PTX file does not contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// Whether only the grid accesses its memory while it runs: no other grid, no host, no other GPU. The ordering of
    /// streams and events, and waiting for the end of the grid, are not such accesses.
    pub alone: bool,
    /// The sizes, as far as they are known.
    pub size: LaunchSize,
}
