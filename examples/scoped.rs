//! Kernels with scopes of `ptx-atomics-scope`: a histogram with counters of a block, and a sum by the last block.
#![no_std]
#![feature(abi_ptx, stdarch_nvptx)]

use core::arch::nvptx::{_block_dim_x, _block_idx_x, _grid_dim_x, _syncthreads, _thread_idx_x};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use ptx_atomics_scope::{Block, Device, Scoped, fence};

const BINS: usize = 256;

/// The counters of one block. Other blocks do not access them.
pub type Counts = [Scoped<AtomicU32, Block>; BINS];

/// Each block counts in a separate row of `counts`, and adds the row to `total`.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn histogram(
    bytes: *const u8,
    length: u32,
    counts: *const Counts,
    total: &[Scoped<AtomicU32, Device>; BINS],
) {
    let (thread, block) = unsafe { (_thread_idx_x(), _block_idx_x()) };
    let (threads, blocks) = unsafe { (_block_dim_x(), _grid_dim_x()) };
    let counts = unsafe { &*counts.add(block as usize) };
    let mut index = block * threads + thread;
    while index < length {
        let bin = unsafe { *bytes.add(index as usize) };
        counts[usize::from(bin)].fetch_add(1, Ordering::Relaxed);
        index += threads * blocks;
    }
    unsafe { _syncthreads() };
    let mut bin = thread as usize;
    while bin < BINS {
        total[bin].fetch_add(counts[bin].load(Ordering::Relaxed), Ordering::Relaxed);
        bin += threads as usize;
    }
}

/// The last block to arrive adds up all `parts`. Its first thread sets a flag of the block for the other threads.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn sum_of_parts(
    parts: *mut u32,
    arrived: &Scoped<AtomicU32, Device>,
    told: *const [Scoped<AtomicBool, Block>; 2],
    sum: &Scoped<AtomicU32, Device>,
) {
    let (thread, block) = unsafe { (_thread_idx_x(), _block_idx_x()) };
    let (threads, blocks) = unsafe { (_block_dim_x(), _grid_dim_x()) };
    let [decided, last] = unsafe { &*told.add(block as usize) };
    if thread == 0 {
        unsafe { *parts.add(block as usize) = block };
        last.store(arrived.fetch_add(1, Ordering::AcqRel) + 1 == blocks, Ordering::Relaxed);
        decided.store(true, Ordering::Release);
    }
    while !decided.load(Ordering::Relaxed) {}
    // Thread 0 released to its block the writes that it had acquired from other blocks.
    fence::<Block>(Ordering::Acquire);
    if last.load(Ordering::Relaxed) {
        let mut part = thread;
        while part < blocks {
            sum.fetch_add(unsafe { *parts.add(part as usize) }, Ordering::Relaxed);
            part += threads;
        }
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}

// litmus: test histogram
// litmus: u8 bytes[512]
// litmus: u32 counts[512], total[256]
// litmus: thread P0 = histogram(bytes, 512, counts, total) @ cta 0, %ntid.x = 256
// litmus: thread P1 = histogram(bytes, 512, counts, total) @ cta 0, %ntid.x = 256
// litmus: thread P2 = histogram(bytes, 512, counts, total) @ cta 1, %ntid.x = 256
// litmus: forall total[0] == 3
// litmus: test sum_two_blocks
// litmus: u32 parts[2], arrived, sum
// litmus: u8 told[4]
// litmus: thread P0 = sum_of_parts(parts, arrived, told, sum) @ cta 0
// litmus: thread P1 = sum_of_parts(parts, arrived, told, sum) @ cta 1
// litmus: forall sum == 1
// litmus: test sum_three_blocks
// litmus: u32 parts[3], arrived, sum
// litmus: u8 told[6]
// litmus: thread P0 = sum_of_parts(parts, arrived, told, sum) @ cta 0
// litmus: thread P1 = sum_of_parts(parts, arrived, told, sum) @ cta 1
// litmus: thread P2 = sum_of_parts(parts, arrived, told, sum) @ cta 2
// litmus: forall sum == 3
// litmus: test sum_four_threads
// litmus: u32 parts[2], arrived, sum
// litmus: u8 told[4]
// litmus: thread P0 = sum_of_parts(parts, arrived, told, sum) @ cta 0
// litmus: thread P1 = sum_of_parts(parts, arrived, told, sum) @ cta 0
// litmus: thread P2 = sum_of_parts(parts, arrived, told, sum) @ cta 1
// litmus: thread P3 = sum_of_parts(parts, arrived, told, sum) @ cta 1
// litmus: forall sum == 1
// run: kernel=histogram grid=2 block=48 bytes=u8[512]=iota 512 counts=u32[512] total=u32[256] expect total == 2
// run: kernel=histogram grid=2 block=64 bytes=u8[512]=random(0,255) 512 counts=u32[512] total=u32[256]
// run: kernel=sum_of_parts grid=4 block=32 parts=u32[4] arrived=u32[1] told=u8[8] sum=u32[1] expect sum == 6 && arrived == 4
