//! A part of a module, for which code is generated alone.

use std::ops::Range;

/// A part of a module for which code is generated.
#[derive(Clone)]
pub struct Part {
    pub functions: Range<usize>,
    /// An intrinsic that the backend is not to see.
    pub without: Option<String>,
}
