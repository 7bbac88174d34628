//! Accesses, and the comparison of two accesses.

use std::rc::Rc;

use ptx_isa::Scope;

use crate::clock::{Agent, Clock, Epoch, Fenced, cta_of};

/// The number of bytes of a cell.
pub const CELL: u64 = 4;

/// The properties of an access in 32 bits: its instruction, and the facts that decide whether it conflicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Info(u32);

/// The number of bits of an instruction's index.
pub const STEP_BITS: u32 = 19;
const MASK_AT: u32 = STEP_BITS;
const SIZE_AT: u32 = MASK_AT + 4;
const STRENGTH_AT: u32 = SIZE_AT + 3;
const ATOMIC: u32 = 1 << (STRENGTH_AT + 3);
const ASYNC: u32 = 1 << (STRENGTH_AT + 4);
const WRITE: u32 = 1 << (STRENGTH_AT + 5);

/// The maximum number of instructions of a program.
pub const MOST_STEPS: usize = 1 << STEP_BITS;

impl Info {
    /// An access by an instruction. `bytes` is the size of the whole operation. A strong access has a scope.
    pub fn new(step: u32, bytes: u64, strong: Option<Scope>, writes: bool) -> Self {
        let size = bytes.max(1).ilog2().min(7);
        let strength = match strong {
            None => 0,
            Some(Scope::Cta) => 1,
            Some(Scope::Cluster) => 2,
            Some(Scope::Gpu) => 3,
            Some(Scope::Sys) => 4,
        };
        Self(
            step & (MOST_STEPS as u32 - 1) | size << SIZE_AT | strength << STRENGTH_AT | if writes { WRITE } else { 0 },
        )
    }

    /// Marks the access as part of an `atom` or a `red`.
    pub fn atomic(self) -> Self {
        Self(self.0 | ATOMIC)
    }

    /// Marks the access as one through the async proxy.
    pub fn asynchronous(self) -> Self {
        Self(self.0 | ASYNC)
    }

    pub fn with_mask(self, mask: u32) -> Self {
        Self(self.0 & !(15 << MASK_AT) | mask << MASK_AT)
    }

    pub fn mask(self) -> u32 {
        self.0 >> MASK_AT & 15
    }

    /// The instruction in the program.
    pub fn step(self) -> u32 {
        self.0 & (MOST_STEPS as u32 - 1)
    }

    pub fn writes(self) -> bool {
        self.0 & WRITE != 0
    }

    /// Whether the access is through the async proxy.
    pub fn is_async(self) -> bool {
        self.0 & ASYNC != 0
    }

    /// Whether the access belongs to an `atom` or a `red`.
    pub fn is_atomic(self) -> bool {
        self.0 & ATOMIC != 0
    }

    /// The scope of a strong access.
    pub fn strong(self) -> Option<Scope> {
        [None, Some(Scope::Cta), Some(Scope::Cluster), Some(Scope::Gpu), Some(Scope::Sys)][self.strength().min(4)]
    }

    pub fn strength(self) -> usize {
        (self.0 >> STRENGTH_AT & 7) as usize
    }

    pub fn size(self) -> u32 {
        self.0 >> SIZE_AT & 7
    }

    /// The size of the operation. The cell may hold only a part of it.
    pub fn bytes(self) -> u64 {
        1 << self.size()
    }

    /// The address at which the operation begins, if this record is the part of it in the cell at address `cell`.
    pub fn start(self, cell: u64) -> u64 {
        (cell + u64::from(self.mask().trailing_zeros() % 4)) & !(self.bytes() - 1)
    }
}

/// An access of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    pub agent: Agent,
    /// The time of the access, by its agent's clock.
    pub epoch: Epoch,
    pub info: Info,
}

/// The number of CTAs of a cluster. CTAs of a cluster have consecutive numbers.
pub type ClusterSize = u32;

/// Whether two agents are within a scope of each other.
pub fn includes(scope: Scope, a: Agent, b: Agent, cluster: ClusterSize) -> bool {
    match scope {
        Scope::Cta => cta_of(a) == cta_of(b),
        Scope::Cluster => cta_of(a) / cluster == cta_of(b) / cluster,
        Scope::Gpu | Scope::Sys => true,
    }
}

impl Record {
    /// The empty slot.
    pub const NONE: Self = Self { agent: u32::MAX, epoch: 0, info: Info(0) };

    pub fn is_none(self) -> bool {
        self.agent == u32::MAX
    }

    /// Whether two overlapping accesses are morally strong (section 8.7). Morally strong accesses do not race.
    pub fn is_morally_strong_with(self, other: Self, cluster: ClusterSize) -> bool {
        let (a, b) = (self.info, other.info);
        let (Some(one), Some(two)) = (a.strong(), b.strong()) else { return false };
        let within = |scope: Scope| includes(scope, self.agent, other.agent, cluster);
        a.size() == b.size() && a.is_async() == b.is_async() && within(one) && within(two)
    }

    /// Whether the access happens before a later access, through the same proxy or with a fence between the proxies.
    pub fn is_before(self, later: CheckedAccess<'_>) -> bool {
        if later.record.info.is_async() && !self.info.is_async() {
            later.clock.has_fenced(later.memory, self.agent, self.epoch)
        } else {
            later.clock.has_seen(self.agent, self.epoch)
        }
    }

