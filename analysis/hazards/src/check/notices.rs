//! The events that an access takes notice of.

use super::token::{Token, TokenKind};
use crate::kernel::{EventKind, Space};

/// The kind of events that an access takes notice of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Notices {
    /// Events of groups, and `wgmma.fence`: the access is an access of registers.
    Groups,
    /// `tcgen05.dealloc`: it is an allocation.
    Deallocations,
    /// All synchronizing events.
    All,
}

impl Notices {
    pub fn from_token(token: &Token<'_>) -> Self {
        match token.kind {
            TokenKind::Allocated => Self::Deallocations,
            _ if token.access.space == Space::Register => Self::Groups,
            _ => Self::All,
        }
    }

    /// Whether an event may change the progress of such an access.
    pub fn notices(self, kind: &EventKind) -> bool {
        match (self, kind) {
            (Self::Groups, kind) => {
                matches!(kind, EventKind::CommitGroup(_) | EventKind::WaitGroup { .. } | EventKind::MatrixFence)
            }
            (Self::Deallocations, kind) => matches!(kind, EventKind::Deallocate(_)),
            (Self::All, kind) => !matches!(
                kind,
                EventKind::Access(_) | EventKind::Start(_) | EventKind::Initialize { .. } | EventKind::Invalidate(_)
            ),
        }
    }
}
