//! One-sided fences. ptxas 12.8 and 12.9 accept them from sm_70 on, and below sm_90 emit no barrier for them at all.

use super::Change;
use crate::{
    abi::Step,
    ptx::{FenceSem, Form, Target},
};

/// Replaces `fence.acquire` and `fence.release` by `fence.acq_rel` where the target lacks them.
pub fn legalize(steps: &[Step], target: &Target, changes: &mut Vec<Change>) -> Vec<Step> {
    let one_sided = |step: &Step| matches!(step, Step::Fence(FenceSem::Acquire | FenceSem::Release));
    // Before sm_70 every fence is a membar.
    let model = target.meets(Form::Semantics.requirement());
    if !model || target.meets(Form::OneSidedFence.requirement()) || !steps.iter().any(one_sided) {
        return steps.to_vec();
    }
    changes.push(Change::OneSidedFenceAsAcqRel);
    steps.iter().map(|step| if one_sided(step) { Step::Fence(FenceSem::AcqRel) } else { *step }).collect()
}
