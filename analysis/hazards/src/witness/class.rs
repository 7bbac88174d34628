//! What a finding of an execution says of asynchronous operations.

use ptx_execute::{AccessType, Detail, End, Fault, FaultKind, Missing, Site, SiteKind, Tried, WORKSPACE};
use ptx_isa::Family;

/// How sure a witness is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::Display)]
#[strum(serialize_all = "kebab-case")]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Class {
    /// A race with an asynchronous operation or an mbarrier, or one of these misused.
    Wrong,
    /// What the manual asks for, and many kernels do without; or a hang, which may take an order of threads that no GPU has.
    Warning,
    /// Threads wait for ever for arrivals, in a launch that never ends: what is made up of it may be why.
    Stuck,
    /// Of ordinary accesses alone.
    Plain,
}

/// Whether an instruction is an asynchronous operation, or only synchronizes with such: no fence, no barrier and no hint.
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

/// The class of a finding; nothing if it says nothing of the kernel in a launch whose arguments are made up. It may stand after
/// something that is misused in the same run.
pub fn class(finding: &Fault, tried: &Tried, is_behind: bool) -> Option<Class> {
    let is_asynchronous = is_asynchronous(&finding.site) || finding.other.as_ref().is_some_and(is_asynchronous);
    match finding.kind {
        // What follows where something is misused may follow of that.
        FaultKind::Race if is_behind && tried.end == End::Stopped(FaultKind::Misuse) => None,
        FaultKind::Race if !is_asynchronous => Some(Class::Plain),
        FaultKind::Race if is_moved(finding) => Some(Class::Warning),
        // Rows of a tensor may overlap only since its strides are made up.
        FaultKind::Race if is_in_buffer(finding, tried) && finding.detail != Detail::TensorMap => None,
        FaultKind::Race if is_lenient(finding) => Some(Class::Warning),
        FaultKind::Race => Some(Class::Wrong),
        // Many kernels end without the wait, and lose nothing on the GPUs there are.
        FaultKind::Unfinished => Some(Class::Warning),
        // A phase that a slow thread misses ends all in some orders; GPUs may not have these.
        FaultKind::Hang if tried.end == End::Ended => Some(Class::Warning),
        FaultKind::Hang => match finding.detail {
            // Boxes of tensor maps may be why.
            Detail::Missing(Missing::Bytes) if tried.launch.has_maps() => None,
            Detail::Missing(_) => Some(Class::Stuck),
            _ => None,
        },
        // If no launch ends, the arguments may be why.
        FaultKind::Absent | FaultKind::BarrierCount | FaultKind::TensorMemory if tried.end == End::Ended => {
            Some(Class::Wrong)
        }
        _ => None,
    }
}

/// Whether a register of a product is copied before the product is waited for: compilers move such copies in front of the wait.
fn is_moved(finding: &Fault) -> bool {
    finding.detail == Detail::Registers && finding.site.kind == SiteKind::Move
}

/// Whether the place is in a buffer that was made up for a parameter, or where only an address leads that was read from one.
fn is_in_buffer(finding: &Fault, tried: &Tried) -> bool {
    let Some(place) = &finding.place else { return false };
    let is_of = |field| place.starts_with(&tried.launch.name_of(field));
    place.starts_with(WORKSPACE) || tried.launch.fields.iter().any(is_of)
}

/// Whether the manual asks for more than many kernels have: for a proxy fence between a read, an initialization or an allocation and
/// a copy, for an order of what arrives at an mbarrier with its end, and for a wait between products of one thread.
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
