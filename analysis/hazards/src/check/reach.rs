//! The check of barriers that some of the participating threads do not reach (R16).

use ptx_isa::{InstPlace, Text};
use std::collections::BTreeSet;

use super::graph::{EventGraph, Point};
use crate::{
    cause::Cause,
    finding::{Claim, Hazard, Remedy, Rule},
    kernel::{Barrier, BarrierId, Condition, EventKind, Kernel, Test, UnknownKind, Varies},
};

/// The number of barriers of a CTA.
const BARRIERS: u32 = 16;
const WARP: i64 = 32;

/// Barriers of the CTA with an impossible number of threads, and barriers that only some of its threads reach.
pub fn findings(graph: &EventGraph<'_>) -> Vec<Hazard> {
    let mut seen = BTreeSet::new();
    let mut findings = Vec::new();
    for (point, at, barrier) in barriers(graph) {
        let said = counted(graph, barrier).or_else(|| divergent(graph, point, barrier));
        let Some((claim, message)) = said.filter(|_| seen.insert(at)) else { continue };
        findings.push(finding(graph.kernel, at, claim, message));
    }
    findings
}

/// The barriers of the CTA, with their lines.
fn barriers<'g>(graph: &'g EventGraph<'_>) -> impl Iterator<Item = (Point, InstPlace, &'g Barrier)> {
    graph.order.iter().flat_map(|&block| {
        let events = graph.kernel.blocks[block].events.iter().enumerate();
        events.filter_map(move |(index, event)| match &event.kind {
            EventKind::Barrier(barrier) if !matches!(barrier.of, BarrierId::Warp | BarrierId::Cluster) => {
                Some(((block, index), event.at, barrier))
            }
            _ => None,
        })
    })
}

/// The fault in the number of a barrier or of its threads.
fn counted(graph: &EventGraph<'_>, barrier: &Barrier) -> Option<(Claim, Text)> {
    if let BarrierId::Cta(number) = barrier.of
        && number >= BARRIERS
    {
        return Some((Claim::Wrong, format!("barrier {number} does not exist: a CTA has {BARRIERS}").into()));
    }
    let count = barrier.threads.filter(|count| *count > 0)?;
    if i64::from(count) % WARP != 0 {
        return Some((
            Claim::Wrong,
            format!("expected a multiple of {WARP} threads, found a barrier for {count}").into(),
        ));
    }
    let threads = graph.kernel.most.filter(|threads| count > threads.next_multiple_of(WARP as u32))?;
    let most = most_arrivals(graph, barrier, threads)?;
    (count > most).then(|| {
        (Claim::Wrong, format!("the barrier is for {count} threads, and at most {most} arrive before it opens").into())
    })
}

/// The largest number of threads that can arrive at a barrier before it opens, in a CTA of `threads` threads: a barrier
/// counts arrivals in whole warps (section 9.7.13.1). A thread that waits arrives once. A thread that does not wait
/// continues, and arrives again at each `bar.arrive`, and also at a `bar.sync`. In a loop the number is unbounded, and
/// the result is `None`.
fn most_arrivals(graph: &EventGraph<'_>, barrier: &Barrier, threads: u32) -> Option<u32> {
    let is_same = |other: &Barrier| {
        let is_counted_alike = [barrier.threads, other.threads].contains(&Some(0)) || barrier.threads == other.threads;
        is_counted_alike && (barrier.of == other.of || is_unsure(barrier) || is_unsure(other))
    };
    let (waits, arrivals): (Vec<_>, Vec<_>) =
        barriers(graph).filter(|(_, _, other)| is_same(other)).partition(|(_, _, other)| other.waits);
    if arrivals.iter().any(|((block, _), ..)| graph.is_in_loop(*block)) {
        return None;
    }
    let whole_warps = |comes: &dyn Fn(usize) -> bool| {
        let warps: BTreeSet<usize> = (0..threads as usize).filter(|thread| comes(*thread)).map(warp_of).collect();
        warps.len() as u32 * WARP as u32
    };
    let waiting = whole_warps(&|thread| waits.iter().any(|(point, ..)| graph.may_do(thread, *point)));
    let arriving = arrivals.iter().map(|(point, ..)| whole_warps(&|thread| graph.may_do(thread, *point)));
    Some(arriving.fold(waiting, u32::saturating_add))
}

fn warp_of(thread: usize) -> usize {
    thread / WARP as usize
}

/// The finding that, instead of reaching a barrier, some threads of a warp, or of a CTA if the barrier is for all of
/// its threads, take another path.
fn divergent(graph: &EventGraph<'_>, point: Point, barrier: &Barrier) -> Option<(Claim, Text)> {
    let is_for_all = barrier.threads.is_none() && barrier.waits;
    if !is_for_all {
        return None;
    }
    let known = graph.conditions_at_event(point);
    let varying = graph.varying(known);
    let split = |condition: &&Condition| splits(graph, **condition, known);
    let condition = *varying.iter().find(split)?;
    let is_within_warp = parts_warp(graph, condition);
    if is_within_warp && !barrier.aligned || graph.is_dead(point) {
        return None;
    }
    match elsewhere(graph, point, condition, barrier) {
        Elsewhere::Ends if !graph.kernel.counts_exited => None,
        Elsewhere::Ends => Some((
            Claim::NotChecked,
            Cause::Ended.possible("all threads of the CTA reach the barrier"),
        )),
        Elsewhere::Barrier if is_within_warp => Some((
            Claim::Wrong,
            "only some threads of a warp reach the barrier, which all of them must execute together".into(),
        )),
        Elsewhere::Barrier => Some((
            Claim::Wrong,
            "only some threads of the CTA reach the barrier, which is for all of them, while other threads reach another barrier"
                .into(),
        )),
        Elsewhere::Same => None,
    }
}

