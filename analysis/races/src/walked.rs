//! The result of a walk: the accesses and arrivals of one thread.

use crate::{chunks::Chunks, state::State};
use ptx_isa::InstPlace;
use ptx_solver::term::Term;

/// An access of one thread.
#[derive(Clone, Debug)]
pub struct AccessEvent {
    /// The step of the access.
    pub step: usize,
    /// The conditions under which the access happens, each of one bit.
    pub holds: Chunks<Term>,
    /// Its address, in 64 bits.
    pub address: Term,
    /// The size of the access in bytes.
    pub bytes: u64,
    /// The value that the access writes, if it is a single value.
    pub stored: Option<Term>,
    /// The value that the access reads, if it is a single value.
    pub loaded: Option<Term>,
    /// For a `cas`, the value that memory must have for the write.
    pub expected: Option<Term>,
    /// The loops around the access by header, outermost first, each with the iteration of the access.
    pub around: Rounds,
    /// The number of earlier arrivals at each barrier of some threads.
    pub arrivals: Vec<(i64, Term)>,
}

/// Loops by header, outermost first, each with an iteration.
pub type Rounds = Vec<(usize, Term)>;

/// The arrival of a thread at a barrier or at its end.
#[derive(Clone, Debug)]
pub struct Arrival {
    pub target: Target,
    pub state: State,
    pub around: Rounds,
}

/// The arrival of a thread at a barrier that need not be for all threads of the CTA.
#[derive(Clone, Debug)]
pub struct BarrierArrival {
    /// The step of the barrier.
    pub step: usize,
    /// The conditions under which the thread arrives.
    pub holds: Chunks<Term>,
    /// The number of earlier arrivals at each such barrier.
    pub arrivals: Vec<(i64, Term)>,
}

/// The arrival of a thread at an instruction at which lanes of a warp wait for each other.
#[derive(Clone, Debug)]
pub struct Together {
    /// The step of the instruction.
    pub step: usize,
    /// The conditions under which the thread arrives.
    pub holds: Chunks<Term>,
    /// The mask of lanes that must take part.
    pub mask: Term,
}

/// The target of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// The barrier in this block.
    Barrier(usize),
    /// The end of the thread.
    End,
}

/// Code that is not followed: its site and the reason.
pub type Open = (InstPlace, String);

/// The result of a walk.
#[derive(Debug, Default)]
pub struct Walked {
    /// The accesses of memory that other threads may access, too.
    pub touches: Vec<AccessEvent>,
    /// The arrivals of the thread at barriers and at its end.
    pub arrivals: Vec<Arrival>,
    /// The arrivals at CTA barriers at which the walk does not end.
    pub barrier_arrivals: Vec<BarrierArrival>,
    /// The arrivals at instructions that synchronize several lanes of a warp.
    pub together: Vec<Together>,
    /// Whether the thread reads a texture.
    pub reads_textures: bool,
}
