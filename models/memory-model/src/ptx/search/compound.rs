//! Programs with threads of the host, the strengthened model, and multimem operations that take effect at once. The
//! accesses of the host take effect in one order, and the strengthened model has an order of releases. Each of them
//! connects the coherence orders of several locations, so the locations are not solved separately. Fences that are
//! restricted to a state space make base causality depend on the operation. The search examines every choice of sources
//! for all reads, then every Fence-SC order, then every coherence order.

use strum::IntoEnumIterator;

use super::{
    choice::Choice,
    state::{NONE, Search},
};
use crate::{
    execution::Execution,
    host::order::{Effects, internal, location_order},
    limit::Limit,
    outcome::Witness,
    ptx::{
        Ptx, asynchronous,
        axioms::{Axiom, Causes, Judged, no_thin_air},
        race::Known,
        relations::Fixed,
        replicas,
    },
    relation::Relation,
    unfold::EventKind,
};

/// The parts of an execution that are fixed while writes are ordered.
struct Scene<'s> {
    fixed: &'s Fixed,
    causes: Causes,
    /// The pairs of writes that coherence order relates in one direction or the other.
    pairs: Vec<(usize, usize)>,
    own: Relation,
    /// The part of program order between accesses to one location.
    same_location: Relation,
}

impl Search<'_, '_, '_> {
    /// Every execution in which reads have these sources.
    pub(super) fn compound(&mut self, choice: &Choice) -> Result<(), Limit> {
        self.budget.candidates += 1;
        let x = &self.c.skeleton;
        let empty = Relation::empty(x.len());
        let mut rf = empty;
        for read in x.reads {
            let source = choice.rf[read];
            if source != NONE && !self.beyond.contains(usize::from(source)) {
                rf.insert(usize::from(source), read);
            }
        }
        let (barriers, phases) = (self.barrier_edges, self.phase_edges);
        let mut execution =
            Execution { skeleton: x.clone(), rf, co: empty, sc: empty, barriers, phases, values: Vec::new() };
        let judged = Judged::with(&execution, &self.fixed, Causes::new(&execution, &self.fixed));
        let forbidden = |judged: &Judged, axioms: &[Axiom]| axioms.iter().any(|of| of.contradiction(judged).is_some());
        if forbidden(&judged, &[Axiom::Causality, Axiom::HostOrder]) {
            return Ok(());
        }
        if no_thin_air(&judged).is_some() {
            self.thin_air.set(true);
            return Ok(());
        }
        self.fence_orders(choice, &mut execution)
    }

    /// Orients the pairs of fences.
    fn fence_orders(&mut self, choice: &Choice, execution: &mut Execution<Ptx>) -> Result<(), Limit> {
        if self.done() {
            return Ok(());
        }
        let causes = Causes::new(execution, &self.fixed);
        let cb = causes.base_causality;
        if execution.sc.pairs().any(|(a, b)| cb.contains(b, a)) {
            return Ok(());
        }
        let open = |&&(a, b): &&(usize, usize)| !execution.sc.contains(a, b) && !execution.sc.contains(b, a);
        let Some(&(a, b)) = self.sc_pairs.iter().find(open) else {
            return self.coherence_orders(choice, execution, causes);
        };
        for (first, second) in [(a, b), (b, a)] {
            if cb.contains(second, first) {
                continue;
            }
            self.budget.choose()?;
            execution.sc.insert(first, second);
            self.fence_orders(choice, execution)?;
            execution.sc.remove(first, second);
        }
        Ok(())
    }

    fn coherence_orders(
        &mut self,
        choice: &Choice,
        execution: &mut Execution<Ptx>,
        causes: Causes,
    ) -> Result<(), Limit> {
        let x = &self.c.skeleton;
        let fixed = self.fixed.clone();
        let judged = Judged::with(execution, &fixed, causes);
        if asynchronous::waits_for_itself(&judged.execution_order, &execution.phases)
            || Axiom::Causality.contradiction(&judged).is_some()
        {
            return Ok(());
        }
        if let Some(wanted) = self.goal.race {
            let known = Known::new(&judged);
            let whole = self.goal.whole;
            if wanted != known.races().any(|(a, b, _)| !whole || !known.is_ordered_as_whole(a, b)) {
                return Ok(());
            }
        }
        let writes = x.writes - x.inits;
        let inits = Relation::product(x.len(), x.inits, writes);
        let order = ((inits | judged.causality.between(x.writes, x.writes)) & x.same_location).closure();
        let pairs = judged.morally_strong.between(writes, writes) & x.same_location;
        let scene = Scene {
            fixed: &fixed,
            causes,
            pairs: pairs.pairs().filter(|(a, b)| a < b).collect(),
            own: internal(x),
            same_location: location_order(x) & x.same_location,
        };
        self.order_all(choice, &scene, execution, order)
    }

    /// Orients the pairs of writes that are not ordered yet.
    fn order_all(
        &mut self,
        choice: &Choice,
        scene: &Scene,
        execution: &mut Execution<Ptx>,
        order: Relation,
    ) -> Result<(), Limit> {
        self.budget.choose()?;
        execution.co = order;
        if self.done() || !order.is_irreflexive() || !scene.allows(execution) {
            return Ok(());
        }
        let open = |&&(a, b): &&(usize, usize)| !order.contains(a, b) && !order.contains(b, a);
        let Some(&(a, b)) = scene.pairs.iter().find(open) else {
            let judged = Judged::with(execution, scene.fixed, scene.causes);
            debug_assert!(Axiom::iter().all(|axiom| axiom.contradiction(&judged).is_none()));
            self.feasible = true;
            return if self.feasible_only { Ok(()) } else { self.ends(choice, execution) };
        };
        for (first, second) in [(a, b), (b, a)] {
            let mut order = order;
            order.insert_transitive(first, second);
            self.order_all(choice, scene, execution, order)?;
        }
        Ok(())
    }

    /// Every final state of an execution: the last write of a location is any write that no other write follows.
    fn ends(&mut self, choice: &Choice, execution: &Execution<Ptx>) -> Result<(), Limit> {
        if self.unsolved {
            self.goal.undefined = true;
            if self.goal.witness.is_some() {
                self.comes_about(choice, execution, &[]);
            }
            return Ok(());
        }
        let x = &self.c.skeleton;
        let last = |of: &crate::program::Span| {
            (x.at(*of) & x.writes).filter(|&write| execution.co.row(write).is_empty()).collect::<Vec<_>>()
        };
        let lasts: Vec<Vec<usize>> = self.c.locations.iter().map(last).collect();
        let read = |event| self.read(&choice.rf, event);
        let registers: Vec<_> =
            self.registers.iter().map(|&(thread, term)| self.c.term(thread, term, &read).unwrap_or_default()).collect();
        let mut chosen = vec![0; lasts.len()];
        loop {
            self.budget.choose()?;
            let read = |event| self.read(&choice.rf, event);
            let value = |index: usize| self.c.written(lasts[index][chosen[index]], &read).unwrap_or_default();
            let state: Vec<_> = registers.iter().copied().chain(self.c.memory(value)).collect();
            match self.goal.wanted {
                Some(wanted) if wanted(&state) => {
                    self.comes_about(choice, execution, &state);
                    return Ok(());
                }
                Some(_) => {}
                None => {
                    self.goal.outcomes.states.insert(&state);
                    if self.goal.outcomes.states.is_full() {
                        return Err(Limit::States);
                    }
                }
            }
            let Some(next) = (0..lasts.len()).find(|&index| chosen[index] + 1 < lasts[index].len()) else {
                return Ok(());
            };
            chosen[next] += 1;
            chosen[..next].fill(0);
        }
    }

    /// Keeps an execution, if the caller wants a witness.
    fn comes_about(&mut self, choice: &Choice, execution: &Execution<Ptx>, state: &[u64]) {
        let x = &self.c.skeleton;
        let read = |event| self.read(&choice.rf, event);
        let value = |event: usize| match x.writes.contains(event) || x.events[event].kind == EventKind::Arrive {
            true => self.c.written(event, &read),
            false if x.reads.contains(event) => read(event),
            false => None,
        };
        let values = (0..x.len()).map(value).collect();
        let witness = Witness { execution: Execution { values, ..execution.clone() }, state: state.into() };
        if let Some(slot) = &mut self.goal.witness {
            **slot = Some(witness);
        }
    }
}

