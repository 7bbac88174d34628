//! The launch of a kernel: its size, its arguments, and the options of its execution.

use ptx_isa::{FullSize, launch::count};

use crate::matrix::map::TensorMap;

/// A launch of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The module of the kernel.
    pub module: ModuleId,
    /// The kernel, as the module spells it.
    pub kernel: String,
    /// The sizes of the grid, its CTAs and its clusters, and of dynamic shared memory.
    pub size: FullSize,
    /// One argument for each parameter.
    pub arguments: Vec<Argument>,
    /// Whether the kernel may start before the preceding kernels have ended, back to the last kernel that is not
    /// dependent or the last [`Device::write`](crate::Device::write). Accesses of those kernels race with this kernel's
    /// unless `griddepcontrol.wait` orders them. The machine still runs the kernels one after the other.
    pub dependent: bool,
}

impl Launch {
    /// A launch of a size. A size of the CTA alone gives a launch of one CTA.
    pub fn new(kernel: impl Into<String>, size: impl Into<FullSize>, arguments: Vec<Argument>) -> Self {
        Self { module: ModuleId::default(), kernel: kernel.into(), size: size.into(), arguments, dependent: false }
    }

    /// The kernel with its module.
    pub(crate) fn key(&self) -> (ModuleId, String) {
        (self.module, self.kernel.clone())
    }

    /// The number of threads of the grid.
    pub(crate) fn threads(&self) -> u64 {
        count(self.size.grid).saturating_mul(count(self.size.block))
    }
}

/// A module of a device, identified by its number. The default is the first module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModuleId(pub(crate) u32);

impl ModuleId {
    /// The number of the module, in the order in which modules were loaded.
    pub fn number(self) -> u32 {
        self.0
    }
}

/// The maximum size in bytes of a buffer that grows with the accessed memory.
pub const GROWS: u64 = 1 << 28;

/// The argument for a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// The bytes of the parameter, the lowest byte first. Missing bytes are 0.
    Bytes(Vec<u8>),
    /// The address of a buffer, plus an offset in bytes.
    Buffer(Buffer, u64),
    /// A tensor map, whose 128 bytes are the parameter.
    TensorMap(Box<TensorMap>, Buffer),
}

impl Argument {
    /// A number of 32 bits.
    pub fn u32(value: u32) -> Self {
        Self::Bytes(value.to_le_bytes().into())
    }

    /// A number of 64 bits.
    pub fn u64(value: u64) -> Self {
        Self::Bytes(value.to_le_bytes().into())
    }

    /// The bytes that the kernel reads from its parameter.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Bytes(bytes) => bytes.clone(),
            Self::Buffer(buffer, offset) => buffer.address().wrapping_add(*offset).to_le_bytes().to_vec(),
            Self::TensorMap(map, buffer) => TensorMap { address: buffer.address(), ..**map }.encode().to_vec(),
        }
    }
}

/// A piece of global memory, identified by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Buffer(pub(crate) u32);

impl Buffer {
    /// The address of its first byte, the same on every device. Each buffer has 4 GiB of addresses.
    pub(crate) fn address(self) -> u64 {
        (u64::from(self.0) + 1) << 32
    }

    /// The buffer of an address, and the offset in the buffer.
    pub(crate) fn at(address: u64) -> Option<(Self, u64)> {
        let number = (address >> 32).checked_sub(1).and_then(|number| u32::try_from(number).ok())?;
        Some((Self(number), address & 0xffff_ffff))
    }
}

/// The initial contents of a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Exactly these bytes.
    Bytes(Vec<u8>),
    /// This number of uninitialized bytes.
    Uninitialized(u64),
    /// As many bytes as the kernel accesses, up to a limit in bytes: small numbers of 32 bits that depend on the seed.
    Grows(u64),
    /// As many zero bytes as the kernel accesses, up to a limit in bytes.
    GrowsZero(u64),
}

/// The progress of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The number of instructions that threads have executed.
    pub steps: u64,
    /// The number of CTAs that have ended, and of all CTAs.
    pub ended: u32,
    pub ctas: u32,
}

/// The order in which threads take their turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::Display, strum::EnumString, strum::EnumIter)]
#[strum(serialize_all = "kebab-case")]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Schedule {
    /// Every warp takes a short turn, in the order of their numbers.
    RoundRobin,
    /// Warps have random priorities, which change at random places ('A Randomized Scheduler with Probabilistic
    /// Guarantees of Fault Bugs', Burckhardt et al., 2010).
    Random,
    /// One warp runs until it waits, before all other warps.
    WarpAhead,
    /// One CTA runs until it waits, before all other CTAs.
    CtaAhead,
    /// Threads take turns individually, of random length.
    Threads,
}

/// The options of an execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunOptions {
    /// The seed of every random choice.
    pub seed: u64,
    /// The order in which threads take their turns.
    pub schedule: Schedule,
    /// Whether the machine searches for races.
    pub races: bool,
    /// Whether a load may return an older value, where the memory model allows it. It has no effect in launches of more
    /// than 2048 threads.
    pub stale: bool,
    /// The maximum number of instructions of a thread.
    pub step_limit: u64,
    /// The maximum work of the run, as [`crate::Report::work`] counts it. At the limit the run ends early, with a note.
    pub most_steps: u64,
    /// The maximum number of bytes of memory that the machine uses.
    pub memory_limit: u64,
    /// Whether the machine has orderings that the manual does not guarantee, but that GPUs provide and kernels rely on:
    /// between lanes that execute an instruction together (`.sync.aligned`, votes, shuffles), from the events that a
    /// thread has seen to its `tcgen05.commit`, from the end of a thread to the end of the phase of the cluster barrier
    /// that it completes, and between arrivals and waits of `.cta` at an mbarrier and arrivals and waits of the
    /// cluster. In addition, a warp accesses its own quarter of the lanes of tensor memory, whichever quarter it names.
    pub lenient: bool,
    /// Whether an access of another CTA's shared memory is checked: something must order it after the CTA's start and
    /// before its end.
    pub presence: bool,
    /// The maximum number of findings of one kind at one place.
    pub findings: usize,
    /// Whether the report lists the instructions that were executed.
    pub coverage: bool,
    /// Whether the report has the bytes of global memory that the launch accessed.
    pub footprint: bool,
    /// Whether the results of matrix products are computed. Without it, a product gives stand-in numbers, on which no
    /// order of accesses depends.
    pub products: bool,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            seed: 0,
            schedule: Schedule::RoundRobin,
            races: true,
            stale: false,
            step_limit: 1 << 24,
            most_steps: u64::MAX,
            memory_limit: 8 << 30,
            lenient: false,
            presence: false,
            findings: 1,
            coverage: false,
            footprint: false,
            products: true,
        }
    }
}

impl RunOptions {
    /// The options for one of many seeds. The first seed runs round robin without stale values. The following seeds use
    /// each schedule in turn.
    #[must_use]
    pub fn of_seed(self, seed: u64) -> Self {
        use strum::IntoEnumIterator;
        let all: Vec<Schedule> = Schedule::iter().collect();
        let schedule = all[(seed % all.len() as u64) as usize];
        Self { seed, schedule, stale: seed > 0, ..self }
    }
}

/// The reason why a kernel was not launched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct LaunchError {
    /// The line of PTX, from 1, if the error has a line.
    pub line: Option<u32>,
    /// The error and the remedy for the user, as a clause without a full stop.
    pub reason: String,
}
