//! Whether two accesses touch the same memory.

use super::token::{Round, Token};
use crate::cause::Cause;
use crate::kernel::{Access, Address, Kernel, ObjectKind, Predicate, SIZES, Space, Sum, Test, Varies};

/// What is known of two accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Overlap {
    /// They touch nothing in common.
    No,
    /// They do if a CTA has more threads than these, which nothing says.
    Threads(u32),
    /// They do if threads behind the first warp do both, which a value decides that an option says: its number.
    Guarded(usize),
    /// They may.
    Unknown,
    /// They do, for some threads and in some round of a loop if not in every one.
    Yes,
}

/// What no thread of a CTA does is nowhere.
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

/// The value that decides which threads do an access, if an option says it.
fn guard(kernel: &Kernel, token: &Token<'_>) -> Option<usize> {
    token.conditions.iter().find_map(|condition| match kernel.predicates[condition.predicate] {
        Predicate { test: Test::Within { value, .. }, varies, .. } if varies != Varies::No => {
            kernel.unknowns[value].cause.as_ref().filter(|cause| cause.option().is_some()).map(|_| value)
        }
        _ => None,
    })
}

/// Why it cannot be told whether two accesses overlap.
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

/// The same, in a CTA that has one of the sizes that are told apart.
fn overlap_in(kernel: &Kernel, one: &Token<'_>, round: Round, other: &Token<'_>, size: Option<usize>) -> Overlap {
    let (first, second) = (&one.access, &other.access);
    let of_one = |sum: &Sum| bounds_of(kernel, one, sum, size);
    let of_other = |sum: &Sum| bounds_of(kernel, other, sum, size);
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
    // Which CTA of the cluster has the memory is not known.
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
        && !meet(a, first.extent, b, second.extent)
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
    // A term without a range may hide more than an index, as a swizzled address does.
    let is_open = |sum: &Sum| sum.terms.iter().any(|(value, _)| kernel.unknowns[*value].range.is_none());
    let is_hidden = of_array && (is_open(&a) || is_open(&b));
    match round {
        Round::Same if index != other_index && is_hidden => return Overlap::Unknown,
        Round::Ahead if is_hidden => return Overlap::Unknown,
        // Two elements of an array, each by its own index: programs mean different ones.
        Round::Same if index != other_index => return Overlap::No,
        Round::Ahead if of_array => return Overlap::No,
        Round::Earlier if of_array => return Overlap::Unknown,
        Round::Any if of_array => return Overlap::Yes,
        _ => {}
    }
    match (of_one(&a), of_other(&b)) {
        (Some(a), Some(b)) if meet(a, first.extent, b, second.extent) => Overlap::Yes,
        (Some(_), Some(_)) => Overlap::No,
        _ if a.terms == b.terms => Overlap::Yes,
        _ => Overlap::Unknown,
    }
}

/// Whether the first access, which one role alone does, is to no element of the ring that another role accesses. It has no index then; and
/// where each of its threads has an offset of its own, nothing is known of how far the ring goes.
pub fn is_own_place(kernel: &Kernel, first: &Access, second: &Access) -> bool {
    let (index, own) = parts(kernel, offset(first));
    index.is_empty() && (own.terms.is_empty() || bounds(kernel, &[], &offset(second), None).is_none())
}

/// An offset in two parts: what all threads add alike, as the index of a round; and the rest, of which each thread may have its own.
fn parts(kernel: &Kernel, sum: Sum) -> (Vec<(usize, i64)>, Sum) {
    let alike = |(value, _): &(usize, i64)| kernel.unknowns[*value].varies == Varies::No;
    let (index, terms) = sum.terms.into_iter().partition(alike);
    (index, Sum { terms, constant: sum.constant })
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

/// The lowest and the highest that a part of an access's offset can be that has all values of which each thread has its own: what one
/// thread has of one of them, it does not combine with what another thread has of another.
fn bounds_of(kernel: &Kernel, token: &Token<'_>, sum: &Sum, size: Option<usize>) -> Option<(i64, i64)> {
    let (own, range) = &token.own;
    if size.is_some() || own.is_empty() {
        return bounds(kernel, &token.narrowed, sum, size);
    }
    let terms = sum.terms.iter().copied().filter(|(value, _)| !own.contains(value)).collect();
    let (low, high) = bounds(kernel, &token.narrowed, &Sum { terms, constant: sum.constant }, None)?;
    if (low, high) == NOWHERE { Some(NOWHERE) } else { Some((low.checked_add(range.0)?, high.checked_add(range.1)?)) }
}

/// The lowest and the highest that a sum can be, where some values have smaller ranges, in a CTA of some size.
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

/// Whether all that is added is a multiple of a number, and the accesses lie beside each other between its multiples, as two
/// members of the elements of an array do.
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

/// Whether two accesses that begin within bounds overlap. One of unknown extent is taken to end where the next one begins.
fn meet(a: (i64, i64), a_extent: Option<u64>, b: (i64, i64), b_extent: Option<u64>) -> bool {
    if a == NOWHERE || b == NOWHERE {
        return false;
    }
    let end = |(_, high): (i64, i64), extent: Option<u64>| high.saturating_add_unsigned(extent.unwrap_or(1));
    a.0 < end(b, b_extent) && b.0 < end(a, a_extent)
}
