//! Kernels whose only means of synchronization are `core::sync::atomic` and the barrier of a block.
//!
//! No ordering is stronger than its kernel needs: each one that a compiler loses breaks the kernel. README.md has the
//! parameters and how to launch them.
#![no_std]
#![feature(abi_ptx, asm_experimental_arch, core_intrinsics, link_llvm_intrinsics, stdarch_nvptx)]
#![allow(internal_features, reason = "assume; and isspacep, which only LLVM has")]

mod block;
mod histogram;
mod message;
mod ring;
mod scan;
mod ticket_lock;

#[cfg(feature = "require-pass")]
ptx_atomics_scope::require_pass!();

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