impl Scene<'_> {
    /// Whether the axioms about coherence order allow its known part.
    fn allows(&self, execution: &Execution<Ptx>) -> bool {
        let Causes { causality, base_causality, .. } = &self.causes;
        let (x, strong) = (&execution.skeleton, &self.fixed.morally_strong);
        let fr = execution.fr();
        let overwritten = (fr - self.own).pairs().any(|(read, write)| causality.contains(write, read));
        let interrupted = !((*strong & fr).then(&(*strong & execution.co)) & x.rmw).is_empty();
        let is_coherent = || ((self.same_location | execution.rf | execution.co | fr) & *strong).is_acyclic();
        !overwritten
            && !interrupted
            && is_coherent()
            && (x.host.is_empty() || Effects::new(execution, strong, &fr, base_causality).are_ordered())
            && self.agrees_between_locations(execution)
    }

    /// The axioms of the strengthened model, and of multimem operations that take effect at once.
    fn agrees_between_locations(&self, execution: &Execution<Ptx>) -> bool {
        let conventions = self.fixed.conventions;
        if !conventions.strengthened && !replicas::are_at_once(&execution.skeleton, conventions) {
            return true;
        }
        let judged = Judged::with(execution, self.fixed, self.causes);
        let axioms = [Axiom::Propagation, Axiom::CoherenceOfReads, Axiom::ReplicasAtOnce];
        axioms.iter().all(|axiom| axiom.contradiction(&judged).is_none())
    }
}
