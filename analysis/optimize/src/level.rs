//! Scopes as numbers, with an additional level below all scopes.

use ptx_lowering::{SyncScope, ptx::Scope};

use crate::{function::Atomic, ordering::is_seq_cst};

/// A scope as a number, from narrow to wide; 0 includes no other thread.
pub type Level = usize;

/// The number of levels.
pub const LEVELS: usize = 5;

/// The narrowest scope that includes more than one thread.
pub const CTA: Level = 1;

/// The widest scope that includes only threads of the same grid.
pub const GRID: Level = 2;

/// The system.
pub const ALL: Level = LEVELS - 1;

const SCOPES: [Scope; LEVELS - 1] = [Scope::Cta, Scope::Cluster, Scope::Gpu, Scope::Sys];

pub fn of_scope(scope: Scope) -> Level {
    1 + scope as usize
}

/// The level that an operation's ordering reaches.
pub fn find_level(atomic: &Atomic) -> Level {
    match atomic.op.scope {
        SyncScope::SingleThread => 0,
        SyncScope::Threads(scope) => of_scope(scope),
    }
}

/// The level in which an operation on memory is visible: threads that cannot access the location are excluded.
pub fn seen(atomic: &Atomic) -> Level {
    atomic.address.map_or(ALL, |address| of_scope(address.reach)).min(find_level(atomic))
}

/// The level up to which a fence may order by means of an operation: it includes all threads that can access the
/// location. An update by a thread in the scope of the operation carries the release on to threads beyond that scope
/// (PTX 8.9.2, observation order).
pub fn carried(atomic: &Atomic) -> Level {
    let reach = atomic.address.map_or(ALL, |address| of_scope(address.reach));
    if find_level(atomic) == 0 { 0 } else { reach }
}

/// The level up to which the ordering of an operation counts. A fence and a sequentially consistent operation order
/// with their whole scope; every other operation orders through its location only.
pub fn ordered(atomic: &Atomic) -> Level {
    if atomic.is_fence() || is_seq_cst(&atomic.op) { find_level(atomic) } else { seen(atomic) }
}

pub fn scope(level: Level) -> SyncScope {
    level
        .checked_sub(1)
        .map_or(SyncScope::SingleThread, |index| SyncScope::Threads(SCOPES[index.min(SCOPES.len() - 1)]))
}

/// The name of a scope, for remarks.
pub fn name(level: Level) -> &'static str {
    level.checked_sub(1).map_or("singlethread", |index| SCOPES[index.min(SCOPES.len() - 1)].into())
}
