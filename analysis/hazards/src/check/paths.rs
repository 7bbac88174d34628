//! The accesses in flight at each point of a kernel: the [transitions](super::flow) along its paths, up to a fixed
//! point.
//!
//! An access is followed along the paths of the thread that does it. Once it is shared, it is followed along the paths
//! of all threads that have learned of it.

use std::rc::Rc;

use super::{
    assumed::Passes,
    classes::Class,
    coverage::{Coverage, Foreign},
    flow::{Crossing, Flow, Progress, State, States, Transition, insert, join},
    graph::Point,
    notices::Notices,
    token::{Token, TokenKind},
};
use crate::kernel::{Condition, Event, EventAccess, EventKind, ObjectKind, Test, Varies};

/// The relation of the followed access to the followed threads.
pub enum Mode<'f> {
    /// The threads' own access, from the event that does it.
    Own,
    /// An access of another role, from the events at which that role may begin it.
    Foreign(&'f Foreign),
}

impl Mode<'_> {
    pub fn is_foreign(&self) -> bool {
        matches!(self, Self::Foreign(_))
    }
}

/// The amount of work between two looks at the emergency stop.
const GLANCE: usize = 1 << 12;

/// The error that a kernel takes more work, or more time, than the budget allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

impl<'k> Flow<'k> {
    /// The states of a class of accesses at the beginning of each block.
    pub fn run(
        &mut self,
        class: &Class,
        start: Vec<(usize, States)>,
        within: Option<&[bool]>,
        mode: &Mode<'_>,
        coverage: &mut Coverage,
    ) -> Result<Vec<States>, TooLarge> {
        let graph = self.graph;
        let mut before: Vec<States> = vec![States::default(); graph.kernel.blocks.len()];
        let mut open = std::collections::BTreeSet::new();
        let is_within = |block: usize| within.is_none_or(|within| within[block]);
        match mode {
            Mode::Own => drop(open.insert(graph.position[class.block])),
            Mode::Foreign(foreign) => {
                let permits = foreign.permits.iter().chain(&foreign.first_permits).map(|(block, _)| *block);
                open.extend(permits.filter(|block| is_within(*block)).map(|block| graph.position[block]));
            }
        }
        for (block, states) in start {
            join(&mut self.assumptions, &mut before[block], states);
            open.insert(graph.position[block]);
        }
        while let Some(at) = open.pop_first() {
            let Some(&block) = graph.order.get(at) else { continue };
            let mut states = before[block].clone();
            self.through(class, block, &mut states, mode, coverage)?;
            for (edge, next) in graph.kernel.blocks[block].next.iter().enumerate() {
                if !is_within(next.to) {
                    continue;
                }
                let there = self.along(class, block, edge, &states)?;
                if join(&mut self.assumptions, &mut before[next.to], there) {
                    open.insert(graph.position[next.to]);
                }
            }
        }
        Ok(before)
    }

    /// Advances states from the beginning of a block to its end.
    pub fn through(
        &mut self,
        class: &Class,
        block: usize,
        states: &mut States,
        mode: &Mode<'_>,
        coverage: &mut Coverage,
    ) -> Result<(), TooLarge> {
        let mut fresh = self.fresh(class, block, mode, coverage);
        let noticed = self.noticed(class.notices, mode.is_foreign());
        let begins = fresh.map_or(0, |_| class.after);
        for (count, &index) in noticed[block].iter().enumerate() {
            if count == begins {
                self.begin(states, &mut fresh);
            }
            self.pass(class, (block, index), states, mode, coverage)?;
        }
        self.begin(states, &mut fresh);
        Ok(())
    }

    /// The state of the class's own accesses in a block, just after the events that do them.
    pub fn fresh(&mut self, class: &Class, block: usize, mode: &Mode<'_>, coverage: &mut Coverage) -> Option<State> {
        if mode.is_foreign() || block != class.block {
            return None;
        }
        let token = &self.tokens[class.numbers[0]];
        let signal = self.barriers.signal(token.point);
        let progress = Progress::issued(token, signal);
        if progress.completion_signals != 0 {
            coverage.entry(signal, token.point).is_after_completion = true;
        }
        Some(State { progress, assumed: self.assumptions.number_conditions(token.conditions.clone()) })
    }

