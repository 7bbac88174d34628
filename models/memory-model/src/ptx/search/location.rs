//! One location, with base causality fixed: the values of its reads, and the order of its writes.

use super::{
    choice::Choice,
    state::{LocationEvents, Search},
};
use crate::{
    limit::Limit,
    relation::{MAX_EVENTS, Relation, Set},
};

impl Search<'_, '_, '_> {
    /// Chooses sources for the reads from `index` on that matter for this location alone.
    pub(super) fn inner(
        &mut self,
        choice: &Choice,
        preserved: &Relation,
        at: &mut LocationEvents,
        index: usize,
    ) -> Result<(), Limit> {
        // If the only question is whether there is an execution, one execution is enough.
        if !at.last_matters && at.observed.is_empty() && !at.rows.is_empty() {
            return Ok(());
        }
        let Some(&read) = at.inner.get(index) else {
            self.budget.candidates += 1;
            self.coherence(choice, preserved, at)?;
            return if at.rows.is_full() { Err(Limit::States) } else { Ok(()) };
        };
        for source in self.sources[read] {
            self.budget.choose()?;
            let mut next = choice.clone();
            let taken = self.take(&mut next, read, source).is_some();
            if taken && self.required_hold(&next.rf) && (!self.plain || self.may_be_coherent(&next, at)) {
                self.inner(&next, preserved, at, index + 1)?;
            }
        }
        Ok(())
    }

    /// Whether coherence allows the reads of a location that have sources so far.
    pub(super) fn may_be_coherent(&self, choice: &Choice, at: &LocationEvents) -> bool {
        match self.forced_order(choice, &choice.cb, at) {
            Some((mut order, causes)) => self.settle(&Scene { choice, causes: &causes }, at, &mut order),
            None => false,
        }
    }

    /// Tries every coherence order of a location, and notes the values that result.
    fn coherence(&mut self, choice: &Choice, preserved: &Relation, at: &mut LocationEvents) -> Result<(), Limit> {
        match self.forced_order(choice, preserved, at) {
            Some((order, causes)) => self.order_writes(&Scene { choice, causes: &causes }, at, order),
            None => Ok(()),
        }
    }

    /// The part of the coherence order that follows from causality and from the sources of reads, and for each event of
    /// the location the events that precede it in causality order (section 8.9.5). `None` if a read returns a later
    /// write.
    fn forced_order(
        &self,
        choice: &Choice,
        preserved: &Relation,
        at: &LocationEvents,
    ) -> Option<(CoherenceOrder, [Set; MAX_EVENTS])> {
        let mut order = CoherenceOrder { after: [Set(0); MAX_EVENTS], writes: at.writes };
        let mut causes = [Set(0); MAX_EVENTS];
        for event in at.events {
            let observers = choice.observation.row(event);
            let cause = observers.fold(preserved.row(event), |cause, read| cause | preserved.row(read)) & at.events;
            cause.for_each(|later| causes[later].insert(event));
            if at.writes.contains(event) {
                order.after[event] = cause & at.writes;
            }
        }
        for init in at.writes & self.c.skeleton.inits {
            order.after[init] = at.writes - Set::singleton(init);
        }
        order.close();
        // A read returns neither a later write nor a write that is overwritten before it (section 8.10.6). If coherence
        // order certainly relates the two writes, the opposite direction follows.
        for read in at.reads & choice.chosen {
            let source = usize::from(choice.rf[read]);
            if causes[source].contains(read) {
                return None;
            }
            for earlier in causes[read] & self.fixed.morally_strong.row(source) & at.writes {
                order.insert(earlier, source);
            }
        }
        // Of the executions that differ only by a permutation of equal threads, the search keeps one.
        for &(first, second) in &at.alike {
            order.insert(first, second);
        }
        Some((order, causes))
    }

    fn order_writes(&mut self, scene: &Scene, at: &mut LocationEvents, mut order: CoherenceOrder) -> Result<(), Limit> {
        self.budget.choose()?;
        if !self.settle(scene, at, &mut order) {
            return Ok(());
        }
        // The remaining pairs can then be ordered somehow, and no axiom depends on their order.
        if at.is_total {
            self.note(scene, at, &order);
            return Ok(());
        }
        for a in at.writes {
            for b in (self.fixed.morally_strong.row(a) & at.writes) - order.after[a] {
                if b > a && !order.after[b].contains(a) {
                    for (first, second) in [(a, b), (b, a)] {
                        let mut order = order;
                        order.insert(first, second);
                        self.order_writes(scene, at, order)?;
                    }
                    return Ok(());
                }
            }
        }
        self.note(scene, at, &order);
        Ok(())
    }

    /// Extends a coherence order by the consequences of atomicity (section 8.10.3). Returns whether the axioms allow
    /// the result.
    ///
    /// No strong write is between the source of a read-modify-write and its write: a write after the source is also
    /// after the written value, and a write before the written value is also before the source. If all writes are
    /// morally strong, each source and its update are then neighbors in every completion of the order, as if they were
    /// one write.
    fn settle(&self, scene: &Scene, at: &LocationEvents, order: &mut CoherenceOrder) -> bool {
        let x = &self.c.skeleton;
        loop {
            let before = order.after;
            for read in at.reads & scene.choice.chosen {
                let source = usize::from(scene.choice.rf[read]);
                for write in x.rmw.row(read) {
                    if !order.after[source].contains(write) {
                        continue;
                    }
                    let strong = self.fixed.morally_strong.row(read) & self.fixed.morally_strong.row(write) & at.writes;
                    let others = strong - Set::singleton(source) - Set::singleton(write);
                    (others & order.after[source]).for_each(|other| order.insert(write, other));
                    for other in others & self.fixed.morally_strong.row(source) {
                        if order.after[other].contains(write) {
                            order.insert(other, source);
                        }
                    }
                }
            }
            if !{ at.writes }.all(|write| !order.after[write].contains(write)) {
                return false;
            }
            if before == order.after {
                return self.allowed(scene, at, order);
            }
        }
    }

    /// A coherence order that relates all writes and ends with `last`; the writes must all be morally strong.
    fn completed(&self, scene: &Scene, at: &LocationEvents, order: &CoherenceOrder, last: usize) -> CoherenceOrder {
        let mut order = *order;
        (at.writes - Set::singleton(last)).for_each(|write| order.insert(write, last));
        self.settle(scene, at, &mut order);
        for a in at.writes {
            for b in at.writes - Set::singleton(a) {
                if !order.after[a].contains(b) && !order.after[b].contains(a) {
                    order.insert(a, b);
                    self.settle(scene, at, &mut order);
                }
            }
        }
        order
    }

    /// Whether the axioms allow a coherence order that may still grow.
    fn allowed(&self, scene: &Scene, at: &LocationEvents, order: &CoherenceOrder) -> bool {
        let x = &self.c.skeleton;
        { at.writes }.all(|write| !order.after[write].contains(write))
            && (at.reads & scene.choice.chosen).all(|read| {
                let overwriting = order.after[usize::from(scene.choice.rf[read])];
                (overwriting & scene.causes[read]).is_empty()
                    && x.rmw.row(read).all(|write| {
                        let strong = self.fixed.morally_strong.row(read) & self.fixed.morally_strong.row(write);
                        (overwriting & strong).all(|between| !order.after[between].contains(write))
                    })
            })
    }

    /// Adds the values of an execution of one location: one row for each write that may be the last.
    fn note(&self, scene: &Scene, at: &mut LocationEvents, order: &CoherenceOrder) {
        let rf = &scene.choice.rf;
        let mut row = Vec::with_capacity(at.observed.len() + 1);
        for last in at.writes {
            if !order.after[last].is_empty() {
                continue;
            }
            let observed = at.observed.iter().map(|&read| self.read(rf, read).unwrap_or_default());
            let written = match at.last_matters {
                true => self.c.written(last, &|event| self.read(rf, event)),
                false => None,
            };
            if written.zip(at.last_required).is_some_and(|(written, required)| written != required) {
                continue;
            }
            let written = written.unwrap_or_default();
            row.clear();
            row.extend(observed.chain([written]));
            if at.rows.insert(&row) && self.goal.wanted.is_some() {
                let order = if at.is_total { self.completed(scene, at, order, last) } else { *order };
                let mut co = Relation::empty(self.c.skeleton.len());
                at.writes.for_each(|write| *co.row_mut(write) = order.after[write]);
                at.causes.push((*rf, co));
            }
        }
    }
}

/// The parts of an execution that are fixed while the writes of a location are ordered.
struct Scene<'c> {
    choice: &'c Choice,
    /// For each event of the location, the events that precede it in causality order.
    causes: &'c [Set; MAX_EVENTS],
}

/// A transitive relation on the writes of one location (section 8.9.6).
#[derive(Clone, Copy)]
struct CoherenceOrder {
    after: [Set; MAX_EVENTS],
    writes: Set,
}

impl CoherenceOrder {
    fn close(&mut self) {
        for via in self.writes {
            let row = self.after[via];
            for write in self.writes {
                if self.after[write].contains(via) {
                    self.after[write] = self.after[write] | row;
                }
            }
        }
    }

    fn insert(&mut self, a: usize, b: usize) {
        if self.after[a].contains(b) {
            return;
        }
        let row = self.after[b] | Set::singleton(b);
        for write in self.writes {
            if write == a || self.after[write].contains(a) {
                self.after[write] = self.after[write] | row;
            }
        }
    }
}
