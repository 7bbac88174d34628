//! One thing after the other, on all processors.

use std::{
    num::NonZero,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

/// What the analysis of one kernel may need.
const STACK: usize = 64 << 20;

/// The results of a function for each item, in their order, by so many threads; 0 for as many as there are processors. The threads have
/// ended then, so that the process can be forked.
pub fn map<T: Sync, R: Send>(items: &[T], jobs: usize, of: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let most = if jobs > 0 { jobs } else { thread::available_parallelism().map_or(1, NonZero::get) };
    let threads = most.min(items.len());
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(items.len())));
    let work = || {
        while let Some((index, item)) = items.iter().enumerate().nth(next.fetch_add(1, Relaxed)) {
            let result = of(item);
            done.lock().unwrap_or_else(|error| error.into_inner()).push((index, result));
        }
    };
    thread::scope(|scope| {
        let start = |_| thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work).ok();
        let started: Vec<_> = (0..threads).filter_map(start).collect();
        // Where no thread can be had, this one does it.
        if started.is_empty() {
            work();
        }
        // The scope waits for the work, and not for the end of the threads.
        for thread in started {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
    let mut done = done.into_inner().unwrap_or_else(|error| error.into_inner());
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}
