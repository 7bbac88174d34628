//! The memory consistency model of PTX (section 8 of the PTX ISA manual, 9.2).
//!
//! [`relations`] has the relations and [`axioms`] the axioms, named as in the manual, so that a reader can compare them
//! with it. [`search`] finds all outcomes of a program without trying every execution; [`explain`] shows why an outcome
//! is allowed or forbidden.

pub mod asynchronous;
pub mod axioms;
pub mod explain;
pub mod host;
pub mod orderings;
mod phases;
pub mod proxies;
pub mod race;
pub mod readings;
pub mod relations;
pub mod replicas;
pub mod restricted;
pub mod search;

use ptx_isa::{AtomSem, LdSem, MembarLevel, RedSem, StSem};
pub use ptx_isa::{
    FenceSem, Sem,
    effects::{OneSided, Proxy, TensorFence},
};
use strum::{Display, EnumIter, EnumString, IntoStaticStr};

use self::readings::Readings;
use crate::{
    execution::Event,
    host::HostFence,
    place::{Place, Scope, all_reach},
    program::{self, Language},
    unfold::{EventKind, Unfolding},
};

/// The language of PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ptx;

/// A program of PTX.
pub type Program = program::Program<Ptx>;
/// A thread of PTX.
pub type Thread = program::Thread<Ptx>;
/// An instruction of PTX.
pub type Instruction = program::Instruction<Ptx>;

impl Language for Ptx {
    type Semantics = Semantics;
    type Fence = Fence;
    type Alias = Alias;

    /// `s @ surface aliases x` is `x` through the surface proxy; `y @ generic aliases x` is another address.
    fn same_address(alias: Alias) -> bool {
        !matches!(alias, Alias::Proxy(Proxy::Generic) | Alias::Multimem)
    }

    fn reaches(access: Semantics, places: &[Place]) -> Option<bool> {
        access.strong().then(|| access.proxy == Proxy::Generic && all_reach(access.scope, places))
    }

    fn asynchronous(proxy: Proxy, reduction: Option<Scope>) -> Option<Semantics> {
        let semantics = reduction.map_or(Semantics::WEAK, |scope| Semantics::new(Sem::Relaxed, scope));
        Some(Semantics { proxy, ..semantics })
    }
}

/// The relation of an alias to its variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Alias {
    /// The variable through a proxy; through the generic proxy, at another virtual address.
    Proxy(Proxy),
    /// The variable as a replica of a multimem address (section 8.2.3). The aliases of one name are the replicas of one
    /// address.
    Multimem,
}

/// The semantics of a memory operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Semantics {
    /// Its ordering.
    pub sem: Sem,
    /// Without meaning for weak operations.
    pub scope: Scope,
    /// `.mmio`: the same relations as without it (section 8.4.1).
    pub mmio: bool,
    /// The proxy of the access.
    pub proxy: Proxy,
    /// `LDAPR` of AArch64: an acquire without an order after earlier releases of its thread.
    pub pc: bool,
    /// The access of a multimem operation to one replica.
    pub multimem: bool,
    /// The relaxed-ordering attribute of a request of a NIC.
    pub relaxed_ordering: bool,
}

impl Semantics {
    /// A weak access through the generic proxy.
    pub const WEAK: Self = Self {
        sem: Sem::Weak,
        scope: Scope::Sys,
        mmio: false,
        proxy: Proxy::Generic,
        pc: false,
        multimem: false,
        relaxed_ordering: false,
    };

    /// An access of these semantics through the generic proxy.
    pub fn new(sem: Sem, scope: Scope) -> Self {
        Self { sem, scope, ..Self::WEAK }
    }

    /// The semantics of a `ld`. Without a scope, it is of system scope, or has no use for one.
    pub fn load(sem: LdSem, scope: Option<Scope>) -> Self {
        let (sem, mmio) = match sem {
            LdSem::Plain | LdSem::Weak => (Sem::Weak, false),
            LdSem::Relaxed => (Sem::Relaxed, false),
            LdSem::Acquire => (Sem::Acquire, false),
            LdSem::Volatile => (Sem::Volatile, false),
            LdSem::MmioRelaxed => (Sem::Relaxed, true),
            LdSem::MmioAcquire => (Sem::Acquire, true),
        };
        Self { mmio, ..Self::new(sem, scope.unwrap_or(Scope::Sys)) }
    }

