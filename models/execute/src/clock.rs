//! Who has seen what: vector clocks of all threads of a grid, and of operations that complete by themselves.
//!
//! An agent is a thread, or a chain of asynchronous operations that complete in their order. Its number has its CTA above its
//! index in the CTA. Clocks of the threads of one CTA share what they have in common, which is nearly all of it behind a barrier.

use std::{ops::Range, rc::Rc};

/// The number of an agent.
pub type Agent = u32;
/// How far an agent has come: it grows with everything that others can see of it.
pub type Epoch = u32;

/// How many bits of an agent are its index in its CTA.
pub const INDEX_BITS: u32 = 13;

/// The CTA of an agent.
pub fn cta_of(agent: Agent) -> u32 {
    agent >> INDEX_BITS
}

/// The index of an agent in its CTA.
pub fn index_of(agent: Agent) -> usize {
    (agent & ((1 << INDEX_BITS) - 1)) as usize
}

type Epochs = Rc<Vec<Epoch>>;

/// For each agent, how far it has been seen. CTAs stand in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    near: Option<(u32, Epochs)>,
    far: Rc<Vec<(u32, Epochs)>>,
}

fn at(epochs: &[Epoch], index: usize) -> Epoch {
    epochs.get(index).copied().unwrap_or(0)
}

fn is_covered(own: &[Epoch], other: &[Epoch]) -> bool {
    other.iter().enumerate().all(|(index, epoch)| *epoch <= at(own, index))
}

/// Whether the second one has later epochs than the first, and the first than the second: in one pass without branches, since both often
/// differ at their end alone.
fn later(own: &[Epoch], other: &[Epoch]) -> (bool, bool) {
    let common = own.len().min(other.len());
    let compare = |(is_other, is_own): (bool, bool), (own, other): (&Epoch, &Epoch)| {
        (is_other | (other > own), is_own | (own > other))
    };
    let (is_other, is_own) = own.iter().zip(other).fold((false, false), compare);
    let has_any = |rest: &[Epoch]| rest.iter().any(|epoch| *epoch > 0);
    (is_other || has_any(&other[common..]), is_own || has_any(&own[common..]))
}

fn join_epochs(own: &mut Epochs, other: &Epochs) {
    if Rc::ptr_eq(own, other) {
        return;
    }
    match later(own, other) {
        (false, _) => return,
        (true, false) => {
            *own = Rc::clone(other);
            return;
        }
        (true, true) => {}
    }
    let own = Rc::make_mut(own);
    if own.len() < other.len() {
        own.resize(other.len(), 0);
    }
    own.iter_mut().zip(other.iter()).for_each(|(own, other)| *own = (*own).max(*other));
}

fn raise_epochs(epochs: &mut Epochs, index: usize, epoch: Epoch) {
    if at(epochs, index) >= epoch {
        return;
    }
    let epochs = Rc::make_mut(epochs);
    if epochs.len() <= index {
        epochs.resize(index + 1, 0);
    }
    epochs[index] = epoch;
}

impl View {
    /// How far an agent has been seen.
    pub fn of(&self, agent: Agent) -> Epoch {
        let (cta, index) = (cta_of(agent), index_of(agent));
        match &self.near {
            Some((near, epochs)) if *near == cta => at(epochs, index),
            _ => self.far(cta).map_or(0, |epochs| at(epochs, index)),
        }
    }

    /// Whether anything of a CTA has been seen.
    fn has_met(&self, cta: u32) -> bool {
        let near = self.near.as_ref().filter(|(near, _)| *near == cta).map(|(_, epochs)| epochs);
        near.or_else(|| self.far(cta)).is_some_and(|epochs| epochs.iter().any(|epoch| *epoch > 0))
    }

    fn far(&self, cta: u32) -> Option<&Epochs> {
        let place = self.far.binary_search_by_key(&cta, |(cta, _)| *cta).ok()?;
        Some(&self.far[place].1)
    }

    /// An agent has been seen so far.
    pub fn raise(&mut self, agent: Agent, epoch: Epoch) {
        let (cta, index) = (cta_of(agent), index_of(agent));
        match &mut self.near {
            Some((near, epochs)) if *near == cta => raise_epochs(epochs, index, epoch),
            None => {
                let mut epochs = Epochs::default();
                raise_epochs(&mut epochs, index, epoch);
                self.near = Some((cta, epochs));
            }
            Some(_) => {
                if self.far(cta).is_some_and(|epochs| at(epochs, index) >= epoch) {
                    return;
                }
                let far = Rc::make_mut(&mut self.far);
                match far.binary_search_by_key(&cta, |(cta, _)| *cta) {
                    Ok(place) => raise_epochs(&mut far[place].1, index, epoch),
                    Err(place) => {
                        let mut epochs = Epochs::default();
                        raise_epochs(&mut epochs, index, epoch);
                        far.insert(place, (cta, epochs));
                    }
                }
            }
        }
    }

