//! One-sided fences. ptxas 12.8 and 12.9 accept them from sm_70 on, and below sm_90 emit no barrier for them at all.

use super::row::Step;
use crate::ptx::{FenceSem, Form, Target};

/// The steps with `fence.acquire` and `fence.release` replaced by `fence.acq_rel`. Returns `None` if the steps have no
/// one-sided fences, or if the target supports them.
pub(crate) fn without_one_sided_fences(steps: &[Step], target: &Target) -> Option<Vec<Step>> {
    let one_sided = |step: &Step| matches!(step, Step::Fence(FenceSem::Acquire | FenceSem::Release));
    // Before sm_70 every fence is a `membar`.
    let model = target.meets(Form::Semantics.requirement());
    let replaced = model && !target.meets(Form::OneSidedFence.requirement()) && steps.iter().any(one_sided);
    let full = |step: &Step| if one_sided(step) { Step::Fence(FenceSem::AcqRel) } else { *step };
    replaced.then(|| steps.iter().map(full).collect())
}
