//! Asynchronous operations that have begun, and the asynchronous state of a CTA.

use std::{collections::VecDeque, rc::Rc};

use ptx_isa::{Scope, Space, arithmetic::Rmw};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    clock::{Agent, Clock, Epoch, Past},
    code::{Pc, Reg},
    matrix::{
        map::TensorElement,
        shared::SharedMatrix,
        tcgen05::{Output, TensorMma},
        tensor::Copy,
    },
    memory::{Region, region},
    phases::Phases,
    shadow::{Info, Record},
    sync::Message,
    tensor_memory::Tensor,
    warp::{Lanes, Wait},
};

/// The address of an mbarrier: its CTA, and the offset in the CTA's shared memory.
pub type Key = (u32, u64);

/// The state of an mbarrier.
#[derive(Debug)]
pub struct Mbarrier {
    pub count: u64,
    pub pending: u64,
    pub phase: u64,
    pub bytes: i64,
    /// The messages that are released in this phase, and that were released in the last phase.
    pub message: Message,
    pub done: Rc<Message>,
    /// The same for `tcgen05` operations, which relaxed arrivals and waits also order.
    pub order: Past,
    pub done_order: Rc<Past>,
    /// The arrivals and waits of the phases.
    pub phases: Phases,
}

/// A range of bytes that is contiguous in the source and in the destination.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// `None` if the source is outside of a tensor.
    pub from: Option<Region>,
    pub to: Region,
    pub bytes: u64,
}

/// A copy or a reduction.
#[derive(Debug)]
pub struct Move {
    pub parts: Vec<Part>,
    /// The mbarriers whose transaction counts the operation decreases, and by how many bytes.
    pub barriers: Vec<(Key, u64)>,
    pub reduces: Option<Rmw>,
    /// The set of the bytes of every 16 that are written.
    pub mask: u16,
    /// The fill value for elements outside of the tensor, and its size in bytes.
    pub fill: ([u8; 8], usize),
    /// Whether it goes through the generic proxy, with the scope of the cluster if it reduces: `st.async` and
    /// `red.async`.
    pub is_generic: bool,
    /// The conversion of the elements that a load copies.
    pub loaded: Option<TensorElement>,
}

impl Default for Move {
    fn default() -> Self {
        let (parts, barriers) = (Vec::new(), Vec::new());
        Self { parts, barriers, reduces: None, mask: u16::MAX, fill: ([0; 8], 1), is_generic: false, loaded: None }
    }
}

impl Move {
    /// The access of the destination.
    pub fn written(&self, pc: u32) -> Info {
        let info = match self.reduces {
            // Each element is a separate atomic operation (section 9.7.9.25.4.2).
            Some(rmw) => {
                let bytes = u64::from(rmw.ty.element().unwrap_or(rmw.ty).bits() / 8);
                let scope = if self.is_generic { Scope::Cluster } else { Scope::Gpu };
                Info::new(pc, bytes, Some(scope), true).atomic()
            }
            None => Info::new(pc, 16, None, true),
        };
        if self.is_generic { info } else { info.asynchronous() }
    }
}

/// An operation in the queue of the tensor cores. `ranks` are the ranks of the CTAs that take part.
pub enum Work {
    Multiply { mma: TensorMma, d: u32, a: Matrix, b: u64, output: Output, ranks: Vec<u32> },
    Copy { copy: Copy, to: u32, source: SharedMatrix, ranks: Vec<u32> },
    Shift { at: u32, ranks: Vec<u32> },
}

/// A matrix in shared memory, by its descriptor, or in tensor memory.
#[derive(Clone, Copy)]
pub enum Matrix {
    Shared(u64),
    Tensor(u32),
}

/// The `wgmma` operations of a warp, and their registers.
#[derive(Default)]
pub struct Multiplies {
    pub started: u32,
    pub committed: Vec<u32>,
    pub done: u32,
    /// By register, the product that writes or reads it, and the instruction.
    pub writes: FxHashMap<Reg, (u32, Pc)>,
    pub reads: FxHashMap<Reg, (u32, Pc)>,
    /// By register, the time and the instruction of its last write by another instruction.
    pub written: Vec<(u64, Pc)>,
    pub fenced: u64,
}

