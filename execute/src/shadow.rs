//! The last accesses of every byte, and which of them nothing orders.
//!
//! A cell has the accesses of four bytes: in place, the last write and the last read; where more must be kept (several threads
//! read, bytes are written apart, strong accesses meet weak ones), a list of its own. An access is forgotten only where a later
//! one races with whatever it would race with, so that no race is lost; see [`Record::is_covered_by`]. Large launches, and
//! small ones that touch much, have short lists and forget more, and races may be lost there, but none is made up.

use ptx_isa::Scope;

use crate::clock::{Agent, Clock, Epoch, cta_of};

/// How many bytes a cell has.
pub const CELL: u64 = 4;

/// What an access is, in 32 bits: its step, and what it takes to tell whether it conflicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Info(u32);

/// How many bits a step has.
pub const STEP_BITS: u32 = 19;
const MASK_AT: u32 = STEP_BITS;
const SIZE_AT: u32 = MASK_AT + 4;
const STRENGTH_AT: u32 = SIZE_AT + 3;
const ATOMIC: u32 = 1 << (STRENGTH_AT + 3);
const ASYNC: u32 = 1 << (STRENGTH_AT + 4);
const WRITE: u32 = 1 << (STRENGTH_AT + 5);

/// How many steps a program may have.
pub const MOST_STEPS: usize = 1 << STEP_BITS;

impl Info {
    /// An access of a step, of so many bytes as one operation. A strong one has a scope.
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

    /// The same, of `atom` or `red`.
    pub fn atomic(self) -> Self {
        Self(self.0 | ATOMIC)
    }

    /// The same, through the async proxy.
    pub fn asynchronous(self) -> Self {
        Self(self.0 | ASYNC)
    }

    fn with_mask(self, mask: u32) -> Self {
        Self(self.0 & !(15 << MASK_AT) | mask << MASK_AT)
    }

    fn mask(self) -> u32 {
        self.0 >> MASK_AT & 15
    }

    /// The step of the program.
    pub fn step(self) -> u32 {
        self.0 & (MOST_STEPS as u32 - 1)
    }

    /// Whether it writes.
    pub fn writes(self) -> bool {
        self.0 & WRITE != 0
    }

    /// Whether it is through the async proxy.
    pub fn is_async(self) -> bool {
        self.0 & ASYNC != 0
    }

    /// Whether it is one of `atom` or `red`.
    pub fn is_atomic(self) -> bool {
        self.0 & ATOMIC != 0
    }

    /// The scope, if it is strong.
    pub fn strong(self) -> Option<Scope> {
        [None, Some(Scope::Cta), Some(Scope::Cluster), Some(Scope::Gpu), Some(Scope::Sys)][self.strength().min(4)]
    }

    fn strength(self) -> usize {
        (self.0 >> STRENGTH_AT & 7) as usize
    }

    fn size(self) -> u32 {
        self.0 >> SIZE_AT & 7
    }

    /// How many bytes the operation has, of which the cell has some.
    pub fn bytes(self) -> u64 {
        1 << self.size()
    }

    /// Where the operation begins, if this is the part of it in the cell at an address.
    pub fn start(self, cell: u64) -> u64 {
        (cell + u64::from(self.mask().trailing_zeros() % 4)) & !(self.bytes() - 1)
    }
}

/// An access of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Whose it is.
    pub agent: Agent,
    /// When it is done, by its agent's clock.
    pub epoch: Epoch,
    /// What it is.
    pub info: Info,
}

