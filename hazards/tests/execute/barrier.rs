//! mbarriers, groups, and barriers of the CTA.

use super::clock::{Clock, Message};

/// Operations of a thread or a warp that complete in groups, by their numbers from 1.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    pub started: u32,
    committed: Vec<u32>,
}

impl Groups {
    pub fn start(&mut self) -> u32 {
        self.started += 1;
        self.started
    }

    pub fn commit(&mut self) {
        self.committed.push(self.started);
    }

    /// The last operation that is complete when so many groups are left.
    pub fn complete(&self, pending: u32) -> u32 {
        let index = self.committed.len().checked_sub(1 + pending as usize);
        index.map_or(0, |index| self.committed[index])
    }
}

/// A copy that an mbarrier is told of.
#[derive(Clone, Debug)]
pub struct Copy {
    pub line: u32,
    pub to: u64,
    pub bytes: Option<u64>,
    pub start: Clock,
}

#[derive(Clone, Debug)]
pub struct Mbarrier {
    /// Each that is initialized has another one.
    pub number: u32,
    count: u64,
    pub pending: u64,
    pub phase: u32,
    pub expected: i64,
    pub copies: Vec<Copy>,
    /// When its first copy was started.
    pub since: u64,
    pub message: Message,
    /// Of the last phase that is complete.
    pub done: Message,
}

impl Mbarrier {
    pub fn new(number: u32, count: u64) -> Self {
        Self {
            number,
            count,
            pending: count,
            phase: 0,
            expected: 0,
            copies: Vec::new(),
            since: 0,
            message: Message::default(),
            done: Message::default(),
        }
    }

    /// Nothing is missing but bytes of copies that have been started.
    pub fn awaits_copies(&self) -> bool {
        let known: Option<u64> = self.copies.iter().map(|copy| copy.bytes).sum();
        let enough = known.is_none_or(|bytes| i64::try_from(bytes) == Ok(self.expected));
        self.pending == 0 && !self.copies.is_empty() && enough
    }

    pub fn is_complete(&self) -> bool {
        self.pending == 0 && self.expected == 0 && self.copies.is_empty()
    }

    pub fn drop_one(&mut self) {
        self.count = self.count.saturating_sub(1);
    }

    pub fn advance(&mut self) {
        self.done = std::mem::take(&mut self.message);
        self.phase += 1;
        self.pending = self.count;
        self.expected = 0;
        self.copies.clear();
    }
}

/// `bar` of a number.
#[derive(Default)]
pub struct CtaBarrier {
    pub arrived: u32,
    pub threads: Option<u32>,
    pub message: Message,
    /// By warp and lane.
    pub waiting: Vec<(usize, usize)>,
}
