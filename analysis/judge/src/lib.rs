//! An independent check of atomics in PTX: the guarantees of the code, recomputed from its instructions alone.
//!
//! The judge uses neither the tables of the ABI nor the strategies that choose from them. It checks this project's
//! lowerings ([`Strength::from_sequence`] for a [`Sequence`](ptx_lowering::Sequence)) and the PTX of any compiler
//! ([`judge_function`]). For the latter it finds the instruction that implements each operation of the source, and
//! derives the guarantees from that instruction and the fences around it.
//!
//! ```
//! use ptx_judge::{BasicBlock, Loss, judge_function};
//! use ptx_lowering::{
//!     Access, AtomicOp, Operation, Ordering, RmwOp, SyncScope, Type,
//!     ptx::{Module, Scope, Space},
//! };
//!
//! // The source: an addition with acquire and release, for all threads of the GPU.
//! let access = Access::new(Space::Global, Type::I32);
//! let scope = SyncScope::Threads(Scope::Gpu);
//! let add = AtomicOp { operation: Operation::Rmw(RmwOp::Add, access), ordering: Ordering::AcqRel, scope };
//! let source = [BasicBlock { operations: vec![add], next: vec![] }];
//!
//! // Some compiler's PTX for it, without the acquire.
//! let ptx = "
//!     .version 8.6
//!     .target sm_90
//!     .visible .func f(.param .b64 p) {
//!         ld.param.b64 %rd1, [p];
//!         fence.release.gpu;
//!         atom.relaxed.gpu.global.add.u32 %r1, [%rd1], 1;
//!         ret;
//!     }";
//! let module: Module = ptx.parse()?;
//! let judged = judge_function(&source, module.functions().next().unwrap())?;
//! assert_eq!(judged.operations[0].loss(), Some(Loss::Ordering));
//! assert_eq!(judged.operations[0].violations[0].to_string(), "no acquire");
//! assert_eq!(judged.operations[0].lines, [6, 7]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_docs)]

mod align;
mod block;
mod cas_loop;
mod cost;
mod effect;
mod event;
mod expansion;
mod flow;
mod graph;
mod judgement;
mod loss;
mod stated;
mod strength;
mod table;

pub use self::{
    align::TooLarge,
    block::BasicBlock,
    cas_loop::Retry,
    effect::{Extra, ExtraKind},
    judgement::{FunctionJudgement, Judgement, Note, judge_function},
    loss::{Loss, Violation},
    stated::stated_operations,
    strength::{Atomicity, Exchanged, Strength},
};
