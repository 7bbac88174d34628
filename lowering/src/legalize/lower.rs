//! The lowering of one operation.

use super::{
    body::Body,
    change::Change,
    emit::Emit,
    implementation::{Implementation, implementation},
    local,
    policy::Policy,
    refusal::Unsupported,
    scope,
};
use crate::{
    abi::{Carrier, RowKind, RowName, Step, Strategies, without_one_sided_fences},
    op::{AtomicOp, Operation, Ordering, SyncScope},
    ptx::{Form, Scope, Target},
    sass,
    sequence::Sequence,
};

/// An operation as PTX, with its differences from the literal operation and from the ABI's row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lowering {
    /// The instructions. The sequence is empty for a fence of scope singlethread.
    pub sequence: Sequence,
    /// The differences, each once, in the order of their discovery.
    pub changes: Vec<Change>,
    /// The row of the ABI; `None` if no other thread can access the memory.
    pub row: Option<RowName>,
    /// The chosen sequence of that row, as published.
    pub chosen: Option<&'static [Step]>,
}

/// Lowers one operation.
///
/// # Errors
/// All reasons why the operation has no lowering.
pub fn lower(op: &AtomicOp, policy: &Policy, target: &Target) -> Result<Lowering, Vec<Unsupported>> {
    let mut changes = Vec::new();
    let access = op.operation.access();
    let (kind, implementation) =
        implementation(op.operation, policy, target, &mut changes).map_err(|error| vec![error])?;
    if !op.operation.takes(op.ordering) {
        return Err(vec![Unsupported::Ordering { kind, ordering: op.ordering }]);
    }
    let mut body = Body::default();
    if implementation == Implementation::Private {
        let emit = Emit { scope: Scope::Cta, target, access, mmio: false };
        local::expand(op.operation, &emit, &mut body);
        return supported(body.finish(), changes, None, target, None);
    }
    let ordering = effective_ordering(op, &mut changes);
    let scope = match op.scope {
        SyncScope::Threads(scope) => scope::legalize(scope, target, &mut changes),
        SyncScope::SingleThread if kind == RowKind::Fence => {
            changes.push(Change::SingleThread);
            return Ok(Lowering { sequence: Sequence::default(), changes, row: None, chosen: None });
        }
        SyncScope::SingleThread => Scope::Cta,
    };
    let mut emit = Emit { scope, target, access, mmio: policy.volatile_as_mmio };
    let volatile = access.is_some_and(|access| access.volatile);
    if volatile {
        changes.push(emit.volatile_change(implementation == Implementation::Plain));
    }
    if !emit.has_semantics() {
        changes.push(Change::BeforeMemoryModel);
    }
    let misplaced = ordering != Ordering::Relaxed && implementation.is_assembled(&emit, sass::misplaces_ordering);
    changes.extend(misplaced.then_some(Change::FencesAroundLoop));
    let relaxed_access = misplaced || !emit.has_semantics() || (volatile && implementation == Implementation::Plain);
    let carrier = match relaxed_access {
        true => Carrier::Fences,
        false if implementation.repeats(access) => Carrier::Repeated,
        false if implementation.is_assembled(&emit, sass::leader_orders) => Carrier::Leader,
        false => Carrier::Access,
    };
    let steps = row(kind, ordering, carrier, &policy.strategies, target, &mut changes)
        .ok_or_else(|| vec![Unsupported::Ordering { kind, ordering }])?;
    if let Some(access) = &mut emit.access {
        // If only fences order, they follow every exit of the loop.
        let by_fences = !steps.iter().any(|step| step.orders_its_access());
        access.may_skip_write &=
            implementation.may_skip_write(access.ty.bits()) && by_fences && !ordering.releases() && !volatile;
        changes.extend(access.may_skip_write.then_some(Change::SkipsWrite));
    }
    implementation.expand(&steps, op.operation, &emit, &mut body);

    // Before sm_60, `atom` has the scope of the GPU, which suffices for shared memory.
    let requirement = Form::AtomScope.requirement();
    let on_gpu = access.is_some_and(|access| access.space.is_shared_cta());
    let out_of_reach = kind == RowKind::Rmw && scope == Scope::Sys && !on_gpu && !target.meets(requirement);
    let error = out_of_reach.then_some(Unsupported::SystemScope { requirement, target: *target });
    let lowering = supported(body.finish(), changes, Some(RowName(kind, ordering)), target, error)?;
    Ok(Lowering { chosen: policy.strategies.choose(kind, ordering, carrier, target), ..lowering })
}

