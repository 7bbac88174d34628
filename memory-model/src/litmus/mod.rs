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
//! `bar.cta.sync instance[, id[, quorum]]`; `bar.cta.red.op d, p, instance[, id[, quorum]]`; or as PTX has it,
//! `bar.sync id[, threads]`, which is instance 0. A vector access names every register and every variable:
//! `ld.v2.weak {r0, r1}, {x, y}`. Registers whose names begin with `%` are scratch: they are part of no outcome.
//!
//! Every CTA has its own variables in `.shared` memory: where there are several, `x$P1` is the `x` of P1's CTA, and `mapa r0, x, 1`
//! the address of that of CTA 1 in the thread's cluster.

mod print;
mod read;

pub use print::{instruction, number};
pub use read::Error;

use crate::{
    condition::Condition,
    program::{AluOp, Cmp, RmwOp},
    ptx::Program,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Litmus {
    pub name: String,
    /// Quoted text between the name and the initial values.
    pub comments: Vec<String>,
    pub program: Program,
    pub condition: Condition,
}

/// Whose tests a text is one of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    #[default]
    Ptx,
    /// Also what Dat3M's suite has and PTX has not: `red.acq_rel`, `atom.sub`.
    Dat3m,
}

impl Litmus {
    /// Reads a file's text.
    ///
    /// # Errors
    /// At the first thing that is not as expected, with its place.
    pub fn read(text: &str) -> Result<Self, Error> {
        Self::read_as(text, Dialect::Ptx).map(|(litmus, _)| litmus)
    }

    /// Reads a file's text in a dialect, and gives warnings: what was taken although it may be a mistake.
    ///
    /// # Errors
    /// As of [`Litmus::read`].
    pub fn read_as(text: &str, dialect: Dialect) -> Result<(Self, Vec<Error>), Error> {
        read::litmus(text, dialect)
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

/// The types of an operation of `atom` and `red`, the sizes being those of the model.
fn types(op: RmwOp) -> &'static [&'static str] {
    match op {
        RmwOp::Cas => &["b16", "b32", "b64"],
        RmwOp::Exch | RmwOp::And | RmwOp::Or | RmwOp::Xor => &["b32", "b64"],
        RmwOp::Add | RmwOp::Sub => &["u32", "s32", "u64"],
        RmwOp::Inc | RmwOp::Dec => &["u32"],
        RmwOp::Min | RmwOp::Max => &["u32", "s32", "u64", "s64"],
    }
}

/// Branches that compare.
#[rustfmt::skip]
const BRANCHES: [(&str, Cmp); 6] = [
    ("beq", Cmp::Eq), ("bne", Cmp::Ne), ("blt", Cmp::Lt), ("ble", Cmp::Le), ("bgt", Cmp::Gt), ("bge", Cmp::Ge),
];
