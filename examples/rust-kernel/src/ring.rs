//! A bounded queue with many producers and many consumers: a ticket names the slot, whose sequence number says whose turn
//! it is.

use core::sync::atomic::{AtomicU32, Ordering::*, fence};

use crate::block::{starting_order, thread};

#[repr(C)]
pub struct Ring {
    started: AtomicU32,
    tail: AtomicU32,
    head: AtomicU32,
}

/// The sequence number of slot `i` is `i` at first, `ticket + 1` when the item of a ticket is in it, and
/// `ticket + capacity` when that was taken out.
#[repr(C)]
pub struct Slot {
    sequence: AtomicU32,
    value: u32,
}

/// Waits until it is a ticket's turn at a slot, whose value is then the caller's.
unsafe fn wait(slot: *mut Slot, sequence: u32) {
    while unsafe { (*slot).sequence.load(Relaxed) } != sequence {}
    fence(Acquire);
}

/// Hands a slot to the ticket whose turn is next.
unsafe fn pass(slot: *mut Slot, sequence: u32) {
    unsafe { (*slot).sequence.store(sequence, Release) };
}

/// Of the blocks, in the order in which they start, every other one produces `rounds` items, and the next one consumes as
/// many. `capacity` is a power of two. With `rounds <= capacity` a lone producer has room for all its items, so that no block
/// waits for one that has not started.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn ring(ring: &Ring, slots: *mut Slot, capacity: u32, rounds: u32, taken: *mut u32) {
    if thread() != 0 {
        return;
    }
    let order = starting_order(&ring.started);
    let slot = |ticket: u32| unsafe { slots.add((ticket & (capacity - 1)) as usize) };
    if order % 2 == 0 {
        for round in 0..rounds {
            let ticket = ring.tail.fetch_add(1, Relaxed);
            unsafe {
                wait(slot(ticket), ticket);
                (*slot(ticket)).value = order / 2 * rounds + round;
                pass(slot(ticket), ticket.wrapping_add(1));
            }
        }
    } else {
        for _ in 0..rounds {
            let ticket = ring.head.fetch_add(1, Relaxed);
            unsafe {
                wait(slot(ticket), ticket.wrapping_add(1));
                *taken.add(ticket as usize) = (*slot(ticket)).value;
                pass(slot(ticket), ticket.wrapping_add(capacity));
            }
        }
    }
}

// litmus: u32 ring[3], slots[4] = {0, 9, 1, 9}, taken[2] = {7, 7}
// litmus: test ring_two_blocks
// litmus: thread P0 = ring(ring, slots, 2, 1, taken) @ cta 0
// litmus: thread P1 = ring(ring, slots, 2, 1, taken) @ cta 1
// litmus: forall taken[0] == 0
// litmus: test ring_three_blocks
// litmus: thread P0 = ring(ring, slots, 2, 1, taken) @ cta 0
// litmus: thread P1 = ring(ring, slots, 2, 1, taken) @ cta 1
// litmus: thread P2 = ring(ring, slots, 2, 1, taken) @ cta 2
// litmus: forall taken[0] == 0 \/ taken[0] == 1
