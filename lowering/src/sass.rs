//! The machine code (SASS) that ptxas makes of PTX: its memory and fence instructions, as measured.
//!
//! Kernels of one or a few instructions were assembled and disassembled: with ptxas 12.9 for sm_50 and sm_70, and with
//! 13.5, the newest one that knows them, for sm_80, sm_90 and sm_100a. The measurements are
//! `ptx-legality/sass-cost.csv`, and a test compares 6,142 of them, one by one, with this module. They are regular, so
//! that a few rules and one small table suffice:
//!
//! - barriers ([`barriers`](crate::abi::barriers)) depend on semantics, scope and family alone;
//! - opcodes of an access depend on operation, type, space and family; the scope is one word of them;
//! - a sequence costs what its instructions cost, and ptxas merges nothing.
//!
//! Other assemblers differ a little: 12.9 makes a reduction of an unread `atom` where 13.5 does not, and leaves out the
//! `.STRONG.SM` in the loop of a generic double. So does code that is yet to be linked: from sm_90 on, `ptxas -c` puts
//! four `LDS` in front of what waits, and a `MEMBAR.ALL.CTA` if the scope is wider than cta.
//!
//! `SYNC` of sm_50, where threads come together again, is left out. Cost is a count of instructions, not a time.

mod access;
pub(crate) mod barriers;
mod family;
mod note;
mod opcodes;
mod shared;
mod warp;

pub use self::{
    access::{ResultUse, loses_ordering, misplaces_ordering},
    family::Family,
    note::Note,
    opcodes::{Counts, Sass},
    shared::{ATOMS, Atoms, AtomsOp, Size},
    warp::{COMBINED, Combined, LaneOperands, combines, leader_orders},
};
