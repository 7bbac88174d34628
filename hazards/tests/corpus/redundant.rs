//! What can be deleted and nothing asynchronous loses an order: a few criteria, each of which is sufficient.

use ptx_hazards::{Access, Barrier, BarrierId, Direction, Event, Groups, Kernel, Kind, ObjectKind, Operation};

/// Why the synchronization on a line is not needed, if that can be told.
pub fn reason(kernel: &Kernel, lines: &[u32]) -> Option<&'static str> {
    let walk = Walk::new(kernel);
    let is_deleted = |event: &Event| lines.contains(&event.line);
    let places: Vec<_> = walk.places().filter(|place| is_deleted(walk.event(*place))).collect();
    let Some(first) = places.first() else { return Some("unreachable") };
    let sides = [Side::Behind, Side::InFront];
    match &walk.event(*first).kind {
        // What is in front of the barrier before, that one orders; so only what stands between the two matters.
        Kind::Barrier(Barrier { of: BarrierId::Cta(_), threads: None, arrives: true, waits: true, .. }) => {
            let is_other = |event: &Event| {
                let all = |barrier: &Barrier| {
                    matches!(barrier, Barrier { of: BarrierId::Cta(_), threads: None, arrives: true, waits: true, .. })
                };
                !is_deleted(event)
                    && event.guard.is_empty()
                    && matches!(&event.kind, Kind::Barrier(barrier) if all(barrier))
            };
            let nothing = |event: &Event| is_deleted(event) || matches!(event.kind, Kind::TensorFence(_));
            let alone = |event: &Event| nothing(event) || walk.is_generic(event);
            let between = |nothing: &dyn Fn(&Event) -> bool| {
                sides.into_iter().any(|side| places.iter().all(|place| walk.all(*place, side, &is_other, nothing)))
            };
            if between(&nothing) {
                return Some("another barrier stands beside it");
            }
            between(&alone).then_some(GENERIC)
        }
        Kind::TensorWait(direction) => {
            let is_other = |event: &Event| {
                !is_deleted(event) && matches!(&event.kind, Kind::TensorWait(other) if other == direction)
            };
            let nothing = |event: &Event| is_deleted(event) || !starts(event);
            if places.iter().all(|place| walk.all(*place, Side::InFront, &is_other, &nothing)) {
                return Some("nothing was started since the wait before");
            }
            // Until then, nobody else learns of the accesses, and nothing changes what they touch.
            let quiet = |event: &Event| {
                is_deleted(event)
                    || matches!(event.kind, Kind::Access(_) | Kind::TensorFence(_) | Kind::TensorWait(_))
                    || *direction == Direction::Load
                        && matches!(&event.kind, Kind::Start(start) if start.what == Operation::TensorLoad)
            };
            // The end of the kernel is no wait.
            let is_covered = |place: &Place| {
                walk.all(*place, Side::Behind, &is_other, &quiet) && !walk.reaches_end(*place, &is_other)
            };
            places.iter().all(is_covered).then_some("a wait behind it waits for the same")
        }
        Kind::WaitGroup { of, pending: 0, reads_only } => {
            let is_other = |event: &Event| {
                !is_deleted(event)
                    && matches!(&event.kind, Kind::WaitGroup { of: other, pending: 0, reads_only: reads } if other == of && (*reads_only || !reads))
            };
            let nothing = |event: &Event| !begins(event, *of);
            let all = places.iter().all(|place| walk.all(*place, Side::InFront, &is_other, &nothing));
            all.then_some("nothing was started since the wait before")
        }
        _ => None,
    }
}

/// The barrier orders accesses of memory that nothing asynchronous touches.
pub const GENERIC: &str = "it orders no asynchronous operation";

fn starts(event: &Event) -> bool {
    matches!(event.kind, Kind::Start(_) | Kind::Unknown(_))
}

fn begins(event: &Event, groups: Groups) -> bool {
    let operation = match groups {
        Groups::Copy => Operation::Copy,
        Groups::Bulk => Operation::BulkStore,
        Groups::Wgmma => Operation::Wgmma,
    };
    matches!(&event.kind, Kind::Start(start) if start.what == operation) || matches!(event.kind, Kind::Unknown(_))
}

type Place = (usize, usize);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    InFront,
    Behind,
}

struct Walk<'k> {
    kernel: &'k Kernel,
    before: Vec<Vec<usize>>,
    asynchronous: Vec<&'k Access>,
}

