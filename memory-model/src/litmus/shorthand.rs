//! Words of litmus tests that PTX has not.

use crate::{program::Cmp, ptx::Proxy};

/// Branches that compare.
#[rustfmt::skip]
pub(super) const BRANCHES: [(&str, Cmp); 6] = [
    ("beq", Cmp::Eq), ("bne", Cmp::Ne), ("blt", Cmp::Lt), ("ble", Cmp::Le), ("bgt", Cmp::Gt), ("bge", Cmp::Ge),
];

/// Accesses through other proxies than the generic one: what they are called, and whether they load.
pub(super) const PROXIES: [(&str, Proxy, bool); 4] = [
    ("sust", Proxy::Surface, false),
    ("suld", Proxy::Surface, true),
    ("tld", Proxy::Texture, true),
    ("cold", Proxy::Constant, true),
];

/// The label behind a thread's code, to which `ret` branches.
pub(super) const END: &str = "$end";
