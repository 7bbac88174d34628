//! Shadow memory: the last accesses of every byte, and the detection of unordered conflicting accesses.
//!
//! A cell holds the accesses of four bytes. It stores the last write and the last read in place. If more accesses must
//! be kept (several threads read, bytes are written separately, strong accesses mix with weak accesses), the cell has a
//! list. An access is forgotten only if a later access races with every access that would race with it, so that no race
//! is lost; see [`Record::is_covered_by`]. Large launches, and small launches that access much memory, have short lists
//! and forget more. Races may be lost there, but no race is invented. A crowd remembers the threads of forgotten
//! accesses, so that a later access that may race with one of them is known: see [`crowd`].

mod crowd;
mod record;

use self::crowd::Crowds;
pub use self::record::{CELL, CheckedAccess, ClusterSize, Conflicts, Info, MOST_STEPS, Record, STEP_BITS};
use crate::clock::{Agent, Clock, cta_of};

#[derive(Clone, Copy, Debug)]
struct Cell {
    write: Record,
    read: Record,
}

/// The agent of a pseudo-write, whose epoch is the number of a list.
const LIST: Agent = u32::MAX - 1;

const EMPTY: Cell = Cell { write: Record::NONE, read: Record::NONE };

/// The number of cells that are allocated at once.
const PAGE: usize = 512;

/// The cells of a piece of memory. The cells of accessed memory are allocated, a page at a time.
#[derive(Debug)]
pub struct Shadow {
    pages: Vec<Option<Box<[Cell; PAGE]>>>,
    lists: Lists,
    /// The maximum number of accesses of a list.
    bound: usize,
    /// Whether every race is found, even in rare cases, as long as lists are not full.
    is_exact: bool,
    crowds: Crowds,
}

/// The number of accesses of a short list.
const SHORT: usize = 4;
/// The bit that marks the number of a long list.
const LONG: u32 = 1 << 31;
/// The maximum number of long lists. Beyond it, no further list becomes long.
const MOST_LONG: usize = 1 << 14;

/// Allocates a page without accesses. It is a separate function because the page is on the stack for a moment, and a
/// large stack frame would slow down every call.
#[cold]
#[inline(never)]
fn page() -> Box<[Cell; PAGE]> {
    Box::new([EMPTY; PAGE])
}

/// A short list. Its unused slots, at the end, are [`Record::NONE`].
type Short = [Record; SHORT];

/// Lists of accesses, by their numbers. Nearly all are short, and short lists are stored contiguously.
#[derive(Debug, Default)]
struct Lists {
    short: Vec<Short>,
    /// The numbers of short lists that no cell uses.
    free: Vec<u32>,
    long: Vec<Vec<Record>>,
    free_long: Vec<u32>,
}

impl Lists {
    fn short(&mut self, number: u32) -> &mut Short {
        &mut self.short[number as usize]
    }

    fn long(&mut self, number: u32) -> &mut Vec<Record> {
        &mut self.long[(number & !LONG) as usize]
    }

    /// Adds an access to a list. Returns the number of the list if it becomes another list.
    fn touch(
        &mut self,
        number: u32,
        how: (usize, bool),
        index: u64,
        access: CheckedAccess<'_>,
        conflicts: &mut Conflicts,
    ) -> Option<u32> {
        let (new, (_, is_exact)) = (access.record, how);
        if number & LONG != 0 {
            let list = self.long(number);
            let left = sift(list, how, index, access, conflicts);
            list.truncate(left);
            list.push(new);
            return None;
        }
        let list = self.short(number);
        let is_full = !is_exact && !list[SHORT - 1].is_none();
        if is_full && !new.info.writes() && is_represented(list, access) {
            race_with_writes(list, index, access, conflicts);
            conflicts.forgotten.push(new);
            return None;
        }
        let length = length(list);
        let left = sift(&mut list[..length], how, index, access, conflicts);
        if let Some(end) = list.get_mut(left) {
            *end = new;
            list[left + 1..].fill(Record::NONE);
            return None;
        }
        let long = list.iter().copied().chain([new]).collect();
        self.give_back(number);
        Some(self.make_long(long))
    }

    /// The cell that holds the accesses of a list in place, if they fit.
    fn in_place(&mut self, number: u32) -> Option<Cell> {
        if number & LONG != 0 {
            return in_place(self.long(number));
        }
        let list = self.short(number);
        if list[2].is_none() { in_place(&list[..length(list)]) } else { None }
    }

    fn make(&mut self, list: Short) -> u32 {
        if let Some(number) = self.free.pop() {
            *self.short(number) = list;
            return number;
        }
        if self.short.len() == self.short.capacity() {
            // Doubling the capacity would waste more memory than small steps cost in time.
            self.short.reserve_exact(64.max(self.short.len() / 8));
        }
        self.short.push(list);
        self.short.len() as u32 - 1
    }

