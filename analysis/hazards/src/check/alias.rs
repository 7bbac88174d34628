//! The alias analysis: whether two accesses overlap in memory.

use super::token::{Round, Token};
use crate::cause::Cause;
use crate::kernel::{Address, EventAccess, Kernel, ObjectKind, Predicate, SIZES, Space, Sum, Test, Varies};

/// The overlap of two accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Overlap {
    /// They do not overlap.
    No,
    /// They overlap if a CTA has more threads than this number, and its size is unknown.
    Threads(u32),
    /// They overlap if threads after the first warp do both. This depends on a value that an option gives: the number
    /// of the value.
    Guarded(usize),
    /// They may overlap.
    Unknown,
    /// They overlap, for some threads and in some iteration of a loop, if not in every one.
    Yes,
}

/// The bounds of an address that no thread of a CTA accesses.
const NOWHERE: (i64, i64) = (i64::MAX, i64::MIN);

/// Whether two accesses overlap.
pub fn overlap(kernel: &Kernel, one: &Token<'_>, round: Round, other: &Token<'_>) -> Overlap {
    match overlap_in(kernel, one, round, other, None) {
        Overlap::Yes if kernel.most.is_none() => {
            let meet = |size: &usize| overlap_in(kernel, one, round, other, Some(*size)) == Overlap::Yes;
            match (0..SIZES.len()).find(meet) {
                Some(0) => Overlap::Yes,
                Some(size) => Overlap::Threads(SIZES[size - 1]),
                None => Overlap::Unknown,
            }
        }
        Overlap::Yes => match guard(kernel, one).or_else(|| guard(kernel, other)) {
            Some(value) if overlap_in(kernel, one, round, other, Some(0)) != Overlap::Yes => Overlap::Guarded(value),
            _ => Overlap::Yes,
        },
        overlap => overlap,
    }
}

/// The value that decides which threads do an access, if an option gives it.
fn guard(kernel: &Kernel, token: &Token<'_>) -> Option<usize> {
    token.conditions.iter().find_map(|condition| match kernel.predicates[condition.predicate] {
        Predicate { test: Test::Within { value, .. }, varies, .. } if varies != Varies::No => {
            kernel.unknowns[value].cause.as_ref().filter(|cause| cause.option().is_some()).map(|_| value)
        }
        _ => None,
    })
}

/// The cause that leaves the overlap of two accesses undecided.
pub fn cause(kernel: &Kernel, one: &Token<'_>, other: &Token<'_>) -> Cause {
    let [a, b] = [one, other].map(|token| &token.access.address);
    if a.object != b.object {
        let unknown = |address: &Address| kernel.objects[address.object].cause.clone();
        return unknown(a).or_else(|| unknown(b)).unwrap_or(Cause::Address);
    }
    let difference = a.offset.plus(&b.offset, -1);
    let without_range = |value: &usize| kernel.unknowns[*value].range.is_none();
    let values = difference.terms.iter().map(|(value, _)| *value);
    let open = values
        .clone()
        .find(without_range)
        .or_else(|| values.into_iter().find(|value| kernel.unknowns[*value].cause.is_some()));
    open.map_or(Cause::Index, |value| kernel.unknowns[value].cause.clone().unwrap_or(Cause::Address))
}

/// The overlap in a CTA of one of the distinguished sizes.
fn overlap_in(kernel: &Kernel, one: &Token<'_>, round: Round, other: &Token<'_>, size: Option<usize>) -> Overlap {
    let (first, second) = (&one.access, &other.access);
    let of_one = |sum: &Sum| bounds_of(kernel, one, sum, size);
    let of_other = |sum: &Sum| bounds_of(kernel, other, sum, size);
    if first.space != second.space {
        return Overlap::No;
    }
    // The part of a tensor that a copy accesses is unknown, and kernels give each tile to one copy.
    if first.space == Space::Global && (first.extent.is_none() || second.extent.is_none()) {
        return Overlap::No;
    }
    let (a, b) = (&first.address, &second.address);
    if a.object != b.object {
        let known = |address: &Address| kernel.objects[address.object].kind != ObjectKind::Unknown;
        return if known(a) && known(b) { Overlap::No } else { Overlap::Unknown };
    }
    // The CTA of the cluster that has the memory is unknown.
    if a.is_remote || b.is_remote {
        return Overlap::No;
    }
    // Accumulators of 64 rows lie in the lower or the upper half of the lanes of each warp.
    let lane = |address: &Address| address.offset.constant >> 16 & 31;
    if first.space == Space::Tensor && lane(a) != lane(b) {
        return Overlap::No;
    }
    let (of_a, of_b) = (offset(first), offset(second));
    if let (Some(a), Some(b)) = (of_one(&of_a), of_other(&of_b))
        && !ranges_overlap(a, first.extent, b, second.extent)
    {
        return Overlap::No;
    }
    if let (Some(a), Some(b)) = (first.extent, second.extent)
        && are_interleaved(&of_a, a, &of_b, b)
    {
        return Overlap::No;
    }
    let ((index, a), (other_index, b)) = (parts(kernel, of_a), parts(kernel, of_b));
    let of_array = !(index.is_empty() && other_index.is_empty());
    // A term without a range may hide more than an index, for example in a swizzled address.
    let is_open = |sum: &Sum| sum.terms.iter().any(|(value, _)| kernel.unknowns[*value].range.is_none());
    let is_hidden = of_array && (is_open(&a) || is_open(&b));
    match round {
        Round::Same if index != other_index && is_hidden => return Overlap::Unknown,
        Round::Ahead if is_hidden => return Overlap::Unknown,
        // Two elements of an array with different index expressions: programs mean different elements.
        Round::Same if index != other_index => return Overlap::No,
        Round::Ahead if of_array => return Overlap::No,
        Round::Earlier if of_array => return Overlap::Unknown,
        Round::Any if of_array => return Overlap::Yes,
        _ => {}
    }
    match (of_one(&a), of_other(&b)) {
        (Some(a), Some(b)) if ranges_overlap(a, first.extent, b, second.extent) => Overlap::Yes,
        (Some(_), Some(_)) => Overlap::No,
        _ if a.terms == b.terms => Overlap::Yes,
        _ => Overlap::Unknown,
    }
}

