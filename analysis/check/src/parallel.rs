//! A parallel map over all processors.

use std::{
    num::NonZero,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

/// The stack size that the analysis of one kernel may need.
const STACK: usize = 64 << 20;

/// Applies a function to each item by up to `jobs` threads (0 means one per processor), and returns the results in the
/// order of the items. The threads have ended on return, so that the process can fork.
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
        // If no thread could be started, this thread does the work.
        if started.is_empty() {
            work();
        }
        // The scope waits for the work, but not for the end of the threads.
        for thread in started {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
    let mut done = done.into_inner().unwrap_or_else(|error| error.into_inner());
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}