    /// All that the other one has seen has been seen.
    pub fn join(&mut self, other: &Self) {
        if let Some((cta, epochs)) = &other.near {
            self.join_cta(*cta, epochs);
        }
        if !Rc::ptr_eq(&self.far, &other.far) {
            if self.far.is_empty() && self.near.as_ref().is_none_or(|(near, _)| other.far(*near).is_none()) {
                self.far = Rc::clone(&other.far);
            } else {
                other.far.iter().for_each(|(cta, epochs)| self.join_cta(*cta, epochs));
            }
        }
    }

    fn join_cta(&mut self, cta: u32, epochs: &Epochs) {
        match &mut self.near {
            Some((near, own)) if *near == cta => return join_epochs(own, epochs),
            None => {
                self.near = Some((cta, Rc::clone(epochs)));
                return;
            }
            Some(_) => {}
        }
        if self.far(cta).is_some_and(|own| Rc::ptr_eq(own, epochs) || is_covered(own, epochs)) {
            return;
        }
        let far = Rc::make_mut(&mut self.far);
        match far.binary_search_by_key(&cta, |(cta, _)| *cta) {
            Ok(place) => join_epochs(&mut far[place].1, epochs),
            Err(place) => far.insert(place, (cta, Rc::clone(epochs))),
        }
    }

    /// Only what chains of operations have done, which stand behind so many threads of each CTA.
    fn chains(&self, threads: usize) -> Self {
        let of = |epochs: &Epochs| -> Epochs {
            if epochs.len() <= threads {
                return Epochs::default();
            }
            Rc::new(std::iter::repeat_n(0, threads).chain(epochs[threads..].iter().copied()).collect())
        };
        let near = self.near.as_ref().map(|(cta, epochs)| (*cta, of(epochs)));
        Self { near, far: Rc::new(self.far.iter().map(|(cta, epochs)| (*cta, of(epochs))).collect()) }
    }

    /// Whether it is the same one in memory, so that joining both is joining one.
    fn is_shared_with(&self, other: &Self) -> bool {
        let near = match (&self.near, &other.near) {
            (Some((a, own)), Some((b, other))) => a == b && Rc::ptr_eq(own, other),
            (None, None) => true,
            _ => false,
        };
        near && Rc::ptr_eq(&self.far, &other.far)
    }
}

/// What a fence between the generic and the async proxy is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fenced {
    Global,
    Shared,
    /// The release half alone, of shared memory.
    Released,
}

/// For each kind of fence, what came before one that came before.
type Fences = [View; 3];

/// All that came before, and what of it came before with a fence between the generic and the async proxy in between.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Past {
    /// All that came before.
    pub seen: View,
    /// Most kernels have no proxy fence.
    fenced: Option<Rc<Fences>>,
}

impl Past {
    /// All that CTAs did, which have ended.
    pub fn of_ended(ctas: Range<u32>) -> Self {
        let all: Epochs = Rc::new(vec![Epoch::MAX; 1 << INDEX_BITS]);
        let view = View { near: None, far: Rc::new(ctas.map(|cta| (cta, Rc::clone(&all))).collect()) };
        let fenced = [(); 3].map(|()| view.clone());
        Self { seen: view, fenced: Some(Rc::new(fenced)) }
    }

    /// What operations that complete by themselves have done, of all that came before. So many threads stand before them.
    pub fn chains(&self, threads: u32) -> Self {
        let chains = |view: &View| view.chains(threads as usize);
        let fenced = self.fenced.as_ref().map(|fences| Rc::new(fences.each_ref().map(chains)));
        Self { seen: chains(&self.seen), fenced }
    }

    /// An operation of a chain came before.
    pub fn see(&mut self, agent: Agent, epoch: Epoch) {
        self.seen.raise(agent, epoch);
    }

    /// Both of both.
    pub fn join(&mut self, other: &Self) {
        self.seen.join(&other.seen);
        match (&mut self.fenced, &other.fenced) {
            (_, None) => {}
            (Some(own), Some(fenced)) if Rc::ptr_eq(own, fenced) => {}
            (Some(own), Some(fenced)) => {
                Rc::make_mut(own).iter_mut().zip(&**fenced).for_each(|(own, other)| own.join(other));
            }
            (own @ None, Some(fenced)) => *own = Some(Rc::clone(fenced)),
        }
    }

    fn fenced(&self, of: Fenced, agent: Agent) -> Epoch {
        self.fenced.as_ref().map_or(0, |fences| fences[of as usize].of(agent))
    }

    fn fences(&mut self) -> &mut Fences {
        Rc::make_mut(self.fenced.get_or_insert_default())
    }

    /// What an agent did before its own fences.
    fn raise_fenced(&mut self, agent: Agent, epochs: [Epoch; 3]) {
        if epochs != [0; 3] {
            self.fences().iter_mut().zip(epochs).for_each(|(view, epoch)| view.raise(agent, epoch));
        }
    }

