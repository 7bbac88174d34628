//! The requirements of each form of an instruction on the target.
//!
//! The numbers were measured with three generations of ptxas (11.8, 12.9, 13.5). Each form is accepted in a rectangle,
//! `sm >= min_sm` and `version >= min_ptx`. Where assemblers differ, the table has the strictest requirement.

use std::fmt;

use crate::{
    instruction::{Atom, Cache, Fence, Instruction, Ld, Red, St, Statement},
    target::{Requirement, Target},
    word::{AluOp, AtomOp, CacheOperator, FenceSem, LdSem, Scope, Space, StSem, Type, VectorSize},
};

/// A feature of an instruction that not every target supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// `atom` or `red` with this operation on this type or on a vector of it; the flag is `.noftz`.
    Atom(AtomOp, bool, Option<VectorSize>, Type),
    /// A scope on `atom` or `red`.
    AtomScope,
    /// Semantics on a memory instruction, including `.weak`, and `fence`.
    Semantics,
    /// `fence.acquire` and `fence.release`.
    OneSidedFence,
    /// `.mmio.relaxed`.
    Mmio,
    /// `.mmio.acquire` and `.mmio.release`.
    OrderedMmio,
    /// The scope `.cluster`.
    ClusterScope,
    /// The state space in the spelling `.shared::cta`.
    SharedCta,
    /// The state space `.shared::cluster`.
    SharedCluster,
    /// A 128-bit `ld` or `st`.
    Access128,
    /// The scope `.sys` on 128 bits.
    Sys128,
    /// `.volatile` on local memory.
    VolatileLocal,
    /// `.nc`.
    NonCoherent,
    /// `.L1::no_allocate` and `.L1::evict_last`.
    EvictionPriority,
    /// `.L2::128B`.
    Prefetch,
    /// `.L2::cache_hint`.
    CacheHint,
    /// A register of 128 bits.
    Register128,
    /// `cvt.rn.bf16.f32`.
    CvtBf16,
    /// `max` and `min` of half floats.
    HalfExtremum,
    /// `max.NaN` and `min.NaN`.
    NanExtremum,
    /// Arithmetic with a carry on 64 bits.
    Carry64,
    /// Other arithmetic on this type.
    Arithmetic(AluOp, Type),
}

/// The lowest measured target; the true requirement may be lower.
const ANY: Requirement = since(20, 2, 3);

const fn since(sm: u32, major: u8, minor: u8) -> Requirement {
    Requirement::since(sm, major, minor)
}

