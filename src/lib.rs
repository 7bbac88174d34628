//! Every atomic and fence of a GPU program, lowered to PTX through a selectable ABI mapping.
//!
//! Without features, the crate has the parts that need no LLVM:
//! - [`lowering`]: the ABI tables, the targets, and the lowering of one operation;
//! - [`optimize`]: cheaper atomics and fences, in IR before lowering, and in the PTX of any compiler;
//! - [`ptx`]: types for PTX, with a parser and a printer;
//! - [`judge`]: the guarantees of PTX, recomputed from its instructions alone.
//!
//! | feature | adds | requires |
//! | --- | --- | --- |
//! | `llvm` | `llvm`, the pass over LLVM IR; `ptx_from_llvm_ir`, and `lower_llvm_ir`, which also reports the result for each operation; `isolated`, the same in a child process; `order`, a judgement of any compiler's PTX | LLVM |
//! | `host-llvm` | the same, with the LLVM that the program links by itself | nothing for the build of this crate |
//! | `mlir` | `mlir`, the pass over MLIR | MLIR, and two variables for the build |
//! | `analysis` | `check`, every check of kernels in one report; `hazards` and `races`, the checks of asynchronous operations and of data races; `execute`, kernels on the CPU; `launch`, the launch of a kernel; `solver`, the solver of the proofs | nothing |
//! | `model` | `memory_model`, every outcome that PTX allows a program; `mapping`, the check of the lowering with it | nothing |
//! | `llvm22`, `llvm23` | the version of LLVM and MLIR; the first is on by default | nothing |
//!
//! `docs/library.md` describes how to build with each feature.
#![cfg_attr(
    feature = "llvm",
    doc = r##"
```
use ptx_atomics::llvm::{Input, Options};
use ptx_atomics::lowering::Target;

let ir = r#"
    define i32 @next(ptr addrspace(1) %counter) {
      %old = atomicrmw add ptr addrspace(1) %counter, i32 1 acq_rel
      ret i32 %old
    }"#;
let target = Target::new("sm_90".parse()?, None)?;
let ptx = ptx_atomics::ptx_from_llvm_ir(&Input::new("next.ll", ir), &Options::new(target))?;
assert!(String::from_utf8(ptx)?.contains("atom.acq_rel.sys.global.add.u32"));
# Ok::<(), Box<dyn std::error::Error>>(())
```
"##
)]
#![cfg_attr(docsrs, feature(doc_cfg))]

/// The input and output types of passes, which need no LLVM.
pub use ptx_atomics_common as pass;
#[cfg(all(feature = "llvm", not(feature = "mlir")))]
use ptx_atomics_link as _;
/// The version of the linked MLIR; `None` if a build script of melior links it.
#[cfg(feature = "mlir")]
pub use ptx_atomics_link::MLIR_VERSION;
#[cfg(feature = "host-llvm")]
pub use ptx_atomics_llvm as llvm;
#[cfg(feature = "mlir")]
pub use ptx_atomics_mlir as mlir;
#[cfg(feature = "analysis")]
pub use ptx_check as check;
#[cfg(feature = "analysis")]
pub use ptx_execute as execute;
#[cfg(feature = "analysis")]
pub use ptx_hazards as hazards;
pub use ptx_isa as ptx;
pub use ptx_judge as judge;
pub use ptx_lowering as lowering;
#[cfg(feature = "model")]
pub use ptx_mapping as mapping;
#[cfg(feature = "model")]
pub use ptx_memory_model as memory_model;
pub use ptx_optimize as optimize;
#[cfg(feature = "analysis")]
pub use ptx_races as races;
#[cfg(feature = "analysis")]
pub use ptx_solver as solver;

#[cfg(all(feature = "mlir", target_os = "linux"))]
mod device;
#[cfg(all(feature = "helper", target_os = "linux"))]
pub mod isolated;
#[cfg(all(feature = "host-llvm", target_os = "linux"))]
pub mod order;
#[cfg(feature = "host-llvm")]
mod pipeline;
#[cfg(feature = "host-llvm")]
pub use pipeline::{LoweredIr, lower_llvm_ir, ptx_from_llvm_ir};

/// The README's library example compiles.
#[cfg(all(doctest, feature = "llvm"))]
#[doc = include_str!("../README.md")]
struct Readme;
