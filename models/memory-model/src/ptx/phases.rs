//! The arrivals at an mbarrier that each wait observes (section 9.7.13.15): every course that the counts allow.
//!
//! An mbarrier counts the pending arrivals of its phase, and the pending bytes. When both are zero, the phase is
//! complete, and the next phase begins with the same number of arrivals. The search tries the operations on all
//! mbarriers in every order in which the threads may execute them; two courses are equal if each arrival is of the same
//! phase and each wait observes the same arrivals.

use rustc_hash::FxHashSet;

use super::Ptx;
use crate::{
    asynchronous::{Awaited, MbarrierStep, Signal, Step},
    execution::Combination,
    limit::Limit,
    outcome::Budget,
    program::Span,
    relation::{Relation, Set},
    unfold::EventKind,
};

/// The maximum number of different courses.
const MAX_COURSES: usize = 1 << 14;

/// An operation on an mbarrier.
#[derive(Clone, Copy)]
enum Use {
    Init(u32),
    Inval,
    /// Arrivals, with an increase of the transaction count.
    Arrive {
        count: i64,
        expects: i64,
        drops: i64,
    },
    Wait(Awaited),
}

/// The state of an mbarrier.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Mbarrier {
    count: i64,
    pending: i64,
    bytes: i64,
    /// The number of complete phases.
    complete: u8,
}

/// A course so far.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Course {
    done: Set,
    mbarriers: Vec<Option<Mbarrier>>,
    /// The phase of each arrival; for each wait, the number of complete phases that it observes.
    phases: Vec<u8>,
}

/// The operations on mbarriers, in the order of events.
struct Uses {
    events: Vec<usize>,
    uses: Vec<Use>,
    /// For each operation, the index of its mbarrier, and the operations that must precede it.
    at: Vec<usize>,
    before: Vec<Set>,
}

/// From the arrivals to the waits that observe them, for each course. The list is empty if some wait can never succeed.
pub(crate) fn phases(c: &Combination<Ptx>, order: &Relation, budget: &mut Budget) -> Result<Vec<Relation>, Limit> {
    let x = &c.skeleton;
    let (mut uses, mut objects) =
        (Uses { events: Vec::new(), uses: Vec::new(), at: Vec::new(), before: Vec::new() }, Vec::<Span>::new());
    for (event, of) in x.events.iter().enumerate() {
        let Some(used) = used(of.kind) else { continue };
        let object = objects.iter().position(|span| *span == of.location).unwrap_or_else(|| {
            objects.push(of.location);
            objects.len() - 1
        });
        uses.events.push(event);
        uses.uses.push(used);
        uses.at.push(object);
    }
    let before = |&event: &usize| {
        let earlier = |&(_, other): &(usize, &usize)| order.contains(*other, event);
        uses.events.iter().enumerate().filter(earlier).map(|(index, _)| index).collect::<Set>()
    };
    uses.before = uses.events.iter().map(before).collect();
    let initial = |span: &Span| {
        let count = c.initial_of(*span).map_or(0, |count| count as i64);
        (count > 0).then_some(Mbarrier { count, pending: count, bytes: 0, complete: 0 })
    };
    let start =
        Course { done: Set(0), mbarriers: objects.iter().map(initial).collect(), phases: vec![0; uses.events.len()] };
    let mut seen: FxHashSet<Course> = FxHashSet::default();
    let mut ends: Vec<Vec<u8>> = Vec::new();
    let mut open = vec![start];
    while let Some(course) = open.pop() {
        budget.choose()?;
        if seen.len() > MAX_COURSES {
            return Err(Limit::Quorum);
        }
        if course.done == Set::first(uses.events.len()) {
            if !ends.contains(&course.phases) {
                ends.push(course.phases);
            }
            continue;
        }
        for index in 0..uses.events.len() {
            if course.done.contains(index) || !(uses.before[index] - course.done).is_empty() {
                continue;
            }
            if let Some(next) = uses.step(&course, index)
                && seen.insert(next.clone())
            {
                open.push(next);
            }
        }
    }
    Ok(ends.iter().map(|phases| uses.observed(x.len(), phases)).collect())
}

fn used(kind: EventKind<Ptx>) -> Option<Use> {
    let arrive = |count, expects, drops| Some(Use::Arrive { count, expects, drops });
    match kind {
        EventKind::Complete { bytes: Some(bytes), .. } => arrive(0, -i64::from(bytes), 0),
        EventKind::Step(Step::Ask(Signal::Copies { noinc: false })) => arrive(-1, 0, 0),
        EventKind::Step(Step::Signal(_)) => arrive(1, 0, 0),
        EventKind::Step(Step::Mbarrier(step)) => match step {
            MbarrierStep::Init { count } => Some(Use::Init(count)),
            MbarrierStep::Inval => Some(Use::Inval),
            MbarrierStep::ExpectTx { bytes } => arrive(0, bytes.into(), 0),
            MbarrierStep::CompleteTx { bytes } => arrive(0, -i64::from(bytes), 0),
            MbarrierStep::Arrive { count, expects, drops, .. } => {
                arrive(count.into(), expects.into(), if drops { count.into() } else { 0 })
            }
            MbarrierStep::Wait { phase, .. } => Some(Use::Wait(phase)),
        },
        _ => None,
    }
}

impl Uses {
    /// The course after one more operation; `None` if the operation is not possible now.
    fn step(&self, course: &Course, index: usize) -> Option<Course> {
        let mut next = course.clone();
        let object = &mut next.mbarriers[self.at[index]];
        match self.uses[index] {
            Use::Init(count) => {
                let count = i64::from(count);
                *object = Some(Mbarrier { count, pending: count, bytes: 0, complete: 0 });
            }
            Use::Inval => *object = None,
            Use::Arrive { count, expects, drops } => {
                let of = object.as_mut()?;
                next.phases[index] = of.complete;
                of.bytes += expects;
                of.pending -= count;
                of.count -= drops;
                if of.pending < 0 {
                    // More arrivals than the phase expects are undefined.
                    return None;
                }
                if of.pending == 0 && of.bytes == 0 {
                    of.pending = of.count;
                    of.complete = of.complete.checked_add(1)?;
                }
            }
            Use::Wait(awaited) => {
                let of = object.as_ref()?;
                let observed = match awaited {
                    // An even phase has parity 0. The phase before the first one counts as odd and complete.
                    Awaited::Parity(odd) => ((of.complete % 2 == 0) == odd).then_some(of.complete),
                    Awaited::Arrival(back) => {
                        let event = self.events[index].checked_sub(back)?;
                        let arrival = self.events.iter().position(|other| *other == event)?;
                        let needed = course.phases[arrival] + 1;
                        (of.complete >= needed).then_some(needed)
                    }
                };
                next.phases[index] = observed?;
            }
        }
        next.done.insert(index);
        Some(next)
    }

    /// A wait observes all arrivals of the phases that were complete.
    fn observed(&self, len: usize, phases: &[u8]) -> Relation {
        let mut observed = Relation::empty(len);
        for (wait, _) in self.uses.iter().enumerate().filter(|(_, of)| matches!(of, Use::Wait(_))) {
            for (arrival, used) in self.uses.iter().enumerate() {
                let same = self.at[arrival] == self.at[wait] && matches!(used, Use::Arrive { .. });
                if same && phases[arrival] < phases[wait] {
                    observed.insert(self.events[arrival], self.events[wait]);
                }
            }
        }
        observed
    }
}
