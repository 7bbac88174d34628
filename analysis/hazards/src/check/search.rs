//! The search for accesses that lack an ordering after earlier ones. Each class of accesses is followed by itself,
//! along the paths of the thread that does them, and on the other sides of forks.

use ptx_isa::InstPlace;
use std::collections::BTreeMap;

use super::{
    alias::{self, Overlap},
    classes::{Class, classes},
    coverage::{Coverage, Foreign},
    flow::{Done, Flow, State, States},
    need::Lack,
    partners::{Partner, Partners},
    paths::{Mode, TooLarge},
    result::{Key, SecondAccess},
    roles::{Fork, FromStart, forks},
    token::{Round, Token, TokenKind},
};
use crate::{
    cause::Cause,
    finding::{Claim, Rule},
    kernel::{Operation, Space},
};

/// The limit of iterations over the roles: one role may tell another, which may tell a third, or the first again.
const ITERATIONS: usize = 8;

pub struct Search<'k> {
    pub flow: Flow<'k>,
    pub partners: Partners<'k>,
    pub found: BTreeMap<Key, SecondAccess<'k>>,
}

/// A class of accesses that is followed, and the accesses that may depend on it in each block.
struct Followed {
    class: Class,
    /// The accesses of each block that may need an ordering after the class, in program order.
    meets: BTreeMap<usize, Vec<Partner>>,
    coverage: Coverage,
    /// On the other side of a fork: for each block, the index of the event from which on a wait may have covered the
    /// class.
    asked: Vec<usize>,
}

impl<'k> Search<'k> {
    pub fn all(&mut self) -> Result<(), TooLarge> {
        let forks = forks(self.flow.graph, self.flow.barriers);
        for class in classes(&self.flow) {
            let meets = self.partners.find_partners(&class);
            let (coverage, asked) = Default::default();
            self.class(&mut Followed { class, meets, coverage, asked }, &forks)?;
        }
        Ok(())
    }

    fn class(&mut self, followed: &mut Followed, forks: &[Fork]) -> Result<(), TooLarge> {
        let forks = if followed.meets.is_empty() { &[] } else { forks };
        let mut own = self.flow.run(&followed.class, Vec::new(), None, &Mode::Own, &mut followed.coverage)?;
        for _ in 0..ITERATIONS {
            followed.coverage.settle_own();
            for fork in forks {
                self.fork(followed, fork, &own, false)?;
            }
            if !followed.coverage.settle_relayed() {
                break;
            }
            own = self.flow.run(&followed.class, Vec::new(), None, &Mode::Own, &mut followed.coverage)?;
        }
        self.look_within(followed, &own, None, &Mode::Own)?;
        self.ended(followed, &own)?;
        for fork in forks {
            self.fork(followed, fork, &own, true)?;
        }
        Ok(())
    }

