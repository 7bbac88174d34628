//! GPUs and PTX versions, and what each form of an instruction requires of them.
//!
//! The numbers are those that three generations of ptxas (11.8, 12.9, 13.5) were measured to accept; each form's accept
//! set is a rectangle, `sm >= min_sm` and `version >= min_ptx`. Where assemblers differ, the strictest counts.

use std::{fmt, ops::RangeInclusive, str::FromStr};

use crate::{
    AluOp, Atom, AtomOp, Cache, CacheOperator, Fence, FenceSem, Instruction, Ld, LdSem, Red, Scope, Space, St, StSem,
    Statement, Type, VectorSize,
};

/// A PTX ISA version, major and minor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PtxVersion(pub u8, pub u8);

/// A GPU: `sm_90`, `sm_90a`, `sm_100f`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sm(&'static Gpu);

#[derive(Debug, PartialEq, Eq, Hash)]
struct Gpu {
    name: &'static str,
    number: u32,
    ptx: PtxVersion,
}

/// What code is generated for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    pub sm: Sm,
    pub ptx: PtxVersion,
}

/// The GPUs, each with the lowest PTX version that has it (PTX ISA, section 11.1.2 and release notes), but not below 3.2,
/// the oldest that LLVM writes.
#[rustfmt::skip]
const GPUS: &[Gpu] = &[
    gpu("sm_20",   20, 3, 2),
    gpu("sm_21",   21, 3, 2),
    gpu("sm_30",   30, 3, 2),
    gpu("sm_32",   32, 4, 0),
    gpu("sm_35",   35, 3, 2),
    gpu("sm_37",   37, 4, 1),
    gpu("sm_50",   50, 4, 0),
    gpu("sm_52",   52, 4, 1),
    gpu("sm_53",   53, 4, 2),
    gpu("sm_60",   60, 5, 0),
    gpu("sm_61",   61, 5, 0),
    gpu("sm_62",   62, 5, 0),
    gpu("sm_70",   70, 6, 0),
    gpu("sm_72",   72, 6, 1),
    gpu("sm_75",   75, 6, 3),
    gpu("sm_80",   80, 7, 0),
    gpu("sm_86",   86, 7, 1),
    gpu("sm_87",   87, 7, 4),
    gpu("sm_88",   88, 9, 0),
    gpu("sm_89",   89, 7, 8),
    gpu("sm_90",   90, 7, 8),   gpu("sm_90a",  90, 8, 0),
    gpu("sm_100", 100, 8, 6),   gpu("sm_100a", 100, 8, 6),   gpu("sm_100f", 100, 8, 8),
    gpu("sm_101", 101, 8, 6),   gpu("sm_101a", 101, 8, 6),   gpu("sm_101f", 101, 8, 8),
    gpu("sm_103", 103, 8, 8),   gpu("sm_103a", 103, 8, 8),   gpu("sm_103f", 103, 8, 8),
    gpu("sm_110", 110, 9, 0),   gpu("sm_110a", 110, 9, 0),   gpu("sm_110f", 110, 9, 0),
    gpu("sm_120", 120, 8, 7),   gpu("sm_120a", 120, 8, 7),   gpu("sm_120f", 120, 8, 8),
    gpu("sm_121", 121, 8, 8),   gpu("sm_121a", 121, 8, 8),   gpu("sm_121f", 121, 8, 8),
];

/// The PTX versions from 3.2 on, as ranges of minor versions.
const VERSIONS: &[(u8, RangeInclusive<u8>)] =
    &[(3, 2..=2), (4, 0..=3), (5, 0..=0), (6, 0..=5), (7, 0..=8), (8, 0..=8), (9, 0..=4)];

const fn gpu(name: &'static str, number: u32, major: u8, minor: u8) -> Gpu {
    Gpu { name, number, ptx: PtxVersion(major, minor) }
}

/// A part of an instruction that not every target has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// `atom` or `red` with this operation on this type, or vector of it; the flag is `.noftz`.
    Atom(AtomOp, bool, Option<VectorSize>, Type),
    /// A scope on `atom` or `red`.
    AtomScope,
    /// Semantics on a memory instruction, `.weak` too, and `fence`.
    Semantics,
    /// `fence.acquire` and `fence.release`.
    OneSidedFence,
    /// `.mmio.relaxed`.
    Mmio,
    /// `.mmio.acquire` and `.mmio.release`.
    OrderedMmio,
    /// The scope `.cluster`.
    ClusterScope,
    /// The state space `.shared::cta`, spelled so.
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
    /// Arithmetic with a carry on 64 bits.
    Carry64,
}

/// The lowest GPU (by its number) and PTX version that have something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Requirement {
    pub sm: u32,
    pub ptx: PtxVersion,
}

/// At or below: nothing lower was measured.
const ANY: Requirement = since(20, 2, 3);

const fn since(sm: u32, major: u8, minor: u8) -> Requirement {
    Requirement { sm, ptx: PtxVersion(major, minor) }
}

/// Operations, `.noftz`, vector sizes, types, requirement.
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

impl Form {
    /// What the form requires. The assemblers take `Semantics` at PTX 5.1 already; the manual's 6.0 counts.
    #[rustfmt::skip]
    pub fn requirement(self) -> Requirement {
        match self {
            // Nothing has a form that PTX lacks.
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
            Self::Carry64          => since(20, 4, 3),
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
            Self::Carry64 => f.write_str("64-bit arithmetic with a carry"),
        }
    }
}

