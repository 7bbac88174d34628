//! What is said of rewrites.

use crate::options::Rewrite;

/// What became of one operation by one rewrite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The number of the event, as of [`crate::Event::id`].
    pub id: usize,
    /// The rewrite.
    pub rewrite: Rewrite,
    /// Whether it was done.
    pub applied: bool,
    /// What was done and why, or what stood in the way; a sentence without an end.
    pub message: String,
}
