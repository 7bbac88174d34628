//! Mbarriers that a kernel uses and never initializes (R10).

use ptx_isa::InstPlace;

use rustc_hash::FxHashSet;

use super::graph::EventGraph;
use crate::{
    finding::{Claim, Hazard, Remedy, Rule},
    kernel::{Address, Event, EventKind, ObjectKind, Start},
};

/// The first use of each variable in which a kernel has mbarriers and initializes none. A kernel with unknown code or
/// an unknown mbarrier may initialize each of them, and gives no finding.
pub fn findings(graph: &EventGraph<'_>) -> Vec<Hazard> {
    let kernel = graph.kernel;
    let points =
        graph.order.iter().flat_map(|&block| (0..kernel.blocks[block].events.len()).map(move |at| (block, at)));
    let events: Vec<&Event> =
        points.filter(|point| !graph.is_dead(*point)).map(|(block, at)| &kernel.blocks[block].events[at]).collect();
    let is_variable = |object: usize| kernel.objects[object].kind == ObjectKind::Variable;
    let mut initialized = FxHashSet::default();
    for event in &events {
        match &event.kind {
            EventKind::Initialize { barrier, .. } if is_variable(barrier.object) => {
                initialized.insert(barrier.object);
            }
            EventKind::Initialize { .. } | EventKind::Unknown(_) => return Vec::new(),
            _ => {}
        }
    }
    if !kernel.unread.is_empty() {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for event in events {
        let Some(barrier) = used(event).filter(|barrier| !barrier.is_remote && is_variable(barrier.object)) else {
            continue;
        };
        if initialized.insert(barrier.object) {
            findings.push(finding(&kernel.name, event.at, &kernel.objects[barrier.object].name));
        }
    }
    findings
}

/// The mbarrier that an event needs.
fn used(event: &Event) -> Option<&Address> {
    match &event.kind {
        EventKind::Arrive { barrier, .. }
        | EventKind::Wait { barrier, .. }
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
