//! What is in flight at each point of a kernel: the [transitions](super::flow) along its paths, until nothing changes.
//!
//! An access is followed along the paths of the thread that does it. Once it is shared, these are the paths of all threads that have
//! learned of it.

use rustc_hash::FxHashMap;

use super::{
    coverage::{Coverage, Foreign},
    flow::{Crossing, Flow, Progress, State, States, Transition, insert, join, limited},
    graph::Point,
    token::{Token, TokenKind},
};
use crate::kernel::{Access, Condition, Event, EventKind, ObjectKind, Test, Varies};

/// Which accesses are followed.
pub enum Mode<'f> {
    /// Every access, from the event that does it.
    Own,
    /// Accesses of another role, from where it may begin them.
    Foreign(&'f FxHashMap<usize, Foreign>),
}

/// How much work a kernel may take, in accesses times events.
const WORK: usize = 4_000_000;

/// A kernel takes more work than it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

impl<'k> Flow<'k> {
    /// What is in flight at the beginning of each block.
    pub fn run(
        &mut self,
        start: Vec<(usize, States)>,
        within: Option<&[bool]>,
        mode: &Mode<'_>,
        coverage: &mut Coverage,
    ) -> Result<Vec<States>, TooLarge> {
        let blocks = self.graph.kernel.blocks.len();
        let mut position = vec![usize::MAX; blocks];
        self.graph.order.iter().enumerate().for_each(|(at, &block)| position[block] = at);
        let mut before: Vec<States> = vec![States::default(); blocks];
        let mut open = std::collections::BTreeSet::new();
        for (block, states) in start {
            join(&mut before[block], states);
            open.insert(position[block]);
        }
        let is_within = |at: &usize| within.is_none_or(|within| within[self.graph.order[*at]]);
        open.extend((0..self.graph.order.len()).filter(is_within));
        while let Some(at) = open.pop_first() {
            let block = self.graph.order[at];
            let mut states = before[block].clone();
            for index in 0..self.graph.kernel.blocks[block].events.len() {
                self.pass((block, index), &mut states, mode, coverage)?;
            }
            for (edge, next) in self.graph.kernel.blocks[block].next.iter().enumerate() {
                if within.is_some_and(|within| !within[next.to]) {
                    continue;
                }
                let there = self.along(block, edge, &states);
                if join(&mut before[next.to], there) {
                    open.insert(position[next.to]);
                }
            }
        }
        Ok(before)
    }

    /// The state of another role's access where the threads that are followed learn that it may have begun. Conditions of the access hold
    /// of them too, if they are the same in all of the kernel.
    pub fn begun(&self, number: usize, known: &[Condition]) -> State {
        let predicates = &self.graph.kernel.predicates;
        let is_alike = |condition: &&Condition| {
            let predicate = &predicates[condition.predicate];
            predicate.varies == Varies::No && predicate.block.is_none()
        };
        let alike = self.tokens[number].conditions.iter().filter(is_alike);
        let assumed = limited(known.iter().chain(alike).copied().collect());
        State { progress: Progress { foreign: true, ..Progress::default() }, assumed }
    }

    /// Counts work, and stops where it is too much.
    pub fn spend(&mut self, work: usize) -> Result<(), TooLarge> {
        self.work += work + 1;
        if self.work > WORK { Err(TooLarge) } else { Ok(()) }
    }

