//! The check of CTAs of a cluster that access each other's memory, or share tensor memory (R15): the other CTA has
//! started, and has not ended.

use std::collections::BTreeMap;

use ptx_execute::Peer;
use ptx_isa::{InstPlace, Text};

use super::{
    barriers::Barriers,
    gates::{Gates, Sure},
    graph::{EventGraph, Point},
    message,
};
use crate::{
    cause::Cause,
    finding::{Claim, Hazard, Pair, Remedy, Rule},
    kernel::{Address, Barrier, BarrierId, Condition, Event, EventKind, Kernel, ObjectKind, Operation, Space},
};

/// The unproved fact about the other CTA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Lack {
    Started,
    There,
    Allocated,
}

/// The findings, in the order of [`Lack`].
pub fn findings(graph: &EventGraph<'_>, barriers: &Barriers) -> Vec<Hazard> {
    let mut found: BTreeMap<(Lack, Claim), Vec<InstPlace>> = BTreeMap::new();
    let mut add = |lack: Lack, claim: Claim, at: InstPlace| found.entry((lack, claim)).or_default().push(at);
    before(graph, barriers, |claim, at| add(Lack::Started, claim, at));
    check_remote_accesses(graph, |claim, at| add(Lack::There, claim, at));
    freed(graph, barriers, |claim, at| add(Lack::Allocated, claim, at));
    found.into_iter().map(|((lack, claim), places)| finding(graph.kernel, lack, claim, places)).collect()
}

fn points(graph: &EventGraph<'_>) -> impl Iterator<Item = Point> {
    graph.order.iter().flat_map(|&block| (0..graph.kernel.blocks[block].events.len()).map(move |index| (block, index)))
}

/// Reports remote accesses before which no event shows that the other CTA has started.
fn before(graph: &EventGraph<'_>, barriers: &Barriers, mut add: impl FnMut(Claim, InstPlace)) {
    let kernel = graph.kernel;
    let is_any = |event: &Event| is_remote(kernel, event);
    if !kernel.blocks.iter().flat_map(|block| &block.events).any(is_any) {
        return;
    }
    without(graph, barriers, |_, event| tells(event), is_any, &mut add);
}

/// Reports the events of a kind that threads reach by a path without a gate.
fn without(
    graph: &EventGraph<'_>,
    barriers: &Barriers,
    is_gate: impl Fn(Point, &Event) -> bool,
    is: impl Fn(&Event) -> bool,
    add: &mut impl FnMut(Claim, InstPlace),
) {
    let gates = Gates::new(graph, barriers, is_gate);
    let Some(paths) = gates.paths() else { return };
    for &block in &graph.order {
        let mut paths = paths[block].clone();
        for (index, event) in graph.kernel.blocks[block].events.iter().enumerate() {
            if is(event) && !graph.is_dead((block, index)) {
                let sure = paths.iter().filter_map(|path| gates.sure((block, index), path)).max();
                match sure {
                    Some(Sure::Doubtful) if !gates.are_none() => add(Claim::NotChecked, event.at),
                    Some(_) => add(Claim::Wrong, event.at),
                    None => {}
                }
            }
            gates.pass((block, index), &mut paths);
        }
    }
}

/// Whether an event shows that other CTAs have started: a wait for all of them, or for an event that one of them may
/// have done.
fn tells(event: &Event) -> bool {
    match &event.kind {
        EventKind::Barrier(Barrier { of: BarrierId::Cluster, waits, .. }) => *waits,
        EventKind::Wait { .. } => true,
        EventKind::Atomic { semantics, .. } => semantics.acquires,
        _ => false,
    }
}

/// Whether an address certainly comes from `mapa`.
fn is_mapped(kernel: &Kernel, address: &Address) -> bool {
    address.is_remote && kernel.objects[address.object].kind == ObjectKind::Variable
}

fn is_remote(kernel: &Kernel, event: &Event) -> bool {
    match &event.kind {
        EventKind::Arrive { barrier, .. } => is_mapped(kernel, barrier),
        EventKind::Start(start) => {
            let accesses = start.accesses.iter().filter(|access| access.space == Space::Shared);
            let mut all = accesses.map(|access| &access.address).chain(&start.barrier);
            all.any(|address| is_mapped(kernel, address))
        }
        _ => is_access(kernel, event),
    }
}

/// Whether an event is a remote access whose completion the other CTA cannot observe.
fn is_access(kernel: &Kernel, event: &Event) -> bool {
    match &event.kind {
        EventKind::Access(access) | EventKind::Atomic { access, .. } => {
            access.space == Space::Shared && is_mapped(kernel, &access.address)
        }
        _ => false,
    }
}

