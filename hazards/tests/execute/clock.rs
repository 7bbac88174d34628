//! Who has seen what. Every thread is an agent; so are operations that complete in their order, as those of an mbarrier.

use std::{collections::HashMap, rc::Rc};

/// An agent's number.
pub type Agent = u32;

/// What completes in the order of its start, by its thread, its warp or its mbarrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Chain {
    /// `cp.async` of a thread.
    Copy(u32),
    /// Stores in bulk of a thread.
    Bulk(u32),
    /// What `tcgen05.commit` of a thread tracks.
    Tensor(u32),
    TensorLoad(u32),
    TensorStore(u32),
    /// `tcgen05.alloc` and `.dealloc` of a warp.
    Allocation(u32),
    Wgmma(u32),
    /// What completes a phase of the mbarrier of a number.
    Barrier(u32),
}

/// Threads are the first agents.
pub struct Agents {
    next: Agent,
    chains: HashMap<Chain, Agent>,
}

impl Agents {
    pub fn new(threads: u32) -> Self {
        Self { next: threads, chains: HashMap::new() }
    }

    pub fn of(&mut self, chain: Chain) -> Agent {
        let next = &mut self.next;
        *self.chains.entry(chain).or_insert_with(|| {
            *next += 1;
            *next - 1
        })
    }
}

/// By agent, how far it has been seen.
pub type Seen = Vec<u32>;

fn at(seen: &[u32], agent: Agent) -> u32 {
    seen.get(agent as usize).copied().unwrap_or(0)
}

fn raise(seen: &mut Seen, agent: Agent, epoch: u32) {
    if seen.len() <= agent as usize {
        seen.resize(agent as usize + 1, 0);
    }
    seen[agent as usize] = seen[agent as usize].max(epoch);
}

fn join(into: &mut Seen, other: &[u32]) {
    if into.len() < other.len() {
        into.resize(other.len(), 0);
    }
    into.iter_mut().zip(other).for_each(|(a, b)| *a = (*a).max(*b));
}

/// Of a thread, or of an operation at its start: all that it comes after; and what it comes after with a proxy fence in
/// between.
#[derive(Clone, Debug)]
pub struct Clock {
    pub agent: Agent,
    pub own: u32,
    fenced_own: u32,
    seen: Rc<Seen>,
    fenced: Rc<Seen>,
}

impl Clock {
    pub fn new(agent: Agent) -> Self {
        Self { agent, own: 1, fenced_own: 0, seen: Rc::default(), fenced: Rc::default() }
    }

    pub fn has_seen(&self, agent: Agent, epoch: u32) -> bool {
        let seen = if agent == self.agent { self.own } else { at(&self.seen, agent) };
        seen >= epoch
    }

    pub fn has_fenced(&self, agent: Agent, epoch: u32) -> bool {
        let seen = if agent == self.agent { self.fenced_own } else { at(&self.fenced, agent) };
        seen >= epoch
    }

    pub fn fence(&mut self) {
        self.fenced = Rc::clone(&self.seen);
        self.fenced_own = self.own;
        self.own += 1;
    }

    pub fn see(&mut self, agent: Agent, epoch: u32) {
        if !self.has_seen(agent, epoch) {
            raise(Rc::make_mut(&mut self.seen), agent, epoch);
        }
    }

    /// What is seen of it later comes before what it does next.
    pub fn release(&mut self, into: &mut Message) {
        into.join(self);
        self.own += 1;
    }

    pub fn acquire(&mut self, message: &Message) {
        join(Rc::make_mut(&mut self.seen), &message.seen);
        join(Rc::make_mut(&mut self.fenced), &message.fenced);
        self.fenced_own = self.fenced_own.max(at(&self.fenced, self.agent));
    }

    /// The same for all threads of a barrier, whose clocks are in the message already.
    pub fn acquire_all(&mut self, all: &Shared) {
        self.seen = Rc::clone(&all.seen);
        self.fenced = Rc::clone(&all.fenced);
        self.fenced_own = self.fenced_own.max(at(&self.fenced, self.agent));
    }
}

/// What a barrier hands on.
#[derive(Clone, Debug, Default)]
pub struct Message {
    seen: Seen,
    fenced: Seen,
    /// The last ones joined; threads share them.
    last: Option<(Rc<Seen>, Rc<Seen>)>,
}

/// A message that threads share.
pub struct Shared {
    seen: Rc<Seen>,
    fenced: Rc<Seen>,
}

impl Message {
    pub fn join(&mut self, clock: &Clock) {
        let is_last =
            |(seen, fenced): &(Rc<Seen>, Rc<Seen>)| Rc::ptr_eq(seen, &clock.seen) && Rc::ptr_eq(fenced, &clock.fenced);
        if !self.last.as_ref().is_some_and(is_last) {
            join(&mut self.seen, &clock.seen);
            join(&mut self.fenced, &clock.fenced);
            self.last = Some((Rc::clone(&clock.seen), Rc::clone(&clock.fenced)));
        }
        raise(&mut self.seen, clock.agent, clock.own);
        raise(&mut self.fenced, clock.agent, clock.fenced_own);
    }

    /// Only the operations of a chain.
    pub fn see(&mut self, agent: Agent, epoch: u32) {
        raise(&mut self.seen, agent, epoch);
    }

    /// What an operation that is complete had seen of other operations: they were complete before it.
    pub fn see_chains(&mut self, start: &Clock, threads: u32) {
        for (agent, epoch) in start.seen.iter().enumerate().skip(threads as usize) {
            raise(&mut self.seen, agent as Agent, *epoch);
        }
    }

    pub fn shared(self) -> Shared {
        Shared { seen: Rc::new(self.seen), fenced: Rc::new(self.fenced) }
    }

    /// The clock of an operation that many threads start together.
    pub fn clock(self) -> Clock {
        let Shared { seen, fenced } = self.shared();
        Clock { agent: Agent::MAX, own: 0, fenced_own: 0, seen, fenced }
    }
}
