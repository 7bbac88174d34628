//! The place of a thread, and the threads that a scope includes.

pub use ptx_isa::Scope;
use strum::{Display, EnumIter, EnumString, IntoStaticStr};

/// The processor that executes a thread.
#[rustfmt::skip]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Display, EnumIter, EnumString, IntoStaticStr)]
pub enum Processor {
    /// A GPU, which executes PTX.
    #[default]
    #[strum(serialize = "gpu")]
    Gpu,
    /// A host with x86-64.
    #[strum(serialize = "x86")]
    X86,
    /// A host with AArch64.
    #[strum(serialize = "aarch64")]
    AArch64,
    /// A NIC, which accesses memory over PCIe.
    #[strum(serialize = "nic")]
    Nic,
}

impl Processor {
    /// Whether the processor is a host.
    pub fn is_host(self) -> bool {
        matches!(self, Self::X86 | Self::AArch64)
    }

    /// Whether the processor is a GPU. The scopes of a GPU, except for the widest, exclude all other processors.
    pub fn is_gpu(self) -> bool {
        self == Self::Gpu
    }
}

/// The CTA of a thread. CTAs are numbered within a cluster, and clusters within a GPU. A thread of the host has no GPU,
/// cluster and CTA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The processor that executes the thread.
    pub processor: Processor,
    /// The GPU.
    pub gpu: u32,
    /// The cluster. Without clusters, each CTA is a cluster by itself.
    pub cluster: Option<u32>,
    /// The CTA in its cluster, or on its GPU if there are no clusters.
    pub cta: u32,
}

impl Place {
    /// A place outside of the GPUs.
    pub fn host(processor: Processor) -> Self {
        Self { processor, ..Self::default() }
    }

    /// Whether the scope of an operation at this place includes a thread at the other place (section 8.5).
    pub fn includes(self, scope: Scope, other: Self) -> bool {
        match scope {
            Scope::Sys => true,
            Scope::Gpu => self.device() == other.device(),
            Scope::Cluster => self.device() == other.device() && self.cluster_id() == other.cluster_id(),
            Scope::Cta => self == other,
        }
    }

    fn device(self) -> (bool, u32) {
        (self.processor.is_gpu(), self.gpu)
    }

    fn cluster_id(self) -> (bool, u32) {
        (self.cluster.is_some(), self.cluster.unwrap_or(self.cta))
    }
}

/// Whether, from each of these places, the scope includes all of them.
pub(crate) fn all_reach(scope: Scope, places: &[Place]) -> bool {
    places.iter().all(|from| places.iter().all(|to| from.includes(scope, *to)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use strum::IntoEnumIterator;

    #[test]
    fn scopes_of_places() {
        let place = |cta, cluster, gpu| Place { gpu, cluster, cta, ..Place::default() };
        let check = |other: Place, narrowest: Scope| {
            for scope in Scope::iter() {
                assert_eq!(place(0, Some(0), 0).includes(scope, other), scope >= narrowest, "{scope} {other:?}");
            }
        };
        check(place(0, Some(0), 0), Scope::Cta);
        check(place(1, Some(0), 0), Scope::Cluster);
        check(place(0, Some(1), 0), Scope::Gpu);
        check(place(0, Some(0), 1), Scope::Sys);
        assert!(!place(0, None, 0).includes(Scope::Cluster, place(1, None, 0)));
        for scope in Scope::iter() {
            for host in [Processor::X86, Processor::Nic].map(Place::host) {
                assert_eq!(place(0, None, 0).includes(scope, host), scope == Scope::Sys, "{scope}");
                assert_eq!(host.includes(scope, place(0, None, 0)), scope == Scope::Sys, "{scope}");
            }
        }
    }
}
