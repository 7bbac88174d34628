//! Runs kernels on the CPU, and finds every data race of the execution.

mod access;
mod asynchronous;
mod barrier;
mod barriers;
mod clock;
mod code;
mod collective;
pub mod described;
mod device;
mod earlier;
mod exec;
mod fault;
mod fetch;
mod flow;
mod footprint;
mod guess;
mod history;
mod in_flight;
mod lacks;
mod launch;
mod learned;
mod lock_step;
mod machine;
pub mod matrix;
mod memory;
mod outside;
mod phases;
mod random;
mod registers;
mod report;
mod schedules;
mod setmaxnreg;
mod shadow;
mod sync;
mod tensor_memory;
mod texture;
mod warp;
mod watch;

pub use self::{
    code::Parameter,
    device::{Device, KernelFacts, WORKSPACE},
    flow::ExpectedRaces,
    footprint::{Footprint, Use, Uses},
    guess::{Assumed, Assumption, End, Given, Part, SearchBudget, Tried, Value, search, search_within},
    lacks::Lack,
    launch::{Argument, Buffer, Contents, GROWS, Launch, LaunchError, ModuleId, Progress, RunOptions, Schedule},
    matrix::map::TensorMap,
    report::{
        AccessType, Condition, Dependence, Detail, Fault, FaultKind, Missing, Note, Pattern, Peer, Race, Remedy,
        Report, Schedules, Site, SiteKind,
    },
    texture::{Addressing, Image, Sampler, Texture},
};
pub use ptx_isa::SourceLine;