    fn make_long(&mut self, list: Vec<Record>) -> u32 {
        let number = self.free_long.pop().unwrap_or(self.long.len() as u32 | LONG);
        match self.long.get_mut((number & !LONG) as usize) {
            Some(own) => *own = list,
            None => self.long.push(list),
        }
        number
    }

    fn give_back(&mut self, number: u32) {
        if number & LONG == 0 {
            self.free.push(number);
        } else {
            *self.long(number) = Vec::new();
            self.free_long.push(number);
        }
    }
}

fn length(list: &Short) -> usize {
    list.iter().filter(|record| !record.is_none()).count()
}

/// The maximum number of bytes of a buffer whose forgotten accesses are counted by cell.
const SMALL: u64 = 4096;

impl Shadow {
    /// A shadow without accesses, whose lists hold at most `bound` accesses.
    pub fn new(bound: usize) -> Self {
        let lists = Lists::default();
        Self { pages: Vec::new(), lists, bound, is_exact: bound > SHORT, crowds: Crowds::of_groups() }
    }

    /// A shadow of a buffer of global memory. A small buffer often has a variable for each CTA, such as a lock.
    pub fn of_buffer(bound: usize, bytes: u64) -> Self {
        if bytes <= SMALL { Self::of_shared(bound) } else { Self::new(bound) }
    }

    /// A shadow of shared memory.
    pub fn of_shared(bound: usize) -> Self {
        Self { crowds: Crowds::of_cells(), ..Self::new(bound) }
    }

    /// Sets the maximum number of accesses of a list.
    pub fn set_bound(&mut self, bound: usize) {
        (self.bound, self.is_exact) = (bound, bound > SHORT);
    }

    /// Records an access of `bytes` bytes from offset `at`, and adds the earlier accesses that conflict with it and are
    /// unordered to `conflicts`.
    pub fn touch(&mut self, at: u64, bytes: u64, access: CheckedAccess<'_>, conflicts: &mut Conflicts) {
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
            let access = CheckedAccess { record, ..access };
            // A read races with no read.
            if self.crowds.has_writes || record.info.writes() && !self.crowds.is_empty() {
                self.check_crowds(index, access, conflicts);
            }
            self.touch_cell(index, access, conflicts);
            if !conflicts.forgotten.is_empty() {
                self.add_to_crowds(index, access, conflicts);
            }
        }
    }

    /// The cell with an index.
    fn cell(&self, index: u64) -> Cell {
        self.pages[index as usize / PAGE].as_ref().map_or(EMPTY, |page| page[index as usize % PAGE])
    }

    /// Checks an access against the forgotten accesses of a cell. A group of cells has forgotten accesses of a cell only
    /// if the cell has a list, whose reads were forgotten, or a strong access, which replaced strong accesses.
    fn check_crowds(&self, index: u64, access: CheckedAccess<'_>, conflicts: &mut Conflicts) {
        let cell = self.cell(index);
        let is_strong = [cell.write, cell.read].iter().any(|record| record.info.strength() > 0);
        let is_of_group = cell.write.agent == LIST || is_strong;
        self.crowds.check(index, is_of_group, access, conflicts);
    }

    /// Adds the accesses that a cell has forgotten because of an access.
    fn add_to_crowds(&mut self, index: u64, access: CheckedAccess<'_>, conflicts: &mut Conflicts) {
        let is_list = self.cell(index).write.agent == LIST;
        for record in conflicts.forgotten.drain(..) {
            let is_strong = record.info.strength() > 0 && access.record.info.strength() > 0;
            self.crowds.add(index, is_strong || is_list && !record.info.writes(), record);
        }
    }

    fn touch_cell(&mut self, index: u64, access: CheckedAccess<'_>, conflicts: &mut Conflicts) {
        let page = self.pages[index as usize / PAGE].get_or_insert_with(page);
        let cell = &mut page[index as usize % PAGE];
        let (new, is_exact) = (access.record, self.is_exact);
        let how = (self.bound, is_exact);
        if cell.write.agent == LIST {
            let number = cell.write.epoch;
            if let Some(number) = self.lists.touch(number, how, index, access, conflicts) {
                cell.write.epoch = number;
                self.set_bound_by_lists();
            } else if let Some(placed) = self.lists.in_place(number) {
                *cell = placed;
                self.lists.give_back(number);
            }
            return;
        }
        let Cell { write, read } = cell;
        let same = |old: &Record| old.info.mask() == new.info.mask();
        let after = |old: &Record| old.is_before(access);
        if new.info.writes() {
            let replaces = |old: &Record| same(old) && access.replaces(*old, is_exact);
            let goes = |old: &Record| old.is_none() || same(old) && after(old) && access.covers(*old, is_exact);
            if (goes(write) || replaces(write)) && goes(read) {
                if !write.is_none() && !after(write) {
                    conflicts.contended.push(*write);
                }
                [*write, *read].into_iter().for_each(|old| conflicts.compare_strong(old, access));
                [*write, *read].into_iter().for_each(|old| conflicts.forget(old, access));
                (*write, *read) = (new, Record::NONE);
                return;
            }
        } else if (write.is_none() || after(write))
            && (read.is_none()
                || same(read) && (after(read) && access.covers(*read, is_exact) || read.is_repeated_by(new, is_exact)))
        {
            if !read.is_repeated_by(new, is_exact) || conflicts.hides(*read, new) {
                conflicts.forget(*read, access);
            }
            conflicts.compare_strong(*write, access);
            *read = new;
            return;
        }
        let mut list = [*write, *read, Record::NONE, Record::NONE];
        if write.is_none() {
            list.swap(0, 1);
        }
        let length = length(&list);
        let left = sift(&mut list[..length], how, index, access, conflicts);
        list[left] = new;
        list[left + 1..].fill(Record::NONE);
        match in_place(&list[..=left]) {
            Some(placed) => *cell = placed,
            None => (write.agent, write.epoch) = (LIST, self.lists.make(list)),
        }
    }

    /// Limits all lists to short lists if there are too many long lists.
    fn set_bound_by_lists(&mut self) {
        if self.lists.long.len() > MOST_LONG {
            self.set_bound(SHORT);
        }
    }

    /// Whether the last write at an offset may be unordered with the next access of a clock's agent.
    pub fn meets(&self, at: u64, clock: &Clock) -> bool {
        let index = (at / CELL) as usize;
        let Some(Some(page)) = self.pages.get(index / PAGE) else { return false };
        let write = &page[index % PAGE].write;
        !write.is_none() && (write.agent == LIST || !clock.has_seen(write.agent, write.epoch))
    }
}

