//! A thread while its paths are unfolded, and the result.

use super::path::Path;
use crate::{
    flow::{Control, Flow},
    program::{Language, Location, Program, Span, Thread, Value},
};

/// The options for unfolding threads.
#[derive(Clone, Copy, Debug)]
pub struct Unfolding {
    /// The maximum number of iterations of a loop, counted at its first label.
    pub rounds: usize,
    /// Whether a compare and exchange that fails writes the old value back.
    pub failed_cas_writes: bool,
    /// Whether an execution in which a thread waits at a barrier forever is an outcome, if the thread has no statement
    /// after the barrier.
    pub hung_at_end: bool,
    /// Whether an iteration of a loop that writes back the values that it reads counts as one that only waits.
    pub idle_updates: bool,
}

/// An access of a path, whether or not it is an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PathAccess {
    pub span: Span,
    pub writes: bool,
    /// The index into the thread's code.
    pub statement: usize,
}

/// The result of unfolding a thread.
pub(crate) struct Unfolded<L: Language> {
    pub paths: Vec<Path<L>>,
    /// Every access, including accesses of paths that never end.
    pub touched: Vec<PathAccess>,
    /// The variables that may be written by statements that no path reached, if some path stops at a bound.
    pub(super) unseen: Vec<Location>,
    /// The memory of updates in omitted iterations, which write back the values that they read.
    pub(super) idle: Vec<Span>,
}

/// All values that some memory holds at any time.
pub(crate) struct Held {
    pub(super) span: Span,
    pub(super) values: Vec<Value>,
}

pub(super) struct Unfold<'p, L: Language> {
    pub(super) program: &'p Program<L>,
    pub(super) thread: &'p Thread<L>,
    pub(super) unfolding: Unfolding,
    pub(super) flow: Flow,
    /// For each statement, the registers whose values are still read; empty in a thread without loops.
    pub(super) live: Vec<u128>,
    /// The address of each variable, in order.
    pub(super) addresses: Vec<(Value, Location)>,
    pub(super) held: &'p [Held],
    /// Whether some thread has a `trap`.
    pub(super) traps: bool,
    pub(super) paths: Vec<Path<L>>,
    /// The paths that are cut: the path, the statement, and the branches that control depends on there.
    pub(super) cut: Vec<(usize, usize, Vec<Control>)>,
    pub(super) touched: Vec<PathAccess>,
    pub(super) idle: Vec<Span>,
}
