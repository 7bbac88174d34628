//! The proof that no two threads of a kernel race and that all threads of a CTA reach the same barriers, with its open
//! cases.

mod groups;
mod lanes;
mod prover;

use std::collections::{BTreeMap, BTreeSet};

use itertools::Itertools;
use ptx_isa::{
    InstPlace, Sem, Space, Stop,
    flat::{Action, Barrier, Flat, Operand, Step},
    graph::reached,
};
use rustc_hash::FxHashSet;

pub use self::prover::{Proof, Unproved};
use self::{
    groups::may_race,
    prover::{Level, Means, Prover},
};
use crate::{
    address::{Base, places},
    assumption::Assumption,
    budget::ProofBudget,
    cluster::{self, Barriers},
    graph::{End, Order, blocks},
    grid,
    launch::Sizes,
    named::{self, Named},
    order::Orders,
    paths::Paths,
    question::{LocatedAccess, Questions, is_of_cta, space_of},
    state::{Slot, State},
    threads::Threads,
    two::{Pair, Two},
    walk::{Known, Walk, lanes},
    walked::{AccessEvent, Arrival, BarrierArrival, Target, Walked},
};
use ptx_solver::{solve::Answer, term::Term};

/// Proves a kernel: first by barriers alone, and if that is not enough, also by the values that acquires observe.
pub fn prove(flat: &Flat, sizes: Sizes, may_alias: bool, budget: ProofBudget, stop: &Stop) -> Proof {
    let mut left = budget;
    let proof = by_levels(
        flat,
        |means, level| {
            let proof = by(flat, sizes, may_alias, (left, stop), means, level);
            left = left.without(proof.clauses, proof.decisions);
            proof
        },
        sizes,
    );
    let (clauses, decisions) = (budget.clauses - left.clauses, budget.all_decisions - left.all_decisions);
    Proof { clauses, decisions, ..proof }
}

