//! Kernels with a ticket lock and a message-passing flag, built only on `core::sync::atomic`.
#![no_std]
#![feature(abi_ptx, stdarch_nvptx)]

use core::arch::nvptx::{_block_dim_x, _block_idx_x, _thread_idx_x};
use core::sync::atomic::{AtomicU32, Ordering};

/// A fair lock: a thread takes a ticket and waits until the ticket is served.
#[repr(C)]
pub struct TicketLock {
    next: AtomicU32,
    serving: AtomicU32,
}

impl TicketLock {
    fn lock(&self) -> u32 {
        let ticket = self.next.fetch_add(1, Ordering::AcqRel);
        while self.serving.load(Ordering::Acquire) != ticket {}
        ticket
    }

    fn unlock(&self, ticket: u32) {
        self.serving.store(ticket.wrapping_add(1), Ordering::Release);
    }
}

/// The first thread of each block adds to a plain counter under the lock.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn count(lock: &TicketLock, counter: *mut u32) {
    if unsafe { _thread_idx_x() } == 0 {
        let ticket = lock.lock();
        unsafe { *counter += 1 };
        lock.unlock(ticket);
    }
}

/// Thread 0 of the grid publishes a message; every other thread waits for the flag and reads the message.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn pass_message(flag: &AtomicU32, message: *mut u32, out: *mut u32) {
    let index = unsafe { _block_idx_x() * _block_dim_x() + _thread_idx_x() } as usize;
    if index == 0 {
        unsafe { *message = 42 };
        flag.store(1, Ordering::Release);
    } else {
        while flag.load(Ordering::Acquire) == 0 {}
        unsafe { *out.add(index) = *message };
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}

// litmus: test count_two_blocks
// litmus: u32 lock[2], counter
// litmus: thread P0 = count(lock, counter) @ cta 0
// litmus: thread P1 = count(lock, counter) @ cta 1
// litmus: forall counter == 2
// litmus: test count_three_blocks
// litmus: u32 lock[2], counter
// litmus: thread P0 = count(lock, counter) @ cta 0
// litmus: thread P1 = count(lock, counter) @ cta 1
// litmus: thread P2 = count(lock, counter) @ cta 2
// litmus: forall counter == 3
// litmus: test message_four_threads
// litmus: u32 flag, message, out[4]
// litmus: thread P0 = pass_message(flag, message, out) @ cta 0
// litmus: thread P1 = pass_message(flag, message, out) @ cta 0
// litmus: thread P2 = pass_message(flag, message, out) @ cta 1
// litmus: thread P3 = pass_message(flag, message, out) @ cta 1
// litmus: forall out[1] == 42 /\ out[2] == 42 /\ out[3] == 42
// run: kernel=count grid=4 block=32 lock=u32[2] counter=u32[1] expect counter == 4 && lock == 4
// run: kernel=pass_message grid=2 block=32 flag=u32[1] message=u32[1] out=u32[64] expect out[1] == 42 && out[63] == 42