/// The cell that holds the accesses of a list in place, if they fit.
fn in_place(list: &[Record]) -> Option<Cell> {
    match *list {
        [one] if one.info.writes() => Some(Cell { write: one, read: Record::NONE }),
        [one] => Some(Cell { write: Record::NONE, read: one }),
        [a, b] if a.info.writes() && !b.info.writes() => Some(Cell { write: a, read: b }),
        _ => None,
    }
}

/// Whether a full list already has a read of the same warp that represents this read: neither happens before the other.
fn is_represented(list: &[Record], access: CheckedAccess<'_>) -> bool {
    let new = access.record;
    list.iter().any(|old| {
        let alike = old.agent / 32 == new.agent / 32 && old.info.mask() == new.info.mask() && !old.info.writes();
        alike && old.info.strength() == new.info.strength() && !old.is_before(access)
    })
}

/// Adds the writes of a list that are unordered with a read to `races`.
fn race_with_writes(list: &[Record], index: u64, access: CheckedAccess<'_>, conflicts: &mut Conflicts) {
    let mask = access.record.info.mask();
    let overlaps = |old: &&Record| old.info.writes() && old.info.mask() & mask != 0;
    for old in list.iter().filter(overlaps) {
        conflicts.compare(*old, index, access);
    }
}

/// Removes the accesses that a new access makes redundant from a list, and one more access if the list is full. Returns
/// the number of remaining accesses, which are moved to the front.
fn sift(
    list: &mut [Record],
    (bound, is_exact): (usize, bool),
    index: u64,
    access: CheckedAccess<'_>,
    conflicts: &mut Conflicts,
) -> usize {
    let new = access.record;
    let mask = new.info.mask();
    let last = list.iter().rev().find(|old| old.info.writes() && old.info.mask() & mask != 0).copied();
    let mut left = 0;
    for at in 0..list.len() {
        let mut old = list[at];
        let overlap = old.info.mask() & mask;
        if overlap != 0 {
            let is_before = old.is_before(access);
            let races_with = conflicts.compare(old, index, access);
            // An access that raced is reported once.
            let is_known = !is_exact && races_with && new.info.writes();
            let is_read_after_write = old.info.writes() && !new.info.writes();
            // An atomic operation continues only the last write.
            let is_continued = !is_exact || !new.info.is_atomic() || last == Some(old);
            let replaces = is_continued && access.replaces(old, is_exact);
            let is_covered = is_continued && is_before && access.covers(old, is_exact);
            let is_repeated = old.is_repeated_by(new, is_exact);
            if !is_read_after_write && (is_known || replaces || is_covered || is_repeated) {
                if !is_repeated || conflicts.hides(old, new) {
                    conflicts.forget(old, access);
                }
                old.info = old.info.with_mask(old.info.mask() & !mask);
            }
        }
        if old.info.mask() != 0 {
            list[left] = old;
            left += 1;
        }
    }
    if left >= bound {
        // An access of the same warp, or else of the same CTA, is redundant more often than an access of another CTA.
        let near = |old: &Record| {
            (
                old.info.writes() == new.info.writes(),
                cta_of(old.agent) == cta_of(new.agent),
                old.agent / 32 == new.agent / 32,
            )
        };
        let victim = (0..left).max_by_key(|place| near(&list[*place])).unwrap_or(0);
        conflicts.forgotten.push(list[victim]);
        list.copy_within(victim + 1..left, victim);
        left -= 1;
    }
    left
}
