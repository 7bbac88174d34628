//! Vector clocks of the threads of a grid, and of operations that complete by themselves: the happens-before order.
//!
//! An agent is a thread, or a chain of asynchronous operations that complete in their order. The upper bits of its
//! number are its CTA, the lower bits its index in the CTA. Clocks of the threads of one CTA share the epochs that they
//! have in common, which are nearly all epochs after a barrier.

use std::{ops::Range, rc::Rc};

/// The number of an agent.
pub type Agent = u32;
/// The time of an agent. It grows with each event that other agents can observe.
pub type Epoch = u32;

/// The number of bits of an agent's index in its CTA.
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

/// For each agent, the last epoch that has been seen. CTAs are sorted.
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

/// Whether `other` has later epochs than `own`, and `own` than `other`. It takes one pass without branches, since the
/// two often differ only at their end.
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
    /// The last epoch of an agent that has been seen.
    pub fn last_epoch(&self, agent: Agent) -> Epoch {
        let (cta, index) = (cta_of(agent), index_of(agent));
        match &self.near {
            Some((near, epochs)) if *near == cta => at(epochs, index),
            _ => self.far(cta).map_or(0, |epochs| at(epochs, index)),
        }
    }

    /// Whether any epoch of a CTA has been seen.
    fn has_met(&self, cta: u32) -> bool {
        let near = self.near.as_ref().filter(|(near, _)| *near == cta).map(|(_, epochs)| epochs);
        near.or_else(|| self.far(cta)).is_some_and(|epochs| epochs.iter().any(|epoch| *epoch > 0))
    }

    fn far(&self, cta: u32) -> Option<&Epochs> {
        let place = self.far.binary_search_by_key(&cta, |(cta, _)| *cta).ok()?;
        Some(&self.far[place].1)
    }

    /// Marks an epoch of an agent as seen.
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

    /// Adds all epochs that the other view has seen.
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

    /// Whether no epoch has been seen.
    pub fn is_empty(&self) -> bool {
        self.near.is_none() && self.far.is_empty()
    }

    /// Whether every epoch of a view has been seen, except the epochs for which `is_known` holds.
    fn includes(&self, other: &Self, is_known: impl Fn(Agent, Epoch) -> bool) -> bool {
        let lists = other.near.iter().chain(other.far.iter());
        lists.into_iter().all(|(cta, epochs)| {
            let seen = match &self.near {
                Some((near, seen)) if near == cta => Some(seen),
                _ => self.far(*cta),
            };
            if seen.is_some_and(|seen| Rc::ptr_eq(seen, epochs)) {
                return true;
            }
            let seen: &[Epoch] = seen.map_or(&[], |seen| seen);
            // One pass without branches suffices in most cases.
            let is_later = epochs.iter().zip(seen).fold(false, |later, (epoch, seen)| later | (epoch > seen));
            if !is_later && epochs.len() <= seen.len() {
                return true;
            }
            (0..epochs.len()).all(|index| {
                let epoch = epochs[index];
                epoch <= at(seen, index) || is_known(cta << INDEX_BITS | index as Agent, epoch)
            })
        })
    }

    /// The view of the chains of operations alone. The indices of chains follow the indices of the CTA's threads.
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

    /// Whether the two views are identical in memory, so that joining one of them suffices.
    fn is_shared_with(&self, other: &Self) -> bool {
        let near = match (&self.near, &other.near) {
            (Some((a, own)), Some((b, other))) => a == b && Rc::ptr_eq(own, other),
            (None, None) => true,
            _ => false,
        };
        near && Rc::ptr_eq(&self.far, &other.far)
    }
}

/// The memory to which a fence between the generic and the async proxy applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fenced {
    Global,
    Shared,
    /// Only the release half, of shared memory.
    Released,
    /// Not a fence: events that come earlier in every schedule, although nothing orders their accesses. The completion
    /// of an asynchronous operation comes after all events before its start.
    Issued,
}

/// For each kind of fence, the view at the last such fence that has been seen.
type Fences = [View; KINDS];
const KINDS: usize = 4;

/// The agents' epochs that have been seen, and the epochs that a fence between the generic and the async proxy has
/// followed since.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Past {
    /// All epochs that have been seen.
    pub seen: View,
    /// `None` in most kernels, which have no proxy fence.
    fenced: Option<Rc<Fences>>,
}

