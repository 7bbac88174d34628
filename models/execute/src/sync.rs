//! Synchronization through memory: release and acquire patterns, and observation (sections 8.8 and 8.9).

use std::rc::Rc;

use ptx_isa::Scope;
use rustc_hash::FxHashMap;

use crate::{
    clock::{Agent, Clock, Past, cta_of},
    shadow::{ClusterSize, Record},
};

/// The pasts that release patterns make visible, by the threads that may acquire them: of a CTA, of a cluster, or all.
#[derive(Clone, Debug, Default)]
pub struct Message {
    /// Released by threads of a CTA, with any scope.
    ctas: Vec<(u32, Past)>,
    /// Released by threads of a cluster with its scope or a wider scope; by the first CTA of the cluster.
    clusters: Vec<(u32, Past)>,
    /// Released with the scope of the device or a wider scope.
    all: Option<Past>,
}

fn add(list: &mut Vec<(u32, Past)>, key: u32, past: &Past) {
    match list.iter_mut().find(|(own, _)| *own == key) {
        Some((_, own)) => own.join(past),
        None => list.push((key, past.clone())),
    }
}

/// The first CTA of the cluster of a CTA. Other grids may have clusters of another size, but their CTAs have other
/// numbers.
fn first_of(cta: u32, cluster: ClusterSize) -> u32 {
    cta - cta % cluster
}

impl Message {
    pub fn is_empty(&self) -> bool {
        self.ctas.is_empty()
    }

    /// Adds the past of a release pattern, whose first operation is by `agent` and has this scope.
    pub fn release(&mut self, agent: Agent, scope: Scope, past: &Past, cluster: ClusterSize) {
        add(&mut self.ctas, cta_of(agent), past);
        if scope >= Scope::Cluster {
            add(&mut self.clusters, first_of(cta_of(agent), cluster), past);
        }
        if scope >= Scope::Gpu {
            match &mut self.all {
                Some(all) => all.join(past),
                None => self.all = Some(past.clone()),
            }
        }
    }

    /// An acquire pattern, whose last operation has this scope, acquires the message. Returns whether the clock gets an
    /// event that it has not seen.
    pub fn acquire(&self, clock: &mut Clock, scope: Scope, cluster: ClusterSize) -> bool {
        fn find_past(list: &[(u32, Past)], key: u32) -> Option<&Past> {
            list.iter().find(|(own, _)| *own == key).map(|(_, past)| past)
        }
        let cta = cta_of(clock.agent);
        let of_cluster = || find_past(&self.clusters, first_of(cta, cluster));
        let found = [
            find_past(&self.ctas, cta),
            (scope >= Scope::Cluster).then(of_cluster).flatten(),
            self.all.as_ref().filter(|_| scope >= Scope::Gpu),
        ];
        let mut has_new = false;
        for past in found.into_iter().flatten() {
            has_new |= !clock.has_seen_all(&past.seen);
            clock.acquire(past);
        }
        has_new
    }

    pub fn join(&mut self, other: &Self) {
        other.ctas.iter().for_each(|(cta, past)| add(&mut self.ctas, *cta, past));
        other.clusters.iter().for_each(|(cluster, past)| add(&mut self.clusters, *cluster, past));
        match (&mut self.all, &other.all) {
            (Some(all), Some(other)) => all.join(other),
            (all @ None, Some(other)) => *all = Some(other.clone()),
            (_, None) => {}
        }
    }
}

/// The pending operations of a thread: fences that a later write would complete to a release pattern, and reads that a
/// later fence would complete to an acquire pattern.
#[derive(Clone, Debug, Default)]
pub struct Pending {
    /// By scope (CTA, cluster, device), the past at the last fence with this scope or a wider scope.
    fences: [Option<Past>; LEVELS],
    /// The reads of released values, as long as a fence may still acquire them.
    reads: Vec<PendingRead>,
    /// Whether a read of memory has ordered an event before the thread that nothing else orders.
    pub is_ordered_by_value: bool,
}

/// A read of a place, and the message that was released at this place.
#[derive(Clone, Debug)]
struct PendingRead {
    place: AddressRange,
    message: Rc<Message>,
    /// Whether the read is a wait for an mbarrier.
    is_wait: bool,
    /// The level of the widest scope with which the thread has acquired the message, plus one.
    acquired: usize,
}

/// An address and a size.
type AddressRange = (u64, u64);

/// The maximum number of pending reads of a thread. Beyond it, the oldest read is forgotten.
const MOST_READS: usize = 64;

