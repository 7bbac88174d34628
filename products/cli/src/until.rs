//! A moment at which a search gives up: a time, or that nobody wants its result any more.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

/// When a search gives up; most often never.
#[derive(Clone, Default)]
pub struct Until(Option<(Instant, Arc<AtomicBool>)>);

impl Until {
    /// So long from now, or as soon as the flag is set.
    pub fn new(time: Duration, is_unwanted: Arc<AtomicBool>) -> Self {
        Self(Some((Instant::now() + time, is_unwanted)))
    }

    /// How much time is left.
    pub fn left(&self) -> Duration {
        match &self.0 {
            None => Duration::MAX,
            Some((_, is_unwanted)) if is_unwanted.load(Relaxed) => Duration::ZERO,
            Some((end, _)) => end.saturating_duration_since(Instant::now()),
        }
    }
}
