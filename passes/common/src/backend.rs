//! The PTX that each exact version of LLVM's NVPTX backend prints by itself for an atomic or a fence. An operation for
//! which LLVM prints the chosen sequence can stay LLVM's own instruction.
//!
//! The tables in `backend/` are measured by `ptx-atomics conformance --write-backend`, on functions of one operation
//! each. They hold straight-line sequences: an access, with at most one fence before and one fence after it. A table
//! has no entry for any other sequence, and none for a version of LLVM or a target that was not measured. An addition
//! of f32 is left out, because LLVM 23 prints it by the function's setting for subnormals. Operations on 128 bits are
//! left out, because LLVM's registers for them have names that a variable may have.

mod straight_line;
mod table;

use ptx_lowering::{AtomicOp, Policy, Sequence, Target, lower};

pub use self::{
    straight_line::StraightLine,
    table::{Backend, BackendError, Measured, OperationKey},
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
    /// The versions of LLVM that have a table, as major, minor and patch.
    pub fn versions() -> impl Iterator<Item = [u32; 3]> {
        TABLES.into_iter().map(|(version, _)| version)
    }

    /// The table of a version of LLVM.
    pub fn from_version(version: [u32; 3]) -> Option<Self> {
        let (_, text) = TABLES.into_iter().find(|(known, _)| *known == version)?;
        Some(Self::read(text).expect("a test reads every table"))
    }

    /// Whether this LLVM prints exactly the given sequence for an operation.
    pub fn prints(&self, op: &AtomicOp, sequence: &Sequence, target: &Target) -> bool {
        // The tables hold only the semantics and fences around an access. The access itself is the same in all of them,
        // and in every mapping except this one.
        let usual = || StraightLine::from_sequence(&lower(op, &Policy::default(), target).ok()?.sequence, op);
        StraightLine::from_sequence(sequence, op).is_some_and(|ours| {
            let order = OperationKey::from_op(op).and_then(|asked| self.order(&asked, target));
            order == Some(&ours.order) && usual().is_some_and(|usual| usual.access == ours.access)
        })
    }
}