/// Whether the first access, which only one role does, is outside of the ring that another role accesses. Its address
/// then has no index; and if each of its threads has its own offset, the extent of the ring is unknown.
pub fn is_own_place(kernel: &Kernel, first: &EventAccess, second: &EventAccess) -> bool {
    let (index, own) = parts(kernel, offset(first));
    index.is_empty() && (own.terms.is_empty() || bounds(kernel, &[], &offset(second), None).is_none())
}

/// The two parts of an offset: the uniform terms, such as the index of an iteration; and the rest, which may differ
/// between threads.
fn parts(kernel: &Kernel, sum: Sum) -> (Vec<(usize, i64)>, Sum) {
    let alike = |(value, _): &(usize, i64)| kernel.unknowns[*value].varies == Varies::No;
    let (index, terms) = sum.terms.into_iter().partition(alike);
    (index, Sum { terms, constant: sum.constant })
}

/// The offset of an access from the start of its object. In tensor memory only columns are compared.
fn offset(access: &EventAccess) -> Sum {
    let offset = &access.address.offset;
    if access.space != Space::Tensor {
        return offset.clone();
    }
    let terms = offset.terms.iter().copied().filter(|(_, factor)| factor % 65536 != 0).collect();
    Sum { terms, constant: offset.constant & 0xffff }
}

/// The bounds of a part of an access's offset that contains all per-thread values. The values of one thread are
/// combined only with values of the same thread.
fn bounds_of(kernel: &Kernel, token: &Token<'_>, sum: &Sum, size: Option<usize>) -> Option<(i64, i64)> {
    let (own, range) = &token.own;
    if size.is_some() || own.is_empty() {
        return bounds(kernel, &token.narrowed, sum, size);
    }
    let terms = sum.terms.iter().copied().filter(|(value, _)| !own.contains(value)).collect();
    let (low, high) = bounds(kernel, &token.narrowed, &Sum { terms, constant: sum.constant }, None)?;
    if (low, high) == NOWHERE { Some(NOWHERE) } else { Some((low.checked_add(range.0)?, high.checked_add(range.1)?)) }
}

/// The bounds of a sum, if some values have smaller ranges, in a CTA of some size.
fn bounds(kernel: &Kernel, narrowed: &[(usize, (i64, i64))], sum: &Sum, size: Option<usize>) -> Option<(i64, i64)> {
    sum.terms.iter().try_fold((sum.constant, sum.constant), |(low, high), (value, factor)| {
        if (low, high) == NOWHERE {
            return Some(NOWHERE);
        }
        let narrowed = narrowed.iter().find(|(own, _)| own == value).map(|(_, range)| *range);
        let unknown = &kernel.unknowns[*value];
        let (mut from, mut to) = narrowed.or(unknown.range)?;
        if let Some((low, high)) = size.and_then(|size| unknown.by_threads.get(size)) {
            (from, to) = (from.max(*low), to.min(*high));
        }
        if from > to {
            return Some(NOWHERE);
        }
        let (from, to) = (from.checked_mul(*factor)?, to.checked_mul(*factor)?);
        Some((low.checked_add(from.min(to))?, high.checked_add(from.max(to))?))
    })
}

/// Whether all terms are multiples of a number, and the accesses are disjoint between its multiples, as two members of
/// the elements of an array are.
fn are_interleaved(a: &Sum, a_extent: u64, b: &Sum, b_extent: u64) -> bool {
    let factors = a.terms.iter().chain(&b.terms).map(|(_, factor)| factor.unsigned_abs());
    let stride = factors.fold(0, gcd);
    if stride == 0 {
        return false;
    }
    let apart = i128::from(b.constant) - i128::from(a.constant);
    let apart = apart.rem_euclid(i128::from(stride));
    i128::from(a_extent) <= apart && apart + i128::from(b_extent) <= i128::from(stride)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Whether two accesses that begin within bounds overlap. An access of unknown extent is assumed to end where the next
/// one begins.
fn ranges_overlap(a: (i64, i64), a_extent: Option<u64>, b: (i64, i64), b_extent: Option<u64>) -> bool {
    if a == NOWHERE || b == NOWHERE {
        return false;
    }
    let end = |(_, high): (i64, i64), extent: Option<u64>| high.saturating_add_unsigned(extent.unwrap_or(1));
    a.0 < end(b, b_extent) && b.0 < end(a, a_extent)
}
