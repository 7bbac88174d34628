//! The order of the operations of streams, and the races of operations without an order.
//!
//! An operation follows the earlier operations of its stream, the operations that its stream has waited for, and those
//! that the program had waited for when it submitted the operation. The legacy default stream and each blocking stream
//! wait for each other. If two operations without an order race, another order of them may give other results; if none
//! do, every order that the API allows gives the same results as the order of the calls, in which this device runs them.

use std::{
    collections::{BTreeMap, VecDeque},
    ops::Range,
};

use ptx_execute::{Footprint, Use, Uses};
use rustc_hash::FxHashSet;

use crate::{
    gpu::Gpu,
    handle::Handle,
    objects::{Copy, Event, Fill, Place, Side, Stream},
    report::{Operation, Submitted, Unordered},
};

/// For each stream, the number of its last operation that has ended for certain.
#[derive(Clone, Debug, Default)]
struct Clock(BTreeMap<usize, u64>);

impl Clock {
    fn join(&mut self, other: &Self) {
        for (stream, number) in &other.0 {
            let own = self.0.entry(*stream).or_default();
            *own = (*own).max(*number);
        }
    }

    fn has(&self, stream: usize, number: u64) -> bool {
        self.0.get(&stream).is_some_and(|own| *own >= number)
    }
}

/// An operation that the program has not waited for.
struct Open {
    stream: usize,
    number: u64,
    operation: Operation,
    footprint: Footprint,
}

/// The maximum number of open operations. Beyond it, the oldest is forgotten, and its races are not found.
const MOST_OPEN: usize = 256;

/// The order of the operations of all streams.
#[derive(Default)]
pub struct Order {
    /// The operations that have ended before the next operation of each stream begins.
    streams: BTreeMap<usize, Clock>,
    /// Those that the program has waited for.
    host: Clock,
    /// Those that precede the last record of each event.
    events: BTreeMap<usize, Clock>,
    open: VecDeque<Open>,
    /// The races that were reported: operations, streams and allocations.
    reported: FxHashSet<(Operation, Operation, usize, usize, u64)>,
}

/// The key of a stream: two handles name the legacy default stream.
fn key(stream: Handle<Stream>) -> usize {
    if stream == Stream::LEGACY { Stream::NULL.0 } else { stream.0 }
}

impl Order {
    fn wait(&mut self, clock: &Clock) {
        self.host.join(clock);
        let host = &self.host;
        self.open.retain(|open| !host.has(open.stream, open.number));
    }

    fn of_all(&self) -> Clock {
        let mut all = Clock::default();
        self.streams.values().for_each(|clock| all.join(clock));
        all
    }
}

impl Gpu {
    /// Whether operations may have no order: the program is checked for races, and has made a stream.
    pub fn is_concurrent(&self) -> bool {
        self.options.races && self.stream_count > 0
    }

    /// The operations that precede the next operation of a stream.
    fn before(&self, stream: Handle<Stream>) -> Clock {
        let is_blocking = |stream: Handle<Stream>| {
            self.streams.get(stream).is_ok_and(|stream| stream.flags & Stream::NON_BLOCKING == 0)
        };
        let of = |stream: usize| self.order.streams.get(&stream);
        let mut clock = of(key(stream)).cloned().unwrap_or_default();
        clock.join(&self.order.host);
        if key(stream) == Stream::NULL.0 {
            let blocking = self.streams.handles().filter(|stream| is_blocking(*stream));
            blocking.filter_map(|stream| of(stream.0)).for_each(|other| clock.join(other));
        } else if is_blocking(stream) {
            of(Stream::NULL.0).into_iter().for_each(|other| clock.join(other));
        }
        clock
    }

    /// Adds an operation at the end of a stream, and reports its races.
    pub fn order(&mut self, stream: Handle<Stream>, operation: Operation, footprint: Footprint) {
        let mut clock = self.before(stream);
        let own = key(stream);
        let number = clock.0.get(&own).map_or(1, |number| number + 1);
        for index in 0..self.order.open.len() {
            let open = &self.order.open[index];
            if clock.has(open.stream, open.number) {
                continue;
            }
            let Some((range, uses)) = open.footprint.race(&footprint) else { continue };
            let (first, other) = (open.operation.clone(), open.stream);
            let names = (first.without_number(), operation.without_number());
            if self.order.reported.insert((names.0, names.1, other, own, range.start >> 32)) {
                self.report_race((range, uses), [(first, other), (operation.clone(), own)]);
            }
        }
        clock.0.insert(own, number);
        self.order.streams.insert(own, clock);
        if !footprint.is_empty() {
            self.order.open.push_back(Open { stream: own, number, operation, footprint });
        }
        if self.order.open.len() > MOST_OPEN {
            self.order.open.pop_front();
        }
    }

