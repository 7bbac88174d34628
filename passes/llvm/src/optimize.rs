//! The optimization of atomics and fences before lowering.
//!
//! `ptx-optimize` decides the changes. This module gives it functions of LLVM IR ([`feed`]), and applies its changes to
//! them ([`apply`]).

mod address;
mod apply;
mod feed;
mod shared;
#[cfg(test)]
mod tests;
mod variable;

use inkwell::{llvm_sys::prelude::LLVMValueRef, module::Module, targets::TargetData, values::AsValueRef};
use ptx_atomics_common::{Input, Options, Outcome, Remark};
use ptx_lowering::{AtomicOp, Policy};
use rustc_hash::FxHashMap;

use self::shared::Obstacles;
use crate::recognize::Planned;

/// Optimizes every function, in place, and returns the remarks. The caller must plan the module again.
pub fn optimize(module: &Module<'_>, input: &Input, options: &Options, planned: &[Planned<'_>]) -> Vec<Remark> {
    let layout = layout(module);
    let obstacles = Obstacles::from_module(module, options);
    let mut remarks = Vec::new();
    for planned in planned.chunk_by(|one, next| one.function == next.function) {
        let Planned { function, policy, .. } = planned[0];
        let by_instruction: FxHashMap<_, _> = planned.iter().map(|plan| (plan.instruction.raw(), plan)).collect();
        let Some(fed) = feed::feed(function, &ops(planned), obstacles.get(function), &layout, options) else {
            continue;
        };
        let mut after = fed.function.clone();
        for remark in ptx_optimize::optimize(&mut after, &rewriting(policy, options)) {
            let of = fed.instructions.get(remark.id).and_then(|(of, _)| by_instruction.get(&of.as_value_ref()));
            let ptx_optimize::Remark { rewrite, applied, message, .. } = remark;
            let outcome = Outcome::Optimized { rewrite, applied, message };
            remarks.extend(of.filter(|_| options.remarks).map(|plan| plan.says(input, outcome)));
        }
        if after != fed.function {
            apply::apply(&fed, &after, &module.get_context(), options.default_scope);
        }
    }
    remarks
}

/// The operation of each atomic.
fn ops(planned: &[Planned<'_>]) -> FxHashMap<LLVMValueRef, AtomicOp> {
    planned.iter().map(|plan| (plan.instruction.raw(), plan.replacement.op)).collect()
}

fn layout(module: &Module<'_>) -> TargetData {
    TargetData::create(module.get_data_layout().as_str().to_str().unwrap_or_default())
}

fn rewriting(policy: Policy, options: &Options) -> ptx_optimize::OptimizeOptions {
    ptx_optimize::OptimizeOptions {
        rewrites: options.optimize,
        ..ptx_optimize::OptimizeOptions::new(policy, options.target)
    }
}