/// Which CTAs are in one cluster: so many follow each other.
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
    /// No access.
    pub const NONE: Self = Self { agent: u32::MAX, epoch: 0, info: Info(0) };

    fn is_none(self) -> bool {
        self.agent == u32::MAX
    }

    /// Whether the two are morally strong where they overlap (section 8.7): then they do not race.
    pub fn is_morally_strong_with(self, other: Self, cluster: ClusterSize) -> bool {
        let (a, b) = (self.info, other.info);
        let (Some(one), Some(two)) = (a.strong(), b.strong()) else { return false };
        let within = |scope: Scope| includes(scope, self.agent, other.agent, cluster);
        a.size() == b.size() && a.is_async() == b.is_async() && within(one) && within(two)
    }

    /// Whether the access comes before what a clock does next, through the same proxy or with a fence between the proxies.
    fn is_before(self, clock: &Clock, later: Info) -> bool {
        if later.is_async() && !self.info.is_async() {
            clock.has_fenced(self.agent, self.epoch)
        } else {
            clock.has_seen(self.agent, self.epoch)
        }
    }

    /// Whether whatever races with this one races with the other one, too, which comes behind it.
    ///
    /// To be exact: a strong write may be observed by others, which does not order what is in front of it; but an atomic operation
    /// observes the write that it continues. And strong accesses of different CTAs are in the scopes of different threads.
    fn is_covered_by(self, other: Self, is_exact: bool) -> bool {
        let (a, b) = (self.info, other.info);
        let strength = |info: Info| info.0 >> SIZE_AT & 63;
        // An asynchronous write comes behind a proxy fence, and what it overwrites cannot be seen behind it.
        let same_proxy = a.is_async() == b.is_async() || b.writes();
        let is_alike = || cta_of(self.agent) == cta_of(other.agent) && (!b.writes() || b.is_atomic() && a.writes());
        same_proxy && (b.strength() == 0 || strength(a) == strength(b) && (!is_exact || is_alike()))
    }

    /// Whether it is an earlier read of the same chain of operations: who has seen the later one has seen it, too.
    fn is_repeated_by(self, other: Self, is_exact: bool) -> bool {
        let reads = !self.info.writes() && !other.info.writes();
        reads && self.agent == other.agent && self.epoch <= other.epoch && self.is_covered_by(other, is_exact)
    }

    /// Whether an atomic operation takes the place of the write that it continues.
    fn is_replaced_by(self, other: Self, cluster: ClusterSize, is_exact: bool) -> bool {
        other.info.is_atomic()
            && self.info.writes()
            && self.is_morally_strong_with(other, cluster)
            && (!is_exact || self.is_covered_by(other, true))
    }
}

#[derive(Clone, Copy, Debug)]
struct Cell {
    write: Record,
    read: Record,
}

/// The agent of a write of which the epoch is the number of a list.
const LIST: Agent = u32::MAX - 1;

const EMPTY: Cell = Cell { write: Record::NONE, read: Record::NONE };

/// How many cells are made at once.
const PAGE: usize = 512;

/// The cells of a piece of memory. Those of what is touched are made, a page at a time.
#[derive(Debug)]
pub struct Shadow {
    pages: Vec<Option<Box<[Cell; PAGE]>>>,
    lists: Lists,
    /// The list that is looked at.
    list: Vec<Record>,
    /// How many accesses a list may have.
    bound: usize,
    /// Whether no race is lost, however odd, as long as lists are not full.
    is_exact: bool,
}

/// How many accesses a short list has, and how many short lists are made at once.
const SHORT: usize = 4;
const BLOCK: usize = 64;
/// The bit that a long list has in its number.
const LONG: u32 = 1 << 31;
/// How many long lists there may be before no list becomes long any more.
const MOST_LONG: usize = 1 << 14;

/// Lists of accesses, by their numbers. Nearly all are short, and these stand beside each other.
#[derive(Debug, Default)]
struct Lists {
    /// What a short list lacks is [`Record::NONE`] at its end.
    short: Vec<Box<[[Record; SHORT]; BLOCK]>>,
    /// How many short lists have been made, and the numbers of those that no cell has.
    made: u32,
    free: Vec<u32>,
    long: Vec<Vec<Record>>,
    free_long: Vec<u32>,
}

impl Lists {
    fn get(&self, number: u32) -> &[Record] {
        if number & LONG != 0 {
            return &self.long[(number & !LONG) as usize];
        }
        let list = &self.short[number as usize / BLOCK][number as usize % BLOCK];
        let length = list.iter().position(|record| record.is_none()).unwrap_or(SHORT);
        &list[..length]
    }

    /// A list has these accesses now; its number, which may be another one.
    fn put(&mut self, number: Option<u32>, records: &[Record]) -> u32 {
        let is_long = records.len() > SHORT;
        let number = match number.filter(|number| (number & LONG != 0) == is_long) {
            Some(number) => number,
            None => {
                number.into_iter().for_each(|number| self.give_back(number));
                if is_long { self.make_long() } else { self.make() }
            }
        };
        if is_long {
            let list = &mut self.long[(number & !LONG) as usize];
            list.clear();
            list.extend_from_slice(records);
        } else {
            let list = &mut self.short[number as usize / BLOCK][number as usize % BLOCK];
            list[..records.len()].copy_from_slice(records);
            list[records.len()..].fill(Record::NONE);
        }
        number
    }