    /// Follows accesses of a fork's first side along the second side.
    fn fork(&mut self, followed: &mut Followed, fork: &Fork, own: &[States], look: bool) -> Result<(), TooLarge> {
        let (graph, class) = (self.flow.graph, &followed.class);
        let token = &self.flow.tokens[class.numbers[0]];
        // Registers, and allocations, which never complete, concern no other role.
        if token.access.space == Space::Register || token.kind == TokenKind::Allocated {
            return Ok(());
        }
        let point = token.point;
        let begin = graph.kernel.blocks[fork.block].next[fork.edge].to;
        let known = graph.conditions_at_block(begin);
        let mut starts: Vec<(usize, States)> = Vec::new();
        let mut table = None;
        // A role may tell another role of accesses that do not conflict with its own.
        if fork.theirs[class.block] && !matches!(token.kind, TokenKind::Initialized | TokenKind::Waited) {
            let (foreign, from_start) = fork.foreign(graph, &followed.coverage, token.point);
            let parted = match from_start {
                FromStart::No => fork.parted(graph, &foreign.permits),
                _ => vec![begin],
            };
            for block in parted {
                let mut state = self.flow.begun(class, graph.conditions_at_block(block));
                state.progress.needs_empty_loop = from_start == FromStart::WithoutIterations;
                starts.push((block, vec![state]));
            }
            table = Some(foreign);
        }
        // Accesses before the fork by threads that take the other side.
        if let Some(when) = graph.kernel.blocks[fork.block].next[fork.edge].when
            && !(own[fork.block].is_empty() && class.block != fork.block)
        {
            let mut after = own[fork.block].clone();
            self.flow.through(class, fork.block, &mut after, &Mode::Own, &mut followed.coverage)?;
            let is_for_all = |state: &State| state.progress.is_known_complete && state.progress.condition_set == 0;
            after
                .retain(|state| graph.contradict(self.flow.assumptions.get(state.assumed), when) && !is_for_all(state));
            let assumed = self.flow.assumptions.number_conditions(known.to_vec());
            for state in &mut after {
                (state.progress.is_foreign, state.progress.is_known_complete, state.assumed) = (true, false, assumed);
            }
            if !after.is_empty() {
                starts.push((begin, after));
                table.get_or_insert_with(|| Foreign { is_once: true, ..Foreign::default() });
            }
        }
        let Some(foreign) = table else { return Ok(()) };
        let mode = Mode::Foreign(&foreign);
        self.flow.role = Some(fork.ours.clone());
        let within = Some(&fork.followed[..]);
        let states = self.flow.run(class, starts, within, &mode, &mut followed.coverage)?;
        let asked = if look {
            fork.first_waits(graph, self.flow.barriers, point, followed.coverage.completion_signals())
        } else {
            Vec::new()
        };
        followed.asked = asked;
        let looked = if look { self.look_within(followed, &states, within, &mode) } else { Ok(()) };
        (self.flow.role, followed.asked) = Default::default();
        looked
    }

    /// Compares every access that may lack an ordering with the states of the followed accesses before it.
    fn look_within(
        &mut self,
        followed: &mut Followed,
        before: &[States],
        within: Option<&[bool]>,
        mode: &Mode<'_>,
    ) -> Result<(), TooLarge> {
        let Followed { class, meets, coverage, asked } = followed;
        for (&block, partners) in meets.iter() {
            let is_here = within.is_none_or(|within| within[block]);
            let begins = !mode.is_foreign() && block == class.block;
            let permits = |foreign: &Foreign| {
                foreign.permits.iter().chain(&foreign.first_permits).any(|(other, _)| *other == block)
            };
            let is_permitted = matches!(mode, Mode::Foreign(foreign) if permits(foreign));
            if !is_here || before[block].is_empty() && !begins && !is_permitted {
                continue;
            }
            let mut states = before[block].clone();
            let mut fresh = self.flow.fresh(class, block, mode, coverage);
            let noticed = self.flow.noticed(class.notices, mode.is_foreign());
            let mut passed = 0;
            for partner in partners {
                let index = self.partners.seconds[partner.second].point.1;
                while let Some(&event) = noticed[block].get(passed).filter(|event| **event < index) {
                    if fresh.is_some() && passed == class.after {
                        self.flow.begin(&mut states, &mut fresh);
                    }
                    self.flow.pass(class, (block, event), &mut states, mode, coverage)?;
                    passed += 1;
                }
                self.flow.spend(states.len())?;
                let is_asked = asked.get(block).is_some_and(|from| *from < index);
                self.compare(&states, partner, mode.is_foreign(), is_asked);
                if let Some(fresh) = fresh
                    && passed >= class.after
                    && self.flow.tokens[partner.first].point.1 < index
                {
                    self.compare(&[fresh], partner, false, false);
                }
            }
        }
        Ok(())
    }

