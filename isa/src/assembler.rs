//! NVIDIA's assembler, ptxas, as installed on this machine: the installed releases, the targets that each supports, and
//! its verdict on PTX.
//!
//! ```no_run
//! use ptx_isa::assembler::Assembler;
//! use ptx_isa::Target;
//!
//! let target = Target::new("sm_90".parse()?, Some("ptx86".parse()?))?;
//! for assembler in Assembler::find_installed().iter().filter(|assembler| assembler.knows(&target)) {
//!     assembler.assemble(&target, ".version 8.6\n.target sm_90\n.address_size 64\n")?;
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod find;
mod installed;

pub use self::{
    find::{HELP, PLACES, VARIABLE, programs},
    installed::{Assembler, Error},
};
