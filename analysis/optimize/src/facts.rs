//! The orderings that already hold before a point of a function, and the orderings that follow after it.
//!
//! An acquire applies to the preceding atomic reads: each read is visible up to the scope of the read, and later fences
//! have acquired it up to some scope. A release applies to the following atomic writes in the same way. One fence can
//! replace another only if no access between the two is ordered by the second alone.
//!
//! Plain accesses carry no synchronization: in the memory models of C++ and PTX, only atomic (strong) accesses do.

use crate::{
    function::{Atomic, Block, End, Event, EventKind, Function},
    graph::Fact,
    level::{self, ALL, GRID, LEVELS, Level},
    options::{Condition, OptimizeOptions},
};
use ptx_lowering::{Operation, Ordering};

/// The operations on one side of a point, by the scope up to which they are ordered: for each, the widest scope in
/// which an operation is visible.
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

    /// A fence orders all operations up to this scope.
    fn order(&mut self, scope: Level) {
        for ordered in 0..scope {
            let seen = std::mem::take(&mut self.0[ordered]);
            self.add(scope, seen);
        }
    }

    /// The narrowest scope at which a fence has the same effect on these operations as at `scope`; 0 if it has no
    /// effect.
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

/// The scopes of the fences between a point and the first access on one side, by kind; 0 without such a fence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Adjacent {
    /// Fences that acquire, or that release: the kind that matters on this side.
    pub one_sided: Level,
    /// Sequentially consistent fences.
    pub seq_cst: Level,
}

impl Adjacent {
    fn join(&mut self, other: &Self, every_path: bool) {
        let join = |own: Level, other: Level| if every_path { own.min(other) } else { own.max(other) };
        self.one_sided = join(self.one_sided, other.one_sided);
        self.seq_cst = join(self.seq_cst, other.seq_cst);
    }
}

/// The facts before a point, on every path from the entry; or after it, on every path to an end.
#[derive(Clone, Debug)]
pub struct Facts<'o> {
    side: Side,
    /// The atomic reads before the point, or the atomic writes after it.
    pub carriers: Carriers,
    /// The adjacent fences: before the point the releasing fences, after it the acquiring fences.
    pub adjacent: Adjacent,
    /// Whether a releasing fence may be present.
    pub released: bool,
    options: &'o OptimizeOptions,
}

/// The facts about the code around a function.
#[derive(Clone, Copy, Debug)]
pub struct Border {
    /// Whether the thread has no access there.
    pub alone: bool,
    /// The widest scope in which no thread has an access there; 0 if unknown.
    pub grid: Level,
}

impl Border {
    /// The border of a function that any code may call.
    pub const UNKNOWN: Self = Self { alone: false, grid: 0 };

    /// The border of a function. For a kernel, the accesses of its grid all lie between launch and end. Other kernels
    /// and the host are in wider scopes only, and may access memory before the launch and after the end.
    pub fn from_function(function: &Function, options: &OptimizeOptions) -> Self {
        let grid = if options.is_met_or_assumed(Condition::OneGrid, options.one_grid) { ALL } else { GRID };
        if options.is_met_or_assumed(Condition::Kernel, function.kernel) {
            Self { alone: true, grid }
        } else {
            Self::UNKNOWN
        }
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
    /// The facts at the entry of a function.
    pub fn at_entry(border: Border, options: &'o OptimizeOptions) -> Self {
        Self::at_border(Side::Before, border, options)
    }

    /// The facts at the end of a block without a successor.
    pub fn at_end(block: &Block, border: Border, options: &'o OptimizeOptions) -> Self {
        let border = match block.end {
            End::Return => border,
            End::Never => Border { alone: true, ..border },
        };
        Self::at_border(Side::After, border, options)
    }

    fn at_border(side: Side, Border { alone, grid }: Border, options: &'o OptimizeOptions) -> Self {
        Self {
            side,
            carriers: if alone { Carriers::default() } else { Carriers::unknown() },
            adjacent: Adjacent { one_sided: grid, seq_cst: 0 },
            released: !alone,
            options,
        }
    }

    /// The facts before an end that is never reached: every fact holds.
    pub fn never(options: &'o OptimizeOptions) -> Self {
        let adjacent = Adjacent { one_sided: ALL, seq_cst: ALL };
        Self { side: Side::After, carriers: Carriers::default(), adjacent, released: false, options }
    }

    fn is_met_or_assumed(&self, condition: Condition, is_met: bool) -> bool {
        self.options.is_met_or_assumed(condition, is_met)
    }

    /// Records an access on this side.
    fn access(&mut self) {
        if !self.is_met_or_assumed(Condition::NoAccessBetween, false) {
            self.adjacent = Adjacent::default();
        }
    }

    fn fence(&mut self, fence: &Atomic) {
        let scope = if self.is_met_or_assumed(Condition::FenceScope, false) { ALL } else { level::find_level(fence) };
        let (acquires, releases) = (fence.acquires(), fence.releases());
        let (orders, counts) = match self.side {
            Side::Before => (acquires, releases),
            Side::After => (releases, acquires),
        };
        if orders {
            self.carriers.order(scope);
        }
        // A later release passes on acquired values, so an acquire must not move after the release; and vice versa.
        if orders && !self.is_met_or_assumed(Condition::NoOtherHalfBetween, false) {
            self.adjacent.one_sided = 0;
        }
        if counts {
            self.adjacent.one_sided = self.adjacent.one_sided.max(scope);
        }
        let seq_cst = fence.op.ordering == Ordering::SeqCst;
        if seq_cst || fence.op.ordering == Ordering::AcqRel && self.is_met_or_assumed(Condition::SeqCstStays, false) {
            self.adjacent.seq_cst = self.adjacent.seq_cst.max(scope);
        } else if !self.is_met_or_assumed(Condition::NoOtherHalfBetween, false) {
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
        if carries && !self.is_met_or_assumed(between, false) {
            self.carriers.add(if ordered { level::find_level(atomic) } else { 0 }, level::carried(atomic));
        }
    }
}

/// Whether the operation acquires whatever its result.
fn always_acquires(atomic: &Atomic) -> bool {
    match atomic.op.operation {
        Operation::CmpXchg { failure, .. } => atomic.op.ordering.acquires() && failure.acquires(),
        _ => atomic.op.ordering.acquires(),
    }
}

impl Fact for Facts<'_> {
    fn join(&mut self, other: &Self) {
        let every_path = !self.is_met_or_assumed(Condition::EveryPath, false);
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