impl Past {
    /// The past that contains every event of CTAs that have ended.
    pub fn of_ended(ctas: Range<u32>) -> Self {
        let all: Epochs = Rc::new(vec![Epoch::MAX; 1 << INDEX_BITS]);
        let view = View { near: None, far: Rc::new(ctas.map(|cta| (cta, Rc::clone(&all))).collect()) };
        let fenced = [(); KINDS].map(|()| view.clone());
        Self { seen: view, fenced: Some(Rc::new(fenced)) }
    }

    /// The past restricted to operations that complete by themselves. Their indices follow the indices of `threads`
    /// threads.
    pub fn chains(&self, threads: u32) -> Self {
        let chains = |view: &View| view.chains(threads as usize);
        let fenced = self.fenced.as_ref().map(|fences| Rc::new(fences.each_ref().map(chains)));
        Self { seen: chains(&self.seen), fenced }
    }

    /// Adds an operation of a chain to the past.
    pub fn see(&mut self, agent: Agent, epoch: Epoch) {
        self.seen.raise(agent, epoch);
    }

    /// Adds the events before a clock, which come earlier in every schedule.
    pub fn issue(&mut self, clock: &Clock) {
        let view = &mut self.fences()[Fenced::Issued as usize];
        view.join(&clock.past.seen);
        if let Some(fences) = &clock.past.fenced {
            view.join(&fences[Fenced::Issued as usize]);
        }
        view.raise(clock.agent, clock.own);
    }

