//! The axioms (section 8.10). Each axiom returns a contradiction in an execution, or `None`.

use strum::{Display, EnumIter, IntoEnumIterator};

use super::{
    Conventions, Ptx, asynchronous, proxies,
    relations::{self, *},
    replicas,
};
use crate::{
    execution::Execution,
    host::order::{Effects, internal, location_order, preserved},
    relation::Relation,
};

/// The relations of an execution that do not depend on its coherence order.
#[derive(Clone, Copy)]
pub struct Causes {
    /// Section 8.9.5.
    pub base_causality: Relation,
    /// Section 8.9.5.
    pub causality: Relation,
    /// Section 8.9.4.
    pub synchronizes: Relation,
    /// Section 8.9.2.
    pub observation: Relation,
    /// Section 9.7.16.6.3: the order of execution, whether or not it orders memory.
    pub execution_order: Relation,
}

impl Causes {
    /// Computes the relations.
    pub fn new(x: &Execution<Ptx>, fixed: &Fixed) -> Self {
        let Fixed { morally_strong, conventions, .. } = *fixed;
        let skeleton = &x.skeleton;
        let observation = observation_order(x, fixed);
        let synchronizes = synchronizes(&observation, fixed);
        let base_causality = base_causality_order(x, &synchronizes, conventions);
        let read = morally_strong & x.rf;
        let execution_order = asynchronous::execution_order(skeleton, &base_causality, &read, &x.phases, conventions);
        let preserved = proxies::all_preserved(skeleton, &base_causality, &execution_order, conventions);
        let mut causality = causality_order(&observation, &preserved);
        if replicas::are_at_once(skeleton, conventions) {
            causality = causality | replicas::seen_elsewhere(skeleton, &observation, &base_causality);
        }
        Self { base_causality, causality, synchronizes, observation, execution_order }
    }
}

/// An execution with the relations that the axioms use.
pub struct Judged<'x> {
    /// The execution.
    pub execution: &'x Execution<Ptx>,
    /// Section 8.7.
    pub morally_strong: Relation,
    /// Section 8.9.5.
    pub base_causality: Relation,
    /// Section 8.9.5.
    pub causality: Relation,
    /// Section 8.9.7.
    pub fr: Relation,
    /// Section 8.9.4.
    pub synchronizes: Relation,
    /// Section 8.9.2.
    pub observation: Relation,
    /// Section 9.7.16.6.3: the order of execution, whether or not it orders memory.
    pub execution_order: Relation,
    /// From releases to overwriting writes, in the strengthened model; empty in the model of the manual.
    pub overwritten: Relation,
    /// From releases to later releases, in the strengthened model; empty in the model of the manual.
    pub propagates: Relation,
    /// The interpretation of the manual.
    pub conventions: Conventions,
}

impl<'x> Judged<'x> {
    /// Computes the relations.
    pub fn new(x: &'x Execution<Ptx>, conventions: Conventions) -> Self {
        let fixed = Fixed::new(&x.skeleton, conventions);
        Self::with(x, &fixed, Causes::new(x, &fixed))
    }

    /// Computes the relations that depend on coherence order.
    pub fn with(x: &'x Execution<Ptx>, fixed: &Fixed, causes: Causes) -> Self {
        let Causes { base_causality, causality, synchronizes, observation, execution_order } = causes;
        let mut overwritten = Relation::empty(x.skeleton.len());
        let mut propagates = overwritten;
        if fixed.conventions.strengthened {
            overwritten = relations::overwritten(x, fixed);
            propagates = relations::propagates(x, &overwritten, fixed);
        }
        Self {
            execution: x,
            morally_strong: fixed.morally_strong,
            base_causality,
            causality,
            fr: x.fr(),
            synchronizes,
            observation,
            execution_order,
            overwritten,
            propagates,
            conventions: fixed.conventions,
        }
    }

