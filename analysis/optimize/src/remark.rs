//! Remarks about rewrites.

use crate::options::Rewrite;

/// The effect of one rewrite on one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The number of the event, see [`crate::Event::id`].
    pub id: usize,
    /// The rewrite.
    pub rewrite: Rewrite,
    /// Whether the rewrite was applied.
    pub applied: bool,
    /// The change and its reason, or the obstacle; a sentence without a full stop.
    pub message: String,
}
