//! The work of `ptx-atomics lower`, in a process of its own: no input ends the caller.
//!
//! LLVM and MLIR end the process on some inputs: LLVM's backend on what it cannot select, and both on damaged files, on deep
//! nesting, and where memory runs out. [`Helper::lower`] does the work in another process and returns all of this as errors.
//! An error of LLVM's backend names the function and the operation, and the GPU that has it.
//!
//! A helper is a program whose `main` begins with [`serve`]: the program that calls it, or the command `ptx-atomics`. It
//! does each job in a fork of itself, which is sound because it has one thread. The caller may have many.
//!
//! ```standalone_crate
//! use ptx_atomics::{isolated::{self, Helper, Job}, llvm::Input};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     isolated::serve();
//!     // LLVM has no instruction for this on any GPU.
//!     let ir = "declare double @llvm.tan.f64(double)
//!         define double @f(double %x) { %y = call double @llvm.tan.f64(double %x) ret double %y }";
//!     let helper = Helper::this_program()?;
//!     let errors = helper.lower(&Job::new(Input::new("tan.ll", ir)), |warning| eprintln!("{warning}")).unwrap_err();
//!     println!("{errors}");
//!     Ok(())
//! }
//! ```
//!
//! A program that has one thread needs no helper: [`lower`] forks it. It is what the command does. Linux only.

mod backend;
mod helper;
mod job;
mod llvm_ir;
mod lower;
#[cfg(feature = "mlir")]
mod mlir;
mod obituary;
mod process;
mod work;

#[cfg(feature = "mlir")]
pub use self::mlir::{Device, named, translated};
pub use self::{
    helper::{Helper, serve},
    job::{Emit, Job, Language, Lowered},
    lower::{lower, run},
    process::{Stage, fatal, out_of_memory, stage},
};
