//! The order of the operations of streams.
//!
//! An operation follows the earlier operations of its stream, the operations that its stream has waited for, and those
//! that the program had waited for when it submitted the operation. The legacy default stream and each blocking stream
//! wait for each other. If two operations without an order race, another order of them may give other results; if none
//! do, every order that the API allows gives the same results as the order of the calls, in which this device runs them.

use std::{
    collections::{BTreeMap, VecDeque},
    ops::Range,
};

use ptx_execute::{Footprint, Uses};

use crate::{
    handle::Handle,
    objects::{Event, Stream},
    report::Operation,
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

/// A stream, as far as order is concerned.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    stream: usize,
    /// Whether it and the legacy default stream wait for each other.
    is_blocking: bool,
}

impl Queue {
    /// Two handles name the legacy default stream.
    pub fn new(stream: Handle<Stream>, is_blocking: bool) -> Self {
        Self { stream: if stream == Stream::LEGACY { Stream::NULL.0 } else { stream.0 }, is_blocking }
    }
}

/// The operations that have ended before the next operation of a stream begins.
#[derive(Debug, Default)]
struct Next {
    clock: Clock,
    is_blocking: bool,
}

/// An operation that the program has not waited for.
struct Open {
    stream: usize,
    number: u64,
    operation: Operation,
    footprint: Footprint,
}

/// An earlier operation with which a later one has no order, and the bytes that both access.
pub struct Race {
    pub operation: Operation,
    pub stream: Handle<Stream>,
    pub range: Range<u64>,
    /// The accesses of the earlier operation, and of the later one.
    pub uses: [Uses; 2],
}

/// The maximum number of open operations. Beyond it, the oldest is forgotten, and its races are not found.
const MOST_OPEN: usize = 256;

/// The order of the operations of all streams.
#[derive(Default)]
pub struct Order {
    streams: BTreeMap<usize, Next>,
    /// The operations that the program has waited for.
    host: Clock,
    /// The operations that precede the last record of each event.
    events: BTreeMap<usize, Clock>,
    open: VecDeque<Open>,
}

impl Order {
    /// The operations that precede the next operation of a stream.
    fn before(&self, queue: Queue) -> Clock {
        let mut clock = self.streams.get(&queue.stream).map(|next| next.clock.clone()).unwrap_or_default();
        clock.join(&self.host);
        let default = Stream::NULL.0;
        let waits = |(stream, next): &(&usize, &Next)| match queue.stream == default {
            true => next.is_blocking,
            false => queue.is_blocking && **stream == default,
        };
        self.streams.iter().filter(waits).for_each(|(_, next)| clock.join(&next.clock));
        clock
    }

    fn next(&mut self, queue: Queue) -> &mut Clock {
        let next = self.streams.entry(queue.stream).or_default();
        next.is_blocking = queue.is_blocking;
        &mut next.clock
    }

    /// Adds an operation at the end of a stream. Returns its races.
    pub fn add(&mut self, queue: Queue, operation: Operation, footprint: Footprint) -> Vec<Race> {
        let mut clock = self.before(queue);
        let concurrent = self.open.iter().filter(|open| !clock.has(open.stream, open.number));
        let races = concurrent.filter_map(|open| {
            let (range, uses) = open.footprint.race(&footprint)?;
            Some(Race { operation: open.operation.clone(), stream: Handle::new(open.stream), range, uses })
        });
        let races = races.collect();
        let stream = queue.stream;
        let number = clock.0.get(&stream).map_or(1, |number| number + 1);
        clock.0.insert(stream, number);
        *self.next(queue) = clock;
        if !footprint.is_empty() {
            self.open.push_back(Open { stream, number, operation, footprint });
        }
        if self.open.len() > MOST_OPEN {
            self.open.pop_front();
        }
        races
    }

    fn wait(&mut self, clock: &Clock) {
        self.host.join(clock);
        let host = &self.host;
        self.open.retain(|open| !host.has(open.stream, open.number));
    }

    fn of_all(&self) -> Clock {
        let mut all = Clock::default();
        self.streams.values().for_each(|next| all.join(&next.clock));
        all
    }

    /// The program waits for a stream.
    pub fn wait_for(&mut self, queue: Queue) {
        self.wait(&self.before(queue));
    }

    /// The program waits for all streams.
    pub fn wait_for_all(&mut self) {
        self.wait(&self.of_all());
    }

    /// The program waits for an event.
    pub fn wait_for_event(&mut self, event: Handle<Event>) {
        if let Some(clock) = self.events.get(&event.0).cloned() {
            self.wait(&clock);
        }
    }

    /// A stream records an event.
    pub fn record(&mut self, queue: Queue, event: Handle<Event>) {
        self.events.insert(event.0, self.before(queue));
    }

    /// A stream waits for an event.
    pub fn follow_event(&mut self, queue: Queue, event: Handle<Event>) {
        if let Some(clock) = self.events.get(&event.0).cloned() {
            self.next(queue).join(&clock);
        }
    }

    /// A stream waits for a value in memory: for the operations before the write of the value, and here for all.
    pub fn follow_all(&mut self, queue: Queue) {
        let all = self.of_all();
        self.next(queue).join(&all);
    }
}
