//! The findings that follow from single instructions, or from their order alone.

use ptx_isa::{
    InstPlace, Text,
    effects::{ProxyFence, TensorWait},
};
use ptx_memory_model::ptx::readings::Readings;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    flow::Flow,
    graph::{EventGraph, Point},
    token::Token,
};
use crate::{
    cause::Cause,
    finding::{Claim, Edit, Hazard, Position, Remedy, Rule},
    kernel::{Barrier, BarrierId, Event, EventKind, Kernel, Operation, Space},
};

/// Whether an event orders other events.
pub fn synchronizes(event: &Event) -> bool {
    match &event.kind {
        EventKind::TensorWait(_)
        | EventKind::TensorCommit { .. }
        | EventKind::TensorFence(_)
        | EventKind::CommitGroup(_)
        | EventKind::WaitGroup { .. }
        | EventKind::CopyArrive(_)
        | EventKind::MatrixFence
        | EventKind::ProxyFence(_)
        | EventKind::InitializeFence
        | EventKind::Arrive { .. }
        | EventKind::Wait { .. }
        | EventKind::Fence { .. } => true,
        EventKind::Barrier(Barrier { of, .. }) => *of != BarrierId::Warp,
        _ => false,
    }
}

/// The number of events that order other events. An event in a copy of a loop's first iterations is counted only if the
/// loop itself does not have it.
pub fn synchronizations(kernel: &Kernel) -> usize {
    let of = |is_copy: bool| kernel.blocks.iter().filter(move |block| block.is_copy == is_copy);
    let lines = |is_copy: bool| of(is_copy).flat_map(|block| &block.events).filter(|event| synchronizes(event));
    let own: FxHashSet<InstPlace> = lines(false).map(|event| event.at).collect();
    let others: FxHashSet<InstPlace> = lines(true).map(|event| event.at).filter(|at| !own.contains(at)).collect();
    lines(false).count() + others.len()
}

/// The finding about a kernel whose check would take too long.
pub fn too_large(kernel: &Kernel) -> Hazard {
    let message = "the kernel has more accesses or barriers than the check can follow".into();
    let finding = finding(kernel, kernel.place(), None, Claim::NotChecked, message);
    Hazard { cause: Some(Cause::Size), ..finding }
}

fn finding(kernel: &Kernel, at: InstPlace, rule: Option<Rule>, claim: Claim, message: Text) -> Hazard {
    Hazard { rule, ..Hazard::new(&kernel.name, at, claim, message) }
}

/// The findings that do not depend on the accesses in flight.
pub fn findings(flow: &Flow<'_>) -> Vec<Hazard> {
    let (graph, kernel) = (flow.graph, flow.graph.kernel);
    let mut findings = Vec::new();
    let wrong = |at, rule, message: &str| finding(kernel, at, Some(rule), Claim::Wrong, message.into());
    let mut not_checked: Vec<_> = kernel.unread.clone();
    not_checked.sort_unstable();
    not_checked.dedup();
    findings.extend(not_checked.into_iter().map(|(at, why)| {
        let finding = finding(kernel, at, None, Claim::NotChecked, format!("not checked: {why}").into());
        Hazard { cause: Some(Cause::Code), ..finding }
    }));
    let points: Vec<Point> = graph
        .order
        .iter()
        .flat_map(|&block| (0..kernel.blocks[block].events.len()).map(move |index| (block, index)))
        .collect();
    let assembled = kernel.assembled.iter().cloned();
    findings.extend(assembled.map(|(at, message)| finding(kernel, at, None, Claim::Note, message.into())));
    let mut useful: FxHashMap<InstPlace, FxHashSet<Space>> = FxHashMap::default();
    for (point, spaces) in &flow.useful {
        useful.entry(event(graph, *point).at).or_default().extend(spaces);
    }
    let groups: Vec<u8> = points.iter().filter_map(|point| group(event(graph, *point))).collect();
    let tokens = || points.iter().flat_map(|&point| Token::read_event(graph, point, event(graph, point)));
    let is_committed = |group, of| tokens().any(|token| token.is_committed(group, of));
    for &point in &points {
        let event = event(graph, point);
        match &event.kind {
            // An arrival that expects bytes tells only of the copies.
            EventKind::Arrive { barrier, scope, semantics, expects: false, names_cluster }
                if barrier.is_remote && *scope == ptx_isa::Scope::Cta && semantics.releases =>
            {
                findings.push(elsewhere(flow, event.at, *names_cluster));
            }
            EventKind::TensorCommit { group, .. } if !groups.is_empty() && !groups.contains(group) => {
                findings.push(wrong(
                    event.at,
                    Rule::R9,
                    "no operation of the kernel has the cta_group of this commit, which waits for no operation",
                ));
            }
            EventKind::TensorCommit { group, of, .. } if !groups.is_empty() && !is_committed(*group, *of) => {
                let message = "no tcgen05.mma reads A from shared memory, so this commit waits for no operation";
                findings.push(wrong(event.at, Rule::R9, message));
            }
            EventKind::Relinquish => {
                let after = find_following_line(
                    graph,
                    point,
                    |event| matches!(event.kind, EventKind::Allocate { .. }),
                    |_| false,
                );
                findings.extend(
                    after.map(|at| {
                        wrong(at, Rule::R6, "tensor memory is allocated after tcgen05.relinquish_alloc_permit")
                    }),
                );
            }
            EventKind::ProxyFence(ProxyFence::Async(space)) => {
                let useful = useful.get(&event.at);
                let narrow = useful.is_some_and(|spaces| spaces.iter().all(|space| *space == Space::Shared));
                let message = match (useful, space) {
                    (None, _) => "no access needs this fence",
                    (Some(_), None) if narrow => {
                        "the fence is wider than needed: fence.proxy.async.shared::cta is enough"
                    }
                    _ => continue,
                };
                findings.push(finding(kernel, event.at, Some(Rule::R4), Claim::Note, message.into()));
            }
            EventKind::TensorWait(wait) if !useful.contains_key(&event.at) => {
                let (rule, access) = match wait {
                    TensorWait::Load => (Rule::R1, "load"),
                    TensorWait::Store => (Rule::R2, "store"),
                };
                let message = format!("no {access} of tensor memory needs this wait");
                findings.push(finding(kernel, event.at, Some(rule), Claim::Note, message.into()));
            }
            _ => {}
        }
    }
    for point in &flow.barriers.silent {
        let rule = if groups.is_empty() { Rule::R7 } else { Rule::R3 };
        let event = event(graph, *point);
        if matches!(event.kind, EventKind::Wait { .. }) {
            findings.push(wrong(event.at, rule, "no arrival comes to the mbarrier of this wait"));
        }
    }
    let entry = (graph.order.first().copied().unwrap_or(0), 0);
    let wgmma = |event: &Event| matches!(&event.kind, EventKind::Start(start) if start.operation == Operation::Wgmma);
    let unfenced = from(graph, entry, wgmma, |event| matches!(event.kind, EventKind::MatrixFence));
    findings.extend(unfenced.map(|at| {
        let instruction = "wgmma.fence.sync.aligned";
        let edit = Edit { at, position: Position::Before, instruction: instruction.into() };
        let help = format!("insert {instruction} before line {at}");
        let finding = wrong(at, Rule::R5, "no wgmma.fence precedes the first wgmma");
        Hazard { remedy: Some(Remedy { edits: vec![edit], ..Remedy::words(help) }), ..finding }
    }));
    findings
}

