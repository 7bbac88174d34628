//! Threads of the host besides GPU threads: x86-64 according to x86-TSO, and AArch64 according to Arm's manual; and NICs
//! according to the PCI Express Base Specification.
//!
//! [`x86`], [`aarch64`] and [`nic`] define the order of the accesses of one thread. [`order`] combines these orders with
//! the orders of GPU threads: the compound model of `docs/host.md`.

pub mod aarch64;
pub mod nic;
pub mod order;
pub mod rule;
pub mod x86;

use strum::{Display, EnumIter, EnumString, IntoStaticStr};

/// A barrier of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HostFence {
    /// `MFENCE` of x86.
    Mfence,
    /// `DMB` of AArch64.
    Dmb(Dmb),
    /// `ISB` of AArch64.
    Isb,
}

/// The accesses that a `DMB` of AArch64 orders, and its domain. The model has a single domain: the inner shareable
/// domain includes the GPU, as the C++ mappings of the host require.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "UPPERCASE")]
pub enum Dmb {
    /// All accesses, for the inner shareable domain.
    Ish,
    /// Reads, with all later accesses.
    IshLd,
    /// Writes with writes.
    IshSt,
    /// All accesses, for the outer shareable domain.
    Osh,
    /// Reads, with all later accesses.
    OshLd,
    /// Writes with writes.
    OshSt,
    /// All accesses, for the whole system.
    Sy,
    /// Reads, with all later accesses.
    Ld,
    /// Writes with writes.
    St,
}

/// The accesses before and after a barrier that the barrier orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Orders {
    /// All with all.
    All,
    /// Reads with all.
    Loads,
    /// Writes with writes.
    Stores,
}

impl Dmb {
    /// The accesses that the barrier orders.
    pub fn orders(self) -> Orders {
        match self {
            Self::Ish | Self::Osh | Self::Sy => Orders::All,
            Self::IshLd | Self::OshLd | Self::Ld => Orders::Loads,
            Self::IshSt | Self::OshSt | Self::St => Orders::Stores,
        }
    }
}

impl HostFence {
    /// Whether the barrier orders all accesses with all accesses, like `fence.sc.sys`.
    pub fn is_full(self) -> bool {
        match self {
            Self::Mfence => true,
            Self::Dmb(of) => of.orders() == Orders::All,
            Self::Isb => false,
        }
    }
}
