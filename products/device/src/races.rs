//! Races of operations of streams: the accesses of operations, and the report.

use std::ops::Range;

use ptx_execute::{Footprint, Use, Uses};

use crate::{
    error::Done,
    gpu::Gpu,
    handle::Handle,
    objects::{Copy, Fill, Place, Side, Stream},
    order::{Queue, Race},
    report::{Operation, Submitted, Unordered},
};

impl Gpu {
    /// Whether operations may have no order: the program is checked for races, and has made a stream or launched a graph.
    pub fn is_concurrent(&self) -> bool {
        self.options.races && (self.stream_count > 0 || self.order.has_forked())
    }

    /// A stream, as far as order is concerned.
    pub fn queue(&self, stream: Handle<Stream>) -> Queue {
        let is_blocking = self.streams.get(stream).is_ok_and(|stream| stream.flags & Stream::NON_BLOCKING == 0);
        Queue::new(stream, is_blocking)
    }

    /// Adds an operation at the end of a stream, and reports its races, if the program is checked for races. The same
    /// operations race once for each allocation.
    pub fn order(&mut self, stream: Handle<Stream>, operation: Operation, footprint: Footprint) {
        if !self.options.races {
            return;
        }
        for race in self.order.add(self.queue(stream), operation.clone(), footprint) {
            let names = [&race.operation, &operation].map(Operation::without_number);
            if self.races.insert((names, [race.stream.0, stream.0], race.range.start >> 32)) {
                self.report_race(race, operation.clone(), stream);
            }
        }
    }

    fn report_race(&mut self, race: Race, operation: Operation, stream: Handle<Stream>) {
        let submitted = |operation, stream: Handle<Stream>, uses: Uses| {
            let stream = self.streams.get(stream).map_or(0, |stream| stream.number);
            Submitted { operation, stream, writes: uses.writes() }
        };
        let operations =
            [submitted(race.operation, race.stream, race.uses[0]), submitted(operation, stream, race.uses[1])];
        let (place, bytes) = (self.device.name_of(race.range.start), race.range.end - race.range.start);
        self.recorder.race(Unordered::new(operations, race.is_of_graph, place, bytes));
    }

    /// The program waits for a stream.
    pub fn wait_for(&mut self, stream: Handle<Stream>) {
        self.order.wait_for(self.queue(stream));
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

    fn ranges_of(&self, place: &Place, copy: &Copy) -> Done<Option<Vec<Range<u64>>>> {
        let rows = (0..copy.layers).flat_map(|layer| (0..copy.rows).map(move |row| (row, layer)));
        rows.map(|(row, layer)| Ok(self.range_of((place.side, place.at(row, layer)?), copy.bytes as u64))).collect()
    }

    /// The accesses of a copy, and whether the program waits for it in any case: it writes memory that the API does not
    /// know.
    pub fn footprint_of_copy(&self, copy: &Copy) -> Done<(Footprint, bool)> {
        let (to, from) = (self.ranges_of(&copy.to, copy)?, self.ranges_of(&copy.from, copy)?);
        let waits = to.is_none();
        let of = |ranges: Option<Vec<Range<u64>>>, of: Use| ranges.into_iter().flatten().map(move |range| (range, of));
        Ok((of(from, Use::Read).chain(of(to, Use::Write)).collect(), waits))
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