    fn make(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            let number = self.made;
            self.made += 1;
            if (number as usize).is_multiple_of(BLOCK) {
                self.short.push(Box::new([[Record::NONE; SHORT]; BLOCK]));
            }
            number
        })
    }

    fn make_long(&mut self) -> u32 {
        self.free_long.pop().unwrap_or_else(|| {
            self.long.push(Vec::new());
            self.long.len() as u32 - 1 | LONG
        })
    }

    fn give_back(&mut self, number: u32) {
        if number & LONG == 0 {
            self.free.push(number);
        } else {
            self.long[(number & !LONG) as usize] = Vec::new();
            self.free_long.push(number);
        }
    }
}

/// What is told of an access that nothing orders: the earlier one, and the address of the cell.
pub type Races = Vec<(Record, u64)>;

/// An access that is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Access<'c> {
    /// The clock of its agent, or at the start of an asynchronous operation.
    pub clock: &'c Clock,
    /// The access itself.
    pub record: Record,
    /// How many CTAs are in a cluster.
    pub cluster: ClusterSize,
}

impl Shadow {
    /// No accesses, and lists of so many.
    pub fn new(bound: usize) -> Self {
        let lists = Lists::default();
        Self { pages: Vec::new(), lists, list: Vec::new(), bound, is_exact: bound > SHORT }
    }

    /// Lists have so many accesses from now on.
    pub fn set_bound(&mut self, bound: usize) {
        (self.bound, self.is_exact) = (bound, bound > SHORT);
    }

    /// An access of bytes from an offset on: which earlier ones conflict with it, without an order.
    pub fn touch(&mut self, at: u64, bytes: u64, access: Access<'_>, races: &mut Races) {
        let (first, end) = (at / CELL, (at + bytes).div_ceil(CELL));
        let pages = (end as usize).div_ceil(PAGE);
        if self.pages.len() < pages {
            self.pages.resize_with(pages, || None);
        }
        for index in first..end {
            let low = at.saturating_sub(index * CELL).min(CELL);
            let high = (at + bytes - index * CELL).min(CELL);
            let mask = (1u32 << high) - (1 << low);
            let record = Record { info: access.record.info.with_mask(mask), ..access.record };
            self.touch_cell(index, Access { record, ..access }, races);
        }
    }

    fn touch_cell(&mut self, index: u64, access: Access<'_>, races: &mut Races) {
        let page = self.pages[index as usize / PAGE].get_or_insert_with(|| Box::new([EMPTY; PAGE]));
        let cell = &mut page[index as usize % PAGE];
        let (new, clock, is_exact) = (access.record, access.clock, self.is_exact);
        let number = if cell.write.agent == LIST {
            let list = self.lists.get(cell.write.epoch);
            if !is_exact && list.len() >= self.bound && !new.info.writes() && is_represented(list, access) {
                return race_with_writes(list, index, access, races);
            }
            self.list.clear();
            self.list.extend_from_slice(list);
            Some(cell.write.epoch)
        } else {
            let Cell { write, read } = cell;
            let same = |old: &Record| old.info.mask() == new.info.mask();
            let after = |old: &Record| old.is_before(clock, new.info);
            if new.info.writes() {
                let replaces = |old: &Record| same(old) && old.is_replaced_by(new, access.cluster, is_exact);
                let goes = |old: &Record| old.is_none() || same(old) && after(old) && old.is_covered_by(new, is_exact);
                if (goes(write) || replaces(write)) && goes(read) {
                    (*write, *read) = (new, Record::NONE);
                    return;
                }
            } else if (write.is_none() || after(write))
                && (read.is_none()
                    || same(read)
                        && (after(read) && read.is_covered_by(new, is_exact) || read.is_repeated_by(new, is_exact)))
            {
                *read = new;
                return;
            }
            self.list.clear();
            self.list.extend([*write, *read].iter().filter(|record| !record.is_none()));
            None
        };
        touch_list(&mut self.list, (self.bound, is_exact), index, access, races);
        match in_place(&self.list) {
            Some(placed) => {
                *cell = placed;
                number.into_iter().for_each(|number| self.lists.give_back(number));
            }
            None => {
                let number = self.lists.put(number, &self.list);
                (cell.write.agent, cell.write.epoch) = (LIST, number);
            }
        }
        if self.lists.long.len() > MOST_LONG {
            self.set_bound(SHORT);
        }
    }

