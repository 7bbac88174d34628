//! The box sizes of tensor maps, inferred from the byte counts that mbarriers expect.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::{TensorMap, in_flight::Key, learned::MbarrierEvent, matrix::map::TensorElement, memory::Region};

/// The size of a box's row in bytes.
const ROW: u64 = 128;
/// The sizes of a tensor in elements, and the maximum size of a box in a dimension.
const SIZES: [u32; 5] = [1024, 1024, 16, 4, 2];
const LARGEST: u64 = 256;

/// The map of a tensor with elements of two bytes and boxes of `bytes` bytes. The caller sets its address to a buffer's
/// later.
pub fn map_of(rank: usize, bytes: u64) -> TensorMap {
    let rank = rank.min(SIZES.len());
    let mut map = TensorMap::tiled(TensorElement::U16, &SIZES[..rank], &[]);
    let mut rest = (bytes / 2).max(8);
    for (dimension, own) in map.box_sizes.iter_mut().enumerate().take(rank) {
        let most = match (dimension, rank) {
            (_, 1) => rest,
            (0, _) => ROW / 2,
            _ => LARGEST,
        };
        // The size must divide the remaining elements. The last dimension takes the rest.
        let size = if dimension + 1 == rank { rest } else { divisor(rest, most) };
        *own = size.min(1 << 15) as u32;
        rest /= size;
    }
    map
}

/// The largest divisor of a number that is at most `most`.
fn divisor(number: u64, most: u64) -> u64 {
    (1..=most.min(number)).rev().find(|divisor| number.is_multiple_of(*divisor)).unwrap_or(1)
}

/// The bytes for which an mbarrier waits in a phase.
#[derive(Default)]
struct Phase {
    has_ended: bool,
    expected: u64,
    /// The number of bytes of copies without a tensor map.
    known: u64,
    /// The copies through a tensor map: the place of the map, and the destination.
    copies: Vec<(Region, Key)>,
}

/// Computes the box sizes with which the phases that did not end would end. Only maps for which `is_open` holds get new
/// sizes.
///
/// A phase may also end if one box is too large and another box is too small. Copies through one map to two places are
/// disjoint, so sizes with which they would overlap are guessed again.
pub fn boxes(events: &[MbarrierEvent], is_open: &dyn Fn(Region) -> bool) -> FxHashMap<Region, u64> {
    let mut phases = phases(events, is_open);
    let apart = apart(events);
    let is_too_large = |one: &MbarrierEvent| match one {
        MbarrierEvent::Copy { map: Some(map), bytes, .. } => apart.get(map).is_some_and(|gap| bytes > gap),
        _ => false,
    };
    let is_wrong = events.iter().any(is_too_large);
    phases.retain(|phase| !phase.has_ended || is_wrong && phase.copies.iter().any(|(map, _)| apart.contains_key(map)));
    // The destinations of copies that are in flight at the same time are disjoint.
    let mut places: Vec<Key> = phases.iter().flat_map(|phase| phase.copies.iter().map(|(_, to)| *to)).collect();
    // The same holds for mbarriers.
    places.extend(events.iter().map(|one| match one {
        MbarrierEvent::Expects(key, _) | MbarrierEvent::Settles(key) | MbarrierEvent::Copy { barrier: key, .. } => *key,
    }));
    places.sort_unstable();
    places.dedup();
    let gap = |map: Region| {
        let of_map = phases.iter().flat_map(|phase| &phase.copies).filter(|(own, _)| *own == map);
        let next = |to: &Key| places.iter().find(|next| next.0 == to.0 && next.1 > to.1).map(|next| next.1 - to.1);
        of_map.filter_map(|(_, to)| next(to)).chain(apart.get(&map).copied()).min()
    };
    let mut found: FxHashMap<Region, u64> = FxHashMap::default();
    let mut order: Vec<&Phase> = phases.iter().collect();
    order.sort_by_key(|phase| phase.copies.iter().map(|(map, _)| *map).collect::<BTreeSet<_>>().len());
    for phase in order {
        let mut rest = phase.expected.saturating_sub(phase.known);
        let mut open: Vec<(Region, u64)> = Vec::new();
        for (map, _) in &phase.copies {
            match found.get(map) {
                Some(bytes) => rest = rest.saturating_sub(*bytes),
                None => match open.iter_mut().find(|(own, _)| own == map) {
                    Some((_, count)) => *count += 1,
                    None => open.push((*map, 1)),
                },
            }
        }
        found.extend(solve(&open, rest, &gap));
    }
    found
}

