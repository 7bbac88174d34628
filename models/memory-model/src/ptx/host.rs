//! Threads of the host beside those of a GPU: x86-64, as x86-TSO has it, and AArch64, as Arm's manual has it.
//!
//! [`x86`] and [`aarch64`] have what orders the accesses of one thread, and [`order`] what the threads of both kinds of
//! processors make of that: the compound model of `docs/host.md`.

pub mod aarch64;
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

/// What a `DMB` of AArch64 orders, and for whom. The model has one domain: what is inner shareable reaches the GPU, as the
/// mappings of C++ on the host ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "UPPERCASE")]
pub enum Dmb {
    /// All accesses, for the inner shareable domain.
    Ish,
    /// Reads with all behind them.
    IshLd,
    /// Writes with writes.
    IshSt,
    /// All accesses, for the outer shareable domain.
    Osh,
    /// Reads with all behind them.
    OshLd,
    /// Writes with writes.
    OshSt,
    /// All accesses, for the whole system.
    Sy,
    /// Reads with all behind them.
    Ld,
    /// Writes with writes.
    St,
}

/// Which accesses in front of a barrier are ordered with which behind it.
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
    /// What it orders.
    pub fn orders(self) -> Orders {
        match self {
            Self::Ish | Self::Osh | Self::Sy => Orders::All,
            Self::IshLd | Self::OshLd | Self::Ld => Orders::Loads,
            Self::IshSt | Self::OshSt | Self::St => Orders::Stores,
        }
    }
}

impl HostFence {
    /// Whether it orders all accesses with all, as `fence.sc.sys` does.
    pub fn is_full(self) -> bool {
        match self {
            Self::Mfence => true,
            Self::Dmb(of) => of.orders() == Orders::All,
            Self::Isb => false,
        }
    }
}
