//! Executions: events, and the relations between them.

use crate::{
    asynchronous::Memory,
    limit::Limit,
    place::Place,
    program::{Language, Location, Program, Span, Value},
    relation::{MAX_EVENTS, Relation, Set},
    unfold::{EventKind, Path, PathBarrier, PathEvent, Term, Written},
};

/// A memory operation, a fence, or a part of a barrier.
#[derive(Clone, Copy, Debug)]
pub struct Event<L: Language> {
    /// The thread; `None` for the initial writes.
    pub thread: Option<usize>,
    /// The kind of the event.
    pub kind: EventKind<L>,
    /// The bytes of the virtual address; meaningless unless the event is a memory operation.
    pub address: Span,
    /// The physical bytes at that address.
    pub location: Span,
    /// Part of a read-modify-write without a destination: of a `red`.
    pub reduction: bool,
    /// For an event outside of program order, the number of its asynchronous operation in the thread.
    pub operation: Option<u16>,
    /// The kind of memory that holds the variable.
    pub memory: Memory,
    /// The CTA whose shared memory has the variable, as far as fences depend on it.
    pub cta: Option<Place>,
    /// The index into the thread's code.
    pub statement: usize,
}

/// The common part of all executions of one choice of paths.
#[derive(Clone, Debug)]
pub struct Skeleton<L: Language> {
    /// The initial writes, then the events of each thread in turn.
    pub events: Vec<Event<L>>,
    /// The processor, GPU, cluster and CTA of each thread.
    pub places: Vec<Place>,
    /// Program order (section 8.9.1).
    pub po: Relation,
    /// Pairs of memory operations at the same physical location.
    pub same_location: Relation,
    /// From the read of a read-modify-write to its write.
    pub rmw: Relation,
    /// From a read to the events that depend on it, through values or branches (section 8.10.4). Events of the host
    /// have [`Skeleton::syntactic`] instead.
    pub dep: Relation,
    /// The initial writes.
    pub inits: Set,
    /// The reads.
    pub reads: Set,
    /// The writes, including the initial ones.
    pub writes: Set,
    /// The fences.
    pub fences: Set,
    /// The events of threads outside of the GPUs: of the host, and of NICs.
    pub host: Set,
    /// The syntactic dependencies between events of the host, whatever the values are.
    pub syntactic: Syntactic,
}

/// Syntactic dependencies.
#[derive(Clone, Copy, Debug)]
pub struct Syntactic {
    /// From a read to an access whose address is computed from its value.
    pub address: Relation,
    /// From a read to a write whose value is computed from its value.
    pub data: Relation,
    /// From a read to all events after a branch that depends on it.
    pub control: Relation,
    /// From the read of a successful compare and exchange, through any of these.
    pub picked: Relation,
    /// The same, through an address.
    pub picked_address: Relation,
}

impl Syntactic {
    /// Adds the dependencies of an event. `first` is the first event of its thread.
    fn insert(&mut self, first: usize, here: usize, written: &Written) {
        let Self { address, data, control, picked, picked_address } = self;
        let all = [
            (address, written.address),
            (data, written.data),
            (control, written.control),
            (picked, written.picked),
            (picked_address, written.picked_address),
        ];
        for (relation, reads) in all {
            reads.for_each(|read| relation.insert(first + read, here));
        }
    }
}

/// A candidate execution: the choices that the axioms judge.
#[derive(Clone, Debug)]
pub struct Execution<L: Language> {
    /// The events, and the relations that no choice changes.
    pub skeleton: Skeleton<L>,
    /// From a write to the reads that return its value.
    pub rf: Relation,
    /// Coherence order (section 8.9.6); the modification order of C++.
    pub co: Relation,
    /// Fence-SC order (section 8.9.3).
    pub sc: Relation,
    /// From the arrivals to the waits of the same phase of a barrier.
    pub barriers: Relation,
    /// From arrivals to the waits that observe them, in the cases where this alone does not order memory operations: at
    /// mbarriers, and from relaxed arrivals at the barrier of the cluster.
    pub phases: Relation,
    /// The value that each memory operation reads or writes; `None` where a cycle of values leaves it undefined.
    pub values: Vec<Option<Value>>,
}

impl<L: Language> Execution<L> {
    /// From a read to the writes that follow its source in coherence order (section 8.9.7).
    pub fn fr(&self) -> Relation {
        self.rf.inverse().then(&self.co)
    }
}

impl<L: Language> Skeleton<L> {
    /// The number of events.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Memory operations.
    pub fn memory(&self) -> Set {
        self.reads | self.writes
    }

    /// The events for which `holds` returns true.
    pub fn filter(&self, holds: impl Fn(&Event<L>) -> bool) -> Set {
        (0..self.len()).filter(|&event| holds(&self.events[event])).collect()
    }

    /// The memory operations at the same physical location.
    pub fn at(&self, location: Span) -> Set {
        self.memory().filter(|&event| self.events[event].location == location).collect()
    }

