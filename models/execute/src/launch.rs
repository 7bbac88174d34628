//! What a kernel is launched with, and how it is run.

use ptx_isa::{FullSize, launch::count};

use crate::matrix::map::TensorMap;

/// A launch of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The kernel, as the module spells it.
    pub kernel: String,
    /// How large it is.
    pub size: FullSize,
    /// One for each parameter.
    pub arguments: Vec<Argument>,
    /// Whether the kernel may start before those before it have ended, back to the last one that is not dependent or the last
    /// [`Device::write`](crate::Device::write). What it does not wait for by `griddepcontrol.wait` races with them. They are still
    /// run one behind the other.
    pub dependent: bool,
}

impl Launch {
    /// A launch of a size; the threads of a CTA alone are a launch of one CTA.
    pub fn new(kernel: impl Into<String>, size: impl Into<FullSize>, arguments: Vec<Argument>) -> Self {
        Self { kernel: kernel.into(), size: size.into(), arguments, dependent: false }
    }

    /// How many threads the grid has.
    pub(crate) fn threads(&self) -> u64 {
        count(self.size.grid).saturating_mul(count(self.size.block))
    }
}

/// The most bytes of a buffer that grows with what is touched.
pub const GROWS: u64 = 1 << 28;

/// What a parameter is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// Its bytes, the lowest first. They may be fewer than the parameter has: the others are 0.
    Bytes(Vec<u8>),
    /// The address of a buffer, and what is added to it, in bytes.
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

    /// What the kernel finds in its parameter.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Bytes(bytes) => bytes.clone(),
            Self::Buffer(buffer, offset) => buffer.address().wrapping_add(*offset).to_le_bytes().to_vec(),
            Self::TensorMap(map, buffer) => TensorMap { address: buffer.address(), ..**map }.encode().to_vec(),
        }
    }
}

/// A piece of global memory: its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Buffer(pub(crate) u32);

impl Buffer {
    /// Where it begins, on every device: each has 4 GiB of addresses.
    pub(crate) fn address(self) -> u64 {
        (u64::from(self.0) + 1) << 32
    }
}

/// What a buffer holds at first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    /// These bytes, and no more.
    Bytes(Vec<u8>),
    /// So many bytes that nobody has written.
    Uninitialized(u64),
    /// As many bytes as are touched, up to a limit in bytes: small numbers of 32 bits, made of the seed.
    Grows(u64),
    /// The same, of zeros.
    GrowsZero(u64),
}

/// How far a launch has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// How many instructions threads have executed.
    pub steps: u64,
    /// How many CTAs have ended, of how many.
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
    /// Warps have random priorities, which change at random places ('A Randomized Scheduler with Probabilistic Guarantees of
    /// Fault Bugs', Burckhardt et al., 2010).
    Random,
    /// One warp runs until it waits, before all others.
    WarpAhead,
    /// One CTA runs until it waits, before all others.
    CtaAhead,
    /// Every thread takes turns of its own, of random length.
    Threads,
}

/// How kernels are run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// What all that is random is made of.
    pub seed: u64,
    /// Who runs when.
    pub schedule: Schedule,
    /// Whether races are looked for.
    pub races: bool,
    /// Whether a load may return an older value, where the memory model allows it. In launches of more than 2048 threads none does.
    pub stale: bool,
    /// How many instructions a thread may execute.
    pub step_limit: u64,
    /// How much work the run may be, as [`crate::Report::work`] counts it. Then it is cut, which is noted.
    pub most_steps: u64,
    /// How many bytes of memory the machine may use.
    pub memory_limit: u64,
    /// Whether more is ordered than the manual says, as GPUs have it and kernels rely on it: lanes that do an instruction together
    /// (`.sync.aligned`, votes, shuffles), what a thread has seen with its `tcgen05.commit`, threads that end with the barrier of the
    /// cluster that then opens, and arrivals and waits of `.cta` at an mbarrier with those of the cluster. And a warp accesses its own quarter of the lanes of tensor memory, whatever quarter it names.
    pub lenient: bool,
    /// Whether shared memory of another CTA is watched: nothing may tell that this has begun, or it has ended.
    pub presence: bool,
    /// How many findings of one kind and place are kept.
    pub findings: usize,
    /// Whether matrices are multiplied. Without it, a product is other numbers, which no order of accesses depends on.
    pub products: bool,
}

impl Default for Options {
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
            products: true,
        }
    }
}

impl Options {
    /// The options of one of many seeds: the first is round robin without stale values, and those behind it take each schedule
    /// in turn.
    #[must_use]
    pub fn of_seed(self, seed: u64) -> Self {
        use strum::IntoEnumIterator;
        let all: Vec<Schedule> = Schedule::iter().collect();
        let schedule = all[(seed % all.len() as u64) as usize];
        Self { seed, schedule, stale: seed > 0, ..self }
    }
}

/// Why a kernel was not launched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct LaunchError {
    /// The line of PTX, from 1, where there is one.
    pub line: Option<u32>,
    /// What is wrong, and what the user can do, as a clause without a full stop.
    pub reason: String,
}
