//! The remedies of findings. A missing wait or fence is inserted as late as possible.

use ptx_isa::{InstPlace, effects::Proxy};
use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::{
    flow::Flow,
    forms,
    graph::Point,
    message,
    need::Lack,
    result::{Key, SecondAccess},
    token::{Token, TokenKind},
};
use crate::{
    cause::Cause,
    finding::{Claim, Edit, Hazard, Position, Remedy, Rule},
    kernel::{Address, Event, EventKind, Operation, Space},
};

const SYNCHRONIZE: &str = "synchronize the threads between the two, by a barrier or by an mbarrier";

/// The findings, one for each missing synchronization: the finding of the earliest access that lacks it, with the other
/// pairs. Undecided findings are merged for each synchronization that is open for the same cause, or for each option
/// that settles them.
pub fn findings(flow: &Flow<'_>, found: &BTreeMap<Key, SecondAccess<'_>>) -> Vec<Hazard> {
    let mut groups: FxHashMap<_, Vec<Hazard>> = FxHashMap::default();
    for (key, found) in found {
        let finding = finding(flow, key, found);
        let same = match (finding.remedy.clone(), &finding.cause) {
            // A remedy without edits is a wait for one barrier, or for all threads, missing just before the access.
            (Some(remedy), _) => {
                let place = remedy.edits.is_empty().then(|| (finding.at, flow.tokens[key.first].barrier()));
                Same::Remedy(remedy, place)
            }
            (None, Some(cause)) if cause.option().is_some() => Same::Option(cause.option()),
            (None, cause) => Same::Open(cause.clone(), finding.pair().synchronization),
        };
        groups.entry((key.rule, key.lack, finding.claim, same)).or_default().push(finding);
    }
    groups.into_iter().filter_map(|((.., same), all)| together(&same, all)).collect()
}

