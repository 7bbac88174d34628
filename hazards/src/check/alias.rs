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
    let (a, b) = (&first.address, &second.address);
    if a.object != b.object {
        let known = |address: &Address| kernel.objects[address.object].kind != ObjectKind::Unknown;
        return if known(a) && known(b) { Overlap::No } else { Overlap::Unknown };
    }
    if a.is_remote != b.is_remote {
        return Overlap::Unknown;
    }
    let (of_a, of_b) = (offset(first), offset(second));
    let (bounds, other_bounds) = (bounds(kernel, &of_a), bounds(kernel, &of_b));
    let of_one_value = of_a.terms == of_b.terms && !is_stale && !differs(kernel, &of_a);
    if of_one_value {
        return intervals((of_a.constant, of_a.constant), first.extent, (of_b.constant, of_b.constant), second.extent);
    }
    match (bounds, other_bounds) {
        (Some(a), Some(b)) => match intervals(a, first.extent, b, second.extent) {
            // Values of other rounds and of other threads take all that they can be.
            Overlap::Yes
                if !is_stale && of_a.terms != of_b.terms && !differs(kernel, &of_a) && !differs(kernel, &of_b) =>
            {
                Overlap::Unknown
            }
            found => found,
        },
        // One element of an array, of another round than the other: some round has both.
        _ if is_stale || of_a.terms == of_b.terms => Overlap::Yes,
        _ => Overlap::Unknown,
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
fn differs(kernel: &Kernel, sum: &Sum) -> bool {
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

/// Whether two accesses that begin within bounds overlap. An access of unknown extent overlaps what begins in front of its start
/// and reaches it.
fn intervals(a: (i64, i64), a_extent: Option<u64>, b: (i64, i64), b_extent: Option<u64>) -> Overlap {
    let end = |(_, high): (i64, i64), extent: Option<u64>| high.saturating_add_unsigned(extent.unwrap_or(1));
    if a.0 < end(b, b_extent) && b.0 < end(a, a_extent) {
        return Overlap::Yes;
    }
    let reaches = |first: (i64, i64), extent: Option<u64>, second: (i64, i64)| first.0 < second.0 && extent.is_none();
    if reaches(a, a_extent, b) || reaches(b, b_extent, a) { Overlap::Unknown } else { Overlap::No }
}