/// The operations, `.noftz`, the vector sizes, the types, and their requirement.
type AtomForms = (&'static [AtomOp], bool, &'static [Option<VectorSize>], &'static [Type], Requirement);

/// The forms of `atom` and `red`.
#[rustfmt::skip]
const ATOM_FORMS: &[AtomForms] = {
    use AtomOp::*;
    use Type::*;
    const SCALAR: &[Option<VectorSize>] = &[None];
    const PAIR: &[Option<VectorSize>] = &[Some(VectorSize::V2), Some(VectorSize::V4)];
    const EIGHT: &[Option<VectorSize>] = &[Some(VectorSize::V2), Some(VectorSize::V4), Some(VectorSize::V8)];
    &[
        (&[Exch, Cas],         false, SCALAR, &[B32, B64],           ANY),
        (&[Cas],               false, SCALAR, &[B16],                since(70, 6, 3)),
        (&[Exch, Cas],         false, SCALAR, &[B128],               since(90, 8, 3)),
        (&[Add],               false, SCALAR, &[U32, S32, U64, F32], ANY),
        (&[Add],               false, SCALAR, &[F64],                since(60, 5, 0)),
        (&[Add],               true,  SCALAR, &[F16],                since(70, 6, 3)),
        (&[Add],               true,  SCALAR, &[F16x2],              since(60, 6, 2)),
        (&[Add],               true,  SCALAR, &[Bf16, Bf16x2],       since(90, 7, 8)),
        (&[Add],               true,  SCALAR, &[F32],                since(90, 9, 4)),
        (&[Add],               false, PAIR,   &[F32],                since(90, 8, 1)),
        (&[Add, Min, Max],     true,  PAIR,   &[F16x2, Bf16x2],      since(90, 8, 1)),
        (&[Add, Min, Max],     true,  EIGHT,  &[F16, Bf16],          since(90, 8, 1)),
        (&[Inc, Dec],          false, SCALAR, &[U32],                ANY),
        (&[Min, Max],          false, SCALAR, &[U32, S32],           ANY),
        (&[Min, Max],          false, SCALAR, &[U64, S64],           since(32, 3, 1)),
        (&[And, Or, Xor],      false, SCALAR, &[B32],                ANY),
        (&[And, Or, Xor],      false, SCALAR, &[B64],                since(32, 3, 1)),
    ]
};

/// The operations, the types, and their requirement.
type ArithmeticForms = (&'static [AluOp], &'static [Type], Requirement);

/// The forms of arithmetic that not every target supports, except the forms with a variant of [`Form`].
#[rustfmt::skip]
const ARITHMETIC_FORMS: &[ArithmeticForms] = {
    use AluOp::*;
    use Type::*;
    const WORDS: &[Type] = &[B32, U32, S32];
    &[
        (&[ShfLeftClamp, ShfLeftWrap, ShfRightClamp, ShfRightWrap], WORDS,          since(32, 3, 1)),
        (&[Lop3],                                                   WORDS,          since(50, 4, 3)),
        (&[BmskClamp, BmskWrap, SzextClamp, SzextWrap],             WORDS,          since(70, 7, 6)),
        (&[Add, AddRn, Sub, SubRn, Mul, MulRn, FmaRn],              &[F16, F16x2],  since(53, 4, 2)),
        (&[Neg],                                                    &[F16, F16x2],  since(53, 6, 0)),
        (&[Abs],                                                    &[F16, F16x2],  since(53, 6, 5)),
        (&[Neg, Abs, FmaRn],                                        &[Bf16, Bf16x2], since(80, 7, 0)),
        (&[Add, AddRn, Sub, SubRn, Mul, MulRn],                     &[Bf16, Bf16x2], since(90, 7, 8)),
    ]
};

fn arithmetic(op: AluOp, ty: Type) -> Option<Requirement> {
    let form = ARITHMETIC_FORMS.iter().find(|(ops, types, _)| ops.contains(&op) && types.contains(&ty));
    form.map(|(.., requirement)| *requirement)
}

impl Form {
    /// The requirement of the form. The assemblers accept `Semantics` from PTX 5.1 on, but this table follows the
    /// manual, which has 6.0.
    #[rustfmt::skip]
    pub fn requirement(self) -> Requirement {
        match self {
            // No target supports a form that PTX lacks.
            Self::Atom(op, noftz, vec, ty) => takes(op, noftz, vec, ty).unwrap_or(since(u32::MAX, u8::MAX, 0)),
            Self::AtomScope        => since(60, 5, 0),
            Self::Semantics        => since(70, 6, 0),
            Self::OneSidedFence    => since(90, 8, 6),
            Self::Mmio             => since(70, 8, 2),
            Self::OrderedMmio      => since(70, 9, 3),
            Self::ClusterScope     => since(90, 7, 8),
            Self::SharedCta        => since(20, 7, 8),
            Self::SharedCluster    => since(90, 7, 8),
            Self::Access128        => since(70, 8, 3),
            Self::Sys128           => since(70, 8, 4),
            Self::VolatileLocal    => since(20, 9, 1),
            Self::NonCoherent      => since(32, 3, 1),
            Self::EvictionPriority => since(70, 7, 4),
            Self::Prefetch         => since(75, 7, 4),
            Self::CacheHint        => since(80, 7, 4),
            Self::Register128      => since(70, 8, 3),
            Self::CvtBf16          => since(80, 7, 0),
            Self::HalfExtremum     => since(80, 7, 0),
            Self::NanExtremum      => since(80, 7, 0),
            Self::Carry64          => since(20, 4, 3),
            Self::Arithmetic(op, ty) => arithmetic(op, ty).unwrap_or(ANY),
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Atom(op, noftz, vec, ty) => {
                let vec = vec.map_or(String::new(), |vec| format!(".{vec}"));
                write!(f, "`atom.{op}{}{vec}.{ty}`", if *noftz { ".noftz" } else { "" })
            }
            Self::AtomScope => f.write_str("a scope on `atom`"),
            Self::Semantics => f.write_str("a memory instruction with `.relaxed`, `.acquire` or `.release`"),
            Self::OneSidedFence => f.write_str("`fence.acquire` or `fence.release`"),
            Self::Mmio => f.write_str("`.mmio.relaxed`"),
            Self::OrderedMmio => f.write_str("`.mmio.acquire` or `.mmio.release`"),
            Self::ClusterScope => f.write_str("the scope `.cluster`"),
            Self::SharedCta => f.write_str("the spelling `.shared::cta`"),
            Self::SharedCluster => f.write_str("the state space `.shared::cluster`"),
            Self::Access128 => f.write_str("a 128-bit `ld` or `st`"),
            Self::Sys128 => f.write_str("a 128-bit access of scope `.sys`"),
            Self::VolatileLocal => f.write_str("a volatile access to local memory"),
            Self::NonCoherent => f.write_str("`.nc`"),
            Self::EvictionPriority => f.write_str("`.L1::no_allocate` or `.L1::evict_last`"),
            Self::Prefetch => f.write_str("`.L2::128B`"),
            Self::CacheHint => f.write_str("`.L2::cache_hint`"),
            Self::Register128 => f.write_str("a register of 128 bits"),
            Self::CvtBf16 => f.write_str("`cvt.rn.bf16.f32`"),
            Self::HalfExtremum => f.write_str("`max` or `min` of half floats"),
            Self::NanExtremum => f.write_str("`max.NaN` or `min.NaN`"),
            Self::Carry64 => f.write_str("64-bit arithmetic with a carry"),
            Self::Arithmetic(op, ty) => write!(f, "`{op}.{ty}`"),
        }
    }
}

/// The requirement of `atom` with this operation on this type; `None` if PTX has no such form.
pub fn takes(op: AtomOp, noftz: bool, vec: Option<VectorSize>, ty: Type) -> Option<Requirement> {
    let form = ATOM_FORMS.iter().find(|(ops, flag, vecs, types, _)| {
        ops.contains(&op) && *flag == noftz && vecs.contains(&vec) && types.contains(&ty)
    });
    form.map(|(.., requirement)| *requirement)
}

impl Cache {
    fn form(&self) -> Option<Form> {
        use CacheOperator::{L1EvictLast, L1NoAllocate, L2Prefetch128B, Nc};
        match self {
            Self::Hint(_) => Some(Form::CacheHint),
            Self::Operator(Nc) => Some(Form::NonCoherent),
            Self::Operator(L1EvictLast | L1NoAllocate) => Some(Form::EvictionPriority),
            Self::Operator(L2Prefetch128B) => Some(Form::Prefetch),
            Self::Operator(_) => None,
        }
    }
}

impl Instruction {
    /// The features of this instruction that not every target supports.
    pub fn forms(&self) -> Vec<Form> {
        let cache = match self {
            Self::Ld(Ld { cache, .. }) | Self::St(St { cache, .. }) => cache.as_ref(),
            Self::Atom(Atom { cache, .. }) | Self::Red(Red { cache, .. }) => cache.as_ref(),
            _ => None,
        };
        let (own, semantics, scope, space, ty) = match self {
            Self::Fence(Fence { sem, scope }) => {
                let one_sided = matches!(sem, Some(FenceSem::Acquire | FenceSem::Release));
                (one_sided.then_some(Form::OneSidedFence), true, Some(*scope), Space::Generic, Type::B32)
            }
            Self::Ld(Ld { sem, scope, space, ty, .. }) => {
                let own = match sem {
                    LdSem::MmioRelaxed => Some(Form::Mmio),
                    LdSem::MmioAcquire => Some(Form::OrderedMmio),
                    LdSem::Volatile if *space == Space::Local => Some(Form::VolatileLocal),
                    _ => None,
                };
                (own, !matches!(sem, LdSem::Plain | LdSem::Volatile), *scope, *space, *ty)
            }
            Self::St(St { sem, scope, space, ty, .. }) => {
                let own = match sem {
                    StSem::MmioRelaxed => Some(Form::Mmio),
                    StSem::MmioRelease => Some(Form::OrderedMmio),
                    StSem::Volatile if *space == Space::Local => Some(Form::VolatileLocal),
                    _ => None,
                };
                (own, !matches!(sem, StSem::Plain | StSem::Volatile), *scope, *space, *ty)
            }
            Self::Atom(Atom { sem, scope, space, op, noftz, vec, ty, .. }) => {
                (Some(Form::Atom(*op, *noftz, *vec, *ty)), sem.is_some(), *scope, *space, *ty)
            }
            Self::Red(Red { sem, scope, space, op, noftz, vec, ty, .. }) => {
                (Some(Form::Atom(*op, *noftz, *vec, *ty)), sem.is_some(), *scope, *space, *ty)
            }
            Self::Alu { op: AluOp::AddCc | AluOp::SubCc | AluOp::Addc | AluOp::Subc, ty, .. } if ty.bits() == 64 => {
                return vec![Form::Carry64];
            }
            Self::Alu { ty: Type::B128, .. } => return vec![Form::Register128],
            Self::Alu { op: AluOp::MinNan | AluOp::MaxNan, .. } => return vec![Form::NanExtremum],
            Self::Alu {
                op: AluOp::Min | AluOp::Max, ty: Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2, ..
            } => {
                return vec![Form::HalfExtremum];
            }
            Self::Alu { op, ty, .. } if arithmetic(*op, *ty).is_some() => return vec![Form::Arithmetic(*op, *ty)],
            Self::Cvt { to: Type::Bf16, .. } => return vec![Form::CvtBf16],
            Self::Membar(_)
            | Self::Alu { .. }
            | Self::Cvt { .. }
            | Self::Setp { .. }
            | Self::Isspacep { .. }
            | Self::Bra { .. } => return Vec::new(),
        };
        let atomic = matches!(own, Some(Form::Atom(..)));
        let conditional = [
            (semantics, Form::Semantics),
            (atomic && scope.is_some(), Form::AtomScope),
            (scope == Some(Scope::Cluster), Form::ClusterScope),
            (space == Space::SharedCta, Form::SharedCta),
            (space == Space::SharedCluster, Form::SharedCluster),
            (ty == Type::B128 && !atomic, Form::Access128),
            (ty == Type::B128 && scope == Some(Scope::Sys), Form::Sys128),
        ];
        let own = own.into_iter().chain(cache.and_then(Cache::form));
        own.chain(conditional.into_iter().filter(|(holds, _)| *holds).map(|(_, form)| form)).collect()
    }

    /// The requirement of the whole instruction.
    pub fn requirement(&self) -> Requirement {
        self.forms().into_iter().fold(ANY, |requirement, form| requirement.and(form.requirement()))
    }
}

impl Target {
    /// The features of these statements that the target lacks, each once.
    pub fn lacks(&self, statements: &[Statement]) -> Vec<Form> {
        let mut lacking = Vec::new();
        for form in statements.iter().filter_map(Statement::instruction).flat_map(Instruction::forms) {
            if !self.meets(form.requirement()) && !lacking.contains(&form) {
                lacking.push(form);
            }
        }
        lacking
    }
}
