//! The emergency stop of an analysis: a deadline after which it gives up, or a flag that a user sets.
//!
//! Budgets count steps, so that the same input gives the same answer on every machine. A stop is for machines that are
//! far slower than expected, and for a user that cancels the analysis. An answer that a stop has cut short states
//! that.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

/// A point in time, in browsers too.
#[cfg(not(target_family = "wasm"))]
pub use std::time::Instant;
#[cfg(target_family = "wasm")]
pub use web_time::Instant;

/// A deadline or a flag at which an analysis gives up; by default neither. Clones share the record of whether the stop
/// has struck.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    deadline: Option<Instant>,
    unwanted: Option<Arc<AtomicBool>>,
    has_struck: Arc<AtomicBool>,
}

impl Stop {
    /// A stop that never strikes.
    pub fn never() -> Self {
        Self::default()
    }

    /// A stop that strikes after some time.
    pub fn after(time: Duration) -> Self {
        Self { deadline: Instant::now().checked_add(time), ..Self::default() }
    }

    /// The same stop, which also strikes when the flag is set.
    #[must_use]
    pub fn or_when(self, unwanted: Arc<AtomicBool>) -> Self {
        Self { unwanted: Some(unwanted), ..self }
    }

    /// A stop for a part of the work: it strikes when this stop does, and after some time. The part has a separate
    /// record of whether it has struck.
    #[must_use]
    pub fn part(&self, time: Duration) -> Self {
        let deadline = [self.deadline, Instant::now().checked_add(time)].into_iter().flatten().min();
        Self { deadline, unwanted: self.unwanted.clone(), has_struck: Arc::default() }
    }

    /// Whether the analysis has to give up now.
    pub fn is_due(&self) -> bool {
        let is_late = || self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let is_unwanted = || self.unwanted.as_ref().is_some_and(|flag| flag.load(Relaxed));
        let is_due = self.has_struck() || is_unwanted() || is_late();
        if is_due {
            self.has_struck.store(true, Relaxed);
        }
        is_due
    }

    /// Whether the stop has made the analysis give up.
    pub fn has_struck(&self) -> bool {
        self.has_struck.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_strikes_for_its_part_alone() {
        let flag = Arc::new(AtomicBool::new(false));
        let whole = Stop::never().or_when(flag.clone());
        let part = whole.part(Duration::from_secs(1000));
        assert!(!part.is_due() && !part.has_struck());
        flag.store(true, Relaxed);
        assert!(!part.has_struck() && part.is_due() && part.clone().has_struck());
        assert!(!whole.has_struck() && whole.is_due());
        assert!(Stop::after(Duration::ZERO).is_due());
        assert!(!Stop::after(Duration::MAX).is_due());
    }
}