/// The proof of a kernel, level by level; `prove` proves a single level.
fn by_levels(flat: &Flat, mut prove: impl FnMut(Means, Level<'_>) -> Proof, sizes: Sizes) -> Proof {
    let mut proof = prove(Means::Barriers, Level::Cta);
    let is_warp = |step: &Step| matches!(&step.action, Action::Barrier(barrier) if is_of_warp(barrier));
    if !proof.holds() && flat.steps.iter().any(is_warp) {
        let apart = prove(Means::Barriers, Level::Apart);
        // Pairs within one warp are examined only if pairs of different warps are proved.
        if apart.holds() {
            let same = prove(Means::Barriers, Level::Warp);
            if same.holds() {
                proof = same;
                proof.assumptions.extend(apart.assumptions);
                proof.questions += apart.questions;
            }
        }
    }
    let has_clusters = sizes.cluster.is_some() || cluster::is_used(flat);
    if has_clusters && proof.is_across() {
        let same = prove(Means::Barriers, Level::Cluster);
        let others = (!proof.unproved.is_empty()).then(|| prove(Means::Barriers, Level::OtherClusters));
        if same.holds() && others.as_ref().is_none_or(Proof::holds) {
            proof.unproved.clear();
        }
        for part in [Some(same), others].into_iter().flatten() {
            proof.divergent.extend(part.divergent);
            proof.open.extend(part.open);
            proof.assumptions.extend(part.assumptions);
            proof.questions += part.questions;
        }
    }
    if !proof.grid.is_empty() && proof.is_across() {
        let across = prove(Means::Barriers, Level::Grid(&proof.grid));
        if across.holds() {
            proof.unproved.clear();
            proof.assumptions.extend(across.assumptions);
            proof.assumptions.insert(Assumption::Cooperative);
            proof.questions += across.questions;
        } else {
            // If some CTAs do not reach a barrier of the grid, the CTAs that do wait forever, whatever they access.
            let why = "not all CTAs of the grid may reach this barrier of the grid together";
            proof.open.extend(across.divergent.into_iter().map(|at| (at, why.to_owned())));
        }
    }
    let is_open = !proof.open.is_empty() || !proof.divergent.is_empty() || proof.unproved.is_empty();
    let may_order = |action: &Action| match action {
        Action::Access(access) => matches!(access.sem, Sem::Acquire | Sem::AcqRel),
        Action::Fence(_) => true,
        Action::Barrier(barrier) => !barrier.warp && barrier.threads.is_some(),
        _ => false,
    };
    // Values and locks are followed only if no other CTA can access a CTA's shared memory.
    let is_open = is_open || cluster::is_shared_by_all(flat);
    if is_open || !flat.steps.iter().any(|step| may_order(&step.action)) {
        return proof;
    }
    let whole = prove(Means::Values, Level::Cta);
    if whole.holds() { whole } else { proof }
}

fn by(
    flat: &Flat,
    sizes: Sizes,
    may_alias: bool,
    limits: (ProofBudget, &Stop),
    means: Means,
    level: Level<'_>,
) -> Proof {
    let mut proof = Proof::default();
    let threads = sizes.block.iter().try_fold(1u32, |all, size| all.checked_mul((*size)?));
    // A barrier id that is used for some threads at one site is for some threads at every site. The same holds of an id
    // with an explicit count of all threads that is used at several sites.
    let barriers = flat.steps.iter().filter_map(|step| match &step.action {
        Action::Barrier(barrier) if !barrier.warp => Some(barrier),
        _ => None,
    });
    let places = barriers.clone().counts_by(named::id);
    let is_some = |barrier: &&Barrier| {
        let is_elsewhere = barrier.threads.is_some() && places[&named::id(barrier)] > 1;
        is_elsewhere || !is_whole(barrier, threads)
    };
    let some: Vec<&Operand> = barriers.filter(is_some).map(|barrier| &barrier.id).collect();
    let is_cut = |barrier: &Barrier| {
        is_whole(barrier, threads) && !some.contains(&&barrier.id) || level == Level::Warp && is_of_warp(barrier)
    };
    let clusters = Barriers::new(flat);
    let blocks = blocks(flat, |step| match (&flat.steps[step].action, level) {
        (_, Level::Grid(barriers)) => barriers.contains(&step),
        (Action::Barrier(barrier), _) => level != Level::Cluster && is_cut(barrier),
        _ => clusters.waits.contains(&step),
    });
    let next = |block: usize| blocks[block].next();
    let counted = named::ids(flat);
    let Some(order) = Order::new(blocks.len(), 0, &next) else {
        let at = flat.steps.first().map(|step| step.at).unwrap_or_default();
        proof.open.insert((at, "a loop has several entries".to_owned()));
        return proof;
    };
    let mut prover = Prover::new(flat, sizes, may_alias, limits, (&blocks, &order, &clusters, &counted), proof);
    (prover.means, prover.level) = (means, level);
    prover.run();
    if prover.questions.eval.has_rows {
        prover.questions.assumptions.insert(Assumption::Rows);
    }
    let Questions { assumptions, count: questions, clauses_left, decisions_left, .. } = prover.questions;
    let (clauses, decisions) = (limits.0.clauses - clauses_left, limits.0.all_decisions - decisions_left);
    Proof { assumptions, questions, clauses, decisions, ..prover.proof }
}

/// Whether all threads of the CTA take part in a barrier.
fn is_whole(barrier: &Barrier, threads: Option<u32>) -> bool {
    let count = match barrier.threads {
        None => true,
        Some(Operand::Constant(count)) => threads.is_some_and(|threads| i64::from(threads) == count),
        Some(_) => false,
    };
    !barrier.warp && barrier.waits && matches!(barrier.id, Operand::Constant(_)) && count
}

/// Whether all threads of a warp take part in a barrier.
fn is_of_warp(barrier: &Barrier) -> bool {
    // The mask has 32 bits and is written as in the text.
    barrier.warp && matches!(barrier.id, Operand::Constant(mask) if mask as u32 == u32::MAX)
}

impl<'p> Prover<'p> {
    fn share_knowledge(&self, constant: FxHashSet<Base>, stable: FxHashSet<usize>) -> Known<'p> {
        // The facts about blocks do not change: the walks of a proof share them.
        let (shared, mixed) = (self.shared.clone(), self.mixed.clone());
        let level = self.pair_of_region().common();
        let (blocks, clusters, counted) = (self.blocks, self.clusters, self.counted);
        Known { blocks, shared, mixed, constant, stable, level, clusters, counted }
    }

    fn walk(&mut self, known: &Known<'_>, order: &Order, from: Option<usize>, start: usize, state: State) -> Walked {
        self.walks += 1;
        let walk = Walk::new(
            &mut self.questions.eval,
            known,
            order,
            from.is_some() || !std::ptr::eq(order, self.order),
            self.walks,
            &mut self.steps_left,
            &self.questions.stop,
            &mut self.proof.open,
            &mut self.written,
        );
        walk.run(from, start, state)
    }

    fn run(&mut self) {
        let mut start = State::new(self.questions.eval.flat.registers.len());
        let zero = self.questions.eval.terms.constant(0, 64);
        self.counted.iter().for_each(|id| start.set(Slot::Arrivals(*id), zero));
        let known = self.share_knowledge(FxHashSet::default(), FxHashSet::default());
        let whole = self.walk(&known, self.order, None, 0, start.clone());
        let known = self.learned(whole);
        let whole = self.walk(&known, self.order, None, 0, start.clone());
        if !self.order.loops.is_empty() {
            self.questions.assumptions.insert(Assumption::Counters);
        }
        if whole.reads_textures {
            self.questions.assumptions.insert(Assumption::Textures);
        }
        self.together(&whole.together);
        let arrivals: Vec<_> = whole.arrivals.clone();
        let all = self.locate_accesses(whole.touches);
        self.regions(&known, start, &arrivals, &all);
        self.read_only(&all);
        if self.questions.eval.flat.steps.iter().any(|step| lanes(&step.action).is_some()) {
            self.questions.assumptions.insert(Assumption::Lanes);
        }
        if cluster::is_shared_by_all(self.questions.eval.flat) {
            self.questions.assumptions.insert(Assumption::There);
        }
        if matches!(self.level, Level::Grid(_) | Level::Cluster) {
            return;
        }
        let adds: BTreeSet<usize> = self.adds.values().flatten().flatten().copied().collect();
        if grid::is_alone(&mut self.questions, &all, &adds) {
            self.proof.grid = self.adds.iter().filter(|(_, adds)| adds.is_some()).map(|(step, _)| *step).collect();
        }
        let named = self.named(&whole.barrier_arrivals, &arrivals);
        let (of_cta, all): (Vec<LocatedAccess>, Vec<LocatedAccess>) =
            all.into_iter().partition(|own| self.is_of_cta(own));
        if self.questions.eval.sizes.grid != [Some(1); 3] && self.level != Level::Warp {
            let pair = if self.level == Level::OtherClusters { Pair::OtherClusters } else { Pair::Grid };
            self.pairs(&all, pair);
        }
        if self.means == Means::Values {
            let all: Vec<LocatedAccess> = all.into_iter().chain(of_cta).collect();
            self.values(&all, &arrivals, named);
        }
    }

    /// Whether no thread of another CTA can access the memory of an access.
    fn is_of_cta(&self, own: &LocatedAccess) -> bool {
        let flat = self.questions.eval.flat;
        is_of_cta(flat, own) && !cluster::is_shared_by_all(flat)
    }

    /// The named barriers whose count of threads matches the threads that use them. Any other named barrier leaves the
    /// kernel open.
    fn named(&mut self, meetings: &[BarrierArrival], arrivals: &[Arrival]) -> Vec<Named> {
        let ends = self.blocks.iter().filter_map(|block| match block.end {
            End::Barrier(step, _) => Some(step),
            _ => None,
        });
        let whole: Vec<usize> = ends.collect();
        let some = meetings.iter().filter(|meeting| !whole.contains(&meeting.step)).cloned().collect_vec();
        let mut threads = Threads::new(&mut self.questions, Paths { blocks: self.blocks }, &self.shared, &[], arrivals);
        let (named, left) = named::named(&mut threads, &some, &whole);
        let places = left.into_iter().map(|step| self.questions.eval.flat.steps[step].at);
        let why = "a barrier of some threads of the CTA is not followed";
        self.proof.open.extend(places.map(|at| (at, why.to_owned())));
        named
    }

    /// Removes the pairs that orderings other than barriers order.
    fn values(&mut self, all: &[LocatedAccess], arrivals: &[Arrival], named: Vec<Named>) {
        let paths = Paths { blocks: self.blocks };
        let mut threads = Threads::new(&mut self.questions, paths, &self.shared, all, arrivals);
        let within = self.proof.unproved.iter().filter(|unproved| !unproved.is_across);
        let mut orders = Orders::new(&mut threads, within.flat_map(|unproved| unproved.steps).collect(), named);
        let is_ordered = |orders: &mut Orders<'_, '_, '_>, unproved: &Unproved| {
            let of = |step: usize| (0..all.len()).filter(move |at| all[*at].touch.step == step);
            let pairs = of(unproved.steps[0]).cartesian_product(of(unproved.steps[1]));
            let mut pairs = pairs.map(|(one, other)| [one, other]).peekable();
            let is_read_only = |pair: &[usize; 2]| pair.iter().any(|at| all[*at].access.is_read_only);
            pairs.peek().is_some_and(|pair| !is_read_only(pair))
                && pairs.all(|pair| orders.is_ordered(pair, unproved.is_across))
        };
        // A single remaining pair suffices to leave the kernel open.
        if self.proof.unproved.iter().all(|unproved| is_ordered(&mut orders, unproved)) {
            self.proof.unproved.clear();
        }
    }

    /// The bases that no access writes, and the loads that are stable between two barriers. The walk that finds them
    /// assumes neither.
    fn learned(&mut self, whole: Walked) -> Known<'p> {
        let owns = self.locate_accesses(whole.touches);
        type Accessed = (Base, Option<Space>, bool);
        let mut bases: BTreeMap<usize, FxHashSet<Accessed>> = BTreeMap::new();
        for own in &owns {
            let space = space_of(self.questions.eval.flat, own);
            let all = own.places.iter().map(|place| (place.base, space, own.access.writes));
            bases.entry(own.touch.step).or_default().extend(all);
        }
        let may_alias = self.questions.may_alias;
        let meets = |a: &Accessed, b: &Accessed| {
            let is_apart = matches!((a.1, b.1), (Some(x), Some(y)) if x != y);
            let is_same = a.0 == b.0 || a.0 == Base::Unknown || b.0 == Base::Unknown || may_alias;
            is_same && !is_apart
        };
        // Accesses are many, but their bases are few.
        let (writes, reads): (FxHashSet<Accessed>, FxHashSet<Accessed>) =
            bases.values().flatten().copied().partition(|own| own.2);
        let reads = reads.iter().filter(|one| one.0 != Base::Unknown);
        let constant = reads.filter(|one| !writes.iter().any(|write| meets(one, write))).map(|one| one.0);
        let constant: FxHashSet<Base> = constant.collect();
        // Collects the steps in each interval. If orderings other than barriers count, another CTA may write before any
        // step.
        let mut unstable: FxHashSet<usize> = FxHashSet::default();
        let blocks = self.blocks;
        let steps = &self.questions.eval.flat.steps;
        // Between two barriers of a warp, another warp may write.
        let is_barrier = |block: usize| match blocks[block].end {
            End::Barrier(step, _) => !matches!(&steps[step].action, Action::Barrier(barrier) if barrier.warp),
            _ => false,
        };
        let starts = (0..blocks.len()).filter(|block| is_barrier(*block)).map(|block| blocks[block].next()[0]);
        for start in std::iter::once(0).chain(starts).unique() {
            let next = |block: usize| if is_barrier(block) { Vec::new() } else { blocks[block].next() };
            let in_it = reached(blocks.len(), [start], next, |_| false);
            let in_it = (0..blocks.len()).filter(|block| in_it[*block]);
            let accesses = in_it.flat_map(|block| bases.range(blocks[block].steps.clone())).collect_vec();
            let is_global = |write: &&Accessed| self.means == Means::Values && write.1 != Some(Space::Shared);
            let near = accesses.iter().flat_map(|(_, all)| all.iter()).filter(|one| one.2);
            let near: FxHashSet<&Accessed> = near.chain(writes.iter().filter(is_global)).collect();
            let is_written =
                |all: &FxHashSet<Accessed>| all.iter().any(|one| near.iter().any(|write| meets(one, write)));
            unstable.extend(accesses.iter().filter(|(_, all)| is_written(all)).map(|(step, _)| **step));
        }
        let stable = bases.iter().filter(|(step, all)| !unstable.contains(step) && all.iter().all(|one| !one.2));
        let stable = stable.map(|(step, _)| *step).collect();
        self.share_knowledge(constant, stable)
    }

    /// Analyses the intervals between barriers: the accesses of two threads of a CTA in each interval, and the barriers
    /// at which the interval ends.
    fn regions(&mut self, known: &Known<'_>, start: State, arrivals: &[Arrival], whole: &[LocatedAccess]) {
        let blocks = self.blocks;
        let starts = arrivals.iter().filter_map(|arrival| match arrival.target {
            Target::Barrier(block) => Some((Some(block), blocks[block].next()[0], arrival.state.clone())),
            Target::End => None,
        });
        for (from, start, mut state) in std::iter::once((None, 0, start)).chain(starts).collect_vec() {
            let next = |block: usize| match blocks[block].end {
                End::Barrier(..) => Vec::new(),
                _ => blocks[block].next(),
            };
            let Some(order) = Order::new(blocks.len(), start, &next) else {
                self.proof.open.insert((InstPlace::default(), "a loop has several entries".to_owned()));
                return;
            };
            if let Some(from) = from
                && let End::Barrier(step, _) = blocks[from].end
            {
                self.walks += 1;
                let mut walk = Walk::new(
                    &mut self.questions.eval,
                    known,
                    &order,
                    true,
                    self.walks,
                    &mut self.steps_left,
                    &self.questions.stop,
                    &mut self.proof.open,
                    &mut self.written,
                );
                walk.step(from, step, &mut state);
            }
            let walked = self.walk(known, &order, from, start, state);
            self.divergence(&walked.arrivals);
            let mut all = self.locate_accesses(walked.touches);
            self.exited(&all, &walked.arrivals, whole);
            let pair = self.pair_of_region();
            if pair != Pair::Cta {
                all.retain(|own| !self.is_of_cta(own));
                self.pairs(&all, pair);
                continue;
            }
            self.pairs(&all, pair);
            self.grid_barrier(from, &all, &walked.arrivals);
        }
    }

    /// Determines whether the code between two barriers of the CTA is a barrier of the grid.
    fn grid_barrier(&mut self, from: Option<usize>, all: &[LocatedAccess], arrivals: &[Arrival]) {
        let step_of = |block: usize| match self.blocks[block].end {
            End::Barrier(step, _) => Some(step),
            _ => None,
        };
        let paths = Paths { blocks: self.blocks };
        let add = match arrivals {
            [Arrival { target: Target::Barrier(_), state, .. }] => {
                let mut threads = Threads::new(&mut self.questions, paths, &self.shared, all, arrivals);
                grid::arrival(&mut threads, from.and_then(step_of), state)
            }
            _ => None,
        };
        for arrival in arrivals {
            let Target::Barrier(block) = arrival.target else { continue };
            let Some(step) = step_of(block) else { continue };
            // No other path may lead to the barrier.
            let known = self.adds.entry(step).or_insert_with(|| Some(BTreeSet::new()));
            match (known.as_mut(), add) {
                (Some(known), Some(add)) => known.extend([add]),
                _ => *known = None,
            }
        }
    }

    /// The pair of threads that a region is about.
    fn pair_of_region(&self) -> Pair {
        match self.level {
            Level::Grid(_) => Pair::Grid,
            Level::Cluster => Pair::Cluster,
            Level::Cta | Level::Apart | Level::Warp | Level::OtherClusters => Pair::Cta,
        }
    }

    fn locate_accesses(&mut self, touches: Vec<AccessEvent>) -> Vec<LocatedAccess> {
        let flat = self.questions.eval.flat;
        let own = |touch: AccessEvent| {
            let Action::Access(access) = &flat.steps[touch.step].action else { return None };
            let places = places(&mut self.questions.eval.terms, flat, touch.address);
            Some(LocatedAccess { touch, places, access: access.clone() })
        };
        touches.into_iter().filter_map(own).collect()
    }

    /// Two threads, and the conditions on them.
    fn two(&mut self, pair: Pair) -> Two {
        let eval = &mut self.questions.eval;
        let mut two = Two::new(eval, pair);
        if pair == Pair::Cta && self.level == Level::Warp {
            let same = two.same_warp(eval);
            two.holds.push(same);
        }
        two
    }

    fn renamed(&mut self, two: &mut Two, term: Term, thread: usize) -> Term {
        two.rename_term(&mut self.questions.eval, term, thread)
    }

    /// Checks that all threads of a CTA that are together reach the same barrier in the same iterations.
    fn divergence(&mut self, arrivals: &[Arrival]) {
        let barriers: Vec<_> = arrivals.iter().filter(|own| matches!(own.target, Target::Barrier(_))).collect();
        if barriers.is_empty() {
            return;
        }
        let mut two = self.two(self.pair_of_region());
        let skips_exited = self.questions.eval.flat.barriers_skip_exited();
        for (one, other) in barriers.iter().flat_map(|one| arrivals.iter().map(move |other| (*one, other))) {
            let Target::Barrier(block) = one.target else { continue };
            let is_of_cta = self.pair_of_region() == Pair::Cta;
            if other.target == Target::End && skips_exited && is_of_cta && self.is_of_all(block) {
                continue;
            }
            let mut conditions = two.holds.clone();
            for (thread, state) in [(0, &one.state), (1, &other.state)] {
                for term in &state.holds {
                    conditions.push(self.renamed(&mut two, *term, thread));
                }
            }
            if one.target == other.target {
                let mut same = self.questions.eval.terms.truth(true);
                for header in self.shared[block].clone() {
                    let rounds = [&one.state, &other.state].map(|state| state.get(Slot::Round(header)));
                    let [Some(a), Some(b)] = rounds else { continue };
                    let [a, b] = [(0, a), (1, b)].map(|(thread, term)| self.renamed(&mut two, term, thread));
                    let equal = self.questions.eval.terms.equal(a, b);
                    same = self.questions.eval.terms.and(same, equal);
                }
                conditions.push(self.questions.eval.terms.not(same));
            }
            let answer = self.questions.ask(conditions);
            if answer != Answer::Never {
                self.proof.keep(&answer);
                let End::Barrier(step, _) = self.blocks[block].end else { continue };
                self.proof.divergent.insert(self.questions.eval.flat.steps[step].at);
            }
        }
    }

    /// Whether the barrier at the end of a block is for all threads of the CTA and gives no thread count.
    fn is_of_all(&self, block: usize) -> bool {
        let End::Barrier(step, _) = self.blocks[block].end else { return false };
        matches!(&self.questions.eval.flat.steps[step].action, Action::Barrier(barrier) if !barrier.warp && barrier.threads.is_none())
    }

    /// Checks each two accesses, the first by one thread and the second by the other.
    fn pairs(&mut self, all: &[LocatedAccess], pair: Pair) {
        let mut two = self.two(pair);
        if pair == Pair::Cta && self.level == Level::Apart {
            let same = two.same_warp(&mut self.questions.eval);
            two.holds.push(self.questions.eval.terms.not(same));
        }
        let all = all.iter().collect_vec();
        self.between(&mut two, [&all, &all], &[]);
    }

    /// Checks the accesses of a thread in a region in which it may exit against the accesses of the other threads.
    /// These include accesses after barriers that no longer wait for the exited thread, because an exit orders nothing.
    fn exited(&mut self, region: &[LocatedAccess], arrivals: &[Arrival], all: &[LocatedAccess]) {
        let barriers = arrivals.iter().filter_map(|own| match own.target {
            Target::Barrier(block) => Some(self.blocks[block].next()[0]),
            Target::End => None,
        });
        let ends = arrivals.iter().filter(|own| own.target == Target::End).collect_vec();
        if ends.is_empty() || !self.questions.eval.flat.barriers_skip_exited() {
            return;
        }
        let after = reached(self.blocks.len(), barriers, |block| self.blocks[block].next(), |_| false);
        let steps = |block: usize| self.blocks[block].steps.clone();
        let after: FxHashSet<usize> = (0..after.len()).filter(|block| after[*block]).flat_map(steps).collect();
        let terms = &mut self.questions.eval.terms;
        let never = terms.truth(false);
        let ended = ends.into_iter().fold(never, |any, end| {
            let all = terms.all(end.state.holds.iter());
            terms.or(any, all)
        });
        let mut two = self.two(self.pair_of_region());
        let all = all.iter().filter(|own| after.contains(&own.touch.step)).collect_vec();
        self.between(&mut two, [&region.iter().collect_vec(), &all], &[ended]);
    }

    /// Checks memory that the kernel declares read-only but also writes: no ordering permits that.
    fn read_only(&mut self, all: &[LocatedAccess]) {
        let mut two = self.two(self.pair_of_region());
        let read_only = all.iter().filter(|own| own.access.is_read_only).collect_vec();
        let written = all.iter().filter(|own| own.access.writes).collect_vec();
        self.between(&mut two, [&read_only, &written], &[]);
    }

    /// Checks accesses of two threads; the first thread ends where `ended` holds.
    fn pair(&mut self, two: &mut Two, one: &LocatedAccess, other: &LocatedAccess, ended: &[Term]) -> Option<Unproved> {
        let writes = [one, other].map(|own| own.access.writes);
        if !may_race(one, other, two.pair.scope()) {
            return None;
        }
        let mut failed: Option<Unproved> = None;
        for meeting in self.questions.address_pairs(one, other) {
            let Some(same) =
                meeting.owners.map_or(Some(Vec::new()), |owners| two.same_owner(&mut self.questions.eval, owners))
            else {
                continue;
            };
            let mut conditions: Vec<Term> = two.holds.iter().copied().chain(same).collect();
            for (thread, own) in [(0, one), (1, other)] {
                for term in (&own.touch.holds).into_iter().chain(&meeting.holds[thread]) {
                    conditions.push(self.renamed(two, *term, thread));
                }
            }
            for term in ended {
                conditions.push(self.renamed(two, *term, 0));
            }
            let [x, y] = [0, 1].map(|thread| self.renamed(two, meeting.addresses[thread], thread));
            conditions.push(self.questions.overlap([x, y], [one.touch.bytes, other.touch.bytes]));
            match self.questions.ask(conditions.clone()) {
                Answer::Never => continue,
                answer => {
                    self.proof.keep(&answer);
                    let stored = one.touch.stored.zip(other.touch.stored).filter(|_| writes == [true; 2]);
                    let same_value = stored.is_some_and(|(x, y)| {
                        let [x, y] = [(0, x), (1, y)].map(|(thread, term)| self.renamed(two, term, thread));
                        if self.questions.eval.terms.bits(x) != self.questions.eval.terms.bits(y) {
                            return false;
                        }
                        let equal = self.questions.eval.terms.equal(x, y);
                        conditions.push(self.questions.eval.terms.not(equal));
                        self.questions.ask(conditions) == Answer::Never
                    });
                    let before = failed.as_ref().is_none_or(|failed| failed.same_value);
                    failed = Some(Unproved {
                        steps: [one.touch.step, other.touch.step],
                        is_across: two.pair != Pair::Cta,
                        same_value: same_value && before,
                        too_hard: answer == Answer::TooHard,
                    });
                }
            }
        }
        failed
    }
}