/// The number of scopes that contain different threads: CTA, cluster, device.
const LEVELS: usize = 3;

fn level(scope: Scope) -> usize {
    match scope {
        Scope::Cta => 0,
        Scope::Cluster => 1,
        Scope::Gpu | Scope::Sys => 2,
    }
}

impl Pending {
    /// Records a fence that releases.
    pub fn release(&mut self, scope: Scope, past: &Past) {
        self.fences[..=level(scope)].iter_mut().for_each(|fence| *fence = Some(past.clone()));
    }

    /// Records a fence that acquires. Returns the number of messages that it acquires.
    pub fn acquire(&mut self, clock: &mut Clock, scope: Scope, cluster: ClusterSize) -> u64 {
        self.acquire_if(|_| true, clock, scope, cluster)
    }

    /// Acquires the messages that were released at the wanted places. A message does not change, so no read is acquired
    /// twice with one scope, and a read is dropped after it was acquired with the widest scope.
    fn acquire_if(
        &mut self,
        wanted: impl Fn(AddressRange) -> bool,
        clock: &mut Clock,
        scope: Scope,
        cluster: ClusterSize,
    ) -> u64 {
        let (level, mut count) = (level(scope) + 1, 0);
        for read in self.reads.iter_mut().filter(|read| read.acquired < level && wanted(read.place)) {
            let has_new = read.message.acquire(clock, scope, cluster);
            self.is_ordered_by_value |= has_new && !read.is_wait;
            (read.acquired, count) = (level, count + 1);
        }
        self.reads.retain(|read| read.acquired < LEVELS);
        count
    }

    /// Records a strong read of a released value.
    fn read(&mut self, place: AddressRange, message: &Rc<Message>, is_wait: bool) {
        if self.reads.iter().any(|read| read.place == place && Rc::ptr_eq(&read.message, message)) {
            return;
        }
        if self.reads.len() == MOST_READS {
            self.reads.remove(0);
        }
        self.reads.push(PendingRead { place, message: Rc::clone(message), is_wait, acquired: 0 });
    }

    /// The past at the last fence with a scope or a wider scope.
    pub fn fence(&self, scope: Scope) -> Option<&Past> {
        self.fences[level(scope)].as_ref()
    }

    /// Records a relaxed wait for a released value. A later fence completes it to an acquire pattern.
    pub fn observe(&mut self, address: u64, message: &Rc<Message>) {
        if !message.is_empty() {
            self.read((address, 8), message, true);
        }
    }

    fn releases(&self) -> bool {
        self.fences[0].is_some()
    }
}

/// A place through which threads synchronize.
#[derive(Clone, Debug)]
struct Location {
    /// The last write, if it was recorded.
    last: Option<Record>,
    /// The message that the last write released, and the writes that it continues if it is atomic.
    message: Rc<Message>,
    /// The messages that operations on the place released, by agent and size. A later strong write of the same agent
    /// releases its message again.
    releases: Vec<(Agent, u64, Rc<Message>)>,
    /// Recorded writes, the last one last. The flag is set for an atomic operation that read the write before it.
    /// `first` is the number of the value before all recorded writes.
    writes: Vec<(Record, bool)>,
    first: u32,
    /// The strong reads of writes, by the numbers of the writes.
    observers: Vec<(u32, Record)>,
}

/// The maximum numbers of observers and releases of a place, and of its writes in small launches. In large launches
/// only the last write is recorded.
const MOST_OBSERVERS: usize = 64;
const MOST_WRITES: usize = 64;

fn is_same(a: Record, b: Record) -> bool {
    (a.agent, a.epoch, a.info.step()) == (b.agent, b.epoch, b.info.step())
}

impl Location {
    fn new(nothing: &Rc<Message>) -> Self {
        let (releases, writes, observers) = (Vec::new(), Vec::new(), Vec::new());
        Self { last: None, message: Rc::clone(nothing), releases, writes, first: 0, observers }
    }

    fn push(&mut self, record: Record, continues: bool, is_exact: bool) {
        let gone = match is_exact {
            false => self.writes.len(),
            true if self.writes.len() == MOST_WRITES => MOST_WRITES / 2,
            true => 0,
        };
        if gone > 0 {
            self.writes.drain(..gone);
            self.first += gone as u32;
            let first = self.first;
            self.observers.retain(|(number, _)| *number > first);
        } else if !is_exact {
            self.observers.clear();
        }
        self.writes.push((record, continues));
        self.last = Some(record);
    }