    /// Compares accesses with a later access that may need an ordering after them. If a wait may have covered the
    /// accesses by then (`is_asked`), it is uncertain whether they are in flight.
    fn compare(&mut self, states: &[State], partner: &Partner, is_foreign: bool, is_asked: bool) {
        let kernel = self.flow.graph.kernel;
        let number = partner.first;
        let (first, second) = (&self.flow.tokens[number], &self.partners.seconds[partner.second]);
        // After the sides of a fork have met, the thread that did the first access may do the second.
        let have_met = self.flow.role.as_ref().is_some_and(|ours| !ours[second.point.0]);
        if states.is_empty() || have_met && !self.flow.graph.are_disjoint_threads(&first.conditions, &second.conditions)
        {
            return;
        }
        // Two roles iterate independently.
        let is_itself = first.point == second.point && !first.access.address.offset.terms.is_empty();
        let is_own_place = first.operation().is_none() && alias::is_own_place(kernel, &first.access, &second.access);
        let mut overlaps = [None; 4];
        for state in states {
            let round = match is_foreign {
                // Any element of an array may be the initialized one.
                _ if first.kind == TokenKind::Initialized => Round::Any,
                // A read of tensor memory is one element after the element that is written.
                true if state.progress.is_left_in_flight || first.access.space == Space::Tensor => Round::Ahead,
                true if is_own_place => Round::Same,
                false if is_itself => Round::Ahead,
                true if state.progress.is_next_ring_element => Round::Earlier,
                true => Round::Any,
                false => state.progress.round(),
            };
            let overlap = overlaps[round as usize].get_or_insert_with(|| alias::overlap(kernel, first, round, second));
            if *overlap == Overlap::No {
                continue;
            }
            let Some((rule, lack)) = self.flow.lack(first, state, second) else { continue };
            let is_open = self.flow.is_open(state, second, lack) || state.progress.is_foreign && is_asked;
            let certain = *overlap == Overlap::Yes && !is_open;
            let claim = match certain {
                true if self.flow.is_warning(first, second, state, lack) => Claim::Note,
                true => Claim::Wrong,
                false => Claim::NotChecked,
            };
            let key = Key { first: number, rule, lack };
            let is_less = |old: &SecondAccess<'_>| rank(old.claim, &old.second) <= rank(claim, second);
            if !self.found.get(&key).is_some_and(is_less) {
                let why = || match *overlap {
                    _ if is_open => self.flow.cause(state, is_asked),
                    Overlap::Threads(threads) => Cause::Block(Some(threads)),
                    Overlap::Guarded(value) => kernel.unknowns[value].cause.clone().unwrap_or(Cause::Address),
                    _ => alias::cause(kernel, first, second),
                };
                let cause = (claim == Claim::NotChecked).then(why);
                self.found.insert(key, SecondAccess { claim, second: second.clone(), cause });
            }
        }
    }

    /// Checks the accesses that are in flight where a kernel ends.
    fn ended(&mut self, followed: &mut Followed, own: &[States]) -> Result<(), TooLarge> {
        let (kernel, class) = (self.flow.graph.kernel, &followed.class);
        let token = &self.flow.tokens[class.numbers[0]];
        let is_allocated = token.kind == TokenKind::Allocated;
        let reads = token.operation() == Some(&Operation::BulkStore) && token.access.space == Space::Shared;
        if !is_allocated && !reads || is_allocated && self.flow.is_freed_by_others(token) {
            return Ok(());
        }
        let ends = |block: &usize| kernel.blocks[*block].next.is_empty() && !kernel.blocks[*block].is_dead_end;
        for &block in self.flow.graph.order.iter().filter(|block| ends(block)) {
            let mut states = own[block].clone();
            self.flow.through(class, block, &mut states, &Mode::Own, &mut followed.coverage)?;
            let is_read = |state: &State| state.progress.done != Done::No || state.progress.is_doubtful;
            let (rule, claim) = match is_allocated {
                true => (Rule::R6, Claim::Wrong),
                false => (Rule::R7, Claim::Note),
            };
            if states.is_empty() || reads && states.iter().all(is_read) {
                continue;
            }
            for &first in &class.numbers {
                let key = Key { first, rule, lack: Lack::Wait };
                let second = Token { point: (block, usize::MAX), ..self.flow.tokens[first].clone() };
                self.found.entry(key).or_insert(SecondAccess { claim, second, cause: None });
            }
        }
        Ok(())
    }
}

/// The order in which findings are preferred: certain findings first, then earlier lines. The end of the kernel comes
/// last.
fn rank(claim: Claim, second: &Token<'_>) -> (bool, bool, Claim, InstPlace) {
    (second.point.1 == usize::MAX, claim == Claim::NotChecked, claim, second.at)
}
