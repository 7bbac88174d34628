//! Words of litmus tests that PTX has not.

use crate::{program::Cmp, ptx::Proxy};

/// Branches that compare.
#[rustfmt::skip]
pub(crate) const BRANCHES: [(&str, Cmp); 6] = [
    ("beq", Cmp::Eq), ("bne", Cmp::Ne), ("blt", Cmp::Lt), ("ble", Cmp::Le), ("bgt", Cmp::Gt), ("bge", Cmp::Ge),
];

/// Where the values of an access go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From memory into registers, as of `ld`.
    Load,
    /// Into memory, as of `st`, `atom` and `red`.
    Store,
}

/// Accesses through other proxies than the generic one: what they are called.
pub(crate) const PROXIES: [(&str, Proxy, Direction); 4] = [
    ("sust", Proxy::Surface, Direction::Store),
    ("suld", Proxy::Surface, Direction::Load),
    ("tld", Proxy::Texture, Direction::Load),
    ("cold", Proxy::Constant, Direction::Load),
];

/// The label behind a thread's code, to which `ret` branches.
pub(crate) const END: &str = "$end";