/// A chain of operations that complete in the order of their start, or whose completions are ordered: of a thread, of a
/// warp, or of an mbarrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Chain {
    /// `cp.async` of a thread.
    Copy(u32),
    /// The reads and the writes of bulk operations of a thread.
    BulkRead(u32),
    BulkWrite(u32),
    /// The completions that an mbarrier tracks, in their order.
    Barrier(Key),
    /// `mbarrier.init` of a thread.
    Init(u32),
    /// The operations that `tcgen05.commit` of a thread tracks, and their starts.
    Tensor(u32),
    Issue(u32),
    /// `tcgen05.ld` and `.st` of a warp, and its allocations.
    TensorLoad(u32),
    TensorStore(u32),
    Allocation(u32),
    /// `wgmma` of a warpgroup.
    Wgmma(u32),
}

/// Operations that complete in groups, by their numbers from 1.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    pub started: Epoch,
    pub committed: Vec<Epoch>,
}

impl Groups {
    pub fn start(&mut self) -> Epoch {
        self.started += 1;
        self.started
    }

    pub fn commit(&mut self) {
        self.committed.push(self.started);
    }

    /// The last operation that is complete when only `pending` groups are incomplete.
    pub fn complete(&self, pending: u64) -> Epoch {
        let left = usize::try_from(pending).unwrap_or(usize::MAX).saturating_add(1);
        self.committed.len().checked_sub(left).map_or(0, |index| self.committed[index])
    }
}

/// A wait for an mbarrier whose answer was no although it may be yes.
#[derive(Clone)]
pub struct Refused {
    pub key: Key,
    pub parity: Option<u64>,
    pub pc: Pc,
    pub clock: Clock,
}

/// The asynchronous state of a CTA.
#[derive(Default)]
pub struct Async {
    pub chains: FxHashMap<Chain, Agent>,
    pub next: u32,
    /// The current epoch of each chain that is counted at the start of its operations.
    pub epochs: FxHashMap<Chain, Epoch>,
    /// By warp, the lanes whose wait for an mbarrier ended before the phase was complete.
    pub given_up: Vec<Lanes>,
    /// By thread, its last wait for an mbarrier, if the thread continued before the end of the phase.
    pub tried: FxHashMap<u32, Pc>,
    /// By thread, whether it has waited for an mbarrier, and whether it has accessed memory after that.
    pub waits: Vec<bool>,
    pub works: Vec<bool>,
    /// By thread, the wait for a phase that has not ended: the mbarrier, the parity and the instruction.
    pub blocked: FxHashMap<u32, (Key, u64, Pc)>,
    /// By thread, the wait whose answer was no although it may be yes: the mbarrier, the parity, the instruction, and
    /// the clock.
    pub refused: FxHashMap<u32, Refused>,
    /// By thread, the groups of `cp.async` and of bulk operations.
    pub copies: FxHashMap<u32, Groups>,
    pub bulk: FxHashMap<u32, Groups>,
    /// By thread, the number of its `mbarrier.init` before its last `fence.mbarrier_init`.
    pub initialized: FxHashMap<u32, Epoch>,
    /// By thread, the past at its last `tcgen05.fence::before_thread_sync`, and the past that relaxed waits have
    /// observed.
    pub before: FxHashMap<u32, Past>,
    pub after: FxHashMap<u32, Past>,
    /// By thread, the clock at the start of its last operation that `tcgen05.commit` tracks.
    pub tracked: FxHashMap<u32, Clock>,
    pub tensor: Tensor,
    pub multiplies: Vec<Multiplies>,
}

impl Async {
    /// Records that a thread accesses memory.
    pub fn work(&mut self, thread: u32) {
        self.works[thread as usize] |= self.waits[thread as usize];
    }

    pub fn new(threads: u32, multiplies: bool) -> Self {
        let warps = threads.div_ceil(32) as usize;
        let count = if multiplies { warps } else { 0 };
        let multiplies = (0..count).map(|_| Multiplies::default()).collect();
        Self {
            next: threads,
            given_up: vec![0; warps],
            waits: vec![false; threads as usize],
            works: vec![false; threads as usize],
            multiplies,
            ..Self::default()
        }
    }

    /// The next number of a chain.
    pub fn start(&mut self, chain: Chain) -> Epoch {
        let epoch = self.epochs.entry(chain).or_default();
        *epoch += 1;
        *epoch
    }

