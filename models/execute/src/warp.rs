//! The lanes of a warp: their registers, where each of them is, and what it waits for.

use crate::{
    clock::Clock,
    code::{Column, LANES, Pc, Reg},
    sync::Pending,
};

/// A set of lanes.
pub type Lanes = u32;

/// The lanes of a set, in their order.
pub fn each(mut lanes: Lanes) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = lanes.trailing_zeros();
        lanes &= lanes.wrapping_sub(1);
        (lane < 32).then_some(lane as usize)
    })
}

/// What lanes wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wait {
    /// Nothing.
    Ready,
    /// A barrier of the CTA: its number.
    Barrier(u32),
    /// The barrier of the cluster.
    Cluster,
    /// Others of these lanes, at a collective instruction. For `bar.warp.sync` the instruction need not be the same.
    Gather(Lanes, bool),
    /// The end of a phase of an mbarrier, until something happens to one.
    Mbarrier,
    /// The completion of asynchronous operations: so many of a kind may be left.
    Completion,
}

/// Lanes that are at the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Group {
    /// The next instruction.
    pub pc: Pc,
    /// Where the registers of the function begin.
    pub base: u32,
    /// The lanes.
    pub lanes: Lanes,
    /// What they wait for.
    pub wait: Wait,
}

/// A call that a lane is in.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// The step of the call.
    pub call: Pc,
    /// The function that is called.
    pub callee: u32,
    /// Where the caller's registers begin.
    pub base: u32,
    /// Where the caller's local memory begins.
    pub local: u64,
    /// Where the caller's stack ends.
    pub top: u64,
}

/// Local memory of a lane.
#[derive(Clone, Debug, Default)]
pub struct Local {
    /// What it holds.
    pub bytes: Vec<u8>,
    /// Which bytes were written.
    pub written: Vec<bool>,
    /// Where the function's own begins.
    pub base: u64,
    /// Where the stack ends.
    pub top: u64,
}

/// The most local memory of a lane, in bytes (table of compute capabilities: 512 KiB).
pub const MOST_LOCAL: u64 = 512 << 10;

impl Local {
    /// Bytes from an offset on; nothing, if the thread has not so many.
    pub fn slice(&mut self, at: u64, bytes: u64) -> Option<(&mut [u8], &mut [bool])> {
        let end = at.checked_add(bytes).filter(|end| *end <= self.top.max(self.bytes.len() as u64))?;
        let end = end as usize;
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
            self.written.resize(end, false);
        }
        Some((&mut self.bytes[at as usize..end], &mut self.written[at as usize..end]))
    }

    /// Bytes that the stack gives up.
    pub fn forget(&mut self, from: u64) {
        if let Some(written) = self.written.get_mut(from as usize..) {
            written.fill(false);
        }
    }
}

/// A warp.
#[derive(Debug, Default)]
pub struct Warp {
    /// The index in its CTA of the thread in lane 0.
    pub first: u32,
    /// The lanes that have not ended.
    pub live: Lanes,
    /// Where they are.
    pub groups: Vec<Group>,
    /// The registers of all functions that are called, one behind the other.
    pub registers: Vec<Column>,
    /// Calls, by lane.
    pub frames: Vec<Vec<Frame>>,
    /// Local memory, by lane.
    pub local: Vec<Local>,
    /// The carry flag.
    pub carry: Lanes,
    /// How many instructions it has executed.
    pub steps: u64,
    /// Lanes that have all come to the collective instruction that is next.
    pub gathered: Lanes,
    /// A lane whose group goes on before others, until so many instructions.
    pub preferred: (usize, u64),
    /// How long its turn has been the same group's.
    pub patience: u32,
    /// A hash of its state, each time that nothing has happened for long, and since when.
    pub states: Vec<u64>,
    pub version: u64,
    /// How many instructions it had executed when something last happened.
    pub since: u64,
    /// Which group had the last turn out of order.
    pub rotation: usize,
    /// Whether it does the same for ever.
    /// How many of its turns may have been a part of a cycle.
    pub turns: u32,
    pub is_cycling: bool,
}

impl Warp {
    /// A warp whose lanes are all at the first instruction.
    pub fn new(first: u32, lanes: Lanes, entry: Pc, registers: u32, local: u64, are_apart: bool) -> Self {
        let group = |lanes| Group { pc: entry, base: 0, lanes, wait: Wait::Ready };
        let groups = match are_apart {
            true => each(lanes).map(|lane| group(1 << lane)).collect(),
            false => vec![group(lanes)],
        };
        Self {
            first,
            live: lanes,
            groups,
            registers: vec![[0; LANES]; registers as usize],
            frames: vec![Vec::new(); LANES],
            local: vec![Local { top: local, ..Local::default() }; LANES],
            ..Self::default()
        }
    }

    /// Whether some lane can go on.
    pub fn is_ready(&self) -> bool {
        self.groups.iter().any(|group| group.wait == Wait::Ready)
    }

    /// The value of a register.
    pub fn get(&self, group: &Group, register: Reg, lane: usize) -> u64 {
        self.registers[(group.base + register) as usize][lane]
    }

    /// Writes a register.
    pub fn set(&mut self, base: u32, register: Reg, lane: usize, value: u64) {
        self.registers[(base + register) as usize][lane] = value;
    }

    /// Lanes of a group leave it for another place.
    pub fn split(&mut self, index: usize, lanes: Lanes, pc: Pc, wait: Wait) {
        let group = &mut self.groups[index];
        if group.lanes == lanes {
            (group.pc, group.wait) = (pc, wait);
        } else {
            group.lanes &= !lanes;
            let base = group.base;
            self.groups.push(Group { pc, base, lanes, wait });
        }
    }

    /// Groups that are at the same place become one.
    pub fn merge(&mut self) {
        let mut index = 0;
        while index < self.groups.len() {
            let own = self.groups[index];
            let same = |other: &Group| other.pc == own.pc && other.base == own.base && other.wait == own.wait;
            if let Some(other) = (index + 1..self.groups.len()).find(|other| same(&self.groups[*other])) {
                self.groups[index].lanes |= self.groups[other].lanes;
                self.groups.swap_remove(other);
            } else {
                index += 1;
            }
        }
    }

    /// Lanes end.
    pub fn end(&mut self, lanes: Lanes) {
        self.live &= !lanes;
        self.groups.iter_mut().for_each(|group| group.lanes &= !lanes);
        self.groups.retain(|group| group.lanes != 0);
    }
}

/// What is known of a thread's order.
#[derive(Debug)]
pub struct Thread {
    pub clock: Clock,
    pub pending: Pending,
    /// The phase of the barrier of the cluster in which it has arrived.
    pub cluster: Option<u32>,
}