    /// Whether the last write at an offset may have no order with what a clock does next.
    pub fn meets(&self, at: u64, clock: &Clock) -> bool {
        let index = (at / CELL) as usize;
        let Some(Some(page)) = self.pages.get(index / PAGE) else { return false };
        let write = &page[index % PAGE].write;
        !write.is_none() && (write.agent == LIST || !clock.has_seen(write.agent, write.epoch))
    }
}

/// The cell that has what is in a list, if it can.
fn in_place(list: &[Record]) -> Option<Cell> {
    match *list {
        [one] if one.info.writes() => Some(Cell { write: one, read: Record::NONE }),
        [one] => Some(Cell { write: Record::NONE, read: one }),
        [a, b] if a.info.writes() && !b.info.writes() => Some(Cell { write: a, read: b }),
        _ => None,
    }
}

/// Whether a read of the same warp stands in a full list for another one: neither comes before the other.
fn is_represented(list: &[Record], access: Access<'_>) -> bool {
    let new = access.record;
    list.iter().any(|old| {
        let alike = old.agent / 32 == new.agent / 32 && old.info.mask() == new.info.mask() && !old.info.writes();
        alike && old.info.strength() == new.info.strength() && !old.is_before(access.clock, new.info)
    })
}

/// The writes of a list with which a read has no order.
fn race_with_writes(list: &[Record], index: u64, access: Access<'_>, races: &mut Races) {
    let new = access.record;
    let conflicts = |old: &&Record| {
        let overlaps = old.info.writes() && old.info.mask() & new.info.mask() != 0;
        overlaps && !old.is_before(access.clock, new.info) && !old.is_morally_strong_with(new, access.cluster)
    };
    races.extend(list.iter().filter(conflicts).map(|old| (*old, index * CELL)));
}

fn touch_list(
    list: &mut Vec<Record>,
    (bound, is_exact): (usize, bool),
    index: u64,
    access: Access<'_>,
    races: &mut Races,
) {
    let (new, clock) = (access.record, access.clock);
    let mask = new.info.mask();
    let last = list.iter().rev().find(|old| old.info.writes() && old.info.mask() & mask != 0).copied();
    list.retain_mut(|old| {
        let overlap = old.info.mask() & mask;
        if overlap == 0 {
            return true;
        }
        let conflicts = new.info.writes() || old.info.writes();
        let is_before = old.is_before(clock, new.info);
        if conflicts && !is_before && !old.is_morally_strong_with(new, access.cluster) {
            races.push((*old, index * CELL));
        }
        // An access that raced is told once.
        let is_known = !is_exact
            && conflicts
            && !is_before
            && !old.is_morally_strong_with(new, access.cluster)
            && new.info.writes();
        let is_read_behind_write = old.info.writes() && !new.info.writes();
        // An atomic operation continues the last write alone.
        let is_continued = !is_exact || !new.info.is_atomic() || last == Some(*old);
        let replaces = is_continued && old.is_replaced_by(new, access.cluster, is_exact);
        let is_covered = is_continued && is_before && old.is_covered_by(new, is_exact);
        let goes = !is_read_behind_write && (is_known || replaces || is_covered || old.is_repeated_by(new, is_exact));
        if goes {
            old.info = old.info.with_mask(old.info.mask() & !mask);
        }
        old.info.mask() != 0
    });
    if list.len() >= bound {
        // Others of the same warp, then of the same CTA, say the same more often than strangers do.
        let near = |old: &Record| {
            (
                old.info.writes() == new.info.writes(),
                cta_of(old.agent) == cta_of(new.agent),
                old.agent / 32 == new.agent / 32,
            )
        };
        let victim = (0..list.len()).max_by_key(|place| near(&list[*place])).unwrap_or(0);
        list.remove(victim);
    }
    list.push(new);
}