    /// Adds the state of accesses that have just begun.
    pub fn begin(&mut self, states: &mut States, fresh: &mut Option<State>) {
        if let Some(state) = fresh.take() {
            insert(&mut self.assumptions, states, state);
        }
    }

    /// For each block, the events that change the progress of accesses; if requested, also the events that let another
    /// role continue.
    pub fn noticed(&self, notices: Notices, with_signals: bool) -> Rc<Vec<Vec<usize>>> {
        let all = if with_signals { &self.noticed_with_signals } else { &self.noticed };
        all[notices as usize].clone()
    }

    /// The state of another role's access at the point at which the followed threads learn that it may have begun.
    /// Conditions of the access also hold in the followed threads, if they are uniform in the whole kernel.
    pub fn begun(&mut self, class: &Class, known: &[Condition]) -> State {
        let predicates = &self.graph.kernel.predicates;
        let is_alike = |condition: &&Condition| {
            let predicate = &predicates[condition.predicate];
            predicate.varies == Varies::No && predicate.block.is_none()
        };
        let alike = self.tokens[class.numbers[0]].conditions.iter().filter(is_alike);
        let assumed = known.iter().chain(alike).copied().collect();
        State {
            progress: Progress { is_foreign: true, ..Progress::default() },
            assumed: self.assumptions.number_conditions(assumed),
        }
    }

    /// Counts work, and fails above the budget.
    pub fn spend(&mut self, work: usize) -> Result<(), TooLarge> {
        let before = self.work;
        self.work += work + 1;
        let is_over = self.work > self.budget.work || self.work / GLANCE > before / GLANCE && self.stop.is_due();
        if is_over { Err(TooLarge) } else { Ok(()) }
    }