/// The common property of findings that are merged into one.
#[derive(PartialEq, Eq, Hash)]
enum Same<'k> {
    /// The remedy of the findings, and its place.
    Remedy(Remedy, Option<(InstPlace, Option<&'k Address>)>),
    /// The option that settles them.
    Option(Option<String>),
    /// The unknown fact, and the synchronization that it leaves open.
    Open(Option<Cause>, InstPlace),
}

fn together(same: &Same<'_>, mut all: Vec<Hazard>) -> Option<Hazard> {
    // Among several sizes of a CTA, the smallest comes first.
    all.sort_by(|a, b| (&a.cause, a.at, a.first).cmp(&(&b.cause, b.at, b.first)));
    let mut all = all.into_iter();
    let first = all.next()?;
    let own = (first.at, first.first);
    let pairs: BTreeSet<_> = all.map(|finding| finding.pair()).filter(|pair| (pair.at, pair.first) != own).collect();
    let others: Vec<_> = pairs.into_iter().collect();
    let message = match same {
        Same::Remedy(..) => {
            let lines: BTreeSet<_> = others.iter().map(|pair| pair.first).filter(|line| *line != first.first).collect();
            first.message.clone().then(message::format_other_count(lines.len()))
        }
        Same::Option(_) | Same::Open(..) => message::with_pairs(&first, &others),
    };
    Some(Hazard { message, others, ..first })
}

/// A finding, with its remedy and the path between the accesses.
fn finding(flow: &Flow<'_>, key: &Key, found: &SecondAccess<'_>) -> Hazard {
    let first = &flow.tokens[key.first];
    let ended = found.second.point.1 == usize::MAX;
    Hazard {
        first: (!ended || key.rule == Rule::R7).then_some(first.at),
        rule: Some(key.rule),
        lacks_fence: key.lack == Lack::Fence,
        remedy: if found.claim != Claim::NotChecked { remedy(flow, first, key.lack, found) } else { None },
        path: path(flow, first, found),
        cause: found.cause.clone(),
        ..Hazard::new(
            &flow.graph.kernel.name,
            if ended { first.at } else { found.second.at },
            found.claim,
            message::message(first, key.lack, found),
        )
    }
}

fn remedy(flow: &Flow<'_>, first: &Token<'_>, lack: Lack, found: &SecondAccess<'_>) -> Option<Remedy> {
    let second = &found.second;
    let (instructions, help): (&[&str], &str) = match lack {
        Lack::Wait => match first.operation() {
            Some(Operation::TensorLoad) => (&["tcgen05.wait::ld.sync.aligned"], ""),
            Some(Operation::TensorStore) => (&["tcgen05.wait::st.sync.aligned"], ""),
            Some(Operation::Copy) => (&["cp.async.wait_all"], ""),
            Some(Operation::BulkStore) if first.access.writes => {
                (&["cp.async.bulk.commit_group", "cp.async.bulk.wait_group 0"], "")
            }
            Some(Operation::BulkStore) => (&["cp.async.bulk.commit_group", "cp.async.bulk.wait_group.read 0"], ""),
            Some(Operation::Wgmma) => (&["wgmma.commit_group.sync.aligned", "wgmma.wait_group.sync.aligned 0"], ""),
            Some(Operation::BulkLoad) => (&[], "wait for the mbarrier of the copy before the access"),
            Some(_) => (&[], "commit it with tcgen05.commit after it, and wait for that mbarrier before the access"),
            None if first.kind == TokenKind::Allocated => (&[], "free it with tcgen05.dealloc on every path"),
            None => (&[], SYNCHRONIZE),
        },
        Lack::Sharing => (&[], SYNCHRONIZE),
        Lack::Fence if second.access.proxy == Proxy::Tensormap => {
            (&[], "put fence.proxy.tensormap::generic.release after the write, and .acquire before the use")
        }
        Lack::Fence if found.second.kind == TokenKind::Initialized => (&["fence.mbarrier_init.release.cluster"], ""),
        Lack::Fence if first.access.space == Space::Register => (&["wgmma.fence.sync.aligned"], ""),
        Lack::Fence if first.access.space == Space::Global => (&["fence.proxy.async.global"], ""),
        Lack::Fence if found.second.kind == TokenKind::Initialized => (&["fence.mbarrier_init.release.cluster"], ""),
        Lack::Fence => (&["fence.proxy.async.shared::cta"], ""),
        Lack::After => (&["tcgen05.fence::after_thread_sync"], ""),
    };
    if instructions.is_empty() {
        let is_map = lack == Lack::Fence && second.access.proxy == Proxy::Tensormap;
        let executed = is_map.then_some(ptx_execute::Remedy::TensorMapFence);
        return Some(Remedy { executed, ..Remedy::words(help) });
    }
    let (position, side, lines) = match lack {
        Lack::After => (Position::Before, "before", vec![second.at]),
        Lack::Fence if first.access.space == Space::Register => (Position::Before, "before", vec![second.at]),
        _ => match boundaries(flow, first.point, second.point) {
            Some(lines) => (Position::Before, "before", lines),
            None => (Position::After, "after", vec![first.at]),
        },
    };
    let edits: Vec<_> = lines
        .iter()
        .flat_map(|&at| {
            let edit = move |instruction: &&str| Edit { at, position, instruction: (*instruction).into() };
            instructions.iter().map(edit)
        })
        .collect();
    let places: Vec<_> = lines.iter().map(InstPlace::to_string).collect();
    let help = format!("insert {} {side} line {}", instructions.join(" and "), places.join(" and "));
    Some(Remedy { edits, ..Remedy::words(help) })
}

/// The first lines after an access that can inform other threads of it, or the line of the second access. `None` if the
/// second access is the end of the kernel, and a path leads there without such a line.
fn boundaries(flow: &Flow<'_>, first: Point, second: Point) -> Option<Vec<InstPlace>> {
    let kernel = flow.graph.kernel;
    let mut lines = Vec::new();
    let mut seen = vec![false; kernel.blocks.len()];
    let mut open = vec![(first.0, first.1 + 1)];
    while let Some((block, start)) = open.pop() {
        let mut events = kernel.blocks[block].events.iter().enumerate().skip(start);
        match events.find(|(index, event)| (block, *index) == second || tells(event)) {
            Some((_, event)) => lines.push(event.at),
            None if second.1 == usize::MAX && kernel.blocks[block].next.is_empty() => return None,
            None => {
                for edge in &kernel.blocks[block].next {
                    if !std::mem::replace(&mut seen[edge.to], true) {
                        open.push((edge.to, 0));
                    }
                }
            }
        }
    }
    lines.sort_unstable();
    lines.dedup();
    Some(lines)
}

/// Whether an event can inform other threads of the events before it.
fn tells(event: &Event) -> bool {
    match &event.kind {
        EventKind::Arrive { .. } | EventKind::Deallocate(_) => true,
        EventKind::Barrier(barrier) => barrier.arrives,
        EventKind::Atomic { semantics, .. } | EventKind::Fence { semantics, .. } => semantics.releases,
        _ => false,
    }
}

/// The synchronizing lines on a shortest path from the first access to the second. If the accesses are of two roles,
/// the lines from the first access to the event that informs other threads, and from the entry to the second.
fn path(flow: &Flow<'_>, first: &Token<'_>, found: &SecondAccess<'_>) -> Vec<InstPlace> {
    if found.second.point.1 == usize::MAX {
        return Vec::new();
    }
    let target = found.second.point;
    if let Some(lines) = shortest(flow, (first.point.0, first.point.1 + 1), |point, _| point == target) {
        return lines;
    }
    let mut lines = shortest(flow, (first.point.0, first.point.1 + 1), |_, event| tells(event)).unwrap_or_default();
    let entry = flow.graph.order.first().copied().unwrap_or(0);
    lines.extend(shortest(flow, (entry, 0), |point, _| point == target).unwrap_or_default());
    lines
}

fn shortest(flow: &Flow<'_>, from: Point, is: impl Fn(Point, &Event) -> bool) -> Option<Vec<InstPlace>> {
    let kernel = flow.graph.kernel;
    let mut seen = vec![false; kernel.blocks.len()];
    let mut open = std::collections::VecDeque::from([(from, Vec::new())]);
    while let Some(((block, start), mut lines)) = open.pop_front() {
        for (index, event) in kernel.blocks[block].events.iter().enumerate().skip(start) {
            let reached = is((block, index), event);
            if forms::synchronizes(event) && !(reached && (block, index) != from && !tells(event)) {
                lines.push(event.at);
            }
            if reached {
                return Some(lines);
            }
        }
        for edge in &kernel.blocks[block].next {
            if !std::mem::replace(&mut seen[edge.to], true) {
                open.push_back(((edge.to, 0), lines.clone()));
            }
        }
    }
    None
}
