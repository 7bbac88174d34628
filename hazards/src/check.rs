//! The check of one kernel.

mod alias;
mod barriers;
mod cluster;
mod coverage;
mod dependent;
mod flow;
mod forms;
mod found;
mod gates;
mod graph;
mod launched;
mod message;
mod need;
mod paths;
mod reach;
mod remedy;
mod roles;
mod token;

use std::collections::BTreeMap;

use ptx_memory_model::ptx::readings::Readings;
use rustc_hash::{FxHashMap, FxHashSet};

pub use self::graph::EventGraph;
use self::{
    alias::Overlap,
    barriers::Barriers,
    coverage::{Coverage, Foreign},
    flow::{Done, Flow, State, States},
    found::{Found, Key},
    graph::Point,
    need::Lack,
    paths::{Mode, TooLarge},
    roles::Fork,
    token::{Round, Token, TokenKind},
};
use crate::{
    finding::{Report, Rule, Verdict},
    kernel::{Access, EventKind, Kernel, Operation, Proxy, Space, Start},
};

/// How many events a kernel may have, and how many of them may synchronize: each is compared with each.
const EVENTS: usize = 20_000;
const SYNCHRONIZATIONS: usize = 2_000;

/// What is wrong with a kernel, as the readings have it. One that is too large is not checked.
pub fn check(kernel: &Kernel, readings: Readings) -> Report {
    let synchronizations = forms::synchronizations(kernel);
    let mut report = Report { synchronizations, ..Report::default() };
    let is_asynchronous = token::is_asynchronous(kernel);
    if !is_asynchronous && !launched::concerns(kernel) {
        return report;
    }
    let events: usize = kernel.blocks.iter().map(|block| block.events.len()).sum();
    if events > EVENTS || synchronizations > SYNCHRONIZATIONS {
        report.findings.push(forms::too_large(kernel));
        report.unchecked = synchronizations;
        return report;
    }
    let graph = EventGraph::new(kernel);
    let barriers = Barriers::new(&graph);
    if !is_asynchronous {
        report.findings = launched::findings(&graph, &barriers);
        return report;
    }
    let tokens = tokens(&graph);
    let (partners, crosses) = partners(&graph, &tokens);
    let flow = Flow::new(&graph, &barriers, readings, tokens, crosses);
    let mut search = Search { flow, partners, found: BTreeMap::new() };
    let too_large = barriers.too_many || search.all().is_err();
    if too_large {
        report.findings.push(forms::too_large(kernel));
        report.unchecked = synchronizations;
        return report;
    }
    let Search { flow, found, .. } = search;
    report.findings = remedy::findings(&flow, &found);
    report.findings.extend(forms::findings(&flow));
    report.findings.extend(launched::findings(&graph, &barriers));
    report.findings.sort_by_key(|finding| (finding.line, finding.rule, finding.first, finding.verdict));
    // The copies of a loop's first rounds show the same finding.
    report.findings.dedup_by(|next, one| {
        (next.line, next.rule, next.first, &next.message) == (one.line, one.rule, one.first, &one.message)
    });
    report.unchecked = forms::unchecked(&flow, &report.findings);
    report
}

/// The accesses of which later ones may need something.
fn tokens<'k>(graph: &EventGraph<'k>) -> Vec<Token<'k>> {
    let points = graph.order.iter().flat_map(|&block| {
        graph.kernel.blocks[block].events.iter().enumerate().map(move |(index, event)| ((block, index), event))
    });
    let mut tokens = Vec::new();
    for (point, event) in points.filter(|(point, event)| event.guard.is_empty() || !graph.is_dead(*point)) {
        let new = Token::of(graph, point, event);
        for token in new {
            if !extends(graph, &mut tokens, &token) {
                tokens.push(token);
            }
        }
    }
    let mut seen = FxHashSet::default();
    let others: Vec<_> = tokens
        .iter()
        .filter(|token| token.operation().is_some() && seen.insert((token.access.clone(), token.point.0)))
        .cloned()
        .collect();
    let ends: Vec<_> = tokens.iter().filter(|token| token.kind == TokenKind::Invalidated).cloned().collect();
    let meet =
        |one: &Token<'_>, other: &Token<'_>| alias::overlap(graph.kernel, one, Round::Earlier, other) != Overlap::No;
    let matters = |token: &Token<'_>| match token.kind {
        TokenKind::Started(_) | TokenKind::Initialized | TokenKind::Allocated | TokenKind::Addressed => true,
        TokenKind::Waited => ends.iter().any(|end| meet(token, end)),
        TokenKind::Plain | TokenKind::Invalidated => others
            .iter()
            .any(|other| (token.access.writes || other.access.writes) && (meet(token, other) || meet(other, token))),
    };
    // No manual says when a copy has read its tensor map: a map that is written under copies in flight is not looked at.
    tokens.retain(|token| matters(token) && token.access.proxy != Proxy::Tensormap);
    tokens
}

