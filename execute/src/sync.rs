//! Synchronization through memory: release and acquire patterns, and observation (sections 8.8 and 8.9).

use std::rc::Rc;

use ptx_isa::Scope;
use rustc_hash::FxHashMap;

use crate::{
    clock::{Agent, Clock, Past, cta_of},
    shadow::{ClusterSize, Record},
};

/// What release patterns make visible, by who may acquire it: threads of a CTA, of a cluster, or all.
#[derive(Clone, Debug, Default)]
pub struct Message {
    /// From threads of a CTA, whatever their scopes are.
    ctas: Vec<(u32, Past)>,
    /// From threads of a cluster, with its scope or a wider one.
    clusters: Vec<(u32, Past)>,
    /// With a scope of all.
    all: Option<Past>,
}

fn add(list: &mut Vec<(u32, Past)>, key: u32, past: &Past) {
    match list.iter_mut().find(|(own, _)| *own == key) {
        Some((_, own)) => own.join(past),
        None => list.push((key, past.clone())),
    }
}

impl Message {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.ctas.is_empty()
    }

    /// A pattern of an agent, whose first operation has this scope.
    pub fn release(&mut self, agent: Agent, scope: Scope, past: &Past, cluster: ClusterSize) {
        add(&mut self.ctas, cta_of(agent), past);
        if scope >= Scope::Cluster {
            add(&mut self.clusters, cta_of(agent) / cluster, past);
        }
        if scope >= Scope::Gpu {
            match &mut self.all {
                Some(all) => all.join(past),
                None => self.all = Some(past.clone()),
            }
        }
    }

    /// A pattern of an agent, whose last operation has this scope, sees it.
    pub fn acquire(&self, clock: &mut Clock, scope: Scope, cluster: ClusterSize) {
        let cta = cta_of(clock.agent);
        let of =
            |list: &[(u32, Past)], key: u32| list.iter().find(|(own, _)| *own == key).map(|(_, past)| past.clone());
        let mut found = vec![of(&self.ctas, cta)];
        if scope >= Scope::Cluster {
            found.push(of(&self.clusters, cta / cluster));
        }
        if scope >= Scope::Gpu {
            found.push(self.all.clone());
        }
        found.into_iter().flatten().for_each(|past| clock.acquire(&past));
    }

    /// Both.
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

/// What a thread has pending: fences that a later write would complete to a release pattern, and reads that a later fence would
/// complete to an acquire pattern.
#[derive(Clone, Debug, Default)]
pub struct Pending {
    /// What came before the last fence of each scope or a wider one: of a CTA, a cluster, all.
    fences: [Option<Past>; 3],
    /// The addresses that it has read, and what was released there.
    reads: Vec<(u64, Rc<Message>)>,
}

/// How many reads a thread keeps. With more, the oldest are forgotten.
const MOST_READS: usize = 64;

fn level(scope: Scope) -> usize {
    match scope {
        Scope::Cta => 0,
        Scope::Cluster => 1,
        Scope::Gpu | Scope::Sys => 2,
    }
}

impl Pending {
    /// A fence that releases.
    pub fn release(&mut self, scope: Scope, past: &Past) {
        self.fences[..=level(scope)].iter_mut().for_each(|fence| *fence = Some(past.clone()));
    }

    /// A fence that acquires.
    pub fn acquire(&mut self, clock: &mut Clock, scope: Scope, cluster: ClusterSize) {
        self.reads.iter().for_each(|(_, message)| message.acquire(clock, scope, cluster));
    }

    /// A strong read of what was released.
    fn read(&mut self, address: u64, message: &Rc<Message>) {
        if self.reads.iter().any(|(own, known)| *own == address && Rc::ptr_eq(known, message)) {
            return;
        }
        if self.reads.len() == MOST_READS {
            self.reads.remove(0);
        }
        self.reads.push((address, Rc::clone(message)));
    }

    /// What came before the last fence of a scope or a wider one.
    pub fn fence(&self, scope: Scope) -> Option<&Past> {
        self.fences[level(scope)].as_ref()
    }

    /// A relaxed wait for what was released, which a later fence completes to an acquire pattern.
    pub fn observe(&mut self, address: u64, message: &Rc<Message>) {
        if !message.is_empty() {
            self.read(address, message);
        }
    }

    fn releases(&self) -> bool {
        self.fences[0].is_some()
    }
}

/// A place that threads synchronize through.
#[derive(Clone, Debug, Default)]
struct Location {
    /// The last write, if it was looked at.
    last: Option<Record>,
    /// What that write and those that atomic operations continue released.
    message: Rc<Message>,
    /// What operations on the place released, by agent: a later strong write of the same agent releases it again.
    releases: Vec<(Agent, Rc<Message>)>,
    /// The strong reads of the last write.
    observers: Vec<Record>,
}