    /// The crossing of an event, shared by all accesses that pass it.
    fn crossing(&mut self, point: Point) -> Rc<Crossing<'k>> {
        if let Some(known) = self.crossings.get(&point) {
            return known.clone();
        }
        let event = &self.graph.kernel.blocks[point.0].events[point.1];
        let crossing = Rc::new(Crossing::new(self, point, event));
        self.crossings.insert(point, crossing.clone());
        crossing
    }

    /// Advances states from before an event to after it.
    pub fn pass(
        &mut self,
        class: &Class,
        point: Point,
        states: &mut States,
        mode: &Mode<'_>,
        coverage: &mut Coverage,
    ) -> Result<(), TooLarge> {
        let graph = self.graph;
        let foreign = match mode {
            Mode::Own => None,
            Mode::Foreign(foreign) => Some(*foreign),
        };
        if !states.is_empty() {
            self.spend(states.len())?;
            let crossing = self.crossing(point);
            let mut new = Vec::with_capacity(states.len());
            for state in std::mem::take(states) {
                self.follow(class, state, &crossing, foreign, coverage, &mut new);
            }
            if foreign.is_some_and(|foreign| foreign.permits_at(point, new.is_empty())) {
                let ahead = !new.is_empty()
                    && new.iter().all(|state| !state.progress.is_foreign || state.progress.is_left_in_flight);
                let begun = self.begun(class, &crossing.known);
                let progress =
                    Progress { is_left_in_flight: ahead, is_next_ring_element: !new.is_empty(), ..begun.progress };
                let state = State { progress, ..begun };
                insert(&mut self.assumptions, &mut new, state);
            }
            *states = new;
        }
        if foreign.is_some_and(|foreign| foreign.permits_at(point, true)) && states.is_empty() {
            states.push(self.begun(class, graph.conditions_at_event(point)));
        }
        Ok(())
    }

    /// The states of accesses at the destination of an edge.
    pub fn along(&mut self, class: &Class, block: usize, edge: usize, states: &States) -> Result<States, TooLarge> {
        let graph = self.graph;
        let to = graph.kernel.blocks[block].next[edge].to;
        let mut there = States::default();
        if states.is_empty() {
            return Ok(there);
        }
        self.spend(states.len() / 8)?;
        let token = &self.tokens[class.numbers[0]];
        let computed = |(value, _): &(usize, i64)| graph.kernel.unknowns[*value].block == Some(to);
        let makes_stale = token.access.address.offset.terms.iter().any(computed);
        let when = graph.kernel.blocks[block].next[edge].when;
        let is_left = when.is_some_and(|when| self.is_other_warp(token, when))
            || token.kind == TokenKind::Allocated && self.frees_elsewhere(block, to, token);
        if is_left {
            return Ok(there);
        }
        for state in states {
            let Some(assumed) = self.assumptions.along(graph, state.assumed, block, edge) else { continue };
            let mut state = State { assumed, ..*state };
            state.progress.stale_iterations = (state.progress.stale_iterations + u8::from(makes_stale)).min(2);
            insert(&mut self.assumptions, &mut there, state);
        }
        Ok(there)
    }

    /// Whether threads that take an edge are of another warp than the warp that runs tensor operations. If code elects
    /// a thread of any warp for these operations, and later tests whether the warp is a certain one, the elected warp
    /// is assumed to be that one.
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
    fn frees(&self, access: &EventAccess, token: &Token<'_>) -> bool {
        let object = access.address.object;
        object == token.access.address.object || self.graph.kernel.objects[object].kind == ObjectKind::Unknown
    }

    /// Whether an allocation is freed at a point that is not reachable from the allocation.
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

    /// Whether threads that take another edge free an allocation, and threads that take this edge do not. Any warp may
    /// free it, so the threads of this edge need not.
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

    /// Whether an event frees an allocation under a guard that only some threads pass: then it is freed for all
    /// threads.
    fn frees_under(&self, number: usize, event: &Event) -> bool {
        let token = &self.tokens[number];
        let varies = |condition: &Condition| self.graph.kernel.predicates[condition.predicate].varies != Varies::No;
        matches!(&event.kind, EventKind::Deallocate(access) if token.kind == TokenKind::Allocated && self.frees(access, token))
            && self.graph.closed(event.guard.clone()).iter().all(varies)
    }

    /// Advances one state past an event. The state splits into two if it is unknown whether its thread does the event.
    fn follow(
        &mut self,
        class: &Class,
        mut state: State,
        crossing: &Crossing<'k>,
        foreign: Option<&Foreign>,
        coverage: &mut Coverage,
        new: &mut Vec<State>,
    ) {
        let (graph, event) = (self.graph, crossing.event);
        let number = class.numbers[0];
        if self.frees_under(number, event) {
            return;
        }
        match self.assumptions.passes(graph, state.assumed, crossing.point) {
            Passes::Always => {}
            Passes::Never => {
                insert(&mut self.assumptions, new, state);
                return;
            }
            Passes::Either(skips, does) => {
                insert(&mut self.assumptions, new, State { assumed: skips, ..state });
                state.assumed = does;
            }
        }
        let token = &self.tokens[number];
        if let EventKind::Deallocate(access) = &event.kind
            && token.kind == TokenKind::Allocated
            && self.frees(access, token)
        {
            return;
        }
        let old = state.progress;
        let again = Transition { flow: self, token, crossing, foreign, coverage }.apply(&mut state);
        if old.done != state.progress.done || old.is_fenced != state.progress.is_fenced {
            let space = token.access.space;
            self.useful.entry(crossing.point).or_default().insert(space);
        }
        if again {
            let known = self.assumptions.get(state.assumed).to_vec();
            let begun = self.begun(class, &known);
            let progress = Progress { is_next_ring_element: true, ..begun.progress };
            insert(&mut self.assumptions, new, State { progress, ..begun });
        }
        // Another role's access is also followed after it is over: threads that know of it may tell other threads.
        if foreign.is_some() || !self.is_over(number, &state.progress) {
            insert(&mut self.assumptions, new, state);
        }
    }
}