/// For each access, the blocks with an access that may need something of it; and whether one of these goes through another proxy.
fn partners(graph: &EventGraph<'_>, tokens: &[Token<'_>]) -> (Vec<Vec<usize>>, Vec<bool>) {
    let mut seen = FxHashSet::default();
    let mut all = Vec::new();
    for &block in &graph.order {
        for index in 0..graph.kernel.blocks[block].events.len() {
            let new = seconds(graph, (block, index)).into_iter();
            all.extend(new.filter(|second| seen.insert((block, second.access.clone()))));
        }
    }
    let of = |token: &Token<'_>| {
        let meets = |second: &&Token<'_>| {
            need::conflict(token, second) && alias::overlap(graph.kernel, token, Round::Earlier, second) != Overlap::No
        };
        let mut crosses = matches!(token.kind, TokenKind::Initialized | TokenKind::Allocated);
        let mut blocks = Vec::new();
        for second in all.iter().filter(meets) {
            crosses |= second.access.proxy != token.access.proxy;
            blocks.push(second.point.0);
        }
        blocks.dedup();
        (blocks, crosses)
    };
    tokens.iter().map(of).unzip()
}

/// Joins a plain access to the last one, if it goes on where that one ended. Whether it did.
fn extends<'k>(graph: &EventGraph<'k>, tokens: &mut [Token<'k>], token: &Token<'k>) -> bool {
    let Some(last) = tokens.last_mut() else { return false };
    let events = &graph.kernel.blocks[token.point.0].events;
    let plain = |kind: TokenKind<'_>| kind == TokenKind::Plain;
    if !plain(last.kind) || !plain(token.kind) || last.point.0 != token.point.0 || last.conditions != token.conditions {
        return false;
    }
    if events[last.point.1..token.point.1]
        .iter()
        .any(|event| !matches!(event.kind, EventKind::Access(_) | EventKind::Global(_)))
    {
        return false;
    }
    let (a, b) = (&mut last.access, &token.access);
    let like = a.address.object == b.address.object
        && a.address.offset.terms == b.address.offset.terms
        && a.address.is_remote == b.address.is_remote
        && (a.space, a.proxy, a.reads, a.writes) == (b.space, b.proxy, b.reads, b.writes);
    let (Some(extent), Some(more)) = (a.extent, b.extent) else { return false };
    let distance = b.address.offset.constant.wrapping_sub(a.address.offset.constant);
    if !like || distance < 0 || distance.cast_unsigned() > extent {
        return false;
    }
    a.extent = Some(extent.max(distance.cast_unsigned() + more));
    true
}

struct Search<'k> {
    flow: Flow<'k>,
    /// For each access, the blocks with an access that may need something of it.
    partners: Vec<Vec<usize>>,
    found: BTreeMap<Key, Found<'k>>,
}

impl<'k> Search<'k> {
    fn all(&mut self) -> Result<(), TooLarge> {
        let mut coverage = Coverage::default();
        let forks = roles::forks(self.flow.graph);
        // What one role tells another, the other may tell a third, or the first again.
        let mut own = self.flow.run(Vec::new(), None, &Mode::Own, &mut coverage)?;
        for _ in 0..4 {
            let known = coverage.len();
            for fork in &forks {
                self.fork(fork, &own, &mut coverage, false)?;
            }
            if coverage.len() == known {
                break;
            }
            own = self.flow.run(Vec::new(), None, &Mode::Own, &mut coverage)?;
        }
        self.look_within(&own, None, &Mode::Own, &mut coverage)?;
        for fork in &forks {
            self.fork(fork, &own, &mut coverage, true)?;
        }
        Ok(())
    }

