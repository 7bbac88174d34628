//! What is ordered already at a place, and what is ordered again behind it.
//!
//! An acquire is for the atomic reads in front of it: each is seen by a scope, its own, and was acquired up to some scope
//! since. A release is for the atomic writes behind it, in the same way. Where one fence is to do for another, no access may
//! lie between the two that only the other one orders.
//!
//! Plain accesses carry no synchronization: in the models of C++ and of PTX alike, only atomic (strong) ones do.

use crate::{
    function::{Atomic, Block, End, Event, EventKind, Function},
    graph::Fact,
    level::{self, ALL, GRID, LEVELS, Level},
    options::{Condition, Options},
};
use ptx_lowering::{Operation, Ordering};

/// Operations on one side of a place, by the scope up to which they are ordered already: the widest scope that sees one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carriers([Level; LEVELS]);

impl Carriers {
    fn unknown() -> Self {
        let mut unknown = Self::default();
        unknown.0[0] = ALL;
        unknown
    }

    fn add(&mut self, ordered: Level, seen: Level) {
        self.0[ordered] = self.0[ordered].max(seen);
    }

    /// All are ordered up to this scope, by a fence.
    fn order(&mut self, scope: Level) {
        for ordered in 0..scope {
            let seen = std::mem::take(&mut self.0[ordered]);
            self.add(scope, seen);
        }
    }

    /// The narrowest scope at which a fence does for them what it does at `scope`; 0 if that is nothing.
    pub fn needed(&self, scope: Level) -> Level {
        let seen = self.0.iter().enumerate().map(|(ordered, seen)| (ordered, (*seen).min(scope)));
        seen.filter(|(ordered, seen)| seen > ordered).map(|(_, seen)| seen).max().unwrap_or(0)
    }

    fn join(&mut self, other: &Self, every_path: bool) {
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            *own = if every_path { (*own).max(*other) } else { (*own).min(*other) };
        }
    }
}

/// The scope of fences between a place and the first access on a side of it, by what they order; 0 without one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Adjacent {
    /// Of those that acquire, or release: the one that counts on this side.
    pub one_sided: Level,
    /// Of those that are sequentially consistent.
    pub seq_cst: Level,
}

impl Adjacent {
    fn join(&mut self, other: &Self, every_path: bool) {
        let join = |own: Level, other: Level| if every_path { own.min(other) } else { own.max(other) };
        self.one_sided = join(self.one_sided, other.one_sided);
        self.seq_cst = join(self.seq_cst, other.seq_cst);
    }
}

/// What holds in front of a place, on every path from the entry; or behind it, on every path to an end.
#[derive(Clone, Debug)]
pub struct Facts<'o> {
    side: Side,
    /// The atomic reads in front of the place, or the atomic writes behind it.
    pub carriers: Carriers,
    /// In front of the place fences that release; behind it those that acquire.
    pub adjacent: Adjacent,
    /// Whether there may be a fence that releases.
    pub released: bool,
    options: &'o Options,
}

/// What is known of the code around a function.
#[derive(Clone, Copy, Debug)]
pub struct Border {
    /// The thread has no access there.
    pub alone: bool,
    /// The widest scope of which no thread has an access there; 0 if that is not known.
    pub grid: Level,
}

impl Border {
    /// Of a function that is called from anywhere.
    pub const UNKNOWN: Self = Self { alone: false, grid: 0 };

    /// Of a kernel: what its grid does is all between the launch and the end. Other kernels and the host are in the wider
    /// scopes, and may have anything in front of the launch or behind the end.
    pub fn of(function: &Function, options: &Options) -> Self {
        let grid = if options.met(Condition::OneGrid, options.one_grid) { ALL } else { GRID };
        if options.met(Condition::Kernel, function.kernel) { Self { alone: true, grid } } else { Self::UNKNOWN }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Before,
    After,
}

impl PartialEq for Facts<'_> {
    fn eq(&self, other: &Self) -> bool {
        (self.carriers, self.adjacent, self.released) == (other.carriers, other.adjacent, other.released)
    }
}