    /// Records a strong read of the last write, or of the earlier write `of`.
    fn observe(&mut self, read: Record, of: Option<Record>) {
        let number = match of {
            Some(of) => self.writes.iter().rposition(|(write, _)| is_same(*write, of)).map(|at| at + 1),
            None => Some(self.writes.len()),
        };
        let Some(number) = number else { return };
        let number = self.first + number as u32;
        // The first read of an agent makes its later reads of the same write redundant.
        let says = |of: &(u32, Record)| of.0 == number && (of.1.agent, of.1.info) == (read.agent, read.info);
        if self.observers.len() < MOST_OBSERVERS && !self.observers.iter().any(says) {
            self.observers.push((number, read));
        }
    }
}

/// The places of a memory, by their addresses.
#[derive(Debug, Default)]
pub struct Locations {
    places: FxHashMap<u64, Location>,
    /// The set of the sizes of accesses, as bits.
    sizes: u64,
    /// Whether every strong write is recorded. Otherwise a write is recorded only at a place that is read or released.
    is_exact: bool,
    /// The empty message.
    nothing: Rc<Message>,
}

/// A strong operation of a thread.
pub struct Strong<'c> {
    pub address: u64,
    /// Its record, with all bytes.
    pub record: Record,
    pub acquires: bool,
    pub releases: bool,
    pub clock: &'c mut Clock,
    /// The thread's pending operations.
    pub pending: &'c mut Pending,
    /// The number of CTAs of a cluster.
    pub cluster: ClusterSize,
}

impl Strong<'_> {
    fn place(&self) -> AddressRange {
        (self.address, self.record.info.bytes())
    }

    fn scope(&self) -> Scope {
        self.record.info.strong().unwrap_or(Scope::Cta)
    }
}

impl Locations {
    /// Locations without places. Exact locations record more writes.
    pub fn new(is_exact: bool) -> Self {
        Self { is_exact, ..Self::default() }
    }

    /// Sets whether every strong write is recorded from now on.
    pub fn set_exact(&mut self, is_exact: bool) {
        self.is_exact = is_exact;
    }

    /// Records a strong read of the last write, or of an earlier write with its message. A read that forms no acquire
    /// pattern only observes the write.
    pub fn read(
        &mut self,
        of: &mut Strong<'_>,
        earlier: Option<(Rc<Message>, Record)>,
        may_acquire: bool,
        meets: bool,
    ) {
        if !meets && earlier.is_none() && !self.is_exact && !self.places.contains_key(&of.address) {
            return;
        }
        let nothing = &self.nothing;
        let location = self.places.entry(of.address).or_insert_with(|| Location::new(nothing));
        self.sizes |= of.record.info.bytes();
        let message = match earlier {
            Some((message, write)) => {
                location.observe(of.record, Some(write));
                message
            }
            None => match location.last {
                Some(last) if !last.is_morally_strong_with(of.record, of.cluster) => Rc::default(),
                _ => {
                    location.observe(of.record, None);
                    Rc::clone(&location.message)
                }
            },
        };
        if !may_acquire {
            return;
        }
        let place = of.place();
        if !message.is_empty() {
            of.pending.read(place, &message, false);
        }
        if of.acquires {
            let scope = of.scope();
            of.pending.acquire_if(|own| own == place, of.clock, scope, of.cluster);
        }
    }

    /// Records a strong write. An atomic write continues the messages that were released at the place. Other threads
    /// see the clock's epoch after the write as new.
    pub fn write(&mut self, of: &mut Strong<'_>, is_atomic: bool) {
        let is_known = self.is_exact || self.places.contains_key(&of.address);
        if !of.releases && !of.pending.releases() && !is_known {
            return;
        }
        let releases = of.releases || of.pending.releases() || is_atomic && self.releases(of.address);
        if !releases && self.forget(of.address) {
            return;
        }
        let agent = of.record.agent;
        let mut own = Message::default();
        if of.releases {
            own.release(agent, of.scope(), &of.clock.past(), of.cluster);
        }
        for (scope, fence) in [Scope::Cta, Scope::Cluster, Scope::Gpu].into_iter().zip(&of.pending.fences) {
            if let Some(past) = fence {
                own.release(agent, scope, past, of.cluster);
            }
        }
        let bytes = of.record.info.bytes();
        self.sizes |= bytes;
        let nothing = &self.nothing;
        let location = self.places.entry(of.address).or_insert_with(|| Location::new(nothing));
        let is_own = |(other, size, _): &&(Agent, u64, Rc<Message>)| (*other, *size) == (agent, bytes);
        let earlier = location.releases.iter().find(is_own).map(|(.., message)| Rc::clone(message));
        let continues =
            is_atomic && location.last.is_some_and(|last| last.is_morally_strong_with(of.record, of.cluster));
        let chain = Some(Rc::clone(&location.message)).filter(|_| continues);
        let mut released = own.clone();
        for other in chain.iter().chain(&earlier) {
            own.join(other);
        }
        let own = Rc::new(own);
        if of.releases && location.releases.len() < MOST_OBSERVERS {
            if let Some(earlier) = &earlier {
                released.join(earlier);
            }
            location.releases.retain(|release| !is_own(&release));
            location.releases.push((agent, bytes, Rc::new(released)));
        }
        location.message = own;
        location.push(of.record, continues, self.is_exact);
        of.clock.advance();
    }

