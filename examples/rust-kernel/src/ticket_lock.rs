//! Each block increments a plain counter under a ticket lock.

use core::sync::atomic::{AtomicU32, Ordering::*};

use crate::block::thread;

/// A fair lock: tickets are served in their order.
#[repr(C)]
pub struct TicketLock {
    next: AtomicU32,
    serving: AtomicU32,
}

impl TicketLock {
    fn lock(&self) {
        // The ticket orders nothing; `serving` publishes the writes of the last owner.
        let ticket = self.next.fetch_add(1, Relaxed);
        while self.serving.load(Acquire) != ticket {}
    }

    fn unlock(&self) {
        self.serving.fetch_add(1, Release);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn ticket_lock(lock: &TicketLock, rounds: u32, counter: *mut u32) {
    if thread() != 0 {
        return;
    }
    for _ in 0..rounds {
        lock.lock();
        unsafe { *counter += 1 };
        lock.unlock();
    }
}

// litmus: u32 lock[2], counter
// litmus: test ticket_lock_two_blocks
// litmus: thread P0 = ticket_lock(lock, 1, counter) @ cta 0
// litmus: thread P1 = ticket_lock(lock, 1, counter) @ cta 1
// litmus: forall counter == 2
// litmus: test ticket_lock_three_blocks
// litmus: thread P0 = ticket_lock(lock, 1, counter) @ cta 0
// litmus: thread P1 = ticket_lock(lock, 1, counter) @ cta 1
// litmus: thread P2 = ticket_lock(lock, 1, counter) @ cta 2
// litmus: forall counter == 3