    /// The semantics of a `st`. Without a scope, it is of system scope, or has no use for one.
    pub fn store(sem: StSem, scope: Option<Scope>) -> Self {
        let (sem, mmio) = match sem {
            StSem::Plain | StSem::Weak => (Sem::Weak, false),
            StSem::Relaxed => (Sem::Relaxed, false),
            StSem::Release => (Sem::Release, false),
            StSem::Volatile => (Sem::Volatile, false),
            StSem::MmioRelaxed => (Sem::Relaxed, true),
            StSem::MmioRelease => (Sem::Release, true),
        };
        Self { mmio, ..Self::new(sem, scope.unwrap_or(Scope::Sys)) }
    }

    /// The semantics of an `atom`: relaxed by default, with GPU scope by default.
    pub fn atom(sem: Option<AtomSem>, scope: Option<Scope>) -> Self {
        let sem = match sem {
            None | Some(AtomSem::Relaxed) => Sem::Relaxed,
            Some(AtomSem::Acquire) => Sem::Acquire,
            Some(AtomSem::Release) => Sem::Release,
            Some(AtomSem::AcqRel) => Sem::AcqRel,
        };
        Self::new(sem, scope.unwrap_or(Scope::Gpu))
    }

    /// The semantics of a `red`: relaxed by default, with GPU scope by default.
    pub fn red(sem: Option<RedSem>, scope: Option<Scope>) -> Self {
        let sem = match sem {
            None | Some(RedSem::Relaxed) => Sem::Relaxed,
            Some(RedSem::Release) => Sem::Release,
        };
        Self::new(sem, scope.unwrap_or(Scope::Gpu))
    }

    /// Table 20: strong operation.
    pub fn strong(self) -> bool {
        self.sem != Sem::Weak
    }

    /// Table 20: acquire operation.
    pub fn acquires(self) -> bool {
        matches!(self.sem, Sem::Acquire | Sem::AcqRel)
    }

    /// Table 20: release operation.
    pub fn releases(self) -> bool {
        matches!(self.sem, Sem::Release | Sem::AcqRel)
    }
}

impl Event<Ptx> {
    /// Section 8.6: the proxy of a memory operation. Initial writes and fences count as generic.
    pub fn proxy(&self) -> Proxy {
        match self.kind {
            EventKind::Read(access) | EventKind::Write(access) => access.proxy,
            _ => Proxy::Generic,
        }
    }

    /// Whether this is the access of a multimem operation to one replica.
    pub fn is_multimem(&self) -> bool {
        matches!(self.kind, EventKind::Read(access) | EventKind::Write(access) if access.multimem)
    }
}

/// A fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fence {
    /// `fence.sem.scope`.
    Memory {
        /// Its ordering.
        sem: FenceSem,
        /// Its scope.
        scope: Scope,
    },
    /// `fence.release.sync_restrict::shared::cta.cluster` and `fence.acquire.sync_restrict::shared::cluster.cluster`: a
    /// fence whose effect applies to operations on shared memory of its CTA, or of its cluster.
    Restricted(OneSided),
    /// `fence.proxy`.
    Proxy(ProxyFence),
    /// `fence.mbarrier_init.release.cluster`: a release fence that covers earlier `mbarrier.init` alone.
    MbarrierInit,
    /// `tcgen05.fence::before_thread_sync`, `tcgen05.fence::after_thread_sync`
    Tensor(TensorFence),
    /// `wgmma.fence`
    Wgmma,
    /// A barrier of the host.
    Host(HostFence),
}