    fn report_race(&mut self, (range, uses): (Range<u64>, [Uses; 2]), operations: [(Operation, usize); 2]) {
        let [first, second] = operations.map(|(operation, stream)| {
            let number = self.streams.get(Handle::new(stream)).map_or(0, |stream| stream.number);
            (operation, number)
        });
        let submitted =
            |(operation, stream): (Operation, u64), uses: Uses| Submitted { operation, stream, writes: uses.writes() };
        let place = self.device.name_of(range.start);
        let operations = [submitted(first, uses[0]), submitted(second, uses[1])];
        self.recorder.race(Unordered::new(operations, place, range.end - range.start));
    }

    /// The program waits for a stream.
    pub fn wait_for(&mut self, stream: Handle<Stream>) {
        let clock = self.before(stream);
        self.order.wait(&clock);
    }

    /// The program waits for all streams.
    pub fn wait_for_all(&mut self) {
        let all = self.order.of_all();
        self.order.wait(&all);
    }

    /// The program waits for an event.
    pub fn wait_for_event(&mut self, event: Handle<Event>) {
        if let Some(clock) = self.order.events.get(&event.0).cloned() {
            self.order.wait(&clock);
        }
    }

    /// A stream records an event.
    pub fn record_order(&mut self, stream: Handle<Stream>, event: Handle<Event>) {
        let clock = self.before(stream);
        self.order.events.insert(event.0, clock);
    }

    /// A stream waits for an event.
    pub fn order_after_event(&mut self, stream: Handle<Stream>, event: Handle<Event>) {
        if let Some(clock) = self.order.events.get(&event.0) {
            self.order.streams.entry(key(stream)).or_default().join(clock);
        }
    }

    /// A stream waits for a value in memory: for the operations before the write of the value, and here for all.
    pub fn order_after_all(&mut self, stream: Handle<Stream>) {
        let all = self.order.of_all();
        self.order.streams.entry(key(stream)).or_default().join(&all);
    }

    /// The bytes at an address that operations of the device access. `None` for memory of the host that the API does not
    /// know: it is copied before the call returns.
    fn range_of(&self, (side, address): (Side, u64), bytes: u64) -> Option<Range<u64>> {
        let known = self.device.find(address).map(|_| address);
        let address = match side {
            Side::Device => Some(address),
            Side::Host | Side::Any => known.or_else(|| self.memory.of_host(address as usize)),
        }?;
        Some(address..address.saturating_add(bytes))
    }

    fn ranges_of(&self, place: &Place, copy: &Copy) -> Option<Vec<Range<u64>>> {
        let rows = (0..copy.layers).flat_map(|layer| (0..copy.rows).map(move |row| (row, layer)));
        rows.map(|(row, layer)| self.range_of((place.side, place.at(row, layer).ok()?), copy.bytes as u64)).collect()
    }

    /// The accesses of a copy, and whether the program waits for it in any case: it writes memory that the API does not
    /// know.
    pub fn footprint_of_copy(&self, copy: &Copy) -> (Footprint, bool) {
        let [to, from] = [&copy.to, &copy.from].map(|place| self.ranges_of(place, copy));
        let waits = to.is_none();
        let of = |ranges: Option<Vec<Range<u64>>>, of: Use| ranges.into_iter().flatten().map(move |range| (range, of));
        (of(from, Use::Read).chain(of(to, Use::Write)).collect(), waits)
    }

    /// Whether both sides of a copy are memory of the device, so that the program does not wait for the copy.
    pub fn is_within_device(&self, copy: &Copy) -> bool {
        let is_device = |place: &Place| match place.side {
            Side::Device => true,
            Side::Host => false,
            Side::Any => self.memory.find(place.address).is_some_and(|(_, found)| !found.kind.is_of_host()),
        };
        is_device(&copy.to) && is_device(&copy.from)
    }
}

/// The accesses of a fill.
pub fn footprint_of_fill(fill: &Fill) -> Footprint {
    let row = (fill.size * fill.width) as u64;
    let start = |index: u64| fill.address + index * fill.pitch as u64;
    (0..fill.rows as u64).map(|index| (start(index)..start(index) + row, Use::Write)).collect()
}