/// The smallest distance between two destinations of copies through a map.
fn apart(events: &[MbarrierEvent]) -> FxHashMap<Region, u64> {
    let mut places: BTreeMap<Region, BTreeSet<Key>> = BTreeMap::new();
    for one in events {
        if let MbarrierEvent::Copy { map: Some(map), to, .. } = one {
            places.entry(*map).or_default().insert(*to);
        }
    }
    let least = |of: &BTreeSet<Key>| {
        let two = of.iter().zip(of.iter().skip(1)).filter(|(one, next)| one.0 == next.0);
        two.map(|(one, next)| next.1 - one.1).min()
    };
    places.iter().filter_map(|(map, of)| Some((*map, least(of)?))).collect()
}

/// The phases, in the order of their mbarriers: the phases that have not ended, and the first ended phase of each
/// mbarrier.
fn phases(events: &[MbarrierEvent], is_open: &dyn Fn(Region) -> bool) -> Vec<Phase> {
    let mut open: BTreeMap<Key, Phase> = BTreeMap::new();
    let mut ended: BTreeMap<Key, Phase> = BTreeMap::new();
    for one in events {
        match *one {
            MbarrierEvent::Expects(key, bytes) => open.entry(key).or_default().expected += bytes,
            MbarrierEvent::Copy { barrier, map, bytes, to } => {
                let phase = open.entry(barrier).or_default();
                match map.filter(|map| is_open(*map)) {
                    Some(map) => phase.copies.push((map, to)),
                    None => phase.known += bytes,
                }
            }
            MbarrierEvent::Settles(key) => {
                if let Some(phase) = open.remove(&key) {
                    ended.entry(key).or_insert(Phase { has_ended: true, ..phase });
                }
            }
        }
    }
    open.into_values()
        .chain(ended.into_values())
        .filter(|phase| phase.expected > 0 && !phase.copies.is_empty())
        .collect()
}

/// Solves for the box sizes of maps in a phase that expects `all` bytes. Each map is given with the number of its
/// copies.
fn solve(open: &[(Region, u64)], all: u64, gap: &dyn Fn(Region) -> Option<u64>) -> Vec<(Region, u64)> {
    let fits =
        |map: Region, bytes: u64| bytes >= 16 && bytes.is_multiple_of(16) && gap(map).is_none_or(|gap| bytes <= gap);
    // Every map except one fills the gap to the next destination, and the remaining map has the rest.
    for (last, (map, count)) in open.iter().enumerate() {
        let others = || open.iter().enumerate().filter(move |(index, _)| *index != last).map(|(_, one)| one);
        let Some(filled) = others().map(|(map, count)| Some(gap(*map)? * count)).sum::<Option<u64>>() else { continue };
        let Some(rest) = all.checked_sub(filled).filter(|rest| rest.is_multiple_of(*count)) else { continue };
        if fits(*map, rest / count) {
            let others = others().filter_map(|(map, _)| Some((*map, gap(*map)?)));
            return others.chain([(*map, rest / count)]).collect();
        }
    }
    let count: u64 = open.iter().map(|(_, count)| count).sum();
    match count {
        0 => Vec::new(),
        _ if all.is_multiple_of(count) && open.iter().all(|(map, _)| fits(*map, all / count)) => {
            open.iter().map(|(map, _)| (*map, all / count)).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Region = Region::Param(0);
    const B: Region = Region::Param(128);

    /// Checks two stages of a pipeline with boxes of `a` and `b` bytes: A is at 64 KiB, 16 KiB per stage; B is at 0, 32
    /// KiB per stage; together they have 48 KiB.
    fn check(sizes: [u64; 2], stages: u64, has_ended: bool, expected: &[(Region, u64)]) {
        let stage = |number: u64| {
            let barrier = (0, (200 << 10) + 8 * number);
            let copy = |map, bytes, to| MbarrierEvent::Copy { barrier, map: Some(map), bytes, to: (0, to) };
            let [a, b] = [(64 << 10) + (number << 14), number << 15];
            let end = has_ended.then_some(MbarrierEvent::Settles(barrier));
            [MbarrierEvent::Expects(barrier, 48 << 10), copy(A, sizes[0], a), copy(B, sizes[1], b)]
                .into_iter()
                .chain(end)
        };
        let events: Vec<MbarrierEvent> = (0..stages).flat_map(stage).collect();
        assert_eq!(boxes(&events, &|_| true), expected.iter().copied().collect());
    }

    #[test]
    fn boxes_that_would_meet_are_guessed_again() {
        let right = [(A, 16 << 10), (B, 32 << 10)];
        // One stage determines the sum of the two sizes, and two stages determine each size.
        check([64, 64], 1, false, &[(A, 24 << 10), (B, 24 << 10)]);
        check([24 << 10, 24 << 10], 2, true, &right);
        check([64, 64], 2, false, &right);
        check([16 << 10, 32 << 10], 2, true, &[]);
    }
}
