//! Clusters of CTAs: the barriers of a cluster, and what tells that its CTAs have each other's shared memory.

use std::collections::BTreeSet;

use ptx_isa::{
    Family, Space,
    flat::{Action, Flat},
    operation::Operation,
};

/// The barriers of a cluster to which a thread comes and at which it waits at once.
///
/// `barrier.cluster.wait` waits until all threads of the cluster have arrived. What stands in front of an arrival that releases is in order
/// with what stands behind a wait, which acquires (section 9.7.13.4 of the manual). What stands between the two is in order with neither.
#[derive(Clone, Debug, Default)]
pub struct Barriers {
    /// The steps that wait.
    pub waits: BTreeSet<usize>,
    /// The steps that arrive, each right in front of its wait.
    pub arrivals: BTreeSet<usize>,
}

impl Barriers {
    /// Those of a kernel.
    pub fn of(flat: &Flat) -> Self {
        let mut all = Self::default();
        for wait in (0..flat.steps.len()).filter(|at| is(flat, *at, Family::BarrierClusterWait)) {
            if let Some(arrival) = arrival(flat, wait) {
                all.waits.insert(wait);
                all.arrivals.insert(arrival);
            }
        }
        all
    }

    /// Whether a step is a part of one.
    pub fn has(&self, step: usize) -> bool {
        self.waits.contains(&step) || self.arrivals.contains(&step)
    }
}

/// Whether all threads that come there do something that releases or acquires.
fn is(flat: &Flat, at: usize, family: Family) -> bool {
    let step = &flat.steps[at];
    let is_such =
        matches!(&step.action, Action::Asynchronous(form, _) if form.family() == family && !form.has("relaxed"));
    is_such && step.guard.is_none()
}

/// The arrival in front of a wait, with nothing between the two that another thread could tell.
fn arrival(flat: &Flat, wait: usize) -> Option<usize> {
    let is_target = |at: usize| flat.labels.iter().any(|label| label.at == at);
    let is_own =
        |at: usize| matches!(flat.steps[at].action, Action::Compute(..) | Action::Pass { .. } | Action::Nothing);
    let arrival = (0..wait).rev().find(|at| !is_own(*at))?;
    let is_straight = (arrival + 1..=wait).all(|at| !is_target(at));
    (is_straight && is(flat, arrival, Family::BarrierClusterArrive)).then_some(arrival)
}

/// Whether a kernel has barriers of a cluster, or shares memory in one.
pub fn is_used(flat: &Flat) -> bool {
    is_shared_by_all(flat) || !Barriers::of(flat).waits.is_empty()
}

/// Whether a thread of a kernel may access the shared memory of another CTA.
pub fn is_shared_by_all(flat: &Flat) -> bool {
    flat.steps.iter().any(|step| match &step.action {
        Action::Compute(operation, _) => matches!(operation, Operation::Mapa(_)),
        Action::Access(access) => access.space == Some(Space::SharedCluster),
        _ => false,
    })
}
