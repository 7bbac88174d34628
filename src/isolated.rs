//! The work of `ptx-atomics lower` in a child process, so that no input can end the caller.
//!
//! LLVM and MLIR end the process on some inputs: LLVM's backend at instructions that it cannot select, and both on
//! damaged files, on deep nesting, and when memory runs out. [`Helper::lower`] does the work in another process and
//! returns all of these as errors. An error of LLVM's backend names the function, the operation, and a GPU that
//! supports it.
//!
//! A helper is a program whose `main` begins with [`serve`]: the caller's program, or the command `ptx-atomics`. It
//! does each job in a fork of itself, which is sound because it has one thread. The caller may have many threads.
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
//! A program that has one thread needs no helper: [`lower`] forks it, as the command does. Without the feature `llvm`,
//! the command `ptx-atomics` is the helper. Linux only.

#[cfg(feature = "host-llvm")]
mod backend;
#[cfg(not(feature = "host-llvm"))]
mod helper_client;
#[cfg(all(feature = "host-llvm", feature = "analysis"))]
mod judge;
#[cfg(feature = "host-llvm")]
mod llvm_ir;
#[cfg(feature = "host-llvm")]
mod lower;
#[cfg(feature = "mlir")]
mod mlir;
#[cfg(feature = "host-llvm")]
mod obituary;
#[cfg(feature = "host-llvm")]
mod part;
#[cfg(feature = "host-llvm")]
mod parts;
#[cfg(feature = "host-llvm")]
mod process;
#[cfg(feature = "host-llvm")]
mod serve;
mod unoptimized;
#[cfg(feature = "host-llvm")]
mod work;

#[cfg(all(feature = "analysis", not(feature = "host-llvm")))]
pub use self::helper_client::judge;
#[cfg(not(feature = "host-llvm"))]
pub use self::helper_client::{Started, lower, out_of_memory, serve, start, unoptimized};
#[cfg(all(feature = "host-llvm", feature = "analysis"))]
pub use self::judge::judge;
pub use self::unoptimized::{Site, Unoptimized};
#[cfg(feature = "host-llvm")]
pub use self::{
    lower::{Started, lower, run, start, unoptimized},
    process::{Stage, fatal, out_of_memory, stage},
    serve::serve,
    work::context,
};
pub use ptx_atomics_common::helper::{Emit, Helper, Job, Language, Lowered, Pair};

#[cfg(all(test, feature = "host-llvm"))]
mod tests {
    use super::*;
    use crate::llvm::Input;

    fn check(result: Result<Vec<Lowered>, crate::llvm::Errors>, words: &str) {
        let errors = result.expect_err("it cannot be done here").to_string();
        assert!(errors.contains(words), "{errors}");
    }

    /// The tests run in threads, and none of their programs calls `serve`.
    #[test]
    fn an_unusable_helper_is_an_error() {
        let job = Job::new(Input::new("empty.ll", "define void @f() { ret void }"));
        check(lower(&job, |_| ()), "several threads, and a fork would have one; use a Helper");
        check(Helper::at("/nowhere").lower(&job, |_| ()), "cannot use '/nowhere' as a helper: No such file");
        check(
            Helper::at("true").lower(&job, |_| ()),
            "'true' as a helper: it gave no answer (exit status: 0); help: its main must",
        );
        check(Helper::at("cat").lower(&job, |_| ()), "'cat' as a helper: it gave no answer");
        let error = Helper::this_program().expect_err("nothing serves");
        assert!(error.to_string().contains("begin main with it"), "{error}");
    }
}
