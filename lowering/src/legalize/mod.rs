//! From an operation to the instructions of one target: choose a row of the ABI, then replace what the target lacks.
//!
//! Every replacement strengthens or keeps the meaning, never weakens it, and is named by a [`Change`].

mod cas_loop;
mod fence;
mod scope;
mod sub;

use strum::{Display, EnumIter, EnumMessage, IntoStaticStr};

use crate::{
    abi::{Kind, Step, Strategies},
    op::{Access, AtomicOp, Operation, Ordering, RmwOp, SyncScope, Type},
    ptx::{self, Address, Atom, AtomOp, Fence, Instruction, Ld, LdSem, Operand, Scope, St, StSem, Statement},
    sequence::{A, B, C, D, Sequence},
    target::{Form, Requirement, Target},
};

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
    #[error("{form} requires {requirement}, and the target is {target}")]
    Target { form: Form, requirement: Requirement, target: Target },
}

/// Lowers one operation.
///
/// # Errors
/// All reasons why the operation has no lowering.
pub fn lower(op: &AtomicOp, strategies: &Strategies, target: &Target) -> Result<Lowering, Vec<Unsupported>> {
    let mut changes = Vec::new();
    let (kind, access, form) = implementation(op.operation).map_err(|error| vec![error])?;
    let ordering = effective_ordering(op, &mut changes);
    let scope = match op.scope {
        SyncScope::Threads(scope) => scope::legalize(scope, target, &mut changes),
        SyncScope::SingleThread if kind == Kind::Fence => {
            changes.push(Change::SingleThread);
            return Ok(Lowering { sequence: Sequence::default(), changes });
        }
        SyncScope::SingleThread => Scope::Cta,
    };

    let volatile = access.is_some_and(|access| access.volatile);
    if volatile {
        changes.push(if form == Implementation::Plain { Change::Volatile } else { Change::VolatileAtom });
    }
    let relaxed_access = matches!(form, Implementation::CasLoop(_)) || (volatile && form == Implementation::Plain);
    let steps = row(kind, ordering, relaxed_access, strategies, target, &mut changes)
        .ok_or_else(|| vec![Unsupported::Ordering { kind, ordering }])?;
    let emit = Emit { scope, access };
    let sequence = match form {
        Implementation::Plain => steps.iter().map(|step| emit.step(*step, NO_ATOM, operand(B), None)).collect(),
        Implementation::Atom(atom) => {
            let c = (atom.0 == AtomOp::Cas).then(|| operand(C));
            steps.iter().map(|step| emit.step(*step, atom, operand(B), c.clone())).collect()
        }
        Implementation::AddOfNegated => {
            changes.push(Change::SubAsAdd);
            sub::expand(&steps, &emit)
        }
        Implementation::CasLoop(op) => {
            changes.push(Change::CasLoop);
            cas_loop::expand(op, &steps, &emit)
        }
    };

    let lacking = target.lacks(&sequence.0);
    if lacking.is_empty() {
        return Ok(Lowering { sequence, changes });
    }
    let error = |form: Form| Unsupported::Target { form, requirement: form.requirement(), target: *target };
    Err(lacking.into_iter().map(error).collect())
}

/// What stands where a row of the ABI has its access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Implementation {
    /// `ld` or `st`, or nothing, for a fence.
    Plain,
    /// `atom` with this operation on this type.
    Atom((AtomOp, ptx::Type)),
    AddOfNegated,
    CasLoop(RmwOp),
}

/// In a row without `atom`, what its form would be does not matter.
const NO_ATOM: (AtomOp, ptx::Type) = (AtomOp::Exch, ptx::Type::B32);

/// The kind of row that an operation belongs to, the memory that it accesses, and how.
fn implementation(operation: Operation) -> Result<(Kind, Option<Access>, Implementation), Unsupported> {
    let (kind, implementation) = match operation {
        Operation::Fence => (Kind::Fence, Implementation::Plain),
        Operation::Load(_) => (Kind::Load, Implementation::Plain),
        Operation::Store(_) => (Kind::Store, Implementation::Plain),
        Operation::CmpXchg { access: Access { ty, .. }, .. } if ty.is_float() => {
            return Err(Unsupported::CmpXchgType(ty));
        }
        Operation::CmpXchg { access, .. } => (Kind::Rmw, Implementation::Atom((AtomOp::Cas, bits(access.ty)))),
        Operation::Rmw(op, Access { ty, .. }) if !op.takes(ty) => return Err(Unsupported::RmwType { op, ty }),
        Operation::Rmw(RmwOp::Sub, _) => (Kind::Rmw, Implementation::AddOfNegated),
        Operation::Rmw(op, access) => {
            (Kind::Rmw, native(op, access.ty).map_or(Implementation::CasLoop(op), Implementation::Atom))
        }
    };
    Ok((kind, operation.access(), implementation))
}