    fn is_shared_with(&self, other: &Self) -> bool {
        let fenced = match (&self.fenced, &other.fenced) {
            (Some(own), Some(other)) => Rc::ptr_eq(own, other),
            (None, None) => true,
            _ => false,
        };
        fenced && self.seen.is_shared_with(&other.seen)
    }
}

/// The clock of an agent.
#[derive(Clone, Debug)]
pub struct Clock {
    /// Whose it is.
    pub agent: Agent,
    /// Its own epoch, which `past` may lack.
    pub own: Epoch,
    fenced_own: [Epoch; 3],
    past: Past,
}

impl Clock {
    /// The clock of an agent that has seen nothing. Its view of its own CTA is near.
    pub fn new(agent: Agent) -> Self {
        let near = View { near: Some((cta_of(agent), Epochs::default())), far: Rc::default() };
        Self { agent, own: 1, fenced_own: [0; 3], past: Past { seen: near, fenced: None } }
    }

    /// The clock of what comes after a past, and is nobody's.
    pub fn of(past: Past) -> Self {
        Self { agent: Agent::MAX, own: 0, fenced_own: [0; 3], past }
    }

    /// Whether it comes after what an agent did in an epoch.
    pub fn has_seen(&self, agent: Agent, epoch: Epoch) -> bool {
        if agent == self.agent { self.own >= epoch } else { self.past.seen.of(agent) >= epoch }
    }

    /// Whether anything that a CTA did has been seen.
    pub fn has_met(&self, cta: u32) -> bool {
        self.past.seen.has_met(cta)
    }

    /// Whether there is a proxy fence in between, too.
    pub fn has_fenced(&self, of: Fenced, agent: Agent, epoch: Epoch) -> bool {
        let fenced = if agent == self.agent { self.fenced_own[of as usize] } else { self.past.fenced(of, agent) };
        fenced >= epoch
    }

    /// A fence between the generic and the async proxy, in both directions.
    pub fn fence_proxy(&mut self, of: Fenced) {
        self.past.fences()[of as usize] = self.past.seen.clone();
        self.fenced_own[of as usize] = self.own;
        self.own += 1;
    }

    /// The first half of a fence from the generic to the async proxy, of what the agent itself did.
    pub fn release_proxy(&mut self) {
        self.fenced_own[Fenced::Released as usize] = self.own;
        self.own += 1;
    }

    /// The second half, of all first halves that came before.
    pub fn acquire_proxy(&mut self) {
        let [_, own, released] = &mut self.fenced_own;
        *own = (*own).max(*released);
        if self.past.fenced.is_some() {
            let [_, shared, released] = self.past.fences();
            shared.join(released);
        }
    }

    /// What others see of it from now on comes before what it does next.
    pub fn advance(&mut self) {
        self.own += 1;
    }

    /// An operation of a chain came before.
    pub fn see(&mut self, agent: Agent, epoch: Epoch) {
        if agent != self.agent {
            self.past.seen.raise(agent, epoch);
        }
    }

    /// All that it comes after, itself included.
    pub fn past(&self) -> Past {
        let mut past = self.past.clone();
        past.seen.raise(self.agent, self.own);
        past.raise_fenced(self.agent, self.fenced_own);
        past
    }

    /// All of that came before.
    pub fn acquire(&mut self, past: &Past) {
        self.past.join(past);
        self.take_own(past);
    }

    fn take_own(&mut self, past: &Past) {
        if past.fenced.is_some() {
            for (of, own) in [Fenced::Global, Fenced::Shared, Fenced::Released].into_iter().zip(&mut self.fenced_own) {
                *own = (*own).max(past.fenced(of, self.agent));
            }
        }
    }

    /// The same for a past that has this clock's own in it.
    pub fn become_(&mut self, past: &Past) {
        self.past = past.clone();
        self.take_own(past);
    }
}

/// The pasts of many clocks, joined.
#[derive(Clone, Debug, Default)]
pub struct Meeting {
    past: Past,
    /// The last one joined; threads share theirs.
    last: Option<Past>,
}

impl Meeting {
    /// A clock joins.
    pub fn join(&mut self, clock: &Clock) {
        let is_last = |last: &Past| last.is_shared_with(&clock.past);
        if !self.last.as_ref().is_some_and(is_last) {
            self.past.join(&clock.past);
            self.last = Some(clock.past.clone());
        }
        self.past.seen.raise(clock.agent, clock.own);
        self.past.raise_fenced(clock.agent, clock.fenced_own);
    }

    /// What an operation of a chain came after.
    pub fn join_past(&mut self, past: &Past) {
        self.past.join(past);
    }

    /// An operation of a chain joins.
    pub fn see(&mut self, agent: Agent, epoch: Epoch) {
        self.past.seen.raise(agent, epoch);
    }

    /// All of them.
    pub fn past(self) -> Past {
        self.past
    }
}
