//! The machine code (SASS) that ptxas generates from PTX: its memory and fence instructions, as measured.
//!
//! Kernels of one or a few instructions were assembled and disassembled: with ptxas 12.9 for sm_50 and sm_70, and with
//! 13.5, the newest release that supports them, for sm_80, sm_90 and sm_100a. The measurements are
//! `ptx-legality/sass-cost.csv`, and a test compares 6,142 of them, one by one, with this module. They are regular, so
//! that a few rules and one small table suffice:
//!
//! - barriers ([`barriers`](crate::abi::barriers)) depend only on semantics, scope and family;
//! - opcodes of an access depend on operation, type, space and family; the scope is one word of the opcode;
//! - the cost of a sequence is the sum of its instructions' costs, because ptxas merges nothing.
//!
//! Other assemblers differ slightly: 12.9 generates a reduction from an unread `atom` where 13.5 does not, and leaves
//! out the `.STRONG.SM` in the loop of a generic double. Code that is not yet linked differs too: from sm_90 on, `ptxas
//! -c` puts four `LDS` before instructions that wait, and a `MEMBAR.ALL.CTA` if the scope is wider than cta.
//!
//! `SYNC` of sm_50, at which diverged threads reconverge, is left out. Cost is a count of instructions, not a time.

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