/// Reports remote accesses after which no event prevents the other CTA from ending.
fn check_remote_accesses(graph: &EventGraph<'_>, mut add: impl FnMut(Claim, InstPlace)) {
    let kernel = graph.kernel;
    let event = |(block, index): Point| &kernel.blocks[block].events[index];
    let holds = |event: &Event| match &event.kind {
        EventKind::Barrier(Barrier { of: BarrierId::Cluster, arrives, .. }) => *arrives,
        EventKind::Arrive { barrier, .. } => barrier.is_remote,
        EventKind::Start(start) => start.barrier.as_ref().is_some_and(|barrier| barrier.is_remote),
        _ => false,
    };
    for point in points(graph).filter(|point| is_access(kernel, event(*point)) && !graph.is_dead(*point)) {
        let known = graph.conditions_at_event(point);
        let after = graph.reached(&[point.0], |_| false);
        let may_follow = |other: Point| after[other.0] || other.0 == point.0 && other.1 > point.1;
        let held: Vec<Point> = points(graph).filter(|other| holds(event(*other))).collect();
        // Threads of another role may wait for the cluster, after this role has ended.
        let by_others =
            |&other: &Point| !may_follow(other) && !graph.reached(&[other.0], |_| false)[point.0] && other.0 != point.0;
        if held.iter().any(by_others) {
            continue;
        }
        if ends(graph, point, known, holds) {
            let may = held.iter().any(|other| may_follow(*other));
            add(if may { Claim::NotChecked } else { Claim::Wrong }, event(point).at);
        }
    }
}

/// Whether a path from a point to the end of the kernel has no event that satisfies `holds`.
fn ends(graph: &EventGraph<'_>, point: Point, known: &[Condition], holds: impl Fn(&Event) -> bool) -> bool {
    let kernel = graph.kernel;
    let mut seen = vec![false; kernel.blocks.len()];
    let mut open = vec![(point.0, point.1 + 1)];
    while let Some((block, from)) = open.pop() {
        let own = &kernel.blocks[block];
        if own.events.iter().skip(from).any(&holds) {
            continue;
        }
        if own.next.is_empty() && !own.is_dead_end {
            return true;
        }
        for edge in &own.next {
            let goes = edge.when.is_none_or(|when| !graph.contradict(&graph.varying(known), when));
            if goes && !std::mem::replace(&mut seen[edge.to], true) {
                open.push((edge.to, 0));
            }
        }
    }
    false
}

/// Reports tensor memory of two CTAs that one of them may free before the other has allocated its own.
fn freed(graph: &EventGraph<'_>, barriers: &Barriers, mut add: impl FnMut(Claim, InstPlace)) {
    let kernel = graph.kernel;
    let events = || kernel.blocks.iter().flat_map(|block| &block.events);
    let is_of_two = |event: &Event| match &event.kind {
        EventKind::TensorCommit { group, .. } => *group == 2,
        EventKind::Start(start) => match start.operation {
            Operation::TensorMatrix { group, .. }
            | Operation::TensorCopy { group, .. }
            | Operation::TensorShift { group } => group == 2,
            _ => false,
        },
        _ => false,
    };
    if !events().any(is_of_two) || !events().any(|event| matches!(event.kind, EventKind::Deallocate(_))) {
        return;
    }
    let is_allocated =
        |point: &Point| matches!(kernel.blocks[point.0].events[point.1].kind, EventKind::Allocate { .. });
    let allocated: Vec<(Point, Vec<bool>)> =
        points(graph).filter(is_allocated).map(|point| (point, graph.reached(&[point.0], |_| false))).collect();
    let is_reached = |point: Point| {
        let is_after = |(own, after): &(Point, Vec<bool>)| after[point.0] || own.0 == point.0 && own.1 < point.1;
        allocated.iter().any(is_after)
    };
    let is_freed = |event: &Event| matches!(event.kind, EventKind::Deallocate(_));
    without(graph, barriers, |point, event| is_reached(point) && tells(event), is_freed, &mut add);
}

fn finding(kernel: &Kernel, lack: Lack, claim: Claim, mut places: Vec<InstPlace>) -> Hazard {
    places.sort_unstable();
    places.dedup();
    let at = places[0];
    let said = match lack {
        Lack::Started => {
            "the access may come before the other CTA of the cluster has started, and its shared memory with it"
        }
        Lack::There => {
            "the access may come after the other CTA of the cluster has ended, and its shared memory with it"
        }
        Lack::Allocated => {
            "this CTA may free tensor memory before the other CTA of the pair has allocated its tensor memory"
        }
    };
    let is_wrong = claim == Claim::Wrong;
    let message = match is_wrong {
        true => Text::new(said).then(message::format_other_count(places.len() - 1)),
        false => Cause::Path.possible(format!("on some paths {said}")),
    };
    let side = if lack == Lack::There { "after" } else { "before" };
    let help = format!(
        "let all threads of the cluster synchronize {side} line {at} by barrier.cluster.arrive and barrier.cluster.wait"
    );
    let remedy = is_wrong.then_some(Remedy::words(help));
    let cause = (!is_wrong).then_some(Cause::Path);
    let peer = match lack {
        Lack::Started => Some(Peer::NotBegun),
        Lack::There => Some(Peer::Ended),
        Lack::Allocated => None,
    };
    let others = places.into_iter().skip(1).map(Pair::alone).collect();
    Hazard { rule: Some(Rule::R15), peer, remedy, cause, others, ..Hazard::new(&kernel.name, at, claim, message) }
}