    /// Pairs of memory operations at the same one of these locations.
    fn same(&self, locations: &[Span]) -> Relation {
        let mut same = Relation::empty(self.len());
        for location in locations {
            let events = self.at(*location);
            events.for_each(|event| *same.row_mut(event) = events);
        }
        same
    }

    /// Whether one event precedes the other in issue order: it is of an earlier instruction of the same thread, or both
    /// are of one instruction and are in program order.
    pub fn is_issued_before(&self, a: usize, b: usize) -> bool {
        let (first, second) = (&self.events[a], &self.events[b]);
        a < b && self.same_thread(a, b) && (first.operation.is_none() || first.operation != second.operation)
    }

    /// Whether both events are of one asynchronous operation.
    pub fn same_operation(&self, a: usize, b: usize) -> bool {
        self.events[a].operation.is_some()
            && self.same_thread(a, b)
            && self.events[a].operation == self.events[b].operation
    }

    /// Whether both events are of one thread.
    pub fn same_thread(&self, a: usize, b: usize) -> bool {
        self.events[a].thread.is_some() && self.events[a].thread == self.events[b].thread
    }

    /// The place of an event's thread; `None` for the initial writes.
    pub fn place(&self, event: usize) -> Option<Place> {
        self.events[event].thread.map(|thread| self.places[thread])
    }
}

/// One path of each thread, with the skeleton of its executions: the starting point of a search.
pub struct Combination<'p, L: Language> {
    /// The path of each thread.
    pub paths: Vec<&'p Path<L>>,
    /// The index of each thread's first event.
    base: Vec<usize>,
    /// The events, and the relations that no choice changes.
    pub skeleton: Skeleton<L>,
    /// The memory locations, in the order of their initial writes.
    pub locations: Vec<Span>,
    /// For each physical variable, its value outside of all locations, and the range of its locations.
    pub variables: Vec<(Value, std::ops::Range<usize>)>,
    initial: Vec<Value>,
    /// The initial value of each variable of the program.
    starts: Vec<Value>,
}

/// The initial write to a location.
fn initial<L: Language>(program: &Program<L>, location: Span) -> Event<L> {
    Event {
        thread: None,
        kind: EventKind::Init,
        address: location,
        location,
        reduction: false,
        operation: None,
        memory: program.locations[usize::from(location.variable.0)].memory,
        cta: program.locations[usize::from(location.variable.0)].cta,
        statement: 0,
    }
}

impl<'p, L: Language> Combination<'p, L> {
    /// # Errors
    /// If there are more events than a relation holds.
    pub fn new(program: &Program<L>, paths: Vec<&'p Path<L>>) -> Result<Self, Limit> {
        let mut used: Vec<Span> = Vec::new();
        for event in paths.iter().flat_map(|path| &path.events) {
            let span = program.physical_span(event.span);
            if matches!(event.kind, EventKind::Read(_) | EventKind::Write(_)) && !used.contains(&span) {
                used.push(span);
            }
        }
        used.sort_unstable();
        let (mut locations, mut variables) = (Vec::new(), Vec::new());
        let all = (0..program.locations.len()).map(|index| Location(index as u16));
        for physical in all.filter(|&location| program.physical(location) == location) {
            let whole = Span::whole(physical);
            let first = locations.len();
            locations.extend(used.iter().copied().filter(|span| span.variable == whole.variable));
            if locations.len() == first && !program.locations[usize::from(physical.0)].private {
                locations.push(whole);
            }
            let known = locations[first..].iter().fold(0, |known, span| known | span.within(span.extract(Value::MAX)));
            let initial = program.locations[usize::from(physical.0)].initial;
            variables.push((initial & !known, first..locations.len()));
        }
        let len = locations.len() + paths.iter().map(|path| path.events.len()).sum::<usize>();
        if len > MAX_EVENTS {
            return Err(Limit::Events);
        }
        let mut events: Vec<Event<L>> = Vec::with_capacity(len);
        events.extend(locations.iter().map(|location| initial(program, *location)));
        let inits = Set::first(events.len());
        let empty = Relation::empty(len);
        let mut skeleton = Skeleton {
            events,
            places: program.threads.iter().map(|thread| thread.place).collect(),
            po: empty,
            same_location: empty,
            rmw: empty,
            dep: empty,
            inits,
            reads: Set(0),
            writes: inits,
            fences: Set(0),
            host: Set(0),
            syntactic: Syntactic { address: empty, data: empty, control: empty, picked: empty, picked_address: empty },
        };
        let mut base = Vec::with_capacity(paths.len());
        for (thread, path) in paths.iter().enumerate() {
            let first = skeleton.len();
            base.push(first);
            let is_host = !program.threads[thread].place.processor.is_gpu();
            for (index, event) in path.events.iter().enumerate() {
                let here = skeleton.len();
                match event.kind {
                    EventKind::Read(_) => skeleton.reads.insert(here),
                    EventKind::Write(_) => skeleton.writes.insert(here),
                    EventKind::Fence(_) => skeleton.fences.insert(here),
                    _ => {}
                }
                for earlier in 0..index {
                    let other = &path.events[earlier];
                    if event.operation.or(other.operation).is_some() {
                        continue;
                    }
                    if event.vector.is_none() || event.vector != other.vector || (event.rmw && earlier + 1 == index) {
                        skeleton.po.insert(first + earlier, here);
                    }
                }
                if is_host {
                    skeleton.host.insert(here);
                    skeleton.syntactic.insert(first, here, &event.written);
                }
                if event.rmw {
                    skeleton.rmw.insert(here - 1, here);
                }
                if !is_host && !matches!(event.kind, EventKind::Fence(_) | EventKind::Wait) {
                    event.depends.for_each(|read| skeleton.dep.insert(first + read, here));
                }
                skeleton.events.push(Event {
                    thread: Some(thread),
                    kind: event.kind,
                    address: Span { variable: program.address(event.span.variable), ..event.span },
                    location: program.physical_span(event.span),
                    reduction: event.reduction,
                    operation: event.operation,
                    memory: program
                        .locations
                        .get(usize::from(event.span.variable.0))
                        .map_or(Memory::Global, |of| of.memory),
                    cta: program.locations.get(usize::from(event.span.variable.0)).and_then(|of| of.cta),
                    statement: event.statement,
                });
            }
        }
        skeleton.same_location = skeleton.same(&locations);
        let initial = |span: &Span| span.extract(program.locations[usize::from(span.variable.0)].initial);
        let initial = locations.iter().map(initial).collect();
        let starts = program.locations.iter().map(|variable| variable.initial).collect();
        Ok(Self { paths, base, skeleton, locations, variables, initial, starts })
    }

