//! The classification of faults that executions show.

use ptx_execute::{AccessType, Detail, End, Fault, FaultKind, Missing, Site, SiteKind, Tried, WORKSPACE};
use ptx_isa::Family;

/// The class of a witness, from the most certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::Display)]
#[strum(serialize_all = "kebab-case")]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Class {
    /// A race with an asynchronous operation or an mbarrier, or a misuse of one of them.
    Wrong,
    /// A violation of a requirement of the manual that many kernels ignore; or a hang that may take a thread order that
    /// no GPU has.
    Warning,
    /// Threads wait forever for arrivals, in a launch that never ends: its invented arguments may be the reason.
    Stuck,
    /// A race of ordinary accesses only.
    Plain,
}

/// Whether an instruction is an asynchronous operation, or only synchronizes with asynchronous operations. Fences,
/// barriers and hints do not count.
fn is_asynchronous(site: &Site) -> bool {
    use Family::*;
    site.family().is_some_and(|family| {
        !matches!(
            family,
            Fence
                | FenceAlias
                | FenceMbarrierInit
                | FenceProxyAlias
                | FenceProxyAsync
                | FenceProxyAsyncGeneric
                | FenceProxyFabricFabric
                | FenceProxyFabricGeneric
                | FenceProxyGenericFabric
                | FenceProxyTensormapGeneric
                | MembarProxyAlias
                | MembarProxyAsync
                | BarrierClusterArrive
                | BarrierClusterWait
                | GriddepcontrolLaunchDependents
                | GriddepcontrolWait
                | ApplypriorityAsyncBulk
                | ApplypriorityAsyncBulkTensor
        )
    })
}

/// The class of a fault; `None` if the fault is not evidence about the kernel, because the launch's arguments are
/// invented. `is_after_misuse` tells whether the fault follows a misuse in the same run.
pub fn class(finding: &Fault, tried: &Tried, is_after_misuse: bool) -> Option<Class> {
    let is_asynchronous = is_asynchronous(&finding.site) || finding.other.as_ref().is_some_and(is_asynchronous);
    match finding.kind {
        // A race after a misuse may be a consequence of the misuse.
        FaultKind::Race if is_after_misuse && tried.end == End::Stopped(FaultKind::Misuse) => None,
        FaultKind::Race if !is_asynchronous => Some(Class::Plain),
        FaultKind::Race if is_moved(finding) => Some(Class::Warning),
        // Rows of a tensor may overlap only because its strides are invented.
        FaultKind::Race if is_in_buffer(finding, tried) && finding.detail != Detail::TensorMap => None,
        FaultKind::Race if is_lenient(finding) => Some(Class::Warning),
        FaultKind::Race => Some(Class::Wrong),
        // Many kernels end without the wait, and lose nothing on existing GPUs.
        FaultKind::Unfinished => Some(Class::Warning),
        // The order up to the lap is the same in every schedule.
        FaultKind::Lapped if matches!(tried.end, End::Ended | End::Stopped(FaultKind::Hang)) => Some(Class::Wrong),
        // The kernel steers the threads, except where invented numbers do.
        kind @ (FaultKind::DivergentWarp | FaultKind::Setmaxnreg)
            if tried.end == End::Ended || [kind, FaultKind::Hang].map(End::Stopped).contains(&tried.end) =>
        {
            Some(Class::Wrong)
        }
        // In some orders a slow thread misses a phase, and everything hangs; GPUs may not have these orders.
        FaultKind::Hang if tried.end == End::Ended => Some(Class::Warning),
        FaultKind::Hang => match finding.detail {
            // Boxes of tensor maps may be the reason.
            Detail::Missing(Missing::Bytes) if tried.launch.has_maps() => None,
            Detail::Missing(_) => Some(Class::Stuck),
            _ => None,
        },
        // If no launch ends, the arguments may be the reason.
        FaultKind::Absent | FaultKind::BarrierCount | FaultKind::TensorMemory if tried.end == End::Ended => {
            Some(Class::Wrong)
        }
        _ => None,
    }
}

/// Whether a register of a product is copied before the wait for the product: compilers move such copies before the
/// wait.
fn is_moved(finding: &Fault) -> bool {
    finding.detail == Detail::Registers && finding.site.kind == SiteKind::Move
}

/// Whether the location is in a buffer that was invented for a parameter, or is reachable only through an address that
/// was read from such a buffer.
fn is_in_buffer(finding: &Fault, tried: &Tried) -> bool {
    let Some(place) = &finding.place else { return false };
    let is_of = |field| place.starts_with(&tried.launch.name_of(field));
    place.starts_with(WORKSPACE) || tried.launch.fields.iter().any(is_of)
}

/// Whether the fault violates only a requirement of the manual that many kernels ignore: a proxy fence between a read,
/// an initialization or an allocation and a copy; an ordering between arrivals at an mbarrier and its invalidation; or
/// a wait between products of one thread.
fn is_lenient(finding: &Fault) -> bool {
    let sites = [Some(&finding.site), finding.other.as_ref()];
    let has = |family| sites.iter().flatten().any(|site| site.family() == Some(family));
    let is_read = finding.race().is_some_and(|race| {
        race.accesses == [AccessType::Read, AccessType::AsynchronousWrite] && !race.by_earlier_grid
    });
    let is_setup = has(Family::MbarrierInit) || has(Family::Tcgen05Alloc);
    let is_product = |site: &Site| {
        use Family::{Tcgen05Mma, Tcgen05MmaSp, Tcgen05MmaWs, Tcgen05MmaWsSp};
        matches!(site.family(), Some(Tcgen05Mma | Tcgen05MmaSp | Tcgen05MmaWs | Tcgen05MmaWsSp))
    };
    let is_of_one = finding.other.as_ref().is_some_and(|other| {
        let is_same = (other.thread, other.cta) == (finding.site.thread, finding.site.cta);
        is_same && is_product(other) && is_product(&finding.site)
    });
    finding.lacks_fence() && (is_read || is_setup) || has(Family::MbarrierInval) || is_of_one
}
