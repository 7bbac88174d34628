//! Asynchronous operations that have begun, and what is known of those of a CTA.

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
    shadow::{Info, Record},
    sync::Message,
    tensor_memory::Tensor,
    warp::{Lanes, Wait},
};

/// Where an mbarrier is: the CTA, and the place in its shared memory.
pub type Key = (u32, u64);

/// An mbarrier.
#[derive(Debug)]
pub struct Mbarrier {
    pub count: u64,
    pub pending: u64,
    pub phase: u64,
    pub bytes: i64,
    /// What is released in this phase, and was in the last one.
    pub message: Message,
    pub done: Rc<Message>,
    /// The same for `tcgen05` operations, which relaxed arrivals and waits order, too.
    pub order: Past,
    pub done_order: Rc<Past>,
}

/// Bytes that lie together on both sides.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// `None` is outside of a tensor.
    pub from: Option<Region>,
    pub to: Region,
    pub bytes: u64,
}

/// A copy or a reduction.
#[derive(Debug)]
pub struct Move {
    pub parts: Vec<Part>,
    /// The mbarriers that are told, and how many bytes.
    pub barriers: Vec<(Key, u64)>,
    pub reduces: Option<Rmw>,
    /// Which bytes of every 16 are written.
    pub mask: u16,
    /// What stands for what is outside, and its bytes.
    pub fill: ([u8; 8], usize),
    /// It goes through the generic proxy, with the scope of the cluster if it reduces: `st.async` and `red.async`.
    pub is_generic: bool,
    /// What a load makes of elements.
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
            // Each element is an atomic operation of its own (section 9.7.9.25.4.2).
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

/// What the tensor cores do when it is their turn. The ranks are those of the CTAs that take part.
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

/// What a warp has in flight, and its registers.
#[derive(Default)]
pub struct Multiplies {
    pub started: u32,
    pub committed: Vec<u32>,
    pub done: u32,
    /// By register, the product that writes or reads it, and where.
    pub writes: FxHashMap<Reg, (u32, Pc)>,
    pub reads: FxHashMap<Reg, (u32, Pc)>,
    /// By register, when it was last written by something else, and where.
    pub written: Vec<(u64, Pc)>,
    pub fenced: u64,
}

/// What completes in the order of its start, or of its completion: of a thread, of a warp, or of an mbarrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Chain {
    /// `cp.async` of a thread.
    Copy(u32),
    /// What operations in bulk of a thread read, and what they write.
    BulkRead(u32),
    BulkWrite(u32),
    /// What an mbarrier is told of, in the order of completion.
    Barrier(Key),
    /// `mbarrier.init` of a thread.
    Init(u32),
    /// What `tcgen05.commit` of a thread tracks, and where it starts.
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

    /// The last operation that is complete when so many groups are left.
    pub fn complete(&self, pending: u64) -> Epoch {
        let left = usize::try_from(pending).unwrap_or(usize::MAX).saturating_add(1);
        self.committed.len().checked_sub(left).map_or(0, |index| self.committed[index])
    }
}

/// Those of a CTA.
#[derive(Default)]
pub struct Async {
    pub chains: FxHashMap<Chain, Agent>,
    pub next: u32,
    /// How far each chain has come that is counted when it starts.
    pub epochs: FxHashMap<Chain, Epoch>,
    /// By warp, lanes whose wait for an mbarrier is over without it.
    pub given_up: Vec<Lanes>,
    /// By thread, its last wait for an mbarrier, if it has gone on from that without the end of the phase.
    pub tried: FxHashMap<u32, Pc>,
    /// By thread, `cp.async` and operations in bulk.
    pub copies: FxHashMap<u32, Groups>,
    pub bulk: FxHashMap<u32, Groups>,
    /// By thread, how many of its `mbarrier.init` stand before its last `fence.mbarrier_init`.
    pub initialized: FxHashMap<u32, Epoch>,
    /// By thread, what stands before its last `tcgen05.fence::before_thread_sync`, and what relaxed waits have observed.
    pub before: FxHashMap<u32, Past>,
    pub after: FxHashMap<u32, Past>,
    /// By thread, the start of its last operation that `tcgen05.commit` tracks.
    pub tracked: FxHashMap<u32, Clock>,
    pub tensor: Tensor,
    pub multiplies: Vec<Multiplies>,
}