    /// Follows the accesses of a fork's first side along the second side.
    fn fork(&mut self, fork: &Fork, own: &[States], coverage: &mut Coverage, look: bool) -> Result<(), TooLarge> {
        let flow = &self.flow;
        let begin = flow.graph.kernel.blocks[fork.block].next[fork.edge].to;
        let mut start = States::default();
        let mut parted: FxHashMap<usize, States> = FxHashMap::default();
        let mut table: FxHashMap<usize, Foreign> = FxHashMap::default();
        let known = flow.graph.known(begin).to_vec();
        for (number, token) in flow.tokens.iter().enumerate() {
            // Only accesses that meet one outside of the first side concern other roles. Registers never do.
            let elsewhere = |block: &usize| !fork.theirs[*block];
            if !fork.theirs[token.point.0]
                || !self.partners[number].iter().any(elsewhere)
                || matches!(token.kind, TokenKind::Initialized | TokenKind::Allocated | TokenKind::Waited)
                || token.access.space == Space::Register
            {
                continue;
            }
            let (foreign, from_start) = fork.foreign(flow.graph, flow.barriers, coverage, number, token.point);
            if from_start {
                start.insert(number, vec![flow.begun(number, &known)]);
            }
            if !from_start {
                for to in fork.parted(flow.graph, &foreign.permits) {
                    let state = flow.begun(number, flow.graph.known(to));
                    parted.entry(to).or_default().insert(number, vec![state]);
                }
            }
            table.insert(number, foreign);
        }
        // Accesses in front of the fork by threads that take the other side.
        let mut behind = own[fork.block].clone();
        for index in 0..flow.graph.kernel.blocks[fork.block].events.len() {
            self.flow.pass((fork.block, index), &mut behind, &Mode::Own, coverage)?;
        }
        let flow = &self.flow;
        if let Some(when) = flow.graph.kernel.blocks[fork.block].next[fork.edge].when {
            behind.retain(|number, _| flow.tokens[*number].access.space != Space::Register);
            for (number, states) in behind {
                let gone = states.into_iter().filter(|state| flow.graph.contradict(&state.assumed, when));
                for mut state in gone {
                    if state.progress.shared && state.progress.among == 0
                        || flow.tokens[number].kind == TokenKind::Allocated
                    {
                        continue;
                    }
                    state.progress.foreign = true;
                    state.progress.shared = false;
                    state.assumed.clone_from(&known);
                    start.entry(number).or_default().push(state);
                    table.entry(number).or_insert_with(|| Foreign { once: true, ..Foreign::default() });
                }
            }
        }
        if table.is_empty() {
            return Ok(());
        }
        let starts = std::iter::once((begin, start)).chain(parted).collect();
        let mode = Mode::Foreign(&table);
        self.flow.role = Some(fork.ours.clone());
        let states = self.flow.run(starts, Some(&fork.followed), &mode, coverage)?;
        let looked = if look { self.look_within(&states, Some(&fork.followed), &mode, coverage) } else { Ok(()) };
        self.flow.role = None;
        looked
    }

    /// Looks at every access, with what is in flight in front of it.
    fn look_within(
        &mut self,
        before: &[States],
        within: Option<&[bool]>,
        mode: &Mode<'_>,
        coverage: &mut Coverage,
    ) -> Result<(), TooLarge> {
        let graph = self.flow.graph;
        for &block in &graph.order {
            if within.is_some_and(|within| !within[block]) {
                continue;
            }
            let mut states = before[block].clone();
            for index in 0..graph.kernel.blocks[block].events.len() {
                if !states.is_empty() {
                    for second in seconds(graph, (block, index)) {
                        self.compare(&states, &second, matches!(mode, Mode::Foreign(_)));
                    }
                }
                self.flow.pass((block, index), &mut states, mode, coverage)?;
            }
            let last = &graph.kernel.blocks[block];
            if last.next.is_empty() && !last.is_dead_end && matches!(mode, Mode::Own) {
                self.ended(block, &states);
            }
        }
        Ok(())
    }