    /// Joins both views and both sets of fences.
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
        self.fenced.as_ref().map_or(0, |fences| fences[of as usize].last_epoch(agent))
    }

    fn fences(&mut self) -> &mut Fences {
        Rc::make_mut(self.fenced.get_or_insert_default())
    }

    /// Adds the epochs of an agent that its own fences have followed.
    fn raise_fenced(&mut self, agent: Agent, epochs: [Epoch; KINDS]) {
        if epochs != [0; KINDS] {
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

#[derive(Clone, Debug)]
pub struct Clock {
    /// The agent that has this clock.
    pub agent: Agent,
    /// The agent's own epoch, which `past` may lack.
    pub own: Epoch,
    fenced_own: [Epoch; KINDS],
    past: Past,
}

impl Clock {
    /// The clock of an agent that has seen nothing. Its view of its own CTA is near.
    pub fn new(agent: Agent) -> Self {
        let near = View { near: Some((cta_of(agent), Epochs::default())), far: Rc::default() };
        Self { agent, own: 1, fenced_own: [0; KINDS], past: Past { seen: near, fenced: None } }
    }

    /// A clock that follows a past and belongs to no agent.
    pub fn from_past(past: Past) -> Self {
        Self { agent: Agent::MAX, own: 0, fenced_own: [0; KINDS], past }
    }

    /// Whether an epoch of an agent happens before this clock.
    pub fn has_seen(&self, agent: Agent, epoch: Epoch) -> bool {
        if agent == self.agent { self.own >= epoch } else { self.past.seen.last_epoch(agent) >= epoch }
    }

    /// Whether every epoch of a view happens before this clock.
    pub fn has_seen_all(&self, view: &View) -> bool {
        self.past.seen.includes(view, |agent, epoch| agent == self.agent && epoch <= self.own)
    }

    /// Whether, in addition, a proxy fence has followed every epoch of a view.
    pub fn has_fenced_all(&self, of: Fenced, view: &View) -> bool {
        let is_known = |agent, epoch| agent == self.agent && epoch <= self.fenced_own[of as usize];
        match &self.past.fenced {
            Some(fences) => fences[of as usize].includes(view, is_known),
            None => View::default().includes(view, is_known),
        }
    }

    /// Whether an epoch of an agent comes before this clock in every schedule.
    pub fn follows(&self, agent: Agent, epoch: Epoch) -> bool {
        self.has_seen(agent, epoch) || self.past.fenced(Fenced::Issued, agent) >= epoch
    }

    /// Whether every epoch of a view comes before this clock in every schedule.
    pub fn follows_all(&self, view: &View) -> bool {
        self.past.seen.includes(view, |agent, epoch| self.follows(agent, epoch))
    }

    /// Whether any epoch of a CTA has been seen.
    pub fn has_met(&self, cta: u32) -> bool {
        self.past.seen.has_met(cta)
    }

    /// Whether, in addition, a proxy fence has followed the epoch.
    pub fn has_fenced(&self, of: Fenced, agent: Agent, epoch: Epoch) -> bool {
        let fenced = if agent == self.agent { self.fenced_own[of as usize] } else { self.past.fenced(of, agent) };
        fenced >= epoch
    }

    /// Records a fence between the generic and the async proxy, in both directions.
    pub fn fence_proxy(&mut self, of: Fenced) {
        self.past.fences()[of as usize] = self.past.seen.clone();
        self.fenced_own[of as usize] = self.own;
        self.own += 1;
    }

    /// Records the first half of a fence from the generic to the async proxy, for the agent's own events.
    pub fn release_proxy(&mut self) {
        self.fenced_own[Fenced::Released as usize] = self.own;
        self.own += 1;
    }

    /// Records the second half of the fence, for all first halves that have been seen.
    pub fn acquire_proxy(&mut self) {
        let [_, own, released, _] = &mut self.fenced_own;
        *own = (*own).max(*released);
        if self.past.fenced.is_some() {
            let [_, shared, released, _] = self.past.fences();
            shared.join(released);
        }
    }

    /// Separates the events so far from the next event: a release up to now does not cover it.
    pub fn advance(&mut self) {
        self.own += 1;
    }

    /// Adds an operation of a chain to the past.
    pub fn see(&mut self, agent: Agent, epoch: Epoch) {
        if agent != self.agent {
            self.past.seen.raise(agent, epoch);
        }
    }

    /// Adds an operation of a chain to the past, whose accesses of shared memory need no proxy fence.
    pub fn see_fenced(&mut self, agent: Agent, epoch: Epoch) {
        self.see(agent, epoch);
        self.past.fences()[Fenced::Shared as usize].raise(agent, epoch);
    }

    /// The past at this clock, including its own events.
    pub fn past(&self) -> Past {
        let mut past = self.past.clone();
        past.seen.raise(self.agent, self.own);
        past.raise_fenced(self.agent, self.fenced_own);
        past
    }

    /// Adds a past: all its events now happen before this clock.
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

    /// Like `acquire`, for a past that includes this clock's own past.
    pub fn become_(&mut self, past: &Past) {
        self.past = past.clone();
        self.take_own(past);
    }
}

/// The joined pasts of many clocks.
#[derive(Clone, Debug, Default)]
pub struct JoinedPasts {
    past: Past,
    /// The past that was joined last. Threads often share their pasts.
    last: Option<Past>,
}

impl JoinedPasts {
    /// Adds a clock.
    pub fn join(&mut self, clock: &Clock) {
        let is_last = |last: &Past| last.is_shared_with(&clock.past);
        if !self.last.as_ref().is_some_and(is_last) {
            self.past.join(&clock.past);
            self.last = Some(clock.past.clone());
        }
        self.past.seen.raise(clock.agent, clock.own);
        self.past.raise_fenced(clock.agent, clock.fenced_own);
    }

    /// Adds a past.
    pub fn join_past(&mut self, past: &Past) {
        self.past.join(past);
    }

    /// Adds an operation of a chain.
    pub fn see(&mut self, agent: Agent, epoch: Epoch) {
        self.past.seen.raise(agent, epoch);
    }

    /// The joined past.
    pub fn past(self) -> Past {
        self.past
    }
}

#[cfg(test)]
mod tests {
    use itertools::Itertools;

    use super::*;

    /// The join of two lists of epochs has the later epoch of each agent. It shares a list that is as late everywhere.
    #[test]
    fn a_join_has_the_later_epochs_and_shares_a_list() {
        let lists = || (0..4).flat_map(|length| vec![0..3; length].into_iter().multi_cartesian_product());
        for (own, other) in lists().cartesian_product(lists()) {
            let (own, other) = (Rc::new(own), Rc::new(other));
            let mut joined = Rc::clone(&own);
            join_epochs(&mut joined, &other);
            let late = |list: &Epochs| (0..4).map(|index| at(list, index)).collect_vec();
            let expected = late(&own).into_iter().zip(late(&other)).map(|(a, b)| a.max(b)).collect_vec();
            assert_eq!(late(&joined), expected, "{own:?} and {other:?}");
            let is_shared = Rc::ptr_eq(&joined, &own) || Rc::ptr_eq(&joined, &other);
            assert_eq!(is_shared, expected == late(&own) || expected == late(&other), "{own:?} and {other:?}");
        }
    }
}