/// The sequence of one row of the ABI table as the target gets it, for any scope and rmw operation. With
/// `relaxed_access`, that of a CAS loop. `None` if there is no such row.
pub fn row(
    kind: Kind,
    ordering: Ordering,
    relaxed_access: bool,
    strategies: &Strategies,
    target: &Target,
    changes: &mut Vec<Change>,
) -> Option<Vec<Step>> {
    Some(fence::legalize(strategies.choose(kind, ordering, relaxed_access)?, target, changes))
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

/// The form of `atom` that is exactly this operation, if there is one.
fn native(op: RmwOp, ty: Type) -> Option<(AtomOp, ptx::Type)> {
    use ptx::Type::*;
    let by_width = |narrow, wide| if ty.bits() == 32 { narrow } else { wide };
    let (op, ty) = match op {
        RmwOp::Xchg => (AtomOp::Exch, bits(ty)),
        RmwOp::Add => (AtomOp::Add, by_width(U32, U64)),
        RmwOp::And => (AtomOp::And, bits(ty)),
        RmwOp::Or => (AtomOp::Or, bits(ty)),
        RmwOp::Xor => (AtomOp::Xor, bits(ty)),
        RmwOp::Max => (AtomOp::Max, by_width(S32, S64)),
        RmwOp::Min => (AtomOp::Min, by_width(S32, S64)),
        RmwOp::UMax => (AtomOp::Max, by_width(U32, U64)),
        RmwOp::UMin => (AtomOp::Min, by_width(U32, U64)),
        RmwOp::FAdd => (AtomOp::Add, by_width(F32, F64)),
        RmwOp::UIncWrap if ty == Type::I32 => (AtomOp::Inc, U32),
        RmwOp::UDecWrap if ty == Type::I32 => (AtomOp::Dec, U32),
        _ => return None,
    };
    Some((op, ty))
}

/// The untyped PTX type of the same width.
fn bits(ty: Type) -> ptx::Type {
    match ty.bits() {
        32 => ptx::Type::B32,
        _ => ptx::Type::B64,
    }
}

fn operand(name: ptx::Name) -> Operand {
    Operand::Register(name)
}

/// What every instruction of one lowering shares.
struct Emit {
    scope: Scope,
    access: Option<Access>,
}

impl Emit {
    fn access(&self) -> Access {
        self.access.expect("a row with ld, st or atom belongs to an operation that accesses memory")
    }

    /// One step of a row, with the form of its `atom`.
    fn step(&self, step: Step, atom: (AtomOp, ptx::Type), b: Operand, c: Option<Operand>) -> Statement {
        let scope = Some(self.scope);
        let a = Address { base: A, offset: 0 };
        let d = operand(D);
        match step {
            Step::Fence(sem) => Instruction::Fence(Fence { sem: Some(sem), scope: self.scope }),
            Step::Ld(sem) => {
                let Access { space, ty, volatile } = self.access();
                let (sem, scope) = if volatile { (LdSem::Volatile, None) } else { (sem, scope) };
                Instruction::Ld(Ld { sem, scope, space, cache: None, vec: None, ty: bits(ty), d, a, unified: false })
            }
            Step::St(sem) => {
                let Access { space, ty, volatile } = self.access();
                let (sem, scope) = if volatile { (StSem::Volatile, None) } else { (sem, scope) };
                Instruction::St(St { sem, scope, space, cache: None, vec: None, ty: bits(ty), a, b })
            }
            Step::Atom(sem) => {
                let (space, (op, ty)) = (self.access().space, atom);
                Instruction::Atom(Atom {
                    sem: Some(sem),
                    scope,
                    space,
                    cache: None,
                    op,
                    noftz: false,
                    vec: None,
                    ty,
                    d,
                    a,
                    b,
                    c,
                })
            }
        }
        .into()
    }
}