impl<'o> Facts<'o> {
    /// What holds at the entry of a function.
    pub fn at_entry(border: Border, options: &'o Options) -> Self {
        Self::at_border(Side::Before, border, options)
    }

    /// What holds at the end of a block that none follows.
    pub fn at_end(block: &Block, border: Border, options: &'o Options) -> Self {
        let border = match block.end {
            End::Return => border,
            End::Never => Border { alone: true, ..border },
        };
        Self::at_border(Side::After, border, options)
    }

    fn at_border(side: Side, Border { alone, grid }: Border, options: &'o Options) -> Self {
        Self {
            side,
            carriers: if alone { Carriers::default() } else { Carriers::unknown() },
            adjacent: Adjacent { one_sided: grid, seq_cst: 0 },
            released: !alone,
            options,
        }
    }

    /// What holds in front of an end that is never reached: everything.
    pub fn never(options: &'o Options) -> Self {
        let adjacent = Adjacent { one_sided: ALL, seq_cst: ALL };
        Self { side: Side::After, carriers: Carriers::default(), adjacent, released: false, options }
    }

    fn met(&self, condition: Condition, is_met: bool) -> bool {
        self.options.met(condition, is_met)
    }

    /// An access lies on this side.
    fn access(&mut self) {
        if !self.met(Condition::NoAccessBetween, false) {
            self.adjacent = Adjacent::default();
        }
    }

    fn fence(&mut self, fence: &Atomic) {
        let scope = if self.met(Condition::FenceScope, false) { ALL } else { level::of(fence) };
        let (acquires, releases) = (fence.acquires(), fence.releases());
        let (orders, counts) = match self.side {
            Side::Before => (acquires, releases),
            Side::After => (releases, acquires),
        };
        if orders {
            self.carriers.order(scope);
        }
        // What is acquired is passed on by a release behind it, and so must not move behind that; what is released, likewise.
        if orders && !self.met(Condition::NoOtherHalfBetween, false) {
            self.adjacent.one_sided = 0;
        }
        if counts {
            self.adjacent.one_sided = self.adjacent.one_sided.max(scope);
        }
        let seq_cst = fence.op.ordering == Ordering::SeqCst;
        if seq_cst || fence.op.ordering == Ordering::AcqRel && self.met(Condition::SeqCstStays, false) {
            self.adjacent.seq_cst = self.adjacent.seq_cst.max(scope);
        } else if !self.met(Condition::NoOtherHalfBetween, false) {
            self.adjacent.seq_cst = 0;
        }
        self.released |= releases;
    }

    fn atomic(&mut self, atomic: &Atomic) {
        self.access();
        let operation = atomic.op.operation;
        let (carries, ordered, between) = match self.side {
            Side::Before => (operation.reads(), always_acquires(atomic), Condition::NoReadBetween),
            Side::After => (operation.writes(), atomic.releases(), Condition::NoWriteBetween),
        };
        if carries && !self.met(between, false) {
            self.carriers.add(if ordered { level::of(atomic) } else { 0 }, level::carried(atomic));
        }
    }
}

/// Whether it acquires, whatever comes of it.
fn always_acquires(atomic: &Atomic) -> bool {
    match atomic.op.operation {
        Operation::CmpXchg { failure, .. } => atomic.op.ordering.acquires() && failure.acquires(),
        _ => atomic.op.ordering.acquires(),
    }
}

impl Fact for Facts<'_> {
    fn join(&mut self, other: &Self) {
        let every_path = !self.met(Condition::EveryPath, false);
        self.carriers.join(&other.carriers, every_path);
        self.adjacent.join(&other.adjacent, every_path);
        self.released |= other.released;
    }

    fn pass(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Plain => self.access(),
            EventKind::Barrier | EventKind::Unknown(_) => {
                self.adjacent = Adjacent::default();
                self.carriers = Carriers::unknown();
                self.released |= event.kind != EventKind::Barrier;
            }
            EventKind::Atomic(atomic) if atomic.is_fence() => self.fence(atomic),
            EventKind::Atomic(atomic) => self.atomic(atomic),
        }
    }
}
