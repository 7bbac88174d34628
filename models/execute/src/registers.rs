//! The changes of the number of registers that warps have executed.

use ptx_isa::operation::RegisterChange;

use crate::{
    clock::{Agent, Epoch},
    code::Pc,
};

/// The execution of a `setmaxnreg` by a warp.
#[derive(Clone, Copy, Debug)]
pub struct Changed {
    /// The direction and the number of registers.
    pub to: (RegisterChange, u64),
    /// The instruction.
    pub pc: Pc,
    /// The first thread of the warp that executed it, and the thread's epoch.
    pub thread: u32,
    pub at: (Agent, Epoch),
}
