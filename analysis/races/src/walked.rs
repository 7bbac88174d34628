//! What one thread does, as a walk finds it.

use crate::{chunks::Chunks, state::State};
use ptx_isa::InstPlace;
use ptx_solver::term::Term;

/// An access of one thread.
#[derive(Clone, Debug)]
pub struct Touch {
    /// Which step it is.
    pub step: usize,
    /// What holds where it happens, each of one bit.
    pub holds: Chunks<Term>,
    /// Its address, in 64 bits.
    pub address: Term,
    /// How many bytes it has.
    pub bytes: u64,
    /// What it writes, if that is one value.
    pub stored: Option<Term>,
    /// What it reads, if that is one value.
    pub loaded: Option<Term>,
    /// Of a `cas`, the value that memory must have for it to write.
    pub expected: Option<Term>,
    /// The loops around it, by their headers, from the outermost; and in which round of each it happens.
    pub around: Rounds,
    /// How often the thread has come to each barrier of some threads before.
    pub arrivals: Vec<(i64, Term)>,
}

/// Loops, by their headers, from the outermost; and a round of each.
pub type Rounds = Vec<(usize, Term)>;

/// How a thread comes to a barrier, or to its end.
#[derive(Clone, Debug)]
pub struct Arrival {
    pub target: Target,
    pub state: State,
    pub around: Rounds,
}

/// How a thread comes to a barrier that need not be one of all threads of the CTA.
#[derive(Clone, Debug)]
pub struct Meeting {
    /// Which step it is.
    pub step: usize,
    /// The conditions at that place.
    pub holds: Chunks<Term>,
    /// How often it has come to each such barrier before.
    pub arrivals: Vec<(i64, Term)>,
}

/// How a thread comes to an instruction for which lanes of a warp wait for each other.
#[derive(Clone, Debug)]
pub struct Together {
    /// Which step it is.
    pub step: usize,
    /// The conditions at that place.
    pub holds: Chunks<Term>,
    /// The lanes that are to come.
    pub mask: Term,
}

/// Where a thread comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// The barrier in this block.
    Barrier(usize),
    /// Its end.
    End,
}

/// Something that is not followed: the line, and why.
pub type Open = (InstPlace, String);

/// What a walk found.
#[derive(Debug, Default)]
pub struct Walked {
    /// The accesses of memory that other threads may have.
    pub touches: Vec<Touch>,
    /// How the thread comes to barriers and to its end.
    pub arrivals: Vec<Arrival>,
    /// How it comes to barriers of the CTA at which the walk does not end.
    pub meetings: Vec<Meeting>,
    /// How it comes to instructions of several lanes of a warp.
    pub together: Vec<Together>,
    /// Whether a texture is read.
    pub reads_textures: bool,
}
