//! The rules R14 to R16, which depend on the launch of a kernel and apply with or without asynchronous operations.

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

/// The findings, in the order of the lines.
pub fn findings(graph: &EventGraph<'_>, barriers: &Barriers) -> Vec<Hazard> {
    let mut findings = dependent::findings(graph, barriers);
    findings.extend(cluster::findings(graph, barriers));
    findings.extend(reach::findings(graph));
    findings.sort_by_key(|finding| (finding.at, finding.rule, finding.claim));
    findings
}
