//! Prefix sums in one pass: a block looks back at the preceding tiles until it finds a known prefix.

use core::sync::atomic::{AtomicU32, Ordering::*};

use crate::block::{barrier, shared, starting_order, thread, threads};

/// The states of a tile.
const SUM: u32 = 1;
const PREFIX: u32 = 2;

/// The published results of a tile. Sum and prefix are plain words: the state tells which of them are valid.
#[repr(C)]
pub struct Tile {
    state: AtomicU32,
    /// The sum of this tile.
    sum: u32,
    /// The sum of all tiles up to this one.
    prefix: u32,
}

/// The sum of all tiles before this tile.
unsafe fn look_back(tiles: *const Tile, tile: usize) -> u32 {
    let mut before = 0u32;
    let mut index = tile;
    while index != 0 {
        let earlier = unsafe { tiles.add(index - 1) };
        match unsafe { (*earlier).state.load(Acquire) } {
            PREFIX => return before.wrapping_add(unsafe { (*earlier).prefix }),
            SUM => {
                before = before.wrapping_add(unsafe { (*earlier).sum });
                index -= 1;
            }
            _ => {}
        }
    }
    before
}

shared!(scan_sums: [u32; 1024]);
shared!(scan_tile: [u32; 1]);
shared!(scan_before: [u32; 1]);

/// The length of a tile is the size of a block, at most 1024 threads. Each block has one tile. Blocks take tiles in
/// their start order, so that no block waits for a block that has not started.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn scan(
    input: *const u32,
    count: u32,
    output: *mut u32,
    started: &AtomicU32,
    tiles: *mut Tile,
) {
    let (thread, threads) = (thread(), threads());
    let (sums, tile, before) = (scan_sums(), scan_tile(), scan_before());
    unsafe {
        if thread == 0 {
            *tile = starting_order(started);
        }
        barrier();
        let tile = *tile as usize;
        let index = tile * threads + thread;

        let mut sum = if index < count as usize { *input.add(index) } else { 0 };
        *sums.add(thread) = sum;
        barrier();
        let mut step = 1;
        while step < threads {
            let left = if thread >= step { *sums.add(thread - step) } else { 0 };
            barrier();
            sum = sum.wrapping_add(left);
            *sums.add(thread) = sum;
            barrier();
            step *= 2;
        }

        if thread == 0 {
            let total = *sums.add(threads - 1);
            let own = tiles.add(tile);
            (*own).sum = total;
            (*own).state.store(SUM, Release);
            *before = look_back(tiles, tile);
            (*own).prefix = total.wrapping_add(*before);
            (*own).state.store(PREFIX, Release);
        }
        barrier();
        if index < count as usize {
            *output.add(index) = sum.wrapping_add(*before);
        }
    }
}

// litmus: u32 input[4] = {3, 5, 7, 9}, output[4], started, tiles[9]
// litmus: u32 one_started = 1, first_tile[6] = {2, 8, 8}
// litmus: test scan_one_block
// litmus: thread P0 = scan(input, 4, output, one_started, first_tile) @ cta 1
// litmus: thread P1 = scan(input, 4, output, one_started, first_tile) @ cta 1
// litmus: forall output[2] == 15 /\ output[3] == 24
// litmus: test scan_two_blocks
// litmus: thread P0 = scan(input, 2, output, started, tiles) @ cta 0
// litmus: thread P1 = scan(input, 2, output, started, tiles) @ cta 1
// litmus: forall output[0] == 3 /\ output[1] == 8
// litmus: test scan_three_blocks
// litmus: thread P0 = scan(input, 3, output, started, tiles) @ cta 0
// litmus: thread P1 = scan(input, 3, output, started, tiles) @ cta 1
// litmus: thread P2 = scan(input, 3, output, started, tiles) @ cta 2
// litmus: forall output[0] == 3 /\ output[1] == 8 /\ output[2] == 15
