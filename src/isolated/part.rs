//! A part of a module for which code is generated separately.

use std::ops::Range;

/// A part of a module for which code is generated.
#[derive(Clone)]
pub struct Part {
    pub functions: Range<usize>,
    /// An intrinsic to hide from the backend.
    pub without: Option<String>,
}