/// Lowers an operation by exactly these steps, independent of any policy, as a mapping from another source does.
///
/// # Errors
/// All reasons why the target has no such sequence.
pub fn by_steps(op: &AtomicOp, steps: &[Step], target: &Target) -> Result<Sequence, Vec<Unsupported>> {
    let mut changes = Vec::new();
    let (_, implementation) =
        implementation(op.operation, &Policy::default(), target, &mut changes).map_err(|error| vec![error])?;
    let SyncScope::Threads(scope) = op.scope else { return Ok(Sequence::default()) };
    let emit = Emit { scope, target, access: op.operation.access(), mmio: false };
    let mut body = Body::default();
    implementation.expand(steps, op.operation, &emit, &mut body);
    supported(body.finish(), changes, None, target, None).map(|lowering| lowering.sequence)
}

/// The lowering, or all reasons why the target has none.
fn supported(
    sequence: Sequence,
    changes: Vec<Change>,
    row: Option<RowName>,
    target: &Target,
    error: Option<Unsupported>,
) -> Result<Lowering, Vec<Unsupported>> {
    let lacking = |form: Form| Unsupported::Target { form, requirement: form.requirement(), target: *target };
    let errors: Vec<_> = strictest(target.lacks(sequence.statements())).into_iter().map(lacking).chain(error).collect();
    if errors.is_empty() { Ok(Lowering { sequence, changes, row, chosen: None }) } else { Err(errors) }
}

/// The forms, without forms whose requirement follows from another form's.
fn strictest(forms: Vec<Form>) -> Vec<Form> {
    let implied = |form: &Form| {
        let own = form.requirement();
        forms.iter().any(|other| other.requirement() != own && own.and(other.requirement()) == other.requirement())
    };
    let kept = forms.iter().filter(|form| !implied(form)).copied();
    // For forms with the same requirement, the first is enough.
    kept.fold(Vec::new(), |mut kept, form| {
        if !kept.iter().any(|known: &Form| known.requirement() == form.requirement()) {
            kept.push(form);
        }
        kept
    })
}

/// The sequence of a row of the ABI table on the target, for any scope and rmw operation, and for a CAS loop if fences
/// are the carrier. Returns `None` if the table lacks the row.
pub fn row(
    kind: RowKind,
    ordering: Ordering,
    carrier: Carrier,
    strategies: &Strategies,
    target: &Target,
    changes: &mut Vec<Change>,
) -> Option<Vec<Step>> {
    let steps = strategies.choose(kind, ordering, carrier, target)?;
    let Some(full) = without_one_sided_fences(steps, target) else { return Some(steps.to_vec()) };
    changes.push(Change::OneSidedFenceAsAcqRel);
    Some(full)
}

/// The ordering that selects the row.
fn effective_ordering(op: &AtomicOp, changes: &mut Vec<Change>) -> Ordering {
    let mut ordering = op.ordering;
    if let Operation::CmpXchg { failure, .. } = op.operation
        && ordering.join(failure) != ordering
    {
        ordering = ordering.join(failure);
        changes.push(Change::FailureOrderingJoined);
    }
    if ordering == Ordering::Unordered {
        ordering = Ordering::Relaxed;
        changes.push(Change::UnorderedAsRelaxed);
    }
    if op.scope == SyncScope::SingleThread && op.operation != Operation::Fence {
        ordering = Ordering::Relaxed;
        changes.push(Change::SingleThread);
    }
    ordering
}
