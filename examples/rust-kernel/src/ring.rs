//! A bounded queue with many producers and many consumers: a ticket selects a slot, whose sequence number selects the
//! ticket that may use it.

use core::sync::atomic::{AtomicU32, Ordering::*, fence};

use crate::block::{starting_order, thread};

#[repr(C)]
pub struct Ring {
    started: AtomicU32,
    tail: AtomicU32,
    head: AtomicU32,
}

/// The sequence number of slot `i` is `i` at first, `ticket + 1` when it holds the item of a ticket, and
/// `ticket + capacity` when that item has been taken out.
#[repr(C)]
pub struct Slot {
    sequence: AtomicU32,
    value: u32,
}

/// Waits until the slot has this sequence number. The slot's value then belongs to the caller.
unsafe fn wait(slot: *mut Slot, sequence: u32) {
    while unsafe { (*slot).sequence.load(Relaxed) } != sequence {}
    fence(Acquire);
}

/// Passes a slot to the ticket whose turn is next.
unsafe fn pass(slot: *mut Slot, sequence: u32) {
    unsafe { (*slot).sequence.store(sequence, Release) };
}

/// In the order in which blocks start, every first block of a pair produces `rounds` items, and the second consumes as
/// many. `capacity` is a power of two. With `rounds <= capacity` a lone producer has room for all its items, so no
/// block waits for a block that has not started.
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
