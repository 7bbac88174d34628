//! The bytes of global memory that an operation accesses. Two operations without an order race if one writes bytes that
//! the other accesses.

use std::ops::Range;

/// A way in which bytes are accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    Read = 1,
    Write = 2,
    /// A read of a strong operation, whose scope has the whole GPU.
    StrongRead = 4,
    /// A write of such an operation, or its update.
    StrongWrite = 8,
}

/// The ways in which bytes are accessed: a sum of [`Use`]s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uses(u8);

impl Uses {
    fn has(self, of: Use) -> bool {
        self.0 & of as u8 != 0
    }

    /// Whether the bytes are written.
    pub fn writes(self) -> bool {
        self.has(Use::Write) || self.has(Use::StrongWrite)
    }

    /// Whether operations without an order race with these accesses of the same bytes.
    fn races_with(self, other: Self) -> bool {
        let is_weak = |uses: Self| uses.has(Use::Read) || uses.has(Use::Write);
        let one = |one: Self, other: Self| {
            one.has(Use::Write) && other != Self::default() || one.has(Use::StrongWrite) && is_weak(other)
        };
        one(self, other) || one(other, self)
    }
}

/// The bytes that an operation accesses: disjoint ranges of addresses, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Footprint(Vec<(Range<u64>, Uses)>);

impl FromIterator<(Range<u64>, Use)> for Footprint {
    fn from_iter<T: IntoIterator<Item = (Range<u64>, Use)>>(all: T) -> Self {
        let mut changes: Vec<(u64, bool, Use)> = Vec::new();
        for (range, of) in all.into_iter().filter(|(range, _)| !range.is_empty()) {
            changes.extend([(range.start, true, of), (range.end, false, of)]);
        }
        changes.sort_unstable_by_key(|change| change.0);
        let (mut found, mut open, mut start) = (Self::default(), [0u32; 4], 0);
        for (at, begins, of) in changes {
            let uses = (0..4).filter(|index| open[*index] > 0).map(|index| 1 << index).sum();
            found.push(start..at, Uses(uses));
            let count = &mut open[(of as u8).trailing_zeros() as usize];
            *count = if begins { *count + 1 } else { *count - 1 };
            start = at;
        }
        found
    }
}

impl Footprint {
    /// Whether the operation accesses no memory.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a range at the end.
    fn push(&mut self, range: Range<u64>, uses: Uses) {
        if range.is_empty() || uses == Uses::default() {
            return;
        }
        match self.0.last_mut() {
            Some((last, same)) if last.end == range.start && *same == uses => last.end = range.end,
            _ => self.0.push((range, uses)),
        }
    }

    /// The first bytes at which the operation races with another one without an order, and the accesses of both.
    pub fn race(&self, other: &Self) -> Option<(Range<u64>, [Uses; 2])> {
        let (mut own, mut others) = (self.0.iter().peekable(), other.0.iter().peekable());
        while let (Some((one, uses)), Some((two, other_uses))) = (own.peek(), others.peek()) {
            let both = one.start.max(two.start)..one.end.min(two.end);
            if !both.is_empty() && uses.races_with(*other_uses) {
                return Some((both, [*uses, *other_uses]));
            }
            let ends_first = one.end <= two.end;
            if ends_first { &mut own } else { &mut others }.next();
        }
        None
    }
}

/// The number of bytes whose accesses are allocated at once.
const PAGE: usize = 4096;

/// The accesses of a piece of memory, by byte.
#[derive(Debug, Default)]
pub struct Accessed(Vec<Option<Box<[u8; PAGE]>>>);

impl Accessed {
    /// Adds an access.
    pub fn add(&mut self, at: u64, bytes: u64, of: Use) {
        let (mut at, end) = (at as usize, (at + bytes) as usize);
        if self.0.len() < end.div_ceil(PAGE) {
            self.0.resize_with(end.div_ceil(PAGE), || None);
        }
        while at < end {
            let (page, from) = (at / PAGE, at % PAGE);
            let to = PAGE.min(from + end - at);
            let page = self.0[page].get_or_insert_with(|| Box::new([0; PAGE]));
            page[from..to].iter_mut().for_each(|uses| *uses |= of as u8);
            at += to - from;
        }
    }

    /// Adds the accesses to a footprint, in which the piece has an address.
    pub fn add_to(&self, footprint: &mut Footprint, address: u64) {
        for (number, page) in self.0.iter().enumerate() {
            let Some(page) = page else { continue };
            let mut at = address + (number * PAGE) as u64;
            for same in page.chunk_by(|one, other| one == other) {
                let end = at + same.len() as u64;
                footprint.push(at..end, Uses(same[0]));
                at = end;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    const USES: [Use; 4] = [Use::Read, Use::Write, Use::StrongRead, Use::StrongWrite];

    /// Two accesses of the same byte race if one writes and not both are strong.
    fn is_race(one: Use, other: Use) -> bool {
        let writes = |of| matches!(of, Use::Write | Use::StrongWrite);
        let is_strong = |of| matches!(of, Use::StrongRead | Use::StrongWrite);
        (writes(one) || writes(other)) && !(is_strong(one) && is_strong(other))
    }

    /// The first byte of a race is the first byte that a comparison of all bytes finds, for footprints of ranges and for
    /// footprints of accesses.
    #[test]
    fn footprints_race_as_their_bytes_do() {
        let random = &mut Random::new(0);
        let mut races = 0;
        for case in 0..2_000 {
            let mut accesses = || -> Vec<(Range<u64>, Use)> {
                let base = PAGE as u64 - 16;
                (0..1 + random.below(4))
                    .map(|_| {
                        let start = base + random.below(32);
                        (start..start + random.below(9), USES[random.below(4) as usize])
                    })
                    .collect()
            };
            let sides = [accesses(), accesses()];
            let of_bytes = |side: &[(Range<u64>, Use)]| {
                let mut accessed = Accessed::default();
                side.iter().for_each(|(range, of)| accessed.add(range.start, range.end - range.start, *of));
                let mut found = Footprint::default();
                accessed.add_to(&mut found, 0);
                found
            };
            let footprints = sides.clone().map(|side| side.into_iter().collect::<Footprint>());
            assert_eq!(footprints, [of_bytes(&sides[0]), of_bytes(&sides[1])], "{case}: {sides:?}");
            let races_at = |at: &u64| {
                let on = |side: &[(Range<u64>, Use)]| -> Vec<Use> {
                    side.iter().filter(|(range, _)| range.contains(at)).map(|(_, of)| *of).collect()
                };
                on(&sides[0]).iter().any(|one| on(&sides[1]).iter().any(|other| is_race(*one, *other)))
            };
            let expected = (0..2 * PAGE as u64).find(races_at);
            let found = footprints[0].race(&footprints[1]).map(|(range, _)| range.start);
            assert_eq!(found, expected, "{case}: {sides:?}");
            races += u32::from(expected.is_some());
        }
        assert!((500..1_500).contains(&races), "{races}");
    }
}
