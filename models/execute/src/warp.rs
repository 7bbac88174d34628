//! The lanes of a warp: their registers, their positions in the program, and their waits.

use crate::{
    clock::Clock,
    code::{Column, LANES, Pc, Reg},
    sync::Pending,
};

/// A set of lanes.
pub type Lanes = u32;

/// The number of warps of a warpgroup.
pub const WARPGROUP: u32 = 4;

/// The lanes of a set, in their order.
pub fn each(mut lanes: Lanes) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = lanes.trailing_zeros();
        lanes &= lanes.wrapping_sub(1);
        (lane < 32).then_some(lane as usize)
    })
}

/// The event for which lanes wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wait {
    /// No wait.
    Ready,
    /// A barrier of the CTA: its number.
    Barrier(u32),
    /// The barrier of the cluster.
    Cluster,
    /// The other lanes of this mask, at a collective instruction. For `bar.warp.sync` the instruction need not be the
    /// same.
    Gather(Lanes, bool),
    /// The end of a phase of an mbarrier. Every change of an mbarrier wakes the lanes.
    Mbarrier,
    /// The completion of `wgmma` groups, or free columns of tensor memory.
    Completion,
}

/// Lanes at the same instruction of the same call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Group {
    /// The next instruction.
    pub pc: Pc,
    /// The first register of the function.
    pub base: u32,
    /// The lanes.
    pub lanes: Lanes,
    /// The event for which they wait.
    pub wait: Wait,
}

/// Lanes in lock step that have taken different paths.
#[derive(Clone, Copy, Debug)]
pub struct Branch {
    /// The step at which their paths join. Without it the paths do not join before the function ends.
    pub join: Option<Pc>,
    /// The first register of the function that contains the branch.
    pub base: u32,
    /// The lanes.
    pub lanes: Lanes,
    /// The step after which the paths differ.
    pub from: Pc,
}

impl Branch {
    /// Whether a group has lanes of the branch, and has not reached the join.
    pub fn has(&self, group: &Group) -> bool {
        let has_left = group.base < self.base || group.base == self.base && Some(group.pc) == self.join;
        group.lanes & self.lanes != 0 && !has_left
    }
}

/// An active call of a lane.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// The step of the call.
    pub call: Pc,
    /// The called function.
    pub callee: u32,
    /// The first of the caller's registers.
    pub base: u32,
    /// The beginning of the caller's local memory.
    pub local: u64,
    /// The end of the caller's stack.
    pub top: u64,
}

/// Local memory of a lane.
#[derive(Clone, Debug, Default)]
pub struct Local {
    /// Its contents.
    pub bytes: Vec<u8>,
    /// The bytes that were written.
    pub written: Vec<bool>,
    /// The beginning of the current function's local memory.
    pub base: u64,
    /// The end of the stack.
    pub top: u64,
}

/// The maximum size of a lane's local memory, in bytes (table of compute capabilities: 512 KiB).
pub const MOST_LOCAL: u64 = 512 << 10;

impl Local {
    /// Bytes from an offset on. `None` if the stack does not contain them.
    pub fn slice(&mut self, at: u64, bytes: u64) -> Option<(&mut [u8], &mut [bool])> {
        let end = at.checked_add(bytes).filter(|end| *end <= self.top.max(self.bytes.len() as u64))?;
        let end = end as usize;
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
            self.written.resize(end, false);
        }
        Some((&mut self.bytes[at as usize..end], &mut self.written[at as usize..end]))
    }

    /// Marks the bytes that the stack frees as unwritten.
    pub fn forget(&mut self, from: u64) {
        if let Some(written) = self.written.get_mut(from as usize..) {
            written.fill(false);
        }
    }
}

/// A warp.
#[derive(Debug, Default)]
pub struct Warp {
    /// The index in its CTA of the thread of lane 0.
    pub first: u32,
    /// The lanes that have not ended.
    pub live: Lanes,
    /// The groups of its lanes.
    pub groups: Vec<Group>,
    /// The registers of all active functions, one after the other.
    pub registers: Vec<Column>,
    /// Calls, by lane.
    pub frames: Vec<Vec<Frame>>,
    /// Local memory, by lane.
    pub local: Vec<Local>,
    /// The carry flag.
    pub carry: Lanes,
    /// The number of instructions that it has executed.
    pub steps: u64,
    /// The lanes that have all arrived at the next collective instruction.
    pub gathered: Lanes,
    /// A lane whose group continues before other groups, and the instruction count until which it does.
    pub preferred: (usize, u64),
    /// If lanes execute in lock step, the branches whose paths have not joined, from the outermost.
    pub branches: Vec<Branch>,
    /// The length of the current run of turns of the same group.
    pub patience: u32,
    /// Hashes of its states since the last change, and the version at that change.
    pub states: Vec<u64>,
    pub version: u64,
    /// The instruction count at the last change.
    pub since: u64,
    /// The group that had the last turn out of order.
    pub rotation: usize,
    /// Whether it repeats its states forever, and how many of its turns may have been part of a cycle.
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

    /// Whether some lane can continue.
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

    /// Moves lanes of a group to another instruction.
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

    /// Merges groups at the same instruction.
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

    /// Ends lanes.
    pub fn end(&mut self, lanes: Lanes) {
        self.live &= !lanes;
        self.groups.iter_mut().for_each(|group| group.lanes &= !lanes);
        self.groups.retain(|group| group.lanes != 0);
    }
}

/// The order that is known of a thread.
#[derive(Debug)]
pub struct Thread {
    pub clock: Clock,
    pub pending: Pending,
    /// The phase of the barrier of the cluster in which it has arrived, and the instruction of the arrival.
    pub cluster: Option<(u32, Pc)>,
}
