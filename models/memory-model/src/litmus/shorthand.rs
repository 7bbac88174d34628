//! The shorthands of litmus tests, which PTX does not have.

use crate::{program::Cmp, ptx::Proxy};

/// Branches that compare.
#[rustfmt::skip]
pub(crate) const BRANCHES: [(&str, Cmp); 6] = [
    ("beq", Cmp::Eq), ("bne", Cmp::Ne), ("blt", Cmp::Lt), ("ble", Cmp::Le), ("bgt", Cmp::Gt), ("bge", Cmp::Ge),
];

/// The direction of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From memory into registers, like `ld`.
    Load,
    /// Into memory, like `st`, `atom` and `red`.
    Store,
}

/// The names of accesses through proxies other than the generic one.
pub(crate) const PROXIES: [(&str, Proxy, Direction); 4] = [
    ("sust", Proxy::Surface, Direction::Store),
    ("suld", Proxy::Surface, Direction::Load),
    ("tld", Proxy::Texture, Direction::Load),
    ("cold", Proxy::Constant, Direction::Load),
];

/// The label after a thread's code, to which `ret` branches.
pub(crate) const END: &str = "$end";