    /// Takes what is in flight in front of an event to what is in flight behind it.
    pub fn pass(
        &mut self,
        point: Point,
        states: &mut States,
        mode: &Mode<'_>,
        coverage: &mut Coverage,
    ) -> Result<(), TooLarge> {
        let event = &self.graph.kernel.blocks[point.0].events[point.1];
        if !matches!(event.kind, EventKind::Access(_)) && !states.is_empty() {
            self.spend(states.values().map(Vec::len).sum())?;
            let crossing = Crossing::new(self, point, event);
            let mut numbers: Vec<_> = states.keys().copied().collect();
            numbers.sort_unstable();
            for number in numbers {
                let old = states.remove(&number).unwrap_or_default();
                let foreign = match mode {
                    Mode::Own => None,
                    Mode::Foreign(table) => table.get(&number),
                };
                let mut new = Vec::with_capacity(old.len());
                for state in old {
                    self.follow(number, state, &crossing, foreign, coverage, &mut new);
                }
                if let Some(foreign) = foreign
                    && foreign.permits_at(point, new.is_empty())
                {
                    let ahead =
                        !new.is_empty() && new.iter().all(|state| !state.progress.foreign || state.progress.ahead);
                    let begun = self.begun(number, &crossing.known);
                    insert(&mut new, State { progress: Progress { ahead, ..begun.progress }, ..begun });
                }
                if !new.is_empty() {
                    states.insert(number, new);
                }
            }
        }
        if let Mode::Foreign(table) = mode {
            if self.barriers.signal(point) != 0 {
                for (&number, foreign) in table.iter() {
                    if foreign.permits_at(point, true) && !states.contains_key(&number) {
                        states.insert(number, vec![self.begun(number, &self.graph.known_at(point))]);
                    }
                }
            }
            return Ok(());
        }
        for &number in self.begins.get(&point).map_or(&[][..], |numbers| numbers) {
            let token = &self.tokens[number];
            let signal = self.barriers.signal(point);
            let progress = Progress::issued(token, signal);
            if progress.completes != 0 {
                coverage.entry(number, signal, point).good = true;
            }
            let assumed = limited(token.conditions.clone());
            insert(states.entry(number).or_default(), State { progress, assumed });
        }
        Ok(())
    }

    /// What is in flight where an edge leads.
    pub fn along(&self, block: usize, edge: usize, states: &States) -> States {
        let edge = &self.graph.kernel.blocks[block].next[edge];
        let kernel = self.graph.kernel;
        let mut there = States::default();
        for (&number, states) in states {
            let token = &self.tokens[number];
            let mut kept = Vec::with_capacity(states.len());
            for state in states {
                if let Some(when) = edge.when
                    && (self.graph.contradict(&state.assumed, when) || self.is_other_warp(token, when))
                {
                    continue;
                }
                if token.kind == TokenKind::Allocated && self.frees_elsewhere(block, edge.to, token) {
                    continue;
                }
                let mut state = state.clone();
                if let Some(when) = edge.when
                    && !state.assumed.contains(&when)
                {
                    state.assumed.extend(self.graph.closed(vec![when]));
                    state.assumed = limited(state.assumed);
                }
                let before = state.assumed.clone();
                state.assumed.retain(|condition| kernel.predicates[condition.predicate].block != Some(edge.to));
                state.assumed = limited(self.graph.met(block, edge.to, state.assumed, &before));
                let computed = |(value, _): &(usize, i64)| kernel.unknowns[*value].block == Some(edge.to);
                state.progress.stale |= token.access.address.offset.terms.iter().any(computed);
                insert(&mut kept, state);
            }
            if !kept.is_empty() {
                there.insert(number, kept);
            }
        }
        there
    }

    /// Whether threads that take an edge are of another warp than the one that runs tensor operations. Where code elects a thread of
    /// any warp for them, and asks later whether the warp is a certain one, it means this one.
    fn is_other_warp(&self, token: &Token<'_>, when: Condition) -> bool {
        let is_elected = |condition: &Condition| {
            condition.holds && self.graph.kernel.predicates[condition.predicate].test == Test::OneOfWarp
        };
        token.commit_group().is_some()
            && !when.holds
            && self.graph.warp(&[Condition { holds: true, ..when }]).is_some()
            && self.graph.warp(&token.conditions).is_none()
            && token.conditions.iter().any(is_elected)
    }

    /// Whether a `tcgen05.dealloc` may free an allocation.
    fn frees(&self, access: &Access, token: &Token<'_>) -> bool {
        let object = access.address.object;
        object == token.access.address.object || self.graph.kernel.objects[object].kind == ObjectKind::Unknown
    }

