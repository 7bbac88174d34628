//! Accessors of ops of the SPIR-V dialect.

use crate::ir::{self, Op};

/// The name of an op of the dialect, without the dialect.
pub fn short<'c>(op: Op<'c, '_>) -> Option<&'c str> {
    ir::name(op).strip_prefix("spirv.")
}

/// The storage class of a pointer type, such as `!spirv.ptr<i32, Workgroup>`.
pub fn storage_class(pointer: &str) -> String {
    pointer.rsplit_once(", ").map_or("", |(_, class)| class.trim_end_matches('>')).to_owned()
}

/// The enumerator in an attribute of the dialect, such as `#spirv.scope<Device>`.
pub fn enumerator(op: Op<'_, '_>, attribute: &str) -> String {
    let text = ir::inherent(op, attribute).map(|value| value.to_string()).unwrap_or_default();
    let inner = text.split_once('<').and_then(|(_, rest)| rest.strip_suffix('>'));
    inner.unwrap_or_default().to_owned()
}
