//! From an operation to the instructions of one target: choose a row of the ABI, then replace what the target lacks.
//!
//! Every replacement strengthens or keeps the meaning, never weakens it, and is named by a [`Change`].

mod body;
mod cas_loop;
mod emit;
pub(crate) mod fence;
mod local;
mod native;
mod packed;
mod scope;
mod sub;
mod update;
mod wide;
mod word;

use strum::{Display, EnumIter, EnumMessage, IntoStaticStr};

pub use self::native::FpAtomics;
use self::{
    body::{Body, register},
    emit::{AtomForm, Emit, bits},
};
use crate::{
    abi::{Carrier, Kind, Step, Strategies, Strategy},
    op::{Access, AtomicOp, Operation, Ordering, RmwOp, SyncScope, Type},
    ptx::{AtomOp, AtomSem, Form, Instruction, Requirement, Scope, Space, Target},
    sass::{self, Family},
    sequence::{A, B, C, D, Sequence},
};

/// What a user decides about all operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Policy {
    pub strategies: Strategies,
    pub fp_atomics: FpAtomics,
    /// The program lets arithmetic on f32 flush subnormals, operands and results, to zeros of their sign.
    pub flush_f32: bool,
    /// Volatile accesses to global memory are `.mmio`, for registers of a device.
    pub volatile_as_mmio: bool,
}

impl From<Strategies> for Policy {
    fn from(strategies: Strategies) -> Self {
        Self { strategies, ..Self::default() }
    }
}

impl From<Strategy> for Policy {
    fn from(strategy: Strategy) -> Self {
        Strategies::from(strategy).into()
    }
}

/// One operation as PTX, and how the result differs from what the operation and the ABI's row say literally.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lowering {
    pub sequence: Sequence,
    pub changes: Vec<Change>,
}

/// A strengthening or an expansion. The message says what was done and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, EnumMessage, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Change {
    #[strum(message = "unordered became relaxed: PTX has nothing weaker that is atomic")]
    UnorderedAsRelaxed,
    #[strum(message = "the failure ordering was joined to the success ordering: PTX has one ordering for both")]
    FailureOrderingJoined,
    #[strum(
        message = "fence.acquire or fence.release became fence.acq_rel: the one-sided fences need sm_90 and PTX 8.6"
    )]
    OneSidedFenceAsAcqRel,
    #[strum(message = "scope cluster became gpu: .cluster needs sm_90 and PTX 7.8")]
    ClusterAsGpu,
    #[strum(message = "expanded to a compare-and-swap loop: PTX has no such operation on this type")]
    CasLoop,
    #[strum(message = "expanded to an addition of the negated operand: PTX has no subtraction")]
    SubAsAdd,
    #[strum(message = "a volatile access is .volatile, which is relaxed at system scope: fences carry the ordering")]
    Volatile,
    #[strum(message = "PTX has no volatile atom: the atom stands for itself, and is neither merged nor removed")]
    VolatileAtom,
    #[strum(message = "a volatile access to global memory is .mmio, as asked: fences carry the ordering")]
    Mmio,
    #[strum(message = "expanded to an operation on the 32-bit word around the value: atom works on no less")]
    SubWord,
    #[strum(message = "the native f32 addition flushes subnormals in global memory; --fp-atomics ieee keeps them")]
    FlushesSubnormals,
    #[strum(
        message = "the native addition of a vector is atomic for each element only; --fp-atomics ieee makes it one"
    )]
    AtomicByElement,
    #[strum(
        message = "ptxas makes a loop of this atom, and from sm_90 on loses or misplaces its acquire and release: fences carry them"
    )]
    FencesAroundLoop,
    #[strum(message = "before sm_70 there is no memory model: volatile accesses, and membar in place of fences")]
    BeforeMemoryModel,
    #[strum(message = "no other thread sees local memory: plain loads, stores and arithmetic")]
    Local,
    #[strum(message = "the address may be local: a test at run time chooses a plain access or the atomic one")]
    MaybeLocal,
    #[strum(
        message = "nothing shows what memory it is in, and atom does not work on the stack; generic-may-be-local tests for that"
    )]
    UnknownMemory,
    #[strum(message = "nobody writes constant memory while a kernel runs: a plain load")]
    Constant,
    #[strum(message = "scope singlethread needs no ordering between threads: relaxed at cta scope, no fence")]
    SingleThread,
}