/// Whether a condition tests the thread's number, and holds in some but not all threads of every launch.
fn splits(graph: &EventGraph<'_>, condition: Condition, known: &[Condition]) -> bool {
    let kernel = graph.kernel;
    match kernel.predicates[condition.predicate].test {
        Test::OneOfWarp => kernel.most.is_none_or(|threads| threads > 1),
        Test::Within { value, low, high } => {
            let unknown = &kernel.unknowns[value];
            if !matches!(unknown.kind, UnknownKind::Thread | UnknownKind::Warp) || unknown.varies == Varies::No {
                return false;
            }
            let size = if unknown.kind == UnknownKind::Warp { WARP } else { 1 };
            let last = match kernel.threads {
                Some(threads) => (i64::from(threads) - 1) / size,
                // Launches with fewer threads than a warp are disregarded.
                None => (WARP - 1) / size,
            };
            let (from, to) = (low.max(0), high.min(last));
            let some = from <= to;
            let all = from == 0 && to == last;
            let others: Vec<_> = known.iter().copied().filter(|other| *other != condition).collect();
            some && !all && !graph.implied(&others, condition)
        }
        _ => false,
    }
}

/// Whether a condition distinguishes threads of one warp.
fn parts_warp(graph: &EventGraph<'_>, condition: Condition) -> bool {
    match graph.kernel.predicates[condition.predicate].test {
        Test::OneOfWarp => true,
        Test::Within { value, low, high } if graph.kernel.unknowns[value].kind == UnknownKind::Thread => {
            let last = graph.kernel.threads.map_or(i64::MAX, |threads| i64::from(threads) - 1);
            low > 0 && low % WARP != 0 || high < last && (high + 1) % WARP != 0
        }
        _ => false,
    }
}

/// The destination of the threads that do not satisfy a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Elsewhere {
    /// The end of the kernel, without a barrier of all threads.
    Ends,
    /// A barrier that the threads that satisfy the condition do not reach instead of this one.
    Barrier,
    /// They may reach as many barriers of the same number.
    Same,
}

fn elsewhere(graph: &EventGraph<'_>, point: Point, condition: Condition, barrier: &Barrier) -> Elsewhere {
    let kernel = graph.kernel;
    let parts = |block: &&usize| {
        kernel.blocks[**block].next.iter().any(|edge| edge.when.is_some_and(|when| when == condition.opposite()))
    };
    let forks: Vec<usize> = graph.order.iter().filter(parts).copied().collect();
    let is_guarded = kernel.blocks[point.0].events[point.1].guard.contains(&condition);
    // After a barrier that only a guard restricts, all threads continue together.
    let starts: Vec<usize> = if is_guarded {
        vec![]
    } else {
        let edges = forks.iter().flat_map(|&block| &kernel.blocks[block].next);
        edges.filter(|edge| edge.when == Some(condition.opposite())).map(|edge| edge.to).collect()
    };
    if !is_guarded && starts.is_empty() {
        return Elsewhere::Same;
    }
    let is_barrier = |block: usize, from: usize| {
        kernel.blocks[block].events.iter().skip(from).find_map(|event| match &event.kind {
            EventKind::Barrier(own) if own.threads.is_none() && (own.of == barrier.of || is_unsure(own)) => Some(own),
            _ => None,
        })
    };
    let mut seen = vec![false; kernel.blocks.len()];
    let mut open: Vec<(usize, usize)> = starts.iter().map(|block| (*block, 0)).collect();
    if is_guarded {
        open.push((point.0, point.1 + 1));
    }
    let mut found = Elsewhere::Ends;
    while let Some((block, from)) = open.pop() {
        let is_own = block == point.0 && from == 0;
        if is_own {
            return Elsewhere::Same;
        }
        if is_barrier(block, from).is_some() {
            // A barrier that only the other side reaches is its counterpart of this barrier.
            if graph.contradict(graph.conditions_at_block(block), condition) {
                return Elsewhere::Same;
            }
            found = Elsewhere::Barrier;
            continue;
        }
        for edge in &kernel.blocks[block].next {
            let goes = edge.when.is_none_or(|when| !graph.contradict(&[condition.opposite()], when));
            if goes && !kernel.blocks[edge.to].is_dead_end && !std::mem::replace(&mut seen[edge.to], true) {
                open.push((edge.to, 0));
            }
        }
    }
    found
}

fn is_unsure(barrier: &Barrier) -> bool {
    barrier.of == BarrierId::SomeCta
}

fn finding(kernel: &Kernel, at: InstPlace, claim: Claim, message: Text) -> Hazard {
    let help =
        format!("let all threads reach the barrier on line {at}, or give it the number of threads, in whole warps");
    let is_wrong = claim == Claim::Wrong;
    Hazard {
        rule: Some(Rule::R16),
        remedy: is_wrong.then_some(Remedy::words(help)),
        cause: (!is_wrong).then_some(Cause::Ended),
        ..Hazard::new(&kernel.name, at, claim, message)
    }
}