/// How many observers, and how many releases, a place keeps.
const MOST_OBSERVERS: usize = 64;

/// All places of a memory, by their addresses.
#[derive(Debug, Default)]
pub struct Locations(FxHashMap<u64, Location>);

/// A strong operation of a thread.
pub struct Strong<'c> {
    /// Its address.
    pub address: u64,
    /// Its record, with all bytes.
    pub record: Record,
    /// Whether it acquires.
    pub acquires: bool,
    /// Whether it releases.
    pub releases: bool,
    /// The thread's clock.
    pub clock: &'c mut Clock,
    /// What the thread has pending.
    pub pending: &'c mut Pending,
    /// How many CTAs a cluster has.
    pub cluster: ClusterSize,
}

impl Strong<'_> {
    fn scope(&self) -> Scope {
        self.record.info.strong().unwrap_or(Scope::Cta)
    }
}

impl Locations {
    /// A strong read, of the last write or of `message`.
    pub fn read(&mut self, of: &mut Strong<'_>, message: Option<&Rc<Message>>) {
        let message = match message {
            Some(message) => Rc::clone(message),
            None => {
                let location = self.0.entry(of.address).or_default();
                match location.last {
                    Some(last) if !last.is_morally_strong_with(of.record, of.cluster) => Rc::default(),
                    _ => {
                        if location.observers.len() < MOST_OBSERVERS && location.observers.last() != Some(&of.record) {
                            location.observers.push(of.record);
                        }
                        Rc::clone(&location.message)
                    }
                }
            }
        };
        if !message.is_empty() {
            of.pending.read(of.address, &message);
        }
        if of.acquires {
            let (scope, address) = (of.scope(), of.address);
            let reads = of.pending.reads.iter().filter(|(own, _)| *own == address);
            reads.for_each(|(_, message)| message.acquire(of.clock, scope, of.cluster));
        }
    }

    /// A strong write; an atomic one continues what was released there. Others see the clock's epoch behind it as new.
    pub fn write(&mut self, of: &mut Strong<'_>, is_atomic: bool) {
        let is_known = self.0.contains_key(&of.address);
        if !of.releases && !of.pending.releases() && !is_known {
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
        let location = self.0.entry(of.address).or_default();
        let earlier =
            location.releases.iter().find(|(other, _)| *other == agent).map(|(_, message)| Rc::clone(message));
        let continues =
            is_atomic && location.last.is_some_and(|last| last.is_morally_strong_with(of.record, of.cluster));
        let chain = Some(Rc::clone(&location.message)).filter(|_| continues);
        for other in chain.iter().chain(&earlier) {
            own.join(other);
        }
        let own = Rc::new(own);
        if of.releases && location.releases.len() < MOST_OBSERVERS {
            location.releases.retain(|(other, _)| *other != agent);
            location.releases.push((agent, Rc::clone(&own)));
        }
        location.message = own;
        location.last = Some(of.record);
        location.observers.clear();
        of.clock.advance();
    }

    /// A weak write: nothing is released there any more.
    pub fn overwrite(&mut self, address: u64, record: Record) {
        if let Some(location) = self.0.get_mut(&address) {
            location.message = Rc::default();
            location.last = Some(record);
            location.observers.clear();
        }
    }

    /// Whether places are known at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What is released at a place now.
    pub fn message(&self, address: u64) -> Rc<Message> {
        self.0.get(&address).map(|location| Rc::clone(&location.message)).unwrap_or_default()
    }

    /// Whether a write at a place was observed by something that a clock has seen (section 8.9.5: causality order).
    pub fn is_observed(&self, address: u64, write: Record, clock: &Clock, cluster: ClusterSize) -> bool {
        self.0.get(&address).is_some_and(|location| {
            let is_last = location.last.is_none_or(|last| (last.agent, last.epoch) == (write.agent, write.epoch));
            let sees =
                |read: &Record| clock.has_seen(read.agent, read.epoch) && read.is_morally_strong_with(write, cluster);
            is_last && location.observers.iter().any(sees)
        })
    }
}

/// All `fence.sc` so far: each synchronizes with those behind it that are morally strong with it (section 8.9.4).
#[derive(Debug, Default)]
pub struct FenceSc(Message);

impl FenceSc {
    /// A fence of a thread.
    pub fn fence(&mut self, clock: &mut Clock, scope: Scope, cluster: ClusterSize) {
        self.0.acquire(clock, scope, cluster);
        self.0.release(clock.agent, scope, &clock.past(), cluster);
        clock.advance();
    }
}