/// An operation that has no lowering for the target, or none at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    #[error("no language has a {ordering} {kind}")]
    Ordering { kind: Kind, ordering: Ordering },
    #[error("'{op}' is not defined on {ty}")]
    RmwType { op: RmwOp, ty: Type },
    #[error("cmpxchg is not defined on {0}")]
    CmpXchgType(Type),
    #[error("constant memory cannot be written while a kernel runs")]
    ConstantWrite,
    /// `atom` without a scope reaches the GPU only ('PTX ISA', section on `atom`).
    #[error("a read-modify-write of system scope requires {requirement}, and the target is {target}")]
    SystemScope { requirement: Requirement, target: Target },
    #[error("{form} requires {requirement}, and the target is {target}")]
    Target { form: Form, requirement: Requirement, target: Target },
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
        return supported(body.finish(), changes, target, None);
    }
    let ordering = effective_ordering(op, &mut changes);
    let scope = match op.scope {
        SyncScope::Threads(scope) => scope::legalize(scope, target, &mut changes),
        SyncScope::SingleThread if kind == Kind::Fence => {
            changes.push(Change::SingleThread);
            return Ok(Lowering { sequence: Sequence::default(), changes });
        }
        SyncScope::SingleThread => Scope::Cta,
    };
    let emit = Emit { scope, target, access, mmio: policy.volatile_as_mmio };
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
        false if implementation.is_loop() => Carrier::Loop,
        false if implementation.is_assembled(&emit, sass::leader_orders) => Carrier::Leader,
        false => Carrier::Access,
    };
    let steps = row(kind, ordering, carrier, &policy.strategies, target, &mut changes)
        .ok_or_else(|| vec![Unsupported::Ordering { kind, ordering }])?;
    implementation.expand(&steps, op.operation, &emit, &mut body);

    // Before sm_60 `atom` reaches the GPU, which is all that sees shared memory.
    let requirement = Form::AtomScope.requirement();
    let on_gpu = access.is_some_and(|access| access.space == Space::Shared);
    let out_of_reach = kind == Kind::Rmw && scope == Scope::Sys && !on_gpu && !target.meets(requirement);
    let error = out_of_reach.then_some(Unsupported::SystemScope { requirement, target: *target });
    supported(body.finish(), changes, target, error)
}

/// The lowering, or all reasons why the target has none.
fn supported(
    sequence: Sequence,
    changes: Vec<Change>,
    target: &Target,
    error: Option<Unsupported>,
) -> Result<Lowering, Vec<Unsupported>> {
    let lacking = |form: Form| Unsupported::Target { form, requirement: form.requirement(), target: *target };
    let errors: Vec<_> = strictest(target.lacks(sequence.statements())).into_iter().map(lacking).chain(error).collect();
    if errors.is_empty() { Ok(Lowering { sequence, changes }) } else { Err(errors) }
}

/// The forms without those that need no more than another one does.
fn strictest(forms: Vec<Form>) -> Vec<Form> {
    let implied = |form: &Form| {
        let own = form.requirement();
        forms.iter().any(|other| other.requirement() != own && own.and(other.requirement()) == other.requirement())
    };
    let kept = forms.iter().filter(|form| !implied(form)).copied();
    // Of forms with the same requirement, the first says enough.
    kept.fold(Vec::new(), |mut kept, form| {
        if !kept.iter().any(|known: &Form| known.requirement() == form.requirement()) {
            kept.push(form);
        }
        kept
    })
}

/// What stands where a row of the ABI has its access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Implementation {
    /// `ld` or `st`, or nothing, for a fence.
    Plain,
    /// One `atom` on the slots.
    Atom(AtomForm),
    /// `atom` on registers of the elements.
    Packed(AtomForm),
    /// This addition, of the negated operand.
    AddOfNegated(AtomForm),
    CasLoop(RmwOp),
    /// One `atom` on the word around the value.
    WordAtom(AtomOp),
    WordCasLoop(RmwOp),
    WordCmpXchg,
    /// No row: nobody else takes part.
    Private,
}

impl Implementation {
    /// Whether it swaps until it succeeds.
    fn is_loop(self) -> bool {
        matches!(self, Self::CasLoop(_) | Self::WordCasLoop(_) | Self::WordCmpXchg)
    }

    /// Whether something is true of what the assembler makes of the `atom`, if it had semantics.
    fn is_assembled(self, emit: &Emit<'_>, so: fn(&Instruction, Family) -> bool) -> bool {
        let form = match self {
            Self::Atom(form) | Self::Packed(form) | Self::AddOfNegated(form) => form,
            Self::WordAtom(op) => AtomForm::new(op, bits(32)),
            _ => return false,
        };
        let Some(family) = Family::of(emit.target.sm) else { return false };
        let atom = emit.atom(AtomSem::AcqRel, form, register(&D), A, register(&B), None);
        so(&atom, family)
    }

    fn expand(self, steps: &[Step], operation: Operation, emit: &Emit<'_>, body: &mut Body) {
        if emit.access.is_some_and(|access| access.may_be_local) {
            local::guard(operation, emit, body, |body| self.expand_shared(steps, emit, body));
        } else {
            self.expand_shared(steps, emit, body);
        }
    }