    /// The values of the physical variables, computed from the values of their locations.
    pub fn memory<'s>(&'s self, value: impl Fn(usize) -> Value + 's) -> impl Iterator<Item = Value> + 's {
        self.variables.iter().map(move |(rest, locations)| {
            locations.clone().fold(*rest, |all, index| all | self.locations[index].within(value(index)))
        })
    }

    /// The initial value of the bytes of a span.
    pub(crate) fn initial_of(&self, span: Span) -> Option<Value> {
        self.starts.get(usize::from(span.variable.0)).map(|value| span.extract(*value))
    }

    /// The value of a term of a thread, if `read` has the values of the events that the term depends on.
    pub fn term(&self, thread: usize, term: Term, read: &impl Fn(usize) -> Option<Value>) -> Option<Value> {
        self.paths[thread].value(term, &|event| read(self.base[thread] + event))
    }

    /// The value that a write writes.
    pub fn written(&self, write: usize, read: &impl Fn(usize) -> Option<Value>) -> Option<Value> {
        match self.skeleton.events[write].thread {
            None => Some(self.initial[write]),
            Some(thread) => self.term(thread, self.paths[thread].events[write - self.base[thread]].value, read),
        }
    }

    /// The thread of a write, and the term that it writes.
    pub fn written_term(&self, write: usize) -> Option<(usize, Term)> {
        let thread = self.skeleton.events[write].thread?;
        Some((thread, self.paths[thread].events[write - self.base[thread]].value))
    }

    /// The event whose value a term of a thread copies.
    pub fn copy(&self, thread: usize, term: Term) -> Option<usize> {
        self.paths[thread].copied(term).map(|event| self.base[thread] + event)
    }

    /// The thread and the term that a term copies, traced through all reads for which `source` has the write.
    pub fn origin(&self, thread: usize, term: Term, source: &impl Fn(usize) -> Option<usize>) -> (usize, Term) {
        let (mut thread, mut term) = (thread, term);
        // No value is copied more often than there are events.
        for _ in 0..MAX_EVENTS {
            let Some(write) = self.paths[thread].copied(term).and_then(|read| source(self.base[thread] + read)) else {
                break;
            };
            match self.skeleton.events[write].thread {
                None => return (0, Term::Constant(self.initial[write])),
                Some(writer) => (thread, term) = (writer, self.paths[writer].events[write - self.base[writer]].value),
            }
        }
        // A constant is the same in every thread.
        if matches!(term, Term::Constant(_)) { (0, term) } else { (thread, term) }
    }

    /// The sources of a term of a thread, as events of the execution.
    pub fn sources(&self, thread: usize, term: Term) -> Set {
        Set(self.paths[thread].sources(term).0.checked_shl(self.base[thread] as u32).unwrap_or(0))
    }

    /// The sources of the value that a write writes.
    pub fn written_sources(&self, write: usize) -> Set {
        match self.skeleton.events[write].thread {
            None => Set(0),
            Some(thread) => self.sources(thread, self.paths[thread].events[write - self.base[thread]].value),
        }
    }

    /// The events of barriers, in program order of each thread: thread, event, name.
    pub fn barriers(&self) -> impl Iterator<Item = (usize, usize, &PathBarrier)> {
        self.paths.iter().enumerate().flat_map(move |(thread, path)| {
            let barrier = move |(index, event): (usize, &'p PathEvent<L>)| {
                Some((thread, self.base[thread] + index, event.barrier.as_ref()?))
            };
            path.events.iter().enumerate().filter_map(barrier)
        })
    }
}
