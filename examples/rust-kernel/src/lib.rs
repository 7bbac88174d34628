//! Kernels whose only means of synchronization are `core::sync::atomic` and the barrier of a block.
//!
//! No ordering is stronger than its kernel needs: the loss of any ordering in a compiler breaks the kernel. README.md
//! lists the parameters and launches of the kernels.
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

// run: kernel=histogram grid=2 block=48 bytes=u8[1024]=iota count=1024 bins=u32[256] expect bins == 4
// run: kernel=histogram grid=2 block=64 bytes=u8[1000]=random(0,255) count=1000 bins=u32[256]
// run: kernel=message grid=4 block=32 channels=u32[20] started=u32[1] rounds=4 stale=u32[1] expect stale == 0 && started == 4 && channels == 0,0,4,4,4,4,4,4,4,4,0,0,4,4,4,4,4,4,4,4
// run: kernel=ring grid=2 block=32 ring=u32[3] slots=u32[16]=0,0,1,0,2,0,3,0,4,0,5,0,6,0,7,0 capacity=8 rounds=8 taken=u32[8] expect taken == iota && ring == 2,8,8
// run: kernel=ring grid=6 block=32 ring=u32[3] slots=u32[8]=0,0,1,0,2,0,3,0 capacity=4 rounds=4 taken=u32[12]=0xffffffff expect taken < 12 && ring == 6,12,12
// run: kernel=scan grid=3 block=64 input=u32[180]=1 count=180 output=u32[180] started=u32[1] tiles=u32[9] expect output[0] == 1 && output[179] == 180 && started == 3
// run: kernel=scan grid=3 block=8 input=u32[22]=iota count=22 output=u32[22] started=u32[1] tiles=u32[9] expect output == 0,1,3,6,10,15,21,28,36,45,55,66,78,91,105,120,136,153,171,190,210,231
// run: kernel=ticket_lock grid=4 block=32 lock=u32[2] rounds=8 counter=u32[1] expect counter == 32 && lock == 32