impl<'k> Walk<'k> {
    fn new(kernel: &'k Kernel) -> Self {
        let mut before = vec![Vec::new(); kernel.blocks.len()];
        let mut asynchronous = Vec::new();
        for (number, block) in kernel.blocks.iter().enumerate() {
            block.next.iter().for_each(|edge| before[edge.to].push(number));
            for event in &block.events {
                match &event.kind {
                    Kind::Start(start) => asynchronous.extend(&start.accesses),
                    Kind::Allocate { access, .. } => asynchronous.push(access),
                    _ => {}
                }
            }
        }
        Self { kernel, before, asynchronous }
    }

    fn places(&self) -> impl Iterator<Item = Place> {
        let blocks = self.kernel.blocks.iter().enumerate();
        blocks.flat_map(|(number, block)| (0..block.events.len()).map(move |index| (number, index)))
    }

    fn event(&self, (block, index): Place) -> &'k Event {
        &self.kernel.blocks[block].events[index]
    }

    /// Whether it is an access of memory that nothing asynchronous touches.
    fn is_generic(&self, event: &Event) -> bool {
        let Kind::Access(access) = &event.kind else { return false };
        !self.asynchronous.iter().any(|other| self.may_overlap(access, other))
    }

    fn may_overlap(&self, a: &Access, b: &Access) -> bool {
        let variable = |access: &Access| self.kernel.objects[access.address.object].kind == ObjectKind::Variable;
        if a.space != b.space {
            return false;
        }
        if a.address.object != b.address.object {
            return !(variable(a) && variable(b));
        }
        match (self.range(a), self.range(b)) {
            (Some((low, high)), Some((other_low, other_high))) => low < other_high && other_low < high,
            _ => true,
        }
    }

    /// The first byte that it may touch, and the one behind the last.
    fn range(&self, access: &Access) -> Option<(i64, i64)> {
        let (mut low, mut high) = (access.address.offset.constant, access.address.offset.constant);
        for (value, factor) in &access.address.offset.terms {
            let (lowest, highest) = self.kernel.values[*value].range?;
            let ends = [lowest.checked_mul(*factor)?, highest.checked_mul(*factor)?];
            low = low.checked_add(ends[0].min(ends[1]))?;
            high = high.checked_add(ends[0].max(ends[1]))?;
        }
        Some((low, high.checked_add(i64::try_from(access.extent?).ok()?)?))
    }

    /// Whether on every way from a place to where `stops` holds, or to the end, there is only what `passes`.
    fn all(&self, place: Place, side: Side, stops: &dyn Fn(&Event) -> bool, passes: &dyn Fn(&Event) -> bool) -> bool {
        let mut seen = vec![false; self.kernel.blocks.len()];
        let mut open = vec![(place.0, Some(place.1))];
        while let Some((number, from)) = open.pop() {
            let block = &self.kernel.blocks[number];
            let events: Vec<_> = match (side, from) {
                (Side::Behind, from) => block.events[from.map_or(0, |from| from + 1)..].iter().collect(),
                (Side::InFront, from) => block.events[..from.unwrap_or(block.events.len())].iter().rev().collect(),
            };
            let mut stopped = false;
            for event in events {
                if stops(event) {
                    stopped = true;
                    break;
                }
                if !passes(event) {
                    return false;
                }
            }
            if stopped {
                continue;
            }
            let next: Vec<usize> = match side {
                Side::Behind => block.next.iter().map(|edge| edge.to).collect(),
                Side::InFront => self.before[number].clone(),
            };
            for next in next {
                if !std::mem::replace(&mut seen[next], true) {
                    open.push((next, None));
                }
            }
        }
        true
    }

    /// Whether some way from a place leads to the end of the kernel and not to where `stops` holds.
    fn reaches_end(&self, place: Place, stops: &dyn Fn(&Event) -> bool) -> bool {
        let mut seen = vec![false; self.kernel.blocks.len()];
        let mut open = vec![(place.0, place.1 + 1)];
        while let Some((number, from)) = open.pop() {
            let block = &self.kernel.blocks[number];
            if block.events[from..].iter().any(stops) {
                continue;
            }
            if block.next.is_empty() && !block.is_dead_end {
                return true;
            }
            for edge in &block.next {
                if !std::mem::replace(&mut seen[edge.to], true) {
                    open.push((edge.to, 0));
                }
            }
        }
        false
    }
}