    /// Records a write that overlaps other places. A weak write also ends the messages at its own place.
    pub fn overwrite(&mut self, address: u64, record: Record) {
        let bytes = record.info.bytes();
        if record.info.strong().is_none() {
            self.overwrite_at(address, record);
        }
        if self.sizes & !bytes == 0 {
            return;
        }
        let sizes = self.sizes;
        for size in [1, 2, 4, 8, 16].into_iter().filter(|size| sizes & size != 0) {
            let (mut at, end): (u64, u64) = (address & !(size - 1), address + bytes);
            while at < end {
                let overlaps = |last: Record| at + last.info.bytes() > address;
                if at != address && self.places.get(&at).and_then(|location| location.last).is_some_and(overlaps) {
                    self.overwrite_at(at, record);
                }
                at += size;
            }
        }
    }

    /// Whether an atomic operation has a message to continue.
    fn releases(&self, address: u64) -> bool {
        self.places.get(&address).is_some_and(|location| !location.message.is_empty())
    }

    /// Forgets a place after a write that releases nothing, unless a later strong write of an agent would release a
    /// message again.
    fn forget(&mut self, address: u64) -> bool {
        let is_bare = !self.is_exact && self.places.get(&address).is_some_and(|location| location.releases.is_empty());
        if is_bare {
            self.places.remove(&address);
        }
        is_bare
    }

    fn overwrite_at(&mut self, address: u64, record: Record) {
        if self.forget(address) {
            return;
        }
        if let Some(location) = self.places.get_mut(&address) {
            location.message = Rc::default();
            location.push(record, false, self.is_exact);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The message that a read of a place would acquire now.
    pub fn message(&self, address: u64) -> Rc<Message> {
        self.places.get(&address).map(|location| Rc::clone(&location.message)).unwrap_or_default()
    }

    /// Whether an event before an access observed a write at a place (section 8.9.5: causality order). A read that
    /// observes an atomic operation also observes the write that the operation continues.
    pub fn is_observed(
        &self,
        address: u64,
        write: Record,
        (clock, access): (&Clock, Record),
        cluster: ClusterSize,
    ) -> bool {
        let Some(location) = self.places.get(&address) else { return false };
        let sees = |read: Record| clock.has_seen(read.agent, read.epoch) && !is_same(read, access);
        if location.writes.is_empty() && !self.is_exact {
            let is_strong = |read: Record| read.is_morally_strong_with(write, cluster);
            return location.observers.iter().any(|(_, read)| sees(*read) && is_strong(*read));
        }
        let Some(at) = location.writes.iter().rposition(|(other, _)| is_same(*other, write)) else { return false };
        let next = |at: &usize| location.writes.get(at + 1).is_some_and(|(_, continues)| *continues).then_some(at + 1);
        let seen = |at: usize| {
            let number = location.first + at as u32 + 1;
            location.observers.iter().any(|(of, read)| *of == number && sees(*read))
        };
        std::iter::successors(Some(at), next).any(seen)
    }
}

/// All executed `fence.sc`. Each synchronizes with every later one that is morally strong with it (section 8.9.4).
#[derive(Debug, Default)]
pub struct FenceSc(Message);

impl FenceSc {
    /// Records a fence of a thread. Returns whether an earlier fence orders an event before the thread that nothing else
    /// orders.
    pub fn fence(&mut self, clock: &mut Clock, scope: Scope, cluster: ClusterSize) -> bool {
        let has_new = self.0.acquire(clock, scope, cluster);
        self.0.release(clock.agent, scope, &clock.past(), cluster);
        clock.advance();
        has_new
    }
}
