//! An access that may be in flight.

use super::graph::{EventGraph, Point};
use crate::kernel::{Address, Condition, Event, EventAccess, EventKind, Kernel, Operation, Space, Start, Sum, Varies};
use ptx_isa::{
    InstPlace,
    effects::{Committed, Group, Proxy, TensorWait},
};

/// An access that a later access must be ordered after.
#[derive(Clone, Debug)]
pub struct Token<'k> {
    /// Its point in the graph.
    pub point: Point,
    /// The instruction.
    pub at: InstPlace,
    /// The memory access.
    pub access: EventAccess,
    /// Its index among the accesses of its operation.
    pub number: usize,
    /// Its kind.
    pub kind: TokenKind<'k>,
    /// The conditions of the thread that does it.
    pub conditions: Vec<Condition>,
    /// The values in its address that have a smaller range in these threads, each with that range.
    pub narrowed: Vec<(usize, (i64, i64))>,
    /// The values in its address that each of these threads has by itself, and the range of their sum.
    pub own: (Vec<usize>, (i64, i64)),
    /// Whether exactly one thread of a CTA does it.
    pub is_single: bool,
}

/// The kind of an access, by the event that does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind<'k> {
    /// A synchronous access of its thread.
    Plain,
    /// An asynchronous operation.
    Started(&'k Start),
    /// The initialization of an mbarrier.
    Initialized,
    /// An allocation of tensor memory, which is in flight until it is freed.
    Allocated,
    /// The write of the allocation's address, by a warp.
    Addressed,
    /// A wait on an mbarrier.
    Waited,
    /// The invalidation of an mbarrier, which counts as a write.
    Invalidated,
}

/// The iteration of a loop in which the first of two accesses was done, relative to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// The same iteration.
    Same,
    /// The iteration before, or an unknown one.
    Earlier,
    /// Any iteration: some iteration reaches the same element of a ring.
    Any,
    /// An earlier iteration, and the program leaves the access in flight in later ones.
    Ahead,
}

impl<'k> Token<'k> {
    /// The accesses of an event.
    pub fn read_event(graph: &EventGraph<'k>, point: Point, event: &'k Event) -> Vec<Self> {
        let accesses: Vec<(EventAccess, TokenKind<'_>)> = match &event.kind {
            EventKind::Access(access) | EventKind::Atomic { access, .. } => vec![(access.clone(), TokenKind::Plain)],
            EventKind::Start(start) => {
                start.accesses.iter().map(|access| (access.clone(), TokenKind::Started(start))).collect()
            }
            EventKind::Initialize { barrier, .. } => vec![(mbarrier(barrier), TokenKind::Initialized)],
            EventKind::Wait { barrier, .. } => vec![(mbarrier(barrier), TokenKind::Waited)],
            EventKind::Invalidate(barrier) => vec![(mbarrier(barrier), TokenKind::Invalidated)],
            EventKind::Allocate { object, access } => {
                vec![(columns(*object), TokenKind::Allocated), (access.clone(), TokenKind::Addressed)]
            }
            _ => Vec::new(),
        };
        if accesses.is_empty() {
            return Vec::new();
        }
        let conditions = graph.conditions_at_event(point).to_vec();
        let of =
            |(number, (access, kind))| Self { number, ..Self::new(graph, point, access, kind, conditions.clone()) };
        accesses.into_iter().enumerate().map(of).collect()
    }

    /// An access of an event. The conditions hold of the threads that do it.
    pub fn new(
        graph: &EventGraph<'k>,
        point: Point,
        access: EventAccess,
        kind: TokenKind<'k>,
        conditions: Vec<Condition>,
    ) -> Self {
        let narrowed = access.address.offset.terms.iter().filter_map(|(value, _)| {
            let (bounds, own) = (graph.bounds(*value, &conditions), graph.range_of_threads(*value, &conditions));
            let bounds = own.map_or(bounds, |(low, high)| (bounds.0.max(low), bounds.1.min(high)));
            let is_bounded = i64::MIN < bounds.0 && bounds.0 <= bounds.1 && bounds.1 < i64::MAX;
            (is_bounded && graph.kernel.unknowns[*value].range != Some(bounds)).then_some((*value, bounds))
        });
        let narrowed = narrowed.collect();
        let is_own = |(value, _): &(usize, i64)| {
            let value = &graph.kernel.unknowns[*value];
            value.each.is_some() && value.varies != Varies::No
        };
        let terms: Vec<_> = access.address.offset.terms.iter().copied().filter(is_own).collect();
        let together = graph.range_of_sum(&terms, &conditions).filter(|_| access.space != Space::Tensor);
        let own = together.map(|range| (terms.iter().map(|(value, _)| *value).collect(), range)).unwrap_or_default();
        let is_single = graph.is_single(&conditions);
        let at = graph.kernel.blocks[point.0].events[point.1].at;
        Self { point, at, access, number: 0, kind, conditions, narrowed, own, is_single }
    }

