//! Whether two accesses touch the same memory.

use crate::kernel::{Access, Address, Kernel, ObjectKind, Space, Sum, Varies};

/// What is known of two accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Overlap {
    /// They touch nothing in common.
    No,
    /// They may.
    Unknown,
    /// They do, for some threads and in some round of a loop if not in every one.
    Yes,
}

/// Whether two accesses overlap. `is_stale`: a value in the first one's address may be that of an earlier round.
pub fn overlap(kernel: &Kernel, first: &Access, is_stale: bool, second: &Access) -> Overlap {
    if first.space != second.space {
        return Overlap::No;
    }
    // Which part of a tensor a copy touches is not known, and kernels give each tile to one copy.
    if first.space == Space::Global && (first.extent.is_none() || second.extent.is_none()) {
        return Overlap::No;
    }
    let (a, b) = (&first.address, &second.address);
    if a.object != b.object {
        let known = |address: &Address| kernel.objects[address.object].kind != ObjectKind::Unknown;
        return if known(a) && known(b) { Overlap::No } else { Overlap::Unknown };
    }
    if a.is_remote != b.is_remote {
        return Overlap::Unknown;
    }
    let (of_a, of_b) = (offset(first), offset(second));
    let apart = is_apart(kernel, &of_a) || is_apart(kernel, &of_b);
    if of_a.terms == of_b.terms && !is_stale && !apart {
        return intervals((of_a.constant, of_a.constant), first.extent, (of_b.constant, of_b.constant), second.extent);
    }
    match (bounds(kernel, &of_a), bounds(kernel, &of_b)) {
        (Some(a), Some(b)) if intervals(a, first.extent, b, second.extent) == Overlap::No => Overlap::No,
        // Values of other threads and other rounds take all that they can be.
        _ if is_stale => Overlap::Yes,
        (Some(_), Some(_)) if apart => Overlap::Yes,
        _ if apart => if of_a.terms == of_b.terms { Overlap::Yes } else { Overlap::Unknown },
        // Two elements of an array, each by its own index in the same round: programs mean different ones.
        _ => Overlap::No,
    }
}

/// How far an access is from the start of its object. In tensor memory columns alone are compared.
fn offset(access: &Access) -> Sum {
    let offset = &access.address.offset;
    if access.space != Space::Tensor {
        return offset.clone();
    }
    let terms = offset.terms.iter().copied().filter(|(_, factor)| factor % 65536 != 0).collect();
    Sum { terms, constant: offset.constant & 0xffff }
}

/// Whether threads of a CTA may have different values of a sum.
fn is_apart(kernel: &Kernel, sum: &Sum) -> bool {
    sum.terms.iter().any(|(value, _)| kernel.values[*value].varies != Varies::No)
}

/// The lowest and the highest that a sum can be.
fn bounds(kernel: &Kernel, sum: &Sum) -> Option<(i64, i64)> {
    sum.terms.iter().try_fold((sum.constant, sum.constant), |(low, high), (value, factor)| {
        let (from, to) = kernel.values[*value].range?;
        let (from, to) = (from.checked_mul(*factor)?, to.checked_mul(*factor)?);
        Some((low.checked_add(from.min(to))?, high.checked_add(from.max(to))?))
    })
}

/// Whether two accesses that begin within bounds overlap. One of unknown extent is taken to end where the next one begins.
fn intervals(a: (i64, i64), a_extent: Option<u64>, b: (i64, i64), b_extent: Option<u64>) -> Overlap {
    let end = |(_, high): (i64, i64), extent: Option<u64>| high.saturating_add_unsigned(extent.unwrap_or(1));
    if a.0 < end(b, b_extent) && b.0 < end(a, a_extent) { Overlap::Yes } else { Overlap::No }
}