impl Async {
    pub fn new(threads: u32, multiplies: bool) -> Self {
        let warps = threads.div_ceil(32) as usize;
        let count = if multiplies { warps } else { 0 };
        let multiplies = (0..count).map(|_| Multiplies::default()).collect();
        Self { next: threads, given_up: vec![0; warps], multiplies, ..Self::default() }
    }

    /// The next number of a chain.
    pub fn start(&mut self, chain: Chain) -> Epoch {
        let epoch = self.epochs.entry(chain).or_default();
        *epoch += 1;
        *epoch
    }

    /// How far a chain has come.
    pub fn epoch(&self, chain: Chain) -> Epoch {
        self.epochs.get(&chain).copied().unwrap_or(0)
    }

    /// Whether the wait of a lane is over without what it waits for; that is said once.
    pub fn gives_up(&mut self, thread: u32) -> bool {
        let Some(lanes) = self.given_up.get_mut(thread as usize / 32) else { return false };
        let bit = 1 << (thread % 32);
        let is = *lanes & bit != 0;
        *lanes &= !bit;
        is
    }
}

/// Operations that are performed one behind the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Line {
    /// Those of the tensor cores of a cluster.
    Tensor(u32),
    /// Operations in bulk of a thread of a CTA.
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
    pub what: What,
}

/// What an operation does.
pub enum What {
    /// It moves bytes.
    Move(Box<Move>),
    /// Tensor cores multiply, or tensor memory is copied to.
    Tensor(Box<Work>),
    /// All that a thread has started before is complete: these mbarriers are told.
    Commit(Vec<Key>, Agent, Epoch),
    /// A CTA that has not begun is taken; where that is said.
    Cancel(Vec<(Region, Key)>),
}

/// Those that have begun and not ended.
#[derive(Default)]
pub struct InFlight {
    pub queue: VecDeque<Begun>,
    pub barriers: FxHashMap<Key, Mbarrier>,
    /// By place in global memory, the fences that acquire a tensor map that was made there in this grid.
    pub maps: FxHashMap<(usize, u64), Vec<(Agent, Epoch)>>,
    /// CTAs whose threads can go on that wait for this.
    pub woken: Vec<(u32, Wait)>,
    /// How often all waits were given up since something happened, and when that was.
    pub rounds: u32,
    pub version: u64,
}

/// How often all waits are given up before it counts as a hang. A kernel may stop waiting by itself before.
pub const ROUNDS: u32 = 1024;
/// The same in a trial, of which there are many.
pub const TRIAL_ROUNDS: u32 = 32;

impl InFlight {
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// One of those that may complete next: the first for which `pick` says so, which is asked with how many are left.
    pub fn deliver_one(&mut self, pick: &mut dyn FnMut(usize) -> bool) -> Option<Begun> {
        let mut lines: FxHashSet<Line> = FxHashSet::default();
        let mut free = Vec::new();
        for (index, op) in self.queue.iter().enumerate() {
            if op.line.is_none_or(|line| lines.insert(line)) {
                free.push(index);
                // Others need not be looked at for a choice at random.
                if free.len() == 64 {
                    break;
                }
            }
        }
        let count = free.len();
        let at = free.into_iter().enumerate().find(|(index, _)| pick(count - index))?.1;
        self.queue.remove(at)
    }

    /// Threads of a CTA may go on that wait for something.
    pub fn wake(&mut self, cta: u32, wait: Wait) {
        if !self.woken.contains(&(cta, wait)) {
            self.woken.push((cta, wait));
        }
    }
}

/// Where an address leads. Instructions without a state space take addresses of shared memory, too.
pub fn resolve(space: Space, address: u64) -> Region {
    match region(space, address) {
        Region::Nowhere if space == Space::Generic => region(Space::SharedCluster, address),
        found => found,
    }
}

/// A place so much further on.
pub fn further(place: Region, by: u64) -> Region {
    match place {
        Region::Global(piece, at) => Region::Global(piece, at.wrapping_add(by)),
        Region::Shared(rank, at) => Region::Shared(rank, at.wrapping_add(by)),
        other => other,
    }
}

/// An access of a chain.
pub fn record(agent: Agent, epoch: Epoch, info: Info) -> Record {
    Record { agent, epoch, info }
}