/// `fence.proxy` (section 8.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProxyFence {
    /// Between virtual aliases.
    Alias,
    /// Between the generic proxy and this one.
    Of(Proxy),
    /// `fence.proxy.async.{global,shared::cta,shared::cluster}`: between the generic and the async proxy, for this
    /// memory alone.
    AsyncOf(FencedSpace),
    /// `fence.proxy.async::generic.sem.sync_restrict…`: one direction in two halves.
    AsyncHalf(OneSided),
    /// `fence.proxy.tensormap::generic.sem.scope`: one direction in two halves. This is the release half; the acquire
    /// half applies to the descriptor at an address:
    /// [`Asynchronous::AcquireTensormap`](crate::asynchronous::Asynchronous::AcquireTensormap).
    TensormapRelease(Scope),
}

/// The memory that a `fence.proxy.async` applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, EnumString, IntoStaticStr)]
pub enum FencedSpace {
    /// Global memory.
    #[strum(serialize = "global")]
    Global,
    /// Shared memory of the CTA.
    #[strum(serialize = "shared::cta")]
    SharedCta,
    /// Shared memory of the cluster.
    #[strum(serialize = "shared::cluster")]
    SharedCluster,
}

/// The interpretation of the manual where it is ambiguous, or where another tool differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Conventions {
    /// Whether a `cas` that fails writes the old value back. Table 20 calls an atomic operation a write only "if it
    /// results in a write".
    pub failed_cas_writes: bool,
    /// Whether `fence.sc` is a release and an acquire fence in patterns (section 8.8), as the Atomics ABI needs it.
    pub fence_sc_in_patterns: bool,
    /// Whether `red` forms acquire patterns, against section 8.11.1.
    pub red_acquires: bool,
    /// Whether an execution is an outcome although a thread waits at a barrier forever, if the thread ends after that
    /// barrier.
    pub hung_at_end: bool,
    /// Whether the axioms of the strengthened model apply, too: [`Axiom::Propagation`](axioms::Axiom::Propagation) and
    /// [`Axiom::CoherenceOfReads`](axioms::Axiom::CoherenceOfReads).
    pub strengthened: bool,
    /// The readings of the questions that the manual leaves open about asynchronous operations.
    pub readings: Readings,
}

impl Fence {
    /// The fence of the manual; without a modifier it is `acq_rel`.
    pub fn memory(sem: Option<FenceSem>, scope: Scope) -> Self {
        Self::Memory { sem: sem.unwrap_or(FenceSem::AcqRel), scope }
    }

    /// The ordering and the scope of a memory fence; `None` for other fences.
    pub fn ordering(self) -> Option<(FenceSem, Scope)> {
        match self {
            Self::Memory { sem, scope } => Some((sem, scope)),
            Self::Restricted(OneSided::Release) => Some((FenceSem::Release, Scope::Cluster)),
            Self::Restricted(OneSided::Acquire) => Some((FenceSem::Acquire, Scope::Cluster)),
            _ => None,
        }
    }

    /// `membar` is the `fence.sc` of the same scope (section 9.7.13.5).
    pub fn membar(level: MembarLevel) -> Self {
        Self::Memory { sem: FenceSem::Sc, scope: level.scope() }
    }
}

impl Conventions {
    /// The manual, and the Atomics ABI where the manual is ambiguous.
    pub const MANUAL: Self = Self {
        failed_cas_writes: false,
        fence_sc_in_patterns: true,
        red_acquires: false,
        hung_at_end: false,
        strengthened: false,
        readings: Readings::DEFAULT,
    };
    /// The manual, with two more axioms. No GPU showed an outcome that they forbid.
    pub const STRENGTHENED: Self = Self { strengthened: true, ..Self::MANUAL };
    /// The interpretation of Dat3M.
    pub const DAT3M: Self = Self {
        failed_cas_writes: true,
        fence_sc_in_patterns: false,
        red_acquires: true,
        hung_at_end: true,
        strengthened: false,
        readings: Readings::DEFAULT,
    };

    /// The options for unfolding threads that follow from these conventions.
    pub fn unfolding(self, rounds: usize) -> Unfolding {
        Unfolding {
            rounds,
            failed_cas_writes: self.failed_cas_writes,
            hung_at_end: self.hung_at_end,
            idle_updates: true,
        }
    }
}

impl Default for Conventions {
    fn default() -> Self {
        Self::MANUAL
    }
}
