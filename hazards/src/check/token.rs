//! An access that may be in flight, and what is known of it along a path.

use super::{
    barriers::Signals,
    graph::{Graph, Point},
};
use crate::kernel::{
    Access, Address, Condition, Direction, Event, EventKind, Groups, Kernel, Operation, Proxy, Space, Start, Sum,
};

/// An access of which something is needed before another one may follow.
#[derive(Clone, Debug)]
pub struct Token<'k> {
    /// Where it stands.
    pub point: Point,
    /// Its line.
    pub line: u32,
    /// What it touches.
    pub access: Access,
    /// Which of the accesses of its operation it is.
    pub number: usize,
    /// What it is.
    pub kind: TokenKind<'k>,
    /// What holds of the thread that does it.
    pub conditions: Vec<Condition>,
    /// Values of its address that have a smaller range there, and this.
    pub narrowed: Vec<(usize, (i64, i64))>,
    /// Whether one thread of a CTA does it, and not more.
    pub is_single: bool,
}

/// What an access belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind<'k> {
    /// An access of its thread, done at once.
    Plain,
    /// An asynchronous operation.
    Started(&'k Start),
    /// The initialization of an mbarrier.
    Initialized,
    /// The tensor memory that an allocation gives.
    Allocated,
    /// The write of its address, by a warp.
    Addressed,
    /// A wait on an mbarrier.
    Waited,
    /// The end of an mbarrier, which is a write like any other.
    Invalidated,
}

/// In which round of a loop the first of two accesses was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// In the same one.
    Same,
    /// In an earlier one.
    Earlier,
    /// In an earlier one, and the program leaves it in flight in later ones.
    Ahead,
}

/// How far an access is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Done {
    No,
    /// Its operation has read all that it reads.
    Reads,
    Yes,
}

/// What is known of an access at a point of a path, by the thread that did it and, once it is shared, by those that are here.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Progress {
    pub done: Done,
    /// How many groups were committed behind it.
    pub age: u8,
    /// The signals that its completion gives.
    pub completes: Signals,
    /// The signals that its thread gave when it was complete.
    pub told: Signals,
    /// Those of them behind a proxy fence.
    pub told_fenced: Signals,
    /// The signals that its thread gave when it had started, and a fence in front of them said so.
    pub handed: Signals,
    /// The barriers of the CTA at which its thread arrived when it was in flight.
    pub early: Signals,
    /// Whether all threads that are here know it is complete.
    pub shared: bool,
    /// Whether all threads that are here know it has started.
    pub started: bool,
    /// Whether the other threads of the warp know it is complete.
    pub warp: bool,
    /// What holds of the threads that know it: a number in a table of conditions.
    pub among: usize,
    /// Whether a proxy fence stands between it and here.
    pub fenced: bool,
    /// Whether the first half of one does.
    pub half_fenced: bool,
    /// Whether its thread released, by a fence, since it was complete.
    pub released: bool,
    /// Whether its completion was observed by a relaxed wait.
    pub seen: bool,
    /// Whether `tcgen05.fence::before_thread_sync` stands behind it.
    pub before: bool,
    /// Whether `tcgen05.fence::after_thread_sync`, or what does as much, stands behind what ordered it.
    pub after: bool,
    /// Whether `wgmma.fence` stands behind it.
    pub matrix: bool,
    /// Whether values in its address may be those of an earlier round.
    pub stale: bool,
    /// Whether it passed a wait that leaves the latest groups in flight, as a pipeline does; or is what another role does next, behind
    /// what was waited for.
    pub ahead: bool,
    /// Whether it cannot be told if what was waited for was this.
    pub doubt: bool,
    /// Whether another role did it, and nothing told the threads that are here.
    pub foreign: bool,
    /// Whether what told them of it told of an earlier round.
    pub again: bool,
}

