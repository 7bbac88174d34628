//! Intrinsics of a block of threads: indices, a barrier, shared memory, and the block's start order.

use core::arch::nvptx;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

pub fn thread() -> usize {
    unsafe { nvptx::_thread_idx_x() as usize }
}

pub fn threads() -> usize {
    unsafe { nvptx::_block_dim_x() as usize }
}

pub fn block() -> usize {
    unsafe { nvptx::_block_idx_x() as usize }
}

pub fn blocks() -> usize {
    unsafe { nvptx::_grid_dim_x() as usize }
}

/// Waits for all threads of the block. Afterwards each thread sees the writes of the other threads.
pub fn barrier() {
    unsafe { nvptx::_syncthreads() }
}

/// The number of blocks that started before this one. A block may wait for these blocks, because they run or have run.
/// It must not wait for blocks of a lower index, which may start later.
pub fn starting_order(started: &AtomicU32) -> u32 {
    started.fetch_add(1, Relaxed)
}

unsafe extern "C" {
    #[link_name = "llvm.nvvm.isspacep.shared"]
    pub fn is_shared(address: *const u32) -> bool;
}

/// Declares an array in the shared memory of each block, and the function that returns its address.
///
/// Rust has no syntax for shared memory. The assembler gets the array, and LLVM gets a generic address of it. With an
/// assumption, LLVM uses `.shared` for accesses at addresses computed from this one. LLVM drops an assumption about a
/// value without other uses, so an assembly comment uses the value; ptxas generates no code for it.
macro_rules! shared {
    ($name:ident: [u32; $length:literal]) => {
        core::arch::global_asm!(concat!(".shared .align 4 .b32 ", stringify!($name), "[", $length, "];"));

        fn $name() -> *mut u32 {
            let address: *mut u32;
            unsafe {
                core::arch::asm!(
                    concat!("cvta.shared.u64 {}, ", stringify!($name), ";"),
                    out(reg64) address, options(pure, nomem, nostack, preserves_flags),
                );
                let shared = $crate::block::is_shared(address);
                core::arch::asm!("// {}", in(reg32) u32::from(shared), options(nomem, nostack, preserves_flags));
                core::intrinsics::assume(shared);
            }
            address
        }
    };
}
pub(crate) use shared;