    /// The cycle with each causality edge split into program order, synchronization, Fence-SC order, barriers,
    /// observation, and the orders of asynchronous operations.
    pub fn in_steps(&self, cycle: &Cycle) -> Cycle {
        let next = |index: usize| cycle[(index + 1) % cycle.len()].0;
        let steps = |(index, &(event, name)): (usize, &(usize, &'static str))| {
            let steps = match name {
                "overwritten" => self.overwriting(event, next(index)),
                "propagates" => self.propagation(event, next(index)),
                name if name.ends_with("causality") => self.steps(event, next(index)),
                _ => None,
            };
            steps.unwrap_or_else(|| vec![(event, name)])
        };
        cycle.iter().enumerate().flat_map(steps).collect()
    }

    /// The steps from a release to an overwriting write: program order, then coherence order or from-reads.
    fn overwriting(&self, release: usize, write: usize) -> Option<Cycle> {
        let x = self.execution;
        let earlier = (x.co | self.fr) & self.morally_strong;
        let access = preserved(x).optional().row(release).find(|&access| earlier.contains(access, write))?;
        let start = (access != release).then_some((release, "po"));
        let name = if x.co.contains(access, write) { "co" } else { "fr" };
        Some(start.into_iter().chain([(access, name)]).collect())
    }

    /// The steps from a release to the next release.
    fn propagation(&self, release: usize, next: usize) -> Option<Cycle> {
        let before = preserved(self.execution).inverse().row(next);
        let write = (self.overwritten.row(release) & before).next()?;
        Some([self.overwriting(release, write)?, vec![(write, "po")]].concat())
    }

    /// The steps of causality order that lead from one event to another.
    fn steps(&self, a: usize, b: usize) -> Option<Cycle> {
        let x = self.execution;
        let (po, host) = (preserved(x), x.skeleton.host);
        let of_host = po.between(host, host);
        let mut named = vec![
            ("po", po - of_host),
            ("local", of_host),
            ("sync", self.synchronizes),
            ("sc", x.sc),
            ("barrier", x.barriers),
        ];
        let entering = asynchronous::entering(&x.skeleton, self.conventions.readings);
        let (memory, execution) = asynchronous::named(&x.skeleton, &x.phases, &x.barriers, self.conventions);
        named.extend(memory);
        let union = |named: &[(_, Relation)]| {
            named.iter().fold(Relation::empty(x.skeleton.len()), |union, (_, relation)| union | *relation)
        };
        let memory = union(&named);
        named.extend(execution);
        named.push(("operation", entering));
        named.push(("rf", self.morally_strong & x.rf));
        let all = union(&named);
        let walk = |a: usize, b: usize| {
            // Operations on tensor memory are also ordered by execution order.
            let mut memory = memory;
            entering.pairs().filter(|&(_, into)| into == b).for_each(|(start, into)| memory.insert(start, into));
            let path = memory.path(a, b).or_else(|| all.path(a, b).filter(|_| self.execution_order.contains(a, b)))?;
            let step = |pair: &[usize]| {
                let named = named.iter().find(|(_, relation)| relation.contains(pair[0], pair[1]));
                (pair[0], named.map_or("before", |(name, _)| name))
            };
            Some(path.windows(2).map(step).collect::<Cycle>())
        };
        walk(a, b).or_else(|| {
            let seen = |read: usize| Some([vec![(a, "observation")], walk(read, b)?].concat());
            self.observation.row(a).find_map(seen)
        })
    }

    /// The first axiom that forbids the execution.
    pub fn forbidden(&self) -> Option<(Axiom, Cycle)> {
        Axiom::iter().find_map(|axiom| Some((axiom, axiom.contradiction(self)?)))
    }
}

/// A cycle of events, each with the relation that leads from it to the next.
pub type Cycle = Vec<(usize, &'static str)>;

/// An axiom of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter)]
pub enum Axiom {
    /// Section 8.10.1.
    #[strum(serialize = "Coherence")]
    Coherence,
    /// Section 8.10.2.
    #[strum(serialize = "Fence-SC")]
    FenceSc,
    /// Section 8.10.3.
    #[strum(serialize = "Atomicity")]
    Atomicity,
    /// Section 8.10.4.
    #[strum(serialize = "No Thin Air")]
    NoThinAir,
    /// Section 8.10.5.
    #[strum(serialize = "Sequential Consistency Per Location")]
    ScPerLocation,
    /// Section 8.10.6.
    #[strum(serialize = "Causality")]
    Causality,
    /// An axiom of the compound model: accesses of the host take effect one after the other.
    #[strum(serialize = "Host Order")]
    HostOrder,
    /// An axiom of the strengthened model: writes take effect in propagation order.
    #[strum(serialize = "Propagation")]
    Propagation,
    /// An axiom of the strengthened model: reads in causality order return values in coherence order.
    #[strum(serialize = "Coherence of Reads")]
    CoherenceOfReads,
    /// An axiom of the lenient reading of A14: the writes of a multimem operation take effect at all replicas at once.
    #[strum(serialize = "Replicas At Once")]
    ReplicasAtOnce,
}

impl Axiom {
    /// The section of the manual; for an axiom that is not in the manual, the chapter of the book.
    pub fn section(self) -> &'static str {
        match self {
            Self::HostOrder => "docs/host.md",
            Self::Propagation | Self::CoherenceOfReads => "docs/evidence/strengthened-model.md",
            Self::ReplicasAtOnce => "docs/evidence/async-readings.md",
            Self::Coherence => "8.10.1",
            Self::FenceSc => "8.10.2",
            Self::Atomicity => "8.10.3",
            Self::NoThinAir => "8.10.4",
            Self::ScPerLocation => "8.10.5",
            Self::Causality => "8.10.6",
        }
    }

    /// The source of the axiom, as text.
    pub fn source(self) -> String {
        match self {
            Self::HostOrder => "of the compound model of hosts and GPUs".into(),
            Self::Propagation | Self::CoherenceOfReads => "of the strengthened model".into(),
            Self::ReplicasAtOnce => "of the lenient reading of A14".into(),
            other => format!("section {} of the PTX manual", other.section()),
        }
    }

    /// The reason why the axiom forbids the execution; `None` if it does not.
    pub fn contradiction(self, x: &Judged) -> Option<Cycle> {
        match self {
            Self::Coherence => coherence(x),
            Self::FenceSc => fence_sc(x),
            Self::Atomicity => atomicity(x),
            Self::NoThinAir => no_thin_air(x),
            Self::ScPerLocation => sc_per_location(x),
            Self::Causality => causality(x),
            Self::HostOrder => host_order(x),
            Self::Propagation => propagation(x),
            Self::CoherenceOfReads => coherence_of_reads(x),
            Self::ReplicasAtOnce => replicas_at_once(x),
        }
    }
}

/// Section 8.10.1: causality between overlapping writes is in coherence order, which is an order.
pub fn coherence(x: &Judged) -> Option<Cycle> {
    let writes = x.execution.skeleton.writes;
    let caused = x.causality.between(writes, writes) & x.execution.skeleton.same_location;
    cycle(&[("causality", caused), ("co", x.execution.co)])
}

/// Section 8.10.2. The text says causality order, which does not relate fences; base causality is meant.
pub fn fence_sc(x: &Judged) -> Option<Cycle> {
    alternating(("sc", x.execution.sc), ("base causality", x.base_causality))
}

/// Section 8.10.3: no morally strong write is between the read and the write of an atomic operation.
pub fn atomicity(x: &Judged) -> Option<Cycle> {
    let (fr, co) = (x.morally_strong & x.fr, x.morally_strong & x.execution.co);
    let (read, write) = (fr.then(&co) & x.execution.skeleton.rmw).pairs().next()?;
    let between = fr.row(read).find(|&between| co.contains(between, write))?;
    Some(vec![(read, "fr"), (between, "co"), (write, "rmw")])
}

/// Section 8.10.4. For the host, the order that its processors preserve replaces dependencies.
pub fn no_thin_air(x: &Judged) -> Option<Cycle> {
    let (skeleton, rf) = (&x.execution.skeleton, x.execution.rf - internal(&x.execution.skeleton));
    let local = preserved(x.execution).between(skeleton.host, skeleton.host);
    cycle(&[("rf", rf), ("dependency", skeleton.dep), ("local", local)])
}

/// Section 8.10.5.
pub fn sc_per_location(x: &Judged) -> Option<Cycle> {
    let skeleton = &x.execution.skeleton;
    cycle(&[
        ("po", location_order(skeleton) & skeleton.same_location & x.morally_strong),
        ("rf", x.morally_strong & x.execution.rf),
        ("co", x.morally_strong & x.execution.co),
        ("fr", x.morally_strong & x.fr),
    ])
}

/// Section 8.10.6. The reads of a host thread from its own writes are left to [`sc_per_location`].
pub fn causality(x: &Judged) -> Option<Cycle> {
    let own = internal(&x.execution.skeleton);
    alternating(("rf", x.execution.rf - own), ("causality", x.causality))
        .or_else(|| alternating(("fr", x.fr - own), ("causality", x.causality)))
}

/// The accesses of the host take effect in one order.
pub fn host_order(x: &Judged) -> Option<Cycle> {
    if x.execution.skeleton.host.is_empty() {
        return None;
    }
    Effects::new(x.execution, &x.morally_strong, &x.fr, &x.base_causality).contradiction()
}

/// No release takes effect after an overwriting write, and no read returns an older value than a write before it, in
/// base causality order together with the order of releases.
pub fn propagation(x: &Judged) -> Option<Cycle> {
    if x.propagates.is_empty() {
        return None;
    }
    let steps = [("base causality", x.base_causality), ("propagates", x.propagates)];
    let all = x.base_causality | x.propagates;
    let order = all.closure();
    let location = proxy_preserved_base_causality_order(&x.execution.skeleton, &order);
    let (name, (last, first)) = [("overwritten", x.overwritten, order), ("fr", x.fr, location)].into_iter().find_map(
        |(name, back, order)| Some((name, back.pairs().find(|&(last, first)| order.contains(first, last))?)),
    )?;
    Some([vec![(last, name)], named(&steps, &all.path(first, last)?)].concat())
}

/// A read does not return an older value than a morally strong read of another thread that precedes it in causality
/// order and returns a strong write. If the write is morally strong with the reads, this follows from the axiom of
/// causality.
pub fn coherence_of_reads(x: &Judged) -> Option<Cycle> {
    let skeleton = &x.execution.skeleton;
    if !x.conventions.strengthened {
        return None;
    }
    let later = (x.causality & x.morally_strong).between(skeleton.reads, skeleton.reads);
    let later = later.filter(|a, b| !skeleton.same_thread(a, b));
    let rf = x.execution.rf.between(strong(skeleton), skeleton.reads);
    let (write, read) = rf.then(&later).pairs().find(|&(write, read)| x.fr.contains(read, write))?;
    let first = rf.row(write).find(|&first| later.contains(first, read))?;
    Some(vec![(write, "rf"), (first, "causality"), (read, "fr")])
}

/// The lenient reading of A14: all replicas of a multimem address have the writes of multimem operations in one order.
pub fn replicas_at_once(x: &Judged) -> Option<Cycle> {
    if !replicas::are_at_once(&x.execution.skeleton, x.conventions) {
        return None;
    }
    alternating(("co", x.execution.co), ("replicas", replicas::ordered_elsewhere(x.execution)))
}

/// A shortest cycle of the union of relations.
fn cycle(relations: &[(&'static str, Relation)]) -> Option<Cycle> {
    let first = relations.first()?.1;
    let union = relations.iter().fold(Relation::empty(first.len()), |union, (_, relation)| union | *relation);
    let closure = union.closure();
    let cycles = (0..union.len()).filter(|&event| closure.contains(event, event));
    let shortest = cycles.filter_map(|event| union.path(event, event)).min_by_key(Vec::len)?;
    Some(named(relations, &shortest))
}

/// The events of a path except the last, each with the relation that leads from it to the next.
fn named(relations: &[(&'static str, Relation)], path: &[usize]) -> Cycle {
    let name = |a, b| relations.iter().find(|(_, relation)| relation.contains(a, b)).map_or("", |(name, _)| name);
    path.windows(2).map(|pair| (pair[0], name(pair[0], pair[1]))).collect()
}

/// A cycle of two edges: an event to which the first relation and then the second lead back.
fn alternating(first: (&'static str, Relation), second: (&'static str, Relation)) -> Option<Cycle> {
    let (a, b) = first.1.pairs().find(|&(a, b)| second.1.contains(b, a))?;
    Some(vec![(a, first.0), (b, second.0)])
}