/// What `atom` with this operation on this type requires; `None` if PTX has no such form.
pub fn takes(op: AtomOp, noftz: bool, vec: Option<VectorSize>, ty: Type) -> Option<Requirement> {
    let form = ATOM_FORMS.iter().find(|(ops, flag, vecs, types, _)| {
        ops.contains(&op) && *flag == noftz && vecs.contains(&vec) && types.contains(&ty)
    });
    form.map(|(.., requirement)| *requirement)
}

impl Requirement {
    /// What both require.
    pub fn and(self, other: Self) -> Self {
        Self { sm: self.sm.max(other.sm), ptx: self.ptx.max(other.ptx) }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{} and PTX {}", self.sm, self.ptx)
    }
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
    /// The parts of this instruction that not every target has. Arithmetic has none.
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

    /// What the instruction as a whole requires.
    pub fn requirement(&self) -> Requirement {
        self.forms().into_iter().fold(ANY, |requirement, form| requirement.and(form.requirement()))
    }
}

impl Target {
    /// The target, with the lowest PTX version of the GPU if none is given.
    ///
    /// # Errors
    /// If the PTX version is older than the GPU.
    pub fn new(sm: Sm, ptx: Option<PtxVersion>) -> Result<Self, UnknownTarget> {
        let lowest = sm.lowest_ptx();
        match ptx {
            Some(ptx) if ptx < lowest => Err(UnknownTarget::TooOld { sm, ptx, lowest }),
            _ => Ok(Self { sm, ptx: ptx.unwrap_or(lowest) }),
        }
    }

    pub fn meets(&self, requirement: Requirement) -> bool {
        self.sm.number() >= requirement.sm && self.ptx >= requirement.ptx
    }

    /// The forms in these statements that the target lacks, each once.
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

impl Sm {
    /// Every known GPU, oldest first.
    pub fn all() -> impl Iterator<Item = Self> {
        GPUS.iter().map(Self)
    }

    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// The lowest PTX version that has the GPU.
    pub fn lowest_ptx(self) -> PtxVersion {
        self.0.ptx
    }

    /// The number in the name: ten times the compute capability.
    pub fn number(self) -> u32 {
        self.0.number
    }
}

impl PtxVersion {
    /// Every known version, oldest first.
    pub fn all() -> impl Iterator<Item = Self> {
        VERSIONS.iter().flat_map(|(major, minors)| minors.clone().map(|minor| Self(*major, minor)))
    }

    /// LLVM's name for the version: `ptx86`.
    pub fn feature(self) -> String {
        format!("ptx{}{}", self.0, self.1)
    }
}

impl FromStr for Sm {
    type Err = UnknownTarget;

    fn from_str(name: &str) -> Result<Self, UnknownTarget> {
        Self::all().find(|sm| sm.name() == name).ok_or_else(|| UnknownTarget::Sm(name.into()))
    }
}

/// Reads LLVM's name of a version, `ptx86`.
impl FromStr for PtxVersion {
    type Err = UnknownTarget;

    fn from_str(name: &str) -> Result<Self, UnknownTarget> {
        Self::all().find(|version| version.feature() == name).ok_or_else(|| UnknownTarget::Ptx(name.into()))
    }
}

impl fmt::Display for Sm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for PtxVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} with PTX {}", self.sm, self.ptx)
    }
}

/// A target that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownTarget {
    #[error("unknown GPU '{0}'; the known ones are {known}", known = Sm::all().map(Sm::name).collect::<Vec<_>>().join(", "))]
    Sm(String),
    #[error("unknown PTX version '{0}'; the known ones are {known}", known = PtxVersion::all().map(PtxVersion::feature).collect::<Vec<_>>().join(", "))]
    Ptx(String),
    #[error("PTX {ptx} does not know {sm}, which needs at least PTX {lowest}")]
    TooOld { sm: Sm, ptx: PtxVersion, lowest: PtxVersion },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(sm: &str, ptx: Option<&str>, expected: Result<&str, &str>) {
        let target = sm.parse().and_then(|sm| Target::new(sm, ptx.map(str::parse).transpose()?));
        assert_eq!(
            target.map(|target| target.to_string()).map_err(|error| error.to_string()),
            expected.map(Into::into).map_err(Into::into)
        );
    }

    #[test]
    fn the_default_version_is_the_lowest() {
        check("sm_20", None, Ok("sm_20 with PTX 3.2"));
        check("sm_61", None, Ok("sm_61 with PTX 5.0"));
        check("sm_70", None, Ok("sm_70 with PTX 6.0"));
        check("sm_90a", None, Ok("sm_90a with PTX 8.0"));
        check("sm_121f", Some("ptx94"), Ok("sm_121f with PTX 9.4"));
        check("sm_90", Some("ptx60"), Err("PTX 6.0 does not know sm_90, which needs at least PTX 7.8"));
    }

    #[test]
    fn unknown_names_list_the_known_ones() {
        let sm = "sm_91".parse::<Sm>().expect_err("sm_91").to_string();
        assert!(sm.starts_with("unknown GPU 'sm_91'; the known ones are sm_20, ") && sm.ends_with("sm_121f"));
        let ptx = "ptx89".parse::<PtxVersion>().expect_err("ptx89").to_string();
        assert!(ptx.starts_with("unknown PTX version 'ptx89'; the known ones are ptx32, ") && ptx.ends_with("ptx94"));
    }
}
