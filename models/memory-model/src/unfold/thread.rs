//! A thread whose paths are found, and what is found of it.

use super::path::Path;
use crate::{
    flow::{Control, Flow},
    program::{Language, Location, Program, Span, Thread, Value},
};

/// How threads are unfolded.
#[derive(Clone, Copy, Debug)]
pub struct Unfolding {
    /// How often a loop is entered, counted at its first label.
    pub rounds: usize,
    /// Whether a compare and exchange that fails writes the old value back.
    pub failed_cas_writes: bool,
    /// Whether there is an outcome where a thread waits at a barrier for ever, if it has nothing left to do behind it.
    pub hung_at_end: bool,
    /// Whether a round of a loop that writes back what it reads counts as one that waits.
    pub idle_updates: bool,
}

/// An access of a path, be it an event or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Touch {
    pub span: Span,
    pub writes: bool,
    /// The index into the thread's code.
    pub statement: usize,
}

/// What unfolding a thread gives.
pub(crate) struct Unfolded<L: Language> {
    pub paths: Vec<Path<L>>,
    /// Every access, also those of paths that never end.
    pub touched: Vec<Touch>,
    /// The variables that may be written by what no path came to, where some path stops at a bound.
    pub(super) unseen: Vec<Location>,
    /// The memory of updates in rounds that were left out since they write back what they read.
    pub(super) idle: Vec<Span>,
}

/// All values that memory holds at any time.
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
    /// Where each variable begins, in order.
    pub(super) addresses: Vec<(Value, Location)>,
    pub(super) held: &'p [Held],
    /// Whether some thread has a `trap`.
    pub(super) traps: bool,
    pub(super) paths: Vec<Path<L>>,
    /// The paths that go on in a manner that is not known: where, and under which branches.
    pub(super) cut: Vec<(usize, usize, Vec<Control>)>,
    pub(super) touched: Vec<Touch>,
    pub(super) idle: Vec<Span>,
}
