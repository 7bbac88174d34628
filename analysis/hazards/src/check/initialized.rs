//! Mbarriers that a kernel uses and never initializes (R10).

use ptx_isa::InstPlace;

use rustc_hash::FxHashSet;

use super::graph::EventGraph;
use crate::{
    finding::{Claim, Hazard, Remedy, Rule},
    kernel::{Address, Event, EventKind, Kernel, ObjectKind, Start},
};

/// For each variable, the first use of an mbarrier that the kernel does not initialize. A kernel with unknown code or
/// an unknown mbarrier may initialize each of them, and gives no finding.
pub fn findings(graph: &EventGraph<'_>) -> Vec<Hazard> {
    let kernel = graph.kernel;
    let points =
        graph.order.iter().flat_map(|&block| (0..kernel.blocks[block].events.len()).map(move |at| (block, at)));
    let events: Vec<&Event> =
        points.filter(|point| !graph.is_dead(*point)).map(|(block, at)| &kernel.blocks[block].events[at]).collect();
    let is_variable = |object: usize| kernel.objects[object].kind == ObjectKind::Variable;
    let mut initialized: Vec<&Address> = Vec::new();
    for event in &events {
        match &event.kind {
            EventKind::Initialize { barrier, .. } if is_variable(barrier.object) => initialized.push(barrier),
            EventKind::Initialize { .. } | EventKind::Unknown(_) => return Vec::new(),
            _ => {}
        }
    }
    if !kernel.unread.is_empty() {
        return Vec::new();
    }
    let mut reported = FxHashSet::default();
    let mut findings = Vec::new();
    for event in events {
        let Some(barrier) = used(event).filter(|barrier| !barrier.is_remote && is_variable(barrier.object)) else {
            continue;
        };
        if !initialized.iter().any(|other| may_be_same(barrier, other)) && reported.insert(barrier.object) {
            findings.push(finding(&kernel.name, event.at, &name(kernel, barrier)));
        }
    }
    findings
}

/// Whether two mbarriers of variables may be the same: an offset with terms may be any. Addresses of shared memory have
/// 32 bits.
fn may_be_same(one: &Address, other: &Address) -> bool {
    let is_constant = [one, other].iter().all(|address| address.offset.terms.is_empty());
    let [a, b] = [one, other].map(|address| address.offset.constant as u32);
    one.object == other.object && (!is_constant || a == b)
}

/// The variable of an mbarrier, with the offset in it if that is another number than zero.
fn name(kernel: &Kernel, barrier: &Address) -> String {
    let name = &kernel.objects[barrier.object].name;
    match (barrier.offset.terms.is_empty(), barrier.offset.constant) {
        (false, _) | (true, 0) => name.clone(),
        (true, offset) => format!("{name}{offset:+}"),
    }
}

/// The mbarrier that an event needs.
fn used(event: &Event) -> Option<&Address> {
    match &event.kind {
        EventKind::Arrive { barrier, .. }
        | EventKind::Wait { barrier, .. }
        | EventKind::Invalidate(barrier)
        | EventKind::CopyArrive(barrier)
        | EventKind::TensorCommit { barrier, .. }
        | EventKind::Start(Start { barrier: Some(barrier), .. }) => Some(barrier),
        _ => None,
    }
}

fn finding(kernel: &str, at: InstPlace, name: &str) -> Hazard {
    let message = format!("the kernel uses `{name}` as an mbarrier, and does not initialize it");
    let help = format!("initialize it by mbarrier.init in a thread before line {at}, with a barrier after it");
    Hazard {
        rule: Some(Rule::R10),
        remedy: Some(Remedy::words(help)),
        ..Hazard::new(kernel, at, Claim::Wrong, message)
    }
}
