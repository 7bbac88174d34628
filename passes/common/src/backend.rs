//! What LLVM's NVPTX backend prints by itself for an atomic or a fence, by its exact version. What it prints as chosen can stay LLVM's own.
//!
//! The tables in `backend/` are measured, on functions of one operation each, by `ptx-atomics conformance --write-backend`. They have
//! what is printed in a straight line: an access, with at most a fence in front and one behind. Nothing is in a table that is no such
//! sequence, and nothing of a version of LLVM or a target that was not measured. An addition of f32 is left out: LLVM 23 prints it by
//! what a function says of subnormals. So is what has 128 bits: LLVM's registers for it have names that a variable may have.

mod plain;
mod table;

use ptx_lowering::{AtomicOp, Policy, Sequence, Target, lower};

pub use self::{
    plain::Plain,
    table::{Asked, Backend, BackendError, Measured},
};

/// The tables, by version of LLVM.
const TABLES: [([u32; 3], &str); 5] = [
    ([22, 1, 2], include_str!("backend/22.1.2.txt")),
    ([22, 1, 4], include_str!("backend/22.1.4.txt")),
    ([22, 1, 8], include_str!("backend/22.1.8.txt")),
    ([23, 1, 1], include_str!("backend/23.1.1.txt")),
    ([23, 1, 4], include_str!("backend/23.1.4.txt")),
];

impl Backend {
    /// The versions of LLVM, as major, minor and patch, of which there are tables.
    pub fn versions() -> impl Iterator<Item = [u32; 3]> {
        TABLES.into_iter().map(|(version, _)| version)
    }

    /// The table of a version.
    pub fn of(version: [u32; 3]) -> Option<Self> {
        let (_, text) = TABLES.into_iter().find(|(known, _)| *known == version)?;
        Some(Self::read(text).expect("a test reads every table"))
    }

    /// Whether this LLVM prints just the sequence for an operation.
    pub fn prints(&self, op: &AtomicOp, sequence: &Sequence, target: &Target) -> bool {
        // The tables say what surrounds an access. What it does itself is the same in all of them, and in every mapping but this one.
        let usual = || Plain::of(&lower(op, &Policy::default(), target).ok()?.sequence, op);
        Plain::of(sequence, op).is_some_and(|ours| {
            let order = Asked::of(op).and_then(|asked| self.order(&asked, target));
            order == Some(&ours.order) && usual().is_some_and(|usual| usual.access == ours.access)
        })
    }
}
