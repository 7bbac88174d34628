//! A kernel whose pairs of blocks pass messages through plain memory, and count stale words.

use core::sync::atomic::{AtomicU32, Ordering::*};

use crate::block::{starting_order, thread};

/// An event that one block sets, and that another block waits for and resets.
#[repr(transparent)]
pub struct Event(AtomicU32);

impl Event {
    fn set(&self) {
        self.0.store(1, Release);
    }

    fn wait(&self) {
        while self.0.swap(0, Acquire) == 0 {}
    }
}

const WORDS: usize = 8;

#[repr(C)]
pub struct Channel {
    full: Event,
    empty: Event,
    words: [u32; WORDS],
}

unsafe fn send(channel: *mut Channel, round: u32) {
    unsafe {
        (*channel).words = [round; WORDS];
        (*channel).full.set();
        (*channel).empty.wait();
    }
}

unsafe fn receive(channel: *mut Channel, round: u32) -> u32 {
    unsafe {
        (*channel).full.wait();
        let stale = (*channel).words.iter().filter(|word| **word != round).count();
        (*channel).empty.set();
        stale as u32
    }
}

/// In the order in which blocks start, every first block of a pair sends, and the second receives. The GPU must have
/// room for two blocks at a time, and the number of blocks is even.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn message(channels: *mut Channel, started: &AtomicU32, rounds: u32, stale: &AtomicU32) {
    if thread() != 0 {
        return;
    }
    let order = starting_order(started);
    let channel = unsafe { channels.add((order / 2) as usize) };
    let mut found = 0;
    if order % 2 == 0 {
        (1..=rounds).for_each(|round| unsafe { send(channel, round) });
    } else {
        (1..=rounds).for_each(|round| found += unsafe { receive(channel, round) });
    }
    stale.fetch_add(found, Relaxed);
}

// litmus: u32 channels[10], started, stale
// litmus: test message_two_blocks
// litmus: thread P0 = message(channels, started, 1, stale) @ cta 0
// litmus: thread P1 = message(channels, started, 1, stale) @ cta 1
// litmus: forall stale == 0
// litmus: test message_three_threads
// litmus: thread P0 = message(channels, started, 1, stale) @ cta 0
// litmus: thread P1 = message(channels, started, 1, stale) @ cta 1
// litmus: thread P2 = message(channels, started, 1, stale) @ cta 1
// litmus: forall stale == 0