    /// The current epoch of a chain.
    pub fn epoch(&self, chain: Chain) -> Epoch {
        self.epochs.get(&chain).copied().unwrap_or(0)
    }

    /// Whether a lane's wait ended before the event that it waits for. The call resets the answer.
    pub fn gives_up(&mut self, thread: u32) -> bool {
        let Some(lanes) = self.given_up.get_mut(thread as usize / 32) else { return false };
        let bit = 1 << (thread % 32);
        let is = *lanes & bit != 0;
        *lanes &= !bit;
        is
    }
}

/// A queue of operations that are performed one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Line {
    /// The operations of the tensor cores of a cluster.
    Tensor(u32),
    /// The bulk operations of a thread of a CTA.
    Bulk(u32, u32),
}

/// An operation that has begun.
pub struct Begun {
    pub cta: u32,
    pub thread: u32,
    pub pc: Pc,
    /// The clock at its start.
    pub start: Clock,
    pub line: Option<Line>,
    pub effect: Effect,
}

/// The effect of an operation.
pub enum Effect {
    /// A copy or a reduction of bytes.
    Move(Box<Move>),
    /// A product of the tensor cores, or a copy to or shift of tensor memory.
    Tensor(Box<Work>),
    /// A commit: all operations that the thread started before it are complete, and these mbarriers get an arrival. The
    /// clock is the clock of the thread at the commit.
    Commit(Vec<Key>, Agent, Epoch, Box<Clock>),
    /// An attempt to cancel a CTA that has not begun, and the places that receive the answer.
    Cancel(Vec<(Region, Key)>),
}

/// The operations that have begun and not ended.
#[derive(Default)]
pub struct InFlight {
    pub queue: VecDeque<Begun>,
    pub barriers: FxHashMap<Key, Mbarrier>,
    /// By address in global memory, the fences that acquire a tensor map that was made there in this grid.
    pub maps: FxHashMap<(usize, u64), Vec<(Agent, Epoch)>>,
    /// The CTAs whose threads can continue that wait for this event.
    pub woken: Vec<(u32, Wait)>,
    /// The number of times that all waits were given up since the last change, and the version at that change.
    pub rounds: u32,
    pub version: u64,
}

/// The number of times that all waits are given up before the run counts as a hang. A kernel may stop waiting by itself
/// earlier.
pub const ROUNDS: u32 = 1024;
/// The same in a trial run. Trials are shorter because there are many.
pub const TRIAL_ROUNDS: u32 = 32;

impl InFlight {
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Takes an operation that may complete next: the first for which `pick` returns true. The argument of `pick` is
    /// the number of remaining candidates.
    pub fn deliver_one(&mut self, pick: &mut dyn FnMut(usize) -> bool) -> Option<Begun> {
        let mut lines: FxHashSet<Line> = FxHashSet::default();
        let mut free = Vec::new();
        for (index, op) in self.queue.iter().enumerate() {
            if op.line.is_none_or(|line| lines.insert(line)) {
                free.push(index);
                // A random choice does not need more candidates.
                if free.len() == 64 {
                    break;
                }
            }
        }
        let count = free.len();
        let at = free.into_iter().enumerate().find(|(index, _)| pick(count - index))?.1;
        self.queue.remove(at)
    }

    /// Lets the threads of a CTA continue that wait for an event.
    pub fn wake(&mut self, cta: u32, wait: Wait) {
        if !self.woken.contains(&(cta, wait)) {
            self.woken.push((cta, wait));
        }
    }
}

/// The memory at an address. Instructions without a state space accept addresses of shared memory, too.
pub fn resolve(space: Space, address: u64) -> Region {
    match region(space, address) {
        Region::Nowhere if space == Space::Generic => region(Space::SharedCluster, address),
        found => found,
    }
}

/// The place `by` bytes after a place.
pub fn further(place: Region, by: u64) -> Region {
    match place {
        Region::Global(piece, at) => Region::Global(piece, at.wrapping_add(by)),
        Region::Shared(rank, at) => Region::Shared(rank, at.wrapping_add(by)),
        other => other,
    }
}

pub fn record(agent: Agent, epoch: Epoch, info: Info) -> Record {
    Record { agent, epoch, info }
}