    fn compare(&mut self, states: &States, second: &Token<'k>, is_foreign: bool) {
        let kernel = self.flow.graph.kernel;
        for (&number, states) in states {
            let first = &self.flow.tokens[number];
            let initialized = first.kind == TokenKind::Initialized && second.kind == TokenKind::Initialized;
            if !need::conflict(first, second) && !initialized {
                continue;
            }
            // Where the sides of a fork have met, the thread that did the first may do the second.
            let have_met = self.flow.role.as_ref().is_some_and(|ours| !ours[second.point.0]);
            if have_met && !self.flow.graph.is_of_others(&first.conditions, &second.conditions) {
                continue;
            }
            for state in states {
                // Two roles are in rounds of their own.
                let is_itself = first.point == second.point && !first.access.address.offset.terms.is_empty();
                let is_own_place =
                    first.operation().is_none() && alias::is_own_place(kernel, &first.access, &second.access);
                let round = match is_foreign {
                    // Any element of an array may be the one that is initialized.
                    _ if first.kind == TokenKind::Initialized => Round::Earlier,
                    // Tensor memory is read one element behind the one that is written.
                    true if state.progress.ahead || first.access.space == Space::Tensor => Round::Ahead,
                    true if is_own_place => Round::Same,
                    false if is_itself => Round::Ahead,
                    true => Round::Earlier,
                    false => state.progress.round(),
                };
                let overlap = alias::overlap(kernel, first, round, second);
                if overlap == Overlap::No {
                    continue;
                }
                let Some((rule, lack)) = self.flow.lack(first, state, second) else { continue };
                let certain = overlap == Overlap::Yes && !state.progress.doubt;
                let verdict = match certain {
                    true if self.flow.is_warning(first, second, lack) => Verdict::Note,
                    true => Verdict::Wrong,
                    false => Verdict::NotChecked,
                };
                let key = Key { first: number, rule, lack };
                let found = Found { verdict, second: second.clone() };
                match self.found.get_mut(&key) {
                    Some(old) if (old.verdict, old.second.line) <= (verdict, found.second.line) => {}
                    Some(old) => *old = found,
                    None => drop(self.found.insert(key, found)),
                }
            }
        }
    }

    /// Looks at what is in flight where a kernel ends.
    fn ended(&mut self, block: usize, states: &States) {
        for &number in states.keys() {
            let first = &self.flow.tokens[number];
            if first.kind == TokenKind::Allocated && !self.flow.is_freed_by_others(first) {
                let key = Key { first: number, rule: Rule::R6, lack: Lack::Wait };
                let second = Token { point: (block, usize::MAX), ..first.clone() };
                self.found.entry(key).or_insert(Found { verdict: Verdict::Wrong, second });
            }
            let is_read = |state: &State| state.progress.done != Done::No || state.progress.doubt;
            let reads = first.operation() == Some(&Operation::BulkStore) && first.access.space == Space::Shared;
            if reads && !states[&number].iter().all(is_read) {
                let key = Key { first: number, rule: Rule::R7, lack: Lack::Wait };
                let second = Token { point: (block, usize::MAX), ..first.clone() };
                self.found.entry(key).or_insert(Found { verdict: Verdict::Note, second });
            }
        }
    }
}

/// The accesses of an event that may need something of earlier ones.
fn seconds<'k>(graph: &EventGraph<'k>, point: Point) -> Vec<Token<'k>> {
    let event = &graph.kernel.blocks[point.0].events[point.1];
    if !event.guard.is_empty() && graph.is_dead(point) {
        return Vec::new();
    }
    let mut seconds = Token::of(graph, point, event);
    if matches!(event.kind, EventKind::Initialize { .. } | EventKind::Allocate { .. }) {
        seconds.clear();
    }
    let other = |access: Access, kind: TokenKind<'k>| Token::new(graph, point, access, kind, graph.known_at(point));
    match &event.kind {
        EventKind::Deallocate(access) => {
            seconds.push(other(Access { writes: true, proxy: Proxy::Tensor, ..access.clone() }, TokenKind::Plain));
        }
        EventKind::Arrive { barrier, .. } | EventKind::Wait { barrier, .. } | EventKind::CopyArrive(barrier) => {
            seconds.push(other(token::mbarrier(barrier), TokenKind::Initialized))
        }
        EventKind::TensorCommit { barrier, .. } | EventKind::Start(Start { barrier: Some(barrier), .. }) => {
            seconds.push(other(Access { proxy: Proxy::Async, ..token::mbarrier(barrier) }, TokenKind::Initialized));
        }
        _ => {}
    }
    seconds
}
