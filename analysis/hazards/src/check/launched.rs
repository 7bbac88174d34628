//! What holds of a kernel as it is launched, with or without asynchronous operations: the rules R14 to R16.

use super::{barriers::Barriers, cluster, dependent, graph::EventGraph, reach};
use crate::{
    finding::Hazard,
    kernel::{BarrierId, EventKind, Kernel},
};

/// Whether a kernel has anything that these rules are about.
pub fn concerns(kernel: &Kernel) -> bool {
    let events = kernel.blocks.iter().flat_map(|block| &block.events);
    events.into_iter().any(|event| match &event.kind {
        EventKind::GridWait => true,
        EventKind::Barrier(barrier) => barrier.of != BarrierId::Warp,
        EventKind::Access(access) | EventKind::Atomic { access, .. } => access.address.is_remote,
        _ => false,
    })
}

/// In the order of the lines.
pub fn findings(graph: &EventGraph<'_>, barriers: &Barriers) -> Vec<Hazard> {
    let mut findings = dependent::findings(graph, barriers);
    findings.extend(cluster::findings(graph, barriers));
    findings.extend(reach::findings(graph));
    findings.sort_by_key(|finding| (finding.at, finding.rule, finding.claim));
    findings
}
