//! The order of the operations of streams.
//!
//! An operation follows the earlier operations of its stream, the operations that its stream has waited for, and those
//! that the program had waited for when it submitted the operation. The legacy default stream and each blocking stream
//! wait for each other. If two operations without an order race, another order of them may give other results; if none
//! do, every order that the API allows gives the same results as the order of the calls, in which this device runs them.
//!
//! The numbers of operations are per lane: a stream is a lane, and so is each step of a graph while the graph runs. When
//! the graph has ended, its steps together are one operation of the stream.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    ops::Range,
};

use ptx_execute::{Footprint, Uses};

use crate::{
    handle::Handle,
    objects::{Event, Stream},
    report::Operation,
};

/// For each lane, the number of its last operation that has ended for certain.
#[derive(Clone, Debug, Default)]
struct Clock(BTreeMap<usize, u64>);

impl Clock {
    fn join(&mut self, other: &Self) {
        for (lane, number) in &other.0 {
            let own = self.0.entry(*lane).or_default();
            *own = (*own).max(*number);
        }
    }

    fn has(&self, lane: usize, number: u64) -> bool {
        self.0.get(&lane).is_some_and(|own| *own >= number)
    }

    /// The number of the next operation of a lane.
    fn next(&self, lane: usize) -> u64 {
        self.0.get(&lane).map_or(1, |number| number + 1)
    }

    /// Replaces lanes by an operation of another lane.
    fn replace(&mut self, lanes: &BTreeSet<usize>, (lane, number): (usize, u64)) {
        let count = self.0.len();
        self.0.retain(|lane, _| !lanes.contains(lane));
        if self.0.len() < count {
            self.0.insert(lane, number);
        }
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

/// A graph that runs in a stream.
struct Fork {
    stream: usize,
    /// The operations that precede the graph.
    base: Clock,
    steps: Vec<Branch>,
}

/// A step of a graph.
struct Branch {
    lane: usize,
    /// The step itself, and the operations that precede it.
    clock: Clock,
}

/// An operation that the program has not waited for.
struct Open {
    stream: usize,
    lane: usize,
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
    /// Whether both are steps of a graph that runs.
    pub is_of_graph: bool,
}

/// The maximum number of open operations. Beyond it, the oldest is forgotten, and its races are not found.
const MOST_OPEN: usize = 256;

/// The first lane of a step. Streams have lower numbers.
const STEPS: usize = 1 << 48;

/// The order of the operations of all streams.
#[derive(Default)]
pub struct Order {
    streams: BTreeMap<usize, Next>,
    /// The operations that the program has waited for.
    host: Clock,
    /// The operations that precede the last record of each event.
    events: BTreeMap<usize, Clock>,
    open: VecDeque<Open>,
    /// The graphs that run, each after the graph that contains it.
    forks: Vec<Fork>,
    has_forked: bool,
    /// The number of lanes of steps.
    lanes: usize,
}

impl Order {
    /// The graph that runs in a stream.
    fn fork_of(&self, queue: Queue) -> Option<usize> {
        self.forks.iter().rposition(|fork| fork.stream == queue.stream)
    }

    /// The step that runs in a stream.
    fn branch_of(&self, queue: Queue) -> Option<&Branch> {
        self.forks[self.fork_of(queue)?].steps.last()
    }

    fn lane(&self, queue: Queue) -> usize {
        self.branch_of(queue).map_or(queue.stream, |branch| branch.lane)
    }

    /// The operations that precede the next operation of a stream.
    fn before(&self, queue: Queue) -> Clock {
        if let Some(branch) = self.branch_of(queue) {
            let mut clock = branch.clock.clone();
            clock.join(&self.host);
            return clock;
        }
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
        if let Some(fork) = self.fork_of(queue) {
            let fork = &mut self.forks[fork];
            return fork.steps.last_mut().map_or(&mut fork.base, |branch| &mut branch.clock);
        }
        let next = self.streams.entry(queue.stream).or_default();
        next.is_blocking = queue.is_blocking;
        &mut next.clock
    }

    /// Adds an operation at the end of a stream. Returns its races.
    pub fn add(&mut self, queue: Queue, operation: Operation, footprint: Footprint) -> Vec<Race> {
        let mut clock = self.before(queue);
        let lane = self.lane(queue);
        let concurrent = self.open.iter().filter(|open| !clock.has(open.lane, open.number));
        let races = concurrent.filter_map(|open| {
            let (range, uses) = open.footprint.race(&footprint)?;
            let (operation, stream) = (open.operation.clone(), Handle::new(open.stream));
            let is_of_graph = open.stream == queue.stream && open.lane >= STEPS && lane >= STEPS;
            Some(Race { operation, stream, range, uses, is_of_graph })
        });
        let races = races.collect();
        let number = clock.next(lane);
        clock.0.insert(lane, number);
        *self.next(queue) = clock;
        if !footprint.is_empty() {
            self.open.push_back(Open { stream: queue.stream, lane, number, operation, footprint });
        }
        if self.open.len() > MOST_OPEN {
            self.open.pop_front();
        }
        races
    }

    fn wait(&mut self, clock: &Clock) {
        self.host.join(clock);
        let host = &self.host;
        self.open.retain(|open| !host.has(open.lane, open.number));
    }

    /// Whether a graph has run.
    pub fn has_forked(&self) -> bool {
        self.has_forked
    }

    /// A graph begins to run in a stream.
    pub fn fork(&mut self, queue: Queue) {
        let base = self.before(queue);
        self.forks.push(Fork { stream: queue.stream, base, steps: Vec::new() });
        self.has_forked = true;
    }

    /// The next step of a graph begins, after earlier steps.
    pub fn step(&mut self, queue: Queue, after: &[usize]) {
        let Some(fork) = self.fork_of(queue) else { return };
        let Fork { base, steps, .. } = &mut self.forks[fork];
        let mut clock = base.clone();
        after.iter().filter_map(|index| steps.get(*index)).for_each(|branch| clock.join(&branch.clock));
        steps.push(Branch { lane: STEPS + self.lanes, clock });
        self.lanes += 1;
    }

    /// A graph has ended: it is one operation of its stream, or of the step that contains it. A clock with a part of the
    /// graph, such as the clock of an event that a node records, then has the whole graph: races with the rest are missed,
    /// and no race is false.
    pub fn join(&mut self, queue: Queue) {
        let Some(fork) = self.fork_of(queue) else { return };
        let fork = self.forks.remove(fork);
        let (lane, lanes) = (self.lane(queue), fork.steps.iter().map(|branch| branch.lane).collect());
        let mut all = fork.base;
        fork.steps.iter().for_each(|branch| all.join(&branch.clock));
        let graph = (lane, all.next(lane));
        let forks = self
            .forks
            .iter_mut()
            .flat_map(|Fork { base, steps, .. }| steps.iter_mut().map(|branch| &mut branch.clock).chain([base]));
        let streams = self.streams.values_mut().map(|next| &mut next.clock);
        let clocks = streams.chain(self.events.values_mut()).chain(forks).chain([&mut self.host, &mut all]);
        clocks.for_each(|clock| clock.replace(&lanes, graph));
        for open in self.open.iter_mut().filter(|open| lanes.contains(&open.lane)) {
            (open.lane, open.number) = graph;
        }
        self.next(queue).join(&all);
        if self.forks.is_empty() {
            self.lanes = 0;
        }
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