    /// In memory that other threads see.
    fn expand_shared(self, steps: &[Step], emit: &Emit<'_>, body: &mut Body) {
        match self {
            Self::Plain | Self::Private => steps.iter().for_each(|step| body.push(emit.plain_step(*step))),
            Self::Atom(form) => {
                let c = (form.op == AtomOp::Cas).then(|| register(&C));
                emit.atoms(form, steps, body, register(&B), c);
            }
            Self::AddOfNegated(form) => sub::expand(form, steps, emit, body),
            Self::Packed(form) => packed::expand(form, steps, emit, body, |_, _| {}),
            Self::CasLoop(op) => cas_loop::expand(op, steps, emit, body),
            Self::WordAtom(op) => word::bitwise(op, steps, emit, body),
            Self::WordCasLoop(op) => word::cas_loop(op, steps, emit, body),
            Self::WordCmpXchg => word::cmpxchg(steps, emit, body),
        }
    }
}

/// The kind of row that an operation belongs to, and what stands in place of its access.
fn implementation(
    operation: Operation,
    policy: &Policy,
    target: &Target,
    changes: &mut Vec<Change>,
) -> Result<(Kind, Implementation), Unsupported> {
    let kind = match operation {
        Operation::Fence => return Ok((Kind::Fence, Implementation::Plain)),
        Operation::Load(_) => Kind::Load,
        Operation::Store(_) => Kind::Store,
        Operation::Rmw(op, access) if !op.takes(access.ty) => {
            return Err(Unsupported::RmwType { op, ty: access.ty });
        }
        Operation::CmpXchg { access, .. } if access.ty.is_float() => return Err(Unsupported::CmpXchgType(access.ty)),
        Operation::Rmw(..) | Operation::CmpXchg { .. } => Kind::Rmw,
    };
    let access = operation.access();
    match access.map(|access| access.space) {
        Some(Space::Local) => {
            changes.push(Change::Local);
            return Ok((kind, Implementation::Private));
        }
        Some(Space::Const) if kind == Kind::Load => {
            changes.push(Change::Constant);
            return Ok((kind, Implementation::Private));
        }
        Some(Space::Const) => return Err(Unsupported::ConstantWrite),
        _ => {}
    }
    changes.extend(access.filter(|access| access.may_be_local).map(|_| Change::MaybeLocal));
    let implementation = match operation {
        Operation::Rmw(op, access) => rmw(op, access, policy, target, changes),
        Operation::CmpXchg { access, .. } if access.ty.is_sub_word() => Implementation::WordCmpXchg,
        Operation::CmpXchg { access, .. } => Implementation::Atom(AtomForm::new(AtomOp::Cas, bits(access.ty.bits()))),
        _ => Implementation::Plain,
    };
    changes.extend(match implementation {
        Implementation::WordAtom(_) | Implementation::WordCasLoop(_) | Implementation::WordCmpXchg => {
            Some(Change::SubWord)
        }
        Implementation::CasLoop(_) => Some(Change::CasLoop),
        Implementation::AddOfNegated(_) => Some(Change::SubAsAdd),
        _ => None,
    });
    changes.extend(matches!(implementation, Implementation::WordCasLoop(_)).then_some(Change::CasLoop));
    Ok((kind, implementation))
}

/// How an rmw is done.
fn rmw(op: RmwOp, access: Access, policy: &Policy, target: &Target, changes: &mut Vec<Change>) -> Implementation {
    if let Some(form) = native::native(op, access, policy, target, changes) {
        return if form.vec.is_some() { Implementation::Packed(form) } else { Implementation::Atom(form) };
    }
    let addition = match op {
        RmwOp::Sub => native::native(RmwOp::Add, access, policy, target, changes),
        RmwOp::FSub => native::native(RmwOp::FAdd, access, policy, target, changes),
        _ => None,
    };
    if let Some(form) = addition {
        return Implementation::AddOfNegated(form);
    }
    match (op, access.ty) {
        (RmwOp::And, ty) if ty.is_sub_word() => Implementation::WordAtom(AtomOp::And),
        (RmwOp::Or, ty) if ty.is_sub_word() => Implementation::WordAtom(AtomOp::Or),
        (RmwOp::Xor, ty) if ty.is_sub_word() => Implementation::WordAtom(AtomOp::Xor),
        (_, ty) if ty.is_sub_word() => Implementation::WordCasLoop(op),
        _ => Implementation::CasLoop(op),
    }
}

/// The sequence of one row of the ABI table as the target gets it, for any scope and rmw operation; of a CAS loop, where
/// fences are the carrier. `None` if there is no such row.
pub fn row(
    kind: Kind,
    ordering: Ordering,
    carrier: Carrier,
    strategies: &Strategies,
    target: &Target,
    changes: &mut Vec<Change>,
) -> Option<Vec<Step>> {
    Some(fence::legalize(strategies.choose(kind, ordering, carrier, target)?, target, changes))
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