    /// The operation that it belongs to.
    pub fn operation(&self) -> Option<&'k Operation> {
        match self.kind {
            TokenKind::Started(start) => Some(&start.operation),
            _ => None,
        }
    }

    /// The mbarrier that its completion signals.
    pub fn barrier(&self) -> Option<&'k Address> {
        match self.kind {
            TokenKind::Started(start) => start.barrier.as_ref(),
            _ => None,
        }
    }

    /// The kind of groups in which it is committed and waited for.
    pub fn groups(&self) -> Option<Group> {
        match self.operation()? {
            Operation::Copy => Some(Group::Copy),
            Operation::BulkStore => Some(Group::Bulk),
            Operation::Wgmma => Some(Group::Wgmma),
            _ => None,
        }
    }

    /// The group of CTAs whose `tcgen05.commit` tells of its completion.
    pub fn commit_group(&self) -> Option<u8> {
        match self.operation()? {
            Operation::TensorMatrix { group, .. }
            | Operation::TensorCopy { group, .. }
            | Operation::TensorShift { group } => Some(*group),
            _ => None,
        }
    }

    /// Whether a commit of this group implies its completion.
    pub fn is_committed(&self, group: u8, of: Committed) -> bool {
        self.commit_group() == Some(group) && (of == Committed::Complete || self.reads_a())
    }

    /// Whether it is a product's read of matrix A in shared memory.
    pub fn reads_a(&self) -> bool {
        let is_product = matches!(self.operation(), Some(Operation::TensorMatrix { .. }));
        is_product && self.number == 1 && self.access.space == Space::Shared
    }

    /// The `tcgen05.wait` that waits for it.
    pub fn direction(&self) -> Option<TensorWait> {
        match self.operation()? {
            Operation::TensorLoad => Some(TensorWait::Load),
            Operation::TensorStore => Some(TensorWait::Store),
            _ => None,
        }
    }

    /// Whether it is of an asynchronous tcgen05 instruction.
    pub fn is_tensor(&self) -> bool {
        self.commit_group().is_some() || self.direction().is_some()
    }

    /// Whether its mbarrier is in another CTA of the cluster. That CTA waits for the copy and tells this one at a
    /// cluster barrier.
    pub fn is_waited_elsewhere(&self) -> bool {
        self.barrier().is_some_and(|barrier| barrier.is_remote)
    }

    /// Whether the completion of its operation is also a proxy fence.
    pub fn fences_itself(&self) -> bool {
        matches!(self.operation(), Some(Operation::BulkLoad | Operation::BulkStore | Operation::Wgmma))
    }

    /// Whether a proxy fence may be needed after it.
    pub fn is_generic(&self) -> bool {
        self.access.proxy == Proxy::Generic
    }
}

/// The bytes of an mbarrier.
pub fn mbarrier(address: &Address) -> EventAccess {
    EventAccess {
        address: address.clone(),
        extent: Some(8),
        space: Space::Shared,
        proxy: Proxy::Generic,
        reads: true,
        writes: true,
    }
}

/// All columns of an allocation.
fn columns(object: usize) -> EventAccess {
    EventAccess {
        address: Address { object, offset: Sum::number(0), is_remote: false },
        extent: Some(512),
        space: Space::Tensor,
        proxy: Proxy::Tensor,
        reads: false,
        writes: true,
    }
}

/// Whether a kernel has any event that this check is about.
pub fn is_asynchronous(kernel: &Kernel) -> bool {
    let events = kernel.blocks.iter().flat_map(|block| &block.events);
    let ordinary = |kind: &EventKind| {
        matches!(
            kind,
            EventKind::Access(_)
                | EventKind::Barrier(_)
                | EventKind::Fence { .. }
                | EventKind::Atomic { .. }
                | EventKind::Global(_)
                | EventKind::GridWait
                | EventKind::Unknown(_)
        )
    };
    kernel.has_unknown_order || events.into_iter().any(|event| !ordinary(&event.kind))
}
