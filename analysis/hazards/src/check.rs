//! The check of one kernel.

mod alias;
mod assumed;
mod barriers;
mod classes;
mod cluster;
mod coverage;
mod dependent;
mod flow;
mod forms;
mod gates;
mod graph;
mod initialized;
mod launched;
mod message;
mod need;
mod notices;
mod partners;
mod paths;
mod reach;
mod remedy;
mod result;
mod reuse;
mod roles;
mod search;
mod token;

use std::collections::BTreeMap;

use ptx_isa::{Stop, effects::Proxy};
use ptx_memory_model::ptx::readings::Readings;
use rustc_hash::FxHashSet;

use self::{
    alias::Overlap,
    barriers::Barriers,
    flow::Flow,
    graph::Point,
    partners::Partners,
    search::Search,
    token::{Round, Token, TokenKind},
};
pub use self::{graph::EventGraph, token::is_asynchronous};
use crate::{
    finding::Report,
    kernel::{EventAccess, EventKind, Kernel, Start},
    options::Budget,
};

/// Checks a kernel under some readings of the manual. The report of a kernel that is too large has the findings so far.
pub fn check(kernel: &Kernel, readings: Readings) -> Report {
    check_within(kernel, readings, Budget::default(), &Stop::never())
}

/// Checks a kernel within a budget, with an emergency stop.
pub fn check_within(kernel: &Kernel, readings: Readings, budget: Budget, stop: &Stop) -> Report {
    let report = check_rules(kernel, readings, budget, stop);
    Report { is_stopped: stop.has_struck(), ..report }
}

fn check_rules(kernel: &Kernel, readings: Readings, budget: Budget, stop: &Stop) -> Report {
    let synchronizations = forms::synchronizations(kernel);
    let mut report = Report { synchronizations, ..Report::default() };
    let is_asynchronous = token::is_asynchronous(kernel);
    if !is_asynchronous && !launched::concerns(kernel) {
        return report;
    }
    let events: usize = kernel.blocks.iter().map(|block| block.events.len()).sum();
    if events > budget.events || synchronizations > budget.synchronizations {
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
    let points =
        graph.order.iter().flat_map(|&block| (0..kernel.blocks[block].events.len()).map(move |at| (block, at)));
    let seconds = points.flat_map(|point| seconds(&graph, point)).collect();
    let mut partners = Partners::new(&graph, &tokens, seconds);
    let crosses = std::mem::take(&mut partners.crosses);
    let flow = Flow::new(&graph, &barriers, readings, tokens, crosses, (budget, stop));
    let mut search = Search { flow, partners, found: BTreeMap::new() };
    let too_large = barriers.too_many || search.all().is_err();
    let Search { flow, found, .. } = search;
    // Unneeded synchronizations are known only after the whole search.
    report.findings = if too_large { vec![forms::too_large(kernel)] } else { forms::findings(&flow) };
    report.findings.extend(remedy::findings(&flow, &found));
    report.findings.extend(reuse::findings(&graph));
    report.findings.extend(initialized::findings(&graph));
    report.findings.extend(launched::findings(&graph, &barriers));
    report.findings.sort_by_key(|finding| (finding.at, finding.rule, finding.first, finding.claim));
    // The copies of a loop's first iterations give the same finding.
    report.findings.dedup_by(|next, one| {
        (next.at, next.rule, next.first, &next.message) == (one.at, one.rule, one.first, &one.message)
    });
    report.unchecked = if too_large { synchronizations } else { forms::unchecked(&flow, &report.findings) };
    report
}

/// The accesses that later accesses may need to be ordered after.
fn tokens<'k>(graph: &EventGraph<'k>) -> Vec<Token<'k>> {
    let points = graph.order.iter().flat_map(|&block| {
        graph.kernel.blocks[block].events.iter().enumerate().map(move |(index, event)| ((block, index), event))
    });
    let mut tokens = Vec::new();
    for (point, event) in points.filter(|(point, event)| event.guard.is_empty() || !graph.is_dead(*point)) {
        let new = Token::read_event(graph, point, event);
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
    let meet = |one: &Token<'_>, other: &Token<'_>| alias::overlap(graph.kernel, one, Round::Any, other) != Overlap::No;
    let matters = |token: &Token<'_>| match token.kind {
        TokenKind::Started(_) | TokenKind::Initialized | TokenKind::Allocated | TokenKind::Addressed => true,
        TokenKind::Waited => ends.iter().any(|end| meet(token, end)),
        TokenKind::Plain | TokenKind::Invalidated => others
            .iter()
            .any(|other| (token.access.writes || other.access.writes) && (meet(token, other) || meet(other, token))),
    };
    // No manual specifies when a copy has read its tensor map, so a map that is written while copies are in flight is
    // not checked.
    tokens.retain(|token| matters(token) && token.access.proxy != Proxy::Tensormap);
    tokens
}

/// Merges a plain access into the last one if it continues at its end. Returns whether it did.
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

/// The accesses of an event that may need an ordering after earlier accesses.
fn seconds<'k>(graph: &EventGraph<'k>, point: Point) -> Vec<Token<'k>> {
    let event = &graph.kernel.blocks[point.0].events[point.1];
    if !event.guard.is_empty() && graph.is_dead(point) {
        return Vec::new();
    }
    let mut seconds = Token::read_event(graph, point, event);
    if matches!(event.kind, EventKind::Initialize { .. } | EventKind::Allocate { .. }) {
        seconds.clear();
    }
    let other = |access: EventAccess, kind: TokenKind<'k>| {
        Token::new(graph, point, access, kind, graph.conditions_at_event(point).to_vec())
    };
    match &event.kind {
        EventKind::Deallocate(access) => {
            seconds.push(other(EventAccess { writes: true, proxy: Proxy::Tensor, ..access.clone() }, TokenKind::Plain));
        }
        EventKind::Arrive { barrier, .. } | EventKind::Wait { barrier, .. } | EventKind::CopyArrive(barrier) => {
            seconds.push(other(token::mbarrier(barrier), TokenKind::Initialized))
        }
        EventKind::TensorCommit { barrier, .. } | EventKind::Start(Start { barrier: Some(barrier), .. }) => {
            seconds
                .push(other(EventAccess { proxy: Proxy::Async, ..token::mbarrier(barrier) }, TokenKind::Initialized));
        }
        _ => {}
    }
    seconds
}
