//! Whole modules of LLVM IR from a seed, with constructs that the optimizer must understand.
//!
//! Two or three threads form a cycle of accesses, which only orderings forbid. The module surrounds the accesses with
//! constructs that a pass has to analyze: the memory of variables and the threads that can name them, casts, choices
//! and offsets, calls, inline assembly, barriers, loops, and the launch of kernels. The litmus test in the module's
//! comments places the threads as the module itself does.
//! 1. `plan` chooses the threads, their places, and their steps in order.
//! 2. `homes` gives each variable memory that its threads can name, and decides which other threads can name it.
//! 3. `functions` and `steps` write the plan as LLVM IR.

mod asynchronous;
mod body;
mod functions;
mod homes;
mod plan;
mod steps;

pub use self::asynchronous::kernel as asynchronous;
use self::{functions::Writer, homes::Homes, plan::Plan};
use crate::random::Random;

/// A module and its target.
pub struct Module {
    /// LLVM IR. The comments have the lines of one litmus test, unless the module has asynchronous operations.
    pub ir: String,
    /// The GPU and the PTX version.
    pub target: (&'static str, &'static str),
}

/// The PTX of functions that modules only declare. One of them is a function of libdevice.
pub const LINKED: &str = "
.visible .func publish(.param .b64 p, .param .b32 v) {
  .reg .b64 %rd1; .reg .b32 %r1;
  ld.param.b64 %rd1, [p]; ld.param.b32 %r1, [v];
  st.relaxed.sys.b32 [%rd1], %r1;
  ret;
}
.visible .func (.param .b32 r) observe(.param .b64 p) {
  .reg .b64 %rd1; .reg .b32 %r1;
  ld.param.b64 %rd1, [p];
  ld.relaxed.sys.b32 %r1, [%rd1];
  st.param.b32 [r], %r1;
  ret;
}
.visible .func order() {
  fence.sc.sys;
  ret;
}
.visible .func (.param .b32 r) __nv_abs(.param .b32 x) {
  .reg .b32 %r<3>;
  ld.param.b32 %r1, [x];
  neg.s32 %r2, %r1;
  max.s32 %r2, %r1, %r2;
  st.param.b32 [r], %r2;
  ret;
}
";

const DECLARED: &str = "
declare void @publish(ptr, i32)
declare i32 @observe(ptr)
declare void @order()
declare void @elsewhere(ptr)
declare i32 @__nv_abs(i32)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.nvvm.cp.async.commit.group()
declare void @llvm.nvvm.nanosleep(i32)
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare ptr addrspace(7) @llvm.nvvm.mapa.shared.cluster(ptr addrspace(3), i32)
";

/// The module for a seed.
pub fn module(seed: u64) -> Module {
    let mut random = Random(seed);
    let plan = Plan::new(&mut random);
    let homes = Homes::new(&mut random, &plan);
    let mut writer = Writer::new(random, &plan, &homes);
    let functions = writer.functions();
    let (words, variables) = (homes.words(&plan), homes.variables());
    let ir =
        format!("target triple = \"nvptx64-nvidia-cuda\"\n{words}{variables}{DECLARED}{functions}{}", writer.others);
    Module { ir, target: plan.target }
}
