//! Litmus tests of PTX as text: what [`Litmus::read`] reads, [`Litmus`] prints.
//!
//! ```text
//! PTX MP
//! "a comment"
//! { x=0; flag=0; P1:r0=0; alias @ generic aliases x; }
//!  P0@cta 0,gpu 0         | P1@cta 0,cluster 1,gpu 0 ;
//!  st.weak x, 1           | LC00:                    ;
//!  st.release.gpu flag, 1 | ld.acquire.gpu r0, flag  ;
//!                         | beq r0, 0, LC00          ;
//!                         | ld.weak r1, x            ;
//! ~exists (P1:r0 == 1 /\ P1:r1 == 0)
//! ```
//!
//! Instructions are those of PTX with these shorthands: operands need no brackets, types may be left out (64 bits),
//! `ld r, 1` is a `mov`, `beq`, `bne`, `blt`, `ble`, `bgt` and `bge` compare and branch, `goto` branches, and
//! `sust`, `suld`, `tld` and `cold` access through the surface, texture and constant proxies. A barrier is
//! `bar.cta.sync instance[, id[, quorum]]`; `bar.cta.red.op d, p, instance[, id[, quorum]]`. A vector access names every
//! register and every variable: `ld.v2.weak {r0, r1}, {x, y}`. Registers whose names begin with `%` are scratch: they are
//! part of no outcome.

mod print;
mod read;

pub use print::{instruction, number};
pub use read::Error;

use crate::{condition::Condition, program::AluOp, program::Cmp, ptx::Program};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Litmus {
    pub name: String,
    /// Quoted text between the name and the initial values.
    pub comments: Vec<String>,
    pub program: Program,
    pub condition: Condition,
}

impl Litmus {
    /// Reads a file's text.
    ///
    /// # Errors
    /// At the first thing that is not as expected, with its place.
    pub fn read(text: &str) -> Result<Self, Error> {
        read::litmus(text)
    }

    /// The formula of the condition, as text.
    pub fn formula(&self) -> String {
        let mut text = String::new();
        print::formula(&mut text, &self.program, &self.condition.formula).expect("a string takes all text");
        text
    }
}

/// Arithmetic, by its names; comparisons are `setp.eq` and so on.
#[rustfmt::skip]
const ALU: [(&str, AluOp); 17] = [
    ("mov",  AluOp::Mov), ("neg",  AluOp::Neg), ("not", AluOp::Not), ("sext", AluOp::Sext),
    ("add",  AluOp::Add), ("sub",  AluOp::Sub), ("and", AluOp::And), ("or",   AluOp::Or), ("xor", AluOp::Xor),
    ("min",  AluOp::Min), ("max",  AluOp::Max), ("mul", AluOp::Mul), ("shl",  AluOp::Shl), ("shr", AluOp::Shr),
    ("selp", AluOp::Selp), ("mad", AluOp::Mad), ("prmt", AluOp::Prmt),
];

/// Branches that compare.
#[rustfmt::skip]
const BRANCHES: [(&str, Cmp); 6] = [
    ("beq", Cmp::Eq), ("bne", Cmp::Ne), ("blt", Cmp::Lt), ("ble", Cmp::Le), ("bgt", Cmp::Gt), ("bge", Cmp::Ge),
];