/// An arrival of CTA scope at an mbarrier of another CTA. Libraries omit the scope, which means `.cta` and gives the
/// same machine code, and rely on more than the manual guarantees. An instruction that names its own CTA is not for
/// another CTA.
fn elsewhere(flow: &Flow<'_>, at: InstPlace, names_cluster: bool) -> Hazard {
    let is_warning = names_cluster && flow.readings != Readings::STRICT;
    let claim = if is_warning { Claim::Note } else { Claim::Wrong };
    let message = "the mbarrier is in another CTA, and the scope of the arrival is its own CTA: it needs .cluster";
    let help = "write mbarrier.arrive.release.cluster.shared::cluster instead";
    let remedy = Some(Remedy::words(help));
    Hazard { remedy, ..finding(flow.graph.kernel, at, Some(Rule::R8), claim, message.into()) }
}

fn event<'k>(graph: &EventGraph<'k>, (block, index): Point) -> &'k Event {
    &graph.kernel.blocks[block].events[index]
}

fn group(event: &Event) -> Option<u8> {
    let EventKind::Start(start) = &event.kind else { return None };
    match start.operation {
        Operation::TensorMatrix { group, .. }
        | Operation::TensorCopy { group, .. }
        | Operation::TensorShift { group } => Some(group),
        _ => None,
    }
}

/// The line of an event that follows a point, with no event between them that stops the search.
fn find_following_line(
    graph: &EventGraph<'_>,
    (block, index): Point,
    is: impl Fn(&Event) -> bool,
    stops: impl Fn(&Event) -> bool,
) -> Option<InstPlace> {
    from(graph, (block, index + 1), is, stops)
}

fn from(
    graph: &EventGraph<'_>,
    from: Point,
    is: impl Fn(&Event) -> bool,
    stops: impl Fn(&Event) -> bool,
) -> Option<InstPlace> {
    let mut seen = vec![false; graph.kernel.blocks.len()];
    let mut open = vec![from];
    while let Some((block, start)) = open.pop() {
        let events = graph.kernel.blocks.get(block)?.events.iter().skip(start);
        let first = events.into_iter().find(|event| is(event) || stops(event));
        match first {
            Some(event) if is(event) => return Some(event.at),
            Some(_) => {}
            None => {
                for edge in &graph.kernel.blocks[block].next {
                    if !std::mem::replace(&mut seen[edge.to], true) {
                        open.push((edge.to, 0));
                    }
                }
            }
        }
    }
    None
}

/// The number of undecided synchronizations.
pub fn unchecked(flow: &Flow<'_>, findings: &[Hazard]) -> usize {
    let unknown = flow.barriers.unknown.iter().map(|point| event(flow.graph, *point).at);
    let found = findings.iter().filter(|finding| finding.claim == Claim::NotChecked);
    let found = found.flat_map(Hazard::pairs).map(|pair| pair.synchronization);
    let mut lines: Vec<_> = unknown.chain(found).collect();
    lines.sort_unstable();
    lines.dedup();
    lines.len()
}
