//! Clusters of CTAs: their barriers, and a test for access to the shared memory of other CTAs.

use std::collections::BTreeSet;

use ptx_isa::{
    Family, Space,
    flat::{Action, Flat},
    operation::Operation,
};

/// The barriers of a cluster at which a thread arrives and then immediately waits.
///
/// `barrier.cluster.wait` waits until all threads of the cluster have arrived. Accesses before a releasing arrival are
/// ordered before accesses after an acquiring wait (section 9.7.13.4 of the manual). Accesses between the arrival and
/// the wait are ordered with neither.
#[derive(Clone, Debug, Default)]
pub struct Barriers {
    /// The steps that wait.
    pub waits: BTreeSet<usize>,
    /// The steps that arrive, each directly before its wait.
    pub arrivals: BTreeSet<usize>,
}

impl Barriers {
    /// The barriers of a kernel.
    pub fn new(flat: &Flat) -> Self {
        let mut all = Self::default();
        for wait in (0..flat.steps.len()).filter(|at| is(flat, *at, Family::BarrierClusterWait)) {
            if let Some(arrival) = arrival(flat, wait) {
                all.waits.insert(wait);
                all.arrivals.insert(arrival);
            }
        }
        all
    }

    /// Whether a step is the wait or the arrival of a barrier.
    pub fn has(&self, step: usize) -> bool {
        self.waits.contains(&step) || self.arrivals.contains(&step)
    }
}

/// Whether a step is of this family, releases or acquires, and has no guard.
fn is(flat: &Flat, at: usize, family: Family) -> bool {
    let step = &flat.steps[at];
    let is_such =
        matches!(&step.action, Action::Asynchronous(form, _) if form.family() == family && !form.has("relaxed"));
    is_such && step.guard.is_none()
}

/// The arrival before a wait, if no step between the two is visible to another thread.
fn arrival(flat: &Flat, wait: usize) -> Option<usize> {
    let is_target = |at: usize| flat.labels.iter().any(|label| label.at == at);
    let is_own =
        |at: usize| matches!(flat.steps[at].action, Action::Compute(..) | Action::Pass { .. } | Action::Nothing);
    let arrival = (0..wait).rev().find(|at| !is_own(*at))?;
    let is_straight = (arrival + 1..=wait).all(|at| !is_target(at));
    (is_straight && is(flat, arrival, Family::BarrierClusterArrive)).then_some(arrival)
}

/// Whether a kernel uses barriers of a cluster or accesses the shared memory of other CTAs.
pub fn is_used(flat: &Flat) -> bool {
    is_shared_by_all(flat) || !Barriers::new(flat).waits.is_empty()
}

/// Whether a thread of a kernel may access the shared memory of another CTA.
pub fn is_shared_by_all(flat: &Flat) -> bool {
    flat.steps.iter().any(|step| match &step.action {
        Action::Compute(operation, _) => matches!(operation, Operation::Mapa(_)),
        Action::Access(access) => access.space == Some(Space::SharedCluster),
        _ => false,
    })
}
