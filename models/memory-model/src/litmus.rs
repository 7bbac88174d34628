//! Litmus tests of PTX as text: [`Litmus::read`] reads the format that [`Litmus`] prints.
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
//! A cell is an instruction of PTX, after labels or alone; PTX that a compiler prints can be pasted. Declarations of
//! registers are skipped, `ret` ends the thread, and `P0:%rd1=x` gives a register the address of a variable as its
//! initial value. There are these shorthands: operands need no brackets, types may be omitted (64 bits), `[x-4]` is
//! `[x+-4]`, `ld r, 1` is a `mov`, `beq`, `bne`, `blt`, `ble`, `bgt` and `bge` compare and branch, `goto` branches,
//! `sext` extends the sign of its type, and `sust`, `suld`, `tld` and `cold` access through the surface, texture and
//! constant proxies. A barrier is `bar.cta.sync instance[, id[, quorum]]`; `bar.cta.red.op d, p, instance[, id[,
//! quorum]]`; or in the syntax of PTX, `bar.sync id[, threads]`, which is instance 0. A vector access may name every
//! variable: `ld.v2.weak {r0, r1}, {x, y}`. Registers whose names begin with `%` are scratch: they are not part of an
//! outcome, unless the condition names them.
//!
//! Every CTA has its own variables in `.shared` memory: if there are several CTAs, `x$P1` is the `x` of P1's CTA, and
//! `mapa r0, x, 1` gives the address of the `x` of CTA 1 in the thread's cluster.
//!
//! `m @ multimem aliases x, y` is a multimem address, whose replicas are `x` and `y`: `multimem.red.release.sys.add m, 1`
//! adds to both.
//!
//! A thread of the host is `P1@x86` or `P1@aarch64`, and its cells are instructions in the syntax of herd7:
//! `docs/host.md`. `P1@nic` is a NIC, and its cells are requests of PCIe: `docs/questions.md`.
//!
//! Asynchronous instructions name variables instead of PTX's addresses and descriptors:
//! `tcgen05.mma.cta_group::1.kind::f16 [d], a, b, 0, 1`. A variable that an instruction uses in tensor memory is in
//! tensor memory, and each CTA has its own; `.shared x=0` and `.tensor t=0` declare the memory of a variable. An
//! mbarrier whose initial value is a number other than 0 is initialized for that number of arrivals before the test
//! begins.

mod access;
mod asynchronous;
pub(crate) mod cell;
pub(crate) mod compute;
pub(crate) mod error;
mod file;
pub(crate) mod formula;
mod host;
mod modifier;
mod multimem;
pub mod names;
pub(crate) mod operand;
mod print;
mod print_asynchronous;
mod shape;
mod shared;
pub(crate) mod shorthand;
mod spelling;
mod test;
pub(crate) mod tokens;

pub use self::{
    error::{Error, Errors},
    file::Read,
    print::instruction,
    spelling::number,
    test::{Dialect, Litmus},
};