    /// Whether threads free an allocation that do not come from where it is made.
    pub fn is_freed_by_others(&self, token: &Token<'_>) -> bool {
        let reached = self.graph.reached(&[token.point.0], |_| false);
        let elsewhere = |block: &usize| *block != token.point.0 && !reached[*block];
        let mut events = self.graph.order.iter().filter(|block| elsewhere(block));
        events.any(|block| self.has_free(*block, token))
    }

    fn has_free(&self, block: usize, token: &Token<'_>) -> bool {
        let is_it = |(index, event): (usize, &Event)| {
            let is_free = matches!(&event.kind, EventKind::Deallocate(access) if self.frees(access, token));
            is_free && !self.graph.is_dead((block, index))
        };
        self.graph.kernel.blocks[block].events.iter().enumerate().any(is_it)
    }

    /// Whether threads that take another edge free an allocation, and those that take this one do not. Any warp may free it, so that it is
    /// no matter of theirs.
    fn frees_elsewhere(&self, block: usize, to: usize, token: &Token<'_>) -> bool {
        let frees = |from: usize| {
            let mut reached = self.graph.reached(&[from], |_| false);
            reached[from] = true;
            (0..reached.len()).any(|block| reached[block] && self.has_free(block, token))
        };
        let varies = |when: Option<Condition>| {
            when.is_some_and(|when| self.graph.kernel.predicates[when.predicate].varies != Varies::No)
        };
        let mut others = self.graph.kernel.blocks[block].next.iter().filter(|edge| edge.to != to);
        others.any(|edge| varies(edge.when) && frees(edge.to)) && !frees(to)
    }

    /// Whether an event frees an allocation under a guard that only some threads pass: it is freed for all of them.
    fn frees_under(&self, number: usize, event: &Event) -> bool {
        let token = &self.tokens[number];
        let varies = |condition: &Condition| self.graph.kernel.predicates[condition.predicate].varies != Varies::No;
        matches!(&event.kind, EventKind::Deallocate(access) if token.kind == TokenKind::Allocated && self.frees(access, token))
            && self.graph.closed(event.guard.clone()).iter().all(varies)
    }

    /// Takes one state past an event. It becomes two where it is not known whether its thread does the event.
    fn follow(
        &mut self,
        number: usize,
        mut state: State,
        crossing: &Crossing<'k>,
        foreign: Option<&Foreign>,
        coverage: &mut Coverage,
        new: &mut Vec<State>,
    ) {
        let event = crossing.event;
        if self.frees_under(number, event) {
            return;
        }
        if !event.guard.is_empty() {
            let here = self.graph.closed(state.assumed.clone());
            if event.guard.iter().any(|condition| self.graph.contradict(&here, *condition)) {
                insert(new, state);
                return;
            }
            if !event.guard.iter().all(|condition| self.graph.implied(&here, *condition)) {
                let mut skips = state.clone();
                if let [only] = event.guard[..] {
                    skips.assumed.push(only.opposite());
                    skips.assumed = limited(skips.assumed);
                }
                insert(new, skips);
                state.assumed.extend(&event.guard);
                state.assumed = limited(state.assumed);
            }
        }
        let token = &self.tokens[number];
        if let EventKind::Deallocate(access) = &event.kind
            && token.kind == TokenKind::Allocated
            && self.frees(access, token)
        {
            return;
        }
        let old = state.progress.clone();
        let again = Transition { flow: self, number, token, crossing, foreign, coverage }.apply(&mut state);
        if old.done != state.progress.done || old.fenced != state.progress.fenced {
            let space = token.access.space;
            self.useful.entry(crossing.point).or_default().insert(space);
        }
        if again {
            insert(new, self.begun(number, &state.assumed));
        }
        // Another role's access is followed when it is over, too: threads that know it may tell others.
        if foreign.is_some() || !self.is_over(number, &state.progress) {
            insert(new, state);
        }
    }
}