    /// Whether every access that races with this access also races with `other`, a later access.
    ///
    /// `is_exact` excludes two further cases. Another thread may observe a strong write, and such an observation does
    /// not order the accesses that precede the write; an atomic operation, however, observes the write that it
    /// continues. And strong accesses of different CTAs are in the scopes of different threads.
    pub fn is_covered_by(self, other: Self, is_exact: bool) -> bool {
        let (a, b) = (self.info, other.info);
        let strength = |info: Info| info.0 >> SIZE_AT & 63;
        // An asynchronous write follows a proxy fence, and the value that it overwrites cannot be observed after it.
        let same_proxy = a.is_async() == b.is_async() || b.writes();
        let is_alike = || cta_of(self.agent) == cta_of(other.agent) && (!b.writes() || b.is_atomic() && a.writes());
        same_proxy && (b.strength() == 0 || strength(a) == strength(b) && (!is_exact || is_alike()))
    }

    /// Whether the access is an earlier read of the same chain of operations. A thread that has observed the later read
    /// has observed this read, too.
    pub fn is_repeated_by(self, other: Self, is_exact: bool) -> bool {
        let reads = !self.info.writes() && !other.info.writes();
        reads && self.agent == other.agent && self.epoch <= other.epoch && self.is_covered_by(other, is_exact)
    }

    /// Whether an atomic operation replaces the write that it continues.
    pub fn is_replaced_by(self, other: Self, cluster: ClusterSize, is_exact: bool) -> bool {
        other.info.is_atomic()
            && self.info.writes()
            && self.is_morally_strong_with(other, cluster)
            && (!is_exact || self.is_covered_by(other, true))
    }
}

/// The accesses that conflict with an access and are not ordered before it.
#[derive(Debug, Default)]
pub struct Conflicts {
    /// The accesses that race with it, each with the address of the cell.
    pub races: Vec<(Record, u64)>,
    /// The accesses that are morally strong with it: another schedule may perform them in the other order.
    pub contended: Vec<Record>,
    /// Whether it may race with a forgotten access.
    pub may_race: bool,
    /// The accesses of the current cell that are forgotten.
    pub forgotten: Vec<Record>,
    /// By instruction, whether it is a strong access whose results count: see [`Self::hides`].
    pub counts: Rc<[bool]>,
}

/// An access to check.
#[derive(Clone, Copy, Debug)]
pub struct CheckedAccess<'c> {
    /// The clock of its agent; for an asynchronous operation, the clock at its start.
    pub clock: &'c Clock,
    pub record: Record,
    /// The kind of proxy fence that applies to its memory.
    pub memory: Fenced,
    /// Whether the access belongs to an operation that completes by itself. Observing such an operation does not imply
    /// observing the accesses before it.
    pub is_operation: bool,
    /// The number of CTAs in a cluster.
    pub cluster: ClusterSize,
    /// Whether it writes the value that is already there.
    pub is_same: bool,
    /// The clock before the access acquired the message that it read. Without the message, the writes that it acquires
    /// are not ordered before it.
    pub before: Option<&'c Clock>,
}

impl Conflicts {
    /// Compares an access with an earlier one of the same bytes. Returns whether they race.
    #[inline(always)]
    pub fn compare(&mut self, old: Record, index: u64, access: CheckedAccess<'_>) -> bool {
        let new = access.record;
        let conflicts = new.info.writes() || old.info.writes();
        if !conflicts || old.is_before(access) {
            self.compare_strong(old, access);
            return false;
        }
        let races = !old.is_morally_strong_with(new, access.cluster);
        match races {
            true => self.races.push((old, index * CELL)),
            false => self.contended.push(old),
        }
        races
    }

    /// Records a conflicting strong access that only the acquire of a later access orders before it.
    #[inline(always)]
    pub fn compare_strong(&mut self, old: Record, access: CheckedAccess<'_>) {
        let Some(before) = access.before else { return };
        let conflicts = access.record.info.writes() || old.info.writes();
        if !old.is_none() && conflicts && !before.has_seen(old.agent, old.epoch) {
            self.contended.push(old);
        }
    }

    /// Whether an access hides the results of an earlier strong access by another instruction: an access of another
    /// thread that is not ordered with both may change these results.
    #[inline(always)]
    pub fn hides(&self, old: Record, new: Record) -> bool {
        let step = old.info.step();
        old.info.strength() > 0 && step != new.info.step() && self.counts.get(step as usize) == Some(&true)
    }

    /// Forgets an access because of a later one, unless every access that races with it races with the later one, too.
    #[inline(always)]
    pub fn forget(&mut self, old: Record, access: CheckedAccess<'_>) {
        let is_covered = old.is_before(access) && !access.is_operation && old.is_covered_by(access.record, true);
        if !old.is_none() && (!is_covered || self.hides(old, access.record)) {
            self.forgotten.push(old);
        }
    }
}

impl CheckedAccess<'_> {
    /// Whether every access that races with an earlier access also races with this access.
    pub fn covers(&self, old: Record, is_exact: bool) -> bool {
        !(is_exact && self.is_operation) && old.is_covered_by(self.record, is_exact)
    }

    /// Whether this access replaces the write that it continues.
    pub fn replaces(&self, old: Record, is_exact: bool) -> bool {
        !(is_exact && self.is_operation) && old.is_replaced_by(self.record, self.cluster, is_exact)
    }
}