impl<'k> Token<'k> {
    /// The accesses of an event.
    pub fn of(graph: &Graph<'k>, point: Point, event: &'k Event) -> Vec<Self> {
        let accesses: Vec<(Access, TokenKind<'_>)> = match &event.kind {
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
        let conditions = graph.known_at(point);
        let of =
            |(number, (access, kind))| Self { number, ..Self::new(graph, point, access, kind, conditions.clone()) };
        accesses.into_iter().enumerate().map(of).collect()
    }

    /// An access of an event, of whose threads conditions hold.
    pub fn new(
        graph: &Graph<'k>,
        point: Point,
        access: Access,
        kind: TokenKind<'k>,
        conditions: Vec<Condition>,
    ) -> Self {
        let narrowed = access.address.offset.terms.iter().filter_map(|(value, _)| {
            let bounds = graph.bounds(*value, &conditions);
            let is_bounded = i64::MIN < bounds.0 && bounds.0 <= bounds.1 && bounds.1 < i64::MAX;
            (is_bounded && graph.kernel.unknowns[*value].range != Some(bounds)).then_some((*value, bounds))
        });
        let narrowed = narrowed.collect();
        let is_single = graph.is_single(&conditions);
        let line = graph.kernel.blocks[point.0].events[point.1].line;
        Self { point, line, access, number: 0, kind, conditions, narrowed, is_single }
    }

    /// The operation that it belongs to.
    pub fn operation(&self) -> Option<&'k Operation> {
        match self.kind {
            TokenKind::Started(start) => Some(&start.what),
            _ => None,
        }
    }

    /// The mbarrier that learns of its completion by itself.
    pub fn barrier(&self) -> Option<&'k Address> {
        match self.kind {
            TokenKind::Started(start) => start.barrier.as_ref(),
            _ => None,
        }
    }

    /// What is known of it just behind its event.
    pub fn issued(&self, signal: Signals) -> Progress {
        let completes = if self.operation() == Some(&Operation::BulkLoad) { signal } else { 0 };
        let done = if self.operation().is_some() { Done::No } else { Done::Yes };
        Progress { done, completes, ..Progress::NEW }
    }

    /// The groups that it is committed and waited for in.
    pub fn groups(&self) -> Option<Groups> {
        match self.operation()? {
            Operation::Copy => Some(Groups::Copy),
            Operation::BulkStore => Some(Groups::Bulk),
            Operation::Wgmma => Some(Groups::Wgmma),
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

    /// What `tcgen05.wait` waits for it.
    pub fn direction(&self) -> Option<Direction> {
        match self.operation()? {
            Operation::TensorLoad => Some(Direction::Load),
            Operation::TensorStore => Some(Direction::Store),
            _ => None,
        }
    }

    /// Whether it is a tcgen05 instruction that goes on behind others.
    pub fn is_tensor(&self) -> bool {
        self.commit_group().is_some() || self.direction().is_some()
    }

    /// Whether the completion of its operation is a proxy fence, too.
    pub fn fences_itself(&self) -> bool {
        matches!(self.operation(), Some(Operation::BulkLoad | Operation::BulkStore | Operation::Wgmma))
    }

    /// Whether a proxy fence may be needed behind it.
    pub fn is_generic(&self) -> bool {
        self.access.proxy == Proxy::Generic
    }
}

impl Progress {
    pub const NEW: Self = Self {
        done: Done::No,
        age: 0,
        completes: 0,
        told: 0,
        told_fenced: 0,
        handed: 0,
        early: 0,
        shared: false,
        started: false,
        warp: false,
        among: 0,
        fenced: false,
        half_fenced: false,
        released: false,
        seen: false,
        before: false,
        after: false,
        matrix: false,
        stale: false,
        ahead: false,
        doubt: false,
        foreign: false,
        again: false,
    };

    /// The round of a loop in which it was done.
    pub fn round(&self) -> Round {
        match (self.stale, self.ahead) {
            (false, _) => Round::Same,
            (true, false) => Round::Earlier,
            (true, true) => Round::Ahead,
        }
    }

    /// Whether all of it is over, as far as this access is concerned.
    pub fn is_done(&self, token: &Token<'_>) -> bool {
        self.done == Done::Yes || self.done == Done::Reads && !token.access.writes
    }
}

/// The bytes of an mbarrier.
pub fn mbarrier(address: &Address) -> Access {
    Access {
        address: address.clone(),
        extent: Some(8),
        space: Space::Shared,
        proxy: Proxy::Generic,
        reads: true,
        writes: true,
    }
}

/// All of an allocation.
fn columns(object: usize) -> Access {
    Access {
        address: Address { object, offset: Sum::number(0), is_remote: false },
        extent: Some(512),
        space: Space::Tensor,
        proxy: Proxy::Tensor,
        reads: false,
        writes: true,
    }
}

/// Whether a kernel has anything that this check is about.
pub fn is_asynchronous(kernel: &Kernel) -> bool {
    let events = kernel.blocks.iter().flat_map(|block| &block.events);
    let ordinary = |kind: &EventKind| {
        matches!(
            kind,
            EventKind::Access(_)
                | EventKind::Barrier(_)
                | EventKind::Fence { .. }
                | EventKind::Atomic { .. }
                | EventKind::Unknown(_)
        )
    };
    events.into_iter().any(|event| !ordinary(&event.kind))
}
