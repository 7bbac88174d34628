//! A histogram of bytes. Every block counts in shared memory, then adds its counts to the sums of all blocks.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::block::{barrier, block, blocks, shared, thread, threads};

const BINS: usize = 256;

shared!(local_bins: [u32; 256]);

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn histogram(bytes: *const u8, count: u32, bins: &[AtomicU32; BINS]) {
    let local = local_bins();

    let mut bin = thread();
    while bin < BINS {
        unsafe { *local.add(bin) = 0 };
        bin += threads();
    }
    barrier();

    let mut index = block() * threads() + thread();
    while index < count as usize {
        let byte = unsafe { *bytes.add(index) };
        let count = unsafe { AtomicU32::from_ptr(local.add(byte as usize)) };
        count.fetch_add(1, Relaxed);
        index += blocks() * threads();
    }
    barrier();

    let mut bin = thread();
    while bin < BINS {
        bins[bin].fetch_add(unsafe { *local.add(bin) }, Relaxed);
        bin += threads();
    }
}

// litmus: u8 bytes[512]
// litmus: u32 bins[256]
// litmus: test histogram_one_block
// litmus: thread P0 = histogram(bytes, 512, bins) @ cta 0, %ntid.x = 256
// litmus: thread P1 = histogram(bytes, 512, bins) @ cta 0, %ntid.x = 256
// litmus: forall bins[0] == 4
// litmus: test histogram_three_threads
// litmus: thread P0 = histogram(bytes, 512, bins) @ cta 0, %ntid.x = 256
// litmus: thread P1 = histogram(bytes, 512, bins) @ cta 0, %ntid.x = 256
// litmus: thread P2 = histogram(bytes, 512, bins) @ cta 1, %ntid.x = 256
// litmus: forall bins[0] == 3
